//! The judge: the one pure function that turns call, assessment and policy into a verdict.
//!
//! No other code in the project decides whether a call may run. The judge is total: it returns a verdict for
//! every input and cannot fail. It knows nothing about files, clocks, modes, memory or threads.

use std::cell::Cell;
use std::sync::Arc;

use crate::assess::{Assessment, View};
use crate::call::ApprovalContext;
use crate::memory::{MemoryQuery, PayloadRef};
use crate::permit::Permit;
use crate::policy::{Case, GUARDED, MatchingCases, NameMatch, OverrideVerdict, Policy, Rules, SandboxStatus};
use crate::request::{ApprovalRequest, Fact, without_args};
use crate::verdict::{Because, Refusal, Verdict};
use crate::words::{Approval, Cause, Risk};

/// The judge's verdict, with its reasons, its request and its permit.
///
/// It borrows from the policy, so an allow verdict costs almost nothing.
#[derive(Debug)]
pub struct Judgement<'a> {
    call: &'a ApprovalContext,
    assessment: &'a Assessment,
    approval: Approval,
    reason: Option<Reason<'a>>,
    raised: Vec<Reason<'a>>,
    main_cases: MatchingCases<'a>,
    floor_cases: Vec<&'a Case>,
    override_request: Option<Box<ApprovalRequest>>,
    risk: Risk,
    cause: Cause,
    /// Whether a layer says `rehearse`, also if another one is stricter.
    says_rehearse: bool,
    /// Whether the one permit was already taken.
    permit_taken: Cell<bool>,
}

/// The built-in rule for names that a glob does not cover.
const GUARDED_NAME: &str = "guarded name";

#[derive(Debug)]
enum Reason<'a> {
    Rule(&'a Because),
    Default(Approval, Option<&'a Because>),
    Tool(&'a View),
    BuiltIn(&'static str, &'static str),
    NoRehearsal(Arc<str>),
    Override(String),
    Unsettled(&'a str),
}

/// Decides whether a call may run at once, needs approval or is denied.
#[must_use]
pub fn judge<'a>(call: &'a ApprovalContext, assessment: &'a Assessment, policy: &'a Policy) -> Judgement<'a> {
    let mut judgement = apply_main_rules(call, assessment, policy);
    for floor in policy.floors() {
        judgement.raise_to_floor(floor);
    }
    if assessment.starts_process {
        judgement.raise_without_sandbox(policy.sandbox());
    }
    judgement.raise_without_rehearsal(policy);
    if let Some(why) = assessment.unsettled.as_deref().filter(|_| judgement.approval < Approval::Human) {
        judgement.approval = Approval::Human;
        judgement.raised.push(Reason::Unsettled(why));
    }
    judgement
}

/// Applies the main rules in the five steps of precedence.
fn apply_main_rules<'a>(
    call: &'a ApprovalContext,
    assessment: &'a Assessment,
    policy: &'a Policy,
) -> Judgement<'a> {
    let main_cases = policy.main().matching_cases(call);
    let (risk, denial, configured) = (main_cases.risk(), main_cases.denial(), config_approval(&main_cases));
    let judgement = Judgement {
        call,
        assessment,
        approval: Approval::Deny,
        reason: None,
        raised: Vec::new(),
        main_cases,
        floor_cases: Vec::new(),
        override_request: None,
        risk,
        cause: Cause::Policy,
        says_rehearse: false,
        permit_taken: Cell::new(false),
    };
    // 1. The tool reports blocked. 2. A matching config entry says `deny`.
    if let View::Blocked(_) = assessment.view {
        return judgement.with(Approval::Deny, Reason::Tool(&assessment.view));
    }
    if let Some(case) = denial {
        return judgement.with(Approval::Deny, Reason::Rule(&case.origin));
    }
    if let Some(origin) = policy.not_offered(&call.tool_name) {
        return judgement.with(Approval::Deny, Reason::Rule(origin));
    }
    if let Some(decision_point) = policy.decision_override() {
        let verdict = decision_point.needs_approval(call, assessment, judgement.matching_cases().next());
        return judgement.overridden(verdict);
    }
    // 3. The config has another value for the call.
    let own = own_view(assessment);
    if let Some((approval, origin, name_match)) = configured {
        if assessment.firm && name_match != NameMatch::Exact && own.is_some_and(|own| own > approval) {
            return judgement.with_own_view(own);
        }
        return judgement.with(approval, Reason::Rule(origin));
    }
    // 4. The tool's own assessment applies, but guarded names need approval.
    let (default, origin) = policy.main().default_approval().unwrap_or((Approval::Required, None));
    let worker = matches!(call.tool_name.as_str(), "worker_call" | "worker_create");
    let least = own.unwrap_or(default);
    if GUARDED.contains(&call.tool_name.as_str()) && (own.is_none() || worker) && least <= Approval::Required
    {
        let approval = Approval::Required;
        return judgement
            .with(approval, Reason::BuiltIn(GUARDED_NAME, "asks unless the config names it exactly"));
    }
    if own.is_some() {
        return judgement.with_own_view(own);
    }
    // 5. Neither the config nor the tool covers the call.
    judgement.with(default, Reason::Default(default, origin))
}

