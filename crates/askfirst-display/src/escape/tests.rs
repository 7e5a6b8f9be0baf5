//! Tests of making text visible.

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
    // invariant: 5
    #[test]
    fn visible_text_has_nothing_a_terminal_acts_on(text in hostile()) {
        let drawn = visible(&text);
        for piece in drawn.lines.iter().flatten() {
            prop_assert!(piece.text.chars().all(is_safe), "{:?}", piece);
        }
        let line = visible_line(&text);
        prop_assert_eq!(line.lines.len(), 1);
        prop_assert!(line.text().chars().all(is_safe));
    }

    #[test]
    fn escapes_in_any_text_are_counted(text in hostile()) {
        let drawn = visible(&text);
        let escapes = drawn.lines.iter().flatten().filter(|piece| piece.kind == PieceKind::Escaped).count();
        prop_assert_eq!(escapes, drawn.escaped);
    }

    #[test]
    fn text_without_escapes_stays_unchanged(text in hostile()) {
        let drawn = visible(&text);
        if drawn.escaped == 0 && drawn.collapsed == 0 && !text.contains('\t') {
            prop_assert_eq!(drawn.text(), text);
        }
    }

    #[test]
    fn any_bytes_become_safe_text(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let drawn = visible_bytes(&bytes);
        prop_assert!(drawn.text().chars().all(|c| c == '\n' || is_safe(c)));
        prop_assert!(std::str::from_utf8(&bytes).is_ok() || drawn.escaped > 0);
    }

    #[test]
    fn different_texts_look_or_count_differently(a in hostile(), b in hostile()) {
        let (drawn_a, drawn_b) = (visible(&a), visible(&b));
        if a != b && drawn_a.collapsed + drawn_b.collapsed == 0 {
            prop_assert_ne!(drawn_a, drawn_b);
        }
    }
}

#[test]
fn control_characters_are_drawn_as_escapes() {
    assert_eq!(visible("a\x1b[8mb\rc\x07\x7f\0").text(), r"a\x1b[8mb\rc\x07\x7f\x00");
    assert_eq!(visible("\u{9b}31m\u{85}").text(), r"\u{9b}31m\u{85}");
}

#[test]
fn invisible_characters_are_drawn_as_escapes() {
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
        let drawn = visible(&format!("a{c}b"));
        assert_eq!(drawn.text(), format!("a\\u{{{:x}}}b", u32::from(c)));
        assert_eq!(drawn.escaped, 1);
    }
}

#[test]
fn written_backslash_is_not_an_escape() {
    let written = visible(r"\x1b");
    let escaped = visible("\x1b");
    assert_eq!(written.text(), escaped.text());
    assert_eq!((written.escaped, escaped.escaped), (0, 1));
    assert_ne!(written.lines, escaped.lines);
}

#[test]
fn tab_is_drawn_as_an_arrow() {
    assert_eq!(visible("rm\t-rf").text(), "rm→ -rf");
    assert_eq!(visible("rm\t-rf").escaped, 0);
}

#[test]
fn more_than_four_marks_on_a_letter_are_escaped() {
    let stacked = format!("e{}", "\u{301}".repeat(6));
    let drawn = visible(&stacked);
    assert_eq!(drawn.escaped, 2);
    assert_eq!(visible("e\u{301}").escaped, 0);
}

#[test]
fn mark_at_the_start_of_a_line_is_escaped() {
    assert_eq!(visible("\u{338}x").text(), "\\u{338}x");
    assert_eq!(visible("a\n\u{338}x").text(), "a\n\\u{338}x");
    assert_eq!(visible("\u{1161}").text(), "\\u{1161}");
}

#[test]
fn long_run_of_spaces_is_drawn_as_a_count() {
    let hidden = format!("ls{}; rm -rf /", " ".repeat(240));
    let drawn = visible(&hidden);
    assert_eq!(drawn.text(), "ls·×240; rm -rf /");
    assert_eq!(drawn.collapsed, 240);
    assert_eq!(visible(&format!("a{}b", "\t".repeat(20))).text(), "a→×20b");
    assert_eq!(visible(&format!("a{}b", " \t".repeat(20))).text(), "a·→×40b");
    assert_eq!(visible(&format!("a{}", " ".repeat(20))).text(), "a·×20");
}

#[test]
fn indent_of_code_stays_up_to_24_spaces() {
    let code = format!("{}return", " ".repeat(16));
    assert_eq!(visible(&code).text(), code);
    assert_eq!(visible(&format!("{}return", " ".repeat(40))).text(), "·×40return");
}

#[test]
fn long_run_of_blank_lines_is_drawn_as_a_count() {
    let drawn = visible(&format!("a{}b", "\n".repeat(41)));
    assert_eq!(drawn.text(), "a\n·×40 blank lines\nb");
    assert_eq!(visible("a\n\n\n\nb").text(), "a\n\n\n\nb");
    assert_eq!(visible(&format!("a{}\nb", "\n  \t".repeat(30))).text(), "a\n·×30 blank lines\nb");
}

#[test]
fn invalid_utf8_is_drawn_as_hex_escapes() {
    let drawn = visible_bytes(b"ok\xff\xfe\xc3(\xe2\x80\xae");
    assert_eq!(drawn.text(), r"ok\xff\xfe\xc3(\u{202e}");
    assert_eq!(drawn.escaped, 4);
}

#[test]
fn non_ascii_letters_of_a_name_are_listed() {
    assert_eq!(non_ascii_letters("ex\u{430}mple.com"), ["U+0430"]);
    assert!(non_ascii_letters("example.com").is_empty());
}
