//! Reads the mark in the last line of the prompt from the drawn bytes.
//!
//! Content has a gutter in every row, so it cannot imitate the mark.

/// The last mark that was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// No mark so far.
    None,
    /// Keys do not count.
    NotYet,
    /// Keys count.
    Ready,
}

/// Reads marks from the starts of rows.
#[derive(Debug)]
pub(crate) struct Marks {
    pub(crate) last: Mark,
    row: String,
    sequence: bool,
}

impl Marks {
    pub(crate) fn new() -> Self {
        Self { last: Mark::None, row: String::new(), sequence: false }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                0x1b => self.sequence = true,
                b'[' if self.sequence => {}
                _ if self.sequence => self.sequence = !byte.is_ascii_alphabetic(),
                b'\r' | b'\n' => self.row.clear(),
                _ if self.row.len() < 24 => {
                    // Only the start of a row counts, and the marks are ASCII.
                    self.row.push(if byte.is_ascii() { char::from(*byte) } else { '?' });
                    self.look();
                }
                _ => {}
            }
        }
    }

    fn look(&mut self) {
        self.last = match self.row.as_str() {
            "ready:" => Mark::Ready,
            "[not yet]" | "[preparing]" => Mark::NotYet,
            _ => self.last,
        };
    }
}

#[test]
fn mark_counts_only_at_the_start_of_a_row() {
    let mut marks = Marks::new();
    let read = |marks: &mut Marks, text: &str| {
        marks.take(text.as_bytes());
        marks.last
    };
    assert_eq!(read(&mut marks, "\r\x1b[2m│ \x1b[0mready: "), Mark::None);
    assert_eq!(read(&mut marks, "\n\r\x1b[2m[not yet]\x1b[0m"), Mark::NotYet);
    assert_eq!(read(&mut marks, "\r\x1b[3A\x1b[1m\x1b[32mrea"), Mark::NotYet);
    assert_eq!(read(&mut marks, "dy:\x1b[0m"), Mark::Ready);
    assert_eq!(read(&mut marks, "\r\n[not yet] "), Mark::NotYet);
    assert_eq!(read(&mut marks, "\n\x1b[1;32mready: "), Mark::Ready);
}
