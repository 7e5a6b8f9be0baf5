//! Measures the time to judge one command line, and compares verdicts on the cases in `spec/shell`.
//!
//! It compares with the parser and the prefix rules of Codex. Codex parses a line with tree-sitter-bash. It splits the
//! line only if the line has nothing but plain words, quotes and `&&`, `||`, `;`, `|`. Each command must then start
//! with the words of a rule. Codex asks about any other line, and does not search it for forbidden commands.
//! `codex execpolicy check` knows only the rules, not the lines, so this program does both as the documentation of
//! Codex says. It omits Codex's list of harmless commands, and the cases that depend on such a list.
//!
//! The optional argument is one line to judge instead of all cases.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use askfirst::assess::View;
use askfirst::ports::{Launch, LaunchFailed, Launcher, ProcessOutput};
use askfirst::{ApprovalAware, ApprovalContext};
use askfirst_bench::{Contestant, Failure, in_words, print_race};
use askfirst_config::{LoadOptions, Places, from_json};
use askfirst_runtime::tools::shell::ShellToolset;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};
use tree_sitter::{Node, Parser, Tree};

const LINES: [(&str, &str); 8] = [
    ("plain words", "git log --oneline -5"),
    ("words and a path", "cat src/main.rs"),
    ("a pipe", "git log --oneline | head -n 20"),
    ("a list", "cd src && git status && git diff --stat"),
    ("quotes and a redirection", "grep -rn 'fn main' src 2>/dev/null | sort -u"),
    ("a wrapper", "timeout 60 env CI=true git diff HEAD~1"),
    ("a loop", "for f in src/*.rs; do wc -l \"$f\"; done"),
    ("a here-document", "git commit -m \"$(cat <<'EOF'\nfix: one\n\ntwo\nEOF\n)\""),
];
const RULES: [&str; 4] = ["git commit *", "git log *", "cargo test *", "npm test *"];

fn main() -> Result<(), Failure> {
    let place = Place::new()?;
    let tools = place.tools(&RULES.join(", "))?;
    if let Some(line) = std::env::args().nth(1) {
        place.race("", &tools, &line);
        return Ok(());
    }
    println!("one line");
    for (label, line) in LINES {
        place.race(label, &tools, line);
    }
    println!("4 KB");
    let words: String = (0..500).map(|n| format!(" word-{n:04}")).collect();
    place.race("  words", &tools, &format!("echo{words}")[..4096]);
    let list = "git log --oneline -5 && ".repeat(180);
    place.race("  a list", &tools, &format!("{}ls", &list[..24 * (4096 / 24)]));
    println!("10,000 rules");
    let many: Vec<String> =
        (0..10_000).map(|n| format!("program-{n} sub *")).chain(["git log *".to_owned()]).collect();
    let tools = place.tools(&many.join(", "))?;
    place.race("  plain words", &tools, LINES[0].1);
    println!("hostile, the longest of all");
    worst(&tools);
    verdicts(&place)
}

/// A launcher that starts nothing.
struct Nothing;

impl Launcher for Nothing {
    fn launch(&self, _: &Launch) -> Result<ProcessOutput, LaunchFailed> {
        unreachable!("only judged")
    }
}

/// The workspace that `spec/shell/README.md` describes.
struct Place {
    above: PathBuf,
    repo: PathBuf,
}

impl Place {
    fn new() -> Result<Self, Failure> {
        let above =
            std::env::temp_dir().canonicalize()?.join(format!("askfirst-bench-shell-{}", std::process::id()));
        let repo = above.join("repo");
        for name in ["src", "tests", "build", "scripts", "vendor/evil"] {
            std::fs::create_dir_all(repo.join(name))?;
        }
        for name in [
            "README.md",
            ".env",
            "payload.sh",
            "a.txt",
            "askfirst.yaml",
            "src/main.rs",
            "src/lib.rs",
            "scripts/run.sh",
        ] {
            std::fs::write(repo.join(name), "x\n")?;
        }
        std::os::unix::fs::symlink("../.env", repo.join("src/link"))?;
        for repository in [repo.clone(), repo.join("vendor/evil")] {
            Command::new("git").args(["init", "-q"]).arg(repository).status()?;
        }
        Ok(Self { above, repo })
    }

