//! The sections of one request: the agent's description, the facts, the presentation and the arguments.

use std::sync::Arc;

use askfirst::{Approval, ApprovalPresentation, ApprovalRequest, Args, Fact, PresentationKind};
use serde_json::Value;

use super::lines::{Body, LinePrefix, TextBody};
use super::{PageBuilder, SectionRole, plural, warning};
use crate::command::{CommandRows, RowText};
use crate::diff::{Diff, unified};
use crate::escape::visible;
use crate::highlight::Highlight;
use crate::line::{Paragraph, Part};
use crate::redact::MaskedText;
use crate::text::{IndexedText, Source};
use crate::tree::{LONG, Tree, above, below};

/// The facts about a call to a worker, each with the arguments that may hold it.
const WORKER_FACTS: [(&str, &[&str]); 4] = [
    ("target", &["target", "worker", "name"]),
    ("input", &["input", "input_data", "instructions", "task", "prompt", "message"]),
    ("attachments", &["attachments", "files"]),
    ("may use", &["tools", "toolsets", "allowed_tools", "permissions"]),
];

/// Facts that name a host or a program.
const NAMES: [&str; 5] = ["host", "hosts", "program", "programs", "url"];

/// Redacted content.
struct Content {
    source: Source,
    /// Its size in bytes and lines before redaction.
    size: (usize, usize),
    /// For a command: the original text and the redacted text.
    command: Option<(String, MaskedText)>,
}

impl Content {
    fn new(written: &str, source: impl Into<Source>) -> Self {
        Self { source: source.into(), size: (written.len(), lines(written)), command: None }
    }
}

fn lines(text: &str) -> usize {
    text.as_bytes().split_inclusive(|byte| *byte == b'\n').count()
}

