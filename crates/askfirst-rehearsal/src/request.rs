//! The request about the effects of a call: the headline, the payload and the reason.

use askfirst::{
    Action, ApprovalPresentation, ApprovalRequest, ChangedPath, Effects, EffectsJudgement, EffectsVerdict,
    Fact, PathChange, PathLevel, PresentationKind, RequestSubject, RunFactKind,
};
use serde_json::Value;

/// The longest command in the headline, in characters.
const MAX_COMMAND: usize = 60;

/// Builds the request about effects.
pub fn request(
    tool_name: &str,
    command: &str,
    args: &askfirst::Args,
    effects: &Effects,
    judgement: &EffectsJudgement,
    products: &[String],
    present: impl FnOnce() -> ApprovalPresentation,
) -> ApprovalRequest {
    let counts = counts(effects);
    let next_run = next_run(effects, products);
    let runs_again = judgement.verdict() == EffectsVerdict::AskToRunAgain;
    let description = match runs_again {
        true => format!("run {} {next_run}: it {}", short(command), facts(effects)),
        false => format!("keep the changes of {}? · {counts}", short(command)),
    };
    let mut payload = effects.payload(Value::from(command));
    if runs_again && let Some(fields) = payload.as_object_mut() {
        // A remembered yes to the changes is no yes to another run.
        fields.insert("runs_again".to_owned(), true.into());
    }
    let mut request = ApprovalRequest::new(tool_name, description, payload);
    request.args = args.clone();
    request.action = Some(match runs_again {
        true => Action::new("run ").value(short(command)).words(format!(" {next_run}?")),
        false => Action::new("keep the changes of ").value(short(command)).words(format!("? · {counts}")),
    });
    request.same = Some("the same kinds of changes to the same files by the same command".to_owned());
    let why = judgement.reasons().first().cloned().unwrap_or_default();
    let more = judgement.reasons().len().saturating_sub(1);
    let why = if more > 0 { format!("{why}, and {more} more") } else { why };
    let why = judgement.because().first().map_or(why.clone(), |because| because.after(&why));
    request.facts.push(Fact::new("why", why));
    request.facts.push(Fact::new("command", command));
    let is_shown = |change: &ChangedPath| change.level != PathLevel::Ordinary;
    request.subject = match runs_again {
        true => RequestSubject::RunAgain,
        false if effects.changes.iter().any(is_shown) => RequestSubject::ShownChanges,
        false => RequestSubject::Changes,
    };
    request.presentation = match judgement.verdict() {
        EffectsVerdict::Ask => Some(present()),
        EffectsVerdict::AskToRunAgain => Some(meaning(effects, products)),
        EffectsVerdict::Commit | EffectsVerdict::Discard => None,
    };
    request
}

/// Describes the run that a yes starts.
fn next_run(effects: &Effects, products: &[String]) -> String {
    if is_server(effects) {
        let writes = if products.is_empty() { "nothing".to_owned() } else { products.join(", ") };
        return format!("on the real files, writing only: {writes}");
    }
    let words = effects.facts.iter().map(|fact| match fact.kind() {
        RunFactKind::Network => "again with the network",
        RunFactKind::Processes => "again and keep what it did, although it left processes",
        RunFactKind::Server | RunFactKind::RealFiles => "again on the real files, without undo",
    });
    let mut words: Vec<&str> = words.collect();
    words.dedup();
    words.join(", ")
}

fn is_server(effects: &Effects) -> bool {
    let is_kind = |kind| effects.facts.iter().any(|fact| fact.kind() == kind);
    is_kind(RunFactKind::Server) && !is_kind(RunFactKind::RealFiles)
}

/// Describes the meaning of yes and no to running a call again.
fn meaning(effects: &Effects, products: &[String]) -> ApprovalPresentation {
    let is_real = effects.facts.iter().any(|fact| fact.kind() == RunFactKind::RealFiles);
    let more = match is_server(effects) {
        true => {
            " It stays in the background, so that it notices changes, and gets no more network than before.\n     \
             askfirst does not ask about it again in this session."
        }
        false if is_real => "",
        false => " It runs on a new copy. Its changes are judged like those of every command.",
    };
    let text = format!(
        "It ran on a copy first, and askfirst throws that copy away.\nyes  It runs {}.{more}\nno   It does not run again, and the agent gets no output.\n",
        next_run(effects, products)
    );
    ApprovalPresentation::new(PresentationKind::Text, text)
}

fn facts(effects: &Effects) -> String {
    effects.facts.iter().map(askfirst::RunFact::text).collect::<Vec<_>>().join(", and it ")
}

fn short(command: &str) -> String {
    let mut letters = command.chars();
    let start: String = letters.by_ref().take(MAX_COMMAND).collect();
    if letters.next().is_some() { format!("{start}…") } else { start }
}

/// Counts the changes in words, such as `3 changed, 41 added`.
#[must_use]
pub fn counts(effects: &Effects) -> String {
    let changed = effects.count(PathChange::Changed) + effects.count(PathChange::Attributes);
    let all = [
        (changed, "changed"),
        (effects.count(PathChange::Added), "added"),
        (effects.count(PathChange::Removed), "removed"),
    ];
    let words: Vec<String> = all
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if words.is_empty() { "no changes".to_owned() } else { words.join(", ") }
}
