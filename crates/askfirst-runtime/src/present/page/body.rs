//! The sections of one request: what is claimed, what is known, what the tool shows, what an approval covers.

use std::sync::Arc;

use askfirst::{Approval, ApprovalPresentation, ApprovalRequest, Args, Fact, PresentationKind};
use serde_json::Value;

use super::lines::{Before, Body, Lines};
use super::{Maker, Place, plural, warning};
use crate::present::command::{Parts, Said};
use crate::present::diff::{Diff, unified};
use crate::present::escape::visible;
use crate::present::highlight::Highlight;
use crate::present::line::{Entry, Part};
use crate::present::text::{Source, Text};
use crate::present::tree::{LONG, Tree, above, below};
use crate::redact::Masked;

/// What a hand-over names, by the arguments that hold it.
const HANDED: [(&str, &[&str]); 4] = [
    ("target", &["target", "worker", "name"]),
    ("input", &["input", "input_data", "instructions", "task", "prompt", "message"]),
    ("attachments", &["attachments", "files"]),
    ("may use", &["tools", "toolsets", "allowed_tools", "permissions"]),
];

/// Facts that name a host or a program.
const NAMES: [&str; 5] = ["host", "hosts", "program", "programs", "url"];

/// A content, its secrets taken out.
struct Content {
    source: Source,
    /// How many bytes and lines it has with them.
    size: (usize, usize),
    /// Of a command: how it is written, and what is left of it.
    command: Option<(String, Masked)>,
}

impl Content {
    fn new(written: &str, source: impl Into<Source>) -> Self {
        Self { source: source.into(), size: (written.len(), lines(written)), command: None }
    }
}

fn lines(text: &str) -> usize {
    text.as_bytes().split_inclusive(|byte| *byte == b'\n').count()
}

