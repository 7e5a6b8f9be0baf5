//! Git's own commands on a view, and what a script can do to a repository.

use super::*;

/// Each on the tree that the one before left.
const EVERYDAY: &[&str] = &[
    "echo c >> src/a && git add -A && git commit -qm two",
    "git checkout -q -b side",
    "echo side > side.txt && git add side.txt && git commit -qm side",
    "git checkout -q main",
    "git merge -q --no-ff -m merged side",
    "git branch -d side",
    "echo d >> b && git stash -q",
    "git stash pop -q",
    "git commit -qam three && git commit -q --amend -m four",
    "git tag v1 && git tag -a v2 -m two",
    "git reset -q --hard HEAD~1",
    "git reset -q --soft HEAD~1 && git commit -qm again",
    "git checkout -q -b topic HEAD~1 && echo t > topic && git add topic && git commit -qm topic",
    "git rebase -q main",
    "git checkout -q main && git cherry-pick topic",
    "git revert --no-edit HEAD",
    "git mv b c && git rm -q --cached c && git reset -q",
    "git restore . && git clean -fdq",
    "git gc -q --prune=now",
    "git pack-refs --all",
    "git switch -q -C main && git diff HEAD && git log --oneline && git status",
    "git bisect start -q HEAD HEAD~1 && git bisect reset",
];

#[test]
fn everyday_git_commands_are_not_asked_about() {
    needs_views!("everyday_git_commands_are_not_asked_about");
    let project = Project::new();
    let mut asked = Vec::new();
    for command in EVERYDAY {
        let outcome = project.run(command);
        if exit_code(&outcome) != Some(0) {
            asked.push(format!("{command}: {outcome:?}"));
            project.git("reset -q --hard");
        }
    }
    assert_eq!(asked, [""; 0]);
    assert_eq!(project.asked(), [""; 0]);
}

// invariant: 11
#[test]
fn settings_and_pointers_of_a_repository_are_not_committed() {
    needs_views!("settings_and_pointers_of_a_repository_are_not_committed");
    let project = Project::new();
    for script in [
        "git config user.name B",
        "echo x > .git/hooks/post-checkout",
        "echo /x > .git/objects/info/alternates",
        "echo '* filter=x' > .git/info/attributes",
        "echo x > .git/commondir",
        "echo x > .git/anything",
        "mkdir .git/rebase-merge && echo 'exec ./x' > .git/rebase-merge/git-rebase-todo",
        "git worktree add -q wt -b wt",
        "mkdir -p .git/modules/m && echo x > .git/modules/m/config",
        "cp -r .git copy",
    ] {
        let before = project.tree();
        let outcome = project.script(script);
        assert!(matches!(outcome, Outcome::Denied(_)), "{script}: {outcome:?}");
        assert!(project.tree() == before, "{script}");
    }
}

// invariant: 11
#[test]
fn repository_under_another_name_is_asked_about() {
    needs_views!("repository_under_another_name_is_asked_about");
    let why = "belongs to a new git repository";
    let config = "printf '[core]\\n\\tfsmonitor = ./x\\n' > d/config";
    let project = Project::new();
    project
        .asks_about(&format!("mkdir -p d/objects d/refs; echo 'ref: refs/heads/x' > d/HEAD; {config}"), why);
    project.asks_about("git init -q --bare d", why);
    project.asks_about("mkdir d; echo x > d/HEAD; echo ../.git > d/commondir", why);
    // In two steps, each of which is harmless.
    for last in ["HEAD", "objects", "refs"] {
        let project = Project::new();
        let others = ["HEAD", "objects", "refs"].into_iter().filter(|name| *name != last);
        let first: Vec<String> = others.map(|name| format!("mkdir -p d/{name}")).collect();
        done(project.script(&format!("{}; {config}", first.join("; "))));
        project.asks_about(&format!("mkdir d/{last}"), why);
    }
}

// invariant: 11
#[test]
fn bare_repository_keeps_its_settings_and_hooks() {
    needs_views!("bare_repository_keeps_its_settings_and_hooks");
    let project = Project::new().yes();
    project.git("init -q --bare d");
    for script in
        ["echo x >> d/config", "echo x > d/hooks/post-update", "rm -r d/hooks; ln -s ../src d/hooks"]
    {
        project.refuses(script, "`root/d/");
    }
    done(project.script("git --git-dir d fetch -q . main:main"));
}

// invariant: 11
#[test]
fn state_that_hides_changes_from_git_is_asked_about() {
    needs_views!("state_that_hides_changes_from_git_is_asked_about");
    let project = Project::new();
    project.asks_about("git update-index --skip-worktree src/a; echo evil > src/a", "hides changes of files");
    project.asks_about("git update-index --assume-unchanged src/a", "hides changes of files");
    project.asks_about("git replace HEAD^{tree} $(git mktree < /dev/null)", "show another object");
    project.git("replace HEAD^{tree} $(git mktree < /dev/null)");
    project.asks_about("git pack-refs --all", "show other objects");
}

// invariant: 11
#[test]
fn settings_that_git_includes_are_not_committed() {
    needs_views!("settings_that_git_includes_are_not_committed");
    let project = Project::new().yes();
    project.write("tools/gitconfig", "[user]\n\tname = A\n").write("tools/hooks/pre-commit", "#!/bin/sh\n");
    project.git("config include.path ../tools/gitconfig && git config core.hooksPath tools/hooks");
    project.refuses("printf '[core]\\n\\tfsmonitor = ./x\\n' > tools/gitconfig", "`root/tools/gitconfig`");
    project.refuses("rm tools/gitconfig", "`root/tools/gitconfig`");
    project.refuses("mv tools t; mkdir tools; echo x > tools/gitconfig", "`root/tools/gitconfig`");
    project.refuses("echo ./x >> tools/hooks/pre-commit", "`root/tools/hooks/pre-commit`");
    project.refuses("echo x > tools/hooks/post-commit", "`root/tools/hooks/post-commit`");
}

// invariant: 11
#[test]
fn missing_files_that_settings_of_git_name_are_never_created() {
    needs_views!("missing_files_that_settings_of_git_name_are_never_created");
    let project = Project::new();
    let git = |words: &[&str]| {
        let done = std::process::Command::new("git").args(words).current_dir(project.path("")).status();
        assert!(done.unwrap().success(), "{words:?}");
    };
    git(&["config", "include.path", "../more.ini"]);
    git(&["config", "core.hooksPath", "tools/hooks"]);
    for script in [
        "echo '[alias]' > more.ini",
        "mkdir -p tools/hooks && echo 'touch x' > tools/hooks/pre-commit",
        "mkdir tools && echo x > y && mv y tools/hooks",
    ] {
        let outcome = format!("{:?}", project.script(script));
        assert!(outcome.contains("it can run or control programs"), "{script}: {outcome}");
    }
    assert!(!project.path("more.ini").exists() && !project.path("tools").exists());
}
