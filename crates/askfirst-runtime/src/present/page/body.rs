//! The sections of one request: what is claimed, what is known, what the tool shows, what an approval covers.

use askfirst::{ApprovalPresentation, ApprovalRequest, Args, Fact, PresentationKind};
use serde_json::Value;

use super::{Maker, Place, warning};
use crate::present::escape::{Piece, visible};
use crate::present::line::{Change, Entry, Part};
use crate::present::offer::{Choice, Offers};
use crate::present::tree::Tree;

/// What a hand-over names, by the arguments that hold it.
const HANDED: [(&str, &[&str]); 4] = [
    ("target", &["target", "worker", "name"]),
    ("input", &["input", "input_data", "instructions", "task", "prompt", "message"]),
    ("attachments", &["attachments", "files"]),
    ("may use", &["tools", "toolsets", "allowed_tools", "permissions"]),
];

/// Facts that name a host or a program.
const NAMES: [&str; 5] = ["host", "hosts", "program", "programs", "url"];

impl Maker<'_> {
    pub(super) fn claim(&mut self, request: &ApprovalRequest) {
        if request.description.is_empty() {
            return;
        }
        let text = self.clean(&request.description);
        let lines = self.counted.take(visible(&text));
        let entries = lines.into_iter().map(|pieces| Entry::new(Part::Claim, pieces)).collect();
        self.section(Place::Content, "agent says (not checked):", entries);
    }

    pub(super) fn facts(&mut self, request: &ApprovalRequest) {
        let mut entries = Vec::new();
        for fact in &request.facts {
            entries.extend(self.fact(fact));
            if NAMES.contains(&fact.label.as_str()) {
                entries.extend(warning(host_or_program(&fact.label), &fact.text));
            }
        }
        if matches!(request.tool_name.as_str(), "worker_call" | "worker_create") {
            entries.extend(self.handed(request));
        }
        entries.push(self.field(Part::Fact, "approval", request.approval.as_str()));
        self.section(Place::Facts, "facts:", entries);
    }

    fn fact(&mut self, fact: &Fact) -> Vec<Entry> {
        if !fact.text.contains('\n') {
            return vec![self.field(Part::Fact, &fact.label, &fact.text)];
        }
        let mut entries = vec![self.field(Part::Fact, &fact.label, "")];
        let text = self.clean(&fact.text);
        let lines = self.counted.take(visible(&text));
        entries.extend(lines.into_iter().map(|pieces| Entry { part: Part::Fact, indent: 2, pieces }));
        entries
    }

    fn handed(&mut self, request: &ApprovalRequest) -> Vec<Entry> {
        let shown = self.clean_args(&request.args);
        let of = |names: &[&str]| names.iter().find_map(|name| shown.get(*name)).cloned();
        let handed: Args =
            HANDED.iter().filter_map(|(label, names)| Some(((*label).to_owned(), of(names)?))).collect();
        let mut entries = Tree { part: Part::Fact, counted: &mut self.counted, shown: None }.fields(&handed);
        if !handed.contains_key("attachments") && request.tool_name == "worker_call" {
            entries.push(self.field(Part::Fact, "attachments", "none"));
        }
        entries
    }

    pub(super) fn content(&mut self, request: &ApprovalRequest) {
        if let Some(presentation) = &request.presentation {
            self.presentation(presentation);
        }
        let shown = request.presentation.as_ref().map(ApprovalPresentation::full_content);
        let args = self.clean_args(&request.args);
        let mut tree = Tree { part: Part::Args, counted: &mut self.counted, shown };
        let entries = tree.fields(&args);
        let heading = if entries.is_empty() { "arguments: none" } else { "arguments, whole:" };
        self.section(Place::Content, heading, entries);
    }

    fn presentation(&mut self, presentation: &ApprovalPresentation) {
        let kind = presentation.kind;
        let full = presentation.full_content();
        let mut entries = Vec::new();
        if let Some(language) = &presentation.language {
            entries.push(self.field(Part::Field, "language", language));
        }
        let mut more = presentation.metadata.clone();
        if more.get("full_content").is_some_and(Value::is_string) {
            more.remove("full_content");
        }
        let more = self.clean_args(&more);
        entries.extend(Tree { part: Part::Field, counted: &mut self.counted, shown: None }.fields(&more));
        if !is_beginning(&presentation.content, full) {
            entries.extend(self.drawn(kind, &presentation.content));
            entries.push(Entry::ours(Part::Heading, "and in full:"));
        }
        entries.extend(self.drawn(kind, full));
        let heading = format!(
            "the tool shows this {} ({} bytes, {} lines):",
            kind_words(kind),
            full.len(),
            full.lines().count()
        );
        self.section(Place::Content, &heading, entries);
    }

    fn drawn(&mut self, kind: PresentationKind, content: &str) -> Vec<Entry> {
        let content = self.clean(content);
        match kind {
            PresentationKind::Text | PresentationKind::FileContent => self.plain(kind, &content),
            PresentationKind::Diff => {
                let content = content.strip_suffix('\n').unwrap_or(&content);
                diff_lines(self.counted.take(visible(content)))
            }
            PresentationKind::Command => {
                let mut entries = self.plain(kind, &content);
                for (at, entry) in entries.iter_mut().enumerate() {
                    entry.pieces.insert(0, Piece::ours(if at == 0 { "$ " } else { "  " }));
                }
                entries
            }
            PresentationKind::Structured => match askfirst::json::parse(content.as_bytes()) {
                Ok(value) => {
                    Tree { part: Part::Content(kind), counted: &mut self.counted, shown: None }.value(&value)
                }
                Err(_) => self.plain(kind, &content),
            },
        }
    }

    fn plain(&mut self, kind: PresentationKind, content: &str) -> Vec<Entry> {
        let content = content.strip_suffix('\n').unwrap_or(content);
        let lines = self.counted.take(visible(content));
        lines.into_iter().map(|pieces| Entry::new(Part::Content(kind), pieces)).collect()
    }

    pub(super) fn scope(&mut self, request: &ApprovalRequest, offers: &Offers) {
        if !offers.has(Choice::Session) && !offers.has(Choice::NoSession) {
            return;
        }
        let mut entries = Vec::new();
        if matches!(&request.payload, Value::Object(fields) if *fields == request.args) {
            entries.push(Entry::ours(Part::Scope, "this tool with the same arguments"));
        } else {
            entries
                .push(Entry::ours(Part::Scope, "this tool with the same of these, whatever else differs:"));
            let holder: Args = [("payload".to_owned(), request.payload.clone())].into_iter().collect();
            let holder = self.clean_args(&holder);
            let payload = holder.get("payload").unwrap_or(&Value::Null);
            let mut tree = Tree { part: Part::Scope, counted: &mut self.counted, shown: None };
            entries.extend(tree.value(payload).into_iter().map(|mut entry| {
                entry.indent += 2;
                entry
            }));
        }
        self.section(Place::Facts, "for the session means:", entries);
        self.patterns(request, offers);
    }

    fn patterns(&mut self, request: &ApprovalRequest, offers: &Offers) {
        if !offers.has(Choice::Widen) {
            return;
        }
        let labels = offers.patterns.iter().filter_map(|at| request.patterns.get(*at));
        let labels: Vec<String> = labels.map(|pattern| pattern.label.clone()).collect();
        let entries = labels.iter().enumerate();
        let entries =
            entries.map(|(at, label)| self.field(Part::Scope, &(at + 1).to_string(), label)).collect();
        self.section(Place::Facts, "[w] can widen it, as far as the tool offers, to:", entries);
    }
}

