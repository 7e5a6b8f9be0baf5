//! Why a call would run, be asked about or be refused: every rule that was looked at, and the one that decided.
//!
//! It asks the judge; it decides nothing by itself.

use serde::Serialize;

use crate::assess::{Assessment, View};
use crate::call::ApprovalContext;
use crate::judge::judge;
use crate::policy::{Policy, Rules};
use crate::verdict::{Because, Verdict};
use crate::words::Approval;

/// The layer that a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LookedIn {
    /// The rules that speak.
    Main,
    /// Rules that can only make it stricter.
    Floor,
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// It decided.
    Decided,
    /// It holds, but something else decided.
    Holds,
    /// Its condition on an argument does not hold.
    ConditionFails(String),
    /// A glob does not cover this name.
    NotCovered,
}

/// One rule that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// The rule.
    #[serde(flatten)]
    pub rule: Because,
    /// What it says.
    pub approval: Option<Approval>,
    /// The layer.
    pub layer: LookedIn,
    /// What became of it.
    pub found: Found,
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// The approval value behind it.
    pub approval: Approval,
    /// The reasons, the deciding one first.
    pub because: Vec<Because>,
    /// What the tool itself thinks, in words.
    pub own_view: String,
    /// Every rule that names the tool, in the order in which it was looked at.
    pub looked_at: Vec<Looked>,
}

/// Explains the judge's answer.
#[must_use]
pub fn explain(call: &ApprovalContext, assessment: &Assessment, policy: &Policy) -> Explanation {
    let judgement = judge(call, assessment, policy);
    let because = judgement.because();
    let mut looked_at = looked_in(policy.main(), LookedIn::Main, call, because.first());
    for floor in policy.floors() {
        looked_at.extend(looked_in(floor, LookedIn::Floor, call, because.first()));
    }
    let own_view = match &assessment.view {
        View::Silent => "no opinion".to_owned(),
        View::Harmless => "harmless".to_owned(),
        View::NeedsApproval(request) => format!("needs approval ({})", request.approval),
        View::Blocked(reason) => format!("blocked: {reason}"),
    };
    Explanation { verdict: judgement.verdict(), approval: judgement.approval(), because, own_view, looked_at }
}

fn looked_in(
    rules: &Rules,
    layer: LookedIn,
    call: &ApprovalContext,
    decided: Option<&Because>,
) -> Vec<Looked> {
    let mut looked = Vec::new();
    for (entry, covered) in rules.naming(&call.tool_name) {
        for case in entry.cases() {
            let found = if !covered && case.approval != Some(Approval::Deny) {
                Found::NotCovered
            } else if let Some(field) = case.fails_on(call) {
                Found::ConditionFails(field.to_owned())
            } else if decided == Some(&case.origin) {
                Found::Decided
            } else {
                Found::Holds
            };
            looked.push(Looked { rule: case.origin.clone(), approval: case.approval, layer, found });
        }
    }
    looked
}
