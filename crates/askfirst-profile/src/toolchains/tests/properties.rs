//! Property test: whatever `PATH`, links and environments look like, nothing forbidden is shown.

use proptest::prelude::*;

use super::*;

/// A place in the world that links and entries may name.
fn place() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just("home"),
        Just("home/.ssh"),
        Just("home/a"),
        Just("home/a/bin"),
        Just("home/b"),
        Just("home/b/bin"),
        Just("home/vault"),
        Just("home/vault/bin"),
        Just("home/a/lib"),
        Just("project"),
        Just("project/bin"),
        Just("opt/c/bin"),
    ]
}

#[derive(Debug, Clone)]
enum Made {
    Link(&'static str, &'static str),
    Environment(&'static str, &'static str),
    Script(&'static str, &'static str),
    Sign(&'static str),
}

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        (place(), place()).prop_map(|(at, to)| Made::Link(at, to)),
        (place(), place()).prop_map(|(at, base)| Made::Environment(at, base)),
        (place(), place()).prop_map(|(at, to)| Made::Script(at, to)),
        place().prop_map(Made::Sign),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    // invariant: 4
    #[test]
    fn nothing_forbidden_is_shown(
        made in prop::collection::vec(made(), 0..12),
        entries in prop::collection::vec(place(), 1..6),
        named in prop::collection::vec(place(), 0..3),
    ) {
        let mut world = World::new();
        for name in ["home/.ssh/id", "home/a/bin/x", "home/b/bin/x", "home/vault/bin/x", "project/bin/x", "opt/c/bin/x"] {
            world.program(name, "");
        }
        world.folder("home/a/lib");
        for (number, made) in made.iter().enumerate() {
            match made {
                Made::Link(at, to) => world.link(&format!("{at}/link-{number}"), world.at(to)),
                Made::Environment(at, base) => {
                    world.file(&format!("{at}/pyvenv.cfg"), &format!("home = {}\n", world.at(base).display()));
                }
                Made::Script(at, to) => {
                    world.program(&format!("{at}/script{number}"), &format!("#!{}/x\n", world.at(to).display()));
                }
                Made::Sign(at) => world.file(&format!("{at}/lib/python3.9/os.py"), ""),
            }
        }
        world.never_read(&["vault"]);
        world.on_path(&entries);
        world.config.main.sandbox.toolchains.paths = named.iter().map(|name| world.at(name)).collect();
        let (home, root, secret) = (world.at("home"), world.at("project"), world.at("home/.ssh"));
        let is_named = |path: &Path| named.iter().any(|name| path == world.at(name));
        for path in world.find().folders() {
            prop_assert!(!home.starts_with(path), "{path:?} contains the home folder");
            prop_assert!(!root.starts_with(path) && !path.starts_with(&root), "{path:?} and the root overlap");
            prop_assert!(!path.starts_with(world.at("home/vault")), "{path:?} is never read");
            prop_assert!(!path.starts_with(&secret) || is_named(path), "{path:?} holds secrets");
            prop_assert_eq!(path, path.canonicalize().unwrap());
        }
    }
}
