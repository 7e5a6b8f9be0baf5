//! Answers one event of a coding agent: reads it, judges the call, asks if needed, logs, and replies in the agent's form.
//!
//! Most agents run a call if their hook fails. So every fault here is a denial, a panic and a late answer included.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use askfirst::ports::{Approver, Clock};
use askfirst::record::{CommitRecord, DecidedRecord, Ending, ExecutedRecord, Record};
use askfirst::{ApprovalContext, Because, CallId, Cause, Digest, Mode, Outcome, Refusal};
use askfirst_agents::contract::MAX_EVENT;
use askfirst_agents::settings::TIME_LIMIT;
use askfirst_agents::tools;
use askfirst_agents::{Agent, Answer, HookEvent, Moment, Reply, contract};
use askfirst_config::{Config, DEFAULT_APPROVAL_TIMEOUT, LoadOptions, Places, Project, load};
use askfirst_display::Choice;
use askfirst_display::redact::Mark;
use askfirst_runtime::assess::Unknown;
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::in_turn::InTurn;
use askfirst_runtime::observer::{Event, Observer};
use askfirst_runtime::rehearsal::{EditId, EditStore};
use askfirst_runtime::session::{ApproverContext, Session, log_actions};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::agent_call::{AgentCall, agent_call};
use super::agent_session::AgentSession;
use super::asking::{AgentPrompt, SessionApprover, is_terminal_free};
use super::handed_tools::{HandedCalls, HandedTools};
use crate::args::Common;
use crate::asking::{self, Asker};
use crate::exit::Exit;
use crate::session::{FrontEnd, terminal};

/// The time between the last moment for a person's answer and the end of the agent's patience.
const RESERVE: Duration = Duration::from_secs(30);

/// Answers the event on standard input.
pub fn answer(common: &Common, agent: Agent) -> Exit {
    let turn = Arc::new(Mutex::new(()));
    let (late, ended) = (Arc::clone(&turn), Arc::clone(&turn));
    // If there is no thread, the agent's time limit ends this process, and `install` made that a denial where it can.
    let _ = std::thread::Builder::new().name("askfirst-deadline".to_owned()).spawn(move || {
        std::thread::sleep(TIME_LIMIT.saturating_sub(RESERVE / 3));
        refuse(&late, "askfirst had no answer in time");
    });
    // A process that a signal ends is a hook that crashed, and most agents then run the call.
    if let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) {
        let _ = std::thread::Builder::new().name("askfirst-signals".to_owned()).spawn(move || {
            signals.forever().for_each(|_| refuse(&ended, "a signal ended askfirst before it had an answer"));
        });
    }
    let reply = std::panic::catch_unwind(|| reply(agent, common.config.as_deref()));
    let reply = reply.unwrap_or_else(|_| contract::refusal("askfirst failed; see its standard error"));
    let _turn = turn.lock();
    Exit::Child(give(&reply))
}

/// Ends this process with a denial, unless its answer is being written.
fn refuse(turn: &Mutex<()>, reason: &str) {
    let _turn = turn.lock();
    askfirst_terminal::restore_terminals();
    std::process::exit(give(&contract::refusal(reason)).into());
}

/// Writes a reply. Returns the exit code, which denies the call if the reply cannot be written.
fn give(reply: &Reply) -> u8 {
    let written = || {
        std::io::stderr().write_all(reply.stderr.as_bytes())?;
        std::io::stdout().write_all(reply.stdout.as_bytes())?;
        std::io::stdout().flush()
    };
    if written().is_ok() {
        return reply.code;
    }
    let refusal = contract::refusal("cannot write the answer");
    // Some agents run the call if this text is missing. There is no other way to tell them.
    let _ = std::io::stderr().write_all(refusal.stderr.as_bytes());
    refusal.code
}

