//! Rows of the audit log as CSV (RFC 4180), for spreadsheets. No cell is a formula, whatever an agent wrote.

use askfirst_display::escape::escaped_line;

use super::row::LogRow;

/// The names of the columns.
const COLUMNS: [&str; 19] = [
    "kind",
    "time",
    "session",
    "call_id",
    "user",
    "uid",
    "host",
    "terminal",
    "front_end",
    "tool",
    "what",
    "outcome",
    "decided_by",
    "decided_at",
    "reason",
    "waited_ms",
    "took_ms",
    "edited_from",
    "edited_to",
];

/// Returns the first row.
pub fn header() -> String {
    COLUMNS.join(",")
}

/// Returns the row of a call or an action.
pub fn row(row: &LogRow) -> String {
    let (word, rest) = row.status();
    let origin = row.start.as_ref().and_then(|start| start.origin.as_ref());
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let decision = row.decision.as_ref();
    let cells: [String; COLUMNS.len()] = [
        row.kind.clone(),
        row.at.clone(),
        row.session.clone(),
        row.call_id.clone(),
        text(origin.and_then(|origin| origin.user.as_ref())),
        origin.map(|origin| origin.uid.to_string()).unwrap_or_default(),
        text(origin.map(|origin| &origin.host)),
        text(origin.and_then(|origin| origin.terminal.as_ref())),
        text(row.start.as_ref().map(|start| &start.door)),
        row.tool.clone(),
        row.what.clone(),
        word.to_owned(),
        decision.map_or_else(|| row.decider().to_owned(), |decision| decision.cause.clone()),
        text(decision.map(|decision| &decision.at)),
        rest,
        decision.map(|decision| decision.waited_ms.to_string()).unwrap_or_default(),
        row.ending.as_ref().map(|ending| ending.took_ms.to_string()).unwrap_or_default(),
        text(row.edited_from.as_ref()),
        text(row.became.as_ref()),
    ];
    cells.iter().map(|text| cell(text)).collect::<Vec<_>>().join(",")
}

/// Quotes a text as a cell. Control characters are escaped visibly.
///
/// A spreadsheet runs a cell as a formula if it starts with one of a few characters. Some spreadsheets start a new cell
/// at a semicolon, and they do not know the quotes of a cell that does not start there. An apostrophe makes it text.
fn cell(text: &str) -> String {
    let text = escaped_line(text);
    let parts =
        text.split(';').map(|part| if is_formula(part) { format!("'{part}") } else { part.to_owned() });
    let text = parts.collect::<Vec<_>>().join(";").replace('"', "\"\"");
    if text.contains(['"', ',', ';', '\'']) || text.trim() != text { format!("\"{text}\"") } else { text }
}

/// Returns whether a spreadsheet may take a text for a formula. Some ignore spaces and quotes in front of it, and some
/// accept the wide forms of the characters.
fn is_formula(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '"' || c == '\'');
    rest.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_is_quoted_and_never_a_formula() {
        for (text, wanted) in [
            ("", ""),
            ("shell", "shell"),
            ("a, b", "\"a, b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("  =1", "\"'  =1\""),
            ("\"=1", "\"'\"\"=1\""),
            ("'=1", "\"''=1\""),
            ("＝1", "\"'＝1\""),
            ("a;=1;b", "\"a;'=1;b\""),
            ("a; \"=cmd\"", "\"a;' \"\"=cmd\"\"\""),
            ("a = b; c - d", "\"a = b; c - d\""),
        ] {
            assert_eq!(cell(text), wanted, "{text}");
        }
        for text in ["\t=1", "\r=1", "a\n=1", "\u{0}=1", "\u{202e}=1"] {
            let cell = cell(text);
            assert!(!cell.chars().any(char::is_control) && !is_formula(&cell), "{cell}");
        }
    }
}
