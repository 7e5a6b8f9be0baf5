//! The one decision. Pure and total: what it cannot make sense of is denied.
//!
//! No other place in the project decides whether a call may run. It knows nothing of files, clocks, modes, memory
//! or threads.

use std::cell::Cell;
use std::sync::Arc;

use crate::assess::{Assessment, View};
use crate::call::ApprovalContext;
use crate::memory::{Asked, Fingerprint};
use crate::permit::Permit;
use crate::policy::{Case, GUARDED, Named, Needs, Policy, Rules, Spoken, Walls};
use crate::request::{ApprovalRequest, Fact, without_args};
use crate::verdict::{Because, Refusal, Verdict};
use crate::words::{Approval, Cause, Risk};

/// The judge's answer. It borrows from the policy, so that an allow costs next to nothing.
#[derive(Debug)]
pub struct Judgement<'a> {
    call: &'a ApprovalContext,
    assessment: &'a Assessment,
    approval: Approval,
    reason: Option<Reason<'a>>,
    raised: Vec<Reason<'a>>,
    spoken: Spoken<'a>,
    floors: Vec<&'a Case>,
    own_request: Option<Box<ApprovalRequest>>,
    risk: Risk,
    cause: Cause,
    /// Its one permit was given away.
    spent: Cell<bool>,
}

#[derive(Debug)]
enum Reason<'a> {
    Rule(&'a Because),
    Default(Approval, Option<&'a Because>),
    Tool(&'a View),
    BuiltIn(&'static str, &'static str),
    Override(String),
    Unsettled(&'a str),
}

/// Decides about a call.
#[must_use]
pub fn judge<'a>(call: &'a ApprovalContext, assessment: &'a Assessment, policy: &'a Policy) -> Judgement<'a> {
    let mut judgement = speak(call, assessment, policy);
    for floor in policy.floors() {
        judgement.raise_to_floor(floor);
    }
    if assessment.starts_process {
        judgement.raise_without_walls(policy.walls());
    }
    if let Some(why) = assessment.unsettled.as_deref().filter(|_| judgement.approval < Approval::Human) {
        judgement.approval = Approval::Human;
        judgement.raised.push(Reason::Unsettled(why));
    }
    judgement
}

/// The five steps of precedence over the rules that speak.
fn speak<'a>(call: &'a ApprovalContext, assessment: &'a Assessment, policy: &'a Policy) -> Judgement<'a> {
    let spoken = policy.main().speaking(call);
    let (risk, denial, said) = (spoken.risk(), spoken.denial(), config_says(&spoken));
    let judgement = Judgement {
        call,
        assessment,
        approval: Approval::Deny,
        reason: None,
        raised: Vec::new(),
        spoken,
        floors: Vec::new(),
        own_request: None,
        risk,
        cause: Cause::Policy,
        spent: Cell::new(false),
    };
    // 1. The tool says blocked. 2. A matching entry says deny.
    if let View::Blocked(_) = assessment.view {
        return judgement.with(Approval::Deny, Reason::Tool(&assessment.view));
    }
    if let Some(case) = denial {
        return judgement.with(Approval::Deny, Reason::Rule(&case.origin));
    }
    if let Some(origin) = policy.not_offered(&call.tool_name) {
        return judgement.with(Approval::Deny, Reason::Rule(origin));
    }
    if let Some(overriding) = policy.overriding() {
        let needs = overriding.needs_approval(call, assessment, judgement.spoken().next());
        return judgement.overridden(needs);
    }
    // 3. The config says something else.
    let own = own_view(assessment);
    if let Some((approval, origin, named)) = said {
        if assessment.firm && named != Named::Exactly && own.is_some_and(|own| own > approval) {
            return judgement.with_own_view(own);
        }
        return judgement.with(approval, Reason::Rule(origin));
    }
    // 4. The tool's own view, but names that can do anything ask.
    let (default, origin) = policy.main().default_approval().unwrap_or((Approval::Required, None));
    let worker = matches!(call.tool_name.as_str(), "worker_call" | "worker_create");
    let least = own.unwrap_or(default);
    if GUARDED.contains(&call.tool_name.as_str()) && (own.is_none() || worker) && least <= Approval::Required
    {
        let approval = Approval::Required;
        return judgement.with(approval, Reason::BuiltIn("guarded name", "asks unless it is named exactly"));
    }
    if own.is_some() {
        return judgement.with_own_view(own);
    }
    // 5. Nobody speaks for the tool.
    judgement.with(default, Reason::Default(default, origin))
}

