//! Variables and escapes inside a word: known values put in, everything else named.

use std::sync::Arc;

use super::atoms::Atom;
use super::number::Alone;
use super::state::{Known, State};
use super::syntax::Span;
use super::tree::{Piece, Unknown, Word};
use super::walk::Walker;
use super::word::Around;

impl Walker<'_> {
    /// `$name`.
    pub(super) fn variable(
        &mut self,
        name: &str,
        span: &Span,
        around: Around,
        state: &State,
        out: &mut Vec<Atom>,
    ) {
        let bare = around == Around::Nothing;
        let text = self.slice(span).to_owned();
        if !self.spend(64) {
            return;
        }
        let unknown = |splits: bool| {
            Atom::of(Piece::Unknown(Unknown {
                text: text.clone(),
                splits,
                output_of: None,
                ..Unknown::default()
            }))
        };
        match state.get(name) {
            Some(Known::Number) => {
                let text = format!("$(({name}))");
                out.push(Atom::of(Piece::Unknown(Unknown {
                    text,
                    splits: false,
                    output_of: None,
                    ..Unknown::default()
                })));
            }
            Some(Known::Value(pieces)) => {
                let length = pieces.iter().map(|piece| match piece {
                    Piece::Text(text) => text.len(),
                    Piece::Glob(_) | Piece::Home | Piece::Unknown(_) => 8,
                });
                if !self.spend(length.sum()) {
                    return;
                }
                let literal = match &**pieces {
                    [] => Some(""),
                    [Piece::Text(text)] => Some(text.as_str()),
                    [_] | [_, _, ..] => None,
                };
                match literal {
                    Some(value) if !bare => {
                        if value.is_empty() {
                            out.push(Atom::Empty);
                        }
                        out.extend(value.chars().map(Atom::Quoted));
                    }
                    Some(value) if !value.is_empty() && !value.contains(['*', '?', '[', '\\']) => {
                        for c in value.chars() {
                            out.push(if matches!(c, ' ' | '\t' | '\n') {
                                Atom::Break(c)
                            } else {
                                Atom::Quoted(c)
                            });
                        }
                    }
                    None if !pieces.iter().any(|piece| is_doubtful(piece, bare)) => {
                        out.extend(pieces.iter().cloned().map(Atom::of));
                        if !bare {
                            out.push(Atom::of(Piece::one_word()));
                        } else if let Some(command) = self.current.and_then(|at| self.commands.get_mut(at)) {
                            let found = Word { span: span.clone(), pieces: Arc::clone(pieces) };
                            command.loose.extend(found.has_glob().then_some(found));
                        }
                    }
                    Some(_) | None => {
                        if let [Piece::Unknown(it)] = &**pieces {
                            // Where no folder is entered the line stays in the one that it was set to.
                            let stays = !self.moves && matches!(it.text.as_str(), "$PWD" | "${PWD}");
                            let text = if stays { it.text.clone() } else { text };
                            let known = Unknown { text, splits: bare, ..it.clone() };
                            out.push(Atom::of(Piece::Unknown(known)));
                            return;
                        }
                        for piece in pieces.iter() {
                            if let (Piece::Unknown(it), false) = (piece, bare) {
                                out.push(Atom::of(Piece::Unknown(Unknown { splits: false, ..it.clone() })));
                            } else if !bare {
                                out.push(Atom::of(piece.clone()));
                            }
                        }
                        if bare {
                            out.push(unknown(true));
                        }
                    }
                }
            }
            Some(Known::List(_)) => out.push(unknown(bare)),
            None => out.push(unknown(
                bare && !matches!(name, "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID"),
            )),
        }
    }

    /// `${ … }`.
    pub(super) fn parameter(
        &mut self,
        inner: &Span,
        span: &Span,
        around: Around,
        state: &mut State,
        out: &mut Vec<Atom>,
    ) {
        let bare = around == Around::Nothing;
        let text = self.slice(inner).to_owned();
        let length = text.strip_prefix('#').is_some_and(|rest| !rest.is_empty());
        let indirect = text.starts_with('!') && text.len() > 1;
        let lead = usize::from(length || indirect);
        let body = text.get(lead..).unwrap_or("");
        let count = body.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let count =
            if count == 0 && body.starts_with(['@', '*', '#', '?', '-', '$', '!']) { 1 } else { count };
        let name = body.get(..count).unwrap_or("").to_owned();
        let mut rest = body.get(count..).unwrap_or("");
        let mut at = inner.start + lead + count;
        if name.is_empty() {
            self.gap(span, "an expansion that is not part of bash");
        }
        self.breaks |= !surely_expands(&text);
        if rest.is_empty()
            && !length
            && !indirect
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        {
            return self.variable(&name, span, around, state, out);
        }
        if let Some(pieces) = self.cut(&name, rest, state).filter(|_| !bare && !length && !indirect) {
            out.extend(pieces.into_iter().map(|piece| Atom::Piece(Box::new(piece))));
            return;
        }
        let mut all = name == "@";
        let mut selects = false;
        if rest.starts_with('[') {
            match rest.find(']') {
                Some(close) => {
                    let index = rest.get(1..close).unwrap_or("");
                    selects = matches!(index, "@" | "*");
                    all |= index == "@";
                    if !selects {
                        self.number(&(at + 1..at + close), Alone::No, state);
                    }
                    at += close + 1;
                    rest = rest.get(close + 1..).unwrap_or("");
                }
                None => self.gap(span, "an unsupported index"),
            }
        }
        if indirect && !selects && !matches!(rest, "*" | "@") {
            self.gap(span, "a variable that is named by another variable");
        }
        if length && !rest.is_empty() {
            self.gap(span, "an expansion that is not part of bash");
        }
        let mut chars = rest.chars();
        match (chars.next(), chars.next()) {
            (None, _) => {}
            (Some('@'), Some('Q' | 'U' | 'u' | 'L' | 'E' | 'A' | 'a' | 'K' | 'k')) if rest.len() == 2 => {}
            (Some('*' | '@'), None) if indirect => {}
            (Some(':'), Some('-' | '=' | '+' | '?')) | (Some('-' | '=' | '+' | '?'), _) => {
                if rest.starts_with(":=") || rest.starts_with('=') {
                    self.slip(&name, span);
                    state.set(&name, None);
                }
                let from = at + 1 + usize::from(rest.starts_with(':'));
                // It may not be looked at.
                let mut other = state.clone();
                self.scan(
                    &(from..inner.end),
                    if bare { Around::Pattern } else { Around::Double },
                    &mut other,
                );
                *state = other.merge(state);
            }
            (Some('#' | '%' | '/' | '^' | ','), _) => {
                self.scan(&(at + 1..inner.end), if bare { Around::Pattern } else { Around::Double }, state);
            }
            (Some(':'), _) => {
                let mut from = at + 1;
                let text = self.slice(&(from..inner.end));
                for part in text.split(':') {
                    self.number(&(from..from + part.len()), Alone::No, state);
                    from += part.len() + 1;
                }
            }
            (Some(_), _) => self.gap(span, "an unsupported expansion"),
        }
        if bare {
            self.stands_in(rest, span);
        }
        // `"${!head@}"` is as many words as there are names.
        let named = indirect && rest.starts_with('@');
        let splits = !length && (bare || all || named);
        let text = self.slice(span).to_owned();
        out.push(Atom::of(Piece::Unknown(Unknown { text, splits, output_of: None, ..Unknown::default() })));
    }
}

