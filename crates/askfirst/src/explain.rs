//! Explains a verdict: lists every rule that names the tool, and the one that decided.
//!
//! It calls the judge and makes no decision of its own.

use serde::Serialize;

use crate::assess::{Assessment, View};
use crate::call::ApprovalContext;
use crate::judge::judge;
use crate::policy::{Policy, Rules};
use crate::verdict::{Because, Verdict};
use crate::words::Approval;

/// The kind of config layer that a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleLayer {
    /// The main rules, which can loosen and tighten.
    Main,
    /// Rules that can only make the verdict stricter.
    Floor,
}

/// The part that one rule played in a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// The rule decided.
    Decided,
    /// The rule applies to the call, but another reason decided.
    Holds,
    /// The rule's condition on this argument does not hold.
    ConditionFails(String),
    /// The rule is a glob, and globs do not cover this name.
    NotCovered,
}

/// One rule that names the tool, and its part in the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleCheck {
    /// The rule.
    #[serde(flatten)]
    pub rule: Because,
    /// The rule's approval value, if it has one.
    pub approval: Option<Approval>,
    /// The layer that the rule comes from.
    pub layer: RuleLayer,
    /// The rule's part in the verdict.
    pub found: RuleOutcome,
}

#[doc(hidden)]
pub use self::{RuleCheck as Looked, RuleLayer as LookedIn, RuleOutcome as Found};

/// A verdict with everything that led to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// The approval value that gives the verdict.
    pub approval: Approval,
    /// The reasons, the deciding one first.
    pub because: Vec<Because>,
    /// The tool's own assessment, as text.
    pub own_view: String,
    /// Every rule that names the tool, in the order in which the judge checks them.
    pub looked_at: Vec<RuleCheck>,
}

/// Judges a call and explains the verdict.
#[must_use]
pub fn explain(call: &ApprovalContext, assessment: &Assessment, policy: &Policy) -> Explanation {
    let judgement = judge(call, assessment, policy);
    let because = judgement.because();
    let mut looked_at = check_rules(policy.main(), RuleLayer::Main, call, because.first());
    for floor in policy.floors() {
        looked_at.extend(check_rules(floor, RuleLayer::Floor, call, because.first()));
    }
    let own_view = match &assessment.view {
        View::Silent => "no opinion".to_owned(),
        View::Harmless => "harmless".to_owned(),
        View::NeedsApproval(request) => format!("needs approval ({})", request.approval),
        View::Blocked(reason) => format!("blocked: {reason}"),
    };
    Explanation { verdict: judgement.verdict(), approval: judgement.approval(), because, own_view, looked_at }
}

fn check_rules(
    rules: &Rules,
    layer: RuleLayer,
    call: &ApprovalContext,
    decided: Option<&Because>,
) -> Vec<RuleCheck> {
    let mut checks = Vec::new();
    for (entry, covered) in rules.entries_for(&call.tool_name) {
        for case in entry.cases() {
            let found = if !covered && case.approval != Some(Approval::Deny) {
                RuleOutcome::NotCovered
            } else if let Some(field) = case.fails_on(call) {
                RuleOutcome::ConditionFails(field.to_owned())
            } else if decided == Some(&case.origin) {
                RuleOutcome::Decided
            } else {
                RuleOutcome::Holds
            };
            checks.push(RuleCheck { rule: case.origin.clone(), approval: case.approval, layer, found });
        }
    }
    checks
}
