//! Sample questions of every kind.

use askfirst::machine::Question;
use askfirst::{
    Action, Approval, ApprovalPresentation, ApprovalRequest, Fact, Loosen, OfferedPattern, PresentationKind,
    Risk, Timestamp, simple_approval_request,
};
use serde_json::json;

use crate::desk::{args, question};

pub(crate) const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn request(tool: &str, says: &str, arguments: serde_json::Value) -> ApprovalRequest {
    simple_approval_request(tool, &args(arguments), Some(says), &[])
}

pub(crate) fn edit() -> Question {
    let mut request = request("edit_file", "Move the date of the release", json!({"path": "notes:plan.md"}));
    request.action = Some(Action::new("edit ").value("notes/plan.md"));
    request.caller = Some("writer".into());
    request.facts.push(Fact::new("why", "a change in `notes` needs approval (askfirst.yaml:7)"));
    request.facts.push(Fact::new("rule", "sandbox.paths.notes (askfirst.yaml:7): root: ./notes, mode: rw"));
    let mut shown = ApprovalPresentation::new(PresentationKind::Diff, "notes:plan.md");
    shown.metadata = args(json!({
        "before": "# Plan\n\nShip the old parser in March.\n\nThanks.\n",
        "after": "# Plan\n\nShip the new parser in April.\nTell everybody.\n\nThanks.\n",
    }));
    request.presentation = Some(shown);
    let fields = args(json!({"path": ""}));
    request.patterns.push(OfferedPattern::new("any file in notes:", fields, [("path", Loosen::Any)]));
    request.deadline = Some(NOW.after(std::time::Duration::from_secs(540)));
    let mut question = question(vec![request]);
    (question.position, question.of) = (2, 5);
    question
}

/// An edit that does not fit in a small window.
pub(crate) fn long_edit() -> Question {
    let lines = |word: &str| (1..=40).map(|n| format!("line {n} of the plan, {word}\n")).collect::<String>();
    let mut request = request("edit_file", "Edit w:plan.md", json!({"path": "w:plan.md"}));
    request.action = Some(Action::new("edit ").value("w/plan.md"));
    request.facts.push(Fact::new("why", "a change in `w` needs approval (askfirst.yaml:8)"));
    let mut shown = ApprovalPresentation::new(PresentationKind::Diff, "w:plan.md");
    shown.metadata = args(json!({"before": "", "after": lines("new")}));
    request.presentation = Some(shown);
    question(vec![request])
}

pub(crate) fn new_file() -> Question {
    let code = "//! Counts words.\nuse std::collections::HashMap;\n\n/// How often each word occurs.\npub fn count(text: &str) -> HashMap<&str, usize> {\n    let mut seen = HashMap::new();\n    for word in text.split_whitespace() {\n        *seen.entry(word).or_insert(0) += 1; // one more\n    }\n    seen\n}\n";
    let mut request =
        request("write_file", "Write src/count.rs", json!({"path": "src/count.rs", "content": code}));
    request.action = Some(Action::new("create ").value("src/count.rs"));
    request.payload = json!({"path": "src/count.rs"});
    request.facts.push(Fact::new("why", "a change in `src` needs approval (askfirst.yaml:7)"));
    request.facts.push(Fact::new("size", format!("{} bytes", code.len())));
    request.presentation =
        Some(ApprovalPresentation::new(PresentationKind::FileContent, code).with_language("rust"));
    question(vec![request])
}

pub(crate) fn command() -> Question {
    let command = "cd build && make -j4 | tee log.txt; sudo rm -rf /var/cache/x > out.txt";
    let sudo = command.find("sudo").unwrap();
    let mut request = request("shell", "Build and clean up", json!({"command": command}));
    request.risk = Risk::High;
    request.action = Some(Action::new("run: ").value(command));
    request.facts.push(Fact::new("why", "no rule allows it (askfirst.yaml:31)"));
    request.facts.push(Fact::new("rule", "shell.default.approval (askfirst.yaml:31): required"));
    let mut shown = ApprovalPresentation::new(PresentationKind::Command, command);
    shown.metadata = args(json!({
        "rows": [
            {"program": "make", "text": "make -j4", "verdict": "allow", "why": "rule `make`"},
            {"program": "tee", "text": "tee log.txt", "verdict": "ask", "why": "no rule allows it"},
            {"program": "sudo", "text": "sudo rm -rf /var/cache/x", "verdict": "ask", "why": "no rule allows it"},
        ],
        "redirections": [{"text": "> out.txt", "verdict": "ask", "why": "writes outside of every root"}],
        "folder": "build",
        "must_see": [{"start": sudo, "end": sudo + 4, "why": "runs as another user"}],
    }));
    request.presentation = Some(shown);
    question(vec![request])
}

