//! Conditions on arguments: plain values, globs, and paths.

use askfirst::when::{Condition, Glob, Test};

use super::Reader;
use crate::config::node::{Node, Value};
use crate::config::quote::quoted;

impl Reader<'_> {
    pub(super) fn when(&mut self, node: Option<&Node>) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
            let values = match &entry.value.value {
                Value::List(items) => items.as_slice(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
                    std::slice::from_ref(&entry.value)
                }
                Value::Map(_) => &[],
            };
            let any_of = values.iter().filter_map(|value| self.test(value)).collect();
            conditions.push(Condition { field: entry.key.clone(), any_of });
        }
        conditions
    }

    fn test(&mut self, node: &Node) -> Option<Test> {
        let Some(text) = node.as_text() else { return Some(Test::Exact(node.to_json())) };
        let test = if ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start)) {
            self.path_glob(text).map(Test::Path)
        } else if Glob::is_plain(text) {
            Ok(Test::Exact(text.into()))
        } else {
            Glob::new(text).map(Test::Glob).map_err(|error| quoted(&error.to_string()))
        };
        test.map_err(|message| self.fault(&node.place, message)).ok()
    }
}
