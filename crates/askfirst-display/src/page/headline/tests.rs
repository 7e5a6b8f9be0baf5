//! Tests of the headline, and of what stands on the page besides it.

use std::sync::Arc;

use askfirst::machine::Question;
use askfirst::{Action, ApprovalPresentation, ApprovalRequest, Fact, PresentationKind, Risk};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::tests::{args, drawn, page, question};
use crate::escape::width;
use crate::line::Part;

fn request(tool: &str, arguments: Value, action: Action) -> ApprovalRequest {
    let description = format!("{action}, in other words");
    let mut request = ApprovalRequest::new(tool, description, json!({"path": "w:a"}));
    (request.args, request.action) = (args(arguments), Some(action));
    request.facts.push(Fact::new("why", "a change in `notes` needs approval (askfirst.yaml:8)"));
    request.facts.push(Fact::new("rule", "sandbox.paths.notes (askfirst.yaml:8): mode: rw"));
    request
}

fn edit(path: &str) -> ApprovalRequest {
    let arguments = json!({"path": "notes:plan.md", "old": "then act", "new": "then look"});
    let mut request = request("edit_file", arguments, Action::new("edit ").value(path));
    let mut shown = ApprovalPresentation::new(PresentationKind::Diff, path.replacen('/', ":", 1));
    shown.metadata =
        args(json!({"before": "# Plan\n\nask, then act\n", "after": "# Plan\n\nask, then look\n"}));
    request.presentation = Some(shown);
    request.caller = Some("demo".to_owned());
    request
}

fn run(command: &str, metadata: Value) -> ApprovalRequest {
    let action = Action::new("run: ").value(command);
    let mut request = request("shell", json!({"command": command}), action);
    let mut shown = ApprovalPresentation::new(PresentationKind::Command, command);
    shown.metadata = args(metadata);
    request.presentation = Some(shown);
    request
}

fn asks(text: &str) -> Value {
    json!({"text": text, "verdict": "ask", "why": "a change in `notes` needs approval"})
}

/// The page without its details and its choices.
fn first_screen(question: &Question) -> String {
    let page = page(question);
    let lines = page.preview(100).lines;
    lines
        .iter()
        .map(|line| format!("{}{}", line.gutter(), line.text()).trim_end().to_owned() + "\n")
        .collect()
}

fn headline(request: &ApprovalRequest) -> String {
    let lines = page(&question(vec![request.clone()])).headline(400);
    lines.iter().map(|line| line.text()).collect()
}

#[test]
fn edit_shows_headline_diff_reason_and_agent_once() {
    assert_eq!(
        first_screen(&question(vec![edit("notes/plan.md")])),
        "━ edit notes/plan.md · 1 line changed\n\
         │ 1 1   # Plan\n\
         │ 2 2\n\
         │ 3   - ask, then act\n\
         │   3 + ask, then look\n\
         │ why    a change in `notes` needs approval (askfirst.yaml:8)\n\
         │ who    demo\n"
    );
}

#[test]
fn single_program_stands_in_the_headline_and_nowhere_else() {
    let request =
        run("npm install left-pad", json!({"rows": [asks("npm install left-pad")], "folder": "app"}));
    assert_eq!(
        first_screen(&question(vec![request])),
        "━ run: npm install left-pad\n\
         │ why    a change in `notes` needs approval (askfirst.yaml:8)\n\
         │ in     app\n"
    );
}

#[test]
fn several_programs_are_counted_and_each_has_a_row() {
    let rows = json!([
        {"text": "ls *.md", "verdict": "allow", "why": "this command only reads"},
        asks("rm -rf old"),
    ]);
    let request = run("ls *.md && rm -rf old", json!({"rows": rows, "folder": "notes"}));
    assert_eq!(
        first_screen(&question(vec![request])),
        "━ run in notes · 2 programs\n\
         │ $ ls *.md && rm -rf old\n\
         │   ls *.md      only reads\n\
         │ ▲ rm -rf old\n\
         │ why    a change in `notes` needs approval (askfirst.yaml:8)\n"
    );
}

#[test]
fn programs_of_a_long_script_come_before_its_text() {
    let script = "true\n".repeat(9) + "rm x";
    let rows: Vec<Value> = (0..9).map(|_| asks("true")).chain([asks("rm x")]).collect();
    let drawn = first_screen(&question(vec![run(&script, json!({"rows": rows, "folder": "notes"}))]));
    let (program, text) = (drawn.find("▲ rm x"), drawn.find("$ true"));
    assert!(program.is_some() && program < text, "{drawn}");
}

