//! The tool's own view of a call.

use std::path::PathBuf;

use serde_json::Value;

use crate::call::ApprovalContext;
use crate::presentation::ApprovalPresentation;
use crate::request::{ApprovalRequest, Fact};
use crate::verdict::Because;
use crate::words::Risk;

/// What a tool thinks of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum View {
    /// The tool has no opinion; the policy speaks.
    Silent,
    /// It may run unasked.
    Harmless,
    /// A person should be asked, with this request.
    NeedsApproval(Box<ApprovalRequest>),
    /// It can never run. The reason is for the agent.
    Blocked(String),
}

/// A view, with what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The view.
    pub view: View,
    /// The rules of the tool's own config that brought it about.
    pub because: Vec<Because>,
    /// The view stands on the owner's config for exactly this tool, so a glob cannot soften it.
    pub firm: bool,
    /// The call would start a process.
    pub starts_process: bool,
    /// Why the owner's rules cannot be taken to mean this call, such as a tool that changed since they were written:
    /// then a person answers, whatever the rules allow.
    pub unsettled: Option<String>,
    /// What is known about the call, also where the config makes it ask.
    pub facts: Vec<Fact>,
    /// The least risk, also where the config makes it ask.
    pub risk: Risk,
    /// Arguments that are not recorded, whatever the verdict.
    pub exclude_keys: Vec<String>,
}

impl Assessment {
    /// A view with nothing more to say.
    #[must_use]
    pub fn new(view: View) -> Self {
        Self {
            view,
            because: Vec::new(),
            firm: false,
            starts_process: false,
            unsettled: None,
            facts: Vec::new(),
            risk: Risk::Low,
            exclude_keys: Vec::new(),
        }
    }

    /// No opinion.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(View::Silent)
    }

    /// It may run unasked.
    #[must_use]
    pub fn harmless() -> Self {
        Self::new(View::Harmless)
    }

    /// A person should be asked.
    #[must_use]
    pub fn needs_approval(request: ApprovalRequest) -> Self {
        Self::new(View::NeedsApproval(Box::new(request)))
    }

    /// It can never run.
    #[must_use]
    pub fn blocked(reason: impl Into<String>) -> Self {
        Self::new(View::Blocked(reason.into()))
    }
}

/// How a call is shown, and what must still hold when it runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shown {
    /// The content.
    pub presentation: Option<ApprovalPresentation>,
    /// More facts, found while looking.
    pub facts: Vec<Fact>,
    /// What the content rests on, such as a file's digest. Handed back to the tool when it runs.
    pub basis: Option<Value>,
}

/// A tool that knows which of its calls need a person.
pub trait ApprovalAware: Send + Sync {
    /// Looks at config and arguments. It changes nothing, asks nobody, and knows neither mode nor memory.
    fn check_approval(&self, call: &ApprovalContext) -> Assessment;

    /// Makes what a person is shown. Called only when one will be asked, so it may be slow.
    fn present(&self, call: &ApprovalContext, request: &ApprovalRequest) -> Shown {
        let _ = (call, request);
        Shown::default()
    }

    /// Where the tool would look for a path in its arguments, from the root of the file system on. Nothing if it reads paths
    /// as its process does.
    fn place_of(&self, call: &ApprovalContext, path: &str) -> Option<PathBuf> {
        let _ = (call, path);
        None
    }
}
