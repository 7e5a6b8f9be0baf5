//! Where an opened bracket closes, read by our own eyes: quotes, comments and here-documents inside are stepped over.

/// The bytes of a text, read without ever leaving it.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

/// What stands in `$(( … ))`, if a text is that and nothing else: `$((a); (b))` starts programs.
pub(crate) fn arithmetic(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("$((")?.strip_suffix("))")?;
    (Bytes(text.as_bytes()).sums(3, text.len(), 0) == Some(text.len())).then_some(inner)
}

/// How deep the search for closing brackets may go.
const DEPTH: usize = 24;

impl Bytes<'_> {
    pub(super) fn at(self, index: usize) -> u8 {
        self.0.get(index).copied().unwrap_or(0)
    }

    /// Behind the closing `'` of what opens before `from`.
    pub(super) fn single(self, from: usize, end: usize) -> Option<usize> {
        (from..end).find(|&at| self.at(at) == b'\'').map(|at| at + 1)
    }

    /// Behind the closing `'` of `$'`.
    pub(super) fn ansi(self, from: usize, end: usize) -> Option<usize> {
        let mut at = from;
        while at < end {
            match self.at(at) {
                b'\\' => at += 2,
                b'\'' => return Some(at + 1),
                _ => at += 1,
            }
        }
        None
    }

    /// Behind the closing backquote.
    pub(super) fn tick(self, from: usize, end: usize) -> Option<usize> {
        let mut at = from;
        while at < end {
            match self.at(at) {
                b'\\' => at += 2,
                b'`' => return Some(at + 1),
                _ => at += 1,
            }
        }
        None
    }

    /// Behind the closing `"`.
    pub(super) fn double(self, from: usize, end: usize, depth: usize) -> Option<usize> {
        let mut at = from;
        while at < end {
            match self.at(at) {
                b'"' => return Some(at + 1),
                b'\\' => at += 2,
                b'`' => at = self.tick(at + 1, end)?,
                b'$' => at = self.dollar(at, end, depth)?,
                _ => at += 1,
            }
        }
        None
    }

    /// Behind an expansion that begins at this `$`; behind the `$` if it begins none.
    pub(super) fn dollar(self, at: usize, end: usize, depth: usize) -> Option<usize> {
        if depth > DEPTH {
            return None;
        }
        match (self.at(at + 1), self.at(at + 2)) {
            (b'(', b'(') => {
                self.sums(at + 3, end, depth + 1).or_else(|| self.command(at + 2, end, depth + 1))
            }
            (b'(', _) => self.command(at + 2, end, depth + 1),
            (b'{', _) => self.brace(at + 2, end, depth + 1),
            (b'[', _) => self.square(at + 2, end, depth + 1),
            _ => Some(at + 1),
        }
    }

    /// Behind the `))` of `$((`; none if it does not close that way.
    pub(super) fn sums(self, from: usize, end: usize, depth: usize) -> Option<usize> {
        let (mut at, mut open) = (from, 0usize);
        while at < end {
            match self.at(at) {
                b'(' => open += 1,
                b')' if open == 0 => return (self.at(at + 1) == b')' && at + 1 < end).then_some(at + 2),
                b')' => open -= 1,
                b'\\' => at += 1,
                b'\'' | b'"' => return None,
                b'`' => {
                    at = self.tick(at + 1, end)?;
                    continue;
                }
                b'$' => {
                    at = self.dollar(at, end, depth)?;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// Behind the `]` of `$[`.
    fn square(self, from: usize, end: usize, depth: usize) -> Option<usize> {
        let (mut at, mut open) = (from, 0usize);
        while at < end {
            match self.at(at) {
                b'[' => open += 1,
                b']' if open == 0 => return Some(at + 1),
                b']' => open -= 1,
                b'\\' | b'\'' | b'"' | b'`' => return None,
                b'$' => {
                    at = self.dollar(at, end, depth)?;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// Behind the `}` of `${`.
    pub(super) fn brace(self, from: usize, end: usize, depth: usize) -> Option<usize> {
        let mut at = from;
        while at < end {
            match self.at(at) {
                b'}' => return Some(at + 1),
                b'\\' => at += 2,
                // Whether a single quote quotes here depends on the quotes around and on the operator.
                b'\'' => return None,
                b'"' => at = self.double(at + 1, end, depth)?,
                b'`' => at = self.tick(at + 1, end)?,
                b'$' => at = self.dollar(at, end, depth)?,
                b'{' => return None,
                _ => at += 1,
            }
        }
        None
    }

    /// Behind the `)` of `$(`, `<(` or `>(`. None where a `case` makes that uncertain.
    pub(super) fn command(self, from: usize, end: usize, depth: usize) -> Option<usize> {
        if depth > DEPTH {
            return None;
        }
        let (mut at, mut open) = (from, 0usize);
        let mut docs: Vec<(Vec<u8>, bool)> = Vec::new();
        let mut fresh = true;
        while at < end {
            let byte = self.at(at);
            let was = std::mem::replace(&mut fresh, false);
            match byte {
                b')' if open == 0 => return docs.is_empty().then_some(at + 1),
                b')' => {
                    open -= 1;
                    fresh = true;
                    at += 1;
                }
                b'(' => {
                    open += 1;
                    fresh = true;
                    at += 1;
                }
                b' ' | b'\t' | b';' | b'&' | b'|' => {
                    fresh = true;
                    at += 1;
                }
                b'\n' => {
                    fresh = true;
                    at += 1;
                    for (delimiter, strips) in docs.drain(..) {
                        at = self.document(at, end, &delimiter, strips)?;
                    }
                }
                b'#' if was => at = (at..end).find(|&at| self.at(at) == b'\n')?,
                b'c' if was && self.0.get(at..at + 4) == Some(b"case") && blank(self.at(at + 4)) => {
                    return None;
                }
                b'<' if self.at(at + 1) == b'<' && self.at(at + 2) == b'<' => at += 3,
                b'<' if self.at(at + 1) == b'<' => {
                    let strips = self.at(at + 2) == b'-';
                    let (next, delimiter) = self.delimiter(at + 2 + usize::from(strips), end)?;
                    docs.push((delimiter, strips));
                    at = next;
                }
                b'\\' => at += 2,
                b'\'' => at = self.single(at + 1, end)?,
                b'"' => at = self.double(at + 1, end, depth + 1)?,
                b'`' => at = self.tick(at + 1, end)?,
                b'$' if self.at(at + 1) == b'\'' => at = self.ansi(at + 2, end)?,
                b'$' => at = self.dollar(at, end, depth)?,
                _ => at += 1,
            }
        }
        None
    }

    /// A delimiter of plain letters, quoted or not.
    fn delimiter(self, from: usize, end: usize) -> Option<(usize, Vec<u8>)> {
        let mut at = from;
        while at < end && matches!(self.at(at), b' ' | b'\t') {
            at += 1;
        }
        let (mut word, mut quote) = (Vec::new(), 0u8);
        while at < end {
            let byte = self.at(at);
            match byte {
                b'\'' | b'"' if quote == 0 => quote = byte,
                _ if quote != 0 && byte == quote => quote = 0,
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' => word.push(byte),
                _ if quote != 0 => return None,
                b'\\' if self.at(at + 1).is_ascii_alphabetic() => {}
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>' => break,
                _ => return None,
            }
            at += 1;
        }
        (quote == 0 && !word.is_empty()).then_some((at, word))
    }

    /// Behind the line that is this delimiter.
    fn document(self, from: usize, end: usize, delimiter: &[u8], strips: bool) -> Option<usize> {
        let mut at = from;
        while at < end {
            let stop = (at..end).find(|&at| self.at(at) == b'\n').unwrap_or(end);
            let mut line = self.0.get(at..stop)?;
            while let (true, [b'\t', rest @ ..]) = (strips, line) {
                line = rest;
            }
            if line == delimiter {
                return (stop < end).then_some(stop + 1);
            }
            at = stop + 1;
        }
        None
    }
}

fn blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\\')
}
