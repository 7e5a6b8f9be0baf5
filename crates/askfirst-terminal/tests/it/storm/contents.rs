//! Questions of every kind with hostile texts, and terminals of every kind to ask them on.

use askfirst::machine::{Member, Question, QuestionId};
use askfirst::{
    Approval, ApprovalPresentation, ApprovalRequest, Fact, Loosen, OfferedPattern, PresentationKind, Risk,
    simple_approval_request,
};
use serde_json::json;

use super::doings::Chance;
use crate::desk::{Desk, Seat, args, email};
use crate::fixtures;

/// What must never reach the terminal as it is.
pub(crate) const RAW: [&str; 5] = ["\x1b]0;owned\x07", "\x1b[8m", "\u{202e}", "\u{9b}31m", "\u{200b}"];

const TEXTS: [&str; 12] = [
    "\x1b]0;owned\x07",
    "\x1b[8mhidden",
    "\u{202e}txt.exe",
    "\u{9b}31m",
    "a\u{200b}b",
    "\nready: ",
    "\n[not yet] ready: ",
    "\r━━ approval needed ━━",
    "\n[y] yes, once",
    "漢字\u{301}\u{1f44d}\t",
    "plain words ",
    "@@ -1,2 +1,2 @@\n-old\n+new\n",
];

fn text(chance: &mut Chance) -> String {
    let most = if chance.one_in(8) { 3_000 } else { 12 };
    let parts = chance.below(most);
    (0..parts).map(|_| chance.of(&TEXTS)).collect()
}

fn shown(chance: &mut Chance) -> Option<ApprovalPresentation> {
    let kinds = [
        PresentationKind::Text,
        PresentationKind::Diff,
        PresentationKind::FileContent,
        PresentationKind::Command,
        PresentationKind::Structured,
    ];
    let kind = *kinds.get(chance.below(6))?;
    let mut shown = ApprovalPresentation::new(kind, text(chance));
    if chance.one_in(2) {
        shown = shown.with_language(chance.of(&["rust", "python", "\x1b[8m", "sh"]));
    }
    if kind == PresentationKind::Diff && chance.one_in(2) {
        shown.metadata.insert("before".into(), text(chance).into());
        shown.metadata.insert("after".into(), text(chance).into());
    }
    Some(shown)
}

fn request(chance: &mut Chance) -> ApprovalRequest {
    // What cannot be undone is approved by a word that no storm types one by one.
    let mut with = args(json!({"to": "zebra@quill.org"}));
    if chance.one_in(2) {
        with.insert("body".into(), json!([text(chance), {"deep": text(chance)}]));
    }
    let says = text(chance);
    let mut request =
        simple_approval_request(chance.of(&["send", "shell", "\x1b[8mx"]), &with, Some(&says), &[]);
    request.risk = [Risk::Low, Risk::Low, Risk::High, Risk::Irreversible][chance.below(4)];
    request.presentation = shown(chance);
    if chance.one_in(3) {
        request.caller = Some(text(chance));
    }
    if chance.one_in(2) {
        request.facts.push(Fact::new("host", text(chance)));
    }
    if chance.one_in(3) {
        let fields = args(json!({"to": ""}));
        request.patterns.push(OfferedPattern::new("anybody", fields, [("to", Loosen::Any)]));
    }
    if chance.one_in(6) {
        request.approval = Approval::Human;
    }
    request
}

fn question(chance: &mut Chance, id: u64) -> Question {
    if chance.one_in(6) {
        let mut all = fixtures::all();
        let at = chance.below(all.len());
        return Question { id: QuestionId(id), ..all.swap_remove(at).1 };
    }
    let many = if chance.one_in(3) { 2 + chance.below(4) } else { 1 };
    let member =
        |request: ApprovalRequest| Member { request: request.into(), calls: 1, remembered_until: None };
    let members = (0..many).map(|_| member(request(chance))).collect();
    Question { id: QuestionId(id), members, position: 1, of: 1 }
}

/// A terminal with a few questions.
pub(crate) fn desk(chance: &mut Chance) -> Desk {
    let many = 1 + u64::try_from(chance.below(3)).unwrap();
    let questions = (1..=many).map(|id| question(chance, id)).collect();
    let mut desk = Desk::new(email()).questions(questions);
    desk = desk.columns(30 + u16::try_from(chance.below(110)).unwrap());
    desk = desk.rows(6 + u16::try_from(chance.below(50)).unwrap());
    if chance.one_in(4) {
        desk = desk.flags(&["--plain"]);
    }
    if chance.one_in(3) {
        desk = desk.flags(&["--preview", chance.of(&["1", "6", "200"])]);
    }
    if chance.one_in(6) {
        desk = desk.flags(&["--withdraw", chance.of(&["0", "40", "700", "2500"])]);
    }
    if chance.one_in(4) {
        desk = desk.env("TERM", chance.of(&["dumb", "linux", ""]));
    }
    if chance.one_in(4) {
        desk = desk.env("NO_COLOR", "1");
    }
    if chance.one_in(3) {
        desk = desk.env("EDITOR", chance.of(&["true", "false", "sleep", "no-such-editor", "tail -n 0 -f"]));
    }
    if chance.one_in(6) {
        desk = desk.seat(Seat::Controlling);
    }
    if chance.one_in(3) {
        desk = desk.typed_ahead(chance.of(&["y", "yyyy\n", "s\ny\n", "\x1b[200~y"]).as_bytes());
    }
    desk
}