impl Walker<'_> {
    /// `${f%.txt}` where `f` is what a wildcard found that ends so: the same wildcard without its end. The marks behind
    /// it say that no file needs to have the name.
    fn cut(&mut self, name: &str, rest: &str, state: &State) -> Option<Vec<Piece>> {
        let end = rest.strip_prefix('%')?;
        let end = end.strip_prefix('%').unwrap_or(end);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let Some(Known::Value(pieces)) = state.get(name) else { return None };
        if end.is_empty() || !end.chars().all(plain) || !self.spend(64) {
            return None;
        }
        let mut pieces = pieces.to_vec();
        let Some(Piece::Glob(text) | Piece::Text(text)) = pieces.last_mut() else { return None };
        *text = text.strip_suffix(end)?.to_owned();
        let whole = !text.ends_with(['/', '\\']);
        if text.is_empty() {
            pieces.pop();
        }
        let wild = matches!(pieces.last(), Some(Piece::Glob(_)));
        let known = pieces.iter().all(|piece| !matches!(piece, Piece::Unknown(_)));
        pieces.extend([Piece::one_word(), Piece::one_word()]);
        (whole && wild && known).then_some(pieces)
    }
}

/// Whether a part of a value is not known, or outside quotes may become several words.
fn is_doubtful(piece: &Piece, bare: bool) -> bool {
    match piece {
        Piece::Unknown(_) => true,
        Piece::Text(text) => bare && text.contains([' ', '\t', '\n', '*', '?', '[', '\\']),
        Piece::Glob(_) | Piece::Home => false,
    }
}

