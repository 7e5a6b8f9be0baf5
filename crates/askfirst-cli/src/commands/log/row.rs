//! The rows of `log`: each call, put together from its entries, and each action of a person outside of any call.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use askfirst::record::SessionRecord;
use askfirst::{Args, Cause, Mode};
use askfirst_runtime::ledger::Entry;
use serde::Deserialize;
use serde_json::Value;

use crate::commands::run::live::by;
use crate::outcome::summary_without_secrets;

/// A call or an action, as its entries describe it.
#[derive(Debug, Clone, Default)]
pub struct LogRow {
    /// The kind: `call`, or the kind of the entry.
    pub kind: String,
    pub session: String,
    pub call_id: String,
    /// The first entry of the session, with the user, the terminal and the host.
    pub start: Option<Arc<SessionRecord>>,
    /// The time of its first entry.
    pub at: String,
    /// The time of its last entry.
    pub until: String,
    pub tool: String,
    /// The command, the path, or whatever else it was about.
    pub what: String,
    pub decision: Option<LoggedDecision>,
    pub ending: Option<LoggedEnding>,
    /// The ID of the edited call that replaced it.
    pub became: Option<String>,
    /// The ID of the call that it replaced.
    pub edited_from: Option<String>,
}

/// The decision about a call.
#[derive(Debug, Clone, Default)]
pub struct LoggedDecision {
    pub approved: bool,
    /// The origin of the decision, in words.
    pub cause: String,
    /// The source of the decision, in at most eight characters.
    pub by: &'static str,
    /// The reason of a refusal, with the note of the person.
    pub why: String,
    pub at: String,
    pub waited_ms: u64,
}

impl LoggedDecision {
    /// Whether a coding agent asked in a prompt of its own, and did not report that the call ran.
    fn is_left_to_agent(&self) -> bool {
        !self.approved && self.by == by(Cause::AgentPrompt, false)
    }
}

/// The end of a call.
#[derive(Debug, Clone, Default)]
pub struct LoggedEnding {
    pub ended: String,
    pub error: String,
    pub took_ms: u64,
}

impl LogRow {
    fn of_call(entry: &Entry, id: &str) -> Self {
        Self { kind: "call".to_owned(), call_id: id.to_owned(), ..Self::of(entry) }
    }

    fn of(entry: &Entry) -> Self {
        Self {
            kind: entry.kind.clone(),
            session: entry.session.clone(),
            start: entry.session_start.clone(),
            at: entry.at.clone(),
            until: entry.at.clone(),
            ..Self::default()
        }
    }

    /// Returns the row of an entry about an action of a person, or about a session in which no one is asked.
    fn of_action(entry: &Entry) -> Option<Self> {
        let text = |key: &str| text_of(&entry.fields, key);
        let what = match entry.kind.as_str() {
            "session" => {
                let start = entry.session_start.as_ref().filter(|start| start.mode == Mode::ApproveAll)?;
                format!("{}: approves every request without asking (--approve-all)", start.door)
            }
            // A rule of all tools is `*`: the rules of a main repository.
            "rule_added" | "rule_removed" if text("tool_name") != "*" => {
                format!("{}: {} (in {})", text("tool_name"), text("rule"), text("project"))
            }
            "trusted" => text("file"),
            "revoked" => {
                let answer =
                    if entry.fields.get("approved") == Some(&Value::Bool(true)) { "yes" } else { "no" };
                format!("{answer} to {}: {}", text("tool_name"), text("description"))
            }
            "committed" if entry.fields.contains_key("by") => {
                format!("{} in {}", text("commit"), text("root"))
            }
            "undone" => format!("{} in {}", text("commit"), text("root")),
            "rule_added" | "rule_removed" => format!("{} (in {})", text("rule"), text("project")),
            _ => return None,
        };
        Some(Self { what, tool: entry.tool_name().unwrap_or_default().to_owned(), ..Self::of(entry) })
    }

