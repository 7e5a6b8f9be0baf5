//! Arguments in rules: which ones the rules test, which of them as paths, and the folder of relative paths.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Policy;
use crate::call::ApprovalContext;
use crate::when::Condition;

impl Policy {
    /// Sets the folder of the rules. Relative paths start there.
    #[must_use]
    pub fn with_folder(mut self, folder: PathBuf) -> Self {
        self.folder = Some(folder);
        self
    }

    /// Returns the folder of the rules, where relative paths start.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the arguments of a tool that some rule tests.
    pub fn tested_fields<'a>(&'a self, tool_name: &'a str) -> impl Iterator<Item = &'a str> {
        let layers = std::iter::once(&self.main).chain(&self.floors);
        let conditions = layers.flat_map(move |rules| rules.conditions_for(tool_name));
        conditions.map(|condition| condition.field.as_str())
    }

    /// Returns the texts in a call that some rule tests as paths.
    ///
    /// Resolve them before judging, and put the result into [`ApprovalContext::resolved`].
    #[must_use]
    pub fn paths_to_resolve<'a>(&self, call: &'a ApprovalContext) -> Vec<&'a str> {
        if !self.has_path_tests {
            return Vec::new();
        }
        let layers = std::iter::once(&self.main).chain(&self.floors);
        let conditions = layers.flat_map(|rules| rules.conditions_for(&call.tool_name));
        let values = conditions.filter(|condition| condition.wants_path());
        let values = values.filter_map(|condition| call.args.get(&condition.field));
        values
            .flat_map(|value| match value {
                Value::Array(items) => items.iter().collect(),
                other => vec![other],
            })
            .filter_map(Value::as_str)
            .collect()
    }

    /// Notes whether any rule tests a path, so that other policies skip the search.
    pub(super) fn detect_path_tests(mut self) -> Self {
        let mut layers = std::iter::once(&self.main).chain(&self.floors);
        self.has_path_tests = layers.any(|rules| {
            let cases = rules.entries().flat_map(|entry| &entry.cases);
            cases.flat_map(|case| &case.when).any(Condition::wants_path)
        });
        self
    }
}
