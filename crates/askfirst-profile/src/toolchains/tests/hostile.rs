//! Tests with a hostile `PATH`, hostile links, and files that an agent wrote.

use super::*;

/// A link that leads to too much never shows it.
// invariant: 4
#[test]
fn entry_that_contains_home_or_everything_is_hidden() {
    let mut world = World::new();
    world.program("home/x", "");
    world.link("to-home", "home");
    world.link("to-everything", "/");
    world.link("home/bin", "..");
    let names = ["home", "", "to-home", "to-everything", "home/bin"];
    world.on_path(&names);
    assert_eq!(world.shown(), [""; 0]);
    for name in names {
        assert_eq!(world.reason(name), Some(HiddenReason::Home), "{name}");
    }
}

// invariant: 4
#[test]
fn folders_of_secrets_are_hidden() {
    let mut world = World::new();
    for name in [".ssh", ".aws/bin", ".local/share", ".config", "x/.gnupg"] {
        world.program(&format!("home/{name}/program"), "");
    }
    world.link("home/keys", ".ssh");
    let names =
        ["home/.ssh", "home/keys", "home/.aws/bin", "home/x/.gnupg", "home/.local/share", "home/.config"];
    world.on_path(&names);
    assert_eq!(world.shown(), [""; 0]);
    let reasons = names.map(|name| world.reason(name).unwrap());
    assert!(reasons[..4].iter().all(|reason| *reason == HiddenReason::Secrets), "{reasons:?}");
    assert!(reasons[4..].iter().all(|reason| *reason == HiddenReason::Collection), "{reasons:?}");
}

// invariant: 4
#[test]
fn environment_in_a_root_selects_but_adds_nothing() {
    let mut world = World::new();
    world.make_uv();
    world.file("home/.ssh/id", "secret");
    world.file("home/private/lib/python3.9/os.py", "");
    world.program("home/private/bin/python3", "");
    let private = world.at("home/private/bin");
    world.file(
        "project/.venv/pyvenv.cfg",
        &format!("home = {}\nhome = {}\n", private.display(), world.at("home/.ssh").display()),
    );
    world.link("project/.venv/bin/python", private.join("python3"));
    world.program("project/.venv/bin/pytest", &format!("#!{}/python3\n", private.display()));
    world.link("project/.python-version", world.at("home/.ssh/id"));
    world.on_path(&["project/.venv/bin", "home/.local/bin"]);
    assert_eq!(world.shown(), ["home/.local/bin", "home/.local/share/uv/python"]);
    assert_eq!(world.reason("project/.venv/bin"), None);
}

// invariant: 4
#[test]
fn link_in_a_root_is_never_followed() {
    let mut world = World::new();
    world.program("home/private/program", "");
    world.link("project/link", "../home/private");
    world.link("project/bin/program", "../../home/private/program");
    // Each leads through a link that an agent could have made.
    world.link("home/bin/program", "../../project/link/program");
    world.link("home/other", "../project/link");
    world.program("home/bin/own", &format!("#!{}\n", world.at("project/link/program").display()));
    world.on_path(&["project/link", "project/bin", "home/bin", "home/other"]);
    assert_eq!(world.shown(), ["home/bin"]);
    let root = HiddenReason::Root(world.at("project"));
    for name in ["project/link", "home/bin/program", "home/other"] {
        assert_eq!(world.reason(name), Some(root.clone()), "{name}");
    }
}

// invariant: 4
#[test]
fn environment_outside_cannot_show_secrets() {
    let mut world = World::new();
    world.program("home/.ssh/id", "secret");
    world.program("home/plain/data", "");
    for (number, base) in ["home/.ssh", "home", "", "home/plain"].iter().enumerate() {
        world.file(
            &format!("home/venv{number}/pyvenv.cfg"),
            &format!("home = {}\n", world.at(base).display()),
        );
        world.program(&format!("home/venv{number}/bin/x"), "");
        world.link(&format!("home/venv{number}/bin/y"), world.at("home/.ssh/id"));
    }
    world.on_path(&["home/venv0/bin", "home/venv1/bin", "home/venv2/bin", "home/venv3/bin"]);
    assert!(world.shown().iter().all(|name| name.starts_with("home/venv")), "{:?}", world.shown());
}

