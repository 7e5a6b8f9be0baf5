//! Proof that a tree left nothing out: what lies between its leaves may only be operators, reserved words and comments.

use super::syntax::Span;

/// Words that are part of the grammar.
const RESERVED: [&str; 20] = [
    "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until", "case", "esac",
    "select", "function", "time", "coproc", "{", "}", "!",
];

/// Whether an unquoted word cannot be a program.
pub(super) fn reserved(word: &str) -> bool {
    word != "in" && (RESERVED.contains(&word) || matches!(word, "[[" | "]]"))
}

/// The first part between the leaves that is no grammar.
pub(super) fn uncovered(text: &str, part: Span, leaves: &mut [Span]) -> Option<Span> {
    leaves.sort_by_key(|leaf| (leaf.start, leaf.end));
    let mut at = part.start;
    let mut comment_until = part.start;
    let mut timed = false;
    for leaf in leaves.iter().cloned().chain(std::iter::once(part.end..part.end)) {
        if leaf.start > at
            && let Some(found) = between(text, at..leaf.start, part.end, &mut comment_until, &mut timed)
        {
            return Some(found);
        }
        if leaf.start < comment_until && !leaf.is_empty() && leaf.start >= at {
            return Some(leaf);
        }
        at = at.max(leaf.end);
    }
    None
}

fn between(text: &str, range: Span, end: usize, comment_until: &mut usize, timed: &mut bool) -> Option<Span> {
    let mut rest = text.get(range.clone())?;
    let mut at = range.start;
    let mut fresh = text.get(..at).is_none_or(|before| before.bytes().last().is_none_or(starts));
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => {
                fresh = true;
            }
            '\\' if rest.as_bytes().get(1) == Some(&b'\n') => length = 2,
            '#' if fresh => {
                let line = text.get(at..end)?;
                let stop = at + line.find('\n').unwrap_or(line.len());
                *comment_until = stop;
                if stop >= range.end {
                    return None;
                }
                length = stop - at;
            }
            _ => {
                length = rest.find([' ', '\t', '\n', ';', '&', '|', '(', ')']).unwrap_or(rest.len());
                let word = rest.get(..length)?;
                let good = RESERVED.contains(&word) || (*timed && word == "-p");
                *timed = word == "time";
                if !good || !fresh {
                    return Some(at..at + length);
                }
                fresh = false;
            }
        }
        at += length;
        rest = rest.get(length..)?;
    }
    None
}

fn starts(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')')
}
