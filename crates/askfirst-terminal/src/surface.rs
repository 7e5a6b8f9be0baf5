//! Draws frames with escape codes. It writes only the rows that changed.
//!
//! It never queries the terminal, because the reply would arrive among the keys.

use askfirst_display::escape::width;
use crossterm::Command;
use crossterm::cursor::{MoveDown, MoveTo, MoveToColumn, MoveUp};
use crossterm::style::{Attribute, Color as Ink, SetAttribute, SetForegroundColor};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style as Look};

use crate::Style;

/// The place of a frame on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Below earlier output.
    Inline,
    /// On the alternate screen.
    Full,
}

/// A frame to draw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) stage: Stage,
    pub(crate) buffer: Buffer,
    /// The column and row of the cursor.
    pub(crate) cursor: (u16, u16),
}

/// A surface that frames are drawn on.
pub(crate) trait Surface {
    /// Returns the bytes that turn the current frame into a new one. They are empty if nothing changed.
    fn show(&mut self, frame: &Frame) -> String;
    /// Returns the bytes that remove the frame and print a few lines instead.
    fn close(&mut self, lines: &[String]) -> String;
}

/// A terminal that supports the common ANSI escape codes.
#[derive(Debug)]
pub(crate) struct AnsiSurface {
    style: Style,
    stage: Stage,
    rows: Vec<String>,
    /// The inline rows, kept while the alternate screen is in use.
    below: Vec<String>,
    cursor: (u16, u16),
    inline_cursor: (u16, u16),
    columns: u16,
    begun: bool,
}

impl AnsiSurface {
    pub(crate) fn new(style: Style, columns: u16) -> Self {
        Self {
            style,
            stage: Stage::Inline,
            rows: Vec::new(),
            below: Vec::new(),
            cursor: (0, 0),
            inline_cursor: (0, 0),
            columns,
            begun: false,
        }
    }

    /// Sets the width and marks all rows for redrawing, because a resize may have moved them.
    pub(crate) fn resize(&mut self, columns: u16) {
        self.columns = columns;
        self.rows.iter_mut().for_each(String::clear);
        self.below.iter_mut().for_each(String::clear);
    }

    fn switch(&mut self, to: Stage, out: &mut String) {
        match (self.stage, to) {
            (Stage::Inline, Stage::Full) => {
                put(out, &EnterAlternateScreen);
                put(out, &Clear(ClearType::All));
                self.below = std::mem::take(&mut self.rows);
                self.inline_cursor = self.cursor;
            }
            (Stage::Full, Stage::Inline) => {
                put(out, &LeaveAlternateScreen);
                self.rows = std::mem::take(&mut self.below);
                self.cursor = self.inline_cursor;
                self.begun = !self.rows.is_empty();
            }
            (Stage::Inline, Stage::Inline) | (Stage::Full, Stage::Full) => {}
        }
        self.stage = to;
    }

    /// Moves the cursor to a row.
    fn go(&mut self, row: u16, out: &mut String) {
        if self.stage == Stage::Full {
            put(out, &MoveTo(0, row));
        } else {
            out.push('\r');
            let here = self.cursor.1;
            if row > here {
                put(out, &MoveDown(row - here));
            } else if row < here {
                put(out, &MoveUp(here - row));
            }
        }
        self.cursor = (0, row);
    }
}

