//! Judges everyday read commands with the config that `init` writes if a person only presses Enter. See
//! `spec/reads/README.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::Place;

#[derive(Debug, Deserialize)]
struct Line {
    project: String,
    command: String,
}

/// The projects, each with its files. All of them also have a `.env`, which git ignores.
const PROJECTS: [(&str, &[(&str, &str)]); 3] = [
    (
        "node",
        &[
            (
                "package.json",
                "{\"name\": \"shop\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"jest\"}}",
            ),
            ("package-lock.json", "{}"),
            ("tsconfig.json", "{\"compilerOptions\": {}}"),
            ("tsconfig.build.json", "{}"),
            ("src/index.ts", "import { routes } from \"./api/routes\";\n"),
            ("src/api/routes.ts", "export const routes = [];\n"),
            ("src/components/Cart.tsx", "export function Cart() {}\n"),
            ("test/cart.test.ts", "describe(\"cart\", () => {});\n"),
            ("docs/design.md", "# Design\n"),
            ("docs/words.txt", "a,b\n"),
            (".github/workflows/ci.yml", "name: test\n"),
        ],
    ),
    (
        "python",
        &[
            ("pyproject.toml", "[project]\nname = \"tally\"\nversion = \"0.1.0\"\n"),
            ("README.md", "# tally\n"),
            ("src/tally/__init__.py", ""),
            ("src/tally/money.py", "class Money:\n    pass\n"),
            ("src/tally/cli.py", "import sys\n"),
            ("tests/conftest.py", ""),
            ("tests/test_money.py", "def test_money():\n    pass\n"),
            ("docs/usage.rst", "Usage\n"),
            ("data/sample.csv", "day,kind,sum\n1,a,2\n"),
        ],
    ),
    (
        "rust",
        &[
            ("Cargo.toml", "[package]\nname = \"calc\"\n"),
            ("Cargo.lock", "version = 4\n"),
            ("README.md", "# calc\n"),
            ("src/main.rs", "fn main() {}\n"),
            ("crates/lexer/Cargo.toml", "[package]\nname = \"lexer\"\n"),
            ("crates/lexer/src/lib.rs", "pub mod token;\n"),
            ("crates/lexer/src/token.rs", "pub enum Token {}\n"),
            ("docs/grammar.ebnf", "sum = number;\n"),
        ],
    ),
];

/// Creates the projects in one folder, as git repositories with two commits.
fn projects() -> Place {
    let place = Place::new("version: 1");
    for (name, files) in PROJECTS {
        let root = place.path().join(name);
        let write = |name: &str, text: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        };
        files.iter().for_each(|(name, text)| write(name, text));
        write(".env", "KEY=x\n");
        write(".gitignore", ".env\n");
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            place.alone(command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(words));
            assert!(command.current_dir(&root).output().unwrap().status.success(), "{words:?}");
        };
        git(&["init", "-q"]);
        git(&["add", "-A"]);
        git(&["commit", "-qm", "one"]);
        git(&["commit", "-qm", "two", "--allow-empty"]);
        let printed = place.command(&["init", "--print"]).current_dir(&root).output().unwrap().stdout;
        fs::write(root.join("askfirst.yaml"), printed).unwrap();
    }
    place
}

fn lines(file: &str) -> Vec<Line> {
    let path: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("spec/reads").join(file);
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns each command with whether it runs without asking, and why not.
fn judged(place: &Place, lines: &[Line]) -> Vec<(String, bool, String)> {
    let mut all = Vec::new();
    for (project, _) in PROJECTS {
        let mine: Vec<&Line> = lines.iter().filter(|line| line.project == project).collect();
        let call = |line: &&Line| json!({"tool": "shell", "args": {"command": line.command}}).to_string();
        let input: Vec<String> = mine.iter().map(call).collect();
        fs::write(place.path().join("lines"), input.join("\n")).unwrap();
        let mut command = place.command(&["decide", "--config", "askfirst.yaml"]);
        let input = fs::File::open(place.path().join("lines")).unwrap();
        let output = command.current_dir(place.path().join(project)).stdin(input).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let verdicts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(verdicts.len(), mine.len(), "{project}: {}", String::from_utf8_lossy(&output.stderr));
        for (line, verdict) in mine.into_iter().zip(verdicts) {
            let is_unasked = verdict["verdict"] == "allow";
            all.push((format!("{project}: {}", line.command), is_unasked, verdict["because"].to_string()));
        }
    }
    assert_eq!(all.len(), lines.len(), "a line names no project");
    all
}

/// The goal for everyday work: at most 1 of 100 reads is asked about.
#[test]
fn reads_of_a_working_day_are_not_asked_about() {
    let (place, lines) = (projects(), lines("unasked.jsonl"));
    assert!(lines.len() >= 150, "{} lines", lines.len());
    let judged = judged(&place, &lines);
    let asked: Vec<_> = judged.iter().filter(|(_, is_unasked, _)| !is_unasked).collect();
    let list: Vec<String> = asked.iter().map(|(command, _, why)| format!("{command}\n    {why}")).collect();
    assert!(asked.len() * 100 <= judged.len(), "{} of {}:\n{}", asked.len(), judged.len(), list.join("\n"));
}

// invariant: 7
#[test]
fn lines_that_do_more_than_read_are_asked_about() {
    let (place, lines) = (projects(), lines("asked.jsonl"));
    assert!(lines.len() >= 40, "{} lines", lines.len());
    let missed: Vec<String> = judged(&place, &lines)
        .into_iter()
        .filter(|(_, is_unasked, _)| *is_unasked)
        .map(|(command, ..)| command)
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
