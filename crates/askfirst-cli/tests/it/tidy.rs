//! Rules about the code itself, checked by tests.

mod builds;
mod links;
mod names;
mod pages;
mod prose;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates, each with the crates that it may depend on.
const ARROWS: [(&str, &[&str]); 17] = [
    ("askfirst-macros", &[]),
    ("askfirst-sandbox", &[]),
    ("askfirst-changes", &[]),
    ("askfirst", &["askfirst-macros"]),
    ("askfirst-agents", &["askfirst"]),
    ("askfirst-shell", &["askfirst"]),
    ("askfirst-config", &["askfirst", "askfirst-shell"]),
    ("askfirst-display", &["askfirst", "askfirst-shell"]),
    ("askfirst-files", &["askfirst", "askfirst-config", "askfirst-shell"]),
    (
        "askfirst-profile",
        &[
            "askfirst",
            "askfirst-config",
            "askfirst-display",
            "askfirst-files",
            "askfirst-sandbox",
            "askfirst-shell",
        ],
    ),
    (
        "askfirst-rehearsal",
        &[
            "askfirst",
            "askfirst-changes",
            "askfirst-config",
            "askfirst-display",
            "askfirst-files",
            "askfirst-sandbox",
            "askfirst-shell",
        ],
    ),
    (
        "askfirst-runtime",
        &[
            "askfirst",
            "askfirst-config",
            "askfirst-display",
            "askfirst-files",
            "askfirst-profile",
            "askfirst-rehearsal",
            "askfirst-sandbox",
            "askfirst-shell",
        ],
    ),
    ("askfirst-terminal", &["askfirst", "askfirst-display"]),
    ("askfirst-mcp", &["askfirst", "askfirst-config", "askfirst-display", "askfirst-runtime"]),
    (
        "askfirst-cli",
        &[
            "askfirst",
            "askfirst-agents",
            "askfirst-config",
            "askfirst-display",
            "askfirst-files",
            "askfirst-mcp",
            "askfirst-runtime",
            "askfirst-shell",
            "askfirst-terminal",
        ],
    ),
    (
        "askfirst-examples",
        &["askfirst", "askfirst-config", "askfirst-mcp", "askfirst-runtime", "askfirst-terminal"],
    ),
    (
        "askfirst-python",
        &["askfirst", "askfirst-config", "askfirst-display", "askfirst-runtime", "askfirst-terminal"],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn sources(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !name.starts_with('.') && !["target", "snapshots", "node_modules"].contains(&name)
        {
            found.extend(sources(&path, suffix));
        } else if name.ends_with(suffix) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn rust() -> Vec<(PathBuf, String)> {
    let files = ["crates", "examples", "bench", "fuzz"]
        .iter()
        .flat_map(|folder| sources(&root().join(folder), ".rs"));
    files.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

fn wrong(what: &str, mut places: Vec<String>) {
    places.sort();
    assert!(places.is_empty(), "{what}:\n{}", places.join("\n"));
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn crates_depend_on_each_other_as_designed() {
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let allowed = arrows.get(name).unwrap_or_else(|| panic!("`{name}` is not a crate of the design"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            let test_only = dependency["kind"] == "dev";
            if to.starts_with("askfirst") && !test_only {
                assert!(allowed.contains(&to), "`{name}` must not depend on `{to}`");
            }
        }
    }
}

/// The runtime tells one story: the path of a call. Other ideas belong in other crates.
#[test]
fn runtime_has_at_most_9500_lines_of_code() {
    let source = root().join("crates/askfirst-runtime/src");
    let is_test = |path: &Path| {
        path.components().any(|part| part.as_os_str() == "tests")
            || path.file_name().is_some_and(|name| name == "tests.rs" || name == "skip.rs")
    };
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let code = |path: PathBuf| std::fs::read_to_string(path).unwrap().lines().filter(is_code).count();
    let lines: usize = sources(&source, ".rs").into_iter().filter(|path| !is_test(path)).map(code).sum();
    assert!(lines <= 9_500, "{lines} lines");
}

#[test]
fn no_crate_has_feature_flags() {
    for package in metadata()["packages"].as_array().unwrap() {
        assert_eq!(package["features"], serde_json::json!({}), "{}", package["name"]);
    }
}

/// The crates that `cargo tree` lists with these options, each with its features.
fn features(options: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p}|{f}"])
        .args(options)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // An empty line stands between the trees of two packages.
    for line in String::from_utf8(output.stdout).unwrap().lines().filter(|line| !line.is_empty()) {
        let (name, features) = line.trim_end_matches(" (*)").split_once('|').unwrap();
        found.entry(name.to_owned()).or_default().insert(features.to_owned());
    }
    found
}

/// Otherwise cargo compiles all crates again that depend on such a crate. The manifests of askfirst-cli and
/// askfirst-python name the missing features.
#[test]
fn program_library_and_tests_share_features() {
    let program = features(&["-p", "askfirst-cli", "--edges", "normal,build"]);
    let others = [
        ("library", features(&["-p", "askfirst-python", "--edges", "normal,build"])),
        ("tests", features(&["--workspace", "--edges", "normal,build,dev"])),
    ];
    let mut places = Vec::new();
    for (name, theirs) in &others {
        let shared: Vec<_> =
            theirs.iter().filter_map(|(name, theirs)| Some((name, theirs, program.get(name)?))).collect();
        assert!(shared.len() > 100, "{name}: {} crates", shared.len());
        let differ = shared.into_iter().filter(|(_, theirs, ours)| theirs != ours);
        places.extend(differ.map(|(name_of_crate, theirs, ours)| {
            format!("{name_of_crate}: program {ours:?}, {name} {theirs:?}")
        }));
    }
    wrong("crates with different features", places);
}

#[test]
fn no_file_is_longer_than_500_lines() {
    let long = |(path, text): &(PathBuf, String)| {
        let lines = text.lines().count();
        (lines > 500).then(|| format!("{}: {lines}", path.display()))
    };
    wrong("files past 500 lines", rust().iter().filter_map(long).collect());
}

#[test]
fn every_file_starts_with_its_purpose() {
    let mute = rust().into_iter().filter(|(_, text)| !text.starts_with("//!"));
    let mute = mute.filter(|(path, _)| !path.components().any(|part| part.as_os_str() == "ui"));
    wrong("files without a `//!` line", mute.map(|(path, _)| path.display().to_string()).collect());
}

#[test]
fn unsafe_code_is_only_in_the_sandbox() {
    let word = concat!("un", "safe ");
    let sandbox = root().join("crates/askfirst-sandbox");
    let found = rust().into_iter().filter(|(path, text)| {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        !path.starts_with(&sandbox)
            && !path.components().any(|part| part.as_os_str() == "ui")
            && code
                .into_iter()
                .any(|line| line.contains(&format!("{word}{{")) || line.contains(&format!("{word}fn")))
    });
    wrong(
        "unsafe code outside the sandbox crate",
        found.map(|(path, _)| path.display().to_string()).collect(),
    );
}

// invariant: 10
#[test]
fn core_uses_no_files_clocks_or_threads() {
    let banned = [
        "std::fs",
        "std::net",
        "std::thread",
        "std::process",
        "std::env",
        "Instant",
        "SystemTime",
        "std::io",
        "tokio",
    ];
    for folder in ["crates/askfirst/src", "crates/askfirst-agents/src"] {
        wrong("a pure crate knows of the world", containing(folder, &banned));
    }
}

#[test]
fn shell_analysis_looks_at_files_only_through_its_world() {
    let banned = [
        "std::fs",
        "std::net",
        "std::thread",
        "std::process",
        "std::env",
        "std::io",
        "rustix",
        "libc",
        "is_dir",
        "is_symlink",
        "symlink_metadata",
        "read_dir",
        "read_link",
        "canonicalize",
        "try_exists",
        ".is_file()",
        ".exists()",
        ".metadata()",
        "Path::is_file",
        "Path::exists",
        "Path::metadata",
    ];
    let folder = "crates/askfirst-shell/src";
    wrong("file access outside of `World`", containing(folder, &banned));
    let manifest = std::fs::read_to_string(root().join("crates/askfirst-shell/Cargo.toml")).unwrap();
    assert!(!manifest.contains("rustix") && !manifest.contains("libc"));
}

/// The lines of code in a folder that contain a banned word. Tests and comments do not count.
fn containing(folder: &str, banned: &[&str]) -> Vec<String> {
    let folder = root().join(folder);
    let mut places = Vec::new();
    for (path, text) in rust().into_iter().filter(|(path, _)| path.starts_with(&folder)) {
        if path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (number, line) in lines {
            if let Some(word) = banned.iter().find(|word| line.contains(**word)) {
                places.push(format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    places
}

/// Tests run the code that users run. Guards prove that a rule matters, without a switch.
#[test]
fn production_code_does_not_depend_on_being_tested() {
    let mut places = containing("crates", &["not(test)", "cfg!(test)", "rules_off"]);
    // Only whole items are for tests, such as a module or a function: no field and no statement.
    let items = ["mod ", "fn ", "struct ", "enum ", "use ", "const "];
    for (path, text) in rust() {
        let mut code = text.lines().enumerate().map(|(number, line)| (number, line.trim()));
        while let Some((number, _)) = code.find(|(_, line)| *line == "#[cfg(test)]") {
            let item = code.find(|(_, line)| !line.starts_with("#[")).unwrap_or_default().1;
            if !items.iter().any(|word| names::item(item).starts_with(word)) {
                places.push(format!("{}:{}: {item}", path.display(), number + 1));
            }
        }
    }
    wrong("code that tests replace", places);
}

#[test]
fn pipeline_stays_short() {
    let text = std::fs::read_to_string(root().join("crates/askfirst-runtime/src/pipeline.rs")).unwrap();
    assert!(text.lines().count() < 150, "{} lines", text.lines().count());
}

#[test]
fn architecture_page_is_short_and_lists_no_tests() {
    let page = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    assert!(page.lines().count() <= 200, "{} lines", page.lines().count());
    let long = page.lines().filter(|line| line.chars().count() > 120).map(str::to_owned);
    wrong("lines of more than 120 characters", long.collect());
    assert!(!page.contains("test:"), "tests belong to docs/TESTING.md");
}

/// The tests that guard each invariant, by the comments above them.
fn invariants() -> BTreeMap<u32, Vec<String>> {
    let mut found: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (_, text) in rust() {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(numbers) = line.trim().strip_prefix("// invariant: ") else { continue };
            let function = lines.iter().skip(at).find_map(|line| line.trim().split_once("fn "));
            let name = function.and_then(|(_, rest)| rest.split('(').next()).unwrap().to_owned();
            for number in numbers.split(", ") {
                found.entry(number.parse().unwrap()).or_default().push(name.clone());
            }
        }
    }
    found.values_mut().for_each(|names| names.sort());
    found
}

#[test]
fn every_invariant_has_tests_in_the_testing_page() {
    let found = invariants();
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), (1..=11).collect::<Vec<_>>());
    let mut table = String::from("\n| invariant | tests |\n|---|---|\n");
    for (number, names) in &found {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        table.push_str(&format!("| {number} | {} |\n", names.join("<br>")));
    }
    let path = root().join("docs/TESTING.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- invariants: begin -->\n", "<!-- invariants: end -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (kept, after) = rest.split_once(end).unwrap();
    table.push('\n');
    if std::env::var_os("UPDATE_TESTING").is_some() {
        std::fs::write(path, format!("{before}{begin}{table}{end}{after}")).unwrap();
        return;
    }
    assert!(kept == table, "docs/TESTING.md is out of date: run this test with UPDATE_TESTING=1");
}

#[test]
fn sources_name_no_machine_and_no_open_work() {
    let mut files = rust();
    for suffix in [".md", ".toml", ".yaml", ".py", ".sh"] {
        let found = sources(&root(), suffix);
        files.extend(
            found.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap_or_default())),
        );
    }
    let words = [concat!("/wo", "rk/"), concat!("TO", "DO"), concat!("FIX", "ME"), concat!("/ro", "ot/")];
    let mut places = Vec::new();
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                places.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    wrong("paths of a machine, or things left undone", places);
}

#[test]
fn guards_name_text_found_once_and_match_their_table() {
    let output = Command::new(root().join("tests/guards")).arg("--check").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
