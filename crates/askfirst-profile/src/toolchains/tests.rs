//! Tests of the folders that are found, with layouts as pyenv, rustup, nvm and uv create them.

mod hidden;
mod hostile;
mod properties;
mod stored;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use askfirst::{Approval, Because};
use askfirst_config::{
    Config, Origin, PathApproval, PathConfig, PathMode, Places, Settings, ToolchainAccess,
};
use askfirst_sandbox::OSProfile;

use super::{HiddenReason, StartEnvironment, Toolchains};

/// A folder with a home folder and a writable root `project`.
struct World {
    held: tempfile::TempDir,
    config: Config,
    path: Vec<PathBuf>,
}

impl World {
    fn new() -> Self {
        let held = tempfile::tempdir().unwrap();
        let base = held.path().canonicalize().unwrap();
        let mut world = Self { held, config: Config::alone(Settings::default(), &base), path: Vec::new() };
        world.folder("home");
        world.add_root("project");
        world
    }

    /// A path in the folder of this world, never outside.
    fn at(&self, name: &str) -> PathBuf {
        self.held.path().canonicalize().unwrap().join(name.trim_start_matches('/'))
    }

    fn folder(&self, name: &str) {
        fs::create_dir_all(self.at(name)).unwrap();
    }

    fn file(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    fn program(&self, name: &str, text: &str) {
        self.file(name, text);
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn link(&self, name: &str, to: impl AsRef<Path>) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        symlink(to, self.at(name)).unwrap();
    }

    fn add_root(&mut self, name: &str) {
        self.folder(name);
        let root = PathConfig {
            root: self.at(name),
            mode: PathMode::Rw,
            suffixes: Vec::new(),
            max_file_bytes: None,
            products: Vec::new(),
            approval: PathApproval { read: Approval::None, write: Approval::None, attach: Approval::None },
            origin: Because::built_in("sandbox.paths", "a root"),
        };
        self.config.main.sandbox.paths.insert(name.to_owned(), root);
    }

    fn on_path(&mut self, names: &[&str]) {
        self.path = names.iter().map(|name| self.at(name)).collect();
    }

    fn never_read(&mut self, rules: &[&str]) {
        self.config.main.sandbox.never_read = rules.iter().map(|rule| (*rule).to_owned()).collect();
    }

    fn start(&self) -> StartEnvironment {
        let places = Places {
            managed: self.at("managed.yaml"),
            user: self.at("home/.config/askfirst/askfirst.yaml"),
            state: self.at("home/.local/state/askfirst"),
            home: Some(self.at("home")),
        };
        StartEnvironment { path: self.path.clone(), places }
    }

    fn find(&self) -> Toolchains {
        let found = Toolchains::find(&self.config, &self.start());
        let again = Toolchains::decode(&found.encode(), &self.config, &self.start());
        assert_eq!(again.as_ref(), Some(&found), "it is stored differently");
        found
    }

    /// The paths from this world's folder.
    fn names<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> Vec<String> {
        let base = self.at("");
        let mut names: Vec<String> =
            paths.map(|path| path.strip_prefix(&base).unwrap_or(path).display().to_string()).collect();
        names.sort();
        names
    }

    fn shown(&self) -> Vec<String> {
        self.names(self.find().folders())
    }

    fn reason(&self, name: &str) -> Option<HiddenReason> {
        let path = self.at(name);
        self.find().hidden().find(|(hidden, _)| *hidden == path).map(|(_, reason)| reason.clone())
    }

    fn profile(&self) -> OSProfile {
        let mut profile = OSProfile::nothing();
        self.find().add_to(&mut profile);
        profile
    }

    /// Creates `.pyenv` with one version, as pyenv does.
    fn make_pyenv(&self) {
        for name in ["shims/python3", "libexec/pyenv", "versions/3.11.7/bin/python3"] {
            self.program(&format!("home/.pyenv/{name}"), "#!/bin/sh\n");
        }
        self.link("home/.pyenv/bin/pyenv", "../libexec/pyenv");
        self.file("home/.pyenv/versions/3.11.7/lib/python3.11/os.py", "");
        self.file("home/.pyenv/version", "3.11.7\n");
        self.file("home/.pyenv/.git/config", "token");
    }

    /// Creates one installation of Python, as uv does.
    fn make_uv(&self) {
        let base = "home/.local/share/uv/python/cpython-3.12.4-linux";
        self.program(&format!("{base}/bin/python3.12"), "");
        self.file(&format!("{base}/lib/python3.12/os.py"), "");
        self.link("home/.local/share/uv/python/cpython-3.12-linux", "cpython-3.12.4-linux");
        self.program("home/.local/bin/uv", "");
    }
}

#[test]
fn pyenv_shows_shims_and_versions_only() {
    let mut world = World::new();
    world.make_pyenv();
    world.on_path(&["home/.pyenv/shims", "home/.pyenv/bin"]);
    let parts = ["bin", "libexec", "shims", "version", "versions"].map(|part| format!("home/.pyenv/{part}"));
    assert_eq!(world.shown(), parts);
}

#[test]
fn secrets_of_an_installation_stay_hidden() {
    let mut world = World::new();
    world.make_pyenv();
    let version = "home/.pyenv/versions/3.11.7";
    for name in ["pip.conf", "etc/npmrc", ".env", "lib/python3.11/server.pem"] {
        world.file(&format!("{version}/{name}"), "secret");
    }
    world.never_read(&["*.pem"]);
    world.on_path(&["home/.pyenv/shims"]);
    let found = world.find();
    assert_eq!(
        world.names(found.hidden_inside()),
        [".env", "etc/npmrc", "pip.conf"].map(|name| format!("{version}/{name}"))
    );
    let contains = |name: &str| found.contains(&world.at(version).join(name));
    // Certificates of a library stay readable, as those in `/usr` do.
    assert!(contains("lib/python3.11/server.pem") && !contains("pip.conf") && !contains("../../.git/config"));
}

#[test]
fn pyenv_version_elsewhere_is_followed() {
    let mut world = World::new();
    world.make_pyenv();
    world.program("opt/python/bin/python3", "");
    world.file("opt/python/lib/python3.13/os.py", "");
    world.link("home/.pyenv/versions/other", world.at("opt/python"));
    world.on_path(&["home/.pyenv/shims"]);
    let shown = world.shown();
    assert!(shown.contains(&"opt/python/lib".to_owned()) && !shown.contains(&"opt".to_owned()), "{shown:?}");
}

#[test]
fn rustup_shows_toolchains_without_credentials() {
    let mut world = World::new();
    world.program("home/.cargo/bin/rustup", "");
    world.link("home/.cargo/bin/cargo", "rustup");
    for name in
        [".cargo/credentials.toml", ".cargo/config.toml", ".cargo/registry/x", ".rustup/settings.toml"]
    {
        world.file(&format!("home/{name}"), "");
    }
    world.program("home/.rustup/toolchains/stable/bin/cargo", "");
    world.on_path(&["home/.cargo/bin"]);
    assert_eq!(world.shown(), ["home/.cargo/bin", "home/.rustup/settings.toml", "home/.rustup/toolchains"]);
    assert_eq!(world.find().variables(), []);
}

#[test]
fn rustup_outside_home_gets_its_variable() {
    let mut world = World::new();
    world.program("opt/cargo/bin/rustup", "");
    world.program("opt/rustup/toolchains/stable/bin/cargo", "");
    world.on_path(&["opt/cargo/bin"]);
    assert_eq!(world.shown(), ["opt/cargo/bin", "opt/rustup/toolchains"]);
    assert_eq!(world.find().variables(), [("RUSTUP_HOME".into(), world.at("opt/rustup").into())]);
    assert!(world.profile().environment.contains(&"RUSTUP_HOME".into()));
}

#[test]
fn nvm_shows_the_version_on_path_only() {
    let mut world = World::new();
    for version in ["v20", "v22"] {
        let base = format!("home/.nvm/versions/node/{version}");
        world.program(&format!("{base}/bin/node"), "");
        world.program(&format!("{base}/lib/node_modules/npm/cli.js"), "#!/usr/bin/env node\n");
        world.link(&format!("{base}/bin/npm"), "../lib/node_modules/npm/cli.js");
        world.file(&format!("{base}/etc/npmrc"), "//registry/:_authToken=secret");
    }
    world.on_path(&["home/.nvm/versions/node/v22/bin"]);
    let parts = ["bin", "lib"].map(|part| format!("home/.nvm/versions/node/v22/{part}"));
    assert_eq!(world.shown(), parts);
}

#[test]
fn uv_shows_its_pythons_and_tools() {
    let mut world = World::new();
    world.make_uv();
    let tool = "home/.local/share/uv/tools/ruff";
    let base = world.at("home/.local/share/uv/python/cpython-3.12-linux/bin");
    world.file(&format!("{tool}/pyvenv.cfg"), &format!("home = {}\n", base.display()));
    world.link(&format!("{tool}/bin/python"), base.join("python3.12"));
    world.program(&format!("{tool}/bin/ruff"), "#!python\n");
    world.link("home/.local/bin/ruff", "../share/uv/tools/ruff/bin/ruff");
    world.file("home/.local/share/keyrings/login", "secret");
    world.on_path(&["home/.local/bin"]);
    let tool = ["bin", "pyvenv.cfg"].map(|part| format!("{tool}/{part}"));
    let others = ["home/.local/bin", "home/.local/share/uv/python"].map(str::to_owned);
    assert_eq!(world.shown(), [others.as_slice(), &tool].concat());
}

#[test]
fn base_of_an_environment_is_followed_through_links() {
    let mut world = World::new();
    world.make_uv();
    fs::remove_file(world.at("home/.local/bin/uv")).unwrap();
    let base = world.at("home/.local/share/uv/python/cpython-3.12-linux");
    world.file("home/venv/pyvenv.cfg", &format!("version = 3.12\nhome = {}/bin\n", base.display()));
    world.program("home/venv/bin/pytest", "");
    world.on_path(&["home/venv/bin"]);
    let real = "home/.local/share/uv/python/cpython-3.12.4-linux";
    let parts =
        [format!("{real}/bin"), format!("{real}/lib"), "home/venv/bin".into(), "home/venv/pyvenv.cfg".into()];
    assert_eq!(world.shown(), parts);
    // The settings name the link, so it must lead to the same place inside.
    assert_eq!(world.profile().links, [(base, world.at(real))]);
}

#[test]
fn links_and_interpreters_of_programs_are_followed() {
    let mut world = World::new();
    world.make_pyenv();
    let python = world.at("home/.pyenv/versions/3.11.7/bin/python3");
    world.program("home/bin/script", &format!("#! {} -s\n", python.display()));
    world.program("home/apps/tool-1.0", "");
    world.link("home/bin/tool", "../apps/tool-1.0");
    world.program("home/lib/node_modules/tsc/bin/tsc", "");
    world.link("home/bin/tsc", "../lib/node_modules/tsc/bin/tsc");
    world.on_path(&["home/bin"]);
    let python = ["bin", "lib"].map(|part| format!("home/.pyenv/versions/3.11.7/{part}"));
    let others = ["home/apps/tool-1.0", "home/bin", "home/lib/node_modules"].map(str::to_owned);
    assert_eq!(world.shown(), [python.as_slice(), &others].concat());
}

#[test]
fn installation_is_shown_only_if_it_contains_nothing_else() {
    let mut world = World::new();
    for name in ["opt/cmake/bin/cmake", "app/bin/serve"] {
        world.program(name, "");
    }
    for name in ["opt/cmake/share/cmake.txt", "opt/cmake/README", "app/lib/x", "app/config/master"] {
        world.file(name, "");
    }
    world.on_path(&["opt/cmake/bin", "app/bin"]);
    assert_eq!(world.shown(), ["app/bin", "opt/cmake/bin", "opt/cmake/share"]);
}

#[test]
fn entry_through_a_link_keeps_its_spelling() {
    let mut world = World::new();
    world.make_pyenv();
    world.link("other-home", "home");
    world.on_path(&["other-home/.pyenv/shims"]);
    assert!(world.shown().contains(&"home/.pyenv/shims".to_owned()));
    assert_eq!(world.profile().links, [(world.at("other-home"), world.at("home"))]);
}

#[test]
fn summary_counts_many_files_of_one_folder() {
    let mut world = World::new();
    (0..5).for_each(|number| world.program(&format!("home/tools/{number}"), ""));
    world.folder("home/tools/project");
    world.program("home/bin/x", "");
    world.on_path(&["home/tools", "home/bin"]);
    assert_eq!(world.find().summary(), ["~/bin", "~/tools/* (5 files)"]);
}

#[test]
fn list_shows_only_what_it_names() {
    let mut world = World::new();
    world.make_pyenv();
    world.file("opt/data/x", "");
    world.on_path(&["home/.pyenv/shims"]);
    let named = world.at("opt/data");
    let mut set = |auto, paths: &[PathBuf]| {
        world.config.main.sandbox.toolchains = ToolchainAccess { auto, paths: paths.to_vec() };
        world.shown()
    };
    assert_eq!(set(false, &[]), [""; 0]);
    assert_eq!(set(false, std::slice::from_ref(&named)), ["opt/data"]);
    assert_eq!(set(true, std::slice::from_ref(&named)).len(), 6);
    assert_eq!(world.reason("home/.pyenv/shims"), None);
    world.config.main.sandbox.toolchains.auto = false;
    assert_eq!(world.reason("home/.pyenv/shims"), Some(HiddenReason::NotIncluded));
}

#[test]
fn floor_only_removes_toolchains() {
    let mut world = World::new();
    world.make_pyenv();
    world.file("opt/data/x", "");
    world.on_path(&["home/.pyenv/shims"]);
    world.config.main.sandbox.toolchains.paths = vec![world.at("opt/data")];
    let all = world.shown();
    let mut with = |auto: bool, names: &[&str]| {
        let mut floor = Settings::default();
        let origin = Origin { value: "x".to_owned(), from: "x:1".to_owned() };
        floor.origins.insert("sandbox.toolchains".to_owned(), origin);
        let paths = names.iter().map(|name| world.at(name)).collect();
        floor.sandbox.toolchains = ToolchainAccess { auto, paths };
        world.config.floors = vec![floor];
        world.shown()
    };
    assert_eq!(with(false, &[]), [""; 0]);
    assert_eq!(
        with(false, &["opt", "home/.pyenv/versions/3.11.7", "home/secret"]),
        ["home/.pyenv/versions/3.11.7", "opt/data"]
    );
    assert_eq!(with(true, &[]), all[..all.len() - 1]);
    assert_eq!(with(true, &["opt/data"]), all);
}

#[test]
fn change_of_an_examined_folder_is_noticed() {
    let mut world = World::new();
    world.program("home/bin/x", "");
    world.on_path(&["home/bin"]);
    let found = world.find();
    assert!(found.is_current());
    std::thread::sleep(std::time::Duration::from_millis(20));
    world.file("home/bin/.env", "secret");
    assert!(!found.is_current());
    assert_eq!(world.names(world.find().hidden_inside()), ["home/bin/.env"]);
}