impl Maker<'_> {
    pub(super) fn claim(&mut self, request: &ApprovalRequest) {
        if request.description.is_empty() {
            return;
        }
        let text = self.clean_about(&request.args, &request.description);
        let lines = self.counted.take(visible(&text));
        let entries = lines.into_iter().map(|pieces| Entry::new(Part::Claim, pieces)).collect();
        self.section(Place::Content, "agent says (not checked):", Body::Entries(entries));
    }

    pub(super) fn facts(&mut self, request: &ApprovalRequest) {
        let mut entries = Vec::new();
        let rows = rows_of(request);
        let is_said = |fact: &&Fact| rows.as_ref().is_some_and(|rows| rows.say(fact));
        for fact in request.facts.iter().filter(|fact| !is_said(fact)) {
            let text = self.clean_fact(&request.args, fact);
            entries.extend(self.fact(&fact.label, &text));
            if NAMES.contains(&fact.label.as_str()) {
                entries.extend(warning(host_or_program(&fact.label), &fact.text));
            }
        }
        if matches!(request.tool_name.as_str(), "worker_call" | "worker_create") {
            entries.extend(self.handed(request));
        }
        // That it is asked about is said by the question itself.
        if request.approval != Approval::Required || entries.is_empty() {
            entries.push(self.field(Part::Fact, "approval", request.approval.as_str()));
        }
        self.first = entries.first().cloned();
        self.section(Place::MustSee, "facts:", Body::Entries(entries));
    }

    /// A fact, its secrets taken out.
    fn fact(&mut self, label: &str, text: &str) -> Vec<Entry> {
        if !text.contains('\n') {
            return vec![self.cleaned(Part::Fact, label, text)];
        }
        let mut entries = vec![self.cleaned(Part::Fact, label, "")];
        let lines = self.counted.take(visible(text));
        entries.extend(lines.into_iter().map(|pieces| Entry::indented(Part::Fact, 2, pieces)));
        entries
    }

    fn handed(&mut self, request: &ApprovalRequest) -> Vec<Entry> {
        let shown = self.clean_args(&request.args);
        let of = |names: &[&str]| names.iter().find_map(|name| shown.get(*name)).cloned();
        let handed: Args =
            HANDED.iter().filter_map(|(label, names)| Some(((*label).to_owned(), of(names)?))).collect();
        // What is too long for a fact stands whole among the arguments.
        let mut entries = Tree::new(Part::Fact, &mut self.counted).fields(&handed);
        if !handed.contains_key("attachments") && request.tool_name == "worker_call" {
            entries.push(self.field(Part::Fact, "attachments", "none"));
        }
        entries
    }

    /// What will be shown, by its size alone.
    pub(super) fn awaited(&mut self, request: &ApprovalRequest) {
        let (what, bytes) = match &request.presentation {
            Some(shown) => (kind_words(shown.kind), size(shown)),
            None => ("arguments", request.args.values().map(rough_size).sum()),
        };
        let heading = format!("{what}, {bytes} bytes: being prepared");
        self.section(Place::Content, &heading, Body::Entries(Vec::new()));
    }

    pub(super) fn content(&mut self, request: &Arc<ApprovalRequest>) {
        if let Some(presentation) = &request.presentation {
            self.presentation(request, presentation);
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
        let mut tree = Tree { shown, elsewhere, preview, ..Tree::new(Part::Args, &mut self.counted) };
        let entries = tree.fields(&args);
        whole.extend(owned(std::mem::take(&mut tree.long)));
        let heading = if entries.is_empty() { "arguments: none" } else { "arguments, whole:" };
        self.section(Place::Content, heading, Body::Entries(entries));
        self.apart(whole);
    }

    /// Whether an argument is worth not being copied, and has nothing in it that must be hidden.
    fn is_large_and_clean(&self, name: &str, text: &str) -> bool {
        let clean = |text: &str| self.about.is_clean(text.as_bytes());
        text.len() > LONG && !self.about.is_secret_name(name) && clean(name) && clean(text)
    }

    /// Texts that are too long to stand between others, each in a section of its own.
    pub(super) fn apart(&mut self, long: Vec<(String, Source)>) {
        for (name, text) in long {
            let heading = Entry::ours(Part::Heading, format!("whole, {} bytes:", text.as_str().len()));
            let name = self.field(Part::Field, "of", &name);
            let text = self.text(text);
            let lines =
                Lines { text, part: Part::Args, before: Before::Nothing, highlight: None, marks: Vec::new() };
            self.headed(Place::Content, vec![heading, name], Body::Text(Box::new(lines)));
        }
    }

    /// A text with an index; what it hides is counted.
    fn text(&mut self, text: Source) -> Text {
        let text = Text::new(text);
        self.counted.escaped += text.escaped;
        self.counted.collapsed += text.collapsed;
        text
    }

    fn presentation(&mut self, request: &Arc<ApprovalRequest>, presentation: &ApprovalPresentation) {
        let kind = presentation.kind;
        let diff = compared(presentation);
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
            return self.one(request, presentation, Content { source, ..content }, more);
        }
        let full = presentation.full_content();
        if !is_beginning(&presentation.content, full) {
            let short = self.clean(&presentation.content);
            let short = Content::new(&presentation.content, short);
            self.one(request, presentation, short, Args::new());
            self.section(Place::Content, "and in full:", Body::Entries(Vec::new()));
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
        self.one(request, presentation, full, more);
    }

    fn one(&mut self, request: &ApprovalRequest, shown: &ApprovalPresentation, content: Content, more: Args) {
        let (kind, mut more) = (shown.kind, more);
        let Content { source: content, size: (bytes, lines), command } = content;
        let parts = command.and_then(|(written, masked)| Parts::take(&mut more, &written, &masked));
        let heading = format!(
            "the tool shows this {} ({bytes} bytes, {lines} {}):",
            kind_words(kind),
            plural(lines, "line")
        );
        let mut head = vec![Entry::ours(Part::Heading, heading)];
        if let Some(language) = shown.language.as_ref().filter(|_| kind != PresentationKind::Command) {
            head.push(self.field(Part::Field, "language", language));
        }
        let more = self.clean_args(&more);
        let mut tree = Tree::new(Part::Field, &mut self.counted);
        head.extend(tree.fields(&more));
        let long = owned(std::mem::take(&mut tree.long));
        let body = self.body(kind, shown, content, parts.as_ref());
        if let Body::Diff(diff) = &body {
            head.extend(diff.words().into_iter().map(|text| Entry::ours(Part::Count, text)));
        }
        if let Some(parts) = parts {
            let programs = parts.programs();
            let mut rows = vec![Entry::ours(
                Part::Heading,
                format!("it would start {programs} {}:", plural(programs, "program")),
            )];
            let mut counted = std::mem::take(&mut self.counted);
            rows.extend(parts.entries(&mut counted, |said, text| match said {
                Said::Command => self.clean_command(&request.args, text).left,
                Said::Folder => self.clean_ours(text),
                Said::Why => self.clean(text),
            }));
            self.counted = counted;
            // The first program that is not simply allowed says more than where it runs.
            let first = rows.iter().find(|row| Parts::is_asked(row)).or(rows.get(1)).cloned();
            self.first = first.or(self.first.take());
            self.headed(Place::MustSee, head, body);
            self.headed(Place::MustSee, Vec::new(), Body::Entries(rows));
        } else {
            self.headed(Place::Content, head, body);
        }
        self.apart(long);
    }

    fn body(
        &mut self,
        kind: PresentationKind,
        shown: &ApprovalPresentation,
        content: Source,
        parts: Option<&Parts>,
    ) -> Body {
        let (before, language) = match kind {
            PresentationKind::Diff => {
                let diff = Diff::new(content);
                self.counted.escaped += diff.text.escaped;
                self.counted.collapsed += diff.text.collapsed;
                return Body::Diff(Box::new(diff));
            }
            PresentationKind::Structured => match askfirst::json::parse(content.as_str().as_bytes()) {
                Ok(value) => {
                    let mut tree = Tree::new(Part::Content(kind), &mut self.counted);
                    let entries = tree.value(&value);
                    let long = owned(std::mem::take(&mut tree.long));
                    self.apart(long);
                    return Body::Entries(entries);
                }
                Err(_) => (Before::Nothing, Some("json")),
            },
            PresentationKind::Text => (Before::Nothing, None),
            PresentationKind::FileContent => (Before::Number, shown.language.as_deref()),
            PresentationKind::Command => (Before::Dollar, Some(shown.language.as_deref().unwrap_or("bash"))),
        };
        let marks = parts.map(|parts| parts.tones.clone()).unwrap_or_default();
        let highlight = language.and_then(Highlight::new);
        let text = self.text(content);
        Body::Text(Box::new(Lines { text, part: Part::Content(kind), before, highlight, marks }))
    }
}

pub(super) fn owned(long: Vec<(String, String)>) -> Vec<(String, Source)> {
    long.into_iter().map(|(name, text)| (name, text.into())).collect()
}

/// The diff of a text before and after, where a tool gives both instead of a diff.
fn compared(shown: &ApprovalPresentation) -> Option<String> {
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

/// The rows of a command, if it is one that was taken apart.
fn rows_of(request: &ApprovalRequest) -> Option<Parts> {
    let shown = request.presentation.as_ref().filter(|shown| shown.kind == PresentationKind::Command)?;
    Parts::take(&mut shown.metadata.clone(), &shown.content, &Masked::whole(&shown.content))
}

/// About how large a value is, without writing it out.
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
