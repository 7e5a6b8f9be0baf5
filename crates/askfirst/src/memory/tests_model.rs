//! A model test: compares the memory with a plain list without an index.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[derive(Debug, Clone)]
enum Op {
    Remember { request: ApprovalRequest, decision: ApprovalDecision },
    Recall(ApprovalRequest),
    Lookup(ApprovalRequest),
    Revoke(u64),
    Clear,
    Wait(u64),
}

/// One decision in the list.
struct ListEntry {
    id: MemoryId,
    tool_name: String,
    payload: Value,
    definition: Option<Digest>,
    pattern: Option<OfferedPattern>,
    risk: Risk,
    approved: bool,
    until: u64,
}

/// A slow and simple memory: a list of decisions.
#[derive(Default)]
struct ListMemory {
    entries: Vec<ListEntry>,
    next: u64,
}

impl ListMemory {
    fn remember(
        &mut self,
        request: &ApprovalRequest,
        decision: &ApprovalDecision,
        now: u64,
    ) -> Option<MemoryId> {
        let pattern = match decision.remember {
            ApprovalScope::None => return None,
            ApprovalScope::Session => None,
            ApprovalScope::Pattern => Some(request.patterns.get(decision.pattern?)?.clone()),
        };
        if pattern.as_ref().is_some_and(|pattern| covers(pattern, &request.payload) != Some(true)) {
            return None;
        }
        self.entries.retain(|old| old.until > now);
        let coverage = |pattern: &OfferedPattern| {
            let mut fields = pattern.fields.clone();
            for (key, how) in &pattern.loosen {
                let value = fields.entry(key).or_insert(Value::Null);
                if *how == Loosen::Any {
                    *value = Value::Null;
                }
            }
            (fields, pattern.loosen.clone())
        };
        self.entries.retain(|old| {
            let same = match (&old.pattern, &pattern) {
                (None, None) => old.payload == request.payload,
                (Some(a), Some(b)) => coverage(a) == coverage(b),
                (Some(_), None) | (None, Some(_)) => false,
            };
            !(same && old.tool_name == request.tool_name && old.definition == request.definition)
        });
        self.next += 1;
        let entry = ListEntry {
            id: MemoryId(self.next),
            tool_name: request.tool_name.clone(),
            payload: request.payload.clone(),
            definition: request.definition,
            pattern,
            risk: request.risk,
            approved: decision.approved,
            until: now + 10,
        };
        self.entries.push(entry);
        Some(MemoryId(self.next))
    }

    /// Returns whether the request is approved, if the list has a decision for it.
    fn answer(&self, request: &ApprovalRequest, now: u64, strict: bool) -> Option<bool> {
        let of_tool = || self.entries.iter().filter(|entry| entry.tool_name == request.tool_name);
        let covered = |entry: &ListEntry| match &entry.pattern {
            None => Some(entry.payload == request.payload),
            Some(pattern) => covers(pattern, &request.payload),
        };
        let in_doubt = of_tool().any(|entry| covered(entry).is_none());
        let holds = |entry: &&ListEntry| {
            let fits =
                entry.definition == request.definition && (!entry.approved || request.risk <= entry.risk);
            covered(entry) == Some(true) && entry.until > now && (fits || !strict)
        };
        let found: Vec<bool> = of_tool().filter(holds).map(|entry| entry.approved).collect();
        match (found.contains(&false), found.contains(&true)) {
            (true, _) => Some(false),
            (false, true) if !in_doubt => Some(true),
            (false, _) => None,
        }
    }
}

/// Returns whether a pattern covers a payload. `None` if that is unknown.
fn covers(pattern: &OfferedPattern, payload: &Value) -> Option<bool> {
    let Value::Object(fields) = payload else { return Some(false) };
    if fields.keys().any(|key| key.starts_with('\0')) {
        return None;
    }
    let mut all = true;
    for (key, how) in &pattern.loosen {
        let Some(value) = fields.get(key) else { return Some(false) };
        let expected = pattern.fields.get(key).cloned().unwrap_or_default();
        all &= match (how, &expected, value) {
            (Loosen::Any, _, _) => true,
            (Loosen::Under, _, Value::String(path)) if path.split('/').any(|part| part == "..") => {
                return None;
            }
            (Loosen::Under, Value::String(top), Value::String(path)) => match top.as_str() {
                "" => !path.starts_with('/'),
                "/" => path.starts_with('/'),
                top => path == top || path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/')),
            },
            (Loosen::StartsWith, Value::Array(head), Value::Array(items)) => {
                !head.is_empty() && items.starts_with(head)
            }
            (Loosen::Under | Loosen::StartsWith, _, _) => false,
        };
    }
    let rest = |map: &serde_json::Map<String, Value>| {
        let mut map = map.clone();
        map.retain(|key, _| !pattern.loosen.contains_key(key));
        map
    };
    Some(all && rest(fields) == rest(&pattern.fields))
}

