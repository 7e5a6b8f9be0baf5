//! What is settled about the bytes alone, before any parser: size, depth, and characters that are not what they look like.

use super::gap;
use super::tree::Gap;

/// How long a text may be.
const BYTES: usize = 8 * 1024;
/// How deep brackets may nest.
const DEPTH: usize = 16;

/// How many `|` and `&` may stand in it: parsers nest what they join.
const JOINTS: usize = 256;

/// Why no parser should see this text.
pub(super) fn limits(text: &str) -> Option<Gap> {
    if text.len() > BYTES {
        return Some(gap(0..text.len(), format!("the line has {} bytes; the limit is {BYTES}", text.len())));
    }
    if let Some(at) = text.find('\0') {
        return Some(gap(at..at + 1, "a NUL byte (U+0000)"));
    }
    if depth(text) > DEPTH {
        return Some(gap(0..text.len(), format!("brackets nested more than {DEPTH} deep")));
    }
    let joints = text.bytes().filter(|byte| matches!(byte, b'|' | b'&')).count();
    if joints > JOINTS {
        return Some(gap(0..text.len(), format!("more than {JOINTS} operators that join commands")));
    }
    None
}

/// How deep round and curly brackets nest, and the words that open and close blocks; quotes are not looked at.
pub(super) fn depth(text: &str) -> usize {
    let (mut round, mut curly, mut most) = (0usize, 0usize, 0usize);
    let mut ticks = 0usize;
    for byte in text.bytes() {
        match byte {
            // One kind does not close the other: a parser that looks for it takes far longer the more are open.
            b'(' => round += 1,
            b')' => round = round.saturating_sub(1),
            b'{' => curly += 1,
            b'}' => curly = curly.saturating_sub(1),
            b'`' => ticks += 1,
            _ => {}
        }
        most = most.max(round + curly);
    }
    let mut blocks = 0usize;
    for word in text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric()) {
        match word {
            b"if" | b"while" | b"until" | b"for" | b"case" | b"select" => blocks += 1,
            b"fi" | b"done" | b"esac" => blocks = blocks.saturating_sub(1),
            _ => {}
        }
        most = most.max(blocks);
    }
    // Backquotes nest by backslashes; many of them are few levels.
    most.max(ticks / 8)
}

/// A stream whose number is kept in an element of an array: `{a[x]}>file` evaluates what stands in the brackets.
pub(super) fn elements(text: &str, gaps: &mut Vec<Gap>) {
    if !text.contains('}') {
        return;
    }
    // A line that goes on is one line to the shell before it looks at it.
    let bare = text.replace("\\\n", "");
    let kept = |at: usize| {
        let rest = bare.get(at + 1..).unwrap_or_default();
        let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let closes = ["]}<", "]}>"].iter().any(|end| name.contains(end));
        rest.len() > name.len() && name.starts_with('[') && closes
    };
    let opens = |(at, _): &(usize, &str)| !bare.get(..*at).is_some_and(|before| before.ends_with('$'));
    if bare.match_indices('{').filter(opens).any(|(at, _)| kept(at)) {
        gaps.push(gap(0..text.len(), "a redirection that stores its number in an array element"));
    }
}

/// Characters that a screen does not show as what they are, wherever they stand.
pub(super) fn characters(text: &str, gaps: &mut Vec<Gap>) {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte) || matches!(byte, b'\n' | b'\t')) {
        return;
    }
    for (at, c) in text.char_indices() {
        if hidden(c) || (c.is_control() && !matches!(c, '\n' | '\t')) {
            gaps.push(named(at, c, "an invisible character"));
            if gaps.len() > 8 {
                return;
            }
        }
    }
}

/// A gap that names a character.
pub(super) fn named(at: usize, c: char, why: &str) -> Gap {
    gap(at..at + c.len_utf8(), format!("{why} (U+{:04X})", c as u32))
}

/// Whether a character turns text around, has no width, or is otherwise not drawn.
pub(super) fn hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..)
}

/// Why a word with these characters, which are not ASCII and stand in quotes, is not what it may look like.
pub(super) fn strange(word: &str, place: Place) -> Option<(usize, char)> {
    let first = word.char_indices().find(|(_, c)| !c.is_ascii())?;
    let name = match word.split_once('=') {
        Some((name, _)) if name.starts_with('-') => name,
        Some(_) | None => word,
    };
    let option = word.starts_with('-') && !name.is_ascii();
    let spaced = word.bytes().any(|byte| matches!(byte, b' ' | b'\n'));
    let bytes = word.as_bytes();
    let dotted = bytes.windows(2).any(|two| matches!(two, [b'.', next] if next.is_ascii_alphanumeric()));
    let path = !spaced && (word.contains('/') || dotted);
    if place == Place::Program || option || path || mixed(word) {
        return Some(first);
    }
    // Spaces that are not ASCII, where the word has none that are.
    if !spaced {
        return word.char_indices().find(|(_, c)| !c.is_ascii() && c.is_whitespace());
    }
    None
}

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// First.
    Program,
    /// Behind the program.
    Operand,
}

/// Whether letters that look like Latin ones stand in one run with Latin ones.
fn mixed(word: &str) -> bool {
    let likeness = |c: char| {
        matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{530}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}'
            | '\u{1d00}'..='\u{1d7f}' | '\u{2100}'..='\u{214f}' | '\u{2160}'..='\u{2188}' | '\u{a4d0}'..='\u{a4ff}'
            | '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}')
    };
    word.split(|c: char| !c.is_alphanumeric())
        .any(|run| run.chars().any(likeness) && run.contains(|c: char| c.is_ascii()))
}
