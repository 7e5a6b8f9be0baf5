//! The tools of a config in a scratch folder: prompts at the terminal, and an audit log.

use std::sync::Arc;

use askfirst_config::{LoadOptions, Places, load};
use askfirst_runtime::Session;
use askfirst_terminal::{Options, TerminalApprover};
use serde_json::json;

const CONFIG: &str = "
version: 1
sandbox:
  paths:
    notes: { root: ., mode: rw, approval: { write: required } }
";

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("askfirst.yaml");
    std::fs::write(&file, CONFIG)?;
    std::fs::write(folder.path().join("plan.md"), "Ask first, then act.\n")?;
    let places = Places { state: folder.path().join("state"), ..Places::from_env() };
    let options = LoadOptions { explicit: Some(file), folder: folder.path().to_owned(), places };
    let config = load(&options).map_err(|faults| anyhow::anyhow!("{faults}"))?;
    let session = Session::builder(config)
        .front_end("example")
        .log_in(folder.path().join("state"))
        .approver(|opening| {
            let redactor = Arc::clone(opening.redactor);
            Arc::new(TerminalApprover::new(Options { redactor, ..Options::default() }))
        })
        .open()?;
    let args = json!({"path": "notes:plan.md", "old": "then act", "new": "then act, then look again"});
    let args = args.as_object().cloned().unwrap_or_default();
    println!("{:?}", session.tools.call_sync("edit_file", args));
    if let Some(ledger) = &session.ledger {
        print!("{}", std::fs::read_to_string(ledger.path())?);
    }
    Ok(())
}
