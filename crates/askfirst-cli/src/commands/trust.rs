//! `trust`: shows what a project's config would loosen and how it changed, and records the trust if a person approves.

use std::sync::Arc;

use askfirst::record::{Record, TrustRecord};
use askfirst::{Action, Approval, ApprovalPresentation, ApprovalRequest, Fact, Mode, PresentationKind, Risk};
use askfirst_config::{Layer, LoadOptions, PROJECT_FILE, Places, trust as trusting};
use askfirst_display::Choice;
use askfirst_runtime::ApprovalController;
use askfirst_runtime::tools::catalog::redactor;
use askfirst_terminal::{Options, Style, TerminalApprover};
use serde_json::json;

use crate::args::Common;
use crate::exit::Exit;
use crate::print::out;
use crate::session::{log_action, notify, read_config};

/// Asks at the terminal whether to trust the project's config.
pub fn trust(common: &Common) -> anyhow::Result<Exit> {
    let (config, places) = (read_config(common)?, Places::from_env());
    let Some(file) = config.files.iter().find(|file| file.layer == Layer::UntrustedProject) else {
        let trusted = config.files.iter().find(|file| file.layer == Layer::Project);
        out(&match trusted {
            Some(file) => format!("`{}` is already trusted", file.path.display()),
            None => "no project config here to trust".to_owned(),
        });
        return Ok(if trusted.is_some() { Exit::Done } else { Exit::Usage });
    };
    let options = LoadOptions { explicit: None, folder: std::env::current_dir()?, places: places.clone() };
    let with = trusting::load_as_if_trusted(&options, file.digest).map_err(|faults| {
        crate::report::faults(&faults.0);
        anyhow::Error::new(crate::report::Reported)
    })?;
    let text = trusting::read_text(&file.path, file.digest)?;
    let loosens = trusting::loosens(&config, &with);
    let said = if loosens.is_empty() { "It loosens nothing.".to_owned() } else { loosens.join("\n") };
    let mut facts = Vec::new();
    let presentation = match trusting::trusted_text(&places, &file.path) {
        None => ApprovalPresentation::new(PresentationKind::Text, said),
        Some(before) => {
            facts.push(Fact::new("changed", "since you last trusted it: see the diff"));
            facts.push(Fact::new("loosens", said));
            difference(&before, &text)
        }
    };
    let request = ApprovalRequest {
        presentation: Some(presentation),
        approval: Approval::Human,
        risk: Risk::High,
        facts,
        action: Some(Action::new("trust ").value(file.path.display().to_string())),
        args: [("file".to_owned(), json!(file.path)), ("digest".to_owned(), json!(file.digest))]
            .into_iter()
            .collect(),
        ..ApprovalRequest::new("trust", "", json!({"digest": file.digest}))
    };
    let style = if common.plain { Style::Plain } else { Style::of_environment() };
    let options = Options {
        style,
        preview_lines: usize::MAX,
        redactor: Arc::new(redactor(&config)?),
        notify: notify(config.main.notify),
        front_end: "trust".to_owned(),
        // There are no arguments to edit, no agent that reads a reason, and no run to stop.
        withheld: vec![Choice::Edit, Choice::Reason, Choice::Stop],
    };
    let controller = ApprovalController::setup(Mode::Interactive)
        .approver(Arc::new(TerminalApprover::new(options)))
        .build();
    let decision = controller.request_approval_sync(request);
    if !decision.approved || decision.edited_args.is_some() {
        out(&format!("not trusted ({})", decision.cause));
        return Ok(Exit::of_cause(decision.cause));
    }
    let action =
        Record::Trusted(TrustRecord { file: file.path.display().to_string(), digest: file.digest, loosens });
    log_action(&config, &places, "trust", &action)?;
    trusting::record_text(&places, &file.path, &text)?;
    out(&format!("trusted: {} ({})", file.path.display(), file.digest.short()));
    Ok(Exit::Done)
}

/// Shows a change of a config as the text before and after.
fn difference(before: &str, after: &str) -> ApprovalPresentation {
    let mut shown = ApprovalPresentation::new(PresentationKind::Diff, PROJECT_FILE);
    shown.metadata.insert("before".to_owned(), before.into());
    shown.metadata.insert("after".to_owned(), after.into());
    shown
}
