//! Parses any bytes as a config: the reader accepts them or refuses them with a reason, and never panics. One migration
//! rewrites all older spellings of a valid config and breaks nothing.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use askfirst_config::{LoadOptions, Places, effective, load, migrate};
use libfuzzer_sys::fuzz_target;

/// Returns an empty folder that only this process uses.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("askfirst-fuzz-config-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("notes")).expect("a folder for the config");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let file = FOLDER.join("askfirst.yaml");
    std::fs::write(&file, bytes).expect("the config can be written");
    let nowhere = FOLDER.join("nowhere");
    let places = Places {
        managed: nowhere.clone(),
        user: nowhere.clone(),
        state: nowhere,
        home: Some(FOLDER.clone()),
    };
    let options = LoadOptions { explicit: Some(file.clone()), folder: FOLDER.clone(), places };
    let loaded = load(&options);
    let migrated = std::str::from_utf8(bytes).ok().map(|text| migrate(text, &file));
    if let (Ok(_), Some(Ok(migrated))) = (&loaded, migrated) {
        let wrong = |faults| panic!("{faults:?} in what was rewritten: {}", migrated.text);
        let again = migrate(&migrated.text, &file).unwrap_or_else(wrong);
        assert!(again.changes.is_empty(), "rewriting is not done at once: {:?}", again.changes);
        assert_eq!(again.text, migrated.text);
        std::fs::write(&file, &migrated.text).expect("the config can be written");
        assert!(load(&options).is_ok(), "rewriting broke it: {}", migrated.text);
    }
    match loaded {
        Ok(config) => drop(format!("{config:?}{:?}", effective(&config))),
        Err(faults) => {
            assert!(!faults.0.is_empty(), "refused without a reason");
            for fault in &faults.0 {
                let text = fault.to_string();
                assert!(!text.trim().is_empty(), "a fault that says nothing");
            }
        }
    }
});
