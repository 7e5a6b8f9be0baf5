//! Which variables pass.

use super::{HARMLESS, NEVER, Standing, exported, is_looked_into, kept};
use crate::line::tree::Word;
use crate::programs::used;

#[test]
fn variable_lists_are_sorted() {
    assert!(HARMLESS.is_sorted() && NEVER.is_sorted());
}

#[test]
fn only_harmless_names_with_tame_values_pass() {
    for (name, value) in
        [("CI", "true"), ("LC_ALL", "C"), ("TZ", "Europe/Berlin"), ("RUST_LOG", "a::b=debug")]
    {
        assert_eq!(exported(name, Some(value)), Standing::Harmless, "{name}");
    }
    for (name, value) in
        [("TZ", "/etc/shadow"), ("TZ", ":/x"), ("LANG", "../x"), ("DEBUG", "$(x)"), ("FOO", "1")]
    {
        assert_eq!(exported(name, Some(value)), Standing::Named, "{name}={value}");
    }
}

#[test]
fn some_names_pass_with_values_that_stay_in_their_place() {
    for (name, value, standing) in [
        ("VITE_API", "http://localhost", Standing::Harmless),
        ("NEXT_PUBLIC_X", "$(x)", Standing::Named),
        ("CARGO_TARGET_DIR", "target/x", Standing::Harmless),
        ("CARGO_TARGET_DIR", "./target-ci", Standing::Harmless),
        ("CARGO_TARGET_DIR", "vendor/evil", Standing::Named),
        ("CARGO_TARGET_DIR", "target/../../x", Standing::Named),
        ("DJANGO_SETTINGS_MODULE", "app.settings.test", Standing::Harmless),
        ("DJANGO_SETTINGS_MODULE", "vendor.evil", Standing::Named),
        ("DJANGO_SETTINGS_MODULE", "settings.", Standing::Named),
        ("API_URL", "http://localhost:3000/api", Standing::Harmless),
        ("API_URL", "http://127.0.0.1.evil.example", Standing::Named),
        ("API_URL", "http://localhost:x@evil.example", Standing::Named),
        ("MPLBACKEND", "Agg", Standing::Harmless),
        ("MPLBACKEND", "module://evil", Standing::Named),
        ("GOWORK", "off", Standing::Harmless),
        ("GOWORK", "evil.work", Standing::Named),
        ("PYTHONFAULTHANDLER", "1", Standing::Harmless),
        ("DATABASE_URL", "sqlite::memory:", Standing::Harmless),
        ("DATABASE_URL", "postgres://prod/x", Standing::Named),
    ] {
        assert_eq!(exported(name, Some(value)), standing, "{name}={value}");
    }
}

#[test]
fn variables_that_start_programs_pass_only_harmless_values() {
    for name in
        ["PATH", "LD_PRELOAD", "GIT_SSH", "NODE_OPTIONS", "PYTHONPATH", "BASH_ENV", "PERL5OPT", "PAGER"]
    {
        assert_eq!(exported(name, Some("x")), Standing::Never, "{name}");
        assert_eq!(exported(name, None), Standing::Never, "{name}");
    }
    assert_eq!(exported("GIT_PAGER", Some("cat")), Standing::Harmless);
    assert_eq!(exported("GIT_EDITOR", Some("true")), Standing::Harmless);
    assert_eq!(exported("GIT_PAGER", None), Standing::Never);
    for (name, value, standing) in [
        ("NODE_OPTIONS", "--max-old-space-size=4096", Standing::Harmless),
        ("NODE_OPTIONS", "--experimental-vm-modules --no-warnings", Standing::Harmless),
        ("NODE_OPTIONS", "--no-warnings --require=./evil.js", Standing::Never),
        ("NODE_OPTIONS", "--max-old-space-size=4096\t--require=./evil.js", Standing::Never),
        ("NODE_OPTIONS", "--no-warnings  ", Standing::Never),
        ("GIT_TRACE", "1", Standing::Harmless),
        ("GIT_TRACE", "/repo/.bashrc", Standing::Never),
        ("GOFLAGS", "-mod=mod -toolexec=./evil.sh", Standing::Never),
        ("PYTHONWARNINGS", "ignore", Standing::Harmless),
        ("PYTHONWARNINGS", "error::evil.Class", Standing::Never),
        ("RUSTC_WRAPPER", "", Standing::Harmless),
        ("RUSTC_WRAPPER", "./evil.sh", Standing::Never),
    ] {
        assert_eq!(exported(name, Some(value)), standing, "{name}={value}");
    }
    assert_eq!(kept("x"), Standing::Harmless);
    assert_eq!(kept("IFS"), Standing::Never);
    for name in ["PS4", "LESS", "LESSOPEN", "LESSKEYIN", "RUSTUP_TOOLCHAIN", "JDK_JAVA_OPTIONS", "NVM_DIR"] {
        assert_eq!(kept(name), Standing::Never, "{name}");
    }
}

#[test]
fn modules_are_looked_for_where_they_are_found_anyway() {
    let looked = |value: &str, command: &str| {
        let words: Vec<Word> = command.split(' ').map(|word| Word::text(word, 0..0)).collect();
        is_looked_into("PYTHONPATH", Some(value), &used(&words))
    };
    for (value, command) in [
        (".", "pytest -q"),
        ("src", "pytest tests"),
        ("./src:.", "python -m pytest -x"),
        (".", "python3 -m unittest"),
    ] {
        assert!(looked(value, command), "{value} {command}");
    }
    for (value, command) in [
        ("evil", "pytest"),
        ("/", "pytest"),
        ("..", "pytest"),
        (".", "pytest /elsewhere/tests"),
        (".", "pytest ../tests"),
        ("src", "python3 -m unittest"),
        (".", "python3 -P -m pytest"),
        (".", "python3 scripts/x.py"),
        (".", "black src"),
        (".", ".venv/bin/pytest"),
    ] {
        assert!(!looked(value, command), "{value} {command}");
    }
}
