//! Where git is led from outside of the roots.

use super::*;

const HOOKS: &str = "[core]\n\thooksPath = tools/hooks\n";

#[test]
fn hooks_that_settings_outside_name_are_moved_aside_when_they_appear() {
    let world = world();
    world.write("shared", HOOKS);
    world.write("w/.git/config", &format!("[include]\n\tpath = {}\n", world.path("shared").display()));
    let said = world.after(|| world.write("w/tools/hooks/pre-commit", "x"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(!world.path("w/tools/hooks").exists());
}

#[test]
fn what_settings_of_all_repositories_lead_to_is_protected() {
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
fn hooks_that_are_named_for_all_repositories_are_found_in_each() {
    let world = world();
    world.write("settings", HOOKS);
    world.write("w/a/.git/HEAD", "x");
    world.write("w/a/tools/hooks/x", "x");
    assert_eq!(world.denied(), [("a/tools/hooks".to_owned(), Denial::Write)]);
}

#[test]
fn a_repository_above_a_root_leads_into_it() {
    let world = world();
    world.write(".git/config", "[core]\n\thooksPath = w/hooks\n");
    world.write("w/hooks/pre-commit", "x");
    assert_eq!(world.denied(), [("hooks".to_owned(), Denial::Write)]);
}

#[test]
fn what_the_owner_names_in_settings_outside_meanwhile_is_not_moved() {
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

#[test]
fn what_a_program_leads_out_of_the_roots_is_not_looked_at() {
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
        after.known.ways.keys().filter(|way| !way.starts_with(world.path("w"))).collect();
    assert!(outside.is_empty(), "{outside:?}");
    for name in ["w/a/.git", "w/c/.git/config", "w/c/.git/commondir"] {
        assert!(!after.known.ways.contains_key(&world.path(name)), "{name}");
    }
}
