//! Tests of the wider scopes of a yes to an MCP tool: any arguments, and several tools of the server.

use std::path::Path;

use askfirst::Approval::{Deny, Human, None as Free};
use askfirst::machine::Answer;
use askfirst::{ApprovalDecision, ApprovalScope, Cause};
use askfirst_runtime::config::{LoadOptions, Places, Project};
use serde_json::{Value, json};

use crate::fixture::{Desk, no, policy, tool, wait_for, yes};

/// A yes to the offered pattern with this number.
fn wider(at: usize) -> ApprovalDecision {
    let yes = ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Pattern);
    ApprovalDecision { pattern: Some(at), ..yes }
}

/// Returns the labels that the request with this number offers, and answers no.
fn labels(desk: &Desk, number: usize) -> Vec<String> {
    let found = std::sync::Mutex::default();
    desk.person.answer(number, |question| {
        let patterns = question.members[0].request.patterns.iter();
        *found.lock().unwrap() = patterns.map(|pattern| pattern.label.clone()).collect();
        no("no")
    });
    found.into_inner().unwrap()
}

/// Calls a tool, and returns whether askfirst asks about the call. Answers no.
fn asks(desk: &mut Desk, id: u64, tool: &str, args: Value) -> bool {
    let decided = |desk: &Desk| {
        desk.notes.all.lock().unwrap().iter().filter(|entry| entry["kind"] == "decided").count()
    };
    let (questions, decisions) = (desk.person.count(), decided(desk));
    let call = desk.call(id, tool, args);
    let asked = wait_for(|| match desk.person.count() > questions {
        true => Some(true),
        false => (decided(desk) > decisions).then_some(false),
    });
    if asked {
        desk.person.answer(questions + 1, |_| no("no"));
        desk.hear_json();
    } else {
        assert_eq!(desk.received(), call);
    }
    asked
}

fn annotated(name: &str, annotations: Value) -> Value {
    let mut tool = tool(name);
    tool["annotations"] = annotations;
    tool
}

fn project(state: &Path) -> Option<Project> {
    let folder = state.join("project");
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    let places = Places { state: state.to_owned(), home: None, ..Places::from_env() };
    Project::find(&LoadOptions { explicit: None, folder, places })
}

#[test]
fn any_arguments_cover_the_tool_until_it_changes() {
    let mut desk = Desk::new(&[]);
    desk.list(&[tool("add"), tool("sub")]);
    let call = desk.call(1, "add", json!({"a": 1}));
    desk.person.answer(1, |question| {
        assert_eq!(question.members[0].request.patterns[0].label, "`maths: add` with any arguments");
        Answer::all(wider(0))
    });
    assert_eq!(desk.received(), call);
    assert!(!asks(&mut desk, 2, "add", json!({"a": [2], "b": {}})));
    assert!(asks(&mut desk, 3, "sub", json!({"a": 1})));
    let mut changed = tool("add");
    changed["description"] = "another".into();
    desk.list(&[changed]);
    assert!(asks(&mut desk, 4, "add", json!({"a": 1})));
}

#[test]
fn pattern_of_several_tools_names_each_and_covers_no_other() {
    let mut desk = Desk::new(&[("free", Free), ("person", Human), ("never", Deny)]);
    let list = ["add", "free", "never", "person", "sub", "wide"].map(tool);
    desk.list(&list);
    let call = desk.call(1, "sub", json!({"a": 1}));
    desk.person.answer(1, |question| {
        let pattern = &question.members[0].request.patterns[1];
        assert_eq!(pattern.label, "these 3 tools of `maths` with any arguments: add, sub, wide");
        Answer::all(wider(1))
    });
    assert_eq!(desk.received(), call);
    let mut changed = tool("wide");
    changed["inputSchema"] = json!({"type": "object", "properties": {}});
    desk.list(&[changed, tool("new")]);
    for (id, name, asked) in
        [(2, "sub", false), (3, "add", false), (4, "person", true), (5, "wide", true), (6, "new", true)]
    {
        assert_eq!(asks(&mut desk, id, name, json!({"b": id})), asked, "{name}");
    }
}