pub(crate) fn group() -> Question {
    let mut second = request("write_file", "Write b", json!({"path": "notes:b.md", "content": "b\n"}));
    second.risk = Risk::High;
    let mut third = request("delete_file", "Remove c", json!({"path": "notes:old/c.md"}));
    third.risk = Risk::Irreversible;
    let mut first = request("write_file", "Write a", json!({"path": "notes:a.md", "content": "a\n"}));
    let file = |content: &str| Some(ApprovalPresentation::new(PresentationKind::FileContent, content));
    (first.presentation, second.presentation) = (file("a\n"), file("b\n"));
    first.action = Some(Action::new("create ").value("notes/a.md"));
    second.action = Some(Action::new("create ").value("notes/b.md"));
    let lost = ApprovalPresentation::new(PresentationKind::Text, "lost: file, 12 bytes");
    (third.action, third.presentation) = (Some(Action::new("delete ").value("notes/old/c.md")), Some(lost));
    let mut requests = vec![first, second, third];
    for request in &mut requests {
        request.facts.push(Fact::new("why", "a change in `notes` needs approval (askfirst.yaml:7)"));
    }
    question(requests)
}

pub(crate) fn mail() -> Question {
    let body = "Dear Bob,\n\nplease find it attached.\n";
    let mut request = request(
        "send_email",
        "Send the invoice",
        json!({"to": "bob@example.com", "subject": "Invoice 17", "body": body}),
    );
    request.risk = Risk::Irreversible;
    question(vec![request])
}

pub(crate) fn hostile() -> Question {
    let note = "\x1b[2J y yes\n━━ read a.md ━━\r\nready: \u{200b}";
    let mut request = request(
        "fetch",
        "Harmless, really\u{202e}",
        json!({"url": "https://ex\u{430}mple.com/x", "note": note}),
    );
    request.facts.push(Fact::new("host", "ex\u{430}mple.com"));
    question(vec![request])
}

pub(crate) fn data() -> Question {
    let mut request = request("create_issue", "File a bug", json!({"repo": "ada/engine"}));
    let content = r#"{"title":"it stops","labels":["bug","urgent"],"meta":{"seen":3,"by":{"name":"ada"}}}"#;
    request.presentation = Some(ApprovalPresentation::new(PresentationKind::Structured, content));
    question(vec![request])
}

/// A risky call with a text that does not fit on a screen.
pub(crate) fn text() -> Question {
    let mut request = request("publish", "Publish the report", json!({"to": "https://example.com/reports"}));
    request.risk = Risk::High;
    request.facts.push(Fact::new("host", "example.com"));
    let text: String = (1..=60).map(|n| format!("{n}. A line of the report.\n")).collect();
    request.presentation = Some(ApprovalPresentation::new(PresentationKind::Text, text));
    question(vec![request])
}

/// Several equal calls that only a person may approve, shortly before the deadline.
pub(crate) fn late() -> Question {
    let mut request = request("note", "Take a note", json!({"text": "look again"}));
    request.approval = Approval::Human;
    request.deadline = Some(NOW.after(std::time::Duration::from_secs(20)));
    let mut question = question(vec![request]);
    question.members[0].calls = 3;
    question
}

/// Every kind of question, and more with a different look.
pub(crate) fn more() -> Vec<(&'static str, Question)> {
    let mut more = all();
    more.extend([("text", text()), ("late", late()), ("long", long_edit())]);
    more
}

/// Every kind of question, with a name.
pub(crate) fn all() -> Vec<(&'static str, Question)> {
    vec![
        ("edit", edit()),
        ("file", new_file()),
        ("command", command()),
        ("group", group()),
        ("mail", mail()),
        ("hostile", hostile()),
        ("data", data()),
    ]
}
