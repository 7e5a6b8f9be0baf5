//! The schema on disk is the one that the table makes.

use std::fs;
use std::path::Path;

use super::schema;
use crate::config::keys::{self, KEYS, Kind};

/// Write it anew with `UPDATE_SCHEMA=1 cargo test -p askfirst-runtime schema`.
#[test]
fn the_schema_on_disk_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/askfirst.schema.json");
    let fresh = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &fresh).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == fresh, "docs/askfirst.schema.json is not what the table of keys makes");
}

#[test]
fn every_key_stands_in_the_schema() {
    let text = schema().to_string();
    for key in KEYS.iter().filter(|key| !key.path.is_empty()) {
        assert!(text.contains(&key.doc.replace('"', "\\\"")), "{}", key.path);
    }
}

#[test]
fn every_key_stands_below_another() {
    for key in KEYS.iter().filter(|key| !key.path.is_empty()) {
        let parent =
            key.path.strip_suffix("[]").or_else(|| key.path.rsplit_once('.').map(|(parent, _)| parent));
        let parent = keys::find(parent.unwrap_or_default()).unwrap_or_else(|| panic!("{}", key.path));
        assert!(
            matches!(parent.kind, Kind::Section | Kind::Named | Kind::Sections | Kind::Cases),
            "{} stands below a value",
            key.path
        );
    }
}
