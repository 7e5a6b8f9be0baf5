//! Tests of what is escaped.

use proptest::prelude::*;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::*;

fn is_safe(c: char) -> bool {
    !matches!(
        c.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::Unassigned
            | GeneralCategory::PrivateUse
    ) && (c == ' ' || c.general_category() != GeneralCategory::SpaceSeparator)
}

fn hostile() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        '\x1b',
        '\r',
        '\t',
        '\x07',
        '\u{9b}',
        '\u{202e}',
        '\u{200b}',
        '\u{2028}',
        '\u{ad}',
        '\u{e0041}',
        '\u{3164}',
        '\u{fe0f}',
        '\u{301}',
        '\u{a0}',
        '\u{feff}',
        '\u{1160}',
        '\n',
        ' ',
        '\\',
        '│',
        '┆',
        'y',
    ]);
    prop::collection::vec(prop_oneof![odd, any::<char>()], 0..80)
        .prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn nothing_that_a_screen_acts_upon_gets_through(text in hostile()) {
        let seen = visible(&text);
        for piece in seen.lines.iter().flatten() {
            prop_assert!(piece.text.chars().all(is_safe), "{:?}", piece);
        }
        let line = visible_line(&text);
        prop_assert_eq!(line.lines.len(), 1);
        prop_assert!(line.text().chars().all(is_safe));
    }

    #[test]
    fn every_escape_is_counted(text in hostile()) {
        let seen = visible(&text);
        let escapes = seen.lines.iter().flatten().filter(|piece| piece.kind == PieceKind::Escaped).count();
        prop_assert_eq!(escapes, seen.escaped);
    }

    #[test]
    fn what_is_not_escaped_stays_as_it_was(text in hostile()) {
        let seen = visible(&text);
        if seen.escaped == 0 && seen.collapsed == 0 && !text.contains('\t') {
            prop_assert_eq!(seen.text(), text);
        }
    }

    #[test]
    fn no_bytes_get_through_raw(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let seen = visible_bytes(&bytes);
        prop_assert!(seen.text().chars().all(|c| c == '\n' || is_safe(c)));
        prop_assert!(std::str::from_utf8(&bytes).is_ok() || seen.escaped > 0);
    }

    #[test]
    fn texts_that_differ_look_different_or_are_counted_differently(a in hostile(), b in hostile()) {
        let (seen_a, seen_b) = (visible(&a), visible(&b));
        if a != b && seen_a.collapsed + seen_b.collapsed == 0 {
            prop_assert_ne!(seen_a, seen_b);
        }
    }
}

#[test]
fn controls_are_drawn_as_escapes() {
    assert_eq!(visible("a\x1b[8mb\rc\x07\x7f\0").text(), r"a\x1b[8mb\rc\x07\x7f\x00");
    assert_eq!(visible("\u{9b}31m\u{85}").text(), r"\u{9b}31m\u{85}");
}

#[test]
fn characters_that_draw_nothing_are_drawn_as_escapes() {
    for c in [
        '\u{202e}',
        '\u{2066}',
        '\u{200b}',
        '\u{200d}',
        '\u{feff}',
        '\u{ad}',
        '\u{2028}',
        '\u{2029}',
        '\u{e0041}',
        '\u{115f}',
        '\u{3164}',
        '\u{ffa0}',
        '\u{fe0f}',
        '\u{e0100}',
        '\u{34f}',
        '\u{180e}',
        '\u{180b}',
        '\u{2800}',
        '\u{e000}',
        '\u{fffe}',
        '\u{10ffff}',
        '\u{378}',
        '\u{a0}',
        '\u{3000}',
        '\u{2003}',
        '\u{61c}',
    ] {
        let seen = visible(&format!("a{c}b"));
        assert_eq!(seen.text(), format!("a\\u{{{:x}}}b", u32::from(c)));
        assert_eq!(seen.escaped, 1);
    }
}

#[test]
fn a_written_backslash_is_not_taken_for_an_escape() {
    let written = visible(r"\x1b");
    let escaped = visible("\x1b");
    assert_eq!(written.text(), escaped.text());
    assert_eq!((written.escaped, escaped.escaped), (0, 1));
    assert_ne!(written.lines, escaped.lines);
}

#[test]
fn a_tabulator_is_drawn() {
    assert_eq!(visible("rm\t-rf").text(), "rm→ -rf");
    assert_eq!(visible("rm\t-rf").escaped, 0);
}

#[test]
fn marks_are_drawn_on_a_letter_up_to_four_deep() {
    let stacked = format!("e{}", "\u{301}".repeat(6));
    let seen = visible(&stacked);
    assert_eq!(seen.escaped, 2);
    assert_eq!(visible("e\u{301}").escaped, 0);
}

#[test]
fn a_mark_cannot_be_drawn_on_the_gutter() {
    assert_eq!(visible("\u{338}x").text(), "\\u{338}x");
    assert_eq!(visible("a\n\u{338}x").text(), "a\n\\u{338}x");
    assert_eq!(visible("\u{1161}").text(), "\\u{1161}");
}

#[test]
fn long_runs_of_blanks_are_drawn_as_a_count() {
    let hidden = format!("ls{}; rm -rf /", " ".repeat(240));
    let seen = visible(&hidden);
    assert_eq!(seen.text(), "ls·×240; rm -rf /");
    assert_eq!(seen.collapsed, 240);
    assert_eq!(visible(&format!("a{}b", "\t".repeat(20))).text(), "a→×20b");
    assert_eq!(visible(&format!("a{}b", " \t".repeat(20))).text(), "a·→×40b");
    assert_eq!(visible(&format!("a{}", " ".repeat(20))).text(), "a·×20");
}

#[test]
fn indented_code_keeps_its_shape() {
    let code = format!("{}return", " ".repeat(16));
    assert_eq!(visible(&code).text(), code);
    assert_eq!(visible(&format!("{}return", " ".repeat(40))).text(), "·×40return");
}

#[test]
fn many_blank_lines_are_drawn_as_a_count() {
    let seen = visible(&format!("a{}b", "\n".repeat(41)));
    assert_eq!(seen.text(), "a\n·×40 blank lines\nb");
    assert_eq!(visible("a\n\n\n\nb").text(), "a\n\n\n\nb");
    assert_eq!(visible(&format!("a{}\nb", "\n  \t".repeat(30))).text(), "a\n·×30 blank lines\nb");
}

#[test]
fn bytes_that_are_no_text_are_drawn_by_their_value() {
    let seen = visible_bytes(b"ok\xff\xfe\xc3(\xe2\x80\xae");
    assert_eq!(seen.text(), r"ok\xff\xfe\xc3(\u{202e}");
    assert_eq!(seen.escaped, 4);
}

#[test]
fn letters_that_may_look_like_others_are_named() {
    assert_eq!(odd_letters("ex\u{430}mple.com"), ["U+0430"]);
    assert!(odd_letters("example.com").is_empty());
}
