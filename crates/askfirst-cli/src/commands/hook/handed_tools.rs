//! The config's tools as a coding agent uses them: askfirst judges and asks, and the agent runs the call itself.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use askfirst::schema::SchemaMismatch;
use askfirst::toolset::{BoxFuture, DefinitionPin};
use askfirst::{
    ApprovalAware, ApprovalContext, ApprovalRequest, Args, Assessment, Fact, Invocation, Shown,
    ToolDefinition, ToolError, Toolset, View, simple_approval_request,
};
use serde_json::Value;

/// A call that was handed over to the agent.
#[derive(Debug, Clone)]
pub struct HandedCall {
    /// The arguments, if a person edited them.
    pub edited: Option<Args>,
    /// The text of a person for the model.
    pub notice: Option<String>,
}

/// The calls that were handed over so far.
pub type HandedCalls = Arc<Mutex<Vec<HandedCall>>>;

/// Tools that hand their calls over.
pub struct HandedTools {
    inner: Arc<dyn Toolset>,
    /// Facts about calls that the tools do not know.
    facts: Vec<(ApprovalContext, Vec<Fact>)>,
    /// The tool whose effect askfirst cannot tell.
    unclear: Option<String>,
    handed: HandedCalls,
}

impl HandedTools {
    pub fn new(
        inner: Arc<dyn Toolset>,
        facts: Vec<(ApprovalContext, Vec<Fact>)>,
        unclear: Option<String>,
        handed: HandedCalls,
    ) -> Self {
        Self { inner, facts, unclear, handed }
    }
}

impl Toolset for HandedTools {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.inner.tools()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        let person = &invocation.person;
        let edited = person.edited.then(|| invocation.args().clone());
        let call = HandedCall { edited, notice: person.notice.clone() };
        self.handed.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        invocation.hand_over();
        Box::pin(std::future::ready(Ok(Value::Null)))
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.inner.definition(name)
    }

    fn pinned(&self, name: &str) -> Option<DefinitionPin> {
        self.inner.pinned(name)
    }

    fn check_args(&self, call: &ApprovalContext) -> Result<(), SchemaMismatch> {
        self.inner.check_args(call)
    }
}

impl ApprovalAware for HandedTools {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        let assessment = self.inner.approval().map(|inner| inner.check_approval(call));
        let mut assessment = assessment.unwrap_or_else(Assessment::silent);
        if self.unclear.as_ref() == Some(&call.tool_name) {
            // The rules for the tool in askfirst could deny this call, so only a rule for exactly this name allows it.
            let request =
                simple_approval_request(&call.tool_name, &call.args, None, &assessment.exclude_keys);
            assessment.view = View::NeedsApproval(Box::new(request));
            assessment.firm = true;
        }
        let of_call = |(known, _): &&(ApprovalContext, Vec<Fact>)| {
            known.tool_name == call.tool_name && known.args == call.args
        };
        let more = self.facts.iter().find(of_call).map(|(_, facts)| facts.clone());
        assessment.facts.extend(more.unwrap_or_default());
        // The agent runs the command on the real files.
        assessment.rehearses = false;
        assessment
    }

    fn present(&self, call: &ApprovalContext, request: &ApprovalRequest) -> Shown {
        self.inner.approval().map_or_else(Shown::default, |inner| inner.present(call, request))
    }

    fn place_of(&self, call: &ApprovalContext, path: &str) -> Option<PathBuf> {
        self.inner.approval()?.place_of(call, path)
    }
}