impl Surface for AnsiSurface {
    fn show(&mut self, frame: &Frame) -> String {
        let mut out = String::new();
        self.switch(frame.stage, &mut out);
        let new = rows(&frame.buffer, self.style);
        let height = |rows: &[String]| u16::try_from(rows.len()).unwrap_or(u16::MAX);
        if !self.begun {
            self.begun = true;
            // In the middle of a line, this moves to the next line. At the start of a line, it stays there.
            out.push_str(&" ".repeat(self.columns.into()));
            out.push('\r');
        }
        for (at, row) in (0_u16..).zip(&new) {
            let there = self.rows.get(usize::from(at));
            if there == Some(row) {
                continue;
            }
            match (there.is_some(), self.stage) {
                (true, _) | (false, Stage::Full) => self.go(at, &mut out),
                (false, Stage::Inline) if at == 0 => {}
                (false, Stage::Inline) => {
                    self.go(at - 1, &mut out);
                    out.push('\n');
                    out.push('\r');
                    self.cursor = (0, at);
                }
            }
            out.push_str(row);
            put(&mut out, &Clear(ClearType::UntilNewLine));
            if let Some(slot) = self.rows.get_mut(usize::from(at)) {
                slot.clone_from(row);
            } else {
                self.rows.push(row.clone());
            }
        }
        if self.rows.len() > new.len() {
            self.go(height(&new), &mut out);
            put(&mut out, &Clear(ClearType::FromCursorDown));
            self.rows.truncate(new.len());
        }
        if out.is_empty() && self.cursor == frame.cursor {
            return out;
        }
        self.go(frame.cursor.1, &mut out);
        put(&mut out, &MoveToColumn(frame.cursor.0));
        self.cursor = frame.cursor;
        out
    }

    fn close(&mut self, lines: &[String]) -> String {
        let mut out = String::new();
        self.switch(Stage::Inline, &mut out);
        if self.begun {
            self.go(0, &mut out);
            put(&mut out, &Clear(ClearType::FromCursorDown));
        }
        for line in lines {
            out.push_str(line);
            out.push('\n');
        }
        (self.rows, self.begun, self.cursor) = (Vec::new(), false, (0, 0));
        out
    }
}

fn put(out: &mut String, command: &impl Command) {
    // Writing into a string cannot fail.
    let _ = command.write_ansi(out);
}

/// Each row of a buffer as text, without trailing spaces.
fn rows(buffer: &Buffer, style: Style) -> Vec<String> {
    let area = buffer.area;
    (area.top()..area.bottom()).map(|y| row(buffer, y, style)).collect()
}

fn row(buffer: &Buffer, y: u16, style: Style) -> String {
    let mut text = String::new();
    let mut kept = 0;
    let mut look = Look::new();
    let mut covered = 0;
    for x in buffer.area.left()..buffer.area.right() {
        let Some(cell) = buffer.cell((x, y)) else { continue };
        if covered > 0 {
            covered -= 1;
            continue;
        }
        let symbol = cell.symbol();
        covered = width(symbol).saturating_sub(1);
        let next = Look::new().fg(cell.fg).add_modifier(cell.modifier);
        if style == Style::Colored
            && next != look
            && (symbol != " " || (next.add_modifier | look.add_modifier).contains(Modifier::REVERSED))
        {
            ink(&mut text, next);
            look = next;
        }
        text.push_str(symbol);
        if symbol != " " || look.add_modifier.contains(Modifier::REVERSED) {
            kept = text.len();
        }
    }
    text.truncate(kept);
    if look != Look::new() {
        put(&mut text, &SetAttribute(Attribute::Reset));
    }
    text
}

fn ink(out: &mut String, look: Look) {
    put(out, &SetAttribute(Attribute::Reset));
    let color = match look.fg {
        Some(Color::Red) => Ink::DarkRed,
        Some(Color::Green) => Ink::DarkGreen,
        Some(Color::Yellow) => Ink::DarkYellow,
        Some(Color::Blue) => Ink::DarkBlue,
        Some(Color::Magenta) => Ink::DarkMagenta,
        Some(Color::Cyan) => Ink::DarkCyan,
        Some(_) | None => Ink::Reset,
    };
    if color != Ink::Reset {
        put(out, &SetForegroundColor(color));
    }
    let attributes = [
        (Modifier::BOLD, Attribute::Bold),
        (Modifier::DIM, Attribute::Dim),
        (Modifier::UNDERLINED, Attribute::Underlined),
        (Modifier::REVERSED, Attribute::Reverse),
    ];
    for (modifier, attribute) in attributes {
        if look.add_modifier.contains(modifier) {
            put(out, &SetAttribute(attribute));
        }
    }
}
