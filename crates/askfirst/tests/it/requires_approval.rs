//! Tests of `#[requires_approval]`, written like the code of a user.

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use askfirst::toolset::{AskNested, BoxFuture};
use askfirst::{
    ApprovalAware, ApprovalContext, ApprovalDecision, ApprovalPresentation, ApprovalRequest, Args, Cause,
    FunctionTool, FunctionToolset, Invocation, PresentationKind, Risk, ToolError, Toolset, View,
    requires_approval,
};
use serde_json::{Value, json};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
}

fn context(tool: &FunctionTool, args: Value) -> ApprovalContext {
    ApprovalContext::new(&tool.definition().name, args.as_object().unwrap().clone())
}

fn call(tool: FunctionTool, args: Value) -> Result<Value, ToolError> {
    let invocation = Invocation::new(context(&tool, args));
    block_on(FunctionToolset::new().with(tool).call(invocation))
}

fn request(tool: FunctionTool, args: Value) -> ApprovalRequest {
    let call = context(&tool, args);
    match FunctionToolset::new().with(tool).check_approval(&call).view {
        View::NeedsApproval(request) => *request,
        other => panic!("expected a request, got {other:?}"),
    }
}

/// Sends an email.
///
///   It cannot be undone.
#[requires_approval(exclude_keys = ["body"], risk = "irreversible")]
fn send_email(to: String, body: String, cc: Option<Vec<String>>) -> String {
    format!("{to} {} {}", body.len(), cc.map_or(0, |cc| cc.len()))
}

#[test]
fn marked_function_stays_callable() {
    assert_eq!(send_email("ada".to_owned(), "hi".to_owned(), None), "ada 2 0");
}

#[test]
fn tool_runs_the_function_with_the_call_arguments() {
    let args = json!({"to": "ada", "body": "hello", "cc": ["bob"]});
    assert_eq!(call(send_email_tool(), args), Ok(json!("ada 5 1")));
    assert_eq!(call(send_email_tool(), json!({"to": "ada", "body": ""})), Ok(json!("ada 0 0")));
}

#[test]
fn definition_has_name_doc_comment_risk_and_schema() {
    let tool = send_email_tool();
    let definition = tool.definition();
    assert_eq!(definition.name, "send_email");
    assert_eq!(definition.description, "Sends an email.\n\n  It cannot be undone.");
    assert_eq!(definition.risk, Risk::Irreversible);
    let schema = &definition.input_schema;
    assert_eq!(schema["title"], "send_email");
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["to", "body"]));
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["to"]["type"], "string");
    assert_eq!(schema["properties"]["cc"]["items"]["type"], "string");
}

#[test]
fn invalid_arguments_are_refused() {
    for args in [
        json!({"to": "ada"}),
        json!({"to": "ada", "body": 7}),
        json!({"to": "ada", "body": "", "bcc": "eve"}),
        json!({"to": "ada", "body": null}),
        json!({"to": "ada", "body": "", "Cc": []}),
        json!({}),
    ] {
        let outcome = call(send_email_tool(), args.clone());
        assert!(matches!(outcome, Err(ToolError::BadArgs(_))), "{args} gave {outcome:?}");
    }
}

#[test]
fn marked_function_needs_approval_without_excluded_keys() {
    let args = json!({"to": "ada", "body": "the secret"});
    let request = request(send_email_tool(), args.clone());
    assert_eq!(request.payload, json!({"to": "ada"}));
    assert_eq!(request.description, r#"send_email(to="ada")"#);
    assert_eq!(request.exclude_keys, ["body"]);
    assert_eq!(request.risk, Risk::Irreversible);
    assert_eq!(Value::Object(request.args), args);
}

#[requires_approval(name = "files.move-all", description = "Move {type} files {times} times", exclude_keys = ["note"])]
async fn move_all(r#type: &str, mut times: u32, note: Option<&str>) -> Result<u32, fmt::Error> {
    std::future::ready(()).await;
    times += u32::try_from(note.unwrap_or_default().len()).unwrap_or_default();
    if r#type.is_empty() { Err(fmt::Error) } else { Ok(times) }
}

#[test]
fn name_and_description_settings_are_used() {
    let tool = move_all_tool();
    assert_eq!(tool.definition().name, "files.move-all");
    assert_eq!(tool.definition().input_schema["required"], json!(["type", "times"]));
    let request = request(tool, json!({"type": "{note}", "times": 3, "note": "the secret"}));
    assert_eq!(request.description, "Move {note} files 3 times");
    assert_eq!(request.tool_name, "files.move-all");
    assert_eq!(request.risk, Risk::Low);
}

#[test]
fn async_function_runs_and_reports_its_error_as_text() {
    assert_eq!(block_on(move_all("txt", 1, Some("12"))), Ok(3));
    assert_eq!(call(move_all_tool(), json!({"type": "txt", "times": 1, "note": "12"})), Ok(json!(3)));
    let outcome = call(move_all_tool(), json!({"type": "", "times": 1}));
    assert_eq!(outcome, Err(ToolError::Failed(fmt::Error.to_string())));
}

fn describe(args: &Args) -> String {
    format!("{} arguments", args.len())
}

static PRESENTED: AtomicUsize = AtomicUsize::new(0);

#[requires_approval(
    description = describe,
    exclude_keys = ["table", "row"],
    payload = |args| json!({"table": args.get("table")}),
    presentation = |args: &Args| {
        PRESENTED.fetch_add(1, Ordering::SeqCst);
        ApprovalPresentation::new(PresentationKind::Text, format!("row {}", args["row"]))
    },
)]
fn delete_row(table: String, row: u64) {
    let _ = (table, row);
}