impl PageBuilder<'_> {
    pub(super) fn add_claim(&mut self, request: &ApprovalRequest) {
        if request.description.is_empty() {
            return;
        }
        let text = self.clean_about(&request.args, &request.description);
        let lines = self.counter.take(visible(&text));
        let paragraphs = lines.into_iter().map(|pieces| Paragraph::new(Part::Claim, pieces)).collect();
        self.add_section(SectionRole::Content, "agent says (not checked):", Body::Paragraphs(paragraphs));
    }

    pub(super) fn add_facts(&mut self, request: &ApprovalRequest) {
        let mut paragraphs = Vec::new();
        let rows = rows_of(request);
        let is_shown = |fact: &&Fact| rows.as_ref().is_some_and(|rows| rows.shows(fact));
        for fact in request.facts.iter().filter(|fact| !is_shown(fact)) {
            let text = self.clean_fact(&request.args, fact);
            paragraphs.extend(self.fact(&fact.label, &text));
            if NAMES.contains(&fact.label.as_str()) {
                paragraphs.extend(warning(host_or_program(&fact.label), &fact.text));
            }
        }
        if matches!(request.tool_name.as_str(), "worker_call" | "worker_create") {
            paragraphs.extend(self.worker_facts(request));
        }
        // The question itself shows that approval is required.
        if request.approval != Approval::Required || paragraphs.is_empty() {
            paragraphs.push(self.field(Part::Fact, "approval", request.approval.as_str()));
        }
        self.first = paragraphs.first().cloned();
        self.add_section(SectionRole::MustSee, "facts:", Body::Paragraphs(paragraphs));
    }

    /// Draws a fact that is already redacted.
    fn fact(&mut self, label: &str, text: &str) -> Vec<Paragraph> {
        if !text.contains('\n') {
            return vec![self.redacted_field(Part::Fact, label, text)];
        }
        let mut paragraphs = vec![self.redacted_field(Part::Fact, label, "")];
        let lines = self.counter.take(visible(text));
        paragraphs.extend(lines.into_iter().map(|pieces| Paragraph::indented(Part::Fact, 2, pieces)));
        paragraphs
    }

    fn worker_facts(&mut self, request: &ApprovalRequest) -> Vec<Paragraph> {
        let shown = self.clean_args(&request.args);
        let of = |names: &[&str]| names.iter().find_map(|name| shown.get(*name)).cloned();
        let facts: Args = WORKER_FACTS
            .iter()
            .filter_map(|(label, names)| Some(((*label).to_owned(), of(names)?)))
            .collect();
        // A value that is too long for a fact is shown in full among the arguments.
        let mut paragraphs = Tree::new(Part::Fact, &mut self.counter).fields(&facts);
        if !facts.contains_key("attachments") && request.tool_name == "worker_call" {
            paragraphs.push(self.field(Part::Fact, "attachments", "none"));
        }
        paragraphs
    }

    /// Adds a heading with the kind and size of content that is still being prepared.
    pub(super) fn add_pending_content(&mut self, request: &ApprovalRequest) {
        let (what, bytes) = match &request.presentation {
            Some(shown) => (kind_words(shown.kind), size(shown)),
            None => ("arguments", request.args.values().map(rough_size).sum()),
        };
        let heading = format!("{what}, {bytes} bytes: being prepared");
        self.add_section(SectionRole::Content, &heading, Body::Paragraphs(Vec::new()));
    }

    pub(super) fn add_content(&mut self, request: &Arc<ApprovalRequest>) {
        if let Some(presentation) = &request.presentation {
            self.add_presentation(request, presentation);
        }
        let shown = request.presentation.as_ref().map(ApprovalPresentation::full_content);
        let preview = if rows_of(request).is_some() { usize::MAX } else { self.options.preview_lines };
        let (mut short, mut elsewhere, mut whole) = (Args::new(), Vec::new(), Vec::new());
        for (name, value) in &request.args {
            match value {
                Value::String(text) if self.is_large_and_clean(name, text) => {
                    short.insert(name.clone(), Value::Null);
                    let is_shown = shown == Some(text.as_str());
                    elsewhere.push((name.clone(), if is_shown { above(text, preview) } else { below(text) }));
                    if !is_shown {
                        whole.push((name.clone(), Source::Arg(Arc::clone(request), name.clone())));
                    }
                }
                _ => {
                    short.insert(name.clone(), value.clone());
                }
            }
        }
        let args = self.clean_args(&short);
        let mut tree = Tree { shown, elsewhere, preview, ..Tree::new(Part::Args, &mut self.counter) };
        let paragraphs = tree.fields(&args);
        whole.extend(owned(std::mem::take(&mut tree.long)));
        let heading = if paragraphs.is_empty() { "arguments: none" } else { "all arguments:" };
        self.add_section(SectionRole::Content, heading, Body::Paragraphs(paragraphs));
        self.add_long_texts(whole);
    }

    /// Whether an argument is too large to copy and contains no secret.
    fn is_large_and_clean(&self, name: &str, text: &str) -> bool {
        let clean = |text: &str| self.about.is_clean(text.as_bytes());
        text.len() > LONG && !self.about.is_secret_name(name) && clean(name) && clean(text)
    }

    /// Adds texts that are too long for the tree, each in a section of its own.
    pub(super) fn add_long_texts(&mut self, long: Vec<(String, Source)>) {
        for (name, text) in long {
            let heading =
                Paragraph::ours(Part::Heading, format!("full text, {} bytes:", text.as_str().len()));
            let name = self.field(Part::Field, "field", &name);
            let text = self.index(text);
            let lines = TextBody {
                text,
                part: Part::Args,
                before: LinePrefix::None,
                highlight: None,
                marks: Vec::new(),
            };
            self.add_section_with_head(
                SectionRole::Content,
                vec![heading, name],
                Body::Text(Box::new(lines)),
            );
        }
    }

    /// Indexes a text and adds its escapes and collapsed blanks to the counts.
    fn index(&mut self, text: Source) -> IndexedText {
        let text = IndexedText::new(text);
        self.counter.escaped += text.escaped;
        self.counter.collapsed += text.collapsed;
        text
    }

    fn add_presentation(&mut self, request: &Arc<ApprovalRequest>, presentation: &ApprovalPresentation) {
        let kind = presentation.kind;
        let diff = diff_of(presentation);
        let is_more = |(key, value): &(&String, &Value)| match key.as_str() {
            "full_content" => !value.is_string(),
            "before" | "after" => diff.is_none(),
            _ => true,
        };
        let more = presentation.metadata.iter().filter(is_more);
        let more: Args = more.map(|(key, value)| (key.clone(), value.clone())).collect();
        if let Some(diff) = diff {
            let content = Content::new(&diff, String::new());
            let source = self.clean_text(diff).into();
            return self.add_shown(request, presentation, Content { source, ..content }, more);
        }
        let full = presentation.full_content();
        if !is_start_of(&presentation.content, full) {
            let short = self.clean(&presentation.content);
            let short = Content::new(&presentation.content, short);
            self.add_shown(request, presentation, short, Args::new());
            self.add_section(SectionRole::Content, "in full:", Body::Paragraphs(Vec::new()));
        }
        let full = if kind == PresentationKind::Command {
            let masked = self.clean_command(&request.args, full);
            let content = Content::new(full, masked.left.clone());
            Content { command: Some((full.to_owned(), masked)), ..content }
        } else if self.about.is_clean(full.as_bytes()) {
            Content::new(full, Source::Shown(Arc::clone(request)))
        } else {
            let clean = self.clean(full);
            Content::new(full, clean)
        };
        self.add_shown(request, presentation, full, more);
    }

    fn add_shown(
        &mut self,
        request: &ApprovalRequest,
        shown: &ApprovalPresentation,
        content: Content,
        more: Args,
    ) {
        let (kind, mut more) = (shown.kind, more);
        let Content { source: content, size: (bytes, lines), command } = content;
        let parts = command.and_then(|(written, masked)| CommandRows::take(&mut more, &written, &masked));
        let heading = format!(
            "the tool shows this {} ({bytes} bytes, {lines} {}):",
            kind_words(kind),
            plural(lines, "line")
        );
        let mut head = vec![Paragraph::ours(Part::Heading, heading)];
        if let Some(language) = shown.language.as_ref().filter(|_| kind != PresentationKind::Command) {
            head.push(self.field(Part::Field, "language", language));
        }
        let more = self.clean_args(&more);
        let mut tree = Tree::new(Part::Field, &mut self.counter);
        head.extend(tree.fields(&more));
        let long = owned(std::mem::take(&mut tree.long));
        let body = self.body(kind, shown, content, parts.as_ref());
        if let Body::Diff(diff) = &body {
            head.extend(diff.words().into_iter().map(|text| Paragraph::ours(Part::Count, text)));
        }
        if let Some(parts) = parts {
            let programs = parts.programs();
            let mut rows = vec![Paragraph::ours(
                Part::Heading,
                format!("it would start {programs} {}:", plural(programs, "program")),
            )];
            let mut counter = std::mem::take(&mut self.counter);
            rows.extend(parts.paragraphs(&mut counter, |kind, text| match kind {
                RowText::Command => self.clean_command(&request.args, text).left,
                RowText::Folder => self.clean_ours(text),
                RowText::Reason => self.clean(text),
            }));
            self.counter = counter;
            // The first program that needs an answer says more than the folder.
            let first = rows.iter().find(|row| CommandRows::needs_answer(row)).or(rows.get(1)).cloned();
            self.first = first.or(self.first.take());
            self.add_section_with_head(SectionRole::MustSee, head, body);
            self.add_section_with_head(SectionRole::MustSee, Vec::new(), Body::Paragraphs(rows));
        } else {
            self.add_section_with_head(SectionRole::Content, head, body);
        }
        self.add_long_texts(long);
    }

    fn body(
        &mut self,
        kind: PresentationKind,
        shown: &ApprovalPresentation,
        content: Source,
        parts: Option<&CommandRows>,
    ) -> Body {
        let (before, language) = match kind {
            PresentationKind::Diff => {
                let diff = Diff::new(content);
                self.counter.escaped += diff.text.escaped;
                self.counter.collapsed += diff.text.collapsed;
                return Body::Diff(Box::new(diff));
            }
            PresentationKind::Structured => match askfirst::json::parse(content.as_str().as_bytes()) {
                Ok(value) => {
                    let mut tree = Tree::new(Part::Content(kind), &mut self.counter);
                    let paragraphs = tree.value(&value);
                    let long = owned(std::mem::take(&mut tree.long));
                    self.add_long_texts(long);
                    return Body::Paragraphs(paragraphs);
                }
                Err(_) => (LinePrefix::None, Some("json")),
            },
            PresentationKind::Text => (LinePrefix::None, None),
            PresentationKind::FileContent => (LinePrefix::Number, shown.language.as_deref()),
            PresentationKind::Command => {
                (LinePrefix::Dollar, Some(shown.language.as_deref().unwrap_or("bash")))
            }
        };
        let marks = parts.map(|parts| parts.tones.clone()).unwrap_or_default();
        let highlight = language.and_then(Highlight::new);
        let text = self.index(content);
        Body::Text(Box::new(TextBody { text, part: Part::Content(kind), before, highlight, marks }))
    }
}

