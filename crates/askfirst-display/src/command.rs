//! A command as rows: its folder, every program that it would start, its redirections, and the must-see parts.
//!
//! The rows come from the tool that parsed the command. Data that is not in the expected form is shown as plain data.

use std::ops::Range;

use serde_json::{Map, Value};

use super::escape::{Piece, width};
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

    /// The rows, in order: harmless ones dim, and a mark before each that needs approval.
    /// A reason that `why` already gives is left out. `clean` replaces the secrets of a text.
    pub(super) fn paragraphs(
        &self,
        why: &str,
        counter: &mut EscapeCounter,
        mut clean: impl FnMut(RowText, &str) -> String,
    ) -> Vec<Paragraph> {
        let mut rows: Vec<(bool, Vec<Piece>, Vec<Piece>)> = Vec::new();
        let mut add = |asks: bool, text: &str, reason: &str| {
            let is_new = |reason: &&str| !asks || !why.contains(*reason);
            let reason = reason.split("; ").filter(is_new).collect::<Vec<_>>().join("; ");
            let reason = reason.strip_prefix("this command ").unwrap_or(&reason);
            let text = counter.line(&clean(RowText::Command, text));
            rows.push((asks, text, counter.line(&clean(RowText::Reason, reason))));
        };
        for row in self.all() {
            add(row.verdict != Verdict::Allow, &row.text, &row.why);
        }
        let is_shown = |part: &MustSeePart| {
            let gives = |row: &CommandRow| row.gives(&part.why) || why.contains(&part.why);
            self.all().any(|row| row.text == part.written && gives(row))
        };
        for part in self.must_see.iter().filter(|part| !is_shown(part)) {
            add(true, &part.shown, &part.why);
        }
        let widths = rows.iter().map(|(_, text, _)| width_of(text)).filter(|width| *width <= MAX_ALIGNED);
        let column = widths.max().unwrap_or_default();
        rows.into_iter().map(|row| paragraph(row, column)).collect()
    }

    /// Whether the command is a single program, so that a list of programs would only repeat it.
    pub(super) fn is_single(&self, command: &str) -> bool {
        let [row] = self.rows.as_slice() else { return false };
        let is_whole = |part: &MustSeePart| part.written == row.text;
        row.text == command && self.redirections.is_empty() && self.must_see.iter().all(is_whole)
    }

    /// Whether every reason for asking is in `why`.
    pub(super) fn is_explained_by(&self, why: &str) -> bool {
        let reasons = self.all().filter(|row| row.verdict != Verdict::Allow).map(|row| row.why.as_str());
        let mut reasons = reasons.chain(self.must_see.iter().map(|part| part.why.as_str()));
        reasons.all(|reason| reason.split("; ").all(|one| why.contains(one)))
    }

    /// Whether the reason next to a program contains a text.
    pub(super) fn mentions(&self, text: &str) -> bool {
        self.all().any(|row| row.verdict != Verdict::Allow && row.why.contains(text))
    }

    /// The folder that the command runs in.
    pub(super) fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
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

/// The widest text whose reason stands in the same column as the others.
const MAX_ALIGNED: usize = 36;
/// The mark before a program that needs approval.
const ASKS: &str = "▲ ";

fn width_of(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| width(&piece.text)).sum()
}

fn paragraph((asks, text, reason): (bool, Vec<Piece>, Vec<Piece>), column: usize) -> Paragraph {
    let (mark, tone) = if asks { (ASKS, Tone::Strong) } else { ("  ", Tone::Dim) };
    let gap = column.saturating_sub(width_of(&text)) + 3;
    let toned = |pieces: Vec<Piece>, tone| pieces.into_iter().map(move |piece| Piece { tone, ..piece });
    let mut pieces = vec![Piece::toned(mark, Tone::Warning)];
    pieces.extend(toned(text, tone));
    if !reason.is_empty() {
        pieces.push(Piece::ours(" ".repeat(gap)));
        pieces.extend(toned(reason, if asks { Tone::None } else { Tone::Dim }));
    }
    Paragraph::new(Part::Fact, pieces).hanging(4)
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
