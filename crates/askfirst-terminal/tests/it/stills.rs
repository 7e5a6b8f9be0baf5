//! Snapshots of every screen, and properties that hold for every sequence of keys.

use std::time::Duration;

use askfirst::machine::Question;
use askfirst::{ApprovalPresentation, Fact, Loosen, OfferedPattern, PresentationKind};
use askfirst_terminal::headless::HeadlessPrompt;
use askfirst_terminal::{Options, Style};
use proptest::prelude::*;

use crate::desk::{email, question};
use crate::fixtures::{self, NOW};

const ROWS: u16 = 34;

fn headless(question: Question, style: Style, columns: u16, rows: u16) -> HeadlessPrompt {
    let options = Options { style, preview_lines: 50, ..Options::default() };
    HeadlessPrompt::new(question, &options, (columns, rows), NOW)
}

fn screen(prompt: &HeadlessPrompt, columns: u16, rows: u16) -> vt100::Parser {
    let mut parser = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
    parser.process(
        &prompt
            .drawn()
            .iter()
            .flat_map(|b| if *b == b'\n' { vec![b'\r', b'\n'] } else { vec![*b] })
            .collect::<Vec<u8>>(),
    );
    parser
}

/// Presses keys one by one. Each waits until the prompt is ready.
fn press(prompt: &mut HeadlessPrompt, keys: &[&str]) {
    for key in keys {
        prompt.wait(Duration::from_secs(2)).send(key.as_bytes()).wait(Duration::from_millis(200));
    }
    prompt.wait(Duration::from_secs(2));
}

/// Further screens of a question: its name, the screen, and the keys that open it.
const PAGES: [(&str, &str, &[&str]); 32] = [
    ("edit", "all", &["v"]),
    ("edit", "found", &["v", "/", "p", "a", "r", "s", "e", "r", "\r"]),
    ("edit", "find", &["v", "/", "p", "a", "r"]),
    ("edit", "not_found", &["v", "/", "q", "q", "\r"]),
    ("edit", "not_the_key", &["v", "q"]),
    ("edit", "facts", &["?"]),
    ("edit", "reason", &["r", "n", "o", "t", " ", "n", "o", "w"]),
    ("edit", "args", &["e"]),
    ("edit", "args_wrong", &["e", "x", "\r"]),
    ("edit", "scope_first", &["s"]),
    ("edit", "scope", &["s", "2"]),
    ("edit", "scope_not_chosen", &["s", "s"]),
    ("edit", "pasted", &["\x1b[200~yes\x1b[201~"]),
    ("file", "all", &["v"]),
    ("file", "scope", &["s"]),
    ("long", "end", &["\x1b[F"]),
    ("long", "rest", &["y"]),
    ("command", "all", &["v"]),
    ("command", "facts", &["?"]),
    ("data", "all", &["v"]),
    ("data", "folded", &["v", "-"]),
    ("mail", "word", &["b", "o", "b"]),
    ("mail", "not_the_word", &["b", "x"]),
    ("mail", "facts", &["?"]),
    ("group", "left_out", &["2"]),
    ("group", "second", &["\t", "\t", "\t", "\t", "\t", "\t"]),
    ("group", "no_such_number", &["9"]),
    ("group", "all", &["v"]),
    ("group", "facts", &["?"]),
    ("hostile", "all", &["v"]),
    ("text", "see_the_end", &["y"]),
    ("text", "end", &["\x1b[F"]),
];

fn drawn(question: &Question, keys: &[&str], style: Style, columns: u16) -> vt100::Parser {
    let mut prompt = headless(question.clone(), style, columns, ROWS);
    press(&mut prompt, keys);
    screen(&prompt, columns, ROWS)
}