/// Whether bash surely makes something of `${…}` with this in it. Over most other forms it stops, if not always.
fn surely_expands(text: &str) -> bool {
    let word =
        |text: &str| text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bare = text.strip_prefix('#').filter(|rest| !rest.is_empty());
    let (name, rest) = bare.unwrap_or(text).split_at_checked(word(bare.unwrap_or(text))).unwrap_or_default();
    if name.is_empty() || digits(name) {
        return bare.is_none() && (matches!(text, "@" | "*" | "#" | "?" | "-" | "$" | "!") || digits(text));
    }
    let place = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    if let Some((place, rest)) = place {
        return rest.is_empty() && (matches!(place, "@" | "*") || digits(place));
    }
    let part = rest.strip_prefix(':').map(|rest| rest.split_once(':').unwrap_or((rest, "0")));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && (rest.is_empty()
            || (bare.is_none()
                && (rest.strip_prefix(':').unwrap_or(rest).starts_with(['-', '+', '=', '?'])
                    || rest.starts_with(['#', '%', '/', '^', ','])
                    || part.is_some_and(|(from, length)| digits(from) && digits(length)))))
}

/// What is in `$'…'`; none for what would be no text.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.extend(c.to_string().as_bytes());
            continue;
        }
        let mut digits = |most: usize, radix: u32| {
            let mut value = None;
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
                value = Some(value.unwrap_or(0u32) * radix + digit);
                chars.next();
            }
            value
        };
        let byte = match digits(3, 8) {
            Some(value) => u8::try_from(value & 0xff).ok()?,
            None => match chars.next()? {
                'n' => b'\n',
                't' => b'\t',
                'r' => b'\r',
                'a' => 7,
                'b' => 8,
                'e' | 'E' => 27,
                'f' => 12,
                'v' => 11,
                c @ ('\\' | '\'' | '"' | '?') => u8::try_from(c).ok()?,
                c @ ('x' | 'u' | 'U') => {
                    let most = match c {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    };
                    let mut value: Option<u32> = None;
                    for _ in 0..most {
                        let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) else { break };
                        value = Some(value.unwrap_or(0) * 16 + digit);
                        chars.next();
                    }
                    let value = value?;
                    if c == 'x' || value < 0x80 {
                        u8::try_from(value).ok()?
                    } else {
                        out.extend(char::from_u32(value)?.to_string().as_bytes());
                        continue;
                    }
                }
                _ => return None,
            },
        };
        if byte == 0 {
            return None;
        }
        out.push(byte);
    }
    String::from_utf8(out).ok()
}
