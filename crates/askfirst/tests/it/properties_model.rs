//! The judge once more, slow and obvious: every entry is looked at from the first to the last, nothing is indexed.

use askfirst::policy::Walls;
use askfirst::{Approval, ApprovalContext, Assessment, View};
use serde_json::Value;

use super::random::{RandomCase, RandomRules, RandomTest};

const GUARDED: [&str; 4] = ["shell", "exec", "worker_call", "worker_create"];

/// One entry's word about a call: how surely it means this tool (all of it, for an exact name), and its case.
struct Word<'a> {
    sure: usize,
    case: &'a RandomCase,
}

/// What the design says about a call.
pub(super) fn judged(
    call: &ApprovalContext,
    own: &Assessment,
    main: &RandomRules,
    floors: &[RandomRules],
    walls: Walls,
) -> Approval {
    let mut approval = spoken(call, own, main);
    for floor in floors {
        let words = words(call, floor);
        let said = if denies(&words) { Some(Approval::Deny) } else { config(&words).map(|(said, _)| said) };
        let default = floor.default.filter(|_| own.view == View::Silent);
        approval = approval.max(said.or(default).unwrap_or(Approval::None));
    }
    match walls {
        Walls::Missing if own.starts_process => approval.max(Approval::Required),
        Walls::Demanded if own.starts_process => Approval::Deny,
        Walls::Settled | Walls::Missing | Walls::Demanded => approval,
    }
}

fn spoken(call: &ApprovalContext, own: &Assessment, rules: &RandomRules) -> Approval {
    let words = words(call, rules);
    let own_word = match &own.view {
        View::Blocked(_) => return Approval::Deny,
        View::Silent => None,
        View::Harmless => Some(Approval::None),
        View::NeedsApproval(request) if request.approval == Approval::None => Some(Approval::OncePerSession),
        View::NeedsApproval(request) => Some(request.approval),
    };
    if denies(&words) {
        return Approval::Deny;
    }
    if let Some((said, exactly)) = config(&words) {
        return match own_word {
            Some(own_word) if own.firm && !exactly => said.max(own_word),
            Some(_) | None => said,
        };
    }
    let name = call.tool_name.as_str();
    let said = own_word.or(rules.default).unwrap_or(Approval::Required);
    let asks_anyway = GUARDED.contains(&name) && (own_word.is_none() || name.starts_with("worker_"));
    if asks_anyway { said.max(Approval::Required) } else { said }
}

fn words<'a>(call: &ApprovalContext, rules: &'a RandomRules) -> Vec<Word<'a>> {
    let mut words = Vec::new();
    for ((_, alternatives, sure), cases) in &rules.entries {
        if !alternatives.iter().any(|text| name_matches(text.as_bytes(), call.tool_name.as_bytes())) {
            continue;
        }
        let denies = |case: &&RandomCase| case.approval == Some(Approval::Deny) && !case.when.is_empty();
        let deny = cases.iter().filter(denies).find(|case| holds(case, call));
        let Some(case) = deny.or_else(|| cases.iter().find(|case| holds(case, call))) else { continue };
        let exactly = *sure == usize::MAX;
        if exactly || !GUARDED.contains(&call.tool_name.as_str()) || case.approval == Some(Approval::Deny) {
            words.push(Word { sure: *sure, case });
        }
    }
    words
}

fn denies(words: &[Word<'_>]) -> bool {
    words.iter().any(|word| word.case.approval == Some(Approval::Deny))
}

/// The config's word, and whether it names the tool exactly.
fn config(words: &[Word<'_>]) -> Option<(Approval, bool)> {
    let empty = |case: &RandomCase| case.approval.is_none() && case.risk.is_none();
    let speaks = |word: &&Word<'_>| word.case.approval.is_some() || empty(word.case);
    let sure = words.iter().filter(speaks).map(|word| word.sure).max()?;
    let equally = words.iter().filter(|word| word.sure == sure);
    Some((equally.filter_map(|word| word.case.approval).max()?, sure == usize::MAX))
}

/// `*` is any text and `?` one byte: a letter beyond ASCII is more than one of them.
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

/// The values in a list, in the lists in it, and so on.
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

/// The four globs over values that are used here.
fn text_matches(glob: &str, text: &str) -> bool {
    let below = text.strip_prefix("d/").filter(|rest| !rest.is_empty());
    match glob {
        "x*" => text.starts_with('x') && !text.contains('/'),
        "*" => !text.contains('/'),
        "d/**" => below.is_some(),
        "d/*" => below.is_some_and(|rest| !rest.contains('/')),
        other => panic!("`{other}` is not known here"),
    }
}
