//! Arithmetic: bash evaluates what variables hold, so only numbers and names that surely hold numbers are taken.

use super::atoms::Atom;
use super::close::Bytes;
use super::state::{Known, State};
use super::syntax::Span;
use super::tree::Piece;
use super::walk::Walker;
use super::word::Around;

impl Walker<'_> {
    /// Reads an expression: a gap unless every part of it surely is a number.
    pub(super) fn number(&mut self, span: &Span, state: &mut State) {
        let bytes = Bytes(self.text.as_bytes());
        let (mut at, end) = (span.start, span.end);
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
                        state.set(&name, Some(Known::Number));
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
        let text = self.slice(span);
        let octal =
            text.split(|c: char| !c.is_ascii_alphanumeric()).any(|it| it.len() > 1 && it.starts_with('0'));
        let may_fail = text.contains(['/', '%', '#']) || text.contains("**") || octal;
        if (may_fail && self.sum(span, state).is_none()) || !well_formed(bytes, span) {
            self.breaks = true;
            state.forget();
        }
        if !fine {
            self.gap(span, "arithmetic that evaluates what a variable holds");
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

/// Operators between two operands, the longest first.
const OPERATORS: [&[u8]; 31] = [
    b"<<=", b">>=", b"**", b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&", b"||", b"*=", b"/=", b"%=",
    b"+=", b"-=", b"&=", b"^=", b"|=", b"=", b"+", b"-", b"*", b"/", b"%", b"<", b">", b"&", b"|", b"^",
    b",",
];

/// Whether operands and operators take turns, as far as it takes for bash not to stop over it.
fn well_formed(bytes: Bytes<'_>, span: &Span) -> bool {
    let (mut at, end) = (span.start, span.end);
    let begins = |at: usize, sign: &[u8]| {
        at + sign.len() <= end && sign.iter().enumerate().all(|(n, byte)| bytes.at(at + n) == *byte)
    };
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (mut open, mut choices, mut any) = (0_usize, 0_usize, false);
    // What stands before: nothing to act upon, something, or a name, which can be assigned to.
    let (mut operand, mut name) = (false, false);
    while at < end {
        let byte = bytes.at(at);
        if matches!(byte, b' ' | b'\t' | b'\n') {
            at += 1;
            continue;
        }
        any = true;
        if !operand {
            match byte {
                b'(' => open += 1,
                b'+' | b'-' | b'!' | b'~' => {}
                b'$' => {
                    let Some(close) = bytes.dollar(at, end, 0) else { return false };
                    at = close.max(at + 1);
                    while close == at && at < end && is_word(bytes.at(at)) {
                        at += 1;
                    }
                    if at < end
                        && matches!(bytes.at(at), b'#' | b'?' | b'$' | b'!')
                        && bytes.at(at - 1) == b'$'
                    {
                        at += 1;
                    }
                    (operand, name) = (true, false);
                    continue;
                }
                _ if is_word(byte) => {
                    name = !byte.is_ascii_digit();
                    while at < end && (is_word(bytes.at(at)) || bytes.at(at) == b'#') {
                        at += 1;
                    }
                    operand = true;
                    continue;
                }
                _ => return false,
            }
            at += 1;
            continue;
        }
        if begins(at, b"++") || begins(at, b"--") {
            if !name {
                return false;
            }
            (at, name) = (at + 2, false);
            continue;
        }
        match byte {
            b')' => {
                let Some(left) = open.checked_sub(1) else { return false };
                (open, at, name) = (left, at + 1, false);
            }
            b'?' => (choices, operand, at) = (choices + 1, false, at + 1),
            b':' => {
                let Some(left) = choices.checked_sub(1) else { return false };
                (choices, operand, at) = (left, false, at + 1);
            }
            _ => {
                let Some(sign) = OPERATORS.into_iter().find(|sign| begins(at, sign)) else { return false };
                let assigns = sign.ends_with(b"=") && !matches!(sign, b"<=" | b">=" | b"==" | b"!=");
                if assigns && !name {
                    return false;
                }
                (operand, at) = (false, at + sign.len());
            }
        }
    }
    open == 0 && choices == 0 && (operand || !any)
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
