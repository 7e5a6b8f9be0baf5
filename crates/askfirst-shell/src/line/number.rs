//! Arithmetic: bash evaluates what variables hold, so only numbers and names that surely hold numbers are taken.

use super::atoms::Atom;
use super::close::Bytes;
use super::state::{Known, State, own};
use super::syntax::Span;
use super::tree::Piece;
use super::walk::Walker;
use super::word::Around;

/// Whether an expression is a statement of its own, `(( … ))`, or a part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alone {
    Yes,
    No,
}

impl Walker<'_> {
    /// Reads an expression: a gap unless every part of it surely is a number.
    pub(super) fn number(&mut self, span: &Span, alone: Alone, state: &mut State) {
        let bytes = Bytes(self.text.as_bytes());
        let (mut at, end) = (span.start, span.end);
        let holds = self.surely_holds(span, state);
        self.breaks |= !holds;
        let mut fine = true;
        while at < end {
            match bytes.at(at) {
                b'0'..=b'9' => {
                    while at < end && (bytes.at(at).is_ascii_alphanumeric() || bytes.at(at) == b'#') {
                        at += 1;
                    }
                    continue;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let from = at;
                    while at < end && (bytes.at(at).is_ascii_alphanumeric() || bytes.at(at) == b'_') {
                        at += 1;
                    }
                    let name = self.slice(&(from..at)).to_owned();
                    let mut next = at;
                    while next < end && bytes.at(next) == b' ' {
                        next += 1;
                    }
                    if bytes.at(next) == b'=' && bytes.at(next + 1) != b'=' && next < end {
                        self.slip(&name, span);
                        // Anywhere but in a statement of its own it may not happen, or happen elsewhere.
                        let first = self.slice(&(span.start..from)).trim().is_empty();
                        let sure = alone == Alone::Yes && first && holds;
                        state.set(&name, sure.then_some(Known::Number));
                    } else if bytes.at(at) == b'[' || !self.holds_number(&name, state) {
                        fine = false;
                    } else if state.get(&name).is_some() {
                        state.set(&name, Some(Known::Number));
                    }
                    continue;
                }
                b'$' => {
                    let Some(close) = bytes.dollar(at, end, 0) else {
                        fine = false;
                        break;
                    };
                    let mut stop = close;
                    while close == at + 1
                        && stop < end
                        && (bytes.at(stop).is_ascii_alphanumeric() || bytes.at(stop) == b'_')
                    {
                        stop += 1;
                    }
                    let inner = self.slice(&(at + 1..stop)).to_owned();
                    let name =
                        inner.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(&inner);
                    let special =
                        close == at + 1 && stop < end && matches!(bytes.at(stop), b'#' | b'?' | b'$' | b'!');
                    if special {
                        stop += 1;
                    } else if name.starts_with('(') && !name.starts_with("((") {
                        fine &= self.counted(&(at..stop), state);
                    } else if name.starts_with("((") || name.starts_with('#') {
                        self.scan(&(at..stop), Around::Double, state);
                    } else if !self.holds_number(name, state) {
                        fine = false;
                        self.scan(&(at..stop), Around::Double, state);
                    }
                    at = stop.max(at + 1);
                    continue;
                }
                b'`' | b'\'' | b'"' | b'\\' => {
                    fine = false;
                    self.scan(&(at..end), Around::Document, state);
                    break;
                }
                b'[' | b']' => fine = false,
                b' ' | b'\t' | b'\n' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!'
                | b'&' | b'|' | b'^' | b'~' | b'?' | b':' | b',' | b'(' | b')' | b';' => {}
                _ => fine = false,
            }
            at += 1;
        }
        if !fine {
            self.gap(span, "arithmetic that evaluates the value of a variable");
        }
    }

    /// Whether a substitution surely comes to digits.
    pub(super) fn counted(&mut self, span: &Span, state: &mut State) -> bool {
        let atoms = self.atoms(span, Around::Double, state);
        let mut pieces = atoms.iter().filter(|atom| !matches!(atom, Atom::Empty));
        match (pieces.next(), pieces.next()) {
            (Some(Atom::Piece(piece)), None) => {
                matches!(&**piece, Piece::Unknown(unknown) if self.counts(unknown))
            }
            _ => false,
        }
    }

    /// Whether bash surely comes to a number here. Where it does not it stops over the rest of the line and goes on behind it,
    /// so only a small grammar counts: decimals, names of numbers, `+ - *`, comparisons, `&&` and `||`, one sign in front of an
    /// operand, brackets, a division by a decimal, and one assignment or `++` in front of all.
    fn surely_holds(&self, span: &Span, state: &State) -> bool {
        let text = self.slice(span).trim();
        let name = text.trim_start_matches("++").trim_start_matches("--");
        let name = name.strip_suffix("++").or_else(|| name.strip_suffix("--")).unwrap_or(name);
        let counts_one = text.len() == name.len() + 2 && canonical(name, state) && state.get(name).is_some();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let behind = text.trim_start_matches(is_name).trim_start();
        let signs = ["=", "+=", "-=", "*="];
        let target = text.get(..text.len() - text.trim_start_matches(is_name).len()).unwrap_or_default();
        let sign = signs.iter().find(|sign| behind.starts_with(**sign) && !target.is_empty());
        // What is added to must be a number already.
        let sign = sign.filter(|sign| match **sign {
            "=" => !own(target),
            _ => canonical(target, state) && state.get(target).is_some(),
        });
        let value = sign.and_then(|sign| behind.strip_prefix(*sign));
        let value =
            value.filter(|value| !value.starts_with('=') && !text.starts_with(|c: char| c.is_ascii_digit()));
        text.is_empty()
            || counts_one
            || sure_terms(value.unwrap_or(text), state)
            || self.sum(span, state).is_some()
    }

    /// What an expression of known numbers comes to.
    pub(super) fn sum(&self, span: &Span, state: &State) -> Option<i64> {
        let mut sum = Sum { rest: self.slice(span), state, depth: 0 };
        let value = sum.terms()?;
        sum.rest.trim_start().is_empty().then_some(value)
    }

    /// Whether a variable surely holds a number: as `numeric`, or it is what a command counted.
    pub(super) fn holds_number(&self, name: &str, state: &State) -> bool {
        let counted = match state.get(name) {
            Some(Known::Value(pieces)) => {
                matches!(&**pieces, [Piece::Unknown(unknown)] if self.counts(unknown))
            }
            Some(Known::Number | Known::List(_)) | None => false,
        };
        counted || numeric(name, state)
    }
}