fn reply(agent: Agent, config: Option<&Path>) -> Reply {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_EVENT).unwrap_or(u64::MAX).saturating_add(1);
    let event = match std::io::stdin().take(limit).read_to_end(&mut bytes) {
        Ok(_) => contract::read(agent, &bytes).map_err(|e| e.to_string()),
        Err(e) => Err(format!("cannot read the event: {e}")),
    };
    match event {
        Ok(event) => {
            let answer = answer_to(&event, config).unwrap_or_else(|reason| Answer::Deny { reason });
            contract::write(&event, answer)
        }
        Err(reason) => contract::refusal(&reason),
    }
}

fn answer_to(event: &HookEvent, config: Option<&Path>) -> Result<Answer, String> {
    let state = Places::from_env().state;
    if event.moment == Moment::SessionEnd {
        return AgentSession::end(&state, event).map(|()| Answer::Nothing).map_err(|e| e.to_string());
    }
    let config = config.map(std::path::absolute).transpose().map_err(|e| e.to_string())?;
    // Paths in calls start here.
    std::env::set_current_dir(&event.cwd).map_err(|e| format!("cannot use `{}`: {e}", event.cwd))?;
    let session = AgentSession::open(&state, event);
    let session = session.map_err(|e| format!("cannot use `{}`: {e}", state.display()))?;
    let folder = session.folder().map_err(|e| e.to_string())?;
    let options = LoadOptions { explicit: config, folder, places: Places::from_env() };
    match event.moment {
        Moment::BeforeCall | Moment::BeforeShell | Moment::BeforeMcp | Moment::BeforeRead => {
            before(event, &options, &state, Arc::new(session))
        }
        Moment::PermissionRequest => permission(event, &session),
        Moment::AfterCall => after(event, &options, &state, &session),
        Moment::SessionEnd => Ok(Answer::Nothing),
    }
}

fn read_config(options: &LoadOptions) -> Result<Config, String> {
    load(options).map_err(|faults| format!("the config of askfirst is invalid: {faults}"))
}

/// Decides about a call that the agent is about to run.
fn before(
    event: &HookEvent,
    options: &LoadOptions,
    state: &Path,
    agent_session: Arc<AgentSession>,
) -> Result<Answer, String> {
    let mut config = read_config(options)?;
    let patience = TIME_LIMIT.saturating_sub(RESERVE);
    let timeout = config.main.approval_timeout.unwrap_or(DEFAULT_APPROVAL_TIMEOUT);
    config.main.approval_timeout = Some(timeout.min(patience));
    let AgentCall { steps, written, unclear } = agent_call(event, &config, state)?;
    let calls: Vec<ApprovalContext> = steps.iter().map(|(call, _)| call.clone()).collect();
    let remembered = agent_session.remembered().map_err(|e| e.to_string())?;
    let last = remembered.iter().map(|decision| decision.id).max();
    let (handed, decisions) = (HandedCalls::default(), Arc::new(Decisions::default()));
    let front_end = format!("hook {}", event.agent);
    let wrap_handed = Arc::clone(&handed);
    let approver_session = Arc::clone(&agent_session);
    let session = Session::builder(config)
        .front_end(&front_end)
        .mode(Mode::Interactive)
        .unknown(Unknown::Silent)
        .wrap_tools(move |tools, _| Arc::new(HandedTools::new(tools, steps, unclear, wrap_handed)))
        .remembering(remembered)
        .project(Project::find(options), |_| {})
        .log_in(state)
        .observe(Arc::clone(&decisions) as _)
        .approver(|context| approver(event, state, &context, approver_session))
        .open()
        .map_err(|e| e.to_string())?;
    let outcomes = session.tools.call_many_sync(calls);
    // A decision whose payload holds a secret stays in this process: askfirst asks again.
    let new = session.controller().remembered().into_iter().filter(|decision| Some(decision.id) > last);
    let new = new.filter(|decision| session.redactor.value(&decision.payload, Mark::Record).hidden == 0);
    agent_session.remember(new.collect()).map_err(|e| e.to_string())?;
    let answer = answer_of(event, outcomes, &handed)?;
    if !matches!(answer, Answer::Deny { .. }) {
        let decided = decisions.take();
        let stored = decided.iter().map(|decided| without_secrets(&session, decided));
        let stored = stored.collect::<Result<Vec<_>, _>>()?;
        let edit = keep_files(event, &session, state, &written, &decided)?;
        agent_session.keep_call(event, stored, edit, session.clock.now()).map_err(|e| e.to_string())?;
    }
    Ok(answer)
}

