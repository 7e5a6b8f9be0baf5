//! `explain`: every rule that was looked at, and the one that decided.

use askfirst::ApprovalContext;
use askfirst::explain::{Explanation, Found, LookedIn, explain as explain_call};
use askfirst_runtime::assess::{self, Unknown};

use crate::args::Common;
use crate::commands::call::parse_args;
use crate::exit::Exit;
use crate::print::out;
use crate::session::{Offered, read_config};

/// Explains the verdict about a call.
pub fn explain(common: &Common, tool: &str, args: &str) -> anyhow::Result<Exit> {
    let offered = Offered::new(read_config(common)?)?;
    let call = ApprovalContext::new(tool, parse_args(args)?);
    let call = assess::prepare(call, &*offered.toolset, &offered.policy);
    let assessment = assess::assess(&call, &*offered.toolset, Unknown::Silent);
    let explanation = explain_call(&call, &assessment, &offered.policy);
    if common.json {
        crate::print::json(&explanation);
    } else {
        print(tool, &explanation);
        for fact in &assessment.facts {
            out(&format!("  {:<9}{}", fact.label, fact.text));
        }
    }
    Ok(Exit::Done)
}

fn print(tool: &str, explanation: &Explanation) {
    out(&format!("{tool}: {} ({})", explanation.verdict.as_str(), explanation.approval));
    for (at, because) in explanation.because.iter().enumerate() {
        let word = if at == 0 { "decided" } else { "and" };
        out(&format!("  {word:<9}{because}"));
    }
    out(&format!("  {:<9}{}", "tool", explanation.own_view));
    if explanation.looked_at.is_empty() {
        out("  no rule names this tool");
    }
    for looked in &explanation.looked_at {
        let found = match &looked.found {
            Found::Decided => "decided".to_owned(),
            Found::Holds => "holds, something else decided".to_owned(),
            Found::ConditionFails(field) => format!("`when: {field}` does not hold"),
            Found::NotCovered => "a glob does not cover this name".to_owned(),
        };
        let layer = match looked.layer {
            LookedIn::Main => "",
            LookedIn::Floor => " (can only make it stricter)",
        };
        let says = looked.approval.map_or("the tool's own view", |approval| approval.as_str());
        out(&format!("  {:<9}{}{layer}: {says} - {found}", "rule", looked.rule.place()));
    }
}
