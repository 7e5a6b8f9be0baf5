//! Opens the sessions of the command line: reads the config, asks at the terminal, ends on signals.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use askfirst::machine::{Question, QuestionId};
use askfirst::ports::{Approver, Reply};
use askfirst::record::Record;
use askfirst::{Approval, Cause, Mode, Toolset};
use askfirst_config::{Config, DEFAULT_PREVIEW_LINES, LoadOptions, Places, Project, load};
use askfirst_display::Choice;
use askfirst_runtime::session::{ApproverContext, OpenError, Session, SessionBuilder};
use askfirst_runtime::sessions::{self, ListeningSession};
use askfirst_runtime::tools::catalog::warnings;
use askfirst_terminal::{Notify, Options, Schemas, Style, TerminalApprover};
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::args::{Common, ModeFlags};
use crate::servers;

/// How long a session may take to log its end after a signal.
const GRACE: Duration = Duration::from_secs(2);

/// How long a session may take to end its running commands and to search the files that they created.
const ENDING: Duration = Duration::from_secs(20);

/// Reads the config that the flags select.
pub fn read_config(common: &Common) -> anyhow::Result<Config> {
    let folder = std::env::current_dir().context("cannot find the working directory")?;
    read_config_in(common.config.clone(), folder, Places::from_env())
}

/// Reads the config for a folder.
pub fn read_config_in(explicit: Option<PathBuf>, folder: PathBuf, places: Places) -> anyhow::Result<Config> {
    load(&LoadOptions { explicit, folder, places }).map_err(|faults| {
        crate::report::faults(&faults.0);
        anyhow::Error::new(crate::report::PrintedFaults)
    })
}

/// Returns the project whose own rules of the user apply with these flags.
pub fn project(common: &Common) -> anyhow::Result<Option<Project>> {
    let folder = std::env::current_dir().context("cannot find the working directory")?;
    let places = Places::from_env();
    Ok(Project::find(&LoadOptions { explicit: common.config.clone(), folder, places }))
}

fn print_warning(text: &str) {
    crate::print::err_lines(&format!("warning: {text}"));
}

/// Prints warnings, unless a program reads the output: it finds them in the audit log.
pub fn print_warnings(warnings: &[String], common: &Common) {
    if !common.json {
        warnings.iter().for_each(|warning| print_warning(warning));
    }
}

/// Prints the warnings of a config, for a command that opens no session.
pub fn print_config_warnings(config: &Config, common: &Common) {
    print_warnings(&warnings(config, Mode::Interactive), common);
}

/// The front end of a session, as its prompt shows it.
pub struct FrontEnd<'a> {
    /// Its name.
    pub name: &'a str,
    /// Choices that would do nothing in it.
    pub withheld: &'a [Choice],
}

/// Opens a session of the command line, with an audit log and the user's terminal. Signals end it. `ask` gets the
/// approver of the terminal and returns the approver of the session.
pub fn open(
    front_end: &FrontEnd,
    builder: SessionBuilder<'_>,
    common: &Common,
    mode: ModeFlags,
    state: &Path,
    ask: impl FnOnce(ApproverContext<'_>, Arc<dyn Approver>) -> Arc<dyn Approver>,
) -> anyhow::Result<Session> {
    // With a handler, a limit on the size of files is an error of the write. Without one, it ends the process.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).context("cannot handle signals")?;
    let mode = match (mode.approve_all, mode.strict) {
        (true, _) => Mode::ApproveAll,
        (false, true) => Mode::Strict,
        (false, false) => Mode::Interactive,
    };
    let approver = |context: ApproverContext<'_>| -> Arc<dyn Approver> {
        let terminal = terminal(&context, front_end, common);
        Arc::new(HintingApprover { inner: ask(context, terminal), hinted: Arc::default() })
    };
    let has_project = !front_end.withheld.contains(&Choice::Always);
    let project = if has_project { project(common)? } else { None };
    let builder = builder.project(project, print_warning);
    let opened = builder.front_end(front_end.name).mode(mode).log_in(state).approver(approver).open();
    let session = opened.map_err(cannot_open)?;
    print_warnings(&session.warnings, common);
    end_on_signals(&session)?;
    Ok(session)
}

/// Returns the error that has the right exit code.
fn cannot_open(error: OpenError) -> anyhow::Error {
    match error {
        OpenError::NoSandbox => anyhow::Error::new(crate::report::NoSandbox),
        OpenError::AuditLog(why) => anyhow::Error::new(crate::report::AuditLogError(why)),
        error @ (OpenError::Tools(_)
        | OpenError::Secrets(_)
        | OpenError::UnknownKeys(_)
        | OpenError::Override(_)) => error.into(),
    }
}

/// Logs what a person is about to do outside of any call. If this fails, the command must not do it.
pub fn log_action(config: &Config, places: &Places, command: &str, action: &Record) -> anyhow::Result<()> {
    askfirst_runtime::session::log_action(config, &places.state, command, action).map_err(cannot_open)
}