    /// Adds an entry about the call.
    fn add(&mut self, mut entry: Entry) {
        self.until.clone_from(&entry.at);
        if let Some(tool) = entry.tool_name() {
            tool.clone_into(&mut self.tool);
        }
        let text = |key: &str| text_of(&entry.fields, key);
        let number = |key: &str| entry.fields.get(key).and_then(Value::as_u64).unwrap_or_default();
        match entry.kind.as_str() {
            "decided" => {
                let refusal = entry.fields.get("refusal").and_then(Value::as_object);
                let of_refusal = |key| refusal.map(|refusal| text_of(refusal, key)).unwrap_or_default();
                let note = of_refusal("note");
                let note = if note.is_empty() { note } else { format!(": {note}") };
                let decision = entry.fields.get("decision");
                let always = decision.and_then(|it| it.get("always")) == Some(&Value::Bool(true));
                let cause = entry.fields.get("cause").and_then(|cause| Cause::deserialize(cause).ok());
                self.decision =
                    Some(LoggedDecision {
                        approved: entry.fields.get("approved") == Some(&Value::Bool(true)),
                        cause: cause.map_or_else(|| text("cause"), |cause| cause.to_string()),
                        by: cause.map_or("?", |cause| {
                            if cause == Cause::Person { "person" } else { by(cause, always) }
                        }),
                        why: format!("{}{note}", of_refusal("reason")),
                        at: entry.at.clone(),
                        waited_ms: number("waited_ms"),
                    });
                self.edited_from = Some(text("edited_from")).filter(|from| !from.is_empty());
            }
            "executed" => {
                let (ended, error, took_ms) = (text("ended"), text("error"), number("took_ms"));
                self.ending = Some(LoggedEnding { ended, error, took_ms });
            }
            _ => {}
        }
        if let Some(Value::Object(args)) = entry.fields.get_mut("call").and_then(|call| call.get_mut("args"))
        {
            self.what = summary_without_secrets(&self.tool, args);
        } else if self.what.is_empty() {
            self.what.clone_from(&self.tool);
        }
    }

    /// Returns whether this is a question that a running tool asked. Its ID is the ID of the call and a number.
    fn is_question(&self) -> bool {
        self.call_id.rsplit('-').next().is_some_and(|number| number.contains('.'))
    }

    /// Returns whether no entry can follow.
    fn has_ended(&self) -> bool {
        let decided = self.decision.as_ref().is_some_and(|decision| !decision.approved || self.is_question());
        self.kind != "call" || decided || self.ending.is_some() || self.became.is_some()
    }

    pub fn is_refused(&self) -> bool {
        self.decision.as_ref().is_some_and(|decision| !decision.approved && !decision.is_left_to_agent())
            || self.ending.as_ref().is_some_and(|ending| ending.ended == "denied")
    }

    /// Returns how it went in one word, and the rest in a sentence.
    pub fn status(&self) -> (&'static str, String) {
        match self.kind.as_str() {
            "call" => {}
            "session" => return ("started", String::new()),
            "trusted" => return ("trusted", String::new()),
            "revoked" => return ("revoked", String::new()),
            "rule_added" => return ("added", String::new()),
            "undone" => return ("undone", String::new()),
            "committed" => return ("kept", "logged later: the process was killed".to_owned()),
            _ => return ("removed", String::new()),
        }
        match (&self.decision, &self.ending) {
            (None, _) => match &self.became {
                Some(other) => ("edited", format!("see {}", short(other))),
                None => ("waiting", "no decision was logged".to_owned()),
            },
            (Some(decision), _) if decision.is_left_to_agent() => {
                ("asked", "in the agent's own prompt, and no approval was reported".to_owned())
            }
            (Some(decision), _) if !decision.approved => ("refused", decision.why.clone()),
            (Some(_), None) if self.is_question() => ("answered", String::new()),
            (Some(_), None) => ("began", "the end of the call was not logged".to_owned()),
            (Some(_), Some(ending)) => match ending.ended.as_str() {
                "done" => ("ran", String::new()),
                "handed_over" => ("allowed", String::new()),
                "denied" => {
                    ("refused", "a person refused a request that the tool made while it ran".to_owned())
                }
                "discarded" => ("discarded", ending.error.clone()),
                "cancelled" => ("canceled", "the caller canceled the call while it ran".to_owned()),
                "stale" => ("stale", "the shown content had changed, so the tool did nothing".to_owned()),
                _ => ("failed", ending.error.clone()),
            },
        }
    }

