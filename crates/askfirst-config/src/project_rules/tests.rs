//! Tests that the user's rules for a project are stored safely, and that they apply only in the project.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use askfirst::{
    ApprovalDecision, ApprovalMemory, ApprovalRequest, ApprovalScope, Cause, Digest, Loosen, MemoryId,
    OfferedPattern, RememberedDecision, Risk, Timestamp,
};
use serde_json::json;

use super::{MainRules, Project, RuleScope, RulesInForce};
use crate::layers::LoadOptions;
use crate::state_file::StateFileError;
use crate::testing::World;

const CONFIG: &str = "project/askfirst.yaml";

fn approval(n: u64) -> RememberedDecision {
    RememberedDecision {
        id: MemoryId(0),
        tool_name: "note".to_owned(),
        payload: json!({"n": n}),
        definition: Some(Digest::of("note")),
        any_definition: false,
        pattern: None,
        risk: Risk::Low,
        decision: ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session).always(),
        description: format!("note({n})"),
        since: Timestamp(7),
        until: Some(Timestamp(8)),
        hits: 3,
    }
}

fn project_in(world: &World, folder: &str) -> Option<Project> {
    Project::find(&LoadOptions { folder: world.path(folder), ..world.options() })
}

fn project(world: &World) -> Project {
    world.write(CONFIG, "version: 1\n");
    project_in(world, "project").unwrap()
}

fn numbers(found: &RulesInForce) -> Vec<u64> {
    found.own.iter().map(|rule| rule.id).collect()
}

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=n", "-c", "user.email=e@example.com"]).args(args);
    let done = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A repository with a config, and a linked worktree of it. The main repository has one rule.
fn with_worktree() -> (World, Project, Project) {
    let world = World::new();
    let main = project(&world);
    let folder = world.path("project");
    git(&folder, &["init", "-q"]);
    git(&folder, &["add", "askfirst.yaml"]);
    git(&folder, &["commit", "-qm", "first"]);
    git(&folder, &["worktree", "add", "-q", "../linked"]);
    main.add(vec![approval(1)]).unwrap();
    let linked = project_in(&world, "linked").unwrap();
    (world, main, linked)
}

#[test]
fn rule_file_is_private_and_not_in_the_project() {
    let world = World::new();
    let project = project(&world);
    project.add(vec![approval(1)]).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&project.file()), 0o600);
    assert_eq!(mode(project.file().parent().unwrap()), 0o700);
    assert!(project.file().starts_with(world.path("state/askfirst/projects")));
    assert_eq!(fs::read_dir(project.file().parent().unwrap()).unwrap().count(), 1);
    let text = fs::read_to_string(project.file()).unwrap();
    assert!(text.contains(&format!("\"project\": \"{}\"", world.path("project").display())), "{text}");
}

#[test]
fn stored_rule_covers_what_was_approved() {
    let world = World::new();
    let project = project(&world);
    let fields = json!({"words": ["git", "push"]}).as_object().unwrap().clone();
    let pattern =
        OfferedPattern::new("`git push` with any arguments", fields, [("words", Loosen::StartsWith)]);
    let wider = RememberedDecision { pattern: Some(pattern), ..approval(2) };
    let rules = project.add(vec![approval(1), wider]).unwrap();
    assert_eq!(rules[1].description, "`git push` with any arguments");
    let mut memory = ApprovalMemory::default();
    project.in_force().decisions().for_each(|entry| memory.insert(entry));
    let mut covers = |payload, definition: &str, risk| {
        let definition = Some(Digest::of(definition));
        let request = ApprovalRequest { definition, risk, ..ApprovalRequest::new("note", "", payload) };
        memory.recall(&request, Timestamp(u64::MAX)).is_some_and(|decision| decision.always)
    };
    assert!(covers(json!({"n": 1}), "note", Risk::Low));
    assert!(covers(json!({"words": ["git", "push", "-f"]}), "note", Risk::Low));
    assert!(!covers(json!({"n": 2}), "note", Risk::Low), "the pattern alone counts");
    assert!(!covers(json!({"n": 1}), "changed", Risk::Low));
    assert!(!covers(json!({"n": 1}), "note", Risk::High));
}

