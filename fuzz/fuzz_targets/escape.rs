//! Makes any text and any bytes visible: the result has nothing that a screen acts on or hides, and loses nothing.
#![no_main]

use askfirst_display::escape::{PieceKind, VisibleText, visible, visible_bytes, visible_line};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let drawn = visible_bytes(bytes);
    check(&drawn);
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert_eq!(visible(text), drawn, "the same text is drawn in two ways");
        unchanged_if_plain(&drawn, text);
        let line = visible_line(text);
        check(&line);
        assert_eq!(line.lines.len(), 1);
        unchanged_if_plain(&line, text);
    }
});

fn check(drawn: &VisibleText) {
    let pieces = || drawn.lines.iter().flatten();
    for piece in pieces() {
        for c in piece.text.chars() {
            assert!(!c.is_control() && !hides(c), "{c:?} is drawn as it is");
        }
        assert!(!piece.text.is_empty());
    }
    assert_eq!(drawn.escaped, pieces().filter(|piece| piece.kind == PieceKind::Escaped).count());
    assert_eq!(drawn.collapsed > 0, pieces().any(|piece| piece.kind == PieceKind::Collapsed));
}

fn unchanged_if_plain(drawn: &VisibleText, text: &str) {
    if drawn.lines.iter().flatten().all(|piece| piece.kind == PieceKind::Plain) {
        assert_eq!(drawn.text(), text);
    }
}

/// Returns whether a character turns, joins, hides or breaks text. The list is explicit, so that the test trusts no
/// table of askfirst.
fn hides(c: char) -> bool {
    matches!(c,
        '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}' | '\u{2000}'..='\u{200a}' | '\u{3000}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
}