pub(super) fn owned(long: Vec<(String, String)>) -> Vec<(String, Source)> {
    long.into_iter().map(|(name, text)| (name, text.into())).collect()
}

/// The diff of two texts, for a tool that gives the old and the new text instead of a diff.
fn diff_of(shown: &ApprovalPresentation) -> Option<String> {
    let text = |key: &str| shown.metadata.get(key).and_then(Value::as_str);
    let (before, after) = (text("before")?, text("after")?);
    (shown.kind == PresentationKind::Diff).then(|| unified(&shown.content, before, after))
}

fn size(shown: &ApprovalPresentation) -> usize {
    let text = |key: &str| shown.metadata.get(key).and_then(Value::as_str);
    match (text("before"), text("after")) {
        (Some(before), Some(after)) => before.len() + after.len(),
        (Some(_), None) | (None, Some(_) | None) => shown.full_content().len(),
    }
}

/// The rows of a command, if its tool parsed it.
fn rows_of(request: &ApprovalRequest) -> Option<CommandRows> {
    let shown = request.presentation.as_ref().filter(|shown| shown.kind == PresentationKind::Command)?;
    CommandRows::take(&mut shown.metadata.clone(), &shown.content, &MaskedText::whole(&shown.content))
}

/// The approximate size of a value, without serializing it.
fn rough_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(rough_size).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + rough_size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    }
}

fn host_or_program(label: &str) -> &'static str {
    match label {
        "program" | "programs" => "program name",
        _ => "host name",
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

/// Whether the short content is only the start of the full content.
fn is_start_of(content: &str, full: &str) -> bool {
    let cut = content.rsplit_once("\n\n... [").filter(|(_, tail)| {
        tail.strip_suffix(" more lines]").is_some_and(|count| count.bytes().all(|b| b.is_ascii_digit()))
    });
    full.starts_with(cut.map_or(content, |(head, _)| head))
}