#[test]
fn payload_function_takes_precedence_over_exclude_keys() {
    let request = request(delete_row_tool(), json!({"table": "users", "row": 7}));
    assert_eq!(request.payload, json!({"table": "users"}));
    assert_eq!(request.description, "2 arguments");
    assert_eq!(request.exclude_keys, ["table", "row"]);
}

#[test]
fn presentation_is_built_only_when_it_is_shown() {
    let call = context(&delete_row_tool(), json!({"table": "users", "row": 7}));
    let tools = FunctionToolset::new().with(delete_row_tool());
    let View::NeedsApproval(request) = tools.check_approval(&call).view else {
        panic!("the tool does not ask")
    };
    assert_eq!((request.presentation.clone(), PRESENTED.load(Ordering::SeqCst)), (None, 0));
    let shown = tools.present(&call, &request).presentation;
    assert_eq!(shown.map(|shown| shown.content).as_deref(), Some("row 7"));
    assert_eq!(PRESENTED.load(Ordering::SeqCst), 1);
}

#[test]
fn function_without_result_returns_null() {
    assert_eq!(call(delete_row_tool(), json!({"table": "users", "row": 7})), Ok(Value::Null));
}

#[requires_approval(description = |args| format!("{} by closure", args["path"]), risk = "high")]
pub(crate) fn borrow_all(
    path: &Path,
    names: &[String],
    point: &(i8, i8),
    more: Option<&[u8]>,
    one: Option<&u8>,
) -> String {
    format!("{} {names:?} {point:?} {more:?} {one:?}", path.display())
}

