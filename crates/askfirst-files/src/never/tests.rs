//! Tests of the paths that are never read or written.

use std::path::Path;

use super::*;

fn names(path: &str) -> Names<'_> {
    Names { whole: Path::new(path), in_root: Path::new(path), in_home: None }
}

#[test]
fn name_that_no_rule_ends_in_is_not_hidden() {
    let rules: Vec<String> = ["a/Secret", "/top.txt", "~/.key"].map(str::to_owned).to_vec();
    let never = NeverRules::new(&rules, []).unwrap();
    for name in ["secret", "SECRET", "secret.", "top.txt", ".Key"] {
        assert!(never.may_hide(OsStr::new(name)), "{name}");
    }
    for name in ["a", "secrets", "readme", "top"] {
        assert!(!never.may_hide(OsStr::new(name)), "{name}");
    }
    let globs = NeverRules::new(&["*.pem".to_owned()], []).unwrap();
    assert!(globs.may_hide(OsStr::new("readme")), "a glob may match any name");
}

#[test]
fn built_in_list_blocks_only_writes() {
    let never = NeverRules::new(&[], &[]).unwrap();
    for path in [".git/hooks/pre-commit", "sub/.git/config", ".BashRC", ".mcp.json", "a/askfirst.yaml"] {
        assert!(never.write(names(path)).is_some(), "{path}");
        assert!(never.read(names(path)).is_none(), "{path}");
    }
    for path in [".gitignore", ".git/index", "src/main.rs", "CLAUDE.md", "bashrc"] {
        assert!(never.write(names(path)).is_none(), "{path}");
    }
}

#[test]
fn rule_covers_equivalent_unicode_spellings() {
    let never =
        NeverRules::new(&[".env".to_owned(), "caf\u{e9}".to_owned(), "*.pem".to_owned()], &[]).unwrap();
    let spellings = [
        ".\u{ff45}nv",
        "a/.E\u{200d}NV/b",
        ".env.",
        ".env ",
        "cafe\u{301}",
        "CAF\u{c9}/x",
        "x.P\u{ff25}M",
        "\u{ff0e}env",
        "a\u{ff0f}.env",
        "y.pem.",
    ];
    for path in spellings {
        assert!(never.read(names(path)).is_some(), "{}", path.escape_unicode());
    }
    for path in ["\u{435}nv", ".\u{454}nv", "cafe", "caf\u{e8}", "x.pemm"] {
        assert!(never.read(names(path)).is_none(), "{}", path.escape_unicode());
    }
    for path in [".\u{17f}\u{17f}h/config", ".g\u{200c}it/hooks/x", "\u{ff0e}git/config", ".ba\u{17f}hrc"] {
        assert!(never.write(names(path)).is_some(), "{}", path.escape_unicode());
    }
}

#[test]
fn file_that_redirects_git_settings_is_never_written() {
    let never = NeverRules::new(&[], &[]).unwrap();
    for path in [".git", "a/.GIT", "a/.g\u{200c}it", ".git/commondir", ".git/worktrees/x/config.worktree"] {
        assert!(never.write(names(path)).is_some(), "{}", path.escape_unicode());
    }
    for path in [".git/HEAD", ".github", "x.git", ".git/worktrees/x/HEAD"] {
        assert!(never.write(names(path)).is_none(), "{path}");
    }
    assert!(never.write_folder_by_rule(names(".git")).is_none());
}

#[test]
fn built_in_list_has_alternative_names_of_config_files() {
    let never = NeverRules::new([], []).unwrap();
    for path in [
        "lefthook.yaml",
        "a/.lefthook.toml",
        "lefthook-local.yml",
        ".lefthook-local.json",
        ".lefthook/pre-commit/x.sh",
        ".dir-locals-2.el",
        ".sl/config",
        ".huskyrc",
        ".huskyrc.js",
        ".fleet/run.json",
    ] {
        assert!(never.write(names(path)).is_some(), "{path}");
    }
    for path in ["lefthook", "lefthook-locals.yml", ".huskyrcs", ".sl/store", "pnp.cjs", "fleet/x"] {
        assert!(never.write(names(path)).is_none(), "{path}");
    }
}
