//! The examples beside a rule, held against the rule as commands are.

use std::path::Path;

use askfirst::Approval;

use super::match_deny::{self, Denied, Ways};
use super::match_words::{self, Case, Covered};
use super::open;
use super::pattern::{Exact, Pattern};
use super::rules::ShellRule;
use super::start::Start;
use super::world::World;

/// Whether a rule speaks about a command line: a denial about any program in it, any other rule about all of them.
///
/// # Errors
/// Fails if the line is not understood.
pub fn rule_matches(rule: &ShellRule, text: &str, folder: &Path, world: &dyn World) -> Result<bool, String> {
    let opened = open::open_text(text, folder, world);
    let exact = if rule.exact { Exact::Yes } else { Exact::No };
    let pattern = Pattern::new(&rule.words, exact);
    if rule.approval == Approval::Deny {
        let ways = Ways { base: folder, world };
        let denies = |start: &Start| {
            let used = start.used.as_ref();
            used.is_some_and(|used| match_deny::denies(&pattern, start, used, ways) == Denied::Yes)
        };
        let in_text = !opened.gaps.is_empty() && match_deny::in_text(&pattern, text);
        return Ok(in_text || opened.starts.iter().any(denies));
    }
    if let Some((_, why)) = opened.gaps.first() {
        return Err(why.clone());
    }
    let covers = |start: &Start| {
        let case = |used| Case { start, used, world, base: folder, cwd: folder, inner: None };
        let covered = start.used.as_ref().map(|used| match_words::covers(&pattern, 0, &case(used)));
        match covered {
            Some(Covered::Yes) => true,
            // A rule that asks speaks also about what it does not name.
            Some(Covered::But(_)) => rule.approval >= Approval::Required,
            Some(Covered::No | Covered::Into(_)) | None => false,
        }
    };
    let mut written = opened.starts.iter().filter(|start| start.via.is_empty()).peekable();
    Ok(written.peek().is_some() && written.all(covers))
}
