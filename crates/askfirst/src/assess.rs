//! The tool's own assessment of a call, and the trait through which a tool gives it.

use std::path::PathBuf;

use serde_json::Value;

use crate::call::ApprovalContext;
use crate::pattern::OfferedPattern;
use crate::presentation::ApprovalPresentation;
use crate::request::{Action, ApprovalRequest, Fact};
use crate::verdict::Because;
use crate::words::Risk;

/// A tool's opinion about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum View {
    /// The tool has no opinion, so the policy decides.
    Silent,
    /// The call may run without asking.
    Harmless,
    /// The call needs approval. askfirst asks a person with this request.
    NeedsApproval(Box<ApprovalRequest>),
    /// The call must never run. The agent gets this reason.
    Blocked(String),
}

/// The result of a tool's own check of a call: a view, and what supports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The tool's opinion about the call.
    pub view: View,
    /// The rules of the tool's own config that led to the view.
    pub because: Vec<Because>,
    /// Whether the view comes from the owner's config for exactly this tool. A glob cannot loosen a firm view.
    pub firm: bool,
    /// Whether the call would start a process.
    pub starts_process: bool,
    /// Whether the tool can run the call on a view and hold its changes back.
    pub rehearses: bool,
    /// Why the owner's rules may not apply to this call, for example because the tool changed since they were
    /// written. If set, a person must answer, even if the rules allow the call.
    pub unsettled: Option<String>,
    /// Facts about the call. A request shows them even if the config, not the tool, asks for approval.
    pub facts: Vec<Fact>,
    /// The lowest risk that a request for this call may have.
    pub risk: Risk,
    /// Arguments that never go into memory or the audit log, whatever the verdict.
    pub exclude_keys: Vec<String>,
}

impl Assessment {
    /// Creates an assessment that has a view and nothing else.
    #[must_use]
    pub fn new(view: View) -> Self {
        Self {
            view,
            because: Vec::new(),
            firm: false,
            starts_process: false,
            rehearses: false,
            unsettled: None,
            facts: Vec::new(),
            risk: Risk::Low,
            exclude_keys: Vec::new(),
        }
    }

    /// Creates an assessment without an opinion.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(View::Silent)
    }

    /// Creates an assessment that lets the call run without asking.
    #[must_use]
    pub fn harmless() -> Self {
        Self::new(View::Harmless)
    }

    /// Creates an assessment that asks a person with `request`.
    #[must_use]
    pub fn needs_approval(request: ApprovalRequest) -> Self {
        Self::new(View::NeedsApproval(Box::new(request)))
    }

    /// Creates an assessment that blocks the call and gives the agent `reason`.
    #[must_use]
    pub fn blocked(reason: impl Into<String>) -> Self {
        Self::new(View::Blocked(reason.into()))
    }
}

/// The content that a person sees for a call, and the state that it depends on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shown {
    /// The action of the call. If the config has a description of its own, this becomes a fact.
    pub action: Option<Action>,
    /// The content.
    pub presentation: Option<ApprovalPresentation>,
    /// More facts, found while the content was built.
    pub facts: Vec<Fact>,
    /// More patterns that a person may choose to have remembered.
    pub patterns: Vec<OfferedPattern>,
    /// The state that the content depends on, such as a file's digest. The tool gets it back when the call runs.
    pub basis: Option<Value>,
}

/// A tool that knows which of its calls need approval.
pub trait ApprovalAware: Send + Sync {
    /// Assesses a call from the tool's config and the arguments.
    ///
    /// It changes nothing and asks no one. It does not know the mode or the memory.
    fn check_approval(&self, call: &ApprovalContext) -> Assessment;

    /// Builds the content that a person sees. askfirst calls it only before it asks, so it may be slow.
    fn present(&self, call: &ApprovalContext, request: &ApprovalRequest) -> Shown {
        let _ = (call, request);
        Shown::default()
    }

    /// Returns the absolute path that the tool would use for a path in its arguments.
    ///
    /// `None` means that the tool resolves paths against the working directory of its process.
    fn place_of(&self, call: &ApprovalContext, path: &str) -> Option<PathBuf> {
        let _ = (call, path);
        None
    }
}
