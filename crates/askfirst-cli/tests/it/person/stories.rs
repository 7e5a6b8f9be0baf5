//! Tests of the whole program with a person on a real terminal. Each test is one story, from the first screen to the last.

use serde_json::Value;

use super::{CONFIG, Terminal, calls};
use crate::commands::Place;

const FILES: &str = r#"
version: 1
sandbox:
  require_os_sandbox: false
  paths:
    notes: { root: ./notes, mode: rw, approval: { read: none, write: required } }
    free: { root: ./free, mode: rw, approval: { read: none, write: none } }
shell:
  known_read_only: none
  rules:
    - { pattern: "touch ok", approval: none }
    - { pattern: "sudo", approval: deny }
tools:
  quick: { command: [echo, quick], approval: none }
  human: { command: [echo, human], approval: human }
"#;

pub(super) fn place() -> Place {
    let place = Place::new(FILES);
    for folder in ["notes", "free"] {
        std::fs::create_dir(place.path().join(folder)).unwrap();
    }
    std::fs::write(place.path().join("notes/plan.md"), "# Plan\n\nShip the old parser.\n").unwrap();
    place
}

pub(super) fn list(place: &Place, calls: &[Value]) {
    let lines: Vec<String> = calls.iter().map(Value::to_string).collect();
    std::fs::write(place.path().join("calls.jsonl"), lines.join("\n")).unwrap();
}

pub(super) fn write(path: &str, content: &str) -> Value {
    serde_json::json!({"tool": "write_file", "args": {"path": path, "content": content}})
}

fn shell(command: &str) -> Value {
    serde_json::json!({"tool": "shell", "args": {"command": command, "cwd": "notes"}})
}

fn run(place: &Place, more: &[&str]) -> Terminal {
    Terminal::start(place, &[&["run", "calls.jsonl", "--config", "c.yaml"], more].concat())
}

/// Runs the list without a terminal.
fn outcomes(place: &Place, more: &[&str]) -> (i32, Vec<Value>, String) {
    let (code, printed, complaint) =
        place.run(&[&["run", "calls.jsonl", "--json", "--config", "c.yaml"], more].concat());
    (code, printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), complaint)
}