/// Returns the approval of the most specific entry that has one; among equally specific entries, the strictest.
///
/// If the most specific entry is empty, the result is `None`, and the tool's own assessment applies.
fn config_approval<'a>(cases: &MatchingCases<'a>) -> Option<(Approval, &'a Because, NameMatch)> {
    let (first, name_match) = cases.iter().find(|(case, _)| case.approval.is_some() || case.is_own_view())?;
    let equally_specific = cases.iter().filter(|(_, other)| *other == name_match);
    let approvals = equally_specific.filter_map(|(case, _)| Some((case.approval?, &case.origin)));
    let first = first.approval.map(|approval| (approval, &first.origin));
    let strictest = approvals
        .fold(first, |best, next| if best.is_none_or(|best| next.0 > best.0) { Some(next) } else { best });
    strictest.map(|(approval, origin)| (approval, origin, name_match))
}

fn own_view(assessment: &Assessment) -> Option<Approval> {
    match &assessment.view {
        View::Silent => None,
        View::Harmless => Some(Approval::None),
        View::NeedsApproval(request) if request.approval == Approval::None => Some(Approval::OncePerSession),
        View::NeedsApproval(request) => Some(request.approval),
        View::Blocked(_) => Some(Approval::Deny),
    }
}

impl<'a> Judgement<'a> {
    fn with(mut self, approval: Approval, reason: Reason<'a>) -> Self {
        self.approval = approval;
        self.says_rehearse = approval == Approval::Rehearse;
        self.reason = Some(reason);
        self
    }

