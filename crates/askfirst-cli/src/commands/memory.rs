//! `memory`: lists and revokes the decisions that running sessions remember, and the user's own rules for this project.

use askfirst::MemoryId;
use askfirst::record::{Record, RuleRecord};
use askfirst_config::{MainRules, Places, Project, ProjectRule};
use askfirst_display::time::time_of_day;
use askfirst_runtime::ledger::rfc3339;
use askfirst_runtime::sessions::{self, SessionMemory, SessionsError};
use serde_json::json;

use crate::args::Common;
use crate::exit::Exit;
use crate::print::{counted, out};
use crate::report::AuditLogError;
use crate::session::{log_action, print_warnings, project, read_config};

/// The part of an ID before the number of a rule for this project. No session has this name.
const PROJECT: &str = "project";

/// The ID of the choice that the rules of the main repository apply in this worktree.
const MAIN: &str = "project:main";

/// Lists the remembered decisions, then the rules for this project.
pub fn list(common: &Common) -> anyhow::Result<Exit> {
    // Each session has already redacted the secrets of its own config, and a rule never holds one.
    let mut found = sessions::list(&Places::from_env().state)?;
    let sessions = found.len() as u64;
    let project = project(common)?;
    let in_force = project.as_ref().map(Project::in_force).unwrap_or_default();
    print_warnings(&in_force.warnings, common);
    if !in_force.own.is_empty() {
        let remembered = in_force.own.iter().map(ProjectRule::decision).collect();
        found.push(SessionMemory { session: PROJECT.to_owned(), remembered });
    }
    if common.json {
        crate::print::json(&found);
        return Ok(Exit::Done);
    }
    let main = project.as_ref().and_then(Project::main).filter(|_| !in_force.of_main.is_empty());
    if found.iter().all(|session| session.remembered.is_empty()) && main.is_none() {
        out(&format!("no remembered decisions ({})", counted(sessions, "running session")));
    }
    for session in &found {
        for entry in &session.remembered {
            let word = if entry.decision.approved { "yes" } else { "no" };
            let covers = entry.pattern.as_ref().map_or("these calls", |pattern| pattern.label.as_str());
            let time = if session.session == PROJECT {
                format!("since {}, always in this project", rfc3339(entry.since))
            } else {
                let until = entry.until.map_or("the session ends".to_owned(), time_of_day);
                let used = counted(entry.hits, "time");
                format!("since {}, until {until}, used {used}", time_of_day(entry.since))
            };
            let (session, id, tool) = (&session.session, entry.id.0, &entry.tool_name);
            out(&format!("{session}:{id}  {word} to `{tool}` for {covers}, {time}"));
            if entry.description != covers {
                out(&format!("    {}", entry.description));
            }
        }
    }
    if let Some(main) = main {
        let count = counted(in_force.of_main.len() as u64, "rule");
        out(&format!("{MAIN}  {count} of `{}` also apply in this worktree", main.folder()));
        out("    list and revoke them in that folder");
    }
    Ok(Exit::Done)
}

/// Revokes the decision with the ID `SESSION:NUMBER`, or the rule with the ID `project:NUMBER`.
pub fn revoke(common: &Common, id: &str) -> anyhow::Result<Exit> {
    let named = id.rsplit_once(':').and_then(|(session, number)| Some((session, number.parse().ok()?)));
    let revoked = match named {
        _ if id == MAIN => revoke_main(common)?,
        Some((PROJECT, number)) => revoke_rule(common, number)?,
        Some((session, number)) => revoke_decision(session, MemoryId(number))?,
        None => anyhow::bail!("invalid ID `{id}`; hint: use `askfirst memory` to list decisions"),
    };
    if common.json {
        crate::print::json(&json!({"id": id, "revoked": revoked}));
    } else {
        out(&if revoked { format!("revoked {id}") } else { format!("no remembered decision {id}") });
    }
    Ok(if revoked { Exit::Done } else { Exit::Usage })
}

fn revoke_decision(session: &str, id: MemoryId) -> anyhow::Result<bool> {
    let revoked = sessions::revoke(&Places::from_env().state, session, id);
    revoked.map_err(|error| match error {
        SessionsError::NotLogged(why) => anyhow::Error::new(AuditLogError(why)),
        error @ (SessionsError::NotOurs(_) | SessionsError::Io(..)) => error.into(),
    })
}

fn revoke_rule(common: &Common, number: u64) -> anyhow::Result<bool> {
    let Some(project) = project(common)? else { return Ok(false) };
    let Some(rule) = project.rules()?.into_iter().find(|rule| rule.id == number) else { return Ok(false) };
    log_removal(common, &project, rule.tool_name, rule.description)?;
    Ok(project.revoke(number)?.is_some())
}

fn revoke_main(common: &Common) -> anyhow::Result<bool> {
    let Some(project) = project(common)? else { return Ok(false) };
    let Some(main) = project.main().filter(|_| project.is_main_confirmed().unwrap_or(false)) else {
        return Ok(false);
    };
    log_removal(common, &project, "*".to_owned(), rules_of(main))?;
    project.use_main(MainRules::DoNotApply)?;
    Ok(true)
}

/// Describes the rules of a main repository, for the audit log.
pub fn rules_of(main: &Project) -> String {
    format!("the rules of `{}`", main.folder())
}

fn log_removal(common: &Common, project: &Project, tool_name: String, rule: String) -> anyhow::Result<()> {
    let removed = RuleRecord { project: project.folder().to_owned(), tool_name, rule };
    log_action(&read_config(common)?, &Places::from_env(), "memory", &Record::RuleRemoved(removed))
}
