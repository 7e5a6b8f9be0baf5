//! Tests that find clients in made-up home folders.

use std::path::{Path, PathBuf};

use super::{CLIENTS, InstalledClient, SERVE, installed};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn names(found: &[InstalledClient]) -> Vec<&str> {
    found.iter().map(|client| client.name).collect()
}

#[test]
fn client_is_found_by_its_program_or_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (home, bin) = (folder.path().join("home"), folder.path().join("bin"));
    assert_eq!(installed(folder.path(), Some(&home), None), []);
    write(&bin.join("codex"), "");
    std::fs::create_dir_all(home.join(".cursor")).unwrap();
    let search = std::env::join_paths([Path::new("relative"), &bin]).unwrap();
    let found = installed(folder.path(), Some(&home), Some(&search));
    assert_eq!(names(&found), ["Codex", "Cursor"]);
    assert_eq!(names(&installed(folder.path(), None, Some(&search))), ["Codex"]);
    let relative = std::env::join_paths(["bin"]).unwrap();
    assert_eq!(installed(folder.path(), None, Some(&relative)), [], "a relative folder is not searched");
}

#[test]
fn config_is_wrappable_while_a_server_has_no_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("project"));
    let global = home.join(".cursor/mcp.json");
    let wrappable = || installed(&project, Some(&home), None).remove(0).wrappable;
    let open = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let behind = r#"{"mcpServers": {"a": {"command": "askfirst", "args": ["mcp", "--", "x"]}}}"#;
    write(&global, behind);
    assert_eq!(wrappable(), Vec::<PathBuf>::new());
    write(&global, open);
    assert_eq!(wrappable(), std::slice::from_ref(&global));
    write(&project.join(".cursor/mcp.json"), open);
    assert_eq!(wrappable(), [PathBuf::from(".cursor/mcp.json"), global.clone()]);
    for useless in ["", "{}", "[1", r#"{"mcpServers": {}}"#] {
        write(&global, useless);
        assert_eq!(wrappable(), [PathBuf::from(".cursor/mcp.json")], "{useless}");
    }
    std::fs::remove_file(&global).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &global, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    assert_eq!(wrappable(), [PathBuf::from(".cursor/mcp.json")], "a pipe is not opened");
}

#[test]
fn every_client_serves_with_questions_at_watch() {
    let arguments = SERVE.strip_prefix("askfirst serve ").unwrap();
    for add in CLIENTS.iter().filter_map(|client| client.add) {
        assert!(add.contains("askfirst serve ") && add.ends_with(arguments), "{add}");
    }
}
