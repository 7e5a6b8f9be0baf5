//! The words of `test`, `[` and `[[`: which paths they look at, and what a shell would evaluate in them.

use super::read::Reader;
use super::used::Role;
use super::words::shown;
use crate::line::tree::{Piece, Word};

/// Tests of one file.
const FILES: &str = "abcdefghkprstuwxGLNOS";

/// Comparisons of numbers, which `[[` evaluates as arithmetic.
const NUMBERS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// Looks at each word with its neighbours.
pub(super) fn read(reader: &mut Reader<'_, '_>) {
    let words = reader.words;
    let double = reader.used.program == "[[";
    for (at, word) in words.iter().enumerate().skip(1) {
        let after = words.get(at + 1);
        match word.literal() {
            Some("-v" | "-R") if after.is_some_and(|name| !is_plain(name)) => {
                reader.doubt(at + 1, "a variable name that may be evaluated");
            }
            Some("-t" | "-n" | "-z" | "-v" | "-R" | "-o") => {}
            Some("-nt" | "-ot" | "-ef") => {
                for path in
                    [at.checked_sub(1).and_then(|before| words.get(before)), after].into_iter().flatten()
                {
                    reader.path(path, Role::List);
                }
            }
            Some(text) if NUMBERS.contains(&text) => {
                let before = at.checked_sub(1).and_then(|before| words.get(before));
                if double && [before, after].into_iter().flatten().any(|side| !is_number(side)) {
                    reader.doubt(at, "a number that may be evaluated");
                }
            }
            Some(text) if is_file_test(text) => {
                if let Some(path) = after.filter(|path| path.literal() != Some("]")) {
                    reader.path(path, Role::List);
                }
            }
            Some(text) if text.contains('[') && text.contains(['$', '`']) => {
                let why = format!("`{}` may be evaluated", shown(word));
                reader.doubt(at, &why);
            }
            Some(_) | None => {}
        }
    }
}

fn is_file_test(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|letter| letter.len() == 1 && FILES.contains(letter))
}

/// A name without a subscript.
fn is_plain(word: &Word) -> bool {
    word.literal().is_some_and(|text| !text.contains('['))
}

fn is_number(word: &Word) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    word.pieces.iter().all(|piece| match piece {
        Piece::Text(text) => digits(text),
        Piece::Glob(_) | Piece::Home | Piece::Unknown(_) => false,
    })
}
