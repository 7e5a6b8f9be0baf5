//! Functions behind approval. A callback answers instead of a person.

use askfirst::{ApprovalDecision, Cause, FunctionToolset, Policy, requires_approval};
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::json;

/// Deletes a file.
#[requires_approval(description = "Delete {path}", risk = "irreversible")]
fn delete_file(path: String) -> String {
    format!("{path} is gone")
}

fn main() {
    let controller = ApprovalController::interactive(|request| {
        println!("asked: {}", request.description);
        match request.args.get("path").and_then(|path| path.as_str()) {
            Some("scratch.txt") => ApprovalDecision::yes(Cause::Person),
            _ => ApprovalDecision::no(Cause::Person).with_note("only the scratch file"),
        }
    });
    let tools = FunctionToolset::new().with(delete_file_tool());
    let tools = ApprovalToolset::new(tools, controller, Policy::default());
    for path in ["scratch.txt", "thesis.txt"] {
        let args = json!({"path": path}).as_object().cloned().unwrap_or_default();
        println!("{:?}", tools.call_sync("delete_file", args));
    }
}
