//! A command as rows: its folder, every program that it would start, its redirections, and the must-see parts.
//!
//! The rows come from the tool that parsed the command. Data that is not in the expected form is shown as plain data.

use std::ops::Range;

use askfirst::Fact;
use serde_json::{Map, Value};

use super::escape::Piece;
use super::line::{Paragraph, Part};
use super::tone::Tone;
use super::tree::EscapeCounter;
use crate::redact::MaskedText;

/// One program or redirection, as the tool reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CommandRow {
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

/// A part of the command that the person must see.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MustSeePart {
    /// The part as it is written in the command.
    written: String,
    /// The part as it is shown, with secrets replaced.
    shown: String,
    /// Its place in the shown command.
    place: Range<usize>,
    why: String,
}

/// The kind of a text in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowText {
    /// A part of the command.
    Command,
    /// The folder that it runs in.
    Folder,
    /// The reason for a verdict.
    Reason,
}

/// Everything that a tool reports about a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandRows {
    rows: Vec<CommandRow>,
    redirections: Vec<CommandRow>,
    must_see: Vec<MustSeePart>,
    folder: Option<String>,
    /// Emphasis on parts of the shown command.
    pub(super) tones: Vec<(Range<usize>, Tone)>,
}

impl CommandRows {
    /// Takes the known keys out of the metadata and leaves the others in it.
    /// Positions in the metadata refer to `command`; `masked` is the command as it is shown.
    pub(super) fn take(
        metadata: &mut Map<String, Value>,
        command: &str,
        masked: &MaskedText,
    ) -> Option<Self> {
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

    /// The rows, in order. `clean` replaces the secrets of a text.
    pub(super) fn paragraphs(
        &self,
        counter: &mut EscapeCounter,
        mut clean: impl FnMut(RowText, &str) -> String,
    ) -> Vec<Paragraph> {
        let part = Part::Fact;
        let mut paragraphs = Vec::new();
        let mut labelled = |label: &str, tone: Tone, (kind, text): (RowText, &str), why: &str| {
            let mut pieces = vec![Piece::toned(format!("{label:<9}"), tone)];
            pieces.extend(counter.line(&clean(kind, text)));
            if !why.is_empty() {
                pieces.push(Piece::toned("  · ", Tone::Dim));
                let why = counter.line(&clean(RowText::Reason, why));
                pieces.extend(why.into_iter().map(|piece| Piece { tone: Tone::Dim, ..piece }));
            }
            paragraphs.push(Paragraph::new(part, pieces).hanging(9));
        };
        if let Some(folder) = &self.folder {
            labelled("in", Tone::Dim, (RowText::Folder, folder), "");
        }
        for row in &self.rows {
            let (word, tone) = row.verdict.words();
            labelled(word, tone, (RowText::Command, &row.text), &row.why);
        }
        for row in &self.redirections {
            let (word, tone) = row.verdict.words();
            labelled(word, tone, (RowText::Command, &row.text), &row.why);
        }
        let is_shown =
            |part: &MustSeePart| self.all().any(|row| row.text == part.written && row.gives(&part.why));
        for part in self.must_see.iter().filter(|part| !is_shown(part)) {
            labelled("warning", Tone::Warning, (RowText::Command, &part.shown), &part.why);
        }
        paragraphs
    }

    /// Whether a row has the verdict ask or deny.
    pub(super) fn needs_answer(row: &Paragraph) -> bool {
        let words = [Verdict::Ask, Verdict::Deny].map(|verdict| verdict.words().0);
        row.pieces.first().is_some_and(|label| words.contains(&label.text.trim_end()))
    }

    /// Whether a row already shows a fact: the folder, or the reason for asking.
    pub(super) fn shows(&self, fact: &Fact) -> bool {
        match fact.label.as_str() {
            "folder" => self.folder.as_deref() == Some(&fact.text),
            "why" => self.all().any(|row| row.gives(&fact.text)),
            _ => false,
        }
    }

    fn all(&self) -> impl Iterator<Item = &CommandRow> {
        self.rows.iter().chain(&self.redirections)
    }

    /// The number of programs.
    pub(super) fn programs(&self) -> usize {
        self.rows.len()
    }
}

impl CommandRow {
    /// Whether `why` is among the reasons for asking about this row or denying it.
    fn gives(&self, why: &str) -> bool {
        self.verdict != Verdict::Allow && (self.why == why || self.why.split("; ").any(|one| one == why))
    }
}

impl Verdict {
    fn words(self) -> (&'static str, Tone) {
        match self {
            Self::Allow => ("allow", Tone::Allowed),
            Self::Ask => ("ask", Tone::Strong),
            Self::Deny => ("deny", Tone::Warning),
        }
    }
}

/// Reads all rows, or none if one of them is invalid, so that no row is lost.
fn rows(value: &Value) -> Option<Vec<CommandRow>> {
    let row = |value: &Value| {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let verdict = match text("verdict")? {
            "allow" => Verdict::Allow,
            "ask" => Verdict::Ask,
            "deny" => Verdict::Deny,
            _ => return None,
        };
        Some(CommandRow {
            text: text("text")?.to_owned(),
            verdict,
            why: text("why").unwrap_or_default().to_owned(),
        })
    };
    value.as_array()?.iter().map(row).collect()
}

fn must_see(value: &Value, command: &str, masked: &MaskedText) -> Option<Vec<MustSeePart>> {
    let number = |value: &Value, key: &str| usize::try_from(value.get(key)?.as_u64()?).ok();
    let one = |value: &Value| {
        let part = number(value, "start")?..number(value, "end")?;
        let written = command.get(part.clone())?.to_owned();
        let place = masked.place(&part);
        let shown = masked.left.get(place.clone())?.to_owned();
        Some(MustSeePart { written, shown, place, why: value.get("why")?.as_str()?.to_owned() })
    };
    value.as_array()?.iter().map(one).collect()
}

#[cfg(test)]
#[path = "command/tests.rs"]
mod tests;