/// Returns a decision as the state of the agent's session may have it.
fn without_secrets(session: &Session, decided: &DecidedRecord) -> Result<DecidedRecord, String> {
    let about = session.redactor.about(&decided.call.call.args);
    let left = serde_json::to_value(decided).map(|value| about.value(&value, Mark::Record).left);
    left.and_then(serde_json::from_value).map_err(|e| e.to_string())
}

/// Keeps the files that the agent is about to change, so that undo can restore them.
///
/// Fails if they cannot be kept and no person approves the change. A person sees in the request what undo cannot restore.
fn keep_files(
    event: &HookEvent,
    session: &Session,
    state: &Path,
    written: &[PathBuf],
    decided: &[DecidedRecord],
) -> Result<Option<String>, String> {
    let Some(first) = decided.first().filter(|_| !written.is_empty()) else { return Ok(None) };
    let what = format!("{} by {}", event.tool, event.agent.facts().title);
    let kept = EditStore::open(&session.config, state)
        .and_then(|store| store.keep(written, &first.call.call_id, &what).map_err(|e| e.to_string()));
    let by_person = |decided: &DecidedRecord| matches!(decided.cause, Cause::Person | Cause::AgentPrompt);
    match kept {
        Ok(id) => Ok(Some(id.to_string())),
        Err(_) if decided.iter().all(by_person) => Ok(None),
        Err(why) => Err(format!("undo could not restore what this call replaces: {why}")),
    }
}

/// Combines the outcomes of the steps of one call: the strictest counts.
fn answer_of(event: &HookEvent, outcomes: Vec<Outcome>, handed: &HandedCalls) -> Result<Answer, String> {
    let mut asks = None;
    for outcome in outcomes {
        match outcome {
            Outcome::Done(_) => {}
            Outcome::Denied(refusal) if refusal.cause == Cause::AgentPrompt => {
                asks = Some(reason_of(&refusal))
            }
            Outcome::Denied(refusal) => return Ok(Answer::Deny { reason: reason_of(&refusal) }),
            Outcome::Failed(error) => return Err(error.to_string()),
        }
    }
    if let Some(reason) = asks {
        return Ok(Answer::Ask { reason });
    }
    let handed = handed.lock().unwrap_or_else(PoisonError::into_inner);
    let notices: Vec<&str> = handed.iter().filter_map(|call| call.notice.as_deref()).collect();
    let context = (!notices.is_empty()).then(|| notices.join("\n"));
    let edited = handed.iter().find_map(|call| call.edited.as_ref());
    let input =
        edited.map(|args| tools::rewritten(event, args).ok_or("the agent cannot run the edited call"));
    Ok(Answer::Allow { input: input.transpose()?, context })
}

/// The refusal in words for a model, or for the person at the agent's prompt.
fn reason_of(refusal: &Refusal) -> String {
    if refusal.cause == Cause::AgentPrompt {
        let line = |because: &Because| Some(format!(" ({}:{})", because.file.as_ref()?, because.line?));
        let line = refusal.because.iter().rev().find_map(line).unwrap_or_default();
        return format!("askfirst: `{}` needs approval{line}", refusal.tool_name);
    }
    match &refusal.note {
        Some(note) => format!("{}: {note}", refusal.reason),
        None => refusal.reason.clone(),
    }
}

/// The decisions about the calls of this process, as the audit log has them.
#[derive(Default)]
struct Decisions(Mutex<Vec<DecidedRecord>>);

