//! Tests of texts that are read where they are looked at.

use proptest::prelude::*;

use super::*;

fn raws(text: &str) -> Vec<String> {
    let text = Text::new(text.to_owned());
    (0..text.len()).map(|at| text.slot(at).unwrap().drawn().text()).collect()
}

#[test]
fn lines_are_found_and_a_last_line_feed_begins_none() {
    assert_eq!(raws(""), Vec::<String>::new());
    assert_eq!(raws("\n"), [""]);
    assert_eq!(raws("a\nb\n"), ["a", "b"]);
    assert_eq!(raws("a\n\n\nb"), ["a", "", "", "b"]);
    assert_eq!(raws("a\n\n"), ["a", ""]);
}

#[test]
fn runs_of_blank_lines_are_one() {
    assert_eq!(raws("a\n\n \n\t\n\nb\n"), ["a", "·×4 blank lines", "b"]);
    assert_eq!(raws("\n\n\n\n\n\n"), ["·×6 blank lines"]);
    let text = Text::new("a\n\n\n\n\nb".to_owned());
    assert_eq!(text.slot(2).unwrap().number, 6);
    assert_eq!(text.collapsed, 4);
}

#[test]
fn long_lines_are_taken_in_pieces_that_go_on() {
    let text = Text::new(format!("{}\nb", "é".repeat(3_000)));
    let rows: Vec<Row> = (0..text.len()).map(|at| text.slot(at).unwrap().row).collect();
    assert_eq!(rows, [Row::First, Row::Continued, Row::Continued, Row::First]);
    assert_eq!(text.slot(3).unwrap().number, 2);
}

#[test]
fn a_long_run_of_blanks_is_one_count() {
    let drawn = raws(&format!("a{}b\n{}", " ".repeat(10_000), " ".repeat(9_000)));
    assert!(drawn.len() <= 5, "{drawn:?}");
}

proptest! {
    #[test]
    fn nothing_is_lost_and_every_line_is_found_again(text in "[a\n \u{e9}\u{202e}]{0,400}", times in 1_usize..20) {
        let text = text.repeat(times);
        let made = Text::new(text.clone());
        let (_, slots) = made.near(0);
        let all: Vec<Slot<'_>> = slots.collect();
        prop_assert_eq!(all.len(), made.len());
        for (at, slot) in all.iter().enumerate() {
            prop_assert_eq!(made.slot(at), Some(*slot));
        }
        prop_assert_eq!(made.slot(made.len()), None);
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let drawn: String = all.iter().map(|slot| slot.raw).collect();
        prop_assert_eq!(bare(&drawn), bare(&text));
        let lines: usize = all.iter().filter(|slot| slot.row == Row::First).map(|slot| slot.blanks.max(1)).sum();
        prop_assert_eq!(lines, text.lines().count());
    }
}
