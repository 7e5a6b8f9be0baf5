//! Which names a rule covers, and which it leaves alone.

use super::*;

fn names(path: &str) -> Names<'_> {
    Names { whole: Path::new(path), in_root: Path::new(path), in_home: None }
}

fn covers(rule: &str, path: &str) -> bool {
    Rules::new([rule]).unwrap().covering(names(path)).is_some()
}

#[test]
fn a_rule_holds_at_any_depth_and_for_what_lies_below() {
    for path in [".env", "a/.env", "a/b/.env", ".ENV", ".env/x"] {
        assert!(covers(".env", path), "{path}");
    }
    for path in ["env", ".env.example", "a.env"] {
        assert!(!covers(".env", path), "{path}");
    }
    assert!(covers("secret/*.pem", "x/secret/a.pem") && !covers("secret/*.pem", "x/secret/b/a.pem"));
    assert!(covers("keys/", "a/keys/b"));
}

#[test]
fn a_rule_for_content_covers_the_folder_so_that_it_cannot_be_swapped() {
    assert!(covers(".git/hooks/**", ".git/hooks") && covers(".git/hooks/**", "a/.git/Hooks/pre-commit"));
    assert!(!covers(".git/hooks/**", ".git"));
}

#[test]
fn a_rule_that_begins_with_a_slash_holds_in_one_place() {
    assert!(covers("/build", "build/x") && !covers("/build", "a/build"));
}

#[test]
fn a_rule_about_the_home_holds_there_alone() {
    let rules = Rules::new(["~/.aws/**"]).unwrap();
    assert!(rules.covering(names(".aws/x")).is_none());
    let home = Names { in_home: Some(Path::new(".aws/x")), ..names("y") };
    assert!(rules.covering(home).is_some());
}

#[test]
fn an_empty_rule_is_a_fault() {
    assert!(Rules::new(["/"]).is_err() && Rules::new([""]).is_err());
}

#[test]
fn the_built_in_list_holds_for_writing_only() {
    let never = Never::new(&[], &[]).unwrap();
    for path in [".git/hooks/pre-commit", "sub/.git/config", ".BashRC", ".mcp.json", "a/askfirst.yaml"] {
        assert!(never.write(names(path)).is_some(), "{path}");
        assert!(never.read(names(path)).is_none(), "{path}");
    }
    for path in [".gitignore", ".git/index", "src/main.rs", "CLAUDE.md", "bashrc"] {
        assert!(never.write(names(path)).is_none(), "{path}");
    }
}