    /// Creates the tools with the rules of a case.
    fn tools(&self, rule: &str) -> Result<ShellToolset, Failure> {
        let (mut rules, mut never_read, mut default) = (Vec::new(), Vec::new(), "required");
        for part in rule.split(", ").filter(|part| *part != "@readonly") {
            let (approval, pattern) = match part.strip_prefix("deny: ") {
                Some(denied) => {
                    default = "none";
                    if let Some(path) = denied.strip_prefix("read ") {
                        never_read.push(path);
                        continue;
                    }
                    ("deny", denied)
                }
                None => ("none", part),
            };
            let open = pattern.strip_suffix(" *");
            rules.push(
                json!({"pattern": open.unwrap_or(pattern), "exact": open.is_none(), "approval": approval}),
            );
        }
        let config = json!({
            "version": 1,
            "sandbox": {
                "require_os_sandbox": false,
                "paths": {"repo": {"root": self.repo, "mode": "rw", "approval": {"read": "none", "write": "none"}}},
                "never_read": never_read,
            },
            "shell": {"default": {"approval": default}, "known_read_only": "none", "network": true, "rules": rules},
        });
        let none = self.above.join("none");
        let places =
            Places { managed: none.clone(), user: none.clone(), state: none.clone(), home: Some(none) };
        let options = LoadOptions { explicit: None, folder: self.repo.clone(), places };
        Ok(ShellToolset::new(&from_json(&config, &options)?, Arc::new(Nothing))?)
    }

    fn race(&self, label: &str, tools: &ShellToolset, line: &str) {
        let call = call(line);
        let mut parser = bash();
        // Work that is done only once must not lengthen the first turn.
        drop(tools.check_approval(&call));
        print_race(
            label,
            &mut [
                Contestant::new("tree-sitter-bash", |_| drop(black_box(parser.parse(line, None)))),
                Contestant::new("askfirst, all of it", |_| drop(black_box(tools.check_approval(&call)))),
            ],
        );
        let (user, system) = halves(|| drop(black_box(tools.check_approval(&call))));
        println!("{:<28} of it outside the kernel {}, within {}", "", in_words(user), in_words(system));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.above);
    }
}

fn call(line: &str) -> ApprovalContext {
    let args = json!({"command": line}).as_object().cloned().unwrap_or_default();
    ApprovalContext::new("shell", args)
}

/// Returns the user and kernel time of one repetition, in nanoseconds.
fn halves(mut work: impl FnMut()) -> (f64, f64) {
    let used = || getrusage(UsageWho::RUSAGE_THREAD).expect("it is known");
    let (before, mut times) = (used(), 0_u32);
    let start = std::time::Instant::now();
    while start.elapsed().as_millis() < 600 {
        work();
        times += 1;
    }
    let after = used();
    let each = |after: nix::sys::time::TimeVal, before: nix::sys::time::TimeVal| {
        (after - before).num_microseconds() as f64 * 1e3 / f64::from(times)
    };
    (each(after.user_time(), before.user_time()), each(after.system_time(), before.system_time()))
}

/// Prints the slowest lines, by processor time, of many that are made to be slow.
fn worst(tools: &ShellToolset) {
    let pieces = [
        "(",
        "$(",
        "`",
        "\"",
        "'",
        "${x:-",
        "((",
        "[[ ",
        "{ ",
        "<(",
        "a|",
        "a&&",
        "a;",
        "if ",
        "case x in ",
        "<<E\n",
        "\\",
        "$'",
        "for x in ",
        "f(){ ",
        "x=",
        "!",
        "sh -c '",
        "eval ",
        "xargs ",
        "env ",
        "find . -exec ",
        "../",
        "*/",
        "[",
        "~/",
        "\u{202e}",
        "\0",
        "é",
        " ",
        "\n",
    ];
    let mut slowest: Vec<(f64, String)> = Vec::new();
    for first in pieces {
        for second in pieces {
            for size in [512, 4 << 10, 8 << 10, 64 << 10] {
                let line = format!("{first}{second}").repeat(size / (first.len() + second.len()));
                let call = call(&line);
                let once = || {
                    let start = processor_time();
                    drop(black_box(tools.check_approval(&call)));
                    processor_time() - start
                };
                // A disturbance of the machine affects one of the two runs, not both.
                let took = once().min(once());
                slowest.push((took, format!("{} bytes of {:?}", line.len(), format!("{first}{second}"))));
                slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
                slowest.truncate(5);
            }
        }
    }
    for (took, line) in slowest {
        println!("  {} for {line}", in_words(took));
    }
}

fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn bash() -> Parser {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the language fits");
    parser
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Allow,
    Ask,
    Deny,
}