fn host_or_program(label: &str) -> &'static str {
    match label {
        "program" | "programs" => "program's name",
        _ => "host's name",
    }
}

fn kind_words(kind: PresentationKind) -> &'static str {
    match kind {
        PresentationKind::Text => "text",
        PresentationKind::Diff => "diff",
        PresentationKind::FileContent => "file content",
        PresentationKind::Command => "command",
        PresentationKind::Structured => "data",
    }
}

/// Whether a short content only leaves out the end of the full one.
fn is_beginning(content: &str, full: &str) -> bool {
    let cut = content.rsplit_once("\n\n... [").filter(|(_, tail)| {
        tail.strip_suffix(" more lines]").is_some_and(|count| count.bytes().all(|b| b.is_ascii_digit()))
    });
    full.starts_with(cut.map_or(content, |(head, _)| head))
}

/// Only what stands before the first hunk can be a header; below it `---` is a removed line.
fn diff_lines(lines: Vec<Vec<Piece>>) -> Vec<Entry> {
    let mut in_hunk = false;
    let entry = |pieces: Vec<Piece>| {
        let first = pieces.first().map_or("", |piece| piece.text.as_str());
        let change = match first.chars().next() {
            Some('@') if first.starts_with("@@") => Change::Hunk,
            Some('+') if in_hunk => Change::Added,
            Some('-') if in_hunk => Change::Removed,
            Some(_) | None if in_hunk => Change::Same,
            Some(_) | None => Change::Header,
        };
        in_hunk |= change == Change::Hunk;
        Entry::new(Part::Diff(change), pieces)
    };
    lines.into_iter().map(entry).collect()
}
