//! What must not compile, and what the compiler says about it.

#[test]
fn misuse_of_requires_approval_gives_readable_errors() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
