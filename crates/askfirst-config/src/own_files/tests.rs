//! Tests of the rules that protect askfirst's own files, inside and outside the roots.

use askfirst::Because;

use super::super::settings::{PathApproval, PathConfig, PathMode, Settings};
use super::protect;

fn rules(ledger: Option<&str>, state: &str, configs: &[&str]) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let mut main = Settings::default();
    let approval = PathApproval {
        read: askfirst::Approval::None,
        write: askfirst::Approval::None,
        attach: askfirst::Approval::None,
    };
    let origin = Because::built_in("sandbox.paths.r", "a root");
    let config = PathConfig {
        root,
        mode: PathMode::Rw,
        suffixes: Vec::new(),
        max_file_bytes: None,
        products: Vec::new(),
        approval,
        origin,
    };
    main.sandbox.paths.insert("r".to_owned(), config);
    main.ledger.path = ledger.map(|path| folder.path().join(path));
    std::os::unix::fs::symlink("root/real.yaml", folder.path().join("link.yaml")).unwrap();
    std::fs::write(folder.path().join("root/real.yaml"), "").unwrap();
    let configs: Vec<_> = configs.iter().map(|name| folder.path().join(name)).collect();
    protect(&mut main, &folder.path().join(state), configs.iter().map(|path| path.as_path()));
    (main.sandbox.never_read, main.sandbox.never_write)
}

#[test]
fn own_file_is_protected_only_if_it_is_in_a_root() {
    assert_eq!(rules(None, "state", &["askfirst.yaml"]), (vec![], vec![]));
    assert_eq!(rules(Some("log.jsonl"), "state", &["root/askfirst.yaml"]), (vec![], vec![]));
    let inside = rules(Some("root/a[1].jsonl"), "root/.local/state/askfirst", &[]);
    let log = ["/a\\[1\\].jsonl*", "/a\\[1\\]-[0-9]*"].map(str::to_owned).to_vec();
    assert_eq!(inside, (vec!["/.local/state/askfirst".to_owned()], log));
}

// invariant: 4
#[test]
fn config_in_a_root_is_never_written_under_any_name() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(rules(None, "state", &["root/mine.yaml"]).1, names(&["/mine.yaml"]));
    assert_eq!(rules(None, "state", &["link.yaml"]).1, names(&["/real.yaml"]));
    assert_eq!(rules(None, "state", &["elsewhere.yaml"]).1, names(&[]));
}