/// The hint for a person about a call that needs approval while there is no one to ask.
const NO_ONE_HINT: &str = "hint: use --approve-all to run it anyway, or --strict to refuse without asking";

/// An approver that prints a hint to standard error if there was no one to ask.
///
/// The hint names flags that approve calls, so it must not be in the refusal, which an agent reads.
struct HintingApprover {
    inner: Arc<dyn Approver>,
    hinted: Arc<AtomicBool>,
}

impl Approver for HintingApprover {
    fn ask(&self, question: Question, reply: Reply) {
        let needs_person = question.members.iter().any(|member| member.request.approval == Approval::Human);
        let hinted = Arc::clone(&self.hinted);
        let reply = Reply::new(move |answer| {
            let no_one = answer.decisions.iter().any(|decision| decision.cause == Cause::NoOneToAsk);
            if no_one && !needs_person && !hinted.swap(true, Ordering::SeqCst) {
                crate::print::err(NO_ONE_HINT);
            }
            reply.send(answer);
        });
        self.inner.ask(question, reply);
    }

    fn announce(&self, call_id: &str) {
        self.inner.announce(call_id);
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        self.inner.withdraw(question, cause);
    }
}

/// Returns the approver for the terminal of this process.
pub fn terminal(context: &ApproverContext<'_>, front_end: &FrontEnd, common: &Common) -> Arc<dyn Approver> {
    let options = Options {
        notify: notify(context.config.main.notify),
        front_end: front_end.name.to_owned(),
        withheld: front_end.withheld.to_vec(),
        style: if common.plain { Style::Plain } else { Style::of_environment() },
        preview_lines: context.config.main.preview_lines.unwrap_or(DEFAULT_PREVIEW_LINES),
        redactor: Arc::clone(context.redactor),
    };
    let tools = Arc::clone(context.tools);
    let schemas = Schemas::new(move |tool| tools.definition(tool).map(|tool| tool.input_schema));
    Arc::new(TerminalApprover::new(options).with_schemas(schemas))
}

/// Converts the value of the config to the value of the prompt.
pub fn notify(notify: askfirst_config::Notify) -> Notify {
    match notify {
        askfirst_config::Notify::Auto => Notify::Auto,
        askfirst_config::Notify::Bell => Notify::Bell,
        askfirst_config::Notify::Off => Notify::Off,
    }
}

/// Makes a session visible to `askfirst memory` in another terminal.
pub fn listen(session: &Session, state: &Path) -> Option<ListeningSession> {
    let log = session.ledger.clone().map(|ledger| ledger as _);
    let listening =
        sessions::listen_and_log(state, &session.id, session.controller(), &session.redactor, log);
    if let Err(e) = &listening {
        crate::print::err(&format!("warning: `askfirst memory` cannot see this session: {e}"));
    }
    listening.ok()
}

/// Ends the processes that the session started, and reports the files that were moved aside.
pub fn end_commands(session: &Session) {
    report_moved(&session.end(ENDING));
}

fn report_moved(lines: &[String]) {
    lines.iter().for_each(|line| crate::print::err(&format!("sandbox: {line}")));
}

/// A second signal within this time belongs to the first: a terminal that closes sends two.
const AT_ONCE: Duration = Duration::from_millis(300);

/// The signal that ended the session, or 0.
static ENDED_BY: AtomicI32 = AtomicI32::new(0);

/// Returns the signal that ended the session, if there was one.
pub fn ended_by() -> Option<i32> {
    Some(ENDED_BY.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Ends the session on a signal: withdraws its requests, which restores the terminal, kills running tools, and searches
/// the files that they created. Exits after a grace period, or at once on a second signal.
fn end_on_signals(session: &Session) -> anyhow::Result<()> {
    let (Some(launcher), controller) = (session.launcher.clone(), session.controller().clone()) else {
        return Ok(());
    };
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot handle signals")?;
    std::thread::Builder::new().name("askfirst-signals".to_owned()).spawn(move || {
        let mut first = None;
        for signal in signals.forever() {
            if let Some(first) = first {
                if Instant::elapsed(&first) < AT_ONCE {
                    continue;
                }
                servers::end(Signal::KILL);
                askfirst_terminal::restore_terminals();
                std::process::exit(128 + signal);
            }
            first = Some(Instant::now());
            ENDED_BY.store(signal, Ordering::SeqCst);
            if signal == SIGHUP {
                controller.hang_up();
            } else {
                controller.stop();
            }
            servers::end(Signal::TERM);
            launcher.stop();
            let launcher = Arc::clone(&launcher);
            std::thread::spawn(move || {
                std::thread::sleep(GRACE / 2);
                servers::end(Signal::KILL);
                std::thread::sleep(GRACE / 2);
                report_moved(&launcher.end(ENDING));
                askfirst_terminal::restore_terminals();
                std::process::exit(128 + signal);
            });
        }
    })?;
    Ok(())
}
