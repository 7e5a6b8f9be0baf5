//! The core of askfirst: decides whether an AI agent's tool call may run, needs approval, or is refused.
//!
//! This crate has the types, the judge, the memory, the permit and the controller as a state machine.
//! It opens no file, reads no clock, starts no thread and needs no async runtime.
//! It gets everything from outside through the traits in [`ports`].
//! The crate `askfirst-runtime` implements these traits and runs calls from end to end.
//!
//! # Example
//!
//! ```
//! use askfirst::{Approval, ApprovalContext, Assessment, Because, Case, Policy, Rules, ToolEntry, Verdict, judge};
//!
//! // The rule `tools: { send_email: { approval: required } }`.
//! let origin = Because::built_in("tools.send_email", "approval: required");
//! let entry = ToolEntry::new("send_email", vec![Case::new(Some(Approval::Required), origin)]);
//! let policy = Policy::new(Rules::new(None, [entry])?);
//!
//! // The agent's call. The tool itself has no opinion about it.
//! let args = askfirst::json::parse_object(br#"{"to": "ada@example.org"}"#)?;
//! let call = ApprovalContext::new("send_email", args);
//! let assessment = Assessment::silent();
//!
//! let judgement = judge(&call, &assessment, &policy);
//! assert_eq!(judgement.verdict(), Verdict::Ask);
//! let request = judgement.request().ok_or("no request")?;
//! assert_eq!(request.description, r#"send_email(to="ada@example.org")"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to start
//!
//! - [`requires_approval`] turns a function into a tool that needs approval.
//! - [`FunctionToolset`] holds such tools.
//! - [`Toolset`] is the trait for named tools with one `call` method.
//! - [`ApprovalAware`] is the trait for tools that assess their own calls.
//! - [`ApprovalContext`] is a call: tool name, arguments and metadata.
//! - [`ApprovalRequest`] is the data with which askfirst asks a person.
//! - [`ApprovalDecision`] is the answer: approved or refused, and how long it is remembered.
//! - [`ports::Approver`] is the trait for components that answer requests.
//! - [`Policy`] has all rules and defaults.
//! - [`judge()`] turns call, assessment and policy into a verdict with reasons.
//!
//! A call can run only with a [`RecordedPermit`], and only a successful write to the audit log gives one.

pub mod assess;
pub mod call;
pub mod decision;
pub mod digest;
pub mod effects;
pub mod explain;
pub mod function;
pub mod json;
pub mod judge;
pub mod machine;
pub mod memory;
mod old_names;
pub mod pattern;
pub mod permit;
pub mod policy;
pub mod ports;
pub mod presentation;
mod question;
pub mod record;
pub mod request;
pub mod schema;
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
pub use effects::{
    ChangedPath, Effects, EffectsJudgement, EffectsPolicy, EffectsVerdict, PathChange, PathLevel, RunBasis,
    RunFact, RunFactKind, judge_effects,
};
pub use function::{ApprovalSpec, FunctionTool, FunctionToolset};
pub use json::Args;
pub use judge::{Judgement, judge};
#[doc(hidden)]
pub use memory::Remembered;
pub use memory::{ApprovalMemory, MemoryId, RememberedDecision, SharedMemory};
pub use pattern::{Loosen, OfferedPattern, OfferedTool};
pub use permit::{CommitPermit, Permit, RecordedCommitPermit, RecordedPermit};
pub use policy::{Case, NeedsApproval, OverrideVerdict, Policy, Rules, SandboxStatus, ToolEntry};
#[doc(hidden)]
pub use policy::{Needs, Walls};
pub use presentation::{ApprovalPresentation, PresentationKind, truncate_for_display};
pub use request::{Action, ActionPart, ApprovalRequest, Fact, RequestSubject, simple_approval_request};
pub use toolset::{EffectsAnswer, EffectsQuestion, Invocation, Outcome, ToolError, Toolset};
#[doc(hidden)]
pub use verdict::RefusedChanges as HeldBack;
pub use verdict::{Because, Refusal, RefusedChanges, Verdict};
pub use words::{Approval, Cause, Mode, Risk, Timestamp};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
