//! Warnings are correct, and finding them starts no process.

use askfirst_config::{LoadOptions, Places, load};

use super::*;

fn said(user: &str, managed: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("version: 1\n{text}")).unwrap();
        path
    };
    let places = Places {
        user: write("user.yaml", user),
        managed: write("managed.yaml", managed),
        state: folder.path().join("state"),
        home: None,
    };
    let config = load(&LoadOptions { explicit: None, folder: folder.path().to_owned(), places });
    warnings(&config.unwrap(), Mode::Interactive).join("\n")
}

#[test]
fn missing_sandbox_gives_a_warning_unless_it_is_required() {
    let accepts = "sandbox: { require_os_sandbox: false }\n";
    assert_eq!(
        said(accepts, ""),
        "where the sandbox does not work, processes run without it: `sandbox.require_os_sandbox` is false"
    );
    assert_eq!(said("sandbox: { require_os_sandbox: true }\n", ""), "");
    assert_eq!(said("", ""), "");
    assert_eq!(said(accepts, "sandbox: { require_os_sandbox: true }\n"), "", "a floor requires it");
}