/// Counts the wrong verdicts of each.
fn verdicts(place: &Place) -> Result<(), Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("spec").join("shell");
    let mut by_rule: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for half in ["dangerous", "ordinary"] {
        for entry in std::fs::read_dir(folder.join(half))? {
            for line in std::fs::read_to_string(entry?.path())?.lines().filter(|line| !line.is_empty()) {
                let case: Value = serde_json::from_str(line)?;
                by_rule.entry(case["rule"].as_str().unwrap_or_default().to_owned()).or_default().push(case);
            }
        }
    }
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut parser = bash();
    for (rule, cases) in
        by_rule.iter().filter(|(rule, _)| !rule.contains("@readonly") && !rule.contains("deny: read"))
    {
        let tools = place.tools(rule)?;
        for case in cases {
            let line = case["command"].as_str().unwrap_or_default();
            let ours =
                match tools.check_approval(&call(&line.replace("/repo", &place.repo.to_string_lossy()))).view
                {
                    View::Harmless => Said::Allow,
                    View::Blocked(_) => Said::Deny,
                    View::Silent | View::NeedsApproval(_) => Said::Ask,
                };
            let theirs = prefixes(&mut parser, rule, line);
            let (class, wrong): (_, fn(Said) -> bool) = match case["must_not"].as_str() {
                Some("miss-deny") => ("denials evaded", |said| said == Said::Allow),
                Some(_) => ("dangerous, let through", |said| said == Said::Allow),
                None => ("ordinary, still asked", |said| said != Said::Allow),
            };
            let count = counts.entry(class).or_default();
            count[0] += 1;
            count[1] += usize::from(wrong(ours));
            count[2] += usize::from(wrong(theirs));
        }
    }
    println!("what each says");
    for (class, [all, ours, theirs]) in counts {
        println!("  {class:<26} of {all}: askfirst {ours} | Codex's parser and prefix rules {theirs}");
    }
    Ok(())
}

/// Returns the verdict of prefix rules on the plain commands of a line. The default applies unless a rule denies it.
fn prefixes(parser: &mut Parser, rule: &str, line: &str) -> Said {
    let otherwise = if rule.contains("deny: ") { Said::Allow } else { Said::Ask };
    let Some(commands) = parser.parse(line, None).and_then(|tree| plain_commands(&tree, line)) else {
        return otherwise;
    };
    let judge = |command: &Vec<String>| {
        let mut said = otherwise;
        for part in rule.split(", ") {
            let (approval, pattern) = match part.strip_prefix("deny: ") {
                Some(denied) => (Said::Deny, denied),
                None => (Said::Allow, part),
            };
            let words: Vec<&str> = pattern.strip_suffix(" *").unwrap_or(pattern).split(' ').collect();
            if command.len() >= words.len() && command.iter().zip(&words).all(|(word, ruled)| word == ruled) {
                said = if said == Said::Deny { said } else { approval };
            }
        }
        said
    };
    let said: Vec<Said> = commands.iter().map(judge).collect();
    [Said::Deny, Said::Ask].into_iter().find(|worse| said.contains(worse)).unwrap_or(Said::Allow)
}

/// Returns every command of a line that has only plain words and quotes, joined by the four operators.
fn plain_commands(tree: &Tree, line: &str) -> Option<Vec<Vec<String>>> {
    const NODES: [&str; 11] = [
        "program",
        "list",
        "pipeline",
        "command",
        "command_name",
        "word",
        "string",
        "string_content",
        "raw_string",
        "number",
        "concatenation",
    ];
    const SIGNS: [&str; 6] = ["&&", "||", ";", "|", "\"", "'"];
    if tree.root_node().has_error() {
        return None;
    }
    let (mut left, mut commands) = (vec![tree.root_node()], Vec::new());
    while let Some(node) = left.pop() {
        let known = if node.is_named() {
            NODES.contains(&node.kind())
        } else {
            SIGNS.contains(&node.kind().trim()) || node.kind().trim().is_empty()
        };
        if !known {
            return None;
        }
        if node.kind() == "command" {
            commands.push(node);
        }
        left.extend((0..node.child_count()).filter_map(|at| node.child(at.try_into().ok()?)));
    }
    commands.iter().map(|command| words(*command, line)).collect()
}

fn words(command: Node<'_>, line: &str) -> Option<Vec<String>> {
    let mut cursor = command.walk();
    let parts: Vec<Node<'_>> = command.named_children(&mut cursor).collect();
    parts.into_iter().map(|part| word(part, line)).collect()
}

fn word(node: Node<'_>, line: &str) -> Option<String> {
    let text = line.get(node.byte_range())?;
    let mut cursor = node.walk();
    match node.kind() {
        "word" | "number" | "string_content" => Some(text.to_owned()),
        "raw_string" => Some(text.trim_matches('\'').to_owned()),
        "command_name" | "concatenation" | "string" => {
            node.named_children(&mut cursor).map(|part| word(part, line)).collect()
        }
        _ => None,
    }
}
