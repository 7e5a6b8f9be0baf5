//! Tests of the page of a question.

use std::sync::Arc;

use askfirst::machine::{Member, Question, QuestionId};
use askfirst::{
    Approval, ApprovalPresentation, ApprovalRequest, Args, Fact, Loosen, OfferedPattern, PresentationKind,
    Risk, Timestamp, simple_approval_request,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::line::{GUTTER, Row};
use crate::offer::Choice;

pub(super) fn args(value: Value) -> Args {
    match value {
        Value::Object(args) => args,
        other => panic!("not an object: {other}"),
    }
}

pub(super) fn email() -> ApprovalRequest {
    let args = args(
        json!({"to": "bob@example.com", "subject": "Hi", "body": "Dear Bob,\n\nsee you\n", "urgent": true, "code": "007"}),
    );
    let mut request = simple_approval_request(
        "send_email",
        &args,
        Some("Send email to bob@example.com: Hi"),
        &["body".into()],
    );
    request.caller = Some("worker-3".into());
    request.facts.push(Fact::new("host", "example.com"));
    request.facts.push(Fact::new("rule", "tools.send_email in askfirst.yaml, line 12: required"));
    request
}

pub(super) fn question(requests: Vec<ApprovalRequest>) -> Question {
    let member = |request: ApprovalRequest| Member::new(request);
    Question { id: QuestionId(1), members: requests.into_iter().map(member).collect(), position: 1, of: 1 }
}

pub(super) fn page(question: &Question) -> Page {
    let redactor = Redactor::default();
    let options =
        PageOptions { preview_lines: 8, redactor: &redactor, now: Timestamp(1_000_000), withheld: &[] };
    Page::of(question, &options)
}

/// The page as a plain renderer would print it.
pub(super) fn drawn(page: &Page, columns: usize) -> String {
    page.lines(columns)
        .iter()
        .map(|line| format!("{}{}\n", line.gutter(), line.text()).trim_end().to_owned() + "\n")
        .collect()
}

fn shown_as(kind: PresentationKind, content: &str) -> Page {
    let mut request =
        simple_approval_request("tool", &args(json!({"path": "notes/a.md"})), Some("a change"), &[]);
    request.presentation = Some(ApprovalPresentation::new(kind, content));
    page(&question(vec![request]))
}

#[test]
fn call_without_a_presentation_shows_all_arguments() {
    let mut question = question(vec![email()]);
    question.position = 2;
    question.of = 5;
    Arc::make_mut(&mut question.members[0].request).deadline = Some(Timestamp(1_600_000));
    insta::assert_snapshot!("email_80", drawn(&page(&question), 80));
    insta::assert_snapshot!("email_40", drawn(&page(&question), 40));
}

#[test]
fn diff_is_shown_line_by_line() {
    let diff = "--- a/notes/a.md\n+++ b/notes/a.md\n@@ -1,3 +1,3 @@\n same\n--- not a header\n+\ttab and \x1b[31mred\n";
    let page = shown_as(PresentationKind::Diff, diff);
    insta::assert_snapshot!("diff_80", drawn(&page, 80));
    insta::assert_snapshot!("diff_40", drawn(&page, 40));
    let removed = page.lines(80).into_iter().find(|line| line.text().contains("not a header"));
    assert_eq!(removed.map(|line| line.part), Some(Part::Diff(crate::Change::Removed)));
}

#[test]
fn file_is_shown_with_its_size_and_language() {
    let mut request = simple_approval_request(
        "write_file",
        &args(json!({"path": "a.rs", "content": "fn a() {\n    b();\n}\n"})),
        Some("Write a.rs"),
        &[],
    );
    request.presentation = Some(
        ApprovalPresentation::new(PresentationKind::FileContent, "fn a() {\n    b();\n}\n")
            .with_language("rust"),
    );
    let page = page(&question(vec![request]));
    insta::assert_snapshot!("file_80", drawn(&page, 80));
    insta::assert_snapshot!("file_40", drawn(&page, 40));
}

#[test]
fn command_is_shown_after_a_dollar_sign_and_wrapped() {
    let page =
        shown_as(PresentationKind::Command, "git log --oneline --graph --decorate --all | grep fix\nls");
    insta::assert_snapshot!("command_80", drawn(&page, 80));
    insta::assert_snapshot!("command_40", drawn(&page, 40));
}

#[test]
fn text_and_data_are_shown_by_kind() {
    let text = shown_as(PresentationKind::Text, "it will\ndo this");
    let data = shown_as(PresentationKind::Structured, r#"{"rows":[1,"1",null,{"a":[]}],"ok":true}"#);
    insta::assert_snapshot!("text_80", drawn(&text, 80));
    insta::assert_snapshot!("text_40", drawn(&text, 40));
    insta::assert_snapshot!("data_80", drawn(&data, 80));
    insta::assert_snapshot!("data_40", drawn(&data, 40));
}

#[test]
fn group_lists_every_member_with_its_risk() {
    let mut risky =
        simple_approval_request("rm", &args(json!({"path": "notes/old.md"})), Some("Delete it"), &[]);
    risky.risk = Risk::Irreversible;
    let group = question(vec![email(), risky]);
    insta::assert_snapshot!("group_80", drawn(&page(&group), 80));
    insta::assert_snapshot!("group_40", drawn(&page(&group), 40));
}

#[test]
fn worker_call_shows_target_input_and_attachments() {
    let args = args(json!({"worker": "reviewer", "input": "look at\nthis", "attachments": ["a.pdf"]}));
    let page = page(&question(vec![simple_approval_request("worker_call", &args, None, &[])]));
    insta::assert_snapshot!("worker_80", drawn(&page, 80));
}

#[test]
fn full_content_replaces_only_a_content_it_starts_with() {
    let content = |short: &str| {
        let mut shown = ApprovalPresentation::new(PresentationKind::Text, short);
        shown.metadata.insert("full_content".into(), json!("one\ntwo\nthree"));
        let mut request = simple_approval_request("tool", &Args::new(), None, &[]);
        request.presentation = Some(shown);
        drawn(&page(&question(vec![request])), 80)
    };
    assert!(!content("one\n\n... [2 more lines]").contains("in full"));
    assert!(content("something else").contains("│ something else"));
    assert!(content("one\n\n... [and rm -rf]").contains("and rm -rf"));
}

#[test]
fn preview_counts_the_lines_it_leaves_out() {
    let page = shown_as(PresentationKind::Text, &(1..=30).map(|n| format!("line {n}\n")).collect::<String>());
    let preview = page.preview(80);
    assert_eq!(preview.of - preview.shown, 22);
    assert!(preview.lines.iter().any(|line| line.text() == "... 22 more lines not shown: v shows all"));
    assert_eq!(page.len(80), preview.of);
}

#[test]
fn approval_value_and_risk_decide_the_offered_keys() {
    let keys = |approval, risk| {
        let mut request = email();
        request.approval = approval;
        request.risk = risk;
        page(&question(vec![request])).offers.list.iter().map(|offer| offer.choice.key()).collect::<String>()
    };
    assert_eq!(keys(Approval::Required, Risk::Low), "ynsr?Nveq");
    assert_eq!(keys(Approval::OncePerSession, Risk::Low), "nsr?Nveq");
    assert_eq!(keys(Approval::Human, Risk::High), "ynr?veq");
    assert_eq!(keys(Approval::Required, Risk::Irreversible), "nr?Nveq");
}

#[test]
fn pattern_that_does_not_cover_the_call_is_not_offered() {
    let mut request = email();
    let fields = args(json!({"to": "bob@example.com", "subject": "", "urgent": true, "code": "007"}));
    request.patterns.push(OfferedPattern::new("never", args(json!({"to": "eve"})), []));
    request.patterns.push(OfferedPattern::new("any subject\nto bob", fields, [("subject", Loosen::Any)]));
    let page = page(&question(vec![request]));
    assert_eq!(page.offers.patterns, [1]);
    assert!(page.offers.has(Choice::Session));
    assert!(drawn(&page, 80).contains("│ or wider: any subject\\nto bob"));
    assert_eq!(page.scopes(Lifetime::Session, 80).len(), 2);
}

#[test]
fn always_is_offered_only_for_one_call_in_a_project() {
    let offered = |change: &dyn Fn(&mut Question)| {
        let mut question = question(vec![email()]);
        question.members[0].project = Some("/home/ann/shop".to_owned());
        change(&mut question);
        page(&question).offers.has(Choice::Always)
    };
    let set = |question: &mut Question, approval, risk| {
        let request = Arc::make_mut(&mut question.members[0].request);
        (request.approval, request.risk) = (approval, risk);
    };
    assert!(offered(&|_| ()));
    assert!(offered(&|question| set(question, Approval::OncePerSession, Risk::High)));
    assert!(!offered(&|question| question.members[0].project = None));
    assert!(!offered(&|question| set(question, Approval::Human, Risk::Low)));
    assert!(!offered(&|question| set(question, Approval::Required, Risk::Irreversible)));
    assert!(!offered(&|question| question.members.push(question.members[0].clone())));
}

#[test]
fn always_says_which_calls_where_and_how_long() {
    let mut question = question(vec![email()]);
    question.members[0].project = Some("/home/ann/\u{202e}shop".to_owned());
    let text = |page: &Page| {
        let mut lines = page.scopes(Lifetime::Project, 80).concat();
        lines.extend(page.scope_place(Lifetime::Project, 80));
        lines.iter().map(|line| line.text() + "\n").collect::<String>()
    };
    let end = "in the project: /home/ann/\\u{202e}shop\nuntil you revoke it with `askfirst memory`\n";
    assert!(text(&page(&question)).ends_with(end), "{}", text(&page(&question)));
    assert!(!text(&page(&question)).contains("session"));
    // Where no session lasts, the details name this scope.
    let redactor = Redactor::default();
    let withheld = &[Choice::Session, Choice::NoSession];
    let options = PageOptions { preview_lines: 8, redactor: &redactor, now: Timestamp(0), withheld };
    let details = drawn(&Page::of(&question, &options), 80);
    assert!(details.contains("a yes, always in this project, covers:"), "{details}");
    assert!(!details.contains("session"), "{details}");
}

#[test]
fn scope_in_the_tools_words_is_escaped_and_redacted() {
    let same = "any mail to bob\u{202e}, token=abcdefgh12345678".to_owned();
    let page = page(&question(vec![ApprovalRequest { same: Some(same), ..email() }]));
    let drawn = drawn(&page, 120);
    assert!(drawn.contains("│ only: any mail to bob\\u{202e}, token="), "{drawn}");
    assert!(!drawn.contains("abcdefgh12345678") && !drawn.contains("with these values"), "{drawn}");
    assert_eq!(page.scopes(Lifetime::Session, 80).len(), 1);
}

#[test]
fn word_to_type_comes_from_the_target() {
    let word = |value: Value| {
        let mut request = simple_approval_request("send_email", &args(value), None, &[]);
        request.risk = Risk::Irreversible;
        page(&question(vec![request])).offers.words[0].clone().unwrap_or_default()
    };
    assert_eq!(word(json!({"path": "notes/2026/plan.md"})), "plan.md");
    assert_eq!(word(json!({"to": ["bob@example.com"]})), "bob@example.com");
    assert_eq!(word(json!({"url": "https://me@db.example.org:80/x?y"})), "db.example.org:80");
    assert_eq!(word(json!({"path": "notes.md", "to": "bob@example.com"})), "bob@example.com");
    let url = "https://me:pw@db.example.org:80/x?y";
    for args in
        [json!({"url": url}), json!({"path": "notes.md"}), json!({"path": "a\u{202e}b.md"}), json!({})]
    {
        let word = word(args);
        assert!(word.len() == 6 && word.chars().all(|c| c.is_ascii_hexdigit()), "{word}");
    }
}

#[test]
fn word_to_type_never_starts_with_a_key() {
    for path in ["notes.md", "readme.md", "query.sql", "env.sh", "Nix.md", "view.md", "yes.md", "sum.md"] {
        let mut request = simple_approval_request("rm", &args(json!({"path": path})), None, &[]);
        request.risk = Risk::Irreversible;
        let page = page(&question(vec![request.clone(), request]));
        for choice in
            [Choice::No, Choice::NoSession, Choice::Reason, Choice::Facts, Choice::Stop, Choice::View]
        {
            assert!(page.offers.has(choice), "{path}: {choice:?}");
            let begins = |word: &&String| {
                word.starts_with(choice.key()) || word.starts_with(|c: char| c.is_ascii_digit())
            };
            assert_eq!(page.offers.words.iter().flatten().find(begins), None, "{path}");
        }
        assert!(drawn(&page, 80).contains("n none   "), "{path}");
    }
}

#[test]
fn non_ascii_letter_in_a_tool_name_shows_a_warning() {
    let request = ApprovalRequest::new("re\u{430}d", "", json!({}));
    assert!(
        drawn(&page(&question(vec![request])), 80)
            .contains("warning: the tool name has non-ASCII letters, which can imitate others: U+0430")
    );
}

fn any_text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        '\n', '\x1b', '\u{202e}', ' ', '[', 'y', ']', '=', '│', '\t', '漢', '\u{301}',
    ]);
    prop::collection::vec(prop_oneof![3 => odd, 1 => any::<char>()], 0..120)
        .prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn hostile_text_stays_in_its_gutter_and_columns(
        text in any_text(), key in any_text(), columns in 8_usize..100, at in 0_usize..5,
    ) {
        let kinds = [PresentationKind::Text, PresentationKind::Diff, PresentationKind::FileContent, PresentationKind::Command, PresentationKind::Structured];
        let mut call = Args::new();
        call.insert(key.clone(), json!({"deep": [text.clone(), {key: text.clone()}]}));
        let mut request = simple_approval_request(&text, &call, Some(&text), &[]);
        request.caller = Some(text.clone());
        request.facts.push(Fact::new(text.clone(), text.clone()));
        request.presentation = Some(ApprovalPresentation::new(kinds[at], text.clone()).with_language(text));
        let plain = page(&question(vec![email()]));
        let ours = |page: &Page| page.lines(200).into_iter().filter(|line| !line.part.has_gutter() && line.row == Row::First).count();
        let page = page(&question(vec![request]));
        for line in page.lines(columns) {
            let text = line.text();
            let fits = crate::escape::width(&text) + line.gutter().chars().count() <= columns;
            prop_assert!(fits || !line.part.has_gutter(), "{text}");
            prop_assert!(!text.chars().any(char::is_control));
            prop_assert_eq!(line.gutter().chars().count(), if line.part.has_gutter() { GUTTER } else { 0 });
        }
        // Hostile text adds no lines of askfirst's own except headings, warnings and counts.
        prop_assert!(ours(&page) <= ours(&plain) + 8);
        let preview = page.preview(columns);
        prop_assert!(preview.shown <= preview.of);
    }
}

