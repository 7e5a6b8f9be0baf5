//! A command with what it would start: every program in a row of its own, then where it writes and what stands out.
//!
//! The rows come from the tool that took the command apart. What they do not fit is shown as any other data.

use std::ops::Range;

use askfirst::Fact;
use serde_json::{Map, Value};

use super::escape::Piece;
use super::line::{Entry, Part};
use super::tone::Tone;
use super::tree::Counted;
use crate::redact::Masked;

/// One program, redirection or part, as the tool says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    text: String,
    verdict: Verdict,
    why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// A part that must not be overlooked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MustSee {
    /// As it is written.
    written: String,
    /// As it is shown, and where.
    shown: String,
    place: Range<usize>,
    why: String,
}

/// What is said in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// A part of the command.
    Command,
    /// Where it runs.
    Folder,
    /// A reason.
    Why,
}

/// What a tool says about a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parts {
    rows: Vec<Row>,
    redirections: Vec<Row>,
    must_see: Vec<MustSee>,
    folder: Option<String>,
    /// Parts of the command that stand out.
    pub(super) tones: Vec<(Range<usize>, Tone)>,
}

impl Parts {
    /// Takes out of the metadata what can be understood, and leaves the rest in it. Places are those of the command; what
    /// is shown of it is `masked`.
    pub(super) fn take(metadata: &mut Map<String, Value>, command: &str, masked: &Masked) -> Option<Self> {
        let rows = rows(metadata.get("rows")?)?;
        metadata.remove("rows");
        let mut parts = Self { rows, ..Self::default() };
        if let Some(found) = metadata.get("redirections").and_then(self::rows) {
            metadata.remove("redirections");
            parts.redirections = found;
        }
        if let Some(folder) = metadata.get("folder").and_then(Value::as_str).map(str::to_owned) {
            metadata.remove("folder");
            parts.folder = Some(folder);
        }
        if let Some(found) = metadata.get("must_see").and_then(|value| must_see(value, command, masked)) {
            metadata.remove("must_see");
            parts.tones = found.iter().map(|part| (part.place.clone(), Tone::Warning)).collect();
            parts.tones.sort_by_key(|(range, _)| (range.start, range.end));
            parts.tones.dedup_by(|later, earlier| later.0.start < earlier.0.end);
            parts.must_see = found;
        }
        Some(parts)
    }

    /// The rows, in order. `clean` takes the secrets out.
    pub(super) fn entries(
        &self,
        counted: &mut Counted,
        mut clean: impl FnMut(Said, &str) -> String,
    ) -> Vec<Entry> {
        let part = Part::Fact;
        let mut entries = Vec::new();
        let mut labelled = |label: &str, tone: Tone, (said, text): (Said, &str), why: &str| {
            let mut pieces = vec![Piece::toned(format!("{label:<9}"), tone)];
            pieces.extend(counted.line(&clean(said, text)));
            if !why.is_empty() {
                pieces.push(Piece::toned("  · ", Tone::Dim));
                let why = counted.line(&clean(Said::Why, why));
                pieces.extend(why.into_iter().map(|piece| Piece { tone: Tone::Dim, ..piece }));
            }
            entries.push(Entry::new(part, pieces).hanging(9));
        };
        if let Some(folder) = &self.folder {
            labelled("in", Tone::Dim, (Said::Folder, folder), "");
        }
        for row in &self.rows {
            let (word, tone) = row.verdict.words();
            labelled(word, tone, (Said::Command, &row.text), &row.why);
        }
        for row in &self.redirections {
            let (word, tone) = row.verdict.words();
            labelled(word, tone, (Said::Command, &row.text), &row.why);
        }
        let said = |part: &MustSee| self.all().any(|row| row.text == part.written && row.says(&part.why));
        for part in self.must_see.iter().filter(|part| !said(part)) {
            labelled("mind", Tone::Warning, (Said::Command, &part.shown), &part.why);
        }
        entries
    }

    /// Whether a row of these is about something that is not simply allowed.
    pub(super) fn is_asked(row: &Entry) -> bool {
        let words = [Verdict::Ask, Verdict::Deny].map(|verdict| verdict.words().0);
        row.pieces.first().is_some_and(|label| words.contains(&label.text.trim_end()))
    }

    /// Whether a fact stands in a row already: the folder, or why a part is asked about.
    pub(super) fn say(&self, fact: &Fact) -> bool {
        match fact.label.as_str() {
            "folder" => self.folder.as_deref() == Some(&fact.text),
            "why" => self.all().any(|row| row.says(&fact.text)),
            _ => false,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(&self.redirections)
    }

    /// How many programs there are.
    pub(super) fn programs(&self) -> usize {
        self.rows.len()
    }
}

impl Row {
    /// Whether it is not simply allowed, for this reason among others.
    fn says(&self, why: &str) -> bool {
        self.verdict != Verdict::Allow && (self.why == why || self.why.split("; ").any(|one| one == why))
    }
}

impl Verdict {
    fn words(self) -> (&'static str, Tone) {
        match self {
            Self::Allow => ("allowed", Tone::Allowed),
            Self::Ask => ("asked", Tone::Strong),
            Self::Deny => ("denied", Tone::Warning),
        }
    }
}

/// All of them or none: a row that cannot be read must not go missing.
fn rows(value: &Value) -> Option<Vec<Row>> {
    let row = |value: &Value| {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let verdict = match text("verdict")? {
            "allow" => Verdict::Allow,
            "ask" => Verdict::Ask,
            "deny" => Verdict::Deny,
            _ => return None,
        };
        Some(Row { text: text("text")?.to_owned(), verdict, why: text("why").unwrap_or_default().to_owned() })
    };
    value.as_array()?.iter().map(row).collect()
}

fn must_see(value: &Value, command: &str, masked: &Masked) -> Option<Vec<MustSee>> {
    let number = |value: &Value, key: &str| usize::try_from(value.get(key)?.as_u64()?).ok();
    let one = |value: &Value| {
        let part = number(value, "start")?..number(value, "end")?;
        let written = command.get(part.clone())?.to_owned();
        let place = masked.place(&part);
        let shown = masked.left.get(place.clone())?.to_owned();
        Some(MustSee { written, shown, place, why: value.get("why")?.as_str()?.to_owned() })
    };
    value.as_array()?.iter().map(one).collect()
}

#[cfg(test)]
#[path = "command/tests.rs"]
mod tests;
