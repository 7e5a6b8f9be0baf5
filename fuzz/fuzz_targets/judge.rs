//! Judges any call by any small policy: the judge agrees with a plain implementation of the precedence, and a stricter
//! rule never makes the verdict milder.
#![no_main]

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Unstructured};
use askfirst::policy::{Case, GUARDED, Policy, Rules, SandboxStatus, ToolEntry};
use askfirst::when::{Condition, Glob, Test};
use askfirst::{
    Approval, ApprovalContext, ApprovalRequest, Args, Assessment, Because, Risk, Verdict, View, judge,
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const NAMES: [&str; 14] = [
    "a",
    "ab",
    "abc",
    "shell",
    "worker_call",
    "mcp__x__y",
    "*",
    "a*",
    "ab*",
    "mcp__*__y",
    "?b",
    "{a,shell}*",
    "é*",
    "éa?",
];
const CALLED: [&str; 8] = ["a", "ab", "abc", "shell", "worker_call", "mcp__x__y", "éab", "zz"];
const FIELDS: [&str; 3] = ["f", "g", "h"];
const TEXTS: [&str; 6] = ["", "u", "public_x", "a/b", "a/../b", "a/b/c"];
const GLOBS: [&str; 5] = ["*", "public_*", "a/*", "**", "[u-v]"];

#[derive(Debug, Clone, Arbitrary)]
struct Scene {
    main: Layer,
    floor: Option<Layer>,
    called: u8,
    args: Vec<(u8, Arg)>,
    view: Own,
    firm: bool,
    starts: bool,
    sandbox: u8,
    denied: (u8, u8, When),
}

#[derive(Debug, Clone, Arbitrary)]
struct Layer {
    default: Option<u8>,
    entries: Vec<(u8, Vec<Said>)>,
}

#[derive(Debug, Clone, Arbitrary)]
struct Said {
    approval: Option<u8>,
    when: Vec<When>,
    risky: bool,
}

#[derive(Debug, Clone, Arbitrary)]
struct When {
    field: u8,
    any_of: Vec<(u8, u8)>,
}

#[derive(Debug, Clone, Arbitrary)]
enum Arg {
    Text(u8),
    Texts(Vec<u8>),
    Number(i8),
    Object,
}

#[derive(Debug, Clone, Arbitrary)]
enum Own {
    Silent,
    Harmless,
    Needs(u8),
    Blocked,
}

fn pick<T: Copy>(from: &[T], at: u8) -> T {
    from[usize::from(at) % from.len()]
}

/// Globs are slow to build, and there are few.
static TEST_GLOBS: LazyLock<Vec<Glob>> =
    LazyLock::new(|| GLOBS.iter().map(|text| Glob::new(text).expect("a glob")).collect());

impl When {
    fn build(&self) -> Condition {
        let test = |(kind, at): &(u8, u8)| match kind % 4 {
            0 | 1 => Test::Exact(json!(pick(&TEXTS, *at))),
            2 => Test::Exact(json!(at)),
            _ => Test::Glob(TEST_GLOBS[usize::from(*at) % GLOBS.len()].clone()),
        };
        Condition {
            field: pick(&FIELDS, self.field).to_owned(),
            any_of: self.any_of.iter().map(test).collect(),
        }
    }
}

impl Said {
    fn build(&self, rule: &str) -> Case {
        let approval = self.approval.map(|at| pick(&Approval::ALL, at));
        let mut case = Case::new(approval, Because::built_in(rule, "said"));
        case.when = self.when.iter().map(When::build).collect();
        case.risk = self.risky.then_some(Risk::High);
        case
    }
}

impl Layer {
    /// Returns the entries by name; each name occurs once.
    fn named(&self) -> Vec<(&'static str, Vec<Case>)> {
        let mut named: Vec<(&'static str, Vec<Case>)> = Vec::new();
        for (name, said) in self.entries.iter().take(8) {
            let name = pick(&NAMES, *name);
            if named.iter().all(|(known, _)| *known != name) {
                named.push((name, said.iter().take(6).map(|said| said.build(name)).collect()));
            }
        }
        named
    }

    fn default(&self) -> Option<Approval> {
        self.default.map(|at| pick(&Approval::ALL, at))
    }
}

fn rules(default: Option<Approval>, named: &[(&'static str, Vec<Case>)]) -> Rules {
    let entries = named.iter().map(|(name, cases)| ToolEntry::new(*name, cases.clone()));
    Rules::new(default.map(|approval| (approval, None)), entries).expect("these names are globs")
}

fn call(scene: &Scene) -> ApprovalContext {
    let value = |arg: &Arg| match arg {
        Arg::Text(at) => json!(pick(&TEXTS, *at)),
        Arg::Texts(all) => all.iter().take(5).map(|at| json!(pick(&TEXTS, *at))).collect(),
        Arg::Number(n) => json!(n),
        Arg::Object => json!({"x": 1}),
    };
    let args: Args = scene.args.iter().map(|(at, arg)| (pick(&FIELDS, *at).to_owned(), value(arg))).collect();
    ApprovalContext::new(pick(&CALLED, scene.called), args)
}

fn assessment(scene: &Scene) -> Assessment {
    let view = match scene.view {
        Own::Silent => View::Silent,
        Own::Harmless => View::Harmless,
        Own::Needs(at) => {
            let mut request = ApprovalRequest::new("other", "do it", json!({"p": 1}));
            request.approval = pick(&Approval::ALL, at);
            View::NeedsApproval(Box::new(request))
        }
        Own::Blocked => View::Blocked("no".to_owned()),
    };
    Assessment { firm: scene.firm, starts_process: scene.starts, ..Assessment::new(view) }
}

/// The precedence as the design describes it, without any index.
fn plainly(main: &Layer, call: &ApprovalContext, assessment: &Assessment) -> Approval {
    let named = main.named();
    let spoken = speaking(&named, call);
    let own = match &assessment.view {
        View::Silent => None,
        View::Harmless => Some(Approval::None),
        View::NeedsApproval(request) if request.approval == Approval::None => Some(Approval::OncePerSession),
        View::NeedsApproval(request) => Some(request.approval),
        View::Blocked(_) => return Approval::Deny,
    };
    if spoken.iter().any(|(_, case)| case.approval == Some(Approval::Deny)) {
        return Approval::Deny;
    }
    if let Some((said, rank)) = says(&spoken) {
        return if assessment.firm && rank != usize::MAX {
            own.map_or(said, |own| own.max(said))
        } else {
            said
        };
    }
    let name = call.tool_name.as_str();
    let default = main.default().unwrap_or(Approval::Required);
    let guarded = GUARDED.contains(&name) && (own.is_none() || name.starts_with("worker"));
    let least = own.unwrap_or(default);
    if guarded { least.max(Approval::Required) } else { least }
}

fn speaking<'a>(named: &'a [(&'static str, Vec<Case>)], call: &ApprovalContext) -> Vec<(usize, &'a Case)> {
    let name = call.tool_name.as_str();
    let rank = |entry: &str| match Glob::is_plain(entry) {
        true => (entry == name).then_some(usize::MAX),
        false => name_glob(entry).is_match(name).then(|| Glob::literal_length(entry)),
    };
    let speaks = |cases: &'a [Case]| {
        let mut held = cases.iter().filter(|case| holds(case, call));
        let denies = |case: &&Case| case.approval == Some(Approval::Deny) && !case.when.is_empty();
        held.clone().find(denies).or_else(|| held.next())
    };
    let mut spoken: Vec<(usize, &Case)> =
        named.iter().filter_map(|(entry, cases)| Some((rank(entry)?, speaks(cases)?))).collect();
    let guarded = GUARDED.contains(&name);
    spoken.retain(|(rank, case)| !guarded || *rank == usize::MAX || case.approval == Some(Approval::Deny));
    spoken.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    spoken
}

static NAME_GLOBS: LazyLock<Vec<Glob>> =
    LazyLock::new(|| NAMES.iter().map(|text| Glob::of_names(text).expect("a glob")).collect());

fn name_glob(text: &str) -> &'static Glob {
    NAME_GLOBS.iter().find(|glob| glob.text() == text).expect("one of the names")
}

/// Returns the approval value of the most specific entry. If that entry has none, the tool's own assessment applies.
fn says(spoken: &[(usize, &Case)]) -> Option<(Approval, usize)> {
    let speaks = |case: &Case| case.approval.is_some() || case.risk.is_none();
    let first = spoken.iter().find(|(_, case)| speaks(case))?.0;
    let said = spoken.iter().filter(|(rank, _)| *rank == first).filter_map(|(_, case)| case.approval).max();
    said.map(|approval| (approval, first))
}

fn holds(case: &Case, call: &ApprovalContext) -> bool {
    let denies = case.approval == Some(Approval::Deny);
    case.when.iter().all(|condition| match call.args.get(&condition.field) {
        None => false,
        Some(Value::Array(items)) if denies => items.iter().any(|item| one(condition, item, denies)),
        Some(Value::Array(items)) => {
            !items.is_empty() && items.iter().all(|item| one(condition, item, denies))
        }
        Some(value) => one(condition, value, denies),
    })
}

fn one(condition: &Condition, value: &Value, denies: bool) -> bool {
    condition.any_of.iter().any(|test| match (test, value) {
        (Test::Exact(wanted), value) if denies => {
            wanted == value || std::mem::discriminant(wanted) != std::mem::discriminant(value)
        }
        (Test::Exact(wanted), value) => wanted == value,
        (Test::Glob(glob), Value::String(text)) => {
            let climbs = text.split('/').any(|part| part == "..");
            if denies {
                glob.is_match(text) || glob.text().contains('/') && climbs
            } else {
                glob.is_match(text) && !climbs
            }
        }
        (Test::Glob(_) | Test::Path(_), _) => denies,
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(scene) = Scene::arbitrary(&mut Unstructured::new(bytes)) else { return };
    let (call, assessment) = (call(&scene), assessment(&scene));
    let named = scene.main.named();
    let policy = Policy::new(rules(scene.main.default(), &named)).with_sandbox(SandboxStatus::Settled);
    let judgement = judge(&call, &assessment, &policy);
    let before = judgement.approval();
    // No view is set up here, so `rehearse` means `required`.
    let expected = match plainly(&scene.main, &call, &assessment) {
        Approval::Rehearse => Approval::Required,
        approval => approval,
    };
    assert_eq!(before, expected, "{scene:?}");

    let verdict = judgement.verdict();
    assert_eq!(verdict == Verdict::Allow, judgement.permit().is_some());
    assert_eq!(verdict == Verdict::Ask, judgement.request().is_some());
    assert_eq!(verdict == Verdict::Deny, judgement.refusal().is_some());
    assert!(!judgement.because().is_empty());
    if let Some(request) = judgement.request() {
        assert_eq!((&request.tool_name, &request.args), (&call.tool_name, &call.args));
        assert_eq!(request.approval, before);
    }

    let status =
        pick(&[SandboxStatus::Settled, SandboxStatus::Missing, SandboxStatus::Demanded], scene.sandbox);
    let stricter = policy.clone().with_sandbox(status);
    assert!(
        judge(&call, &assessment, &stricter).approval() >= before,
        "a missing sandbox softened {scene:?}"
    );
    if let Some(floor) = &scene.floor {
        let floored = policy.clone().with_floor(rules(floor.default(), &floor.named()));
        assert!(judge(&call, &assessment, &floored).approval() >= before, "a floor softened {scene:?}");
    }

    let (name, at, when) = &scene.denied;
    let name = pick(&NAMES, *name);
    let mut stricter = named;
    let mut deny = Case::new(Some(Approval::Deny), Because::built_in(name, "added"));
    deny.when = if when.any_of.is_empty() { Vec::new() } else { vec![when.build()] };
    match stricter.iter_mut().find(|(known, _)| *known == name) {
        Some((_, cases)) => cases.insert(usize::from(*at) % (cases.len() + 1), deny),
        None => stricter.push((name, vec![deny])),
    }
    let stricter = Policy::new(rules(scene.main.default(), &stricter)).with_sandbox(SandboxStatus::Settled);
    assert!(judge(&call, &assessment, &stricter).approval() >= before, "a deny softened {scene:?}");
});