#[test]
fn run_pauses_until_each_call_is_approved() {
    let place = place();
    list(
        &place,
        &[serde_json::json!({"tool": "quick"}), write("notes:new.md", "hello\n"), write("notes:b.md", "b\n")],
    );
    let mut terminal = run(&place, &[]);
    let page = terminal.press("y");
    assert!(page.contains("quick"), "earlier results stay on screen: {page}");
    for part in
        ["━━ create notes/new.md · 1 line ━", "hello", "why    a change in `notes` needs approval (c.yaml:"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let told = terminal.wait_for("━━ create notes/b.md");
    assert!(told.contains("approved once: write_file") && told.contains(" UTC"), "{told}");
    assert!(told.contains("   2  ran"), "the result follows: {told}");
    assert_eq!(std::fs::read_to_string(place.path().join("notes/new.md")).unwrap(), "hello\n");
    assert!(!place.path().join("notes/b.md").exists(), "the next one pauses on its own");
    terminal.press("n");
    assert_eq!(terminal.end().0, 4);
    assert!(!place.path().join("notes/b.md").exists());
}

#[test]
fn file_is_not_written_before_the_answer() {
    let place = place();
    list(&place, &[write("notes:new.md", "hello\n")]);
    let mut terminal = run(&place, &[]);
    terminal.wait_for("ready:");
    assert!(!place.path().join("notes/new.md").exists());
    terminal.type_keys("n");
    assert_eq!(terminal.end().0, 4);
    assert!(!place.path().join("notes/new.md").exists());
}

#[test]
fn refusal_with_on_denial_stop_stops_the_run() {
    for (setting, rest) in [("on_denial: return", "   2  ran"), ("on_denial: stop", "stopped: 1 not run")] {
        let place = Place::new(&format!(
            "{setting}\n{CONFIG}  quick: {{ command: [echo, quick], approval: none }}\n"
        ));
        list(
            &place,
            &[
                serde_json::json!({"tool": "note", "args": {"text": "one"}}),
                serde_json::json!({"tool": "quick"}),
            ],
        );
        for _ in 0..2 {
            let mut terminal = run(&place, &[]);
            terminal.press("n");
            let (code, told) = terminal.end();
            assert!(code == 4 && told.contains(rest), "{setting}: {told}");
        }
    }
}

#[test]
fn only_calls_that_the_config_allows_run_without_asking() {
    let place = place();
    list(
        &place,
        &[
            write("free:a", "a"),
            serde_json::json!({"tool": "shell", "args": {"command": "touch ok", "cwd": "free"}}),
            serde_json::json!({"tool": "quick"}),
            write("notes:a", "a"),
            shell("touch other"),
            serde_json::json!({"tool": "human"}),
        ],
    );
    let verdicts = |more: &[&str]| -> Vec<String> {
        outcomes(&place, more).1.iter().map(|line| line["outcome"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(verdicts(&["--strict"]), ["done", "done", "done", "denied", "denied", "denied"]);
    let without = FILES
        .replace("    - { pattern: \"touch ok\", approval: none }\n", "")
        .replace("approval: { read: none, write: none }", "approval: { write: required }")
        .replace("quick], approval: none", "quick]");
    std::fs::write(place.path().join("c.yaml"), without).unwrap();
    assert_eq!(verdicts(&["--strict"]), ["denied"; 6], "undone by removing the line");
}

#[test]
fn approve_all_asks_only_for_human_and_warns_it_is_unsafe() {
    let place = place();
    list(&place, &[write("notes:a", "a"), serde_json::json!({"tool": "human"}), shell("sudo ls")]);
    let mut terminal = run(&place, &["--approve-all"]);
    let page = terminal.press("y");
    assert!(page.contains("UNSAFE") && page.contains("   1  ran") && page.contains("mode"), "{page}");
    assert!(page.contains("run: echo human") && !page.contains("create notes/a"), "{page}");
    let (code, told) = terminal.end();
    assert!(code == 3 && told.contains("   3  refused"), "a blocked call stays blocked: {told}");
    let (_, help, _) = place.run(&["run", "--help"]);
    assert!(help.to_lowercase().contains("unsafe"), "{help}");
}

#[test]
fn strict_run_refuses_at_once_and_says_why() {
    let place = place();
    list(&place, &[write("notes:a", "a"), write("free:a", "a")]);
    let (code, lines, _) = outcomes(&place, &["--strict"]);
    let message = lines[0]["message"].as_str().unwrap();
    assert!(message.contains("write_file") && message.contains("strict"), "{message}");
    assert_eq!((code, lines[1]["outcome"].as_str()), (3, Some("done")));
}

#[test]
fn command_prompt_shows_every_part_and_the_folder() {
    let place = place();
    let many = "no-such-name ".repeat(9);
    list(&place, &[shell(&format!("cat plan.md | sort > sorted.md && touch today.md {many}the-end"))]);
    let mut terminal = run(&place, &[]);
    let page = terminal.press("n");
    for part in [
        "$ cat plan.md | sort > sorted.md && touch today.md",
        "cat plan.md",
        "sort",
        "touch today.md",
        "> sorted.md",
        "━━ run in notes · 3 programs ━",
        "no-such-name the-end",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    terminal.end();
    assert!(!place.path().join("notes/sorted.md").exists());
}

#[test]
fn run_without_a_terminal_fails_and_names_the_flags() {
    let place = place();
    list(&place, &[write("notes:a", "a")]);
    let (code, lines, complaint) = outcomes(&place, &[]);
    let told = lines[0].to_string();
    assert!(code == 5 && told.contains("there is no terminal") && !told.contains("approve-all"), "{told}");
    assert!(complaint.contains("--approve-all") && complaint.contains("--strict"), "{complaint}");
    assert_eq!(outcomes(&place, &["--approve-all", "--strict"]).0, 2, "the flags exclude each other");
}

#[test]
fn file_edit_is_shown_as_a_diff_and_applied_as_shown() {
    let place = place();
    let edit = serde_json::json!({"tool": "edit_file", "args": {"path": "notes:plan.md", "old": "old", "new": "new"}});
    list(&place, &[edit]);
    let mut terminal = run(&place, &[]);
    let page = terminal.press("y");
    for part in [
        "- Ship the old parser.",
        "+ Ship the new parser.",
        "  # Plan",
        "edit notes/plan.md · 1 line changed",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let (code, told) = terminal.end();
    assert_eq!(code, 0, "{told}");
    assert_eq!(
        std::fs::read_to_string(place.path().join("notes/plan.md")).unwrap(),
        "# Plan\n\nShip the new parser.\n"
    );
}

// invariant: 3
#[test]
fn file_that_changes_during_the_question_is_shown_again() {
    let place = place();
    list(&place, &[write("notes:plan.md", "mine\n")]);
    let mut terminal = run(&place, &[]);
    terminal.wait_for("ready:");
    std::fs::write(place.path().join("notes/plan.md"), "somebody else's\n").unwrap();
    terminal.type_keys("y");
    let page = terminal.press("n");
    assert!(page.contains("- somebody else's"), "{page}");
    assert!(page.contains("asked again the shown content has changed"), "{page}");
    assert_eq!(terminal.end().0, 4);
    assert_eq!(std::fs::read_to_string(place.path().join("notes/plan.md")).unwrap(), "somebody else's\n");
}

#[test]
fn huge_file_shows_its_size_and_scrolls_to_its_end() {
    let place = place();
    let content: String = (1..=3_000).map(|n| format!("row {n}\n")).collect();
    list(&place, &[write("notes:big.txt", &content)]);
    let mut terminal = run(&place, &[]);
    let page = terminal.press("v");
    assert!(
        page.contains("· 3000 lines ━") && page.contains("more below") && !page.contains("row 200"),
        "{page}"
    );
    terminal.wait_for("full view");
    terminal.type_keys("G");
    terminal.wait_for("row 3000");
    terminal.type_keys("v");
    terminal.press("n");
    assert_eq!(terminal.end().0, 4);
    std::fs::write(place.path().join("c.yaml"), format!("prompt: {{ preview_lines: 5 }}\n{FILES}")).unwrap();
    let mut terminal = run(&place, &[]);
    let page = terminal.press("q");
    assert!(page.contains("lines 1 to 5 of"), "how much is shown can be chosen: {page}");
    assert_eq!(terminal.end().0, 4);
}

#[test]
fn new_file_is_highlighted_by_its_suffix_with_its_size() {
    let place = place();
    list(&place, &[write("notes:main.rs", "fn main() {}\n")]);
    let args = ["run", "calls.jsonl", "--config", "c.yaml"];
    let mut terminal = Terminal::with(&place, &args, &[("NO_COLOR", "")]);
    let page = terminal.press("?");
    terminal.wait_for("file content, 13 bytes, 1 line");
    terminal.type_keys("?");
    terminal.press("n");
    assert!(page.contains("fn") && page.contains("main") && !page.contains("fn main"), "one colour: {page}");
    assert_eq!(terminal.end().0, 4);
}

#[test]
fn binary_content_is_shown_as_its_type_and_size() {
    let place = place();
    let args = serde_json::json!({"path": "notes:logo.png", "content": "iVBORwA=", "encoding": "base64"});
    list(&place, &[serde_json::json!({"tool": "write_file", "args": args})]);
    let mut terminal = run(&place, &[]);
    let page = terminal.press("n");
    assert!(page.contains("binary: PNG image, 5 bytes, sha256:"), "{page}");
    assert_eq!(terminal.end().0, 4);
}

#[test]
fn batch_is_one_question_and_a_member_can_be_left_out() {
    let place = place();
    let one = |name: &str| {
        let mut call = write(&format!("notes:{name}"), "x\n");
        call["metadata"] = serde_json::json!({"batch_id": "b"});
        call
    };
    list(&place, &[one("a"), one("b"), one("c")]);
    let mut terminal = run(&place, &[]);
    let page = terminal.press("2");
    assert!(page.contains("3 calls with one answer"), "{page}");
    terminal.wait_for("refused");
    // The content of the last request is further down.
    terminal.press("\u{1b}[F");
    terminal.press("y");
    let (code, told) = terminal.end();
    assert_eq!(code, 4, "{told}");
    let there = ["a", "b", "c"].map(|name| place.path().join("notes").join(name).exists());
    assert_eq!(there, [true, false, true]);
    for row in ["   1  ran", "   2  refused", "   3  ran"] {
        assert!(told.contains(row), "{row}: {told}");
    }
}

#[test]
fn edited_arguments_are_checked_shown_again_and_recorded() {
    let place = place();
    list(&place, &[write("notes:a.md", "one\n")]);
    let editor = place.path().join("editor.sh");
    std::fs::write(&editor, "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n\ncase $n in 0) echo '{\"path\": 7, \"content\": \"two\"}';; *) echo '{\"path\": \"notes:b.md\", \"content\": \"two\"}';; esac > \"$1\"\n").unwrap();
    let mut terminal = Terminal::with(
        &place,
        &["run", "calls.jsonl", "--config", "c.yaml"],
        &[("EDITOR", &format!("sh {}", editor.display()))],
    );
    terminal.press("e");
    terminal.wait_for("arguments are invalid");
    terminal.press("e");
    terminal.wait_for("edited, to be checked again");
    let page = terminal.press("y");
    assert!(page.contains("notes/b.md") && page.contains("two"), "{page}");
    let (code, told) = terminal.end();
    assert_eq!(code, 0, "{told}");
    assert_eq!(std::fs::read_to_string(place.path().join("notes/b.md")).unwrap(), "two");
    assert!(!place.path().join("notes/a.md").exists());
    let (_, log, _) = place.run(&["log", "--json", "--config", "c.yaml"]);
    assert!(log.contains("\"edited_from\":"), "{log}");
}

#[test]
fn session_yes_widens_to_what_the_tool_offers() {
    let place = place();
    list(&place, &[write("notes:a.md", "a\n"), write("notes:b.md", "b\n"), shell("touch today.md")]);
    let mut terminal = run(&place, &[]);
    terminal.press("s");
    terminal.wait_for("which calls?");
    let page = terminal.press("2");
    assert!(page.contains("or wider: "), "{page}");
    terminal.wait_for("no earlier requests");
    terminal.press("s");
    let told = terminal.wait_for("run: touch today.md");
    assert!(
        told.contains("approved for the session, wider scope")
            && told.contains("   2  ran")
            && told.contains("session"),
        "{told}"
    );
    let (_, listed, _) = place.run(&["memory"]);
    assert!(
        listed.contains("yes to `write_file` for ") && listed.contains("since ") && listed.contains("until "),
        "{listed}"
    );
    terminal.press("q");
    assert_eq!(terminal.end().0, 4);
    let mut terminal = run(&place, &[]);
    let page = terminal.press("q");
    assert!(page.contains("notes/a.md"), "gone with the run: {page}");
    terminal.end();
}

#[test]
fn equal_calls_share_one_answer_and_name_the_caller() {
    let place = place();
    let by = |caller: &str, path: &str| {
        let mut call = write(path, "x\n");
        call["metadata"] = serde_json::json!({"batch_id": "b", "caller": caller});
        call
    };
    list(&place, &[by("ada", "notes:a"), by("bob", "notes:a")]);
    let mut terminal = run(&place, &[]);
    let page = terminal.press("n");
    assert!(page.contains("who    ada") && page.contains("2 equal calls wait"), "{page}");
    let (_, told) = terminal.end();
    assert!(told.contains("   1  refused") && told.contains("   2  refused"), "{told}");
}

#[test]
fn unanswered_question_is_refused_as_timed_out() {
    let place = Place::new(&format!("approval_timeout: 2s\n{CONFIG}"));
    calls(&place, &["one"]);
    let mut terminal = run(&place, &[]);
    terminal.wait_for("0:01 ━━");
    terminal.wait_for("no answer in time");
    let (code, told) = terminal.end();
    assert!(code == 5 && told.contains("time-out") && !told.contains("a person said no"), "{code}: {told}");
}

// invariant: 6
#[test]
fn tool_process_has_no_terminal_to_type_on() {
    let probe = "exec 2>/dev/null; if (: > /dev/tty); then echo HAS-A-TERMINAL; else echo has none; fi; test -t 0 && echo STDIN-IS-ONE; head -c1 | wc -c";
    let quoted = serde_json::to_string(probe).unwrap();
    let place = Place::new(&format!(
        "version: 1\nsandbox: {{ require_os_sandbox: false }}\ntools:\n  probe: {{ command: [sh, -c, {quoted}], approval: none }}\n"
    ));
    list(&place, &[serde_json::json!({"tool": "probe"})]);
    let mut terminal = run(&place, &["--json"]);
    let told = terminal.wait_for("\"tool\":\"probe\"") + &terminal.end().1;
    assert!(told.contains("has none\\n0\\n"), "{told}");
    // As a child of the terminal, the same probe finds one. So the test can fail.
    let mut terminal = Terminal::program(&place, "sh", &["-c", probe], &[]);
    terminal.type_keys("\u{4}");
    assert!(terminal.wait_for("STDIN-IS-ONE").contains("HAS-A-TERMINAL"));
}

#[test]
fn json_run_lists_the_rest_as_not_run_after_a_stop() {
    let place = Place::new(CONFIG);
    calls(&place, &["one", "two", "three"]);
    let mut terminal = run(&place, &["--json"]);
    terminal.press("q");
    let (code, told) = terminal.end();
    assert_eq!(code, 4);
    assert_eq!(told.matches("\"outcome\":\"not_run\"").count(), 2, "{told}");
}

#[test]
fn yes_without_seeing_the_rest_is_in_the_audit_log() {
    let place = place();
    let content: String = (1..=3_000).map(|n| format!("row {n}\n")).collect();
    list(&place, &[write("notes:big.txt", &content), write("notes:small.txt", "small\n")]);
    let mut terminal = run(&place, &[]);
    terminal.press("y");
    terminal.wait_for("lines were not on screen yet");
    assert!(!place.path().join("notes/big.txt").exists(), "the first yes did not count");
    terminal.press("w");
    terminal.wait_for("approved once, without seeing the rest: write_file");
    terminal.press("y");
    assert_eq!(terminal.end().0, 0);
    assert!(place.path().join("notes/big.txt").exists());
    let (_, log, _) = place.run(&["log", "--json", "--config", "c.yaml"]);
    let decided: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let decided: Vec<&Value> = decided.iter().filter(|entry| entry["kind"] == "decided").collect();
    let marks: Vec<&Value> = decided.iter().map(|entry| &entry["decision"]["rest_unseen"]).collect();
    assert_eq!(marks, [&Value::Bool(true), &Value::Null]);
    assert!(decided[0]["seen"]["lines"].as_u64() < decided[0]["seen"]["of"].as_u64(), "{}", decided[0]);
    let id = decided[0]["call_id"].as_str().unwrap();
    let (_, shown, _) = place.run(&["log", "show", id, "--config", "c.yaml"]);
    assert!(shown.contains(", without seeing the rest"), "{shown}");
}

#[test]
fn single_call_offers_no_answer_for_the_session() {
    let place = place();
    for (approval, tool) in [("required", "asked"), ("once_per_session", "once")] {
        let tools = format!("{FILES}  {tool}: {{ command: [echo, {tool}], approval: {approval} }}\n");
        std::fs::write(place.path().join("c.yaml"), tools).unwrap();
        let mut terminal = Terminal::start(&place, &["call", tool, "--config", "c.yaml"]);
        for key in ["s", "N", "q"] {
            let page = terminal.press(key);
            assert!(!page.contains("this session"), "{page}");
            terminal.wait_for("[not yet]");
        }
        terminal.press("y");
        let (code, told) = terminal.end();
        assert_eq!(code, 0, "{approval}: {told}");
    }
}

#[test]
fn config_decides_how_an_unfocused_terminal_calls() {
    for (config, notification, bells) in [("auto", 1, 1), ("bell", 0, 1), ("off", 0, 0)] {
        let place = Place::new(&format!("{CONFIG}prompt: {{ notify: {config} }}\n"));
        calls(&place, &["\\u001b]0;owned\\u0007"]);
        let mut terminal = run(&place, &[]);
        terminal.wait_for("[not yet]");
        terminal.type_keys("\u{1b}[O");
        terminal.press("n");
        terminal.wait_for("refused");
        let seen = String::from_utf8_lossy(&terminal.seen.lock().unwrap()).into_owned();
        let text = "\u{1b}]9;askfirst run: a call waits for your answer\u{1b}\\";
        assert_eq!(seen.matches(text).count(), notification, "{config}: {seen:?}");
        assert_eq!(seen.matches("\u{1b}]").count(), notification, "{config}: {seen:?}");
        assert_eq!(seen.matches('\u{7}').count(), bells, "{config}: {seen:?}");
        terminal.end();
    }
}
