//! The rows below the content: why askfirst asks, further facts for the decision, and who wants the call.

use askfirst::machine::Member;
use askfirst::{ApprovalRequest, Fact};

use super::super::escape::{Piece, visible};
use super::super::line::{Paragraph, Part};
use super::super::tone::Tone;
use super::words::warning;
use super::{PageBuilder, Place};
use crate::command::CommandRows;

/// Facts that wait among the details. All others are on the first screen.
const DETAILS: [&str; 7] =
    ["rule", "size", "overwrites", "server", "original name", "description", "approval"];

/// Facts that name a host or a program.
const NAMES: [&str; 5] = ["host", "hosts", "program", "programs", "url"];

/// The longest words of an agent that stand in one row with its name, in characters.
const MAX_QUOTE: usize = 240;

/// The reason for asking, as the request gives it.
pub(super) fn why_of(request: &ApprovalRequest) -> String {
    let whys = request.facts.iter().filter(|fact| fact.label == "why");
    whys.map(|fact| fact.text.as_str()).collect::<Vec<_>>().join("; ")
}

impl PageBuilder<'_> {
    /// All rows below the content of one request. `shortened` has the values that the headline shows only in part.
    pub(super) fn context(
        &mut self,
        member: &Member,
        shortened: &[String],
        rows: Option<&CommandRows>,
    ) -> Vec<Paragraph> {
        let request = &member.request;
        let mut paragraphs: Vec<Paragraph> = Vec::new();
        for fact in request.facts.iter().filter(|fact| fact.label == "why") {
            let text = self.clean_fact(&request.args, fact);
            paragraphs.extend(self.fact("why", &text));
        }
        for value in shortened {
            paragraphs.push(self.labelled("in full", value));
        }
        paragraphs.extend(warning("tool name", &request.tool_name));
        let is_short = self.is_in_headline(request, rows);
        if let Some(folder) = rows.filter(|_| is_short).and_then(CommandRows::folder) {
            let folder = self.clean_ours(folder);
            paragraphs.push(self.labelled("in", &folder));
        }
        let why = why_of(request);
        let is_new = |fact: &&Fact| match fact.label.as_str() {
            "why" => false,
            "folder" => rows.and_then(CommandRows::folder).is_none(),
            // Many commands are asked about because they use the network.
            "network" => !why.contains(&fact.text),
            // A root that the reason or a program names.
            "writes" => {
                let root = format!("root `{}`", fact.text);
                !why.contains(&root) && rows.is_none_or(|rows| !rows.mentions(&root))
            }
            label => !DETAILS.contains(&label) && !is_content(request, fact),
        };
        for fact in request.facts.iter().filter(is_new) {
            let text = self.clean_fact(&request.args, fact);
            let label = if fact.label == "folder" { "in" } else { &fact.label };
            paragraphs.extend(self.fact(label, &text));
            if NAMES.contains(&fact.label.as_str()) {
                paragraphs.extend(warning(host_or_program(&fact.label), &fact.text));
            }
        }
        if member.calls > 1 {
            paragraphs
                .push(self.labelled("calls", &format!("{} equal calls wait for this answer", member.calls)));
        }
        paragraphs.extend(self.caller(request));
        paragraphs
    }

    /// The facts among the details.
    pub(super) fn detail_facts(
        &mut self,
        request: &ApprovalRequest,
        rows: Option<&CommandRows>,
    ) -> Vec<Paragraph> {
        let is_detail = |fact: &&Fact| match fact.label.as_str() {
            "folder" => rows.and_then(CommandRows::folder).is_some(),
            label => DETAILS.contains(&label),
        };
        let mut paragraphs = Vec::new();
        for fact in request.facts.iter().filter(is_detail) {
            let text = self.clean_fact(&request.args, fact);
            paragraphs.extend(self.fact(&fact.label, &text));
        }
        paragraphs
    }

    /// Names the caller: the agent with its chain of callers, and its own words, which askfirst did not check.
    fn caller(&mut self, request: &ApprovalRequest) -> Vec<Paragraph> {
        let caller = request.caller.as_deref().map(|caller| self.clean(caller));
        let words = self.agents_words(request);
        let mut row = self.labelled("who", caller.as_deref().unwrap_or("the agent"));
        let Some(words) = words else { return caller.map(|_| row).into_iter().collect() };
        if !words.contains('\n') && words.chars().count() <= MAX_QUOTE {
            let quoted = format!(": \"{}\"", words.replace('"', "\\\""));
            row.pieces.extend(self.counter.line(&quoted));
            row.pieces.push(Piece::toned(" (not checked)", Tone::Dim));
            return vec![row];
        }
        row.pieces.push(Piece::toned(" says (not checked):", Tone::Dim));
        let lines = self.counter.take(visible(&words));
        let indent = self.label_width() + 1;
        let claims = lines.into_iter().map(|pieces| Paragraph::indented(Part::Claim, indent, pieces));
        std::iter::once(row).chain(claims).collect()
    }

    /// The description of a call, unless askfirst, its tool or the config made it.
    fn agents_words(&mut self, request: &ApprovalRequest) -> Option<String> {
        let text = &request.description;
        let is_generated = text.starts_with(&format!("{}(", request.tool_name)) && text.ends_with(')');
        if text.is_empty() || request.action.is_some() || is_generated {
            return None;
        }
        Some(self.clean_about(&request.args, text))
    }

    /// A row with a short label of askfirst and a text that is already redacted.
    pub(super) fn labelled(&mut self, label: &str, text: &str) -> Paragraph {
        let mut pieces = self.label(label);
        pieces.extend(self.counter.line(text));
        Paragraph::new(Part::Fact, pieces).hanging(self.label_width() + 1)
    }

    fn label(&mut self, label: &str) -> Vec<Piece> {
        let mut pieces = self.counter.line(label);
        let used: usize = pieces.iter().map(|piece| crate::escape::width(&piece.text)).sum();
        pieces.push(Piece::ours(" ".repeat(self.label_width().saturating_sub(used) + 1)));
        pieces.into_iter().map(|piece| Piece { tone: Tone::Dim, ..piece }).collect()
    }

    /// Draws a fact that is already redacted.
    fn fact(&mut self, label: &str, text: &str) -> Vec<Paragraph> {
        if !text.contains('\n') {
            return vec![self.labelled(label, text)];
        }
        let mut paragraphs = vec![self.labelled(label, "")];
        let lines = self.counter.take(visible(text));
        let indent = self.label_width() + 1;
        paragraphs.extend(lines.into_iter().map(|pieces| Paragraph::indented(Part::Fact, indent, pieces)));
        paragraphs
    }

    /// The columns of a label.
    fn label_width(&self) -> usize {
        match self.place {
            Place::Page => 6,
            Place::Details => 10,
        }
    }
}

/// Whether the content already shows a fact: the command that a tool runs.
fn is_content(request: &ApprovalRequest, fact: &Fact) -> bool {
    let shown = request.presentation.as_ref().map(askfirst::ApprovalPresentation::full_content);
    let runs = ["runs", "does"].contains(&fact.label.as_str());
    runs && shown.is_some_and(|shown| fact.text.strip_prefix("run: ").unwrap_or(&fact.text) == shown)
}

fn host_or_program(label: &str) -> &'static str {
    match label {
        "program" | "programs" => "program name",
        _ => "host name",
    }
}