#[test]
fn number_of_a_revoked_rule_is_never_used_again() {
    let world = World::new();
    let project = project(&world);
    assert_eq!(project.revoke(1).unwrap(), None);
    assert!(!project.file().exists(), "there is nothing to write");
    project.add(vec![approval(1), approval(2)]).unwrap();
    assert_eq!(project.revoke(2).unwrap().unwrap().description, "note(2)");
    assert_eq!(project.revoke(2).unwrap(), None);
    project.add(vec![approval(3)]).unwrap();
    assert_eq!(numbers(&project.in_force()), [1, 3]);
    // An equal rule replaces the old one.
    project.add(vec![RememberedDecision { risk: Risk::High, ..approval(1) }]).unwrap();
    assert_eq!(numbers(&project.in_force()), [3, 4]);
}

#[test]
fn change_by_another_process_is_noticed() {
    let world = World::new();
    let (here, there) = (project(&world), project(&world));
    let before = here.in_force();
    assert!(!here.has_changed(&before));
    there.add(vec![approval(1)]).unwrap();
    assert!(here.has_changed(&before));
    let after = here.in_force();
    assert_eq!(numbers(&after), [1]);
    assert!(!here.has_changed(&after));
    there.revoke(1).unwrap();
    assert!(here.has_changed(&after));
    let revoked = here.in_force();
    assert!(numbers(&revoked).is_empty());
    fs::remove_file(here.file()).unwrap();
    assert!(here.has_changed(&revoked));
}

#[test]
fn simultaneous_writers_lose_no_rule() {
    let world = World::new();
    let project = project(&world);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let project = &project;
            scope.spawn(move || {
                (0..10).for_each(|n| drop(project.add(vec![approval(writer * 10 + n)]).unwrap()))
            });
        }
    });
    let mut found = numbers(&project.in_force());
    found.sort_unstable();
    assert_eq!(found, (1..=40).collect::<Vec<u64>>());
}

#[test]
fn damaged_or_exposed_file_has_no_rules() {
    let world = World::new();
    let project = project(&world);
    project.add(vec![approval(1)]).unwrap();
    let good = fs::read_to_string(project.file()).unwrap();
    let other = format!("{}/other", world.path("project").display());
    let bad = [
        String::new(),
        good.chars().take(good.len() / 2).collect(),
        good.replace("\"version\": 1", "\"version\": 2"),
        good.replace("\"version\": 1,", "\"version\": 1, \"more\": 1,"),
        good.replace("\"description\"", "\"more\": 1, \"description\""),
        good.replace("\"next\": 2", "\"next\": 1"),
        good.replace(&world.path("project").display().to_string(), &other),
        good.replace("\"payload\"", "\"payloads\""),
    ];
    for bad in bad {
        fs::write(project.file(), &bad).unwrap();
        let found = project.in_force();
        assert!(found.own.is_empty() && found.warnings.len() == 1, "{bad}");
        assert!(found.warnings[0].starts_with("your rules for this project do not apply: cannot read"));
        // A file that cannot be read is not replaced.
        assert!(matches!(project.add(vec![approval(2)]), Err(StateFileError::Unreadable { .. })), "{bad}");
        assert!(project.revoke(1).is_err());
        assert_eq!(fs::read_to_string(project.file()).unwrap(), bad);
    }
    fs::write(project.file(), &good).unwrap();
    assert_eq!(numbers(&project.in_force()), [1]);
    let folder = project.file().parent().unwrap().to_owned();
    for (path, exposed, private) in [(project.file(), 0o666, 0o600), (folder, 0o777, 0o700)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(exposed)).unwrap();
        let found = project.in_force();
        assert!(found.own.is_empty() && found.warnings[0].contains("writable by everyone"), "{found:?}");
        fs::set_permissions(&path, fs::Permissions::from_mode(private)).unwrap();
    }
    let real = world.path("real.json");
    fs::rename(project.file(), &real).unwrap();
    symlink(&real, project.file()).unwrap();
    assert!(project.in_force().own.is_empty(), "a link is no file");
}

