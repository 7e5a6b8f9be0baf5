//! Tests of the paths that a rule covers and the paths that it does not cover.

use super::*;

fn names(path: &str) -> Names<'_> {
    Names { whole: Path::new(path), in_root: Path::new(path), in_home: None }
}

fn covers(rule: &str, path: &str) -> bool {
    RuleList::new([rule]).unwrap().find_covering(names(path)).is_some()
}

#[test]
fn rule_covers_any_depth_and_everything_below() {
    for path in [".env", "a/.env", "a/b/.env", ".ENV", ".env/x", "x.env/.env", ".envs/.env/y"] {
        assert!(covers(".env", path), "{path}");
    }
    for path in ["env", ".env.example", "a.env", ".envs", "a.env/b"] {
        assert!(!covers(".env", path), "{path}");
    }
    assert!(covers("secret/*.pem", "x/secret/a.pem") && !covers("secret/*.pem", "x/secret/b/a.pem"));
    assert!(covers("keys/", "a/keys/b"));
}

#[test]
fn rule_for_folder_content_covers_the_folder_itself() {
    assert!(covers(".git/hooks/**", ".git/hooks") && covers(".git/hooks/**", "a/.git/Hooks/pre-commit"));
    assert!(!covers(".git/hooks/**", ".git"));
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
fn required_text_of_a_glob_is_in_all_its_matches() {
    let globs = [
        (
            ".git/**/commondir",
            "commondir",
            vec![".git/commondir", ".git/a/b/commondir", "x/.git/y/commondir"],
        ),
        ("*.pem", ".pem", vec!["a.pem", ".pem", "x/y.PEM"]),
        ("id_?sa*", "id_", vec!["id_rsa", "id_dsa.pub", "x/ID_RSA"]),
        ("**/secret-*/x", "secret-", vec!["secret-1/x", "a/secret-/x"]),
        ("{a,b}.key", "", vec!["a.key", "B.key"]),
        ("[ab].key", "", vec!["a.key"]),
        ("*", "", vec!["anything"]),
    ];
    for (rule, required, paths) in globs {
        assert_eq!(required_text(&fold_text(rule)), required, "{rule}");
        for path in paths {
            assert!(covers(rule, path), "{rule}: {path}");
        }
    }
}

#[test]
fn rule_with_leading_slash_is_anchored() {
    assert!(covers("/build", "build/x") && !covers("/build", "a/build"));
}

#[test]
fn home_rule_covers_only_the_home_folder() {
    let rules = RuleList::new(["~/.aws/**"]).unwrap();
    assert!(rules.find_covering(names(".aws/x")).is_none());
    let home = Names { in_home: Some(Path::new(".aws/x")), ..names("y") };
    assert!(rules.find_covering(home).is_some());
}

#[test]
fn empty_path_rule_is_an_error() {
    assert!(RuleList::new(["/"]).is_err() && RuleList::new([""]).is_err());
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
fn glob_rule_also_covers_the_unfolded_name() {
    assert!(covers("/foo*bar", "foo\u{ff0f}bar"));
    assert!(covers("[A-C]x", "bX") && !covers("[A-C]x", "dx"));
}

#[test]
fn invalid_glob_is_an_error_and_built_in_list_is_valid() {
    assert!(RuleList::new(["a[b"]).is_err() && RuleList::new(["{a"]).is_err());
    assert!(RuleList::new(NEVER_WRITE).is_ok_and(|rules| rules.set().is_some()));
}

#[test]
fn rules_that_cannot_be_compiled_cover_all_candidates() {
    let rules = RuleList::new(["a*"]).unwrap();
    rules.set.set(None).unwrap();
    assert_eq!(rules.find_covering(names("ba")), Some("a*"));
    assert_eq!(rules.find_covering(names("b")), None);
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
