//! Queries of databases: what only reads is covered by a rule for the program, everything else is asked about.

use super::Reader;
use crate::line::tree::Word;
use crate::programs::words::shown;

/// How a query begins that only reads.
const READING: [&str; 9] =
    ["select", "with", "show", "explain", "values", "table", "describe", "desc", "pragma_table_info"];
/// Words that change something, or reach beyond the database.
const BEYOND: [&str; 31] = [
    "alter",
    "attach",
    "call",
    "copy",
    "create",
    "delete",
    "detach",
    "do",
    "drop",
    "dump",
    "edit",
    "exec",
    "execute",
    "fsdir",
    "fts3_tokenizer",
    "grant",
    "handler",
    "import",
    "insert",
    "install",
    "into",
    "load",
    "load_extension",
    "merge",
    "program",
    "readfile",
    "replace",
    "set",
    "truncate",
    "update",
    "writefile",
];
/// Heads of functions that reach files or other machines.
const REACHING: [&str; 8] = ["pg_", "lo_", "dblink", "load_", "read_", "file_", "sys_", "xp_"];
/// Orders of the programs themselves that only show something.
const SHOWING: [&str; 7] =
    [".tables", ".schema", ".indexes", ".indices", ".databases", "\\conninfo", "\\timing"];

impl Reader<'_, '_> {
    pub(super) fn query(&mut self, word: &Word, at: usize) {
        if word.literal().is_none_or(|text| !only_reads(text)) {
            let name = shown(word);
            let why = format!("`{name}` may do more than read, so it needs a rule that names it");
            if word.literal().is_some() {
                self.doubt_named(at, vec![name], why);
            } else {
                self.doubt(at, &why);
            }
        }
    }
}

pub(crate) fn only_reads(text: &str) -> bool {
    let text = text.trim();
    if text.starts_with(['.', '\\']) {
        let (order, rest) = text.split_once(' ').unwrap_or((text, ""));
        let listing = order.strip_prefix("\\d").or_else(|| order.strip_prefix("\\l"));
        let shows = SHOWING.contains(&order)
            || listing.is_some_and(|more| more.chars().all(|c| c.is_ascii_alphabetic() || c == '+'));
        return shows && rest.chars().all(|c| c.is_ascii_alphanumeric() || "_.*% \"".contains(c));
    }
    let query = text.trim_end_matches(';');
    let lower = query.to_lowercase();
    let mut words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let begins = words.clone().next().is_some_and(|word| READING.contains(&word));
    let stays =
        words.all(|word| !BEYOND.contains(&word) && !REACHING.iter().any(|head| word.starts_with(head)));
    begins && stays && calls_only_known(&lower) && !query.contains([';', '\\', '`']) && !query.contains("\n.")
}

/// Whether every function that is called is one that only computes: others may run a text, or reach out.
fn calls_only_known(query: &str) -> bool {
    const KNOWN: [&str; 14] = [
        "avg", "cast", "coalesce", "count", "date", "datetime", "length", "lower", "max", "min", "now",
        "round", "sum", "upper",
    ];
    const BEFORE: [&str; 8] = ["in", "as", "from", "and", "or", "not", "exists", "select"];
    query.match_indices('(').all(|(at, _)| {
        let before = query.get(..at).unwrap_or_default().trim_end();
        let start = before.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
        let name = before.get(start..).unwrap_or_default();
        let quoted = before.ends_with(['"', '\'', ']']);
        !quoted && (name.is_empty() || KNOWN.contains(&name) || BEFORE.contains(&name))
    })
}

#[cfg(test)]
#[path = "queries/tests.rs"]
mod tests;
