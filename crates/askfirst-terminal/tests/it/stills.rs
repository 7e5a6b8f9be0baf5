//! Screens of every kind as they stand, and what no sequence of keys can do to them.

use std::time::Duration;

use askfirst::machine::Question;
use askfirst::{ApprovalPresentation, Fact, Loosen, OfferedPattern, PresentationKind};
use askfirst_terminal::still::Still;
use askfirst_terminal::{Options, Style};
use proptest::prelude::*;

use crate::desk::{email, question};
use crate::fixtures::{self, NOW};

const ROWS: u16 = 34;

fn still(question: Question, style: Style, columns: u16, rows: u16) -> Still {
    let options = Options { style, preview_lines: 50, ..Options::default() };
    Still::new(question, &options, (columns, rows), NOW)
}

fn screen(still: &Still, columns: u16, rows: u16) -> vt100::Parser {
    let mut parser = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
    parser.process(
        &still
            .drawn()
            .iter()
            .flat_map(|b| if *b == b'\n' { vec![b'\r', b'\n'] } else { vec![*b] })
            .collect::<Vec<u8>>(),
    );
    parser
}

/// Keys, each after the prompt was ready and each left alone.
fn press(still: &mut Still, keys: &[&str]) {
    for key in keys {
        still.wait(Duration::from_secs(2)).send(key.as_bytes()).wait(Duration::from_millis(200));
    }
    still.wait(Duration::from_secs(2));
}

/// The pages that a question leads to, and the keys that lead there.
const PAGES: [(&str, &str, &[&str]); 29] = [
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
    let mut still = still(question.clone(), style, columns, ROWS);
    press(&mut still, keys);
    screen(&still, columns, ROWS)
}

#[test]
fn every_screen_is_as_it_was() {
    let questions = fixtures::more();
    let pages = questions.iter().map(|(name, question)| (*name, "question", question, &[][..]));
    let more = PAGES.iter().map(|(name, page, keys)| {
        let question =
            questions.iter().find(|(other, _)| other == name).map(|(_, question)| question).unwrap();
        (*name, *page, question, *keys)
    });
    for (name, page, question, keys) in pages.chain(more) {
        for columns in [80, 120, 40] {
            let plain = drawn(question, keys, Style::Uncoloured, columns);
            let coloured = drawn(question, keys, Style::Coloured, columns);
            let plain = plain.screen().contents();
            assert_eq!(
                plain,
                coloured.screen().contents(),
                "colour carries something in {name} {page} {columns}"
            );
            insta::assert_snapshot!(format!("still_{name}_{page}_{columns}"), plain);
            insta::assert_snapshot!(
                format!("still_{name}_{page}_{columns}_coloured"),
                painted(&coloured, columns)
            );
        }
    }
}

#[test]
fn before_keys_count_every_screen_says_so() {
    for (name, question) in fixtures::more() {
        for columns in [80, 120, 40] {
            let [plain, coloured] = [Style::Uncoloured, Style::Coloured]
                .map(|style| screen(&still(question.clone(), style, columns, ROWS), columns, ROWS));
            let contents = plain.screen().contents();
            assert!(contents.trim_end().ends_with("[not yet] keys do not count"), "{name}\n{contents}");
            if name == "edit" {
                insta::assert_snapshot!(format!("still_{name}_not_yet_{columns}"), contents);
                let letters = painted(&coloured, columns);
                insta::assert_snapshot!(format!("still_{name}_not_yet_{columns}_coloured"), letters);
            }
        }
    }
}

#[test]
fn what_is_still_being_prepared_says_so_and_takes_no_key() {
    for columns in [80, 120, 40] {
        let [plain, coloured] = [Style::Uncoloured, Style::Coloured].map(|style| {
            let options = Options { style, preview_lines: 50, ..Options::default() };
            let mut still = Still::preparing(fixtures::edit(), &options, (columns, ROWS), NOW);
            press(&mut still, &["y"]);
            assert!(still.answer().is_none() && !still.is_armed());
            screen(&still, columns, ROWS)
        });
        let contents = plain.screen().contents();
        assert!(contents.contains("[preparing]") && contents.contains("being prepared"), "{contents}");
        insta::assert_snapshot!(format!("still_edit_preparing_{columns}"), contents);
        insta::assert_snapshot!(
            format!("still_edit_preparing_{columns}_coloured"),
            painted(&coloured, columns)
        );
    }
}