#[test]
fn risk_and_odd_names_keep_a_tool_off_the_list() {
    let mut desk = Desk::new(&[]);
    desk.list(&[
        tool("add"),
        tool("sub"),
        tool("x, add"),
        annotated("drop", json!({"destructiveHint": true})),
        annotated("liar", json!({"destructiveHint": true, "readOnlyHint": true})),
        annotated("look", json!({"readOnlyHint": true})),
    ]);
    desk.call(1, "add", json!({}));
    let all = "these 3 tools of `maths` with any arguments: add, look, sub";
    assert_eq!(labels(&desk, 1), ["`maths: add` with any arguments", all]);
    desk.hear_json();
    desk.call(2, "drop", json!({}));
    let all = "these 5 tools of `maths` with any arguments: add, drop, liar, look, sub";
    assert_eq!(labels(&desk, 2), ["`maths: drop` with any arguments", all]);
    desk.hear_json();
    desk.call(3, "x, add", json!({}));
    assert_eq!(labels(&desk, 3), ["`maths: x, add` with any arguments"]);
}

#[test]
fn changed_tool_offers_no_wider_scope() {
    let mut desk = Desk::new(&[]);
    desk.list(&[tool("add"), tool("sub")]);
    let mut changed = tool("add");
    changed["description"] = "another".into();
    desk.list(&[changed, tool("sub")]);
    desk.call(1, "add", json!({}));
    assert!(labels(&desk, 1).is_empty());
    desk.hear_json();
    desk.call(2, "sub", json!({}));
    assert_eq!(labels(&desk, 2), ["`maths: sub` with any arguments"], "a changed tool is on no list");
}

#[test]
fn lasting_yes_covers_the_listed_tools_in_a_later_gateway() {
    let state = tempfile::tempdir().unwrap();
    let desk = || Desk::in_project(state.path(), policy(&[]), false, project(state.path()));
    {
        let mut desk = desk();
        desk.list(&[tool("add"), tool("sub"), tool("wide")]);
        let call = desk.call(1, "add", json!({"a": 1}));
        desk.person.answer(1, |question| {
            assert!(question.members[0].project.as_ref().is_some_and(|folder| folder.ends_with("/project")));
            Answer::all(wider(1).always())
        });
        assert_eq!(desk.received(), call);
        assert!(!asks(&mut desk, 2, "sub", json!({})));
    }
    let project = project(state.path()).unwrap();
    let rules = project.rules().unwrap();
    let names: Vec<&str> = rules.iter().map(|rule| rule.tool_name.as_str()).collect();
    assert_eq!(names, ["mcp__maths__add", "mcp__maths__sub", "mcp__maths__wide"]);
    let mut desk = desk();
    let mut changed = tool("wide");
    changed["description"] = "another".into();
    desk.list(&[tool("add"), tool("sub"), changed, tool("new")]);
    for (id, name, asked) in [(1, "add", false), (2, "sub", false), (3, "wide", true), (4, "new", true)] {
        assert_eq!(asks(&mut desk, id, name, json!({"b": id})), asked, "{name}");
    }
    project.revoke(rules[1].id).unwrap();
    assert!(asks(&mut desk, 5, "sub", json!({})), "each rule is revoked on its own");
    assert!(!asks(&mut desk, 6, "add", json!({})));
}

#[test]
fn lasting_yes_outside_of_a_project_is_a_denial() {
    let mut desk = Desk::new(&[]);
    desk.list(&[tool("add")]);
    desk.call(1, "add", json!({}));
    desk.person.answer(1, |question| {
        assert_eq!(question.members[0].project, None);
        Answer::all(wider(0).always())
    });
    assert_eq!(desk.hear_json()["result"]["isError"], true);
    let call = desk.call(2, "add", json!({}));
    desk.person.answer(2, |_| yes());
    assert_eq!(desk.received(), call);
}
