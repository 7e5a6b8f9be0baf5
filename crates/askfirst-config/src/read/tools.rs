//! Reads the section `tools`: entries by name or glob, each with one case or several.

use std::collections::BTreeMap;

use askfirst::request::Template;
use askfirst::when::Glob;
use askfirst::{Approval, Case, ToolEntry};
use serde_json::{Map, Value as Json};

use super::{ConfigReader, Dialect, approval, risk, text, texts};
use crate::keys;
use crate::node::{Entry, Node, Value};
use crate::quote::escape;
use crate::settings::CommandTool;

impl ConfigReader<'_> {
    pub(super) fn read_tools(
        &mut self,
        node: Option<&Node>,
    ) -> (Vec<ToolEntry>, BTreeMap<String, CommandTool>) {
        let mut entries = Vec::new();
        let mut commands = BTreeMap::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
            if !Glob::is_plain(&entry.key)
                && let Err(error) = Glob::new(&entry.key)
            {
                self.fault(&entry.at, escape(&error.to_string()));
                continue;
            }
            let rule = format!("tools.{}", escape(&entry.key));
            let cases = match &entry.value.value {
                Value::List(items) => self.read_cases(&rule, items),
                Value::Map(_) | Value::Null => {
                    if let Some(tool) = self.read_command_tool(entry, &rule) {
                        commands.insert(entry.key.clone(), tool);
                    }
                    vec![self.read_case(&entry.value, &rule, &entry.at)]
                }
                Value::Bool(_) | Value::Number(_) | Value::Text(_) => continue,
            };
            entries.push(ToolEntry::new(entry.key.clone(), cases));
        }
        (entries, commands)
    }

    fn read_cases(&mut self, rule: &str, items: &[Node]) -> Vec<Case> {
        let mut cases: Vec<Case> = Vec::new();
        for (n, item) in items.iter().enumerate() {
            for key in ["command", "args", "about"] {
                if let Some(found) = item.entry(key) {
                    self.fault_with_hint(
                        &found.at,
                        format!("`{key}` is not allowed in a list of cases"),
                        "write a tool with `command` as a single map",
                    );
                }
            }
            let case = self.read_case(item, &format!("{rule}[{n}]"), &item.position);
            let is_conditional_deny = case.approval == Some(Approval::Deny) && !case.when.is_empty();
            if let Some(at) =
                cases.iter().position(|case| case.when.is_empty()).filter(|_| !is_conditional_deny)
            {
                let message = format!("this case is never reached: `{}[{at}]` has no `when`", escape(rule));
                self.fault_with_hint(&item.position, message, "put the case without `when` last");
            }
            cases.push(case);
        }
        cases
    }

    fn read_case(&mut self, node: &Node, rule: &str, position: &crate::node::Position) -> Case {
        let approval = approval(node.get("approval"));
        let mut text = match approval {
            Some(approval) => format!("approval: {approval}"),
            None => OWN_ASSESSMENT.to_owned(),
        };
        if let Some(when) = node.get("when").map(Node::entries).filter(|when| !when.is_empty()) {
            let fields: Vec<String> = when.iter().map(|entry| escape(&entry.key)).collect();
            text.push_str(&format!(", when: {}", fields.join(", ")));
        }
        let exclude_keys = node.get("exclude_keys").map(texts).unwrap_or_default();
        Case {
            own_view: node.get("approval").is_some_and(Node::is_null),
            when: self.read_when(node.get("when"), approval),
            risk: risk(node.get("risk")),
            description: self.read_template(node, &exclude_keys),
            exclude_keys,
            options: self.read_options(node),
            ..Case::new(approval, self.because(rule, position, text))
        }
    }

    fn read_template(&mut self, node: &Node, exclude_keys: &[String]) -> Option<Template> {
        let description = node.get("description")?;
        let template = Template::new(description.as_text()?);
        let names: Vec<String> = template.names().map(str::to_owned).collect();
        for name in names {
            if exclude_keys.contains(&name) {
                let name = escape(&name);
                let message = format!("the description uses `{name}`, but `exclude_keys` excludes it");
                let hint = format!("remove `{name}` from the description or from `exclude_keys`");
                self.fault_with_hint(&description.position, message, hint);
            } else if let Some(args) = node.get("args").filter(|_| node.get("command").is_some()) {
                if args.entry(&name).is_none() {
                    self.fault(&description.position, not_an_argument(&name));
                }
            } else if node.get("command").is_some() {
                self.fault(&description.position, not_an_argument(&name));
            }
        }
        Some(template)
    }

    /// Returns the options for an override: the key `options`, and the unknown keys of a [`Dialect::Dict`] entry.
    fn read_options(&self, node: &Node) -> Map<String, Json> {
        let mut options = match node.get("options").map(Node::to_json) {
            Some(Json::Object(map)) => map,
            Some(_) | None => Map::new(),
        };
        if self.dialect == Dialect::Dict {
            let is_known = |entry: &&Entry| keys::child("tools.*", &entry.key).is_some();
            for entry in node.entries().iter().filter(|entry| !is_known(entry)) {
                options.entry(entry.key.clone()).or_insert_with(|| entry.value.to_json());
            }
        }
        options
    }

    pub(super) fn read_about(&self, node: &Node) -> Option<String> {
        text(node.get("about")).map(str::to_owned)
    }
}

/// The text of a rule that leaves the approval to the tool.
pub(crate) const OWN_ASSESSMENT: &str = "the tool's own assessment";

fn not_an_argument(name: &str) -> String {
    format!("the description uses `{}`, which is not an argument", escape(name))
}