#[test]
fn a_window_that_is_too_small_says_so() {
    for (columns, rows) in [(22, 34), (80, 8)] {
        let mut still = still(fixtures::edit(), Style::Uncoloured, columns, rows);
        press(&mut still, &["y"]);
        assert!(still.answer().is_none() && !still.is_armed());
        let contents = screen(&still, columns, rows).screen().contents();
        insta::assert_snapshot!(format!("still_too_small_{columns}_{rows}"), contents);
    }
}

/// A screen with a letter for the colour of each cell that has one.
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
fn only_the_colours_of_the_terminals_palette_are_used() {
    for (_, question) in fixtures::all() {
        let still = still(question, Style::Coloured, 120, ROWS);
        let parser = screen(&still, 120, ROWS);
        for (row, column) in (0..ROWS).flat_map(|row| (0..120).map(move |column| (row, column))) {
            let cell = parser.screen().cell(row, column).unwrap();
            assert!(!matches!(cell.fgcolor(), vt100::Color::Rgb(..)));
            assert_eq!(cell.bgcolor(), vt100::Color::Default);
        }
    }
}

#[test]
fn nothing_is_drawn_while_nothing_changes() {
    let mut still = still(fixtures::edit(), Style::Coloured, 80, ROWS);
    still.wait(Duration::from_secs(2));
    let before = still.drawn().len();
    for _ in 0..50 {
        still.wait(Duration::from_millis(200));
    }
    assert_eq!(still.drawn().len(), before);
}

#[test]
fn a_part_of_a_tree_can_be_folded_and_says_so() {
    let mut still = still(fixtures::data(), Style::Uncoloured, 80, ROWS);
    press(&mut still, &["v", "-"]);
    let folded = screen(&still, 80, ROWS).screen().contents();
    assert!(folded.contains("lines folded") && !folded.contains("seen: 3"), "{folded}");
    press(&mut still, &["+"]);
    assert!(screen(&still, 80, ROWS).screen().contents().contains("seen: 3"));
}

#[test]
fn a_text_is_found_in_what_is_viewed() {
    let mut request = email();
    let content: String = (1..=500).map(|n| format!("line {n}\n")).collect();
    request.presentation = Some(ApprovalPresentation::new(PresentationKind::Text, content));
    let mut still = still(question(vec![request]), Style::Uncoloured, 80, ROWS);
    press(&mut still, &["v", "/", "l", "i", "n", "e", " ", "4", "2", "\r"]);
    let top = |still: &Still| screen(still, 80, ROWS).screen().rows(0, 80).nth(1).unwrap();
    assert_eq!(top(&still), "│ line 42");
    press(&mut still, &["n"]);
    assert_eq!(top(&still), "│ line 420");
    press(&mut still, &["N"]);
    assert_eq!(top(&still), "│ line 42");
    press(&mut still, &["/", "q", "q", "\r"]);
    assert!(screen(&still, 80, ROWS).screen().contents().contains("it is not there"));
}

