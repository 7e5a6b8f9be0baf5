//! One word as bash reads it: quotes taken off, expansions known or named, commands inside found.

use super::atoms::{Atom, Wild, braces, has_braces, words};
use super::close::Bytes;
use super::expand::decode;
use super::gap;
use super::guard::{Place, named, strange};
use super::number::Alone;
use super::state::{Known, State};
use super::syntax::Span;
use super::tree::{Piece, Unknown, Word};
use super::walk::Walker;
use super::wild::fills_bare;

/// What surrounds a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// Nothing: fields, quotes and operators act.
    Nothing,
    /// Double quotes.
    Double,
    /// A here-document: quotes are text.
    Document,
    /// A pattern or expression: brackets and operators are text, quotes act.
    Pattern,
}

impl Walker<'_> {
    /// The words that a word of a command becomes.
    pub(super) fn words(&mut self, span: &Span, place: Place, state: &mut State) -> Vec<Word> {
        let slice = self.slice(span);
        if slice.bytes().all(simple) && !slice.starts_with('=') && !slice.is_empty() {
            return vec![Word::text(slice, span.clone())];
        }
        if let Some(words) = self.elements(span, place, state) {
            return words;
        }
        self.zsh(slice, span);
        let outer = self.wilds.printed.take();
        let atoms = self.atoms(span, Around::Nothing, state);
        if atoms.contains(&Atom::Live('[')) && slice.len() > 1 && slice.contains(['$', '`']) {
            self.gap(span, "a wildcard that an expanded value may close");
        }
        let mut made = if atoms.contains(&Atom::Live('{')) {
            let Some(many) = braces(&atoms) else {
                self.gap(span, "braces that may not be expanded");
                return vec![self.unknown(span, true)];
            };
            if has_braces(&atoms) && !apart_from_braces(slice) {
                self.gap(span, "braces next to a variable, which are expanded before it");
            }
            let single = many.len() == 1;
            let some = many.iter().filter(|atoms| single || !atoms.is_empty());
            some.flat_map(|atoms| words(atoms, span, state.home, Wild::Acts)).collect()
        } else {
            words(&atoms, span, state.home, Wild::Acts)
        };
        self.spread(&atoms, span, &mut made);
        self.spreads(&made, span);
        self.wilds.printed = outer;
        self.strangers(span, &atoms, place);
        made
    }

    /// A value that stays one word: wildcards and braces are text.
    pub(super) fn value(&mut self, span: &Span, wild: Wild, state: &mut State) -> Word {
        let slice = self.slice(span);
        if slice.bytes().all(simple) {
            return Word::text(slice, span.clone());
        }
        let atoms: Vec<Atom> = self
            .atoms(span, Around::Nothing, state)
            .into_iter()
            .map(|atom| if let Atom::Break(blank) = atom { Atom::Quoted(blank) } else { atom })
            .collect();
        self.strangers(span, &atoms, Place::Operand);
        let mut word = words(&atoms, span, state.home, wild).pop().unwrap_or_default();
        whole(&mut word);
        word
    }

    /// Looks for commands in a text whose value does not matter.
    pub(super) fn scan(&mut self, span: &Span, around: Around, state: &mut State) {
        self.atoms(span, around, state);
    }

    /// `"${name[@]}"` of a known array: its elements, each a word.
    fn elements(&mut self, span: &Span, place: Place, state: &State) -> Option<Vec<Word>> {
        let inner = self.slice(span).strip_prefix("\"$")?.strip_suffix('"')?;
        let name = if inner == "@" { inner } else { inner.strip_prefix('{')?.strip_suffix("[@]}")? };
        let Some(Known::List(elements)) = state.get(name) else { return None };
        let elements = elements.clone();
        if place == Place::Program && !elements.iter().all(|element| element.is_ascii()) {
            return None;
        }
        self.spend(64 + elements.iter().map(String::len).sum::<usize>());
        Some(elements.iter().map(|element| Word::text(element.as_str(), span.clone())).collect())
    }

    /// A name without quotes over a wildcard may fall apart: what follows is names of the folder.
    fn spread(&mut self, atoms: &[Atom], span: &Span, made: &mut Vec<Word>) {
        let wild = |atom: &Atom| matches!(atom, Atom::Piece(piece) if matches!(**piece, Piece::Glob(_)));
        let Some(at) = atoms.iter().position(wild).filter(|_| fills_bare(self.slice(span))) else {
            return;
        };
        let deeper = atoms.iter().skip(at).any(|atom| match atom {
            Atom::Live(c) | Atom::Quoted(c) => *c == '/',
            Atom::Piece(piece) => match &**piece {
                Piece::Text(text) | Piece::Glob(text) => text.contains('/'),
                Piece::Home | Piece::Unknown(_) => false,
            },
            Atom::Empty | Atom::Break(_) => false,
        });
        // A folder's name may end in a blank: what follows it is then a path of its own.
        made.push(match deeper {
            true => self.unknown(span, true),
            false => Word::new(span.clone(), vec![Piece::Glob("*".to_owned())]),
        });
    }

    fn zsh(&mut self, slice: &str, span: &Span) {
        let bytes = slice.as_bytes();
        match (bytes.first(), bytes.get(1)) {
            (Some(b'='), Some(next))
                if next.is_ascii_alphanumeric() || matches!(next, b'/' | b'.' | b'_') =>
            {
                self.gap(span, "`=name`, which zsh replaces by a program's path");
            }
            (Some(b'~'), Some(b'[')) => self.gap(span, "`~[…]` of zsh"),
            _ => {}
        }
    }

    fn strangers(&mut self, span: &Span, atoms: &[Atom], place: Place) {
        if self.slice(span).is_ascii() {
            return;
        }
        let quoted: String = atoms
            .iter()
            .map(|atom| match atom {
                Atom::Live(c) | Atom::Quoted(c) => *c,
                Atom::Empty | Atom::Piece(_) | Atom::Break(_) => '\u{1}',
            })
            .collect();
        if let Some((_, c)) = strange(&quoted, place) {
            let at = self.slice(span).find(c).map_or(span.start, |at| span.start + at);
            self.gaps.push(named(at, c, "a letter that looks like another"));
        }
    }

    fn unknown(&self, span: &Span, splits: bool) -> Word {
        let text = self.slice(span).to_owned();
        Word::new(
            span.clone(),
            vec![Piece::Unknown(Unknown { text, splits, output_of: None, ..Unknown::default() })],
        )
    }

    /// The characters of this part of the text.
    pub(super) fn atoms(&mut self, span: &Span, around: Around, state: &mut State) -> Vec<Atom> {
        let mut out = Vec::with_capacity(span.len());
        if !self.spend(span.len()) {
            return out;
        }
        let bytes = Bytes(self.text.as_bytes());
        let (mut at, end) = (span.start, span.end);
        while at < end {
            let byte = bytes.at(at);
            let in_quotes = matches!(around, Around::Double | Around::Document);
            match byte {
                b'\\' => {
                    let next = bytes.at(at + 1);
                    let c = if at + 1 < end { self.char_at(at + 1) } else { '\\' };
                    if at + 1 >= end {
                        out.push(Atom::Quoted('\\'));
                        at += 1;
                    } else if next == b'\n' {
                        at += 2;
                    } else if in_quotes {
                        let acts =
                            matches!(next, b'$' | b'`' | b'\\') || (next == b'"' && around == Around::Double);
                        if !acts {
                            out.push(Atom::Quoted('\\'));
                        }
                        out.push(Atom::Quoted(c));
                        at += 1 + c.len_utf8();
                    } else {
                        if !c.is_ascii() {
                            self.gaps.push(named(at + 1, c, "a letter that looks like another"));
                        }
                        out.push(Atom::Quoted(c));
                        at += 1 + c.len_utf8();
                    }
                }
                b'\'' if !in_quotes => {
                    let Some(close) = bytes.single(at + 1, end) else {
                        return self.open(at..end, "a quote that is not closed", out);
                    };
                    self.quoted(&(at + 1..close - 1), &mut out);
                    at = close;
                }
                b'"' if !in_quotes => {
                    let Some(close) = bytes.double(at + 1, end, 0) else {
                        return self.open(at..end, "a quote that is not closed", out);
                    };
                    let inner = self.atoms(&(at + 1..close - 1), Around::Double, state);
                    if inner.is_empty() {
                        out.push(Atom::Empty);
                    }
                    out.extend(inner);
                    at = close;
                }
                b'`' => {
                    let Some(close) = bytes.tick(at + 1, end) else {
                        return self.open(at..end, "a backquote that is not closed", out);
                    };
                    let inner = at + 1..close - 1;
                    let hidden = self.slice(&inner).as_bytes().windows(2).any(|two| {
                        matches!(two, [b'\\', b'$' | b'`' | b'\\' | b'\n']) || (in_quotes && two == *b"\\\"")
                    });
                    if hidden {
                        self.gap(&(at..close), "a backslash inside backquotes");
                    }
                    self.substitute(&inner, &(at..close), around, state, &mut out);
                    at = close;
                }
                b'$' => match self.dollar(at, end, around, state, &mut out) {
                    Some(next) => at = next,
                    None => return self.open(at..end, "an unsupported expansion", out),
                },
                b'<' | b'>' if around == Around::Nothing && bytes.at(at + 1) == b'(' => {
                    let Some(close) = bytes.command(at + 2, end, 0) else {
                        return self.open(at..end, "an unsupported process substitution", out);
                    };
                    let text = self.slice(&(at..close)).to_owned();
                    let output_of = self.process(&(at + 2..close - 1), byte == b'>', state);
                    let splits = false;
                    out.push(Atom::of(Piece::Unknown(Unknown {
                        text,
                        splits,
                        output_of,
                        ..Unknown::default()
                    })));
                    at = close;
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')'
                    if around == Around::Nothing =>
                {
                    self.gap(&(at..at + 1), "an operator inside a word");
                    at += 1;
                }
                _ => {
                    let c = self.char_at(at);
                    if in_quotes {
                        out.push(Atom::Quoted(c));
                    } else {
                        if !c.is_ascii() {
                            self.gaps.push(named(at, c, "a letter outside quotes that is not ASCII"));
                        } else if c.is_ascii_control() && !matches!(c, '\n' | '\t') {
                            self.gaps.push(named(at, c, "a character that bash does not treat as a space"));
                        }
                        out.push(Atom::Live(c));
                    }
                    at += c.len_utf8();
                }
            }
        }
        out
    }

    fn quoted(&mut self, span: &Span, out: &mut Vec<Atom>) {
        if span.is_empty() {
            out.push(Atom::Empty);
        }
        out.extend(self.slice(span).chars().map(Atom::Quoted));
    }

    fn open(&mut self, span: Span, why: &str, mut out: Vec<Atom>) -> Vec<Atom> {
        let text = self.slice(&span).to_owned();
        self.gap(&span, why);
        out.push(Atom::of(Piece::Unknown(Unknown {
            text,
            splits: true,
            output_of: None,
            ..Unknown::default()
        })));
        out
    }

    /// Reads an expansion; where it ends, or none if it is not understood.
    fn dollar(
        &mut self,
        at: usize,
        end: usize,
        around: Around,
        state: &mut State,
        out: &mut Vec<Atom>,
    ) -> Option<usize> {
        let bytes = Bytes(self.text.as_bytes());
        let bare = matches!(around, Around::Nothing | Around::Pattern);
        let next = if at + 1 < end { bytes.at(at + 1) } else { 0 };
        let piece = |text: &str, splits: bool| {
            Atom::of(Piece::Unknown(Unknown {
                text: text.to_owned(),
                splits,
                output_of: None,
                ..Unknown::default()
            }))
        };
        match next {
            b'\'' if bare => {
                let close = bytes.ansi(at + 2, end)?;
                let inner = self.slice(&(at + 2..close - 1));
                match decode(inner) {
                    Some(text) => {
                        if text.is_empty() {
                            out.push(Atom::Empty);
                        }
                        if !text.is_ascii() && inner.is_ascii() {
                            self.gap(&(at..close), "an escape for a letter that is not ASCII");
                        }
                        out.extend(text.chars().map(Atom::Quoted));
                    }
                    None => {
                        self.gap(&(at..close), "an unsupported escape");
                        out.push(piece(self.slice(&(at..close)), false));
                    }
                }
                Some(close)
            }
            b'"' if bare => {
                let close = bytes.double(at + 2, end, 0)?;
                let inner = self.atoms(&(at + 2..close - 1), Around::Double, state);
                out.push(Atom::Empty);
                out.extend(inner);
                Some(close)
            }
            b'(' => {
                if bytes.at(at + 2) == b'('
                    && let Some(close) = bytes.sums(at + 3, end, 0)
                {
                    let inner = at + 3..close - 2;
                    let sum = self.sum(&inner, state);
                    self.number(&inner, Alone::No, state);
                    match sum {
                        Some(sum) => out.extend(sum.to_string().chars().map(Atom::Quoted)),
                        None => out.push(piece(self.slice(&(at..close)), false)),
                    }
                    return Some(close);
                }
                let close = bytes.command(at + 2, end, 0)?;
                self.substitute(&(at + 2..close - 1), &(at..close), around, state, out);
                Some(close)
            }
            b'[' => {
                let close = bytes.dollar(at, end, 0)?;
                self.number(&(at + 2..close - 1), Alone::No, state);
                out.push(piece(self.slice(&(at..close)), false));
                Some(close)
            }
            b'{' => {
                let close = bytes.brace(at + 2, end, 0)?;
                self.parameter(&(at + 2..close - 1), &(at..close), around, state, out);
                Some(close)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let mut stop = at + 2;
                while stop < end && (bytes.at(stop).is_ascii_alphanumeric() || bytes.at(stop) == b'_') {
                    stop += 1;
                }
                let span = at..stop;
                let name = self.slice(&(at + 1..stop)).to_owned();
                self.variable(&name, &span, around, state, out);
                Some(stop)
            }
            b'1'..=b'9' => {
                let name = self.slice(&(at + 1..at + 2)).to_owned();
                self.variable(&name, &(at..at + 2), around, state, out);
                Some(at + 2)
            }
            b'0' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => {
                let digits = matches!(next, b'#' | b'?' | b'$');
                let splits = (bare && !digits) || next == b'@';
                out.push(piece(self.slice(&(at..at + 2)), splits));
                Some(at + 2)
            }
            b'=' | b'~' | b'^' | b'+' if bare && bytes.at(at + 2).is_ascii_alphabetic() => None,
            _ => {
                out.push(Atom::Quoted('$'));
                Some(at + 1)
            }
        }
    }

    /// `$( … )` or backquotes.
    fn substitute(&mut self, inner: &Span, span: &Span, around: Around, state: &State, out: &mut Vec<Atom>) {
        let bare = around == Around::Nothing;
        let from = self.commands.len();
        let (output_of, resolved) = self.substitution(inner, state);
        self.prints(from);
        match resolved {
            Some(text) if !bare => {
                if text.is_empty() {
                    out.push(Atom::Empty);
                }
                out.extend(text.chars().map(Atom::Quoted));
            }
            Some(_) | None => {
                let text = self.slice(span).to_owned();
                out.push(Atom::of(Piece::Unknown(Unknown {
                    text,
                    splits: bare,
                    output_of,
                    ..Unknown::default()
                })));
            }
        }
    }

    pub(super) fn gap(&mut self, span: &Span, why: &str) {
        self.gaps.push(gap(span.clone(), why));
    }

    fn char_at(&self, at: usize) -> char {
        self.text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\u{fffd}')
    }
}

/// Whether braces of a word surely change the name of no variable in it: bash takes them apart first.
fn apart_from_braces(word: &str) -> bool {
    word.match_indices('$').all(|(at, _)| {
        let rest = word.get(at + 1..).unwrap_or_default();
        let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        match rest.strip_prefix('{') {
            Some(inner) => {
                inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').starts_with('}')
            }
            None => {
                rest.starts_with('(')
                    || (name.len() < rest.len()
                        && (name.is_empty()
                            || name.starts_with(['/', '.', '-', ':', '=', '@', '+', '%', '"'])))
            }
        }
    })
}

/// Makes a word one that never falls apart, as values of variables are.
pub(super) fn whole(word: &mut Word) {
    let splits = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown { splits: true, .. }));
    if !word.pieces.iter().any(splits) {
        return;
    }
    for piece in word.edit().iter_mut() {
        if let Piece::Unknown(unknown) = piece {
            unknown.splits = false;
        }
    }
}

/// Bytes that mean nothing to a shell, wherever they stand.
fn simple(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'.' | b'/' | b':' | b',' | b'=' | b'+' | b'@' | b'%' | b'^' | b'-')
}
