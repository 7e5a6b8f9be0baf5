//! Tests of the text index.

use proptest::prelude::*;

use super::*;

fn raws(text: &str) -> Vec<String> {
    let text = IndexedText::new(text.to_owned());
    (0..text.len()).map(|at| text.slot(at).unwrap().drawn().text()).collect()
}

#[test]
fn newline_at_the_end_starts_no_further_line() {
    assert_eq!(raws(""), Vec::<String>::new());
    assert_eq!(raws("\n"), [""]);
    assert_eq!(raws("a\nb\n"), ["a", "b"]);
    assert_eq!(raws("a\n\n\nb"), ["a", "", "", "b"]);
    assert_eq!(raws("a\n\n"), ["a", ""]);
}

#[test]
fn run_of_blank_lines_is_one_slot() {
    assert_eq!(raws("a\n\n \n\t\n\nb\n"), ["a", "·×4 blank lines", "b"]);
    assert_eq!(raws("\n\n\n\n\n\n"), ["·×6 blank lines"]);
    let text = IndexedText::new("a\n\n\n\n\nb".to_owned());
    assert_eq!(text.slot(2).unwrap().number, 6);
    assert_eq!(text.collapsed, 4);
}

#[test]
fn long_line_is_split_into_continued_slots() {
    let text = IndexedText::new(format!("{}\nb", "é".repeat(3_000)));
    let rows: Vec<Row> = (0..text.len()).map(|at| text.slot(at).unwrap().row).collect();
    assert_eq!(rows, [Row::First, Row::Continued, Row::Continued, Row::First]);
    assert_eq!(text.slot(3).unwrap().number, 2);
}

#[test]
fn long_run_of_spaces_is_one_count() {
    let drawn = raws(&format!("a{}b\n{}", " ".repeat(10_000), " ".repeat(9_000)));
    assert!(drawn.len() <= 5, "{drawn:?}");
}

proptest! {
    #[test]
    fn index_of_any_text_finds_every_line(text in "[a\n \u{e9}\u{202e}]{0,400}", times in 1_usize..20) {
        let text = text.repeat(times);
        let indexed = IndexedText::new(text.clone());
        let (_, slots) = indexed.near(0);
        let all: Vec<Slot<'_>> = slots.collect();
        prop_assert_eq!(all.len(), indexed.len());
        for (at, slot) in all.iter().enumerate() {
            prop_assert_eq!(indexed.slot(at), Some(*slot));
        }
        prop_assert_eq!(indexed.slot(indexed.len()), None);
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let drawn: String = all.iter().map(|slot| slot.raw).collect();
        prop_assert_eq!(bare(&drawn), bare(&text));
        let lines: usize = all.iter().filter(|slot| slot.row == Row::First).map(|slot| slot.blanks.max(1)).sum();
        prop_assert_eq!(lines, text.lines().count());
    }
}
