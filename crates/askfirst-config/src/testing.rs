//! Test helpers: a temporary folder with configs, and reports that do not contain its name.

use std::fs;
use std::path::{Path, PathBuf};

use super::fault::{Fault, Faults};
use super::layers::{LoadOptions, load};
use super::node::Source;
use super::places::Places;
use super::read::Base;
use super::settings::{Config, Settings};
use super::text;

/// A temporary folder with a home folder, a project, and folders for the managed config and the state.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project/notes", "project/cache", "etc", "state"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn places(&self) -> Places {
        Places {
            managed: self.path("etc/askfirst.yaml"),
            user: self.path("home/.config/askfirst/askfirst.yaml"),
            state: self.path("state/askfirst"),
            home: Some(self.path("home")),
        }
    }

    pub(crate) fn options(&self) -> LoadOptions {
        LoadOptions { explicit: None, folder: self.path("project"), places: self.places() }
    }

    pub(crate) fn load(&self) -> Result<Config, Faults> {
        load(&self.options())
    }

    pub(crate) fn base(&self) -> Base {
        Base { folder: self.path("project"), home: Some(self.path("home")) }
    }

    /// Reads a text as the config of the project.
    pub(crate) fn read(&self, yaml: &str) -> Result<(Settings, Vec<Fault>), Faults> {
        text::read_file(&Source::new("askfirst.yaml", yaml), &self.base())
    }

    /// Replaces the path of the temporary folder by `[world]`.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&self.folder.path().canonicalize().unwrap().display().to_string(), "[world]")
            .replace(&self.folder.path().display().to_string(), "[world]")
    }

    /// Reads a text that must have errors, and returns all of them.
    pub(crate) fn faults(&self, yaml: &str) -> String {
        match self.read(yaml) {
            Ok(_) => panic!("accepted without errors: {yaml}"),
            Err(faults) => self.redact(&faults.to_string()),
        }
    }

    /// Reads a text that must have no errors, and returns its settings.
    pub(crate) fn settings(&self, yaml: &str) -> Settings {
        match self.read(yaml) {
            Ok((settings, _)) => settings,
            Err(faults) => panic!("{faults}"),
        }
    }

    /// Reads a text that must have no errors, and returns its warnings.
    pub(crate) fn warnings(&self, yaml: &str) -> String {
        match self.read(yaml) {
            Ok((_, warnings)) => self.redact(&report(&warnings)),
            Err(faults) => panic!("{faults}"),
        }
    }
}

pub(crate) fn report(faults: &[Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Formats settings for a comparison, without line numbers.
pub(crate) fn meaning(settings: &Settings) -> String {
    let mut settings = settings.clone();
    settings.origins.clear();
    let mut rules: Vec<String> =
        settings.rules.entries().map(|entry| format!("{} {:#?}", entry.name, entry.cases())).collect();
    rules.sort();
    let default = format!("{:?}", settings.rules.default_approval().map(|(approval, _)| approval));
    settings.rules = askfirst::Rules::default();
    remove_line_numbers(&format!("{settings:#?}\n{default}\n{}", rules.join("\n")))
}

fn remove_line_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("line: Some(") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        rest = after.split_once(')').unwrap().1;
    }
    out.push_str(rest);
    out
}

/// Returns an example config that uses almost every key.
pub(crate) fn example() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testing/example.yaml")).unwrap()
}
