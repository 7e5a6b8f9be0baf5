//! Random policies, calls and assessments, from small sets, so that rules often match calls.

use std::sync::Arc;

use askfirst::policy::{Case, NeedsApproval, OverrideVerdict, Policy, Rules, SandboxStatus, ToolEntry};
use askfirst::verdict::Because;
use askfirst::when::{Condition, Glob, Test};
use askfirst::{Approval, ApprovalContext, ApprovalRequest, Assessment, Risk, View};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(super) const TOOLS: [&str; 8] = ["a", "ab", "abc", "b/c", "übel", "shell", "exec", "worker_call"];

/// A name in a config: its text, equivalent globs with only `*` and `?`, and how specific it is.
pub(super) type Name = (&'static str, &'static [&'static str], usize);

pub(super) const NAMES: [Name; 19] = [
    ("a", &["a"], usize::MAX),
    ("ab", &["ab"], usize::MAX),
    ("abc", &["abc"], usize::MAX),
    ("b/c", &["b/c"], usize::MAX),
    ("shell", &["shell"], usize::MAX),
    ("exec", &["exec"], usize::MAX),
    ("worker_call", &["worker_call"], usize::MAX),
    ("*", &["*"], 0),
    ("a*", &["a*"], 1),
    ("ab*", &["ab*"], 2),
    ("?b*", &["?b*"], 1),
    ("a?c", &["a?c"], 2),
    ("*c", &["*c"], 1),
    ("b*", &["b*"], 1),
    ("üb*", &["üb*"], 2),
    ("{a,ab,shell}", &["a", "ab", "shell"], 0),
    ("[abü]*", &["a*", "b*", "ü*"], 0),
    ("{ab,üb,wor}*", &["ab*", "üb*", "wor*"], 0),
    ("ex*", &["ex*"], 2),
];

pub(super) const GLOBS: [&str; 4] = ["x*", "*", "d/**", "d/*"];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RandomTest {
    Exact(Value),
    Glob(&'static str),
    Path(&'static str),
}

#[derive(Debug, Clone)]
pub(super) struct RandomCase {
    pub(super) approval: Option<Approval>,
    pub(super) when: Vec<(&'static str, Vec<RandomTest>)>,
    pub(super) risk: Option<Risk>,
    pub(super) line: u32,
}

pub(super) type RandomEntry = (Name, Vec<RandomCase>);

#[derive(Debug, Clone)]
pub(super) struct RandomRules {
    pub(super) default: Option<Approval>,
    pub(super) entries: Vec<RandomEntry>,
}

pub(super) fn approval() -> impl Strategy<Value = Approval> {
    // `deny` is less frequent, so that the other values decide often enough.
    prop::sample::select([&Approval::ALL[..], &Approval::ALL[..4], &Approval::ALL[..4]].concat())
}

fn texts() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "x", "xy", "y", "d/e", "d/e/f", "./d//e", "d/../x", "..", "d/%2E%2e", "", "1", "true",
    ])
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => texts().prop_map(Value::from),
        3 => Just(json!("x")),
        2 => prop::sample::select(vec![json!(1), json!(1.0), json!(2), json!(true), json!(false), json!(null), json!({})]),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => scalar(),
        1 => prop::collection::vec(scalar(), 0..3).prop_map(Value::from),
        1 => prop::collection::vec(scalar(), 0..2).prop_map(|items| json!([items, "x"])),
    ]
}

fn test() -> impl Strategy<Value = RandomTest> {
    prop_oneof![
        3 => scalar().prop_filter("a value", |value| !value.is_object()).prop_map(RandomTest::Exact),
        2 => prop::sample::select(&GLOBS[..]).prop_map(RandomTest::Glob),
        1 => prop::sample::select(&GLOBS[..]).prop_map(RandomTest::Path),
    ]
}

pub(super) fn case() -> impl Strategy<Value = RandomCase> {
    let field = prop::sample::select(vec!["p", "q"]);
    let when = prop::collection::vec((field, prop::collection::vec(test(), 0..3)), 0..3);
    let risk = prop::option::weighted(0.1, prop::sample::select(vec![Risk::Low, Risk::High]));
    (prop::option::weighted(0.85, approval()), when, risk).prop_map(|(approval, when, risk)| RandomCase {
        approval,
        when,
        risk,
        line: 0,
    })
}

pub(super) fn entry() -> impl Strategy<Value = RandomEntry> {
    (prop::sample::select(&NAMES[..]), prop::collection::vec(case(), 0..4))
}

pub(super) fn rules(most: usize) -> impl Strategy<Value = RandomRules> {
    let entries = prop::collection::vec(entry(), 0..=most);
    (prop::option::of(approval()), entries).prop_map(|(default, mut entries)| {
        let cases = entries.iter_mut().flat_map(|(_, cases)| cases);
        cases.zip(10..).for_each(|(case, line)| case.line = line);
        RandomRules { default, entries }
    })
}

pub(super) fn call() -> impl Strategy<Value = ApprovalContext> {
    let args = prop::collection::btree_map(prop::sample::select(vec!["p", "q", "r"]), value(), 0..3);
    let known = prop::collection::btree_map(texts(), texts(), 0..4);
    (prop::sample::select(&TOOLS[..]), args, known).prop_map(|(tool, args, known)| {
        let args = args.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let mut call = ApprovalContext::new(tool, args);
        call.resolved = known.into_iter().map(|(text, path)| (text.to_owned(), path.to_owned())).collect();
        call
    })
}

pub(super) fn assessment() -> impl Strategy<Value = Assessment> {
    let request = approval().prop_map(|approval| ApprovalRequest {
        approval,
        ..ApprovalRequest::new("?", "the tool's description", json!({"own": 1}))
    });
    let view = prop_oneof![
        3 => Just(View::Silent),
        2 => Just(View::Harmless),
        3 => request.prop_map(|request| View::NeedsApproval(Box::new(request))),
        1 => Just(View::Blocked("never".to_owned())),
    ];
    let flags = (any::<bool>(), prop::bool::weighted(0.3), any::<bool>());
    (view, flags).prop_map(|(view, (firm, starts_process, rehearses))| Assessment {
        firm,
        starts_process,
        rehearses,
        ..Assessment::new(view)
    })
}

pub(super) fn sandbox_status() -> impl Strategy<Value = SandboxStatus> {
    prop::sample::select(vec![SandboxStatus::Settled, SandboxStatus::Missing, SandboxStatus::Demanded])
}

/// An override that always returns the same verdict.
#[derive(Debug, Clone)]
pub(super) struct ConstantOverride(pub(super) OverrideVerdict);

impl NeedsApproval for ConstantOverride {
    fn needs_approval(&self, _: &ApprovalContext, _: &Assessment, _: Option<&Case>) -> OverrideVerdict {
        self.0.clone()
    }
}

pub(super) fn constant_override() -> impl Strategy<Value = Option<ConstantOverride>> {
    let request = |approval| ApprovalRequest {
        approval,
        ..ApprovalRequest::new("?", "the override's description", json!({}))
    };
    let verdict = prop_oneof![
        Just(OverrideVerdict::Allow),
        Just(OverrideVerdict::Ask),
        approval().prop_map(move |approval| OverrideVerdict::AskWith(Box::new(request(approval)))),
        Just(OverrideVerdict::Deny("no".to_owned())),
    ];
    prop::option::weighted(0.2, verdict.prop_map(ConstantOverride))
}

pub(super) fn build(rules: &RandomRules) -> Rules {
    let origin = |rule: &str, line| Because {
        rule: rule.into(),
        file: Some("f".into()),
        line: Some(line),
        text: "t".into(),
    };
    let test = |test: &RandomTest| match test {
        RandomTest::Exact(value) => Test::Exact(value.clone()),
        RandomTest::Glob(glob) => Test::Glob(Glob::new(glob).unwrap()),
        RandomTest::Path(glob) => Test::Path(Glob::new(glob).unwrap()),
    };
    let case = |case: &RandomCase| Case {
        when: case
            .when
            .iter()
            .map(|(field, tests)| Condition {
                field: (*field).to_owned(),
                any_of: tests.iter().map(test).collect(),
            })
            .collect(),
        risk: case.risk,
        ..Case::new(case.approval, origin("tools", case.line))
    };
    let entries =
        rules.entries.iter().map(|(name, cases)| ToolEntry::new(name.0, cases.iter().map(case).collect()));
    let default = rules.default.map(|approval| (approval, Some(origin("default_approval", 1))));
    Rules::new(default, entries).unwrap()
}

pub(super) fn policy(
    main: &RandomRules,
    floors: &[RandomRules],
    sandbox: SandboxStatus,
    constant_override: Option<&ConstantOverride>,
) -> Policy {
    let policy =
        floors.iter().fold(Policy::new(build(main)), |policy, floor| policy.with_floor(build(floor)));
    let policy = policy.with_sandbox(sandbox).with_rehearsal_probe(|| None::<std::sync::Arc<str>>);
    match constant_override {
        Some(constant) => policy.with_override(Arc::new(constant.clone())).unwrap(),
        None => policy,
    }
}
