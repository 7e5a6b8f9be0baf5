//! Tests that a pattern covers only what the tool offered, and that an ambiguous payload is never approved.

use serde_json::json;

use super::*;

fn folder(path: &str) -> ApprovalRequest {
    let mut request = request(json!({"path": path, "op": "write"}));
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    request.patterns.push(offer("path", Loosen::Under, json!({"path": folder, "op": "write"})));
    request.patterns.push(offer("path", Loosen::Any, json!({"path": null, "op": "write"})));
    request
}

#[test]
fn pattern_answers_exactly_the_payloads_it_covers() {
    let mut memory = ApprovalMemory::default();
    memory.remember(&folder("notes/a.md"), by_pattern(yes(), 0), NOW);
    let of = |memory: &mut ApprovalMemory, path: &str, op: &str| {
        approved(memory, &json!({"path": path, "op": op}))
    };
    assert_eq!(of(&mut memory, "notes/b/c.md", "write"), Some(true));
    for (path, op) in
        [("other/a.md", "write"), ("notes/a.md", "delete"), ("notes/../a", "write"), ("notesy/a", "write")]
    {
        assert_eq!(of(&mut memory, path, op), None, "{path} {op}");
    }
    assert_eq!(approved(&mut memory, &json!({"path": "notes/b", "op": "write", "force": true})), None);
    assert_eq!(approved(&mut memory, &json!({"path": ["notes/b"], "op": "write"})), None);
    assert_eq!(memory.lookup("other", &json!({"path": "notes/b", "op": "write"}), NOW), None);
}

#[test]
fn only_a_matching_offered_pattern_is_remembered() {
    let mut memory = ApprovalMemory::default();
    assert_eq!(memory.remember(&folder("notes/a"), by_pattern(yes(), 2), NOW), None);
    let unnamed = yes().remembered(ApprovalScope::Pattern);
    assert_eq!(memory.remember(&folder("notes/a"), unnamed, NOW), None);
    let mut stray = folder("notes/a");
    stray.payload = json!({"path": "elsewhere/a", "op": "write"});
    assert_eq!(memory.remember(&stray, by_pattern(yes(), 0), NOW), None);
    assert_eq!(memory.store("t", &json!({}), by_pattern(yes(), 0), NOW), None);
    assert!(memory.list(NOW).is_empty());
}

#[test]
fn remembered_denial_wins_over_every_approval() {
    let inside = json!({"path": "notes/private/a", "op": "write"});
    for order in [[0, 1], [1, 0]] {
        let mut memory = ApprovalMemory::default();
        for step in order {
            match step {
                0 => memory.remember(&folder("notes/a.md"), by_pattern(yes(), 0), NOW),
                _ => memory.remember(&folder("notes/private/x"), by_pattern(no(), 0), NOW),
            };
        }
        assert_eq!(approved(&mut memory, &inside), Some(false));
        assert_eq!(approved(&mut memory, &json!({"path": "notes/a", "op": "write"})), Some(true));
        memory.store("t", &inside, yes(), NOW);
        assert_eq!(approved(&mut memory, &inside), Some(false));
    }
}

#[test]
fn ambiguous_path_is_never_approved_from_memory() {
    let mut memory = ApprovalMemory::default();
    memory.remember(&folder("x/a"), by_pattern(yes(), 1), NOW);
    memory.remember(&folder("secrets/a"), by_pattern(no(), 0), NOW);
    assert_eq!(approved(&mut memory, &json!({"path": "open/a", "op": "write"})), Some(true));
    assert_eq!(approved(&mut memory, &json!({"path": "secrets/b", "op": "write"})), Some(false));
    let deep = format!("secrets/{}b", "./".repeat(300));
    for path in ["open/../secrets/b", deep.as_str()] {
        assert_eq!(approved(&mut memory, &json!({ "path": path, "op": "write" })), None, "{path:.30}");
    }
    assert_eq!(approved(&mut memory, &json!({"path": "open/a", "op": "write", "\0path": "secrets"})), None);
}

