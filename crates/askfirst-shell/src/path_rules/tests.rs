//! Tests of the paths that a rule covers and the paths that it does not cover.

use super::*;

fn names(path: &str) -> Names<'_> {
    Names { whole: Path::new(path), in_root: Path::new(path), in_home: None }
}

fn covers(rule: &str, path: &str) -> bool {
    PathRules::new([rule]).unwrap().find_covering(names(path)).is_some()
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
    let rules = PathRules::new(["~/.aws/**"]).unwrap();
    assert!(rules.find_covering(names(".aws/x")).is_none());
    let home = Names { in_home: Some(Path::new(".aws/x")), ..names("y") };
    assert!(rules.find_covering(home).is_some());
}

#[test]
fn empty_path_rule_is_an_error() {
    assert!(PathRules::new(["/"]).is_err() && PathRules::new([""]).is_err());
}

#[test]
fn glob_rule_also_covers_the_unfolded_name() {
    assert!(covers("/foo*bar", "foo\u{ff0f}bar"));
    assert!(covers("[A-C]x", "bX") && !covers("[A-C]x", "dx"));
}

#[test]
fn invalid_glob_is_an_error() {
    assert!(PathRules::new(["a[b"]).is_err() && PathRules::new(["{a"]).is_err());
}

#[test]
fn rules_that_cannot_be_compiled_cover_all_candidates() {
    let rules = PathRules::new(["a*"]).unwrap();
    rules.set.set(None).unwrap();
    assert_eq!(rules.find_covering(names("ba")), Some("a*"));
    assert_eq!(rules.find_covering(names("b")), None);
}