#[test]
fn very_long_content_is_laid_out_in_full() {
    let page = shown_as(PresentationKind::Text, &"a\n".repeat(100_000));
    let preview = page.preview(80);
    assert_eq!(page.lines(80).iter().filter(|line| line.text() == "a").count(), 100_000);
    assert!(preview.lines.len() < 40);
    assert!(preview.of > 100_000);
}

#[test]
fn preview_without_a_limit_shows_everything() {
    let redactor = Redactor::default();
    let options =
        PageOptions { preview_lines: usize::MAX, redactor: &redactor, now: Timestamp(0), withheld: &[] };
    let preview = Page::of(&question(vec![email()]), &options).preview(80);
    assert_eq!(preview.shown, preview.of);
}

#[test]
fn summary_starts_with_the_command_or_path() {
    let long = "x".repeat(250);
    let summary = |value| summary(&args(value));
    assert_eq!(
        summary(json!({"content": "text", "mode": 1, "path": "a.md"})),
        "path: a.md, content: text, mode: 1"
    );
    assert_eq!(summary(json!({"argv": ["ls", "-l"], "a": null})), r#"argv: ["ls","-l"], a: null"#);
    assert_eq!(
        summary(json!({"a": long, "command": long})),
        format!("command: {}…, a: {}…", "x".repeat(200), "x".repeat(40))
    );
    assert_eq!(summary(json!({})), "");
}

#[test]
fn short_secret_hides_no_fact_and_no_program() {
    for password in ["p", "echo", "/tmp/t1", "tmp/t1/p"] {
        let args = args(json!({"user": "u", "password": password}));
        let mut request = simple_approval_request("login", &args, Some("log in"), &[]);
        let runs = format!("echo u {password} > out");
        request.presentation = Some(ApprovalPresentation::new(PresentationKind::Command, &runs));
        request.facts = vec![Fact::new("runs", &runs), Fact::new("folder", "/tmp/t1/p")];
        let drawn = drawn(&page(&question(vec![request])), 400);
        assert!(drawn.contains("in     /tmp/t1/p\n"), "{drawn}");
        assert!(drawn.contains("$ echo u ‹secret: password"), "{drawn}");
        assert_eq!(drawn.matches("› > out").count(), 1, "the fact does not repeat the content: {drawn}");
        assert!(drawn.contains(&format!("command, {} bytes, 1 line", runs.len())), "{drawn}");
        assert!(drawn.contains("1 secret hidden"), "{drawn}");
    }
}
