//! Formats one call of a run as a row, or as several rows on a narrow terminal. It shortens long texts with `…`, but
//! prints errors in full.

use askfirst_display::escape::width;
use askfirst_display::visible_line;
use serde_json::Value;

use super::live::CallSummary;
use crate::print::rows_of;

/// With fewer columns, the call gets its own row.
const NARROW: usize = 64;
/// The indent of rows that continue a call.
const INDENT: usize = 6;

/// One call that has ended.
pub struct CallLine<'a> {
    pub number: u32,
    pub word: &'static str,
    pub over: &'a CallSummary,
    pub what: &'a str,
    pub result: &'a str,
    pub rest: &'a str,
}

impl CallLine<'_> {
    /// Returns the rows for a terminal with this many columns.
    pub fn rows(&self, columns: usize) -> Vec<String> {
        let by = self.over.by.unwrap_or("");
        let head = format!("{:>4}  {:<8} {:>8}  {by:<8}  ", self.number, self.word, self.time());
        layout(&head, self.what, self.result, self.rest, columns)
    }

    fn time(&self) -> String {
        match self.over.took_ms {
            None => "-".to_owned(),
            Some(ms @ 0..10_000) => format!("{ms} ms"),
            Some(ms @ 10_000..600_000) => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
            Some(ms) => format!("{} min", ms / 60_000),
        }
    }
}

/// Lays out a call in columns: the head, then a summary of the call and of its result, and below it the rest in full.
pub fn layout(head: &str, what: &str, result: &str, rest: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(24);
    let result = if result.is_empty() { String::new() } else { format!("→ {result}") };
    let (what, result) = (visible_line(what).text(), visible_line(&result).text());
    let mut rows = Vec::new();
    let indent = if columns < NARROW {
        rows.push(head.to_owned());
        rows.push(format!("{}{}", " ".repeat(INDENT), cut(&what, columns - INDENT)));
        if !result.is_empty() {
            rows.push(format!("{}{}", " ".repeat(INDENT), cut(&result, columns - INDENT)));
        }
        INDENT
    } else {
        let indent = width(head);
        let room = columns.saturating_sub(indent);
        let for_result = if result.is_empty() { 0 } else { width(&result).min(room / 3) + 1 };
        let what = cut(&what, room - for_result);
        let left = room.saturating_sub(width(&what) + 1);
        rows.push(format!("{head}{what} {}", cut(&result, left)));
        indent
    };
    for row in rows_of(&visible_line(rest).text(), columns.saturating_sub(indent)) {
        rows.push(format!("{}{row}", " ".repeat(indent)));
    }
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}

/// Summarizes the result of a tool in a few words.
pub fn result_words(result: &Value) -> String {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    let lines = |text: &str| {
        let (first, more) = (text.lines().find(|line| !line.trim().is_empty()), text.lines().count());
        let first: String = first.unwrap_or_default().chars().take(200).collect();
        if more > 1 { format!("{first} (of {more} lines)") } else { first }
    };
    match (text("stdout"), result) {
        (Some(stdout), _) if !stdout.trim().is_empty() => lines(stdout),
        (Some(_), _) => text("stderr").map(lines).unwrap_or_default(),
        (None, Value::String(text)) => lines(text),
        (None, Value::Null) => String::new(),
        (None, Value::Object(fields)) => match fields.get("content").and_then(Value::as_str) {
            Some(content) => format!("{} bytes", content.len()),
            None => {
                let short = |(key, value): (&String, &Value)| match value {
                    Value::Array(items) => format!("{key}: {} items", items.len()),
                    Value::Object(fields) => format!("{key}: {} fields", fields.len()),
                    Value::String(text) => format!("{key}: {}", lines(text)),
                    Value::Null | Value::Bool(_) | Value::Number(_) => format!("{key}: {value}"),
                };
                fields.iter().map(short).collect::<Vec<_>>().join(", ")
            }
        },
        (None, Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            result.to_string().chars().take(200).collect()
        }
    }
}

/// Shortens a text to this many columns, with `…` at the end.
pub fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        if width(&short) + width(c.encode_utf8(&mut [0; 4])) + 1 > room {
            break;
        }
        short.push(c);
    }
    if room > 0 {
        short.push('…');
    }
    short
}

#[cfg(test)]
#[path = "line/tests.rs"]
mod tests;
