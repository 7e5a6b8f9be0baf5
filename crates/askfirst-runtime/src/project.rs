//! The user's own rules for the project of a session: read before each call, and extended by an answer that always holds.
//!
//! The rules are in a file that other processes change as well. A file that cannot be read safely has no rules.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askfirst::machine::ProjectApprovals;
use askfirst::ports::{Durability, Recorder};
use askfirst::record::{Record, RuleRecord};
use askfirst::withheld::WithheldValues;
use askfirst::{ApprovalRequest, RememberedDecision, SharedMemory};
use askfirst_config::{Project, RulesInForce};
use askfirst_display::redact::{Mark, Redactor};
use serde_json::Value;

/// The largest size of a request whose values a rule may hold, in bytes of JSON.
const MAX_HELD: usize = 64 << 10;

/// The user's own rules for the project of a session.
pub struct ProjectRules {
    project: Project,
    approvals: SharedMemory,
    in_force: Mutex<RulesInForce>,
    redactor: Arc<Redactor>,
    recorder: Option<Arc<dyn Recorder>>,
    warn: Box<dyn Fn(&str) + Send + Sync>,
}

impl ProjectRules {
    /// Reads the rules of a project. `warn` tells a person why a rule does not apply, or why it could not be stored.
    #[must_use]
    pub fn new(
        project: Project,
        redactor: Arc<Redactor>,
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let (approvals, in_force) = (SharedMemory::default(), project.in_force());
        load(&approvals, &in_force);
        let (in_force, warn) = (Mutex::new(in_force), Box::new(warn));
        Self { project, approvals, in_force, redactor, recorder: None, warn }
    }

    /// Sets the audit log, which gets an entry before a rule is stored.
    #[must_use]
    pub fn recorder(mut self, recorder: Option<Arc<dyn Recorder>>) -> Self {
        self.recorder = recorder;
        self
    }

    /// Returns why some rules do not apply.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.lock().warnings.clone()
    }

    pub(crate) fn warn(&self, text: &str) {
        (self.warn)(text);
    }

    /// Returns the approvals for the state machine.
    pub(crate) fn approvals(&self) -> ProjectApprovals {
        let redactor = Arc::clone(&self.redactor);
        let may_hold = move |request: &ApprovalRequest| holds_no_secret(request, &redactor);
        ProjectApprovals::new(self.project.folder(), self.approvals.clone(), may_hold)
    }

    /// Reads the rules again if a process changed them.
    pub(crate) fn refresh(&self) {
        let warnings = {
            let mut in_force = self.lock();
            if !self.project.has_changed(&in_force) {
                return;
            }
            *in_force = self.project.in_force();
            load(&self.approvals, &in_force);
            in_force.warnings.clone()
        };
        warnings.iter().for_each(|warning| self.warn(warning));
    }

    /// Logs and stores rules. If this fails, no rule is stored, and the error says why.
    pub(crate) fn store(&self, approvals: Vec<RememberedDecision>) -> Result<(), String> {
        let project = self.project.folder().to_owned();
        let rule = |entry: &RememberedDecision| RuleRecord {
            project: project.clone(),
            tool_name: entry.tool_name.clone(),
            rule: entry.pattern.as_ref().map_or_else(|| entry.description.clone(), |it| it.label.clone()),
        };
        let rules: Vec<RuleRecord> = approvals.iter().map(rule).collect();
        let record = |entry: Record| match &self.recorder {
            Some(recorder) => recorder.record(&entry, Durability::Synced).map_err(|e| e.0),
            None => Ok(()),
        };
        rules.iter().try_for_each(|rule| record(Record::RuleAdded(rule.clone())))?;
        if let Err(error) = self.project.add(approvals) {
            // The log must not name rules that do not exist. If it cannot be written, the call is refused anyway.
            rules.into_iter().for_each(|rule| drop(record(Record::RuleRemoved(rule))));
            return Err(error.to_string());
        }
        self.refresh();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, RulesInForce> {
        self.in_force.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load(approvals: &SharedMemory, in_force: &RulesInForce) {
    let mut memory = approvals.lock();
    memory.clear();
    in_force.decisions().for_each(|entry| memory.insert(entry));
}

/// Returns whether a rule may hold the values of a request: they are small, and none is a secret.
fn holds_no_secret(request: &ApprovalRequest, redactor: &Redactor) -> bool {
    let texts = || {
        let labels = request.patterns.iter().map(|pattern| pattern.label.as_str());
        labels.chain([request.description.as_str(), request.tool_name.as_str()])
    };
    let sizes = [&request.payload, &Value::Object(request.args.clone())].map(size);
    if sizes.into_iter().sum::<usize>() > MAX_HELD {
        return false;
    }
    let withheld = WithheldValues::of(&request.args, &request.exclude_keys);
    let is_withheld =
        withheld.is_in(&request.payload) || texts().any(|text| withheld.text(text).as_str() != text);
    let about = redactor.about(&request.args);
    let hidden_in = |value: &Value| match value {
        Value::Object(fields) => about.args(fields, Mark::Record).hidden,
        other => about.value(other, Mark::Record).hidden,
    };
    let fields = request.patterns.iter().map(|pattern| about.args(&pattern.fields, Mark::Record).hidden);
    let hidden = fields
        .chain([hidden_in(&request.payload), about.args(&request.args, Mark::Record).hidden])
        .chain(texts().map(|text| about.text_about(&request.args, text, Mark::Record).hidden))
        .sum::<usize>();
    !is_withheld && hidden == 0
}

/// Returns about the size of a value, or more than the limit.
fn size(value: &Value) -> usize {
    let texts = |text: &str| text.len() + 2;
    match value {
        Value::String(text) => texts(text),
        Value::Array(items) => items.iter().map(size).fold(2, usize::saturating_add),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| texts(key) + size(value)).fold(2, usize::saturating_add)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

#[cfg(test)]
#[path = "project/tests.rs"]
mod tests;