    /// Iterates over the matching cases of all layers: the main rules, the most specific first, then the floors.
    fn matching_cases(&self) -> impl Iterator<Item = &'a Case> {
        self.main_cases.cases().chain(self.floor_cases.iter().copied())
    }

    /// Iterates over the reasons, the deciding one first.
    fn reasons(&self) -> impl Iterator<Item = &Reason<'a>> {
        self.raised.iter().rev().chain(&self.reason)
    }

    fn with_own_view(self, own: Option<Approval>) -> Self {
        let view = &self.assessment.view;
        self.with(own.unwrap_or_default(), Reason::Tool(view))
    }

    fn overridden(mut self, verdict: OverrideVerdict) -> Self {
        let text = |word: &str| Reason::Override(word.to_owned());
        match verdict {
            OverrideVerdict::Allow => self.with(Approval::None, text("allow")),
            OverrideVerdict::Ask => {
                let own = own_view(self.assessment).unwrap_or(Approval::Required);
                let config =
                    self.matching_cases().find_map(|case| case.approval).unwrap_or(Approval::Required);
                self.with(own.max(config).max(Approval::Required), text("ask"))
            }
            OverrideVerdict::AskWith(request) => {
                let approval = request.approval.clamp(Approval::OncePerSession, Approval::Deny);
                self.override_request = Some(request);
                self.with(approval, text("ask"))
            }
            OverrideVerdict::Deny(reason) => self.with(Approval::Deny, Reason::Override(reason)),
        }
    }

    fn raise_to_floor(&mut self, floor: &'a Rules) {
        let cases = floor.matching_cases(self.call);
        self.floor_cases.extend(cases.cases());
        self.risk = cases.risk().max(self.risk);
        let configured = match cases.denial() {
            Some(case) => Some((Approval::Deny, Reason::Rule(&case.origin))),
            None => config_approval(&cases)
                .map(|(approval, origin, _)| (approval, Reason::Rule(origin)))
                .or_else(|| {
                    let silent = self.assessment.view == View::Silent;
                    let (approval, origin) = floor.default_approval().filter(|_| silent)?;
                    Some((approval, Reason::Default(approval, origin)))
                }),
        };
        self.says_rehearse |=
            configured.as_ref().is_some_and(|(approval, _)| *approval == Approval::Rehearse);
        if let Some((approval, reason)) = configured.filter(|(approval, _)| *approval > self.approval) {
            self.approval = approval;
            self.raised.push(reason);
        }
    }

    fn raise_without_sandbox(&mut self, sandbox: SandboxStatus) {
        let (least, text) = match sandbox {
            SandboxStatus::Settled => return,
            SandboxStatus::Missing => {
                (Approval::Required, "no OS sandbox works here, so starting a process needs approval")
            }
            SandboxStatus::Demanded => {
                (Approval::Deny, "the config requires an OS sandbox, but none works here")
            }
        };
        if least > self.approval {
            self.approval = least;
            self.raised.push(Reason::BuiltIn("sandbox.require_os_sandbox", text));
            if least == Approval::Deny {
                self.cause = Cause::NoSandbox;
            }
        }
    }

    /// Asks about a call that cannot be rehearsed.
    fn raise_without_rehearsal(&mut self, policy: &Policy) {
        if !self.says_rehearse || self.approval >= Approval::Required {
            return;
        }
        let why = match self.assessment.rehearses {
            true => policy.rehearsal_obstacle(),
            false => Some("this tool cannot run on a view".into()),
        };
        if let Some(why) = why {
            self.approval = Approval::Required;
            self.raised.push(Reason::NoRehearsal(why));
        }
    }

    /// Returns the verdict: allow, rehearse, ask or deny.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::from(self.approval)
    }

    /// Returns the approval value that gives the verdict.
    #[must_use]
    pub fn approval(&self) -> Approval {
        self.approval
    }

    /// Returns the reasons, the deciding one first.
    #[must_use]
    pub fn because(&self) -> Vec<Because> {
        let mut because: Vec<Because> = self.reasons().map(Reason::because).collect();
        because.extend(self.assessment.because.iter().cloned());
        because
    }

    /// Returns the permit to run the call, if the verdict is allow, or to rehearse it, if the verdict is rehearse.
    ///
    /// Only the first request for the permit gets it.
    #[must_use]
    pub fn permit(&self) -> Option<Permit> {
        self.take_permit(|| Arc::new(self.call.clone()))
    }

    /// Returns the permit to run the call, without copying the call.
    ///
    /// Like [`permit`](Self::permit), but `call` must be the same allocation that was judged; otherwise `None`.
    #[must_use]
    pub fn permit_shared(&self, call: &Arc<ApprovalContext>) -> Option<Permit> {
        if self.is_about(call) { self.take_permit(|| Arc::clone(call)) } else { None }
    }

    fn take_permit(&self, call: impl FnOnce() -> Arc<ApprovalContext>) -> Option<Permit> {
        let permit: fn(Arc<ApprovalContext>) -> Permit = match self.verdict() {
            Verdict::Allow => Permit::allowed,
            Verdict::Rehearse => Permit::rehearsed,
            Verdict::Ask | Verdict::Deny => return None,
        };
        (!self.permit_taken.replace(true)).then(|| permit(call()))
    }

    pub(crate) fn is_about(&self, call: &Arc<ApprovalContext>) -> bool {
        std::ptr::eq(Arc::as_ptr(call), self.call)
    }

    /// Returns the refusal for the agent, if the verdict is deny.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        if self.verdict() != Verdict::Deny {
            return None;
        }
        let because = self.because();
        let reason = match &self.assessment.view {
            View::Blocked(reason) => reason.clone(),
            View::Silent | View::Harmless | View::NeedsApproval(_) => because.first().map_or_else(
                || "denied".to_owned(),
                |first| format!("denied by `{}`: {}", first.rule, first.text),
            ),
        };
        Some(Refusal { because, ..Refusal::new(&self.call.tool_name, self.cause, reason) })
    }

    /// Returns the arguments that go into neither memory nor the audit log.
    ///
    /// The tool and every matching rule can exclude arguments.
    #[must_use]
    pub fn exclude_keys(&self) -> Vec<String> {
        let mut keys = self.given_request().map(|request| request.exclude_keys.clone()).unwrap_or_default();
        keys.extend(self.assessment.exclude_keys.iter().cloned());
        keys.extend(self.matching_cases().flat_map(|case| case.exclude_keys.iter().cloned()));
        keys.sort();
        keys.dedup();
        keys
    }

    /// Returns the request for a person, if the verdict is ask.
    #[must_use]
    pub fn request(&self) -> Option<ApprovalRequest> {
        if self.verdict() != Verdict::Ask {
            return None;
        }
        let exclude = self.exclude_keys();
        // The owner described the tool as it was, so the words may not fit a tool that changed.
        let is_settled = self.assessment.unsettled.is_none() && self.override_request.is_none();
        let description = self.matching_cases().find_map(|case| case.description.as_ref());
        let mut request = match self.given_request() {
            Some(given) => self.without_excluded(given.clone(), &exclude),
            None => without_args(&self.call.tool_name, &self.call.args, None, &exclude),
        };
        if let Some(template) = description.filter(|_| is_settled) {
            let action = template.action(&self.call.args, &exclude);
            request.description = action.to_string();
            request.action = Some(action).filter(|_| !request.description.trim().is_empty());
        }
        request.exclude_keys = exclude;
        request.complete(self.call);
        request.approval = self.approval;
        request.risk = self.least_risk(request.risk);
        for fact in &self.assessment.facts {
            if !request.facts.contains(fact) {
                request.facts.push(fact.clone());
            }
        }
        self.add_reason(&mut request.facts);
        Some(request)
    }

    /// Adds the deciding reason to the facts: `why` as a sentence, and `rule` as it stands in the config.
    fn add_reason(&self, facts: &mut Vec<Fact>) {
        let Some(first) = self.reasons().next() else { return };
        let rules: Vec<String> = match first {
            Reason::Tool(_) => self.assessment.because.iter().map(Because::to_string).collect(),
            Reason::Rule(_)
            | Reason::Default(..)
            | Reason::BuiltIn(..)
            | Reason::NoRehearsal(_)
            | Reason::Override(_)
            | Reason::Unsettled(_) => vec![first.because().to_string()],
        };
        facts.splice(0..0, rules.into_iter().map(|rule| Fact::new("rule", rule)));
        let tool_says_why = matches!(first, Reason::Tool(_)) && facts.iter().any(|fact| fact.label == "why");
        if !tool_says_why {
            facts.retain(|fact| fact.label != "why");
            facts.insert(0, Fact::new("why", first.sentence(&self.assessment.because)));
        }
    }

    /// Removes the keys that the config excludes from a given request.
    ///
    /// It rebuilds payload and description only if askfirst generated them. A tool's own texts stay unchanged.
    fn without_excluded(&self, mut given: ApprovalRequest, exclude: &[String]) -> ApprovalRequest {
        if self.excludes_more_than(&given) {
            let generated = |keys: &[String]| without_args(&self.call.tool_name, &self.call.args, None, keys);
            let (before, now) = (generated(&given.exclude_keys), generated(exclude));
            if given.payload == before.payload {
                given.payload = now.payload;
            }
            if given.description == before.description {
                given.description = now.description;
            }
        }
        given
    }

    fn excludes_more_than(&self, given: &ApprovalRequest) -> bool {
        let cases = self.matching_cases().flat_map(|case| &case.exclude_keys);
        let mut keys = cases.chain(&self.assessment.exclude_keys);
        keys.any(|key| self.call.args.contains_key(key) && !given.exclude_keys.contains(key))
    }

    /// Returns the query for the memory, without building the request.
    ///
    /// `None` if the verdict is not ask, or if the payload is known only after the request is built.
    pub(crate) fn memory_query(&self) -> Option<MemoryQuery<'_>> {
        let (payload, risk) = match self.given_request() {
            Some(given) if self.excludes_more_than(given) => return None,
            Some(request) => (PayloadRef::Value(&request.payload), request.risk),
            None => {
                let mut cases = self.matching_cases();
                let excludes_nothing =
                    self.assessment.exclude_keys.is_empty() && cases.all(|case| case.exclude_keys.is_empty());
                (excludes_nothing.then_some(PayloadRef::Args(&self.call.args))?, Risk::Low)
            }
        };
        (self.verdict() == Verdict::Ask).then(|| MemoryQuery {
            tool_name: &self.call.tool_name,
            payload,
            definition: self.call.definition,
            risk: self.least_risk(risk),
            approval: self.approval,
        })
    }

    /// Returns the request that the override or the tool gave.
    fn given_request(&self) -> Option<&ApprovalRequest> {
        match (&self.override_request, &self.assessment.view) {
            (Some(request), _) => Some(request),
            (None, View::NeedsApproval(request)) => Some(request),
            (None, View::Silent | View::Harmless | View::Blocked(_)) => None,
        }
    }

    fn least_risk(&self, risk: Risk) -> Risk {
        risk.max(self.risk).max(self.assessment.risk)
    }
}