#[test]
fn command_that_is_long_or_odd_stands_below_the_headline() {
    let long = format!("touch {}", "x".repeat(60));
    for command in
        [long.as_str(), "touch  a", "touch é", "touch a\nb", " touch a", "curl -u a:hunter2hunter2 h"]
    {
        let request = run(command, json!({"rows": [asks(command)], "folder": "notes"}));
        assert_eq!(headline(&request), "run in notes · 1 program", "{command}");
        let drawn = first_screen(&question(vec![request]));
        assert!(drawn.contains("│ $") && !drawn.contains('▲'), "{drawn}");
    }
}

#[test]
fn redirection_keeps_the_command_below_the_headline() {
    let redirection = json!([{"text": "> out", "verdict": "ask", "why": "outside every root"}]);
    let metadata = json!({"rows": [asks("echo a")], "redirections": redirection, "folder": "notes"});
    let drawn = first_screen(&question(vec![run("echo a", metadata)]));
    assert!(drawn.contains("▲ > out    outside every root"), "{drawn}");
}

#[test]
fn value_with_spaces_or_odd_characters_is_quoted_and_escaped() {
    let of = |value: &str| headline(&ApprovalRequest { presentation: None, ..edit(value) });
    assert_eq!(of("My Notes/plan.md"), "edit `My Notes/plan.md`");
    assert_eq!(of("a` · 0 lines"), "edit `a\\x60 \\u{b7} 0 lines`");
    assert_eq!(of("a\u{202e}b"), "edit `a\\u{202e}b`");
    assert_eq!(of("a\nb"), "edit `a\\nb`");
    assert_eq!(of("a ━━ 9:58 ━━"), "edit `a \\u{2501}\\u{2501} 9:58 \\u{2501}\\u{2501}`");
    assert_eq!(of("für/alle.md"), "edit für/alle.md");
    assert_eq!(of(""), "edit ``");
}

#[test]
fn secret_lookalike_is_hidden_only_in_a_description() {
    let path = "notes/password=hunter2hunter2.md";
    let mut request = edit(path);
    assert_eq!(headline(&request), format!("edit {path} · 1 line changed"), "it decides about the call");
    request.description = format!("edit {path}");
    assert!(!headline(&request).contains("hunter2"), "{}", headline(&request));
}

#[test]
fn long_value_is_shortened_and_shown_in_full_below() {
    let path = format!("notes/{}/plan.md", "deep/".repeat(30));
    let request = edit(&path);
    let text = headline(&request);
    assert!(width(&text) < 90 && text.contains('…') && text.contains("plan.md · 1 line"), "{text}");
    let drawn = first_screen(&question(vec![request]));
    assert_eq!(drawn.replace("\n┆        ", "").matches(&path).count(), 1, "{drawn}");
}

#[test]
fn words_of_the_config_are_the_headline() {
    let action = Action::new("Send a letter to ").value("ada (test only)").words("");
    let mut request = run("echo 'to ada'", json!({}));
    request.action = Some(action);
    request.facts.push(Fact::new("does", "run: echo 'to ada'"));
    let shown = first_screen(&question(vec![request.clone()]));
    assert!(shown.starts_with("━ Send a letter to `ada (test only)`\n│ $ echo 'to ada'\n│ why"), "{shown}");
    request.facts.push(Fact::new("does", "delete notes/a.md"));
    assert!(first_screen(&question(vec![request.clone()])).contains("│ does   delete notes/a.md\n"));
    request.action = Some(Action::new("x".repeat(500)));
    assert_eq!(headline(&request), "call shell");
}

#[test]
fn call_without_words_names_its_tool_and_shows_its_arguments() {
    let mut request = ApprovalRequest::new("mcp__github__create_issue", "", json!({}));
    request.args = args(json!({"title": "it stops"}));
    request.facts.push(Fact::new("server", "github"));
    request.facts.push(Fact::new("host", "github.com"));
    assert_eq!(
        first_screen(&question(vec![request])),
        "━ call mcp__github__create_issue\n│ title: it stops\n│ host   github.com\n"
    );
}

