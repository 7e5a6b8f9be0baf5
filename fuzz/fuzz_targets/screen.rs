//! Puts any text in any place of a question, and presses any keys. No byte of the text reaches the terminal raw, and no
//! row of it can pass for the frame or an option. Only a single `y` or `s` while the prompt is ready approves.
#![no_main]

use std::time::Duration;

use arbitrary::Arbitrary;
use askfirst::machine::{Member, Question, QuestionId};
use askfirst::{ApprovalPresentation, Fact, PresentationKind, Risk, Timestamp, simple_approval_request};
use askfirst_terminal::headless::HeadlessPrompt;
use askfirst_terminal::{Options, Style};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    kind: u8,
    risk: u8,
    text: String,
    more: String,
    metadata: String,
    columns: u8,
    rows: u8,
    doings: Vec<Doing>,
}

#[derive(Arbitrary, Debug)]
enum Doing {
    Send(Vec<u8>),
    Wait(u16),
    Resize(u8, u8),
}

fuzz_target!(|input: Input| {
    let size = |columns: u8, rows: u8| (u16::from(columns.max(8)), u16::from(rows.clamp(4, 60)));
    let (columns, rows) = size(input.columns, input.rows);
    let options = Options { style: Style::Uncolored, ..Options::default() };
    let mut prompt = HeadlessPrompt::new(question(&input), &options, (columns, rows), Timestamp(0));
    check(prompt.drawn());
    gutters(prompt.drawn(), columns, rows);
    for doing in input.doings.iter().take(40) {
        let lone = matches!(doing, Doing::Send(bytes) if matches!(bytes.as_slice(), b"y" | b"s"))
            && prompt.is_armed();
        match doing {
            Doing::Send(bytes) => prompt.send(bytes),
            Doing::Wait(time) => prompt.wait(Duration::from_millis(u64::from(*time) % 3_000)),
            Doing::Resize(columns, rows) => prompt.resize(size(*columns, *rows)),
        };
        if lone {
            return;
        }
        if let Some(decisions) = prompt.answer() {
            let yes = decisions.iter().any(|decision| decision.approved && decision.edited_args.is_none());
            assert!(!yes || input.risk % 3 == 2, "approved without a person");
            return;
        }
    }
    check(prompt.drawn());
});

fn question(input: &Input) -> Question {
    let text = format!("zq {}", input.text.replace('\n', "\nzq "));
    let kinds = [
        PresentationKind::Text,
        PresentationKind::Diff,
        PresentationKind::FileContent,
        PresentationKind::Command,
        PresentationKind::Structured,
    ];
    let args = [(input.more.clone(), serde_json::json!({ "deep": [text] }))].into_iter().collect();
    let mut request = simple_approval_request(&input.more, &args, Some(&text), &[]);
    request.risk = [Risk::Low, Risk::High, Risk::Irreversible][usize::from(input.risk) % 3];
    request.caller = Some(input.more.clone());
    request.facts.push(Fact::new(input.more.clone(), text.clone()));
    let kind = kinds[usize::from(input.kind) % kinds.len()];
    let mut shown = ApprovalPresentation::new(kind, text).with_language(input.more.clone());
    if let Ok(serde_json::Value::Object(metadata)) = serde_json::from_str(&input.metadata) {
        shown.metadata = metadata;
    }
    request.presentation = Some(shown);
    let member = Member::new(request);
    Question { id: QuestionId(1), members: vec![member], position: 1, of: 1 }
}

/// Checks that every row with the text starts with a gutter, and that only one row says whether keys count.
fn gutters(drawn: &[u8], columns: u16, rows: u16) {
    let (Ok(high), Ok(wide)) = (rows.try_into(), columns.try_into()) else { return };
    let mut parser = vt100::Parser::new(high, wide, 0);
    parser.process(String::from_utf8_lossy(drawn).replace('\n', "\r\n").as_bytes());
    let mut marks = 0;
    // The word to type is part of the call. It is in a sentence of askfirst, which may take several rows.
    let mut sentence = false;
    for row in parser.screen().rows(0, columns) {
        sentence |= row.starts_with("to appr");
        let content = row.starts_with('│') || row.starts_with('┆');
        assert!(content || sentence || !row.contains("zq"), "{row:?}");
        sentence &= !row.contains("Enter");
        marks += usize::from(row.starts_with("ready:") || row.starts_with("[not yet]"));
    }
    assert!(marks <= 1);
}

/// Checks that the output has only sequences of askfirst, and nothing else that a terminal acts on.
fn check(drawn: &[u8]) {
    let text = std::str::from_utf8(drawn).expect("what is drawn is text");
    let mut parts = text.split('\x1b');
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).expect("a sequence has an end");
        let (sequence, after) = part.split_at(end + 1);
        let ours = sequence.starts_with('[')
            && sequence[1..end].chars().all(|c| c.is_ascii_digit() || c == ';' || c == '?')
            && "ABGHJKhlm".contains(&sequence[end..]);
        assert!(ours, "{sequence:?} is not ours");
        rest.push_str(after);
    }
    let raw = rest.chars().find(|c| c.is_control() && !"\n\r".contains(*c));
    assert_eq!(raw, None, "raw in {rest:?}");
}
