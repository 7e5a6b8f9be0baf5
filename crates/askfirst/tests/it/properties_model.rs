//! A slow and simple model of the judge: it checks every entry in order and has no index.

use askfirst::policy::SandboxStatus;
use askfirst::{Approval, ApprovalContext, Assessment, View};
use serde_json::Value;

use super::random::{RandomCase, RandomRules, RandomTest};

const GUARDED: [&str; 4] = ["shell", "exec", "worker_call", "worker_create"];

/// The case of an entry that applies to a call, and how specific the entry's name is.
struct Match<'a> {
    specificity: usize,
    case: &'a RandomCase,
}

/// Returns the approval that the design gives a call.
pub(super) fn expected_approval(
    call: &ApprovalContext,
    own: &Assessment,
    main: &RandomRules,
    floors: &[RandomRules],
    sandbox: SandboxStatus,
) -> Approval {
    // Where a tool cannot rehearse, `rehearse` means `required`.
    let meant = |approval: Approval| match approval {
        Approval::Rehearse if !own.rehearses => Approval::Required,
        approval => approval,
    };
    let mut approval = meant(apply_main_rules(call, own, main));
    for floor in floors {
        let matches = find_matches(call, floor);
        let configured = if denies(&matches) {
            Some(Approval::Deny)
        } else {
            config_approval(&matches).map(|(approval, _)| approval)
        };
        let default = floor.default.filter(|_| own.view == View::Silent);
        approval = approval.max(meant(configured.or(default).unwrap_or(Approval::None)));
    }
    match sandbox {
        SandboxStatus::Missing if own.starts_process => approval.max(Approval::Required),
        SandboxStatus::Demanded if own.starts_process => Approval::Deny,
        SandboxStatus::Settled | SandboxStatus::Missing | SandboxStatus::Demanded => approval,
    }
}

fn apply_main_rules(call: &ApprovalContext, own: &Assessment, rules: &RandomRules) -> Approval {
    let matches = find_matches(call, rules);
    let own_approval = match &own.view {
        View::Blocked(_) => return Approval::Deny,
        View::Silent => None,
        View::Harmless => Some(Approval::None),
        View::NeedsApproval(request) if request.approval == Approval::None => Some(Approval::OncePerSession),
        View::NeedsApproval(request) => Some(request.approval),
    };
    if denies(&matches) {
        return Approval::Deny;
    }
    if let Some((configured, is_exact)) = config_approval(&matches) {
        return match own_approval {
            Some(own_approval) if own.firm && !is_exact => configured.max(own_approval),
            Some(_) | None => configured,
        };
    }
    let name = call.tool_name.as_str();
    let approval = own_approval.or(rules.default).unwrap_or(Approval::Required);
    let always_asks = GUARDED.contains(&name) && (own_approval.is_none() || name.starts_with("worker_"));
    if always_asks { approval.max(Approval::Required) } else { approval }
}

fn find_matches<'a>(call: &ApprovalContext, rules: &'a RandomRules) -> Vec<Match<'a>> {
    let mut matches = Vec::new();
    for ((_, alternatives, specificity), cases) in &rules.entries {
        if !alternatives.iter().any(|text| name_matches(text.as_bytes(), call.tool_name.as_bytes())) {
            continue;
        }
        let denies = |case: &&RandomCase| case.approval == Some(Approval::Deny) && !case.when.is_empty();
        let deny = cases.iter().filter(denies).find(|case| holds(case, call));
        let Some(case) = deny.or_else(|| cases.iter().find(|case| holds(case, call))) else { continue };
        let is_exact = *specificity == usize::MAX;
        if is_exact || !GUARDED.contains(&call.tool_name.as_str()) || case.approval == Some(Approval::Deny) {
            matches.push(Match { specificity: *specificity, case });
        }
    }
    matches
}