#[test]
fn leftover_of_a_torn_write_is_ignored() {
    let world = World::new();
    let project = project(&world);
    project.add(vec![approval(1)]).unwrap();
    let torn = project.file().with_extension("json.new");
    fs::write(&torn, "{\"version\": 1, \"rul").unwrap();
    assert_eq!(numbers(&project.in_force()), [1]);
    project.add(vec![approval(2)]).unwrap();
    assert_eq!(numbers(&project.in_force()), [1, 2]);
    assert!(!torn.exists());
}

#[test]
fn project_has_a_limited_number_of_rules() {
    let world = World::new();
    let project = project(&world);
    project.add((0..1_000).map(approval).collect()).unwrap();
    let error = project.add(vec![approval(1_000)]).unwrap_err();
    assert!(error.to_string().contains("more than 1000 rules"), "{error}");
    assert_eq!(project.in_force().own.len(), 1_000);
}

#[test]
fn project_is_the_folder_of_the_config_or_of_git() {
    let world = World::new();
    let folder = |from: &str| project_in(&world, from).map(|found| found.folder().to_owned());
    let path = |name: &str| Some(world.path(name).display().to_string());
    assert_eq!(folder("project/notes"), None, "neither a config nor a repository");
    fs::create_dir(world.path("project/.git")).unwrap();
    assert_eq!(folder("project/notes"), path("project"));
    world.write("project/notes/askfirst.yaml", "version: 1\n");
    assert_eq!(folder("project/notes"), path("project/notes"));
    symlink(world.path("project"), world.path("link")).unwrap();
    assert_eq!(folder("link"), path("project"));
    assert_eq!(folder("link/notes"), path("project/notes"));
    world.write("home/askfirst.yaml", "version: 1\n");
    assert_eq!(folder("home"), None, "rules for a home folder would apply everywhere");
    fs::create_dir(world.path("home/work")).unwrap();
    assert_eq!(folder("home/work"), None);
    let explicit = Some(world.write("etc/c.yaml", "version: 1\n"));
    let found = Project::find(&LoadOptions { explicit, ..world.options() });
    assert_eq!(found.map(|found| found.folder().to_owned()), path("etc"));
    let explicit = Some("/c.yaml".into());
    assert_eq!(Project::find(&LoadOptions { explicit, ..world.options() }), None);
}

#[test]
fn worktree_needs_confirmation_for_the_rules_of_main() {
    let (world, main, linked) = with_worktree();
    assert_eq!(linked.main(), Some(&main));
    assert_ne!(linked.file(), main.file());
    let before = linked.in_force();
    assert!(before.of_main.is_empty());
    let warnings = world.redact(&before.warnings.join("\n"));
    assert_eq!(
        warnings,
        "your rules for `[world]/project` do not apply in this worktree of it\nhint: run `askfirst trust` here"
    );
    assert!(!linked.is_main_confirmed().unwrap());
    linked.use_main(MainRules::Apply).unwrap();
    assert!(linked.has_changed(&before) && linked.is_main_confirmed().unwrap());
    let after = linked.in_force();
    assert_eq!((after.of_main.len(), after.warnings.len()), (1, 0));
    assert_eq!(after.decisions().count(), 1);
    // The main repository does not get the rules of the worktree, and its revocation counts in both.
    linked.add(vec![approval(2)]).unwrap();
    assert_eq!(main.in_force().decisions().count(), 1);
    linked.use_main(MainRules::DoNotApply).unwrap();
    assert_eq!(linked.in_force().decisions().count(), 1);
    linked.use_main(MainRules::Apply).unwrap();
    let with_both = linked.in_force();
    assert_eq!(with_both.decisions().count(), 2);
    main.revoke(1).unwrap();
    assert!(linked.has_changed(&with_both));
    assert_eq!(linked.in_force().decisions().count(), 1);
}