impl Reason<'_> {
    /// Says in one sentence why the call needs approval, with the file and line of the rule.
    fn sentence(&self, tool_rules: &[Because]) -> String {
        match self {
            Self::Rule(rule) => rule.after(&format!("`{}` says `{}`", rule.rule, rule.text)),
            Self::Default(approval, Some(rule)) => {
                rule.after(&format!("`default_approval` is `{approval}`, and no rule says otherwise"))
            }
            Self::Default(..) => "no rule covers this tool".to_owned(),
            Self::Tool(_) => match tool_rules {
                [rule, ..] => rule.after(&format!("`{}` says `{}`", rule.rule, rule.text)),
                [] => "this tool asks for approval on its own".to_owned(),
            },
            Self::BuiltIn(rule, text) if *rule == GUARDED_NAME => {
                format!("a tool of this name {text}")
            }
            Self::BuiltIn(_, text) => (*text).to_owned(),
            Self::NoRehearsal(why) => format!("askfirst cannot rehearse this call: {why}"),
            Self::Override(_) => "the program that uses askfirst asks".to_owned(),
            Self::Unsettled(why) => (*why).to_owned(),
        }
    }

    fn because(&self) -> Because {
        match self {
            Self::Rule(because) | Self::Default(_, Some(because)) => (*because).clone(),
            Self::Default(approval, None) => Because::built_in("default_approval", approval.as_str()),
            Self::Tool(view) => Because::built_in(
                "tool's own assessment",
                match view {
                    View::Silent => "no opinion".into(),
                    View::Harmless => "harmless".into(),
                    View::NeedsApproval(request) => format!("needs approval: {}", request.approval),
                    View::Blocked(reason) => format!("blocked: {reason}"),
                },
            ),
            Self::BuiltIn(rule, text) => Because::built_in(rule, *text),
            Self::NoRehearsal(why) => Because::built_in("rehearsal", Arc::clone(why)),
            Self::Unsettled(why) => Because::built_in("unsettled", *why),
            Self::Override(text) => Because::built_in("override", text.as_str()),
        }
    }
}

#[cfg(test)]
#[path = "judge/tests.rs"]
mod tests;