/// The approval of the most specific entry that has one; of equally specific ones, the strictest. An empty entry
/// that is more specific than all of them leaves the word to the tool.
fn config_says<'a>(spoken: &Spoken<'a>) -> Option<(Approval, &'a Because, Named)> {
    let (first, named) = spoken.iter().find(|(case, _)| case.approval.is_some() || case.is_own_view())?;
    let equally = spoken.iter().filter(|(_, other)| *other == named);
    let said = equally.filter_map(|(case, _)| Some((case.approval?, &case.origin)));
    let first = first.approval.map(|approval| (approval, &first.origin));
    let strictest = said
        .fold(first, |best, next| if best.is_none_or(|best| next.0 > best.0) { Some(next) } else { best });
    strictest.map(|(approval, origin)| (approval, origin, named))
}

fn own_view(assessment: &Assessment) -> Option<Approval> {
    match &assessment.view {
        View::Silent => None,
        View::Harmless => Some(Approval::None),
        View::NeedsApproval(request) => Some(request.approval.max(Approval::OncePerSession)),
        View::Blocked(_) => Some(Approval::Deny),
    }
}

impl<'a> Judgement<'a> {
    fn with(mut self, approval: Approval, reason: Reason<'a>) -> Self {
        self.approval = approval;
        self.reason = Some(reason);
        self
    }

