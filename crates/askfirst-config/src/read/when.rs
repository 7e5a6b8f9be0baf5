//! Reads `when`: conditions on arguments as plain values, globs or paths.

use askfirst::Approval;
use askfirst::when::{Condition, Glob, Test};

use super::ConfigReader;
use crate::node::{Node, Value};
use crate::quote::escape;

impl ConfigReader<'_> {
    pub(super) fn read_when(&mut self, node: Option<&Node>, approval: Option<Approval>) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
            let values = match &entry.value.value {
                Value::List(items) => items.as_slice(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
                    std::slice::from_ref(&entry.value)
                }
                Value::Map(_) => &[],
            };
            let mut any_of: Vec<Test> = values.iter().filter_map(|value| self.read_test(value)).collect();
            if approval == Some(Approval::Deny) {
                any_of.extend(values.iter().filter_map(|value| self.folder_test(value)));
            }
            conditions.push(Condition { field: entry.key.clone(), any_of });
        }
        conditions
    }

    fn read_test(&mut self, node: &Node) -> Option<Test> {
        let Some(text) = node.as_text() else { return Some(Test::Exact(node.to_json())) };
        let test = if is_path(text) {
            self.read_path_glob(text).map(Test::Path)
        } else if Glob::is_plain(text) {
            Ok(Test::Exact(text.into()))
        } else {
            Glob::new(text).map(Test::Glob).map_err(|error| escape(&error.to_string()))
        };
        test.map_err(|message| self.fault(&node.position, message)).ok()
    }

    /// Returns a test for the folder itself if a denied path means everything below that folder.
    ///
    /// Otherwise a call could move the folder and thereby everything in it.
    fn folder_test(&self, node: &Node) -> Option<Test> {
        let below = node.as_text().filter(|text| is_path(text) && text.ends_with('/'))?;
        let folder = match below.trim_end_matches('/') {
            "" => return Glob::new("/").ok().map(Test::Path),
            folder => folder,
        };
        self.read_path_glob(folder).ok().map(Test::Path)
    }
}

fn is_path(text: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start))
}