// invariant: 4
#[test]
fn never_read_path_is_never_shown() {
    let mut world = World::new();
    for name in ["home/.pyenv/shims/x", "home/vault/tool", "home/vault/bin/x", "opt/vault/x", "home/tools/x"]
    {
        world.program(name, "");
    }
    world.folder("home/.pyenv/versions/3.11/lib/private");
    world.link("home/.pyenv/shims/evil", world.at("home/vault/tool"));
    world.link("home/links/tool", "../vault/tool");
    world.program("home/links/x", "");
    world.never_read(&["vault/", "~/tools", "~/.pyenv/versions/3.11/lib/private/*.key"]);
    world.on_path(&["home/.pyenv/shims", "home/links", "home/vault/bin", "opt/vault", "home/tools"]);
    let shown = world.shown();
    assert_eq!(shown, ["home/.pyenv/shims", "home/.pyenv/versions", "home/links"]);
    let inside = world.names(world.find().hidden_inside());
    assert_eq!(inside, ["home/.pyenv/versions/3.11/lib/private"]);
    for name in ["home/.pyenv/shims/evil", "home/links/tool", "home/vault/bin", "opt/vault", "home/tools"] {
        let reason = world.reason(name);
        assert!(matches!(reason, Some(HiddenReason::NeverRead(_))), "{name}: {reason:?}");
    }
}

// invariant: 4
#[test]
fn named_path_cannot_show_home_roots_or_never_read() {
    let mut world = World::new();
    for name in ["home/vault/x", "home/around/inner/x", "home/.local/state/askfirst/watch/secret", "opt/x"] {
        world.file(name, "");
    }
    world.add_root("home/around/inner");
    world.link("opt/link", "x");
    world.never_read(&["vault"]);
    let names =
        ["", "home", "home/vault", "home/around", "project", "home/.local/state", "opt/link", "opt/gone"];
    world.config.main.sandbox.toolchains.paths = names.map(|name| world.at(name)).to_vec();
    world.config.main.sandbox.toolchains.paths.push("/".into());
    assert_eq!(world.shown(), [""; 0]);
    assert_eq!(world.find().hidden().count(), names.len() + 1);
}

#[test]
fn relative_entries_are_hidden() {
    let mut world = World::new();
    world.program("home/bin/x", "");
    let dots = world.at("home/x/../bin");
    world.path = vec!["".into(), ".".into(), "bin".into(), "../home/bin".into(), dots.clone()];
    let found = world.find();
    assert_eq!(found.folders().count(), 0);
    let relative = found.hidden().filter(|(_, reason)| **reason == HiddenReason::Relative);
    assert_eq!(relative.count(), 5);
    assert!(found.hidden().all(|(path, _)| found.config_line(path).is_none()));
}

#[test]
fn entry_that_contains_a_root_is_hidden() {
    let mut world = World::new();
    world.program("home/src/tool", "");
    world.add_root("home/src/project");
    world.on_path(&["home/src"]);
    assert_eq!(world.reason("home/src"), Some(HiddenReason::Root(world.at("home/src/project"))));
    assert_eq!(world.shown(), [""; 0]);
}

#[test]
fn circles_and_dangling_links_are_hidden_or_skipped() {
    let mut world = World::new();
    world.link("home/a", "b");
    world.link("home/b", "a");
    world.link("home/bin/self", "../bin/self");
    world.link("home/bin/gone", "../nowhere");
    world.link("home/bin/deep", "deep/deep");
    world.program("home/bin/x", "");
    world.on_path(&["home/a", "home/bin", "home/nowhere", "home/bin/x"]);
    assert_eq!(world.shown(), ["home/bin"]);
    assert_eq!(world.reason("home/a"), Some(HiddenReason::Circle));
    assert_eq!(world.reason("home/bin/self"), Some(HiddenReason::Circle));
    assert_eq!(world.reason("home/nowhere"), None);
}