/// Whether operands and operators take turns, and none of them is one that bash may stop over.
fn sure_terms(text: &str, state: &State) -> bool {
    const SIGNS: [&str; 15] =
        ["<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "<", ">", "/", "%"];
    let (mut rest, mut open, mut operand) = (text.trim_start(), 0_usize, false);
    let word = |text: &str| text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    while !rest.is_empty() {
        if operand && let Some(behind) = rest.strip_prefix(')') {
            let Some(left) = open.checked_sub(1) else { return false };
            (open, rest) = (left, behind.trim_start());
            continue;
        }
        if operand {
            let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else { return false };
            let next = rest.get(sign.len()..).unwrap_or_default();
            rest = next.trim_start();
            // A sign of its own in what is filled in right behind a minus would make it `--`.
            if *sign == "-" && next.starts_with('$') && !is_positive(next, state) {
                return false;
            }
            // `<<=`, `**`, `+=` and their like are others.
            if rest.starts_with(['<', '>', '=', '&', '|', '*', '+', '/', '%'])
                || (*sign == "-" && rest.starts_with('-'))
            {
                return false;
            }
            let divisor = rest.get(..word(rest)).unwrap_or_default();
            if matches!(*sign, "/" | "%") && decimal(divisor).is_none_or(|divisor| divisor == 0) {
                return false;
            }
            operand = false;
            continue;
        }
        rest = rest.strip_prefix(['-', '!']).unwrap_or(rest).trim_start();
        if rest.starts_with(['-', '+']) {
            return false;
        }
        if let Some(behind) = rest.strip_prefix('(') {
            (open, rest) = (open + 1, behind.trim_start());
            continue;
        }
        let name = rest.strip_prefix("${").or_else(|| rest.strip_prefix('$')).unwrap_or(rest);
        let count = word(name);
        let (name, behind) = name.split_at_checked(count).unwrap_or_default();
        let behind = if rest.starts_with("${") { behind.strip_prefix('}') } else { Some(behind) };
        let literal = !rest.starts_with('$') && decimal(name).is_some();
        let Some(behind) = behind.filter(|_| literal || canonical(name, state)) else { return false };
        let counted = ["++ ", "-- "].iter().find_map(|sign| behind.strip_prefix(*sign));
        let counts = |_: &&str| !literal && !rest.starts_with('$') && state.get(name).is_some();
        let behind = counted.filter(counts).unwrap_or(behind);
        (rest, operand) = (behind.trim_start(), true);
    }
    operand && open == 0
}

/// Whether the variable that a text begins with surely holds digits alone.
fn is_positive(text: &str, state: &State) -> bool {
    let name = text.trim_start_matches(['$', '{']);
    let name = name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
    match state.get(name) {
        Some(Known::Value(pieces)) => {
            matches!(&**pieces, [Piece::Text(text)] if decimal(text).is_some())
        }
        Some(Known::Number | Known::List(_)) | None => false,
    }
}

/// Whether a variable surely holds a number as bash writes it itself: without a zero in front, which would make it octal.
fn canonical(name: &str, state: &State) -> bool {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    match state.get(name) {
        Some(Known::Value(pieces)) => matches!(&**pieces,
            [Piece::Text(text)] if decimal(text.strip_prefix('-').unwrap_or(text)).is_some()),
        Some(Known::Number | Known::List(_)) | None => numeric(name, state),
    }
}

/// Reads `+ - * / %` and parentheses over known numbers. Whatever else bash knows is not read.
struct Sum<'a> {
    rest: &'a str,
    state: &'a State,
    depth: usize,
}

