//! Tests of git pointers outside the roots, and of hard links to protected files.

use super::*;

const HOOKS: &str = "[core]\n\thooksPath = tools/hooks\n";

#[test]
fn new_hooks_named_by_outside_settings_are_quarantined() {
    let world = world();
    world.write("shared", HOOKS);
    world.write("w/.git/config", &format!("[include]\n\tpath = {}\n", world.path("shared").display()));
    let said = world.after(|| world.write("w/tools/hooks/pre-commit", "x"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(!world.path("w/tools/hooks").exists());
}

// invariant: 4
#[test]
fn targets_of_global_settings_are_protected() {
    let world = world();
    let (hooks, common) = (world.path("w/hooks"), world.path("w/dot/common"));
    let text = "[core]\n\thooksPath = HOOKS\n[includeIf \"gitdir:x\"]\n\tpath = COMMON\n";
    let text = text.replace("HOOKS", &hooks.display().to_string());
    world.write("settings", &text.replace("COMMON", &common.display().to_string()));
    world.write("w/hooks/pre-commit", "x");
    world.write("w/dot/common", "");
    assert_eq!(
        world.denied(),
        [("dot/common".to_owned(), Denial::Write), ("hooks".to_owned(), Denial::Write)]
    );
    fs::remove_dir_all(&hooks).unwrap();
    let said = world.after(|| world.write("w/hooks/pre-commit", "x"));
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn template_folder_of_new_repositories_is_protected() {
    let world = world();
    world.write("settings", &format!("[init]\n\ttemplateDir = {}\n", world.path("w/template").display()));
    world.write("w/template/hooks/pre-commit", "x");
    assert_eq!(world.denied(), [("template".to_owned(), Denial::Write)]);
}

#[test]
fn global_relative_hooks_are_protected_in_each_repository() {
    let world = world();
    world.write("settings", HOOKS);
    world.write("w/a/.git/HEAD", "x");
    world.write("w/a/tools/hooks/x", "x");
    assert_eq!(world.denied(), [("a/tools/hooks".to_owned(), Denial::Write)]);
}

#[test]
fn repository_above_a_root_protects_its_hooks_inside() {
    let world = world();
    world.write(".git/config", "[core]\n\thooksPath = w/hooks\n");
    let said = world.after(|| world.write("w/hooks/pre-commit", "x"));
    assert_eq!(said.len(), 1, "{said:?}");
    world.write("w/hooks/pre-commit", "x");
    assert!(world.denied().contains(&("hooks".to_owned(), Denial::Write)), "{:?}", world.denied());
}

#[test]
fn user_hooks_stay_when_outside_settings_name_them_later() {
    let world = world();
    world.write("settings", "[core]\n\tbare = false\n");
    world.write("w/tools/hooks/pre-commit", "x");
    world.write("w/.git/HEAD", "x");
    let said = world.after(|| {
        world.write("settings.lock", HOOKS);
        fs::rename(world.path("settings.lock"), world.path("settings")).unwrap();
    });
    assert_eq!(said, [""; 0]);
}

// invariant: 4
#[test]
fn new_pointers_out_of_the_roots_are_ignored() {
    let world = world();
    world.write("out/config", "x");
    world.write("out/gitdir", "gitdir: ../w/x\n");
    let before = world.protected().search(&[world.path("w")]).unwrap();
    for name in ["w/a", "w/b", "w/c"] {
        fs::create_dir_all(world.path(name)).unwrap();
    }
    symlink(world.path("out/gitdir"), world.path("w/a/.git")).unwrap();
    world.write("w/b/.git", &format!("gitdir: {}\n", world.path("out").display()));
    fs::create_dir(world.path("w/c/.git")).unwrap();
    symlink(world.path("out/config"), world.path("w/c/.git/config")).unwrap();
    symlink(world.path("out/config"), world.path("w/c/.git/commondir")).unwrap();
    let after = world.protected().search_all(&[world.path("w")], Some(&before), |_| false);
    let outside: Vec<&PathBuf> =
        after.known.git_pointers.keys().filter(|way| !way.starts_with(world.path("w"))).collect();
    assert!(outside.is_empty(), "{outside:?}");
    for name in ["w/a/.git", "w/c/.git/config", "w/c/.git/commondir"] {
        assert!(!after.known.git_pointers.contains_key(&world.path(name)), "{name}");
    }
}

// invariant: 4
#[test]
fn hard_links_of_files_in_protected_folders_are_protected() {
    let mut world = world();
    world.config.main.sandbox.never_read = vec!["secrets".to_owned()];
    world.write("w/.git/config", HOOKS);
    for name in ["b/HEAD", "b/objects/x", "b/refs/x", "tools/hooks/x", "secrets/key", "b/hooks/y"] {
        world.write(&format!("w/{name}"), "x");
    }
    let (protected, links) = (world.protected(), HardLinks::search(&[world.path("w")]).unwrap());
    let derive =
        || derive_os_sandbox_profile(&world.config, Access::WithoutAsking, &protected, &links).unwrap();
    assert_eq!(derive().profile.denied.len(), 4);
    for (name, other) in [("tools/hooks/x", "x"), ("b/hooks/y", "y")] {
        fs::hard_link(world.path("w").join(name), world.path("w").join(other)).unwrap();
    }
    let made = derive().profile.denied;
    for name in ["w/x", "w/y"] {
        assert!(made.iter().any(|it| it.path == world.path(name) && it.what == Denial::Write), "{made:?}");
    }
    fs::hard_link(world.path("w/secrets/key"), world.path("w/copy")).unwrap();
    assert!(world.denied().contains(&("copy".to_owned(), Denial::All)), "{:?}", world.denied());
}

// invariant: 4
#[test]
fn os_profile_grants_nothing_through_a_new_link() {
    let mut world = world();
    world.write("w/job/x", "x");
    world.write("w/secret/key", "x");
    let paths = Some(vec![world.path("w/job"), world.path("w/job/out")]);
    let profile = askfirst_config::OSProfile { read: paths.clone(), write: paths, network: None };
    world.config.main.sandbox.os_profile = Some(profile);
    let links = HardLinks::search(&[world.path("w")]).unwrap();
    let derive = || {
        let derived = derive_os_sandbox_profile(&world.config, Access::Approved, &world.protected(), &links);
        let profile = derived.unwrap().profile;
        (profile.readable, profile.writable, profile.denied)
    };
    let before = derive();
    symlink(world.path("w"), world.path("w/job/out")).unwrap();
    assert_eq!(format!("{before:?}"), format!("{:?}", derive()));
}

#[test]
fn too_many_protected_paths_are_an_error() {
    let world = world();
    for number in 0..16_400 {
        world.write(&format!("w/{}/{number}.code-workspace", number % 100), "");
    }
    let links = HardLinks::search(&[world.path("w")]).unwrap();
    let derived = derive_os_sandbox_profile(&world.config, Access::WithoutAsking, &world.protected(), &links);
    let error = derived.unwrap_err().to_string();
    assert!(
        error.contains("16400 paths in the roots are protected, more than the maximum of 16384"),
        "{error}"
    );
}

#[test]
fn only_the_first_32_quarantined_names_are_listed() {
    let world = world();
    let protected = world.protected();
    let roots = [world.path("w")];
    let before = protected.search(&roots).unwrap();
    for number in 0..5000 {
        world.write(&format!("w/{number}.code-workspace"), "");
    }
    let since = QuarantineScope { before: &before, roots: &roots, writable: &roots, read_only: &[] };
    let moved = quarantine(&protected, since, |_| false);
    assert_eq!((moved.lines.len(), moved.more), (32, 5000 - 32));
}

#[test]
fn file_with_many_protected_names_is_checked_once() {
    let world = world();
    world.write("w/one", "x");
    let names: Vec<PathBuf> = (0..4000).map(|number| world.path(&format!("w/{number}"))).collect();
    for name in &names {
        fs::hard_link(world.path("w/one"), name).unwrap();
    }
    let links = HardLinks::search(&[world.path("w")]).unwrap();
    // Eight times as many names take about eight times as long. Comparing each with each would take 64 times as long.
    let took = |names: &[PathBuf]| {
        let once = |_| {
            let begun = std::time::Instant::now();
            links.names(names).unwrap();
            begun.elapsed()
        };
        (0..5).map(once).min().unwrap()
    };
    let (few, all) = (took(&names[..500]), took(&names));
    assert!(all < few * 30, "{few:?} for 500, {all:?} for 4000");
}
