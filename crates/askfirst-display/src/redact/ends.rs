//! Where a value ends in a text that a shell may read: a guess takes no operator with it, and nothing that would run.

/// How the place of a value is quoted.
#[derive(Clone, Copy)]
enum Quoted {
    Not,
    Single,
    Double,
}

/// The end of a value that was found from `start` to `end`; `from` is where its name begins.
pub(super) fn end(text: &[u8], (from, start, end): (usize, usize, usize), line: Line) -> usize {
    let around = match line {
        Line::Header => opens(text, from),
        Line::Word => opens(text, begins(text, start)),
    };
    let quoted = match at(text, start) {
        Quoted::Not => around.unwrap_or(Quoted::Not),
        quoted @ (Quoted::Single | Quoted::Double) => quoted,
    };
    let value = text.get(start..end).unwrap_or_default();
    let place = match quoted {
        Quoted::Single => value.iter().position(|byte| *byte == b'\''),
        Quoted::Double => runs(text, start, end),
        Quoted::Not => outside(value, line),
    };
    place.map_or(end, |place| start + place)
}

/// What a value is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// A word of its own.
    Word,
    /// A header, which has blanks and semicolons in it.
    Header,
}

/// Where the word begins that has a place in it: whose password it is may stand before it.
fn begins(text: &[u8], place: usize) -> usize {
    const NEAR: usize = 256;
    let before = text.get(place.saturating_sub(NEAR)..place).unwrap_or_default();
    let own = before.iter().rev().take_while(|byte| !byte.is_ascii_whitespace() && !b"\"'".contains(byte));
    place - own.count()
}

/// Which quote stands right before a place. One behind a backslash quotes nothing.
fn at(text: &[u8], place: usize) -> Quoted {
    let before = |n: usize| place.checked_sub(n).and_then(|place| text.get(place));
    match (before(1), before(2)) {
        (_, Some(b'\\')) => Quoted::Not,
        (Some(b'\''), _) => Quoted::Single,
        (Some(b'"'), _) => Quoted::Double,
        _ => Quoted::Not,
    }
}

/// Which quote opens right before a place: nothing stands before it, or the letter of an option.
fn opens(text: &[u8], place: usize) -> Option<Quoted> {
    let quoted = match at(text, place) {
        Quoted::Not => return None,
        quoted @ (Quoted::Single | Quoted::Double) => quoted,
    };
    let free = |byte: &u8| byte.is_ascii_whitespace() || b"=([{,:".contains(byte);
    let opens = match text.get(..place.saturating_sub(1)).unwrap_or_default() {
        [] => true,
        [.., before, b'-', letter] => free(letter) || (free(before) && letter.is_ascii_alphabetic()),
        [.., before] => free(before),
    };
    opens.then_some(quoted)
}

/// Where something begins inside double quotes that a shell would run: it has an end somewhere.
fn runs(text: &[u8], start: usize, end: usize) -> Option<usize> {
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

/// Where a value ends outside quotes.
fn outside(value: &[u8], line: Line) -> Option<usize> {
    let mut escaped = false;
    for (place, byte) in value.iter().enumerate() {
        let runs = *byte == b'$' && value.get(place + 1) == Some(&b'(');
        let ends = runs
            || match byte {
                b';' => line == Line::Word || !goes_on(value.get(place + 1..).unwrap_or_default()),
                b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b'`' | b'\r' | b'\n' => true,
                b' ' | b'\t' if line == Line::Header => {
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

/// Whether another cookie follows, and no variable that a shell would set.
fn goes_on(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_-.".contains(b)).count();
    let (name, rest) = rest.split_at_checked(length).unwrap_or((rest, &[]));
    rest.first() == Some(&b'=') && (name.iter().any(u8::is_ascii_lowercase) || name.ends_with(b"ID"))
}

#[cfg(test)]
#[path = "ends/tests.rs"]
mod tests;
