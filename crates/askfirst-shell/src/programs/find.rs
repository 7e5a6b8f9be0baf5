//! The words of `find`: paths first, then an expression, in which nothing may be left unread.

use super::read::Reader;
use super::words::{Lead, lead, shown, splits};
use crate::line::tree::Word;

/// Options that stand before the paths.
const BEFORE: [&str; 5] = ["-H", "-L", "-P", "-D", "-O*"];

/// One word that is no value of an option.
pub(super) fn word(reader: &mut Reader<'_, '_>, word: &Word, at: usize) {
    let begun = reader
        .used
        .options
        .iter()
        .any(|given| !given.names.iter().any(|name| BEFORE.contains(&name.as_str())));
    match word.literal() {
        Some("(" | ")" | "!" | ",") => reader.mark("(", at),
        Some(text) if text.starts_with('-') && text.len() > 1 => reader.option(word, at),
        Some(text) if begun => {
            let why = format!("`{text}` is unexpected in the `find` expression");
            reader.doubt(at, &why);
        }
        Some(_) => reader.operands.push(at),
        None => {
            let path = matches!(lead(word), Lead::Plain) && !splits(word);
            let operator = word.prefix().starts_with(['(', ')', '!', ',']);
            if !path || operator || begun {
                let why = format!("`{}` may be part of the `find` expression", shown(word));
                reader.doubt(at, &why);
            }
            reader.operands.push(at);
        }
    }
}
