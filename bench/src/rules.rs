//! The same rules in three languages, and the calls that the engines judge by them.
//!
//! Rule `i` says `none`, `required` or `deny` in turn. If no rule covers a call, the answer is to ask.

use askfirst::policy::{Case, Policy, Rules, ToolEntry};
use askfirst::when::{Condition, Test};
use askfirst::{Approval, ApprovalContext, Because, Verdict};
use serde_json::{Map, Value, json};

use crate::Failure;

/// The shape of a set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One rule for each tool name.
    Exact,
    /// One rule for each group of names with the same prefix.
    Globs,
    /// One tool, and one case for each value of an argument.
    Cases,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Exact, Self::Globs, Self::Cases];

    /// Returns the name in the tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact names",
            Self::Globs => "globs by prefix",
            Self::Cases => "cases on one tool",
        }
    }
}

/// Returns the verdict of rule `i`.
pub fn verdict(i: usize) -> Verdict {
    [Verdict::Allow, Verdict::Ask, Verdict::Deny][i % 3]
}

/// Some calls: most meet a rule, spread over all of them, and a few meet none.
pub fn calls(shape: Shape, rules: usize) -> Vec<(ApprovalContext, Verdict)> {
    const MANY: usize = 60;
    let met = (0..MANY).map(|n| {
        // A step that has no divisor in common with powers of ten reaches all residues.
        let i = (n * 7919 + rules / 2) % rules;
        (call(shape, &i.to_string()), verdict(i))
    });
    let unmet = (0..4).map(|n| (call(shape, &format!("x{n}")), Verdict::Ask));
    met.chain(unmet).collect()
}

fn call(shape: Shape, which: &str) -> ApprovalContext {
    let (name, table) = match shape {
        Shape::Exact => (format!("tool_{which}"), "users".to_owned()),
        Shape::Globs => (format!("mcp__server{which}__create_issue"), "users".to_owned()),
        Shape::Cases => ("read_rows".to_owned(), format!("table_{which}")),
    };
    let args: Map<String, Value> = [
        ("table".to_owned(), json!(table)),
        ("limit".to_owned(), json!(100)),
        ("columns".to_owned(), json!(["id", "name", "email"])),
        ("where".to_owned(), json!("created_at > '2026-01-01'")),
    ]
    .into_iter()
    .collect();
    ApprovalContext::new(name, args)
}

/// The rules for askfirst.
pub fn ours(shape: Shape, rules: usize) -> Result<Policy, Failure> {
    let case = |i: usize| {
        let approval = match verdict(i) {
            Verdict::Allow => Approval::None,
            Verdict::Rehearse => Approval::Rehearse,
            Verdict::Ask => Approval::Required,
            Verdict::Deny => Approval::Deny,
        };
        let origin = Because {
            rule: format!("tools[{i}]").into(),
            file: Some("askfirst.yaml".into()),
            line: u32::try_from(i + 1).ok(),
            text: format!("approval: {approval}").into(),
        };
        Case::new(Some(approval), origin)
    };
    let entries: Vec<ToolEntry> = match shape {
        Shape::Exact => (0..rules).map(|i| ToolEntry::new(format!("tool_{i}"), vec![case(i)])).collect(),
        Shape::Globs => {
            (0..rules).map(|i| ToolEntry::new(format!("mcp__server{i}__*"), vec![case(i)])).collect()
        }
        Shape::Cases => {
            let on_table = |i: usize| {
                let any_of = vec![Test::Exact(json!(format!("table_{i}")))];
                Case { when: vec![Condition { field: "table".to_owned(), any_of }], ..case(i) }
            };
            vec![ToolEntry::new("read_rows", (0..rules).map(on_table).collect())]
        }
    };
    Ok(Policy::new(Rules::new(Some((Approval::Required, None)), entries)?))
}

/// The rules for Cedar: `none` permits, the other two forbid and say in an annotation which they are.
pub fn cedar(shape: Shape, rules: usize) -> String {
    let rule = |i: usize| {
        let (effect, scope) = match verdict(i) {
            Verdict::Allow => ("permit", "allow"),
            Verdict::Rehearse | Verdict::Ask => ("forbid", "ask"),
            Verdict::Deny => ("forbid", "deny"),
        };
        let head = format!("@verdict(\"{scope}\") {effect}");
        match shape {
            Shape::Exact => format!("{head}(principal, action == Action::\"tool_{i}\", resource);\n"),
            Shape::Globs => {
                format!(
                    "{head}(principal, action, resource) when {{ context.tool like \"mcp__server{i}__*\" }};\n"
                )
            }
            Shape::Cases => format!(
                "{head}(principal, action == Action::\"read_rows\", resource) when {{ context.table == \"table_{i}\" }};\n"
            ),
        }
    };
    (0..rules).map(rule).collect()
}

/// The rules for regorus, one Rego rule each.
pub fn rego(shape: Shape, rules: usize) -> String {
    let rule = |i: usize| {
        let word = verdict(i).as_str();
        match shape {
            Shape::Exact => format!("verdict := \"{word}\" if input.tool == \"tool_{i}\"\n"),
            Shape::Globs => {
                format!("verdict := \"{word}\" if startswith(input.tool, \"mcp__server{i}__\")\n")
            }
            Shape::Cases => format!(
                "verdict := \"{word}\" if {{ input.tool == \"read_rows\"; input.args.table == \"table_{i}\" }}\n"
            ),
        }
    };
    let rules: String = (0..rules).map(rule).collect();
    format!("package bench\nimport rego.v1\ndefault verdict := \"ask\"\n{rules}")
}

/// The same for regorus as a table in `data`, which only exact names and cases can be written as.
pub fn rego_table(shape: Shape, rules: usize) -> Option<(String, Value)> {
    let (key, prefix) = match shape {
        Shape::Exact => ("input.tool", "tool_"),
        Shape::Cases => ("input.args.table", "table_"),
        Shape::Globs => return None,
    };
    let table: Map<String, Value> =
        (0..rules).map(|i| (format!("{prefix}{i}"), json!(verdict(i).as_str()))).collect();
    let text =
        format!("package bench\nimport rego.v1\ndefault verdict := \"ask\"\nverdict := data.rules[{key}]\n");
    Some((text, json!({ "rules": table })))
}
