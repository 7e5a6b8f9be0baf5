//! Rust functions as tools, and the toolset that holds them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::assess::{ApprovalAware, Assessment, Shown};
use crate::call::{ApprovalContext, ToolDefinition};
use crate::json::Args;
use crate::presentation::ApprovalPresentation;
use crate::request::{Action, ApprovalRequest, Template, simple_approval_request};
use crate::toolset::{BoxFuture, Invocation, ToolError, Toolset};
use crate::words::Risk;

type FunctionBody = dyn Fn(Invocation) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;
type FromArgs<T> = Arc<dyn Fn(&Args) -> T + Send + Sync>;

/// How requests for a function's calls are built.
#[derive(Clone, Default)]
pub struct ApprovalSpec {
    description: Option<FromArgs<String>>,
    action: Option<FromArgs<Action>>,
    exclude_keys: Vec<String>,
    payload: Option<FromArgs<Value>>,
    presentation: Option<FromArgs<ApprovalPresentation>>,
    risk: Risk,
}

impl ApprovalSpec {
    /// Sets the description, a template in which `{name}` stands for an argument.
    ///
    /// Excluded keys are not filled in. Call [`exclude_keys`](Self::exclude_keys) first.
    #[must_use]
    pub fn description(mut self, text: &str) -> Self {
        let (template, exclude) = (Template::new(text), self.exclude_keys.clone());
        self.action = Some(Arc::new(move |args| template.action(args, &exclude)));
        self.description = None;
        self
    }

    /// Sets a function that makes the description from the arguments.
    #[must_use]
    pub fn description_with(mut self, f: impl Fn(&Args) -> String + Send + Sync + 'static) -> Self {
        self.description = Some(Arc::new(f));
        self.action = None;
        self
    }

    /// Sets the arguments that are shown, but go into neither memory nor the audit log.
    ///
    /// Call it before [`description`](Self::description), which uses these keys.
    #[must_use]
    pub fn exclude_keys(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.exclude_keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Sets a function that makes the payload from the arguments.
    ///
    /// The payload takes precedence over `exclude_keys`: memory uses it unchanged.
    #[must_use]
    pub fn payload(mut self, f: impl Fn(&Args) -> Value + Send + Sync + 'static) -> Self {
        self.payload = Some(Arc::new(f));
        self
    }

    /// Sets a function that makes the content a person sees. askfirst calls it only before it asks.
    #[must_use]
    pub fn presentation(mut self, f: impl Fn(&Args) -> ApprovalPresentation + Send + Sync + 'static) -> Self {
        self.presentation = Some(Arc::new(f));
        self
    }

    /// Sets the risk of the calls.
    #[must_use]
    pub fn risk(mut self, risk: Risk) -> Self {
        self.risk = risk;
        self
    }

    fn request(&self, call: &ApprovalContext) -> ApprovalRequest {
        let action = self.action.as_ref().map(|f| f(&call.args));
        let filled = action.as_ref().map(Action::to_string);
        let description = filled.or_else(|| self.description.as_ref().map(|f| f(&call.args)));
        let mut request =
            simple_approval_request(&call.tool_name, &call.args, description.as_deref(), &self.exclude_keys);
        if let Some(payload) = &self.payload {
            request.payload = payload(&call.args);
        }
        request.action = action;
        request.risk = self.risk;
        request
    }
}

/// One function as a tool.
#[derive(Clone)]
pub struct FunctionTool {
    definition: ToolDefinition,
    run: Arc<FunctionBody>,
    approval: Option<ApprovalSpec>,
}

impl FunctionTool {
    /// Creates a tool from a function with typed arguments and a typed result.
    ///
    /// The arguments are deserialized into `A`, and the result is serialized to JSON.
    ///
    /// ```
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Add { a: i64, b: i64 }
    /// let add = askfirst::FunctionTool::new("add", "Adds.", |args: Add, _| async move { Ok(args.a + args.b) });
    /// assert_eq!(add.definition().name, "add");
    /// ```
    pub fn new<A, R, F, Fut>(name: &str, description: &str, f: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize,
        F: Fn(A, Invocation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        let schema = schemars::SchemaGenerator::default().into_root_schema_for::<A>().to_value();
        let f = Arc::new(f);
        Self::dynamic(ToolDefinition::new(name, description, schema), move |invocation| {
            let f = Arc::clone(&f);
            Box::pin(async move {
                let args = serde_json::from_value(Value::Object(invocation.call.args.clone()))
                    .map_err(|e| ToolError::BadArgs(e.to_string()))?;
                let result = f(args, invocation).await?;
                serde_json::to_value(result).map_err(|e| ToolError::Failed(e.to_string()))
            })
        })
    }

    /// Creates a tool from a function that reads the JSON arguments itself.
    pub fn dynamic<F>(definition: ToolDefinition, run: F) -> Self
    where
        F: Fn(Invocation) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync + 'static,
    {
        Self { definition, run: Arc::new(run), approval: None }
    }

    /// Makes every call of this tool need approval, with requests built from `spec`.
    #[must_use]
    pub fn requires_approval(mut self, spec: ApprovalSpec) -> Self {
        self.definition.risk = self.definition.risk.max(spec.risk);
        self.approval = Some(spec);
        self
    }

    /// Returns the definition that the model gets.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }
}

impl std::fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FunctionTool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// A toolset of functions.
#[derive(Debug, Clone, Default)]
pub struct FunctionToolset {
    tools: BTreeMap<String, FunctionTool>,
}

impl FunctionToolset {
    /// Creates an empty toolset.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. It replaces a tool of the same name.
    #[must_use]
    pub fn with(mut self, tool: FunctionTool) -> Self {
        self.tools.insert(tool.definition.name.clone(), tool);
        self
    }
}

impl Toolset for FunctionToolset {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.tools.values().map(|tool| tool.definition.clone()).collect()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        match self.tools.get(&invocation.call.tool_name) {
            Some(tool) => (tool.run)(invocation),
            None => Box::pin(std::future::ready(Err(ToolError::Unknown(invocation.call.tool_name.clone())))),
        }
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.tools.get(name).map(|tool| tool.definition.clone())
    }
}

impl ApprovalAware for FunctionToolset {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        match self.tools.get(&call.tool_name).and_then(|tool| tool.approval.as_ref()) {
            Some(spec) => Assessment::needs_approval(spec.request(call)),
            None => Assessment::silent(),
        }
    }

    fn present(&self, call: &ApprovalContext, _: &ApprovalRequest) -> Shown {
        let spec = self.tools.get(&call.tool_name).and_then(|tool| tool.approval.as_ref());
        let presentation = spec.and_then(|spec| spec.presentation.as_ref()).map(|f| f(&call.args));
        Shown { presentation, ..Shown::default() }
    }
}