#[test]
fn thousands_of_entries_and_links_are_limited() {
    let mut world = World::new();
    let names: Vec<String> = (0..700).map(|number| format!("home/tools/{number}")).collect();
    names.iter().for_each(|name| world.program(&format!("{name}/x"), ""));
    names
        .iter()
        .enumerate()
        .for_each(|(n, name)| world.link(&format!("home/bin/{n}"), world.at(name).join("x")));
    world.program("home/bin/x", "");
    let all: Vec<&str> = ["home/bin"].into_iter().chain(names.iter().map(String::as_str)).collect();
    world.on_path(&all);
    let began = std::time::Instant::now();
    let found = world.find();
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(found.folders().count(), 256);
    assert_eq!(world.reason("home/tools/699"), Some(HiddenReason::TooMany));
}

// invariant: 4
#[test]
fn toolchain_that_became_a_link_is_left_out() {
    let mut world = World::new();
    world.program("home/bin/x", "");
    world.program("home/more/bin/x", "");
    world.file("home/private/x", "");
    world.on_path(&["home/bin", "home/more/bin"]);
    let found = world.find();
    assert_eq!(found.folders().count(), 2);
    fs::rename(world.at("home/bin"), world.at("home/old")).unwrap();
    world.link("home/bin", "private");
    fs::rename(world.at("home/more"), world.at("home/old-more")).unwrap();
    world.link("home/more", "old-more");
    let mut profile = OSProfile::nothing();
    found.add_to(&mut profile);
    assert_eq!(profile.readable, []);
    assert!(!found.is_current());
}

#[test]
fn device_and_proc_paths_are_hidden() {
    let mut world = World::new();
    world.link("home/fd", "/proc/self/cwd");
    world.path = ["/proc/self/cwd", "/proc/1/cwd", "/dev/fd", "/etc/init.d"].map(PathBuf::from).into();
    world.path.push(world.at("home/fd"));
    assert_eq!(world.shown(), [""; 0]);
}

#[test]
fn folder_that_everyone_can_fill_is_hidden() {
    let mut world = World::new();
    world.program("open/x", "");
    fs::set_permissions(world.at("open"), fs::Permissions::from_mode(0o777)).unwrap();
    world.folder("home/empty");
    world.file("home/text/note", "");
    world.on_path(&["open", "home/empty", "home/text"]);
    assert_eq!(world.shown(), [""; 0]);
    assert_eq!(world.reason("open"), Some(HiddenReason::OpenToEveryone));
    assert_eq!(world.reason("home/text"), Some(HiddenReason::NoProgram));
}

// invariant: 4
#[test]
fn secrets_between_programs_stay_hidden() {
    let mut world = World::new();
    world.program("home/bin/deploy", "");
    let files = [".env", "deploy.key", ".git/config", "kept.txt", "real"];
    files.iter().for_each(|name| world.file(&format!("home/bin/{name}"), ""));
    world.link("home/bin/tls.pem", "real");
    world.never_read(&["*.pem"]);
    world.on_path(&["home/bin"]);
    let hidden = [".env", ".git", "deploy.key", "real"];
    assert_eq!(world.names(world.find().hidden_inside()), hidden.map(|name| format!("home/bin/{name}")));
    assert_eq!(world.profile().denied.len(), hidden.len());
    // With a folder in it, each file is shown on its own. A folder that the config names is searched at any depth.
    for name in ["sub/.env", "sub/server.pem", "sub/code"] {
        world.file(&format!("home/bin/{name}"), "");
    }
    assert_eq!(world.shown(), ["deploy", "kept.txt"].map(|name| format!("home/bin/{name}")));
    assert_eq!(world.find().hidden_inside().count(), 0);
    world.config.main.sandbox.toolchains.paths = vec![world.at("home/bin")];
    let all = [&hidden[..], &["sub/.env", "sub/server.pem"]].concat();
    let all: Vec<String> = all.iter().map(|name| format!("home/bin/{name}")).collect();
    assert_eq!(
        (world.shown(), world.names(world.find().hidden_inside())),
        (vec!["home/bin".to_owned()], all)
    );
}