#[test]
fn every_screen_matches_its_snapshot() {
    let questions = fixtures::more();
    let pages = questions.iter().map(|(name, question)| (*name, "question", question, &[][..]));
    let more = PAGES.iter().map(|(name, page, keys)| {
        let question =
            questions.iter().find(|(other, _)| other == name).map(|(_, question)| question).unwrap();
        (*name, *page, question, *keys)
    });
    for (name, page, question, keys) in pages.chain(more) {
        for columns in [80, 120, 40] {
            let plain = drawn(question, keys, Style::Uncolored, columns);
            let colored = drawn(question, keys, Style::Colored, columns);
            let plain = plain.screen().contents();
            assert_eq!(
                plain,
                colored.screen().contents(),
                "color carries information in {name} {page} {columns}"
            );
            insta::assert_snapshot!(format!("still_{name}_{page}_{columns}"), plain);
            insta::assert_snapshot!(
                format!("still_{name}_{page}_{columns}_colored"),
                painted(&colored, columns)
            );
        }
    }
}

#[test]
fn unarmed_screen_says_that_keys_are_ignored() {
    for (name, question) in fixtures::more() {
        for columns in [80, 120, 40] {
            let [plain, colored] = [Style::Uncolored, Style::Colored]
                .map(|style| screen(&headless(question.clone(), style, columns, ROWS), columns, ROWS));
            let contents = plain.screen().contents();
            assert!(contents.trim_end().ends_with("[not yet] keys are ignored"), "{name}\n{contents}");
            if name == "edit" {
                insta::assert_snapshot!(format!("still_{name}_not_yet_{columns}"), contents);
                let letters = painted(&colored, columns);
                insta::assert_snapshot!(format!("still_{name}_not_yet_{columns}_colored"), letters);
            }
        }
    }
}

#[test]
fn screen_in_preparation_says_so_and_takes_no_key() {
    for columns in [80, 120, 40] {
        let [plain, colored] = [Style::Uncolored, Style::Colored].map(|style| {
            let options = Options { style, preview_lines: 50, ..Options::default() };
            let mut prompt = HeadlessPrompt::preparing(fixtures::edit(), &options, (columns, ROWS), NOW);
            press(&mut prompt, &["y"]);
            assert!(prompt.answer().is_none() && !prompt.is_armed());
            screen(&prompt, columns, ROWS)
        });
        let contents = plain.screen().contents();
        assert!(contents.contains("[preparing]") && contents.contains("being prepared"), "{contents}");
        insta::assert_snapshot!(format!("still_edit_preparing_{columns}"), contents);
        insta::assert_snapshot!(
            format!("still_edit_preparing_{columns}_colored"),
            painted(&colored, columns)
        );
    }
}

#[test]
fn window_that_is_too_small_says_so() {
    for (columns, rows) in [(22, 34), (80, 6)] {
        let mut prompt = headless(fixtures::edit(), Style::Uncolored, columns, rows);
        press(&mut prompt, &["y"]);
        assert!(prompt.answer().is_none() && !prompt.is_armed());
        let contents = screen(&prompt, columns, rows).screen().contents();
        insta::assert_snapshot!(format!("still_too_small_{columns}_{rows}"), contents);
    }
}