#[test]
fn how_far_a_yes_reaches_is_never_cut_off_unseen() {
    let mut question = fixtures::edit();
    let request = std::sync::Arc::make_mut(&mut question.members[0].request);
    request.payload = serde_json::json!({"path": "notes:plan.md", "words": (1..=20).collect::<Vec<_>>()});
    let fields = request.payload.as_object().cloned().unwrap();
    request.patterns = vec![OfferedPattern::new("any file in notes:", fields, [("path", Loosen::Any)])];
    let mut still = still(question, Style::Uncoloured, 40, 24);
    let contents = |still: &Still| screen(still, 40, 24).screen().contents();
    press(&mut still, &["s"]);
    let first = contents(&still);
    assert!(!first.contains("any file in notes:") && first.contains("how far? 1-"), "{first}");
    press(&mut still, &["2"]);
    let chosen = contents(&still);
    assert!(chosen.contains("▶2 │ or wider: any file in notes:"), "{chosen}");
    press(&mut still, &["\x1b[H"]);
    assert!(contents(&still).contains("a yes for the session covers"), "{}", contents(&still));
    press(&mut still, &["\x1b[6~"]);
    let next = contents(&still);
    assert_ne!(next, first, "it does not move");
    insta::assert_snapshot!("still_scope_long_40", chosen);
}

#[derive(Debug, Clone)]
enum Doing {
    Send(Vec<u8>),
    Wait(u64),
    Resize(u16, u16),
}

fn doing() -> impl Strategy<Value = Doing> {
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
        6 => key.prop_map(|key| Doing::Send(key.as_bytes().to_vec())),
        1 => prop::collection::vec(any::<u8>().prop_filter("not a lone y or s", |b| !b"ys".contains(b)), 1..6).prop_map(Doing::Send),
        4 => (0_u64..1_500).prop_map(Doing::Wait),
        1 => (20_u16..140, 6_u16..50).prop_map(|(columns, rows)| Doing::Resize(columns, rows)),
    ]
}

fn run(still: &mut Still, doings: &[Doing]) {
    for doing in doings {
        match doing {
            Doing::Send(bytes) => still.send(bytes),
            Doing::Wait(time) => still.wait(Duration::from_millis(*time)),
            Doing::Resize(columns, rows) => still.resize((*columns, *rows)),
        };
    }
}

fn approves(still: &Still) -> bool {
    let yes = |decision: &askfirst::ApprovalDecision| decision.approved && decision.edited_args.is_none();
    still.answer().is_some_and(|decisions| decisions.iter().any(yes))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn without_a_lone_y_s_or_the_word_nothing_approves(at in 0_usize..7, doings in prop::collection::vec(doing(), 0..50)) {
        let (_, question) = fixtures::all().swap_remove(at);
        let mut still = still(question, Style::Coloured, 80, ROWS);
        run(&mut still, &doings);
        prop_assert!(!approves(&still));
    }

    #[test]
    fn a_y_or_s_counts_only_if_it_says_ready(at in 0_usize..7, doings in prop::collection::vec(doing(), 0..30), key in "[ys]") {
        let (_, question) = fixtures::all().swap_remove(at);
        let mut still = still(question, Style::Coloured, 80, ROWS);
        run(&mut still, &doings);
        let ready = still.is_armed();
        if still.answer().is_none() {
            still.send(key.as_bytes()).wait(Duration::from_millis(130));
            prop_assert!(ready || !approves(&still));
        }
    }

    #[test]
    fn whatever_stands_in_a_question_every_row_of_it_has_a_gutter(
        text in "([a-z ]{0,30}|━━ ready |\\[y\\] yes|│|\n|\r|\t|\u{1b}\\[[0-9]{0,2}[A-Km]|\u{9b}2J|\u{202e}|\u{2028}|漢|\u{301}|\u{1f44d}){0,20}",
        columns in 30_u16..140,
    ) {
        let mut request = email();
        request.description = format!("zq {text}").replace('\n', "\nzq ");
        request.facts.push(Fact::new("zq", format!("zq {text}").replace('\n', "\nzq ")));
        let still = still(question(vec![request]), Style::Coloured, columns, 50);
        let parser = screen(&still, columns, 50);
        for row in parser.screen().rows(0, columns) {
            let begins = row.starts_with('│') || row.starts_with('┆');
            prop_assert!(!row.contains("zq") || begins, "{row}");
        }
        let ours = parser.screen().rows(0, columns).filter(|row| row.starts_with("ready") || row.starts_with("[not yet]")).count();
        prop_assert!(ours <= 1);
    }
}