    /// Returns who or what decided, in at most eight characters.
    pub fn decider(&self) -> &'static str {
        match (self.kind.as_str(), &self.decision) {
            ("call", None) => {
                if self.became.is_some() {
                    "person"
                } else {
                    ""
                }
            }
            ("call", Some(decision)) => decision.by,
            ("session", _) => "mode",
            _ => "person",
        }
    }
}

/// Returns a text field, or an empty text.
pub fn text_of(fields: &Args, key: &str) -> String {
    fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the end of a call's id, which is enough to distinguish sessions. `log show` accepts it.
pub fn short(id: &str) -> &str {
    let number = id.rfind('-').unwrap_or_default();
    let start = id.char_indices().map(|(at, _)| at).rfind(|at| at + 6 <= number);
    start.and_then(|start| id.get(start..)).unwrap_or(id)
}

/// Puts rows together from entries.
#[derive(Debug, Default)]
pub struct LogRows {
    open: BTreeMap<u64, LogRow>,
    /// Two programs may use the same session name, so a call id alone is not unique.
    of: HashMap<(String, String), u64>,
}

impl LogRows {
    /// Adds an entry. Returns the rows that no later entry changes.
    pub fn add(&mut self, entry: Entry) -> Vec<LogRow> {
        // An undo, and a commit of a killed process, are not part of the call that they name.
        let is_later = entry.fields.contains_key("by") && matches!(&*entry.kind, "committed" | "undone");
        let Some(id) = entry.call_id().map(str::to_owned).filter(|_| !is_later) else {
            return LogRow::of_action(&entry).into_iter().collect();
        };
        let here = |id: &str| (entry.session.clone(), id.to_owned());
        let from = entry.fields.get("edited_from").and_then(Value::as_str);
        let from = from.and_then(|from| self.of.get(&here(from))).copied();
        if let Some(first) = from.and_then(|first| self.open.get_mut(&first)) {
            first.became = Some(id.clone());
        }
        let first = *self.of.entry(here(&id)).or_insert(entry.seq);
        let row = self.open.entry(first).or_insert_with(|| LogRow::of_call(&entry, &id));
        row.add(entry);
        from.into_iter().chain([first]).filter_map(|first| self.take_ended(first)).collect()
    }

    fn take_ended(&mut self, first: u64) -> Option<LogRow> {
        let row = self.open.get(&first).filter(|row| row.has_ended())?;
        self.of.remove(&(row.session.clone(), row.call_id.clone()));
        self.open.remove(&first)
    }

    /// Returns the rows whose end is not logged yet.
    pub fn open(&self) -> impl Iterator<Item = &LogRow> {
        self.open.values()
    }
}

/// The newest items, until all old ones were read. After that, and without a limit, it passes them on at once.
#[derive(Debug)]
pub struct NewestRows<T> {
    items: VecDeque<T>,
    most: Option<usize>,
}

impl<T> NewestRows<T> {
    pub fn new(most: Option<usize>) -> Self {
        Self { items: VecDeque::new(), most }
    }

    /// Adds an item, or returns it if it is to be printed now.
    pub fn push(&mut self, item: T) -> Option<T> {
        let Some(most) = self.most else { return Some(item) };
        self.items.push_back(item);
        if self.items.len() > most {
            self.items.pop_front();
        }
        None
    }

    /// Returns the newest of the items and of those that follow them.
    pub fn end(&mut self, others: Vec<T>) -> Vec<T> {
        let most = self.most.take().unwrap_or(usize::MAX);
        let all = std::mem::take(&mut self.items).into_iter().chain(others);
        let mut all: Vec<T> = all.collect();
        all.split_off(all.len().saturating_sub(most))
    }
}
