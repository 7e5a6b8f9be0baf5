//! `trust`: shows what a project's config would loosen and how it changed, and records the trust if a person approves.

use std::sync::Arc;

use askfirst::record::{Record, RuleRecord, TrustRecord};
use askfirst::{
    Action, Approval, ApprovalDecision, ApprovalPresentation, ApprovalRequest, Fact, Mode, PresentationKind,
    Risk,
};
use askfirst_config::{
    Config, Layer, LoadOptions, MainRules, PROJECT_FILE, Places, Project, ProjectRule, trust as trusting,
};
use askfirst_display::Choice;
use askfirst_runtime::ApprovalController;
use askfirst_runtime::tools::catalog::redactor;
use askfirst_terminal::{Options, Style, TerminalApprover};
use serde_json::json;

use crate::args::Common;
use crate::commands::memory::rules_of;
use crate::exit::Exit;
use crate::print::{counted, out};
use crate::session::{log_action, notify, print_warnings, project, read_config};

/// Asks at the terminal whether to trust the project's config, and whether to use the rules of the main repository.
pub fn trust(common: &Common) -> anyhow::Result<Exit> {
    let config = read_config(common)?;
    let exit = trust_config(common, &config)?;
    let Some(project) = project(common)? else { return Ok(exit) };
    let exit = match exit {
        Exit::Done | Exit::Usage => trust_main(common, &config, &project)?.unwrap_or(exit),
        refused => refused,
    };
    let found = project.in_force();
    print_warnings(&found.warnings, common);
    let count = found.own.len() + found.of_main.len();
    if count > 0 {
        let rules = counted(count as u64, "rule");
        out(&format!("{rules} of your own here: `askfirst memory` lists and revokes them"));
    }
    Ok(exit)
}

fn trust_config(common: &Common, config: &Config) -> anyhow::Result<Exit> {
    let places = Places::from_env();
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
        anyhow::Error::new(crate::report::PrintedFaults)
    })?;
    let text = trusting::read_text(&file.path, file.digest)?;
    let loosens = trusting::loosens(config, &with);
    let said = if loosens.is_empty() { "It loosens nothing.".to_owned() } else { loosens.join("\n") };
    let mut facts = Vec::new();
    let presentation = match trusting::trusted_text(&places, &file.path) {
        None => ApprovalPresentation::new(PresentationKind::Text, said),
        Some(before) => {
            facts.push(Fact::new("changed", "since you last trusted it: see the diff"));
            facts.push(Fact::new("loosens", said));
            difference(PROJECT_FILE, &before, &text)
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
    let decision = ask(common, config, "trust", request)?;
    if !decision.approved || decision.edited_args.is_some() {
        out(&format!("not trusted ({})", decision.cause));
        return Ok(Exit::of_cause(decision.cause));
    }
    let action =
        Record::Trusted(TrustRecord { file: file.path.display().to_string(), digest: file.digest, loosens });
    log_action(config, &places, "trust", &action)?;
    trusting::record_text(&places, &file.path, &text)?;
    out(&format!("trusted: {} ({})", file.path.display(), file.digest.short()));
    Ok(Exit::Done)
}

/// Asks whether the rules of the main repository also apply in this worktree of it. Returns `None` if there is nothing to
/// ask.
fn trust_main(common: &Common, config: &Config, project: &Project) -> anyhow::Result<Option<Exit>> {
    let Some(main) = project.main().filter(|_| !project.is_main_confirmed().unwrap_or(false)) else {
        return Ok(None);
    };
    let rules = main.rules()?;
    if rules.is_empty() {
        return Ok(None);
    }
    let line = |rule: &ProjectRule| format!("`{}`: {}", rule.tool_name, rule.description);
    let mut lines: Vec<String> = rules.iter().map(line).collect();
    lines.push("and every rule that you add there later".to_owned());
    let args = [("worktree", project.folder()), ("main repository", main.folder())];
    let request = ApprovalRequest {
        presentation: Some(ApprovalPresentation::new(PresentationKind::Text, lines.join("\n"))),
        approval: Approval::Human,
        risk: Risk::High,
        action: Some(Action::new("use your rules for ").value(main.folder()).words(" in this worktree")),
        args: args.into_iter().map(|(name, path)| (name.to_owned(), json!(path))).collect(),
        ..ApprovalRequest::new("trust", "", json!({"main": main.folder()}))
    };
    let decision = ask(common, config, "trust", request)?;
    if !decision.approved || decision.edited_args.is_some() {
        out(&format!("your rules for `{}` do not apply here ({})", main.folder(), decision.cause));
        return Ok(Some(Exit::of_cause(decision.cause)));
    }
    let (project_folder, tool_name, rule) = (project.folder().to_owned(), "*".to_owned(), rules_of(main));
    let action = Record::RuleAdded(RuleRecord { project: project_folder, tool_name, rule });
    log_action(config, &Places::from_env(), "trust", &action)?;
    project.use_main(MainRules::Apply)?;
    out(&format!("your rules for `{}` apply in this worktree", main.folder()));
    Ok(Some(Exit::Done))
}

/// Asks a person at the terminal about a request of a command.
pub fn ask(
    common: &Common,
    config: &Config,
    front_end: &str,
    request: ApprovalRequest,
) -> anyhow::Result<ApprovalDecision> {
    let style = if common.plain { Style::Plain } else { Style::of_environment() };
    let options = Options {
        style,
        preview_lines: usize::MAX,
        redactor: Arc::new(redactor(config)?),
        notify: notify(config.main.notify),
        front_end: front_end.to_owned(),
        // There are no arguments to edit, no agent that reads a reason, and no run to stop.
        withheld: vec![Choice::Edit, Choice::Reason, Choice::Stop],
    };
    let controller = ApprovalController::setup(Mode::Interactive)
        .approver(Arc::new(TerminalApprover::new(options)))
        .build();
    Ok(controller.request_approval_sync(request))
}

/// Shows a change of a config as the text before and after.
pub fn difference(file: &str, before: &str, after: &str) -> ApprovalPresentation {
    let mut shown = ApprovalPresentation::new(PresentationKind::Diff, file);
    shown.metadata.insert("before".to_owned(), before.into());
    shown.metadata.insert("after".to_owned(), after.into());
    shown
}
