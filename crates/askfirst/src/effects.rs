//! The second decision: whether the effects of a rehearsed call may count. A pure function, beside the judge.
//!
//! A call that ran on a view has changed nothing yet. [`judge_effects`] takes the changes that it would make and the
//! facts about its run. It returns whether to commit the changes, to ask, to run the call again or to discard them.
//! Like [`judge`](crate::judge()), it is total, and it knows nothing about files, clocks or modes.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::decision::ApprovalDecision;
use crate::digest::Digest;
use crate::permit::CommitPermit;
use crate::verdict::Because;
use crate::words::{Approval, Cause};

/// Everything that a call did on a view.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    /// Identifies exactly these changes.
    pub digest: Digest,
    /// The paths that would change.
    pub changes: Vec<ChangedPath>,
    /// The facts about the run besides the changed paths.
    pub facts: Vec<RunFact>,
}

/// A path that would change.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedPath {
    /// The path as a person reads it, with escapes for what a screen would not draw.
    pub path: String,
    /// The change.
    pub change: PathChange,
    /// How much the file matters.
    pub level: PathLevel,
    /// The approval value for writing at this path, the strictest of all layers.
    pub write: Approval,
    /// The config entry that sets it.
    pub because: Option<Because>,
    /// Whether git can restore what the change replaces. It matters only where undo cannot.
    pub is_in_git: bool,
}

/// The change of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathChange {
    /// A new file, link or folder.
    Added,
    /// Other content, or another kind of file.
    Changed,
    /// Other permissions or times only.
    Attributes,
    /// A removed file, link or folder.
    Removed,
}

impl PathChange {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Attributes => "attributes",
            Self::Removed => "removed",
        }
    }
}

/// How much a changed file matters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathLevel {
    /// The approval for writing decides.
    Ordinary,
    /// A person always sees the change, for this reason.
    Shown(Arc<str>),
    /// The change is never made, for this reason.
    Never(Arc<str>),
}

/// Something that a call did besides changing files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunFact {
    /// It tried to reach the network this many times.
    TriedNetwork(u64),
    /// It left this many processes behind, which were ended.
    LeftProcesses(u64),
    /// It listened on these ports.
    Listened(Vec<u16>),
    /// It ran until the time limit.
    TimedOut,
    /// It failed to rename a folder, which a view does not allow.
    FolderRename,
}

impl RunFact {
    /// Says it in a few words.
    #[must_use]
    pub fn text(&self) -> String {
        let s = |count: u64| if count == 1 { "" } else { "s" };
        match self {
            Self::TriedNetwork(1) => "tried to reach the network".to_owned(),
            Self::TriedNetwork(tries) => format!("tried to reach the network {tries} times"),
            Self::LeftProcesses(count) => {
                format!("left {count} process{} running", if *count == 1 { "" } else { "es" })
            }
            Self::Listened(ports) => {
                let named: Vec<String> = ports.iter().map(u16::to_string).collect();
                format!("listened on port{} {}", s(ports.len() as u64), named.join(", "))
            }
            Self::TimedOut => "did not end within its time limit".to_owned(),
            Self::FolderRename => "could not rename a folder, which works only on the real files".to_owned(),
        }
    }

    /// Returns what a person accepts with it.
    #[must_use]
    pub fn kind(&self) -> RunFactKind {
        match self {
            Self::TriedNetwork(_) => RunFactKind::Network,
            Self::LeftProcesses(_) => RunFactKind::Processes,
            Self::Listened(_) | Self::TimedOut => RunFactKind::Server,
            Self::FolderRename => RunFactKind::RealFiles,
        }
    }
}

/// A fact about a run that a person can accept, so that the call runs again with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunFactKind {
    /// The call gets the network.
    Network,
    /// The call may start processes that outlive it. They are ended all the same.
    Processes,
    /// The call keeps running on the real files, like a server or a watcher. It may write only build output.
    Server,
    /// The call runs on the real files, without undo.
    RealFiles,
}

/// The input of the decision about effects besides the effects.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectsPolicy {
    /// Why the call ran.
    pub basis: RunBasis,
    /// Whether removals need approval even where writing does not.
    pub asks_about_removals: bool,
    /// Why what the commit replaces could not be kept for undo, if so.
    pub undo_obstacle: Option<Arc<str>>,
    /// The facts about this run that a person has already accepted.
    pub accepted: Vec<RunFactKind>,
}

/// Why a call ran on a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunBasis {
    /// Only its effects decide.
    Rehearsal,
    /// The policy, a person or the mode had approved the call itself.
    Approval,
}

/// The verdict about effects. Variants are ordered by strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffectsVerdict {
    /// The changes may be made.
    Commit,
    /// A person must see the changes.
    Ask,
    /// A person must decide whether the call may run again with more access. Its changes do not count.
    AskToRunAgain,
    /// The changes must not be made.
    Discard,
}

/// The verdict about effects, with its reasons and its permit.
#[derive(Debug)]
pub struct EffectsJudgement {
    digest: Digest,
    verdict: EffectsVerdict,
    approval: Approval,
    reasons: Vec<String>,
    because: Vec<Because>,
}