impl Decisions {
    fn take(&self) -> Vec<DecidedRecord> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Decisions {
    fn observe(&self, _: CallId, event: Event<'_>) {
        if let Event::Decided(decided) = event {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(decided.clone());
        }
    }
}

/// Asks at the terminal if the agent does not draw there, else through `askfirst watch`, else in the agent's own prompt.
fn approver(
    event: &HookEvent,
    state: &Path,
    context: &ApproverContext<'_>,
    session: Arc<AgentSession>,
) -> Arc<dyn Approver> {
    let mut ways: Vec<Arc<dyn Approver>> = Vec::new();
    if is_terminal_free() {
        let mut withheld = vec![Choice::Stop];
        if event.tool.is_empty() || !event.agent.facts().can_rewrite_input.contains(&event.moment) {
            withheld.push(Choice::Edit);
        }
        ways.push(terminal(context, &FrontEnd { name: "hook", withheld: &withheld }, &Common::default()));
    }
    let asker = Asker { front_end: "hook", name: event.agent.facts().title, state };
    ways.push(asking::watch(&asker, context));
    if event.agent.facts().can_ask.contains(&event.moment) {
        ways.push(Arc::new(AgentPrompt));
    }
    let clock: Arc<dyn Clock> = Arc::clone(context.clock);
    Arc::new(SessionApprover::new(session, Arc::new(InTurn::new(ways)), clock))
}

/// Answers an agent that is about to ask the person: it need not ask about a call that askfirst allowed.
fn permission(event: &HookEvent, session: &AgentSession) -> Result<Answer, String> {
    let call = session.call(event, SystemClock::start().now()).map_err(|e| e.to_string())?;
    let is_allowed = call.is_some_and(|call| {
        call.has_input_of(event)
            && !call.decided.is_empty()
            && call.decided.iter().all(|decided| decided.approved)
    });
    Ok(if is_allowed { Answer::ALLOW } else { Answer::Nothing })
}

/// Logs the answer that the person gave in the agent's own prompt, and records what the call changed, for undo.
fn after(
    event: &HookEvent,
    options: &LoadOptions,
    state: &Path,
    session: &AgentSession,
) -> Result<Answer, String> {
    let clock = SystemClock::start();
    let Some(call) = session.call(event, clock.now()).map_err(|e| e.to_string())? else {
        return Ok(Answer::Nothing);
    };
    session.forget_call(event).map_err(|e| e.to_string())?;
    let config = read_config(options)?;
    let edits = EditStore::open(&config, state);
    let edit = call.edit.as_ref().map(|id| id.parse::<EditId>().map_err(|e| e.to_string())).transpose()?;
    let commits = match (&edit, &edits) {
        (Some(id), Ok(edits)) => edits.settle(id).map_err(|e| e.to_string())?,
        (Some(_), Err(why)) => return Err(why.clone()),
        (None, _) => Vec::new(),
    };
    let left = call.decided.into_iter().filter(|decided| decided.cause == Cause::AgentPrompt);
    let mut entries: Vec<Record> = left
        .flat_map(|decided| {
            let executed = ExecutedRecord {
                call_id: decided.call.call_id.clone(),
                tool_name: decided.call.call.tool_name.clone(),
                ended: Ending::Done,
                result: event.output.as_ref().map(|output| Digest::of(askfirst::json::canonical(output))),
                error: None,
                walled: None,
                took_ms: 0,
            };
            let decided = DecidedRecord { approved: true, refusal: None, ..decided };
            [Record::Decided(Box::new(decided)), Record::Executed(executed)]
        })
        .collect();
    let by = Some(askfirst_runtime::origin::of_this_process());
    let committed =
        |commit: &CommitRecord| Record::Committed(CommitRecord { by: by.clone(), ..commit.clone() });
    entries.extend(commits.iter().map(committed));
    if !entries.is_empty() {
        log_actions(&config, state, &format!("hook {}", event.agent), &entries).map_err(|e| e.to_string())?;
    }
    if let Ok(edits) = edits {
        edits.mark_logged(&commits);
    }
    Ok(Answer::Nothing)
}
