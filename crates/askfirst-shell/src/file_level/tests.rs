//! Tests of the levels of files.

use super::*;

fn level(path: &str) -> FileLevel {
    level_of(Path::new(path))
}

#[test]
fn built_in_lists_compile() {
    assert!(NEVER_RULES.as_ref().is_some_and(PathRules::compiles));
    assert!(SHOWN_RULES.as_ref().is_some_and(PathRules::compiles));
}

#[test]
fn file_that_runs_without_a_question_is_never_written() {
    for path in [
        ".git",
        ".git/hooks/pre-commit",
        "sub/.git/config",
        ".git/modules/x/hooks/y",
        ".claude/settings.json",
        ".github/hooks/askfirst.json",
        ".copilot/config.json",
        ".qwen/settings.json",
        ".codex/config.toml",
        "a/askfirst.yaml",
        ".vscode/tasks.json",
        ".cargo/config.toml",
        ".BASHRC",
        ".g\u{200c}it/hooks/x",
    ] {
        assert_eq!(level(path), FileLevel::Never, "{}", path.escape_unicode());
    }
}

#[test]
fn file_that_builds_tests_or_agents_obey_is_shown() {
    for path in [
        "package.json",
        "PACKAGE.JSON",
        "web/package.json",
        "Makefile",
        "Makefile.am",
        "rules.mk",
        "build.rs",
        "Cargo.toml",
        ".cargo/credentials.toml",
        "tests/conftest.py",
        "pyproject.toml",
        "x.pth",
        "vite.config.ts",
        "a/jest.config.mjs",
        ".eslintrc.js",
        ".eslintrc",
        "app/build.gradle.kts",
        "CLAUDE.md",
        "docs/agents.md",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "node_modules/.bin/tsc",
        ".venv/bin/python",
        "venv/lib/x.py",
        "Dockerfile",
        "Dockerfile.dev",
        "api.Dockerfile",
        "docker-compose.prod.yml",
        "compose.yaml",
        ".tool-versions",
        "x/BUILD",
        "WORKSPACE",
        "Taskfile.yml",
        "x.gemspec",
        "node_modules/x/.git/HEAD",
        "pack\u{200b}age.json",
        "package.json.",
    ] {
        assert_eq!(level(path), FileLevel::Shown, "{}", path.escape_unicode());
    }
}

#[test]
fn source_docs_and_lock_files_are_ordinary() {
    for path in [
        "src/main.rs",
        "README.md",
        "package-lock.json",
        "yarn.lock",
        "Cargo.lock",
        "poetry.lock",
        "src.js",
        "src/config.js",
        "build/x.o",
        "build",
        "workspace/x",
        "docs/makefiles.md",
        "tests/test_x.py",
        ".gitignore",
        ".editorconfig",
        "xnode_modules/y",
        "caf\u{e9}.md",
    ] {
        assert_eq!(level(path), FileLevel::Ordinary, "{}", path.escape_unicode());
    }
}

#[test]
fn state_of_git_is_ordinary_and_the_rest_of_git_is_shown() {
    for path in [
        ".git/HEAD",
        ".git/HEAD.lock",
        ".git/index",
        ".git/index.lock",
        ".git/refs/heads/main",
        ".git/objects/ab/cd",
        ".git/objects/pack/x.pack",
        ".git/logs/HEAD",
        ".git/ORIG_HEAD",
        ".git/objects/info/commit-graphs/x",
        ".git/info/refs",
        ".git/BISECT_LOG",
        ".git/shallow",
        ".git/COMMIT_EDITMSG",
        "sub/.git/packed-refs",
    ] {
        assert_eq!(level(path), FileLevel::Ordinary, "{path}");
    }
    for path in [
        ".git/info/exclude",
        ".git/objects/info/alternates",
        ".git/rebase-merge/git-rebase-todo",
        ".git/sequencer/todo",
        ".git/worktrees/x/HEAD",
        ".git/modules/x/HEAD",
        ".git/description",
        ".git/refsx/y",
    ] {
        assert_eq!(level(path), FileLevel::Shown, "{path}");
    }
}

#[test]
fn reason_names_the_rule() {
    let why = |path: &str| protection(Path::new(path)).map(|(_, why)| why).unwrap_or_default();
    assert_eq!(why("a/.git/hooks/x"), "the built-in list has `.git/hooks`");
    assert_eq!(why("a/.GIT"), "`.git` decides which settings git reads");
    assert_eq!(
        why("web/package.json"),
        "it can run or control programs (the built-in list has `package.json`)"
    );
    assert_eq!(why("README.md"), "");
}

#[test]
fn repository_folder_may_be_made_but_not_its_hooks() {
    assert_eq!(never_in_folder(Path::new("a/.git")), None);
    assert!(never_in_folder(Path::new("a/.git/hooks")).is_some());
    assert_eq!(never_below(Path::new("a/.git")), Some(".git/hooks"));
    assert_eq!(never_below(Path::new("src")), None);
}
