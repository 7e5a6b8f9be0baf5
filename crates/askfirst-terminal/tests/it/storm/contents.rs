//! Random questions with hostile texts, on random terminals.

use askfirst::machine::{Member, Question, QuestionId};
use askfirst::{
    Approval, ApprovalPresentation, ApprovalRequest, Fact, Loosen, OfferedPattern, PresentationKind, Risk,
    simple_approval_request,
};
use serde_json::json;

use super::actions::SeededRandom;
use crate::desk::{Desk, Seat, args, email};
use crate::fixtures;

/// Texts that must never reach the terminal unescaped.
pub(crate) const RAW: [&str; 5] = ["\x1b]0;owned\x07", "\x1b[8m", "\u{202e}", "\u{9b}31m", "\u{200b}"];

const TEXTS: [&str; 12] = [
    "\x1b]0;owned\x07",
    "\x1b[8mhidden",
    "\u{202e}txt.exe",
    "\u{9b}31m",
    "a\u{200b}b",
    "\nready: ",
    "\n[not yet] ready: ",
    "\r━━ call send ━━",
    "\n y yes   n no",
    "漢字\u{301}\u{1f44d}\t",
    "plain words ",
    "@@ -1,2 +1,2 @@\n-old\n+new\n",
];

fn text(random: &mut SeededRandom) -> String {
    let most = if random.one_in(8) { 3_000 } else { 12 };
    let parts = random.below(most);
    (0..parts).map(|_| random.of(&TEXTS)).collect()
}

fn shown(random: &mut SeededRandom) -> Option<ApprovalPresentation> {
    let kinds = [
        PresentationKind::Text,
        PresentationKind::Diff,
        PresentationKind::FileContent,
        PresentationKind::Command,
        PresentationKind::Structured,
    ];
    let kind = *kinds.get(random.below(6))?;
    let mut shown = ApprovalPresentation::new(kind, text(random));
    if random.one_in(2) {
        shown = shown.with_language(random.of(&["rust", "python", "\x1b[8m", "sh"]));
    }
    if kind == PresentationKind::Diff && random.one_in(2) {
        shown.metadata.insert("before".into(), text(random).into());
        shown.metadata.insert("after".into(), text(random).into());
    }
    Some(shown)
}

fn request(random: &mut SeededRandom) -> ApprovalRequest {
    // The word that approves an irreversible call. No storm types it key by key.
    let mut with = args(json!({"to": "zebra@quill.org"}));
    if random.one_in(2) {
        with.insert("body".into(), json!([text(random), {"deep": text(random)}]));
    }
    let says = text(random);
    let mut request =
        simple_approval_request(random.of(&["send", "shell", "\x1b[8mx"]), &with, Some(&says), &[]);
    request.risk = [Risk::Low, Risk::Low, Risk::High, Risk::Irreversible][random.below(4)];
    request.presentation = shown(random);
    if random.one_in(3) {
        request.caller = Some(text(random));
    }
    if random.one_in(2) {
        request.facts.push(Fact::new("host", text(random)));
    }
    if random.one_in(3) {
        let fields = args(json!({"to": ""}));
        request.patterns.push(OfferedPattern::new("anybody", fields, [("to", Loosen::Any)]));
    }
    if random.one_in(6) {
        request.approval = Approval::Human;
    }
    request
}

fn question(random: &mut SeededRandom, id: u64) -> Question {
    if random.one_in(6) {
        let mut all = fixtures::all();
        let at = random.below(all.len());
        return Question { id: QuestionId(id), ..all.swap_remove(at).1 };
    }
    let many = if random.one_in(3) { 2 + random.below(4) } else { 1 };
    let member = |request: ApprovalRequest| Member::new(request);
    let members = (0..many).map(|_| member(request(random))).collect();
    Question { id: QuestionId(id), members, position: 1, of: 1 }
}

/// A terminal with a few questions.
pub(crate) fn desk(random: &mut SeededRandom) -> Desk {
    let many = 1 + u64::try_from(random.below(3)).unwrap();
    let questions = (1..=many).map(|id| question(random, id)).collect();
    let mut desk = Desk::new(email()).questions(questions);
    desk = desk.columns(30 + u16::try_from(random.below(110)).unwrap());
    desk = desk.rows(6 + u16::try_from(random.below(50)).unwrap());
    if random.one_in(4) {
        desk = desk.flags(&["--plain"]);
    }
    if random.one_in(3) {
        desk = desk.flags(&["--preview", random.of(&["1", "6", "200"])]);
    }
    if random.one_in(6) {
        desk = desk.flags(&["--withdraw", random.of(&["0", "40", "700", "2500"])]);
    }
    if random.one_in(4) {
        desk = desk.env("TERM", random.of(&["dumb", "linux", ""]));
    }
    if random.one_in(4) {
        desk = desk.env("NO_COLOR", "1");
    }
    if random.one_in(3) {
        desk = desk.env("EDITOR", random.of(&["true", "false", "sleep", "no-such-editor", "tail -n 0 -f"]));
    }
    if random.one_in(6) {
        desk = desk.seat(Seat::Controlling);
    }
    if random.one_in(3) {
        desk = desk.typed_ahead(random.of(&["y", "yyyy\n", "s\ny\n", "\x1b[200~y"]).as_bytes());
    }
    desk
}
