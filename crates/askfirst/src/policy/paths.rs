//! What rules want to know of paths: which arguments they test, and where relative ones begin.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Policy;
use crate::call::ApprovalContext;
use crate::when::Condition;

impl Policy {
    /// The same with the folder that the rules speak for.
    #[must_use]
    pub fn with_folder(mut self, folder: PathBuf) -> Self {
        self.folder = Some(folder);
        self
    }

    /// The folder that the rules speak for.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The texts of a call that a rule tests as paths. Whoever can look at files resolves them before judging.
    #[must_use]
    pub fn paths_to_resolve<'a>(&self, call: &'a ApprovalContext) -> Vec<&'a str> {
        if !self.path_tests {
            return Vec::new();
        }
        let layers = std::iter::once(&self.main).chain(&self.floors);
        let fields = layers.flat_map(|rules| rules.path_fields(&call.tool_name));
        let values = fields.filter_map(|field| call.args.get(field));
        values
            .flat_map(|value| match value {
                Value::Array(items) => items.iter().collect(),
                other => vec![other],
            })
            .filter_map(Value::as_str)
            .collect()
    }

    pub(super) fn noted(mut self) -> Self {
        let mut layers = std::iter::once(&self.main).chain(&self.floors);
        self.path_tests = layers.any(|rules| {
            let cases = rules.entries().flat_map(|entry| &entry.cases);
            cases.flat_map(|case| &case.when).any(Condition::wants_path)
        });
        self
    }
}
