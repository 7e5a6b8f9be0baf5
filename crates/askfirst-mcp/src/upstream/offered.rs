//! The wider scopes of a yes to a tool of the server: any arguments, and further tools.
//!
//! Each tool is pinned by its definition, so a tool that is new or changed is not covered. The server's own annotations
//! can only take a tool off the list.

use std::sync::PoisonError;

use askfirst::explain::{RuleOutcome, explain};
use askfirst::{
    Approval, ApprovalContext, ApprovalRequest, Args, Assessment, OfferedPattern, OfferedTool, Risk, judge,
};
use askfirst_display::escape::escaped;
use serde_json::Value;

use super::{KnownTool, Upstream, is_destructive};

impl KnownTool {
    /// The name that the server uses.
    fn own_name(&self) -> &str {
        self.json.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the name cannot be mistaken for several names in a list.
    fn has_plain_name(&self) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
        !self.own_name().is_empty() && self.own_name().chars().all(is_plain)
    }
}

impl Upstream {
    /// The patterns that a yes to this call may be widened to.
    pub(super) fn offered(
        &self,
        known: &KnownTool,
        call: &ApprovalContext,
        request: &ApprovalRequest,
    ) -> Vec<OfferedPattern> {
        let is_settled = known.was.is_none() && call.definition == Some(known.digest);
        if !is_settled || !is_plain_ask(request) {
            return Vec::new();
        }
        let server = escaped(&self.server);
        let label = format!("`{server}: {}` with any arguments", escaped(known.own_name()));
        let mut patterns = vec![OfferedPattern::any_arguments(label, Vec::new())];
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let is_this = |other: &KnownTool| other.definition.name == known.definition.name;
        let list: Vec<&KnownTool> = tools
            .values()
            .map(|other| &**other)
            .filter(|other| is_this(other) || self.is_like(other, request.risk))
            .collect();
        if list.len() > 1 && known.has_plain_name() {
            let names: Vec<&str> = list.iter().map(|other| other.own_name()).collect();
            let (count, names) = (names.len(), names.join(", "));
            let label = format!("these {count} tools of `{server}` with any arguments: {names}");
            let further = list.into_iter().filter(|other| !is_this(other));
            let further = further
                .map(|other| OfferedTool { name: other.definition.name.clone(), definition: other.digest });
            patterns.push(OfferedPattern::any_arguments(label, further.collect()));
        }
        patterns
    }

    /// Whether every call of a tool is asked about like a call of this risk.
    fn is_like(&self, other: &KnownTool, risk: Risk) -> bool {
        if other.was.is_some()
            || !other.has_plain_name()
            || (is_destructive(&other.json) && risk < Risk::High)
        {
            return false;
        }
        let call = ApprovalContext {
            definition: Some(other.digest),
            ..ApprovalContext::new(other.definition.name.clone(), Args::new())
        };
        let assessment = Assessment { risk: other.definition.risk, ..Assessment::silent() };
        let depends = |outcome: &RuleOutcome| matches!(outcome, RuleOutcome::ConditionFails(_));
        if explain(&call, &assessment, &self.policy).looked_at.iter().any(|rule| depends(&rule.found)) {
            return false;
        }
        let request = judge(&call, &assessment, &self.policy).request();
        request.is_some_and(|request| is_plain_ask(&request) && request.risk <= risk)
    }
}

/// Whether a person may answer the request for later calls as well.
fn is_plain_ask(request: &ApprovalRequest) -> bool {
    request.approval < Approval::Human && request.risk < Risk::Irreversible
}
