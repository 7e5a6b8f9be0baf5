//! Which names count as secret.

use std::path::Path;

use super::{is_secret, is_secret_variable, shown_variable, sought};
use crate::line::argv;

#[test]
fn names_of_secrets_are_known_and_samples_are_none() {
    for path in [
        "/r/.env",
        "/r/.ENV",
        "/r/.env.local",
        "/r/prod.env",
        "/h/.ssh/config",
        "/r/key.pem",
        "/h/.aws/credentials",
    ] {
        assert!(is_secret(Path::new(path)), "{path}");
    }
    for path in
        ["/r/.env.example", "/r/.env.test", "/r/env", "/r/src/shadow.rs", "/r/cert.pem", "/r/README.md", "/"]
    {
        assert!(!is_secret(Path::new(path)), "{path}");
    }
}

#[test]
fn secret_variables_are_recognized_by_names_in_capitals() {
    for name in ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "API_KEY", "NPM_AUTH"] {
        assert!(is_secret_variable(name), "{name}");
    }
    for name in ["HOME", "PATH", "token", "KEYBOARD", "MONKEY", "TOKENIZER", "PASSED"] {
        assert!(!is_secret_variable(name), "{name}");
    }
}

#[test]
fn expansion_shows_its_variable_unless_it_only_tests_it() {
    for (expansion, name) in
        [("$A", "A"), ("${A}", "A"), ("${A:0:4}", "A"), ("${A:-x}", "A"), ("${A@Q}", "A")]
    {
        assert_eq!(shown_variable(expansion), Some(name), "{expansion}");
    }
    for expansion in ["${A:+set}", "${A+set}", "${#A}", "$(a)", "$((A))", "~"] {
        assert_eq!(shown_variable(expansion), None, "{expansion}");
    }
}

#[test]
fn search_for_secret_names_is_noticed_in_any_spelling() {
    let sought = |words: &str| {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        sought(&argv(&words).words).map(str::to_owned)
    };
    for words in [
        "find . -name .env",
        "find . -name .e*",
        "find . -name *nv",
        "find . -name [.]env",
        "find . -iname id_?sa",
    ] {
        assert!(sought(words).is_some(), "{words}");
    }
    for words in ["find . -name *.rs", "find . -not -name .e*", "find . -name *.json", "grep -r .e* src"] {
        assert_eq!(sought(words), None, "{words}");
    }
}