/// The screen with a letter for the color of each cell.
fn painted(parser: &vt100::Parser, columns: u16) -> String {
    let letter = |cell: &vt100::Cell| match (cell.fgcolor(), cell.bold(), cell.underline(), cell.inverse()) {
        (_, _, _, true) => '#',
        (_, _, _, _) if cell.dim() => 'd',
        (vt100::Color::Default, false, false, _) => ' ',
        (vt100::Color::Default, _, _, _) => '*',
        (vt100::Color::Idx(at), false, false, _) => "krgybmcwd".chars().nth(at.into()).unwrap_or('?'),
        (vt100::Color::Idx(at), _, _, _) => "KRGYBMCWD".chars().nth(at.into()).unwrap_or('?'),
        (vt100::Color::Rgb(..), _, _, _) => '?',
    };
    let row = |at: u16| -> String {
        (0..columns).filter_map(|column| parser.screen().cell(at, column)).map(letter).collect()
    };
    (0..ROWS).map(|at| row(at).trim_end().to_owned()).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[test]
fn screens_use_only_the_palette_of_the_terminal() {
    for (_, question) in fixtures::all() {
        let prompt = headless(question, Style::Colored, 120, ROWS);
        let parser = screen(&prompt, 120, ROWS);
        for (row, column) in (0..ROWS).flat_map(|row| (0..120).map(move |column| (row, column))) {
            let cell = parser.screen().cell(row, column).unwrap();
            assert!(!matches!(cell.fgcolor(), vt100::Color::Rgb(..)));
            assert_eq!(cell.bgcolor(), vt100::Color::Default);
        }
    }
}

#[test]
fn unchanged_screen_is_not_drawn_again() {
    let mut prompt = headless(fixtures::edit(), Style::Colored, 80, ROWS);
    prompt.wait(Duration::from_secs(2));
    let before = prompt.drawn().len();
    for _ in 0..50 {
        prompt.wait(Duration::from_millis(200));
    }
    assert_eq!(prompt.drawn().len(), before);
}

#[test]
fn folded_tree_shows_the_number_of_folded_lines() {
    let mut prompt = headless(fixtures::data(), Style::Uncolored, 80, ROWS);
    press(&mut prompt, &["v", "-"]);
    let folded = screen(&prompt, 80, ROWS).screen().contents();
    assert!(folded.contains("lines folded") && !folded.contains("seen: 3"), "{folded}");
    press(&mut prompt, &["+"]);
    assert!(screen(&prompt, 80, ROWS).screen().contents().contains("seen: 3"));
}

#[test]
fn search_finds_a_text_in_the_full_view() {
    let mut request = email();
    let content: String = (1..=500).map(|n| format!("line {n}\n")).collect();
    request.presentation = Some(ApprovalPresentation::new(PresentationKind::Text, content));
    let mut prompt = headless(question(vec![request]), Style::Uncolored, 80, ROWS);
    press(&mut prompt, &["v", "/", "l", "i", "n", "e", " ", "4", "2", "\r"]);
    let top = |prompt: &HeadlessPrompt| screen(prompt, 80, ROWS).screen().rows(0, 80).nth(1).unwrap();
    assert_eq!(top(&prompt), "│ line 42");
    press(&mut prompt, &["n"]);
    assert_eq!(top(&prompt), "│ line 420");
    press(&mut prompt, &["N"]);
    assert_eq!(top(&prompt), "│ line 42");
    press(&mut prompt, &["/", "q", "q", "\r"]);
    assert!(screen(&prompt, 80, ROWS).screen().contents().contains("not found"));
}

#[test]
fn scopes_past_the_screen_can_be_scrolled() {
    let mut question = fixtures::edit();
    let request = std::sync::Arc::make_mut(&mut question.members[0].request);
    request.payload = serde_json::json!({"path": "notes:plan.md", "words": (1..=20).collect::<Vec<_>>()});
    let fields = request.payload.as_object().cloned().unwrap();
    request.patterns = vec![OfferedPattern::new("any file in notes:", fields, [("path", Loosen::Any)])];
    let mut prompt = headless(question, Style::Uncolored, 40, 24);
    let contents = |prompt: &HeadlessPrompt| screen(prompt, 40, 24).screen().contents();
    press(&mut prompt, &["s"]);
    let first = contents(&prompt);
    assert!(!first.contains("any file in notes:") && first.contains("1-"), "{first}");
    press(&mut prompt, &["2"]);
    let chosen = contents(&prompt);
    assert!(chosen.contains("▶2 │ or wider: any file in notes:"), "{chosen}");
    press(&mut prompt, &["\x1b[H"]);
    assert!(contents(&prompt).contains("covers which"), "{}", contents(&prompt));
    press(&mut prompt, &["\x1b[6~"]);
    let next = contents(&prompt);
    assert_ne!(next, first, "the scopes did not scroll");
    insta::assert_snapshot!("still_scope_long_40", chosen);
}

#[derive(Debug, Clone)]
enum UserAction {
    Send(Vec<u8>),
    Wait(u64),
    Resize(u16, u16),
}

fn action() -> impl Strategy<Value = UserAction> {
    let key = prop::sample::select(vec![
        "n",
        "N",
        "v",
        "r",
        "?",
        "q",
        "e",
        "1",
        "2",
        "3",
        " ",
        "\r",
        "\n",
        "/",
        "\t",
        "\x1b",
        "\x1b[A",
        "\x1b[B",
        "\x1b[6~",
        "\x1b[F",
        "\x1b[I",
        "\x1b[O",
        "\x1b[200~y\x1b[201~",
        "\x1b[200~s",
        "yes\r",
        "yy",
        "ss",
        "\x7f",
        "c.md",
        "bob@example.com",
        "\u{202e}",
        "g",
        "G",
        "w",
        "\x1b]11;y\x07",
        "\x1by",
        "+",
        "-",
    ]);
    prop_oneof![
        6 => key.prop_map(|key| UserAction::Send(key.as_bytes().to_vec())),
        1 => prop::collection::vec(any::<u8>().prop_filter("not a lone y or s", |b| !b"ys".contains(b)), 1..6).prop_map(UserAction::Send),
        4 => (0_u64..1_500).prop_map(UserAction::Wait),
        1 => (20_u16..140, 6_u16..50).prop_map(|(columns, rows)| UserAction::Resize(columns, rows)),
    ]
}

fn run(prompt: &mut HeadlessPrompt, actions: &[UserAction]) {
    for action in actions {
        match action {
            UserAction::Send(bytes) => prompt.send(bytes),
            UserAction::Wait(time) => prompt.wait(Duration::from_millis(*time)),
            UserAction::Resize(columns, rows) => prompt.resize((*columns, *rows)),
        };
    }
}

fn approves(prompt: &HeadlessPrompt) -> bool {
    let yes = |decision: &askfirst::ApprovalDecision| decision.approved && decision.edited_args.is_none();
    prompt.answer().is_some_and(|decisions| decisions.iter().any(yes))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    // invariant: 6
    #[test]
    fn keys_without_a_single_y_or_s_approve_nothing(at in 0_usize..7, actions in prop::collection::vec(action(), 0..50)) {
        let (_, question) = fixtures::all().swap_remove(at);
        let mut prompt = headless(question, Style::Colored, 80, ROWS);
        run(&mut prompt, &actions);
        prop_assert!(!approves(&prompt));
    }

    #[test]
    fn y_or_s_counts_only_when_the_prompt_is_ready(at in 0_usize..7, actions in prop::collection::vec(action(), 0..30), key in "[ys]") {
        let (_, question) = fixtures::all().swap_remove(at);
        let mut prompt = headless(question, Style::Colored, 80, ROWS);
        run(&mut prompt, &actions);
        let ready = prompt.is_armed();
        if prompt.answer().is_none() {
            prompt.send(key.as_bytes()).wait(Duration::from_millis(130));
            prop_assert!(ready || !approves(&prompt));
        }
    }

    // invariant: 5
    #[test]
    fn every_row_of_hostile_text_has_a_gutter(
        text in "([a-z ]{0,30}|━━ ready | y yes   |│|\n|\r|\t|\u{1b}\\[[0-9]{0,2}[A-Km]|\u{9b}2J|\u{202e}|\u{2028}|漢|\u{301}|\u{1f44d}){0,20}",
        columns in 30_u16..140,
    ) {
        let mut request = email();
        request.description = format!("zq {text}").replace('\n', "\nzq ");
        request.facts.push(Fact::new("zq", format!("zq {text}").replace('\n', "\nzq ")));
        let prompt = headless(question(vec![request]), Style::Colored, columns, 50);
        let parser = screen(&prompt, columns, 50);
        for row in parser.screen().rows(0, columns) {
            let begins = row.starts_with('│') || row.starts_with('┆');
            prop_assert!(!row.contains("zq") || begins, "{row}");
        }
        let ours = parser.screen().rows(0, columns).filter(|row| row.starts_with("ready") || row.starts_with("[not yet]")).count();
        prop_assert!(ours <= 1);
    }
}
