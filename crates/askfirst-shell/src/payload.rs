//! What a remembered yes holds: the command as it was judged, with everything that made it so.
//!
//! A wider yes is offered only where a later command that falls under it is sure to be judged for the same reasons: what
//! was asked about, the variables, the streams and the roots are part of the payload and must be equal.

use askfirst::{Approval, Because, Loosen, OfferedPattern};
use serde_json::{Map, Value, json};

use super::judged::{Judged, Reason};
use super::paths::word_text;
use super::programs::used::{Class, Known, Used};
use super::start::{Kind, Start};

/// Programs that run what they are given: no wider yes is offered for them.
const RUNNERS: [&str; 30] = [
    "bash", "sh", "dash", "zsh", "fish", "ksh", "python", "python3", "node", "deno", "bun", "ruby", "perl",
    "php", "lua", "awk", "sed", "sudo", "doas", "su", "ssh", "env", "xargs", "eval", "exec", "make", "npx",
    "docker", "podman", "kubectl",
];

/// A call of a shell tool, as far as its payload depends on it.
#[derive(Debug, Clone, Copy)]
pub struct CommandCall<'a> {
    /// The exact text; for a program with its words, how a shell would read them.
    pub text: &'a str,
    /// Standard input.
    pub stdin: &'a str,
    /// Whether the command goes on running after the call.
    pub background: bool,
    /// Whether a shell reads the text.
    pub by_shell: bool,
}

impl Judged<'_> {
    /// The payload of a request about this line.
    #[must_use]
    pub fn payload(&self, call: CommandCall<'_>) -> Value {
        payload(call, self)
    }

    /// Which calls have the same payload, in words.
    #[must_use]
    pub fn same(&self, call: CommandCall<'_>) -> String {
        same(call, self)
    }

    /// The patterns that a remembered yes may be widened to.
    #[must_use]
    pub fn patterns(&self, call: CommandCall<'_>, payload: &Value) -> Vec<OfferedPattern> {
        patterns(call, self, payload)
    }
}

fn payload(call: CommandCall<'_>, judged: &Judged) -> Value {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    match alone(call, judged) {
        Some((start, _)) => {
            let words: Vec<_> = start.words.iter().map(word_text).collect();
            put("words", json!(words));
        }
        None => {
            put("line", json!(call.text.trim()));
            let words = judged.starts.iter().map(|start| start.words.iter().map(word_text).collect());
            put("commands", json!(words.collect::<Vec<Vec<_>>>()));
        }
    }
    put("folder", json!(folder(judged)));
    put("why", json!(why(judged)));
    put("writes", json!(judged.writes));
    put("network", json!(judged.uses_network));
    if !call.stdin.is_empty() {
        put("stdin", json!(askfirst::Digest::of(call.stdin.as_bytes()).to_string()));
    }
    if call.background {
        put("background", json!(true));
    }
    if !call.by_shell {
        put("shell", json!(false));
    }
    Value::Object(fields)
}

/// Where the first program starts; where that is not sure, each folder that it may be.
fn folder(judged: &Judged) -> String {
    let folders = judged.starts.first().map(|start| &*start.folders).unwrap_or_default();
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    folders.join(", ")
}

/// A longer command is not said again: it stands above.
const SHORT: usize = 60;

/// Which calls have the same payload, in words.
fn same(call: CommandCall<'_>, judged: &Judged) -> String {
    let text = call.text.trim();
    let short = alone(call, judged).is_some() && text.len() <= SHORT;
    let what = if short { format!("`{text}`") } else { "exactly this command".to_owned() };
    let input = if call.stdin.is_empty() { "" } else { ", with the same input" };
    let wait = if call.background { ", in the background" } else { "" };
    let folder = Some(folder(judged)).filter(|folder| !folder.is_empty());
    let place = folder.map_or_else(String::new, |folder| format!(" in {folder}"));
    format!("{what}{place}{input}{wait}, when askfirst asks for the same reasons and with the same access")
}

/// Everything that made it ask, without what a rule or a root says in its own words.
fn why(judged: &Judged) -> Vec<String> {
    let rows = judged
        .rows
        .iter()
        .flat_map(|row| row.reasons.iter().chain(row.streams.iter().map(|(_, _, reason)| reason)));
    let all = judged.whole.iter().map(|(_, reason)| reason).chain(rows);
    let mut why: Vec<String> = all.filter(|reason| reason.approval > Approval::None).map(in_short).collect();
    why.sort();
    why.dedup();
    why
}

fn in_short(reason: &Reason) -> String {
    match &reason.because {
        Some(because) if !is_special(reason) => rule_of(because),
        Some(_) | None => reason.text.to_string(),
    }
}

/// The rule itself. Its line and its number change when another rule is added, and it is still the same rule.
fn rule_of(because: &Because) -> String {
    let (rule, text) = (&*because.rule, &because.text);
    // Two rules of one file have different texts.
    let rule = if rule.starts_with("shell.rules[") { "shell.rules" } else { rule };
    match &because.file {
        Some(file) => format!("{rule} ({file}): {text}"),
        None => format!("{rule}: {text}"),
    }
}

/// Whether the reason is about this very command, so that no other may stand for it.
fn is_special(reason: &Reason) -> bool {
    reason.text.contains("outside every root")
        || reason.text.contains("does not cover that")
        || reason.text.contains("dangerous pattern")
}

/// The one program of a line that does nothing else.
fn alone<'a>(call: CommandCall<'_>, judged: &'a Judged<'_>) -> Option<(&'a Start, &'a Used)> {
    let [start] = *judged.starts.as_slice() else { return None };
    let used = start.used.as_ref().filter(|_| start.kind == Kind::Program)?;
    let plain = judged.whole.is_empty()
        && start.text == call.text.trim()
        && start.assignments.is_empty()
        && start.redirections.is_empty()
        && start.gaps.is_empty()
        && start.words.iter().all(|word| word.literal().is_some());
    plain.then_some((start, used))
}

/// What a yes may be widened to: this program and sub-command, whatever follows.
fn patterns(call: CommandCall<'_>, judged: &Judged, payload: &Value) -> Vec<OfferedPattern> {
    let Some((start, used)) = alone(call, judged) else { return Vec::new() };
    let runs = RUNNERS.contains(&used.program.as_str()) && used.subs.is_empty();
    let unsure = !used.doubts.is_empty() || !used.nested.is_empty() || used.class == Class::Asks;
    let special = judged.rows.iter().any(|row| row.reasons.iter().any(is_special));
    if runs || unsure || special || used.known == Known::Nothing || !call.stdin.is_empty() {
        return Vec::new();
    }
    let length = used.subs.iter().map(|sub| sub.word + 1).max().unwrap_or(1);
    if used.options.iter().any(|option| option.word < length) || length >= start.words.len() {
        return Vec::new();
    }
    let words: Vec<_> = start.words.iter().take(length).map(word_text).collect();
    let Value::Object(fields) = payload else { return Vec::new() };
    let mut fields = fields.clone();
    fields.insert("words".to_owned(), json!(words));
    let label = format!("`{}` with any arguments, when askfirst asks for the same reasons", words.join(" "));
    let pattern = OfferedPattern::new(label, fields, [("words", Loosen::StartsWith)]);
    if pattern.matches(payload) { vec![pattern] } else { Vec::new() }
}