impl Sum<'_> {
    fn next(&mut self, signs: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let sign = self.rest.chars().next().filter(|c| signs.contains(c))?;
        let rest = self.rest.get(sign.len_utf8()..)?;
        // `**`, `<<`, `+=` and `++` are others.
        if rest.starts_with(['*', '=', '+']) || (sign == '-' && rest.starts_with('-')) {
            return None;
        }
        self.rest = rest;
        Some(sign)
    }

    fn terms(&mut self) -> Option<i64> {
        let mut value = self.factors()?;
        while let Some(sign) = self.next(&['+', '-']) {
            let other = self.factors()?;
            value = if sign == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
        }
        Some(value)
    }

    fn factors(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        while let Some(sign) = self.next(&['*', '/', '%']) {
            let other = self.atom()?;
            value = match sign {
                '*' => value.checked_mul(other)?,
                '/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<i64> {
        if self.next(&['(']).is_some() {
            self.depth += 1;
            let value = (self.depth < 8).then(|| self.terms()).flatten()?;
            self.next(&[')'])?;
            return Some(value);
        }
        self.rest = self.rest.trim_start();
        let name = self.rest.strip_prefix('$').unwrap_or(self.rest);
        let count = name.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let (name, rest) = name.split_at_checked(count)?;
        // Without a `$` digits are a number, not what a function was called with.
        let literal = self.rest.starts_with(|c: char| c.is_ascii_digit());
        self.rest = rest;
        let known = self.state.get(name).filter(|_| !literal);
        match known {
            Some(Known::Value(pieces)) => match &**pieces {
                [Piece::Text(text)] => decimal(text),
                _ => None,
            },
            Some(Known::Number | Known::List(_)) => None,
            None => decimal(name),
        }
    }
}

/// A number as bash reads it too: a zero in front would make it octal.
fn decimal(text: &str) -> Option<i64> {
    let plain = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    (plain && !text.is_empty() && text.len() <= 9).then(|| text.parse().ok()).flatten()
}

/// Whether a text is such a number.
pub(super) fn is_decimal(text: &str) -> bool {
    decimal(text).is_some()
}

/// Whether a variable surely holds a number.
pub(super) fn numeric(name: &str, state: &State) -> bool {
    match state.get(name) {
        Some(Known::Number) => true,
        Some(Known::List(_)) => false,
        Some(Known::Value(pieces)) => match &**pieces {
            [Piece::Text(text)] => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            }
            [] | [_] | [_, _, ..] => false,
        },
        None => matches!(name, "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "EPOCHSECONDS"),
    }
}