#[test]
fn worktree_that_main_does_not_list_has_no_rules_of_main() {
    let (world, main, linked) = with_worktree();
    linked.use_main(MainRules::Apply).unwrap();
    let admin = world.path("project/.git/worktrees/linked");
    let link = fs::read_to_string(world.path("linked/.git")).unwrap();
    // A folder that names the admin folder of another worktree.
    world.write("copy/.git", &link);
    world.write("copy/askfirst.yaml", "version: 1\n");
    assert_eq!(project_in(&world, "copy").unwrap().main(), None);
    // A folder that names an admin folder of its own.
    world.write("copy/fake/.git/worktrees/w/gitdir", &world.path("copy/.git").display().to_string());
    world.write("copy/.git", "gitdir: fake/.git/worktrees/w\n");
    let fake = project_in(&world, "copy").unwrap();
    assert_ne!(fake.main(), Some(&main));
    // A link instead of the file, and an admin folder that others can write.
    fs::rename(world.path("linked/.git"), world.path("moved")).unwrap();
    symlink(world.path("moved"), world.path("linked/.git")).unwrap();
    assert_eq!(project_in(&world, "linked").unwrap().main(), None);
    fs::remove_file(world.path("linked/.git")).unwrap();
    world.write("linked/.git", &link);
    fs::set_permissions(&admin, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(project_in(&world, "linked").unwrap().main(), None);
    fs::set_permissions(&admin, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(project_in(&world, "linked").unwrap().main(), Some(&main));
    git(&world.path("project"), &["worktree", "remove", "--force", "../linked"]);
    world.write("linked/.git", &link);
    world.write("linked/askfirst.yaml", "version: 1\n");
    let removed = project_in(&world, "linked").unwrap();
    assert_eq!((removed.main(), removed.in_force().decisions().count()), (None, 0));
}

#[test]
fn confirmation_counts_only_for_the_confirmed_repository() {
    let (world, main, linked) = with_worktree();
    linked.use_main(MainRules::Apply).unwrap();
    let text = fs::read_to_string(linked.file()).unwrap();
    let other = world.path("home/other").display().to_string();
    fs::write(
        linked.file(),
        text.replace(&format!("\"main\": \"{}\"", main.folder()), &format!("\"main\": \"{other}\"")),
    )
    .unwrap();
    assert!(!linked.is_main_confirmed().unwrap());
    assert!(linked.in_force().of_main.is_empty());
}

#[test]
fn folder_below_a_worktree_has_the_rules_of_the_same_folder() {
    let (world, _, _) = with_worktree();
    for name in ["project/notes/askfirst.yaml", "linked/notes/askfirst.yaml"] {
        world.write(name, "version: 1\n");
    }
    let linked = project_in(&world, "linked/notes").unwrap();
    assert_eq!(
        linked.main().map(Project::folder),
        project_in(&world, "project/notes").as_ref().map(Project::folder)
    );
    fs::remove_dir_all(world.path("project/notes")).unwrap();
    symlink("/", world.path("project/notes")).unwrap();
    assert_eq!(project_in(&world, "linked/notes").unwrap().main(), None, "a link must not lead elsewhere");
}

#[test]
fn effective_lines_name_the_file_of_each_rule() {
    let (_world, main, linked) = with_worktree();
    linked.add(vec![RememberedDecision { description: "two\nlines".to_owned(), ..approval(2) }]).unwrap();
    linked.use_main(MainRules::Apply).unwrap();
    let lines = linked.effective();
    let texts: Vec<String> = lines.iter().map(|line| format!("{}: {}", line.key, line.value)).collect();
    assert_eq!(
        texts,
        [
            r#"your_rules[1]: always yes to note for two\nlines"#,
            "your_rules[1]: always yes to note for note(1)"
        ]
    );
    assert_eq!(lines[0].from, linked.file().display().to_string());
    assert_eq!(lines[1].from, main.file().display().to_string());
    assert!(matches!(main.rules().unwrap()[0].covers, RuleScope::Payload(_)));
}