#[test]
fn payload_cannot_imitate_a_pattern_key() {
    let mut memory = ApprovalMemory::default();
    memory.remember(&folder("notes/a"), by_pattern(yes(), 1), NOW);
    assert_eq!(approved(&mut memory, &json!({"\0path": null, "op": "write"})), None);
    assert_eq!(approved(&mut memory, &json!({"\0path": null, "op": "write", "path": "x"})), None);
}

#[test]
fn equal_patterns_replace_each_other() {
    let mut memory = ApprovalMemory::default();
    memory.remember(&folder("notes/a"), by_pattern(yes(), 0), NOW);
    let last = memory.remember(&folder("notes/b"), by_pattern(no(), 0), NOW).unwrap();
    assert_eq!(memory.list(NOW).len(), 1);
    assert_eq!(approved(&mut memory, &json!({"path": "notes/a", "op": "write"})), Some(false));
    assert!(memory.revoke(last));
    assert_eq!(approved(&mut memory, &json!({"path": "notes/a", "op": "write"})), None);
    assert!(memory.shapes.values().all(Vec::is_empty) && memory.index.is_empty());
}

#[test]
fn exact_decision_and_pattern_are_remembered_separately() {
    let mut memory = ApprovalMemory::default();
    let request = folder("notes/a");
    let exact = memory.remember(&request, yes(), NOW).unwrap();
    memory.remember(&request, by_pattern(yes(), 0), NOW);
    assert_eq!(memory.list(NOW).len(), 2);
    assert!(memory.revoke(exact));
    assert_eq!(approved(&mut memory, &request.payload), Some(true));
}

fn with_any_arguments(tools: Vec<OfferedTool>) -> ApprovalRequest {
    let mut request = ApprovalRequest { definition: Some(Digest::of("t1")), ..request(json!({"n": 1})) };
    request.patterns.push(OfferedPattern::any_arguments("any", tools));
    request
}

#[test]
fn any_arguments_cover_every_payload_of_the_tool_as_it_was() {
    let mut memory = ApprovalMemory::default();
    let known = with_any_arguments(Vec::new());
    memory.remember(&known, by_pattern(yes(), 0), NOW);
    for payload in [json!({}), json!({"n": [1]}), json!("text"), json!({"\0n": 1}), Value::Null] {
        let call = ApprovalRequest { payload, ..known.clone() };
        assert!(memory.recall(&call, NOW).is_some_and(|decision| decision.approved), "{}", call.payload);
        let changed = ApprovalRequest { definition: Some(Digest::of("t2")), ..call.clone() };
        assert_eq!(memory.recall(&changed, NOW), None);
        let other = ApprovalRequest { tool_name: "u".to_owned(), ..call.clone() };
        assert_eq!(memory.recall(&other, NOW), None);
        let riskier = ApprovalRequest { risk: Risk::High, ..call };
        assert_eq!(memory.recall(&riskier, NOW), None);
    }
}

#[test]
fn further_tools_are_remembered_and_revoked_on_their_own() {
    let mut memory = ApprovalMemory::default();
    let tools = ["u", "v"].map(|name| OfferedTool { name: name.to_owned(), definition: Digest::of(name) });
    memory.remember(&with_any_arguments(tools.into()), by_pattern(yes(), 0), NOW);
    let listed: Vec<(MemoryId, String)> =
        memory.list(NOW).iter().map(|entry| (entry.id, entry.tool_name.clone())).collect();
    assert_eq!(listed.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["t", "u", "v"]);
    let covers = |entry: &&RememberedDecision| entry.pattern.as_ref().unwrap().label == "any arguments";
    assert!(memory.list(NOW).iter().all(covers), "no decision claims to cover the other tools");
    let call = |name: &str, definition: &str| ApprovalRequest {
        tool_name: name.to_owned(),
        definition: Some(Digest::of(definition)),
        ..request(json!({"other": true}))
    };
    assert!(memory.recall(&call("u", "u"), NOW).is_some());
    assert_eq!(memory.recall(&call("u", "changed"), NOW), None);
    assert!(memory.revoke(listed[1].0));
    assert_eq!(memory.recall(&call("u", "u"), NOW), None);
    assert!(memory.recall(&call("v", "v"), NOW).is_some());
}