#[test]
fn borrowed_parameters_are_owned_by_the_tool() {
    let args = json!({"path": "a/b", "names": ["x"], "point": [1, -1], "more": [2], "one": 3});
    assert_eq!(request(borrow_all_tool(), args.clone()).description, r#""a/b" by closure"#);
    assert_eq!(call(borrow_all_tool(), args), Ok(json!(r#"a/b ["x"] (1, -1) Some([2]) Some(3)"#)));
    let args = json!({"path": "a/b", "names": [], "point": [1, -1]});
    assert_eq!(call(borrow_all_tool(), args), Ok(json!("a/b [] (1, -1) None None")));
}

type Answer = Result<u8, ToolError>;

#[requires_approval]
fn stale(really: bool) -> Answer {
    if really { Err(ToolError::Stale("it changed".to_owned())) } else { Ok(1) }
}

#[derive(Debug, serde::Serialize)]
struct SerializableError;

impl fmt::Display for SerializableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it failed")
    }
}

type ResultAlias = Result<u8, SerializableError>;

#[requires_approval]
async fn fails() -> ResultAlias {
    Err(SerializableError)
}

#[test]
fn tool_error_is_returned_unchanged() {
    assert_eq!(call(stale_tool(), json!({"really": true})), Err(ToolError::Stale("it changed".to_owned())));
    assert_eq!(call(stale_tool(), json!({"really": false})), Ok(json!(1)));
}

#[test]
fn result_behind_a_type_alias_still_fails() {
    assert_eq!(call(fails_tool(), json!({})), Err(ToolError::Failed("it failed".to_owned())));
    assert!(matches!(call(fails_tool(), json!({"more": 1})), Err(ToolError::BadArgs(_))));
}

struct Mailer<T> {
    from: T,
    sent: Mutex<Vec<String>>,
}

impl<T: fmt::Display> Mailer<T> {
    fn describe(args: &Args) -> String {
        format!("Send to {}", args["to"])
    }

    /// Sends a mail.
    #[requires_approval(description = Self::describe)]
    async fn send(&self, to: &str) -> Result<usize, ToolError> {
        let mut sent = self.sent.lock().unwrap();
        sent.push(format!("{} to {to}", self.from));
        Ok(sent.len())
    }

    #[requires_approval]
    pub(crate) fn count(&self) -> impl serde::Serialize + use<T> {
        self.sent.lock().unwrap().len()
    }
}

#[test]
fn marked_method_becomes_a_tool_that_shares_its_value() {
    let mailer = Arc::new(Mailer { from: 'x', sent: Mutex::default() });
    let tools = FunctionToolset::new()
        .with(Mailer::send_tool(Arc::clone(&mailer)))
        .with(Mailer::count_tool(Arc::clone(&mailer)));
    let send = |to| {
        let args = json!({"to": to}).as_object().unwrap().clone();
        block_on(tools.call(Invocation::new(ApprovalContext::new("send", args))))
    };
    assert_eq!((send("ada"), send("bob")), (Ok(json!(1)), Ok(json!(2))));
    assert_eq!(block_on(mailer.send("eve")), Ok(3));
    assert_eq!(*mailer.sent.lock().unwrap(), ["x to ada", "x to bob", "x to eve"]);
    assert_eq!(call(Mailer::count_tool(Arc::clone(&mailer)), json!({})), Ok(json!(3)));
    assert_eq!(request(Mailer::send_tool(mailer), json!({"to": "ada"})).description, r#"Send to "ada""#);
}

/// Keeps the requests, and answers all of them alike.
struct FixedApprover(Mutex<Vec<ApprovalRequest>>, bool);

impl AskNested for FixedApprover {
    fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> {
        self.0.lock().unwrap().push(request);
        let decision = ApprovalDecision { approved: self.1, ..ApprovalDecision::no(Cause::Person) };
        Box::pin(std::future::ready(decision))
    }
}

#[requires_approval]
async fn publish(page: String, invocation: &askfirst::Invocation) -> Result<String, ToolError> {
    let request = ApprovalRequest::new("publish", "publish the page", json!(page));
    let decision = invocation.request_approval(request).await;
    if decision.approved { Ok(page) } else { Err(ToolError::Denied(Box::new(decision))) }
}

#[requires_approval]
fn caller_name(invocation: Invocation) -> Option<String> {
    invocation.call.caller().map(str::to_owned)
}

#[test]
fn function_with_invocation_can_ask_while_it_runs() {
    for approved in [true, false] {
        let approver = Arc::new(FixedApprover(Mutex::default(), approved));
        let call = context(&publish_tool(), json!({"page": "home"}));
        let invocation = Invocation::new(call).with(None, approver.clone());
        let outcome = block_on(FunctionToolset::new().with(publish_tool()).call(invocation));
        match outcome {
            Ok(page) => assert!(approved && page == "home"),
            Err(error) => assert!(!approved && matches!(error, ToolError::Denied(_))),
        }
        assert_eq!(approver.0.lock().unwrap()[0].description, "publish the page");
    }
}

#[test]
fn invocation_parameter_is_not_an_argument() {
    let schema = publish_tool().definition().input_schema.clone();
    assert_eq!(schema["required"], json!(["page"]));
    assert_eq!(schema["properties"]["invocation"], Value::Null);
    let args = json!({"page": "home", "invocation": {}});
    assert!(matches!(call(publish_tool(), args), Err(ToolError::BadArgs(_))));
    let call = context(&caller_name_tool(), json!({})).with_metadata("caller", "worker");
    let outcome = block_on(FunctionToolset::new().with(caller_name_tool()).call(Invocation::new(call)));
    assert_eq!(outcome, Ok(json!("worker")));
}

macro_rules! counter {
    ($name:ident, $ty:ty, $text:expr) => {
        #[requires_approval(description = $text)]
        fn $name(invocation: $ty, number: &u8) -> u8 {
            let _ = invocation;
            *number
        }
    };
}

counter!(counted, &Invocation, "Count {number}");

#[test]
fn function_from_a_macro_can_be_marked() {
    assert_eq!(request(counted_tool(), json!({"number": 2})).description, "Count 2");
    assert_eq!(call(counted_tool(), json!({"number": 2})), Ok(json!(2)));
}

#[cfg_attr(test, requires_approval)]
#[cfg(test)]
fn sometimes() {}

#[requires_approval]
#[cfg(not(test))]
fn sometimes(never: compiled::Here) {}

#[test]
fn tool_follows_the_cfg_of_its_function() {
    assert_eq!(call(sometimes_tool(), json!({})), Ok(Value::Null));
}

/// Reports a result
#[doc = concat!("in ", "parts")]
/// and fails.
#[requires_approval]
fn in_parts(fails: u8) -> Result<Result<u8, String>, String> {
    match fails {
        0 => Ok(Ok(0)),
        1 => Ok(Err("inside".to_owned())),
        _ => Err("outside".to_owned()),
    }
}

#[test]
fn doc_comment_made_with_concat_becomes_the_description() {
    assert_eq!(in_parts_tool().definition().description, "Reports a result\nin parts\nand fails.");
}

#[test]
fn nested_result_with_inner_error_fails() {
    assert_eq!(call(in_parts_tool(), json!({"fails": 0})), Ok(json!(0)));
    for (fails, wanted) in [(1, "inside"), (2, "outside")] {
        let outcome = call(in_parts_tool(), json!({ "fails": fails }));
        assert_eq!(outcome, Err(ToolError::Failed(wanted.to_owned())));
    }
}