#[test]
fn arguments_not_in_the_content_stay_on_the_page() {
    let on_page =
        |request: ApprovalRequest| first_screen(&question(vec![request])).contains("│ old: then act");
    assert!(!on_page(edit("notes/plan.md")));
    assert!(on_page(ApprovalRequest { presentation: None, ..edit("notes/plan.md") }));
    assert!(on_page(ApprovalRequest { action: None, ..edit("notes/plan.md") }));
    let page = page(&question(vec![edit("notes/plan.md")]));
    let details: String = page.details(80).iter().map(|line| line.text() + "\n").collect();
    for part in [
        "tool       edit_file",
        "content    diff, ",
        "rule       sandbox.paths.notes (askfirst.yaml:8): mode: rw",
        "old: then act",
        "an answer for the session covers:",
    ] {
        assert!(details.contains(part), "{part}\n{details}");
    }
}

#[test]
fn words_of_an_agent_are_quoted_in_one_row() {
    let says = |text: &str| {
        let request =
            ApprovalRequest { caller: Some("ada".into()), ..ApprovalRequest::new("t", text, json!({})) };
        first_screen(&question(vec![request]))
    };
    assert!(says("all \"fine\"").contains("│ who    ada: \"all \\\"fine\\\"\" (not checked)\n"));
    assert!(says("a\nb").contains("│ who    ada says (not checked):\n│        a\n│        b\n"));
    assert!(says("t(x=1)").ends_with("│ who    ada\n"));
}

#[test]
fn group_lists_headlines_and_shows_shared_context_once() {
    let (first, mut second) = (edit("notes/a.md"), edit("notes/b.md"));
    second.risk = Risk::High;
    let shared = first_screen(&question(vec![first.clone(), second.clone()]));
    assert!(
        shared.starts_with(
            "━ 2 calls with one answer\nhigh risk\n\
         │  1 included  edit notes/a.md · 1 line changed\n\
         │  2 included  high risk: edit notes/b.md · 1 line changed\n\
         --- 1 of 2 ---\n│ 1 1   # Plan\n"
        ),
        "{shared}"
    );
    assert_eq!((shared.matches("│ why").count(), shared.matches("│ who").count()), (1, 1), "{shared}");
    second.caller = Some("someone else".to_owned());
    let apart = first_screen(&question(vec![first, second]));
    assert_eq!((apart.matches("│ why").count(), apart.matches("│ who").count()), (2, 2), "{apart}");
}

#[test]
fn context_is_the_end_of_the_page() {
    let page = page(&question(vec![edit("notes/plan.md")]));
    assert_eq!((page.len(80), page.context_len(80)), (6, 2));
    let first = page.rows(page.len(80) - page.context_len(80), 80);
    assert!(first[0].text().starts_with("why "), "{first:?}");
}

#[test]
fn risk_and_place_in_the_queue_are_the_status() {
    let mut question = question(vec![edit("notes/plan.md")]);
    (question.position, question.of) = (2, 5);
    Arc::make_mut(&mut question.members[0].request).risk = Risk::Irreversible;
    let status: Vec<String> = page(&question).status().iter().map(|piece| piece.text.clone()).collect();
    assert_eq!(status, ["cannot be undone", "2 of 5"]);
    assert!(drawn(&page(&question), 80).contains("\ncannot be undone · request 2 of 5\n"));
}

proptest! {
    // invariant: 5
    #[test]
    fn value_cannot_imitate_the_rest_of_the_headline(
        value in "([a-z/. ]{0,9}|━━|·|`|│|\u{202e}|\n|\u{1b}\\[8m|9:58|漢|\u{301}|—){0,30}", columns in 24_usize..120,
    ) {
        let request = edit(&value);
        let page = page(&question(vec![request]));
        let lines = page.headline(columns);
        let text: String = lines.iter().map(|line| line.text()).collect();
        prop_assert_eq!(text.matches('·').count(), 1, "only askfirst counts: {}", text);
        prop_assert!(!text.contains('━') && !text.contains('│'));
        prop_assert!(lines.iter().all(|line| line.part == Part::Title && !line.gutter().is_empty()));
        prop_assert!(lines.iter().all(|line| width(&line.text()) + 2 <= columns));
        // One backtick before the value and one after it, or none at all.
        prop_assert!([0, 2].contains(&text.matches('`').count()), "{}", text);
    }
}
