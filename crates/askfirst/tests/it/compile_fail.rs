//! Tests that misuse of the macro does not compile, with the expected compiler errors.

#[test]
fn misuse_of_requires_approval_gives_readable_errors() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
