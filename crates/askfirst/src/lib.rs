//! Approval of tool calls: the types, the one decision, the memory, the permit and the controller as a state machine.
//!
//! This crate does nothing by itself. It opens no file, reads no clock, starts no thread and needs no async runtime;
//! what it needs from outside it takes through the traits in [`ports`]. `askfirst-runtime` drives it.

pub mod assess;
pub mod call;
pub mod decision;
pub mod digest;
pub mod explain;
pub mod function;
pub mod json;
pub mod judge;
pub mod machine;
pub mod memory;
pub mod pattern;
pub mod permit;
pub mod policy;
pub mod ports;
pub mod presentation;
mod question;
pub mod record;
pub mod request;
pub mod toolset;
pub mod verdict;
pub mod when;
pub mod withheld;
pub mod words;

/// ```
/// /// Sends an email.
/// #[askfirst::requires_approval(description = "Send to {to}", exclude_keys = ["body"], risk = "irreversible")]
/// fn send(to: &str, body: &str) -> usize {
///     to.len() + body.len()
/// }
///
/// let tools = askfirst::FunctionToolset::new().with(send_tool());
/// assert_eq!(send("ada", "hi"), 5);
/// # let _ = tools;
/// ```
pub use askfirst_macros::requires_approval;
pub use assess::{ApprovalAware, Assessment, Shown, View};
pub use call::{ApprovalContext, CallId, ToolDefinition};
pub use decision::{ApprovalDecision, ApprovalScope};
pub use digest::{ContentDigest, Digest};
pub use function::{ApprovalSpec, FunctionTool, FunctionToolset};
pub use json::Args;
pub use judge::{Judgement, judge};
pub use memory::{ApprovalMemory, MemoryId, Remembered, SharedMemory};
pub use pattern::{Loosen, OfferedPattern};
pub use permit::{Permit, RecordedPermit};
pub use policy::{Case, Needs, NeedsApproval, Policy, Rules, ToolEntry, Walls};
pub use presentation::{ApprovalPresentation, PresentationKind, truncate_for_display};
pub use request::{ApprovalRequest, Fact, simple_approval_request};
pub use toolset::{Invocation, Outcome, ToolError, Toolset};
pub use verdict::{Because, Refusal, Verdict};
pub use words::{Approval, Cause, Mode, Risk, Timestamp};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
