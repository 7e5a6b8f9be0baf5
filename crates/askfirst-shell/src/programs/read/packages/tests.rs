//! What is named to be installed.

use super::{Named, named};

#[test]
fn name_with_its_version_is_a_package() {
    for text in [
        "requests",
        "requests==2.31",
        "requests[socks]>=2,<3",
        "lodash@^4.17",
        "@types/node@20",
        "x=1.2",
        "g++",
        "npm:chalk@5",
        "jsr:@std/path",
    ] {
        assert_eq!(named(text, true), Named::Package, "{text}");
    }
}

#[test]
fn address_and_foreign_repository_are_no_package() {
    for text in [
        "https://x.example/y.whl",
        "https:/x.example/y",
        "GIT+ssh:y",
        "GitHub:evil/x",
        "git+https://x/y",
        "git@host:x",
        "x @ git+ssh://y",
        "x@https://y",
        "evil/x",
        "x@evil/y",
        "github:evil/x",
        "gist:abc",
        "ssh-",
        "!x",
    ] {
        assert_eq!(named(text, true), Named::Elsewhere, "{text}");
    }
}

#[test]
fn folder_and_archive_are_paths() {
    for (text, path) in [
        (".", "."),
        (".[dev]", "."),
        ("./vendor/x", "./vendor/x"),
        ("dist/x.whl", "dist/x.whl"),
        ("file:../x", "../x"),
        ("x@file:../y", "../y"),
        ("x.deb", "x.deb"),
    ] {
        assert_eq!(named(text, true), Named::Path(path), "{text}");
    }
    assert_eq!(named("vendor/evil", false), Named::Path("vendor/evil"));
}
