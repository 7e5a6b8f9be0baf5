//! Tests of the folders that count as build output.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{KINDS, Products};

fn project(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    names.iter().for_each(|name| write(folder.path(), name));
    folder
}

fn write(folder: &Path, name: &str) {
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join(name), "x").unwrap();
}

fn track(folder: &Path, names: &[&str]) {
    for words in [&["init", "-q"][..], &[&["add", "--force"], names].concat()] {
        assert!(Command::new("git").args(words).current_dir(folder).status().unwrap().success());
    }
}

fn folders(folder: &Path) -> Vec<&'static str> {
    Products::find(folder).folders
}

#[test]
fn each_kind_of_project_has_products() {
    for (sign, wanted) in [
        ("Cargo.toml", &["target"][..]),
        (
            "package.json",
            &["dist", "build", "coverage", ".next", "node_modules/.cache", "node_modules/.vite"],
        ),
        ("pyproject.toml", &[".pytest_cache", ".mypy_cache", ".ruff_cache", "build", "dist"]),
        ("script.py", &[".pytest_cache", ".mypy_cache", ".ruff_cache", "build", "dist"]),
        ("Makefile", &["build"]),
        ("shop.csproj", &["bin", "obj"]),
        ("README.md", &[]),
    ] {
        assert_eq!(folders(project(&[sign]).path()), wanted, "{sign}");
    }
    let both = Products::find(project(&["Cargo.toml", "pom.xml"]).path());
    assert_eq!((both.kinds, both.folders), (vec!["Rust", "Maven"], vec!["target"]));
}

#[test]
fn tracked_folder_is_never_a_product() {
    let folder = project(&["package.json", "build/make.js", "dist/app.js", "coverage/x"]);
    track(folder.path(), &["package.json", "build/make.js"]);
    let found = folders(folder.path());
    assert!(!found.contains(&"build"), "{found:?}");
    assert!(found.contains(&"dist") && found.contains(&"coverage"), "{found:?}");
    // Also if the folder was removed from the work tree.
    fs::remove_dir_all(folder.path().join("build")).unwrap();
    assert!(!folders(folder.path()).contains(&"build"));
}

#[test]
fn folder_of_a_general_name_needs_a_tracked_project() {
    let folder = project(&["Makefile", "build/own.sh"]);
    assert!(folders(folder.path()).is_empty(), "without a repository");
    track(folder.path(), &["."]);
    fs::remove_file(folder.path().join(".git/index")).unwrap();
    assert!(folders(folder.path()).is_empty(), "nothing is tracked yet");
    track(folder.path(), &["Makefile"]);
    assert_eq!(folders(folder.path()), ["build"]);
    let rust = project(&["Cargo.toml", "target/debug/x"]);
    assert_eq!(folders(rust.path()), ["target"], "no one keeps files of their own there");
}

#[test]
fn file_or_link_with_the_name_is_no_product() {
    let folder = project(&["pyproject.toml", "build", "package.json"]);
    for name in ["dist", "node_modules"] {
        std::os::unix::fs::symlink("/tmp", folder.path().join(name)).unwrap();
    }
    assert_eq!(folders(folder.path()), ["coverage", ".next", ".pytest_cache", ".mypy_cache", ".ruff_cache"]);
}

#[test]
fn folder_of_some_builds_is_listed_only_if_found() {
    let folder = project(&["package.json"]);
    assert!(!folders(folder.path()).contains(&".turbo"));
    write(folder.path(), ".turbo/x");
    assert!(folders(folder.path()).contains(&".turbo"));
}

#[test]
fn names_of_products_are_plain() {
    for name in KINDS.iter().flat_map(|kind| kind.products.iter().chain(kind.if_found)) {
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c)), "{name}");
    }
}
