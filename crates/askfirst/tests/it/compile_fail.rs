//! What must not compile, and what the compiler says about it.

#[test]
fn misuse_of_requires_approval_is_told_in_readable_words() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