    /// What any layer says, the most specific name first, then the floors.
    fn spoken(&self) -> impl Iterator<Item = &'a Case> {
        self.spoken.cases().chain(self.floors.iter().copied())
    }

    /// The deciding reason first.
    fn reasons(&self) -> impl Iterator<Item = &Reason<'a>> {
        self.raised.iter().rev().chain(&self.reason)
    }

    fn with_own_view(self, own: Option<Approval>) -> Self {
        let view = &self.assessment.view;
        self.with(own.unwrap_or_default(), Reason::Tool(view))
    }

    fn overridden(mut self, needs: Needs) -> Self {
        let text = |word: &str| Reason::Override(word.to_owned());
        match needs {
            Needs::Allow => self.with(Approval::None, text("allow")),
            Needs::Ask => {
                let own = own_view(self.assessment).unwrap_or(Approval::Required);
                let config = self.spoken().find_map(|case| case.approval).unwrap_or(Approval::Required);
                self.with(own.max(config).max(Approval::Required), text("ask"))
            }
            Needs::AskWith(request) => {
                let approval = request.approval.clamp(Approval::OncePerSession, Approval::Deny);
                self.own_request = Some(request);
                self.with(approval, text("ask"))
            }
            Needs::Deny(reason) => self.with(Approval::Deny, Reason::Override(reason)),
        }
    }

    fn raise_to_floor(&mut self, floor: &'a Rules) {
        let spoken = floor.speaking(self.call);
        self.floors.extend(spoken.cases());
        self.risk = spoken.risk().max(self.risk);
        let said = match spoken.denial() {
            Some(case) => Some((Approval::Deny, Reason::Rule(&case.origin))),
            None => config_says(&spoken)
                .map(|(approval, origin, _)| (approval, Reason::Rule(origin)))
                .or_else(|| {
                    let unspoken = self.assessment.view == View::Silent;
                    let (approval, origin) = floor.default_approval().filter(|_| unspoken)?;
                    Some((approval, Reason::Default(approval, origin)))
                }),
        };
        if let Some((approval, reason)) = said.filter(|(approval, _)| *approval > self.approval) {
            self.approval = approval;
            self.raised.push(reason);
        }
    }

    fn raise_without_walls(&mut self, walls: Walls) {
        let (least, text) = match walls {
            Walls::Settled => return,
            Walls::Missing => (Approval::Required, "no walls hold, so no process starts unasked"),
            Walls::Demanded => (Approval::Deny, "the config demands walls, and none hold"),
        };
        if least > self.approval {
            self.approval = least;
            self.raised.push(Reason::BuiltIn("sandbox.require_os_sandbox", text));
            if least == Approval::Deny {
                self.cause = Cause::NoWalls;
            }
        }
    }

    /// Allow, ask or deny.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::from(self.approval)
    }

    /// The approval value behind the verdict.
    #[must_use]
    pub fn approval(&self) -> Approval {
        self.approval
    }

    /// The reasons, the deciding one first.
    #[must_use]
    pub fn because(&self) -> Vec<Because> {
        let mut because: Vec<Because> = self.reasons().map(Reason::because).collect();
        because.extend(self.assessment.because.iter().cloned());
        because
    }

    /// The permit to run the call, if it may run unasked. There is one, for whoever asks first.
    #[must_use]
    pub fn permit(&self) -> Option<Permit> {
        self.gives_permit().then(|| Permit::allowed(Arc::new(self.call.clone())))
    }

    /// The same without a copy of the call. Nothing, if it is not the very call that was judged.
    #[must_use]
    pub fn permit_shared(&self, call: &Arc<ApprovalContext>) -> Option<Permit> {
        (self.is_about(call) && self.gives_permit()).then(|| Permit::allowed(Arc::clone(call)))
    }

    fn gives_permit(&self) -> bool {
        self.verdict() == Verdict::Allow && !self.spent.replace(true)
    }

    pub(crate) fn is_about(&self, call: &Arc<ApprovalContext>) -> bool {
        std::ptr::eq(Arc::as_ptr(call), self.call)
    }

    /// What the agent is told, if the call may never run.
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
                |first| format!("`{}` says: {}", first.rule, first.text),
            ),
        };
        Some(Refusal {
            tool_name: self.call.tool_name.clone(),
            cause: self.cause,
            reason,
            note: None,
            because,
            ends_run: false,
        })
    }

    /// Arguments that are neither remembered nor recorded: what any rule about the call or the tool itself excludes.
    #[must_use]
    pub fn exclude_keys(&self) -> Vec<String> {
        let mut keys = self.own().map(|request| request.exclude_keys.clone()).unwrap_or_default();
        keys.extend(self.assessment.exclude_keys.iter().cloned());
        keys.extend(self.spoken().flat_map(|case| case.exclude_keys.iter().cloned()));
        keys.sort();
        keys.dedup();
        keys
    }

    /// What a person is asked, if the call must be asked about.
    #[must_use]
    pub fn request(&self) -> Option<ApprovalRequest> {
        if self.verdict() != Verdict::Ask {
            return None;
        }
        let exclude = self.exclude_keys();
        let described = self.spoken().find_map(|case| case.description.as_ref());
        let mut request = match self.own() {
            Some(own) => self.without_excluded(own.clone(), &exclude),
            None => without_args(&self.call.tool_name, &self.call.args, None, &exclude),
        };
        if let Some(template) = described.filter(|_| self.own_request.is_none()) {
            request.description = template.fill(&self.call.args, &exclude);
        }
        request.exclude_keys = exclude;
        request.complete(self.call);
        request.approval = self.approval;
        request.risk = self.least_risk(request.risk);
        if let Some(first) = self.reasons().next() {
            request.facts.insert(0, Fact::new("rule", first.because().to_string()));
        }
        for fact in &self.assessment.facts {
            if !request.facts.contains(fact) {
                request.facts.push(fact.clone());
            }
        }
        Some(request)
    }

    /// A tool's request without what the config excludes, where nobody but us wrote payload and description.
    fn without_excluded(&self, mut own: ApprovalRequest, exclude: &[String]) -> ApprovalRequest {
        if self.excludes_more_than(&own) {
            let made = |keys: &[String]| without_args(&self.call.tool_name, &self.call.args, None, keys);
            let (before, now) = (made(&own.exclude_keys), made(exclude));
            if own.payload == before.payload {
                own.payload = now.payload;
            }
            if own.description == before.description {
                own.description = now.description;
            }
        }
        own
    }

    fn excludes_more_than(&self, own: &ApprovalRequest) -> bool {
        let cases = self.spoken().flat_map(|case| &case.exclude_keys);
        let mut keys = cases.chain(&self.assessment.exclude_keys);
        keys.any(|key| self.call.args.contains_key(key) && !own.exclude_keys.contains(key))
    }

    /// What a memory is asked before there is a request. Nothing, where only a request can tell.
    pub(crate) fn asked(&self) -> Option<Asked<'_>> {
        let (fingerprint, risk) = match self.own() {
            Some(own) if self.excludes_more_than(own) => return None,
            Some(request) => (Fingerprint::Value(&request.payload), request.risk),
            None => {
                let mut cases = self.spoken();
                let whole =
                    self.assessment.exclude_keys.is_empty() && cases.all(|case| case.exclude_keys.is_empty());
                (whole.then_some(Fingerprint::Args(&self.call.args))?, Risk::Low)
            }
        };
        (self.verdict() == Verdict::Ask).then(|| Asked {
            tool_name: &self.call.tool_name,
            fingerprint,
            definition: self.call.definition,
            risk: self.least_risk(risk),
            approval: self.approval,
        })
    }

    /// The request that the override or the tool brought along.
    fn own(&self) -> Option<&ApprovalRequest> {
        match (&self.own_request, &self.assessment.view) {
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
    fn because(&self) -> Because {
        match self {
            Self::Rule(because) | Self::Default(_, Some(because)) => (*because).clone(),
            Self::Default(approval, None) => Because::built_in("default_approval", approval.as_str()),
            Self::Tool(view) => Because::built_in(
                "tool's own view",
                match view {
                    View::Silent => "nothing".into(),
                    View::Harmless => "harmless".into(),
                    View::NeedsApproval(request) => format!("needs approval: {}", request.approval),
                    View::Blocked(reason) => format!("blocked: {reason}"),
                },
            ),
            Self::BuiltIn(rule, text) => Because::built_in(rule, *text),
            Self::Unsettled(why) => Because::built_in("unsettled", *why),
            Self::Override(text) => Because::built_in("override", text.as_str()),
        }
    }
}

#[cfg(test)]
#[path = "judge/tests.rs"]
mod tests;