/// A folder on `PATH` may be where a person works.
// invariant: 4
#[test]
fn folders_beside_a_program_on_path_stay_hidden() {
    let mut world = World::new();
    world.program("home/src/run-all", "#!/bin/sh\n");
    for name in ["client/.env", "client/src/main.rs", "client/bin/build", "other/notes.md"] {
        world.program(&format!("home/src/{name}"), "");
    }
    world.link("home/src/build", "client/bin/build");
    world.link("home/src/latest", "client");
    world.program("home/src/lint-1.0", "");
    world.link("home/src/lint", "lint-1.0");
    world.on_path(&["home/src"]);
    let shown = ["client/bin/build", "lint-1.0", "run-all"].map(|name| format!("home/src/{name}"));
    assert_eq!(world.shown(), shown);
    let found = world.find();
    assert!(!found.contains(&world.at("home/src/client/.env")) && !found.contains(&world.at("home/src")));
    let links = [("build", "client/bin/build"), ("lint", "lint-1.0")];
    let links = links.map(|(link, to)| (world.at("home/src").join(link), world.at("home/src").join(to)));
    assert_eq!(world.profile().links, links);
    assert_eq!(world.find().hidden().count(), 0);
    // With too many files for one mount each, the folders are covered.
    (0..200).for_each(|number| world.file(&format!("home/src/{number}.txt"), ""));
    assert_eq!(world.shown(), ["home/src"]);
    let covered = ["client", "other"].map(|name| format!("home/src/{name}"));
    assert_eq!(world.names(world.find().hidden_inside()), covered);
    // The config may show them.
    world.config.main.sandbox.toolchains.paths = vec![world.at("home/src")];
    assert_eq!(world.names(world.find().hidden_inside()), ["home/src/client/.env"]);
}

// invariant: 4
#[test]
fn never_read_name_among_packages_stays_hidden() {
    let mut world = World::new();
    world.program("home/app/node_modules/.bin/x", "");
    for name in ["tsc/bin/tsc", "@scope/lint/lint.js"] {
        world.program(&format!("home/app/node_modules/{name}"), "");
        world.link(
            &format!("home/bin/{}", name.replace('/', "-")),
            world.at("home/app/node_modules").join(name),
        );
    }
    for name in ["tsc/.env", "tsc/vault/x", "@scope/lint/server.key", "other/deep/.env"] {
        world.file(&format!("home/app/node_modules/{name}"), "secret");
    }
    world.file("home/app/.env", "secret");
    world.never_read(&[".env", "vault"]);
    world.on_path(&["home/bin"]);
    let hidden = ["@scope/lint/server.key", "other/deep/.env", "tsc/.env", "tsc/vault"];
    let hidden = hidden.map(|name| format!("home/app/node_modules/{name}"));
    assert_eq!(world.shown(), ["home/app/node_modules", "home/bin"]);
    assert_eq!(world.names(world.find().hidden_inside()), hidden);
    // Too much to search: only the packages of the programs are shown.
    (0..5_000).for_each(|number| world.file(&format!("home/app/node_modules/large/{number}"), ""));
    let packages = ["@scope/lint", "tsc"].map(|name| format!("home/app/node_modules/{name}"));
    assert_eq!(world.shown(), [packages.as_slice(), &["home/bin".to_owned()]].concat());
    let hidden = ["@scope/lint/server.key", "tsc/.env", "tsc/vault"];
    let hidden = hidden.map(|name| format!("home/app/node_modules/{name}"));
    assert_eq!(world.names(world.find().hidden_inside()), hidden);
}

#[test]
fn folder_too_large_to_search_is_hidden() {
    let mut world = World::new();
    world.program("home/bin/x", "");
    (0..300).for_each(|number| world.file(&format!("home/bin/{number}.key"), ""));
    world.on_path(&["home/bin"]);
    assert_eq!(world.reason("home/bin"), Some(HiddenReason::Unsearchable));
    // The config may name it. Then only its top is searched.
    (0..5_000).for_each(|number| world.file(&format!("home/large/sub/{number}"), ""));
    for name in [".env", "sub/.env"] {
        world.file(&format!("home/large/{name}"), "");
    }
    world.config.main.sandbox.toolchains.paths = vec![world.at("home/large")];
    assert_eq!(world.shown(), ["home/large"]);
    assert_eq!(world.names(world.find().hidden_inside()), ["home/large/.env"]);
}
