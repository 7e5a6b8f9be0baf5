//! Finds the end of a value in a text that a shell may read. A guess never hides an operator or a nested command.

/// The quotes around a value.
#[derive(Clone, Copy)]
enum Quote {
    None,
    Single,
    Double,
}

/// The end of a value that was found from `start` to `end`. Its name starts at `from`.
pub(super) fn end(text: &[u8], (from, start, end): (usize, usize, usize), context: ValueContext) -> usize {
    let around = match context {
        ValueContext::Header => opening_quote(text, from),
        ValueContext::Word => opening_quote(text, word_start(text, start)),
    };
    let quoted = match quote_before(text, start) {
        Quote::None => around.unwrap_or(Quote::None),
        quoted @ (Quote::Single | Quote::Double) => quoted,
    };
    let value = text.get(start..end).unwrap_or_default();
    let place = match quoted {
        Quote::Single => value.iter().position(|byte| *byte == b'\''),
        Quote::Double => nested_command(text, start, end),
        Quote::None => unquoted_end(value, context),
    };
    place.map_or(end, |place| start + place)
}

/// The surroundings of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueContext {
    /// A word of a command.
    Word,
    /// An HTTP header, which may contain spaces and semicolons.
    Header,
}

/// The start of the word around a position. A user name can come before a password.
fn word_start(text: &[u8], place: usize) -> usize {
    const NEAR: usize = 256;
    let before = text.get(place.saturating_sub(NEAR)..place).unwrap_or_default();
    let own = before.iter().rev().take_while(|byte| !byte.is_ascii_whitespace() && !b"\"'".contains(byte));
    place - own.count()
}

/// The quote right before a position. An escaped quote does not count.
fn quote_before(text: &[u8], place: usize) -> Quote {
    let before = |n: usize| place.checked_sub(n).and_then(|place| text.get(place));
    match (before(1), before(2)) {
        (_, Some(b'\\')) => Quote::None,
        (Some(b'\''), _) => Quote::Single,
        (Some(b'"'), _) => Quote::Double,
        _ => Quote::None,
    }
}

/// The quote that opens right before a position: at the start of a word, or after the letter of an option.
fn opening_quote(text: &[u8], place: usize) -> Option<Quote> {
    let quoted = match quote_before(text, place) {
        Quote::None => return None,
        quoted @ (Quote::Single | Quote::Double) => quoted,
    };
    let free = |byte: &u8| byte.is_ascii_whitespace() || b"=([{,:".contains(byte);
    let opens = match text.get(..place.saturating_sub(1)).unwrap_or_default() {
        [] => true,
        [.., before, b'-', letter] => free(letter) || (free(before) && letter.is_ascii_alphabetic()),
        [.., before] => free(before),
    };
    opens.then_some(quoted)
}

/// The start of a nested command inside double quotes, if the command is closed.
fn nested_command(text: &[u8], start: usize, end: usize) -> Option<usize> {
    let value = text.get(start..end).unwrap_or_default();
    let behind = |place: usize| text.get(start + place + 1..).unwrap_or_default();
    let mut escaped = false;
    for (place, byte) in value.iter().enumerate() {
        let open = match byte {
            b'`' => Some(b'`'),
            b'$' if behind(place).first() == Some(&b'(') => Some(b')'),
            _ => None,
        };
        if !escaped && open.is_some_and(|close| memchr::memchr(close, behind(place)).is_some()) {
            return Some(place);
        }
        escaped = *byte == b'\\' && !escaped;
    }
    None
}

/// The end of a value outside of quotes.
fn unquoted_end(value: &[u8], context: ValueContext) -> Option<usize> {
    let mut escaped = false;
    for (place, byte) in value.iter().enumerate() {
        let runs = *byte == b'$' && value.get(place + 1) == Some(&b'(');
        let ends = runs
            || match byte {
                b';' => {
                    context == ValueContext::Word || !is_cookie(value.get(place + 1..).unwrap_or_default())
                }
                b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b'`' | b'\r' | b'\n' => true,
                b' ' | b'\t' if context == ValueContext::Header => {
                    !matches!(place.checked_sub(1).and_then(|before| value.get(before)), Some(b';'))
                }
                _ => false,
            };
        if ends && !escaped {
            return Some(place);
        }
        escaped = *byte == b'\\' && !escaped;
    }
    None
}

/// Whether another cookie follows, and not an assignment of a shell variable.
fn is_cookie(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_-.".contains(b)).count();
    let (name, rest) = rest.split_at_checked(length).unwrap_or((rest, &[]));
    rest.first() == Some(&b'=') && (name.iter().any(u8::is_ascii_lowercase) || name.ends_with(b"ID"))
}

#[cfg(test)]
#[path = "ends/tests.rs"]
mod tests;
