//! Rules about the configs and commands in documents.

use super::root;

#[test]
fn readme_installs_the_program_before_it_uses_it() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let code: String = page.split("```").skip(1).step_by(2).collect();
    let install = code.find("\ncargo install --locked --path crates/askfirst-cli\n").unwrap();
    let first = code.find("askfirst serve").into_iter().chain(code.find("\naskfirst ")).min().unwrap();
    assert!(install < first);
}