fn payload() -> impl Strategy<Value = Value> {
    let path = prop_oneof![
        6 => prop::sample::select(vec!["a", "a/b", "a/b/c", "ab", "", "/", "/a", "a/", "a//b"]).prop_map(Value::from),
        1 => Just(json!("a/../b")),
        1 => prop::sample::select(vec![json!(1), json!(null), json!(["a"]), json!(["a", "b"]), json!([])]),
    ];
    let op = prop::sample::select(vec![json!(1), json!(1.0), json!(true), json!("1")]);
    prop_oneof![
        12 => (path, op).prop_map(|(path, op)| json!({"path": path, "op": op})),
        1 => prop::sample::select(vec![json!(1), json!({"op": 1}), json!({"\0path": null, "op": 1}), json!([])]),
    ]
}

fn pattern() -> impl Strategy<Value = OfferedPattern> {
    let how = || prop::sample::select(vec![Loosen::Any, Loosen::Under, Loosen::StartsWith]);
    let fields = payload().prop_filter("an object", Value::is_object);
    (fields, how(), prop::option::weighted(0.2, how())).prop_map(|(fields, path, op)| {
        let op = op.map(|how| ("op", how));
        OfferedPattern::new("p", fields.as_object().unwrap().clone(), [("path", path)].into_iter().chain(op))
    })
}

fn any_request() -> impl Strategy<Value = ApprovalRequest> {
    let tool = prop::sample::select(vec!["t", "u"]);
    let definition = prop::option::weighted(0.2, Just(Digest::of("d")));
    let risk = prop::sample::select(vec![Risk::Low, Risk::Low, Risk::High]);
    let patterns = prop::collection::vec(pattern(), 0..3);
    (tool, payload(), definition, risk, patterns).prop_map(|(tool, payload, definition, risk, patterns)| {
        ApprovalRequest { definition, risk, patterns, ..ApprovalRequest::new(tool, "", payload) }
    })
}

fn op() -> impl Strategy<Value = Op> {
    let scope =
        prop::sample::select(vec![ApprovalScope::None, ApprovalScope::Session, ApprovalScope::Pattern]);
    let decision =
        (any::<bool>(), scope, prop::option::of(0..3_usize)).prop_map(|(approved, remember, pattern)| {
            ApprovalDecision { approved, remember, pattern, ..ApprovalDecision::yes(Cause::Person) }
        });
    // Often, the pattern covers the request.
    let fitting = (any_request(), any::<bool>()).prop_map(|(mut request, under)| {
        for pattern in &mut request.patterns {
            let Value::Object(fields) = &request.payload else { continue };
            pattern.fields.clone_from(fields);
            pattern.loosen.retain(|key, _| fields.contains_key(key));
            if let (true, Some(Value::String(path))) = (under, pattern.fields.get_mut("path")) {
                path.truncate(path.find('/').unwrap_or(path.len()));
            }
        }
        request
    });
    let request = prop_oneof![any_request(), fitting];
    prop_oneof![
        12 => (request, decision).prop_map(|(request, decision)| Op::Remember { request, decision }),
        12 => any_request().prop_map(Op::Recall),
        6 => any_request().prop_map(Op::Lookup),
        1 => (0..12_u64).prop_map(Op::Revoke),
        2 => (0..6_u64).prop_map(Op::Wait),
        1 => Just(Op::Clear),
    ]
}

proptest! {
    #[test]
    fn memory_answers_like_a_plain_list(ops in prop::collection::vec(op(), 1..60)) {
        let mut memory = ApprovalMemory::new(Some(Duration::from_millis(10)));
        let (mut list, mut now) = (ListMemory::default(), 1);
        for op in ops {
            match op {
                Op::Remember { request, decision } => {
                    let id = memory.remember(&request, decision.clone(), Timestamp(now));
                    prop_assert_eq!(id, list.remember(&request, &decision, now));
                }
                Op::Recall(request) => {
                    let found = memory.recall(&request, Timestamp(now)).map(|decision| decision.approved);
                    prop_assert_eq!(found, list.answer(&request, now, true), "{:?}", request);
                }
                Op::Lookup(request) => {
                    let found = memory.lookup(&request.tool_name, &request.payload, Timestamp(now));
                    prop_assert_eq!(found.as_ref().map(|decision| decision.approved), list.answer(&request, now, false));
                }
                Op::Revoke(id) => {
                    let known = list.entries.iter().position(|entry| entry.id == MemoryId(id));
                    prop_assert_eq!(memory.revoke(MemoryId(id)), known.is_some());
                    if let Some(at) = known {
                        list.entries.remove(at);
                    }
                }
                Op::Clear => {
                    memory.clear();
                    list.entries.clear();
                }
                Op::Wait(time) => now += time,
            }
            let listed: Vec<MemoryId> = memory.list(Timestamp(now)).iter().map(|found| found.id).collect();
            let live = list.entries.iter().filter(|entry| entry.until > now);
            prop_assert_eq!(listed, live.map(|entry| entry.id).collect::<Vec<_>>());
        }
    }
}