/// Decides about the effects of a call.
///
/// 1. A file that is never written: discard.
/// 2. A rehearsed call that tried the network, left processes or met its time limit: ask whether it may run again.
/// 3. A file that is always shown, a removal that the policy asks about, and anything that neither undo nor git could
///    restore: ask.
/// 4. For a rehearsed call, the approval for writing each path.
/// 5. Otherwise: commit.
#[must_use]
pub fn judge_effects(effects: &Effects, policy: &EffectsPolicy) -> EffectsJudgement {
    let mut judgement = EffectsJudgement {
        digest: effects.digest,
        verdict: EffectsVerdict::Commit,
        approval: Approval::None,
        reasons: Vec::new(),
        because: Vec::new(),
    };
    for change in &effects.changes {
        judgement.look_at(change, policy);
    }
    if policy.basis == RunBasis::Rehearsal {
        let open = effects.facts.iter().filter(|fact| !policy.accepted.contains(&fact.kind()));
        for fact in open {
            judgement
                .raise(EffectsVerdict::AskToRunAgain, Approval::Required, || format!("it {}", fact.text()));
        }
    }
    let loses = |change: &ChangedPath| change.change != PathChange::Added && !change.is_in_git;
    if let Some(why) = policy.undo_obstacle.as_ref().filter(|_| effects.changes.iter().any(loses)) {
        judgement.raise(EffectsVerdict::Ask, Approval::Required, || format!("it could not be undone: {why}"));
    }
    judgement
}

impl EffectsJudgement {
    fn look_at(&mut self, change: &ChangedPath, policy: &EffectsPolicy) {
        let path = &change.path;
        match &change.level {
            PathLevel::Never(why) => {
                self.raise(EffectsVerdict::Discard, Approval::Deny, || format!("`{path}`: {why}"));
            }
            PathLevel::Shown(why) => {
                self.raise(EffectsVerdict::Ask, Approval::Required, || format!("`{path}`: {why}"));
            }
            PathLevel::Ordinary => {}
        }
        if change.write == Approval::Deny {
            self.raise(EffectsVerdict::Discard, Approval::Deny, || format!("writing `{path}` is denied"));
            self.because.extend(change.because.clone());
        } else if policy.basis == RunBasis::Rehearsal && change.write > Approval::Rehearse {
            self.raise(EffectsVerdict::Ask, change.write, || format!("writing `{path}` needs approval"));
            if self.because.is_empty() {
                self.because.extend(change.because.clone());
            }
        }
        if policy.asks_about_removals && change.change == PathChange::Removed {
            let reason = || format!("it removes `{path}`, and the config asks about removals");
            self.raise(EffectsVerdict::Ask, Approval::Required, reason);
        }
    }

    /// Makes the verdict at least this strict. Only the reasons of the strictest verdict stay.
    fn raise(&mut self, verdict: EffectsVerdict, approval: Approval, reason: impl FnOnce() -> String) {
        if verdict < self.verdict {
            return;
        }
        if verdict > self.verdict {
            self.verdict = verdict;
            self.reasons.clear();
            self.because.clear();
        }
        self.approval = self.approval.max(approval);
        if self.reasons.len() < MAX_REASONS {
            self.reasons.push(reason());
        }
    }

    /// Returns the verdict.
    #[must_use]
    pub fn verdict(&self) -> EffectsVerdict {
        self.verdict
    }

    /// Returns the approval value of the question, if there is one.
    #[must_use]
    pub fn approval(&self) -> Approval {
        self.approval
    }

    /// Returns the first reasons for the verdict.
    #[must_use]
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Returns the config entries behind the verdict.
    #[must_use]
    pub fn because(&self) -> &[Because] {
        &self.because
    }

    /// Returns the permit to commit the changes, if they need no approval.
    #[must_use]
    pub fn permit(self) -> Option<CommitPermit> {
        let is_free = self.verdict == EffectsVerdict::Commit;
        is_free.then(|| CommitPermit::new(self.digest, Cause::Policy))
    }

    /// Returns the permit to commit the changes, if the verdict is to ask about them and the answer is yes.
    #[must_use]
    pub fn permit_after(self, decision: &ApprovalDecision) -> Option<CommitPermit> {
        let said_yes =
            self.verdict == EffectsVerdict::Ask && decision.approved && decision.edited_args.is_none();
        said_yes.then(|| CommitPermit::new(self.digest, decision.cause))
    }
}

/// How many reasons a judgement keeps. The question lists all changes anyway.
const MAX_REASONS: usize = 20;

impl Effects {
    /// Returns the payload for a question about these effects: the command, the paths with their kinds of change, and the
    /// facts.
    ///
    /// The content is not part of it, so that a remembered answer covers such changes again. If a changed file is always
    /// shown, the digest is part of it, so that a remembered answer covers exactly this content.
    #[must_use]
    pub fn payload(&self, command: Value) -> Value {
        let changes = self.changes.iter().map(|change| json!([change.path, change.change.as_str()]));
        let facts = self.facts.iter().map(|fact| format!("{:?}", fact.kind()));
        let is_ordinary = |change: &ChangedPath| change.level == PathLevel::Ordinary;
        let exactly = (!self.changes.iter().all(is_ordinary)).then(|| self.digest.to_string());
        json!({
            "effects_of": command,
            "changes": changes.collect::<Vec<_>>(),
            "facts": facts.collect::<Vec<_>>(),
            "exactly": exactly,
        })
    }

    /// Returns how many paths have this change.
    #[must_use]
    pub fn count(&self, change: PathChange) -> usize {
        self.changes.iter().filter(|path| path.change == change).count()
    }
}

#[cfg(test)]
#[path = "effects/tests.rs"]
mod tests;
