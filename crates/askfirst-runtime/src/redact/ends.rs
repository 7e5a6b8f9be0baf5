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
    let quoted = match line {
        Line::Header if opens(text, from).is_some() => opens(text, from).unwrap_or(Quoted::Not),
        Line::Header | Line::Word => at(text, start),
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

/// Which quote surely opens right before a place: nothing stands before it.
fn opens(text: &[u8], place: usize) -> Option<Quoted> {
    let before = place.checked_sub(2).and_then(|place| text.get(place));
    let free = before.is_none_or(|byte| byte.is_ascii_whitespace() || b"=([{,:".contains(byte));
    match at(text, place) {
        Quoted::Not => None,
        quoted @ (Quoted::Single | Quoted::Double) => free.then_some(quoted),
    }
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