fn denies(matches: &[Match<'_>]) -> bool {
    matches.iter().any(|found| found.case.approval == Some(Approval::Deny))
}

/// Returns the config's approval, and whether the entry names the tool exactly.
fn config_approval(matches: &[Match<'_>]) -> Option<(Approval, bool)> {
    let is_empty = |case: &RandomCase| case.approval.is_none() && case.risk.is_none();
    let counts = |found: &&Match<'_>| found.case.approval.is_some() || is_empty(found.case);
    let specificity = matches.iter().filter(counts).map(|found| found.specificity).max()?;
    let most_specific = matches.iter().filter(|found| found.specificity == specificity);
    Some((most_specific.filter_map(|found| found.case.approval).max()?, specificity == usize::MAX))
}

/// Whether a name matches a glob, in which `*` is any text and `?` is one byte.
fn name_matches(glob: &[u8], name: &[u8]) -> bool {
    match (glob, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|from| name_matches(rest, &name[from..])),
        ([b'?', rest @ ..], [_, name @ ..]) => name_matches(rest, name),
        ([a, rest @ ..], [b, name @ ..]) => a == b && name_matches(rest, name),
        ([], [_, ..]) | ([_, ..], []) => false,
    }
}

fn holds(case: &RandomCase, call: &ApprovalContext) -> bool {
    let deny = case.approval == Some(Approval::Deny);
    case.when.iter().all(|(field, tests)| match call.args.get(*field) {
        None => false,
        Some(value) if deny => {
            leaves(value).iter().any(|leaf| tests.iter().any(|test| might_hold(test, leaf, call)))
        }
        Some(Value::Array(items)) if items.is_empty() => false,
        Some(Value::Array(items)) => {
            items.iter().all(|item| tests.iter().any(|test| surely_holds(test, item, call)))
        }
        Some(value) => tests.iter().any(|test| surely_holds(test, value, call)),
    })
}

/// Returns the values in a list and in all nested lists.
fn leaves(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(leaves).collect(),
        other => vec![other],
    }
}

fn surely_holds(test: &RandomTest, value: &Value, call: &ApprovalContext) -> bool {
    match (test, value) {
        (RandomTest::Exact(wanted), value) => wanted == value,
        (RandomTest::Glob(glob), Value::String(text)) => {
            !text.contains("..") && !text.contains("%2") && text_matches(glob, text)
        }
        (RandomTest::Path(glob), Value::String(text)) => {
            call.resolved.get(text).is_some_and(|path| text_matches(glob, path))
        }
        (RandomTest::Glob(_) | RandomTest::Path(_), _) => false,
    }
}

fn might_hold(test: &RandomTest, value: &Value, call: &ApprovalContext) -> bool {
    match (test, value) {
        (RandomTest::Exact(wanted), Value::Null) => wanted.is_null(),
        (RandomTest::Glob(_) | RandomTest::Path(_), Value::Null) => false,
        (RandomTest::Exact(Value::Null), _) => false,
        (RandomTest::Exact(Value::String(wanted)), Value::String(text)) => wanted == text,
        (RandomTest::Exact(Value::Bool(wanted)), Value::Bool(value)) => wanted == value,
        (RandomTest::Exact(Value::Number(wanted)), Value::Number(value)) => wanted.as_f64() == value.as_f64(),
        (RandomTest::Exact(_), _) => true,
        (RandomTest::Glob(glob), Value::String(text)) => {
            let climbs = text.contains("..") || text.contains("%2");
            let tidied = text.replace("./", "").replace("//", "/");
            text_matches(glob, text) || glob.contains('/') && (climbs || text_matches(glob, &tidied))
        }
        (RandomTest::Path(glob), Value::String(text)) => {
            call.resolved.get(text).is_none_or(|path| text_matches(glob, path))
        }
        (RandomTest::Glob(_) | RandomTest::Path(_), _) => true,
    }
}

/// Whether a text matches one of the four globs in this test.
fn text_matches(glob: &str, text: &str) -> bool {
    let below = text.strip_prefix("d/").filter(|rest| !rest.is_empty());
    match glob {
        "x*" => text.starts_with('x') && !text.contains('/'),
        "*" => !text.contains('/'),
        "d/**" => below.is_some(),
        "d/*" => below.is_some_and(|rest| !rest.contains('/')),
        other => panic!("unknown glob `{other}`"),
    }
}
