//! Answers questions from the terminal, one at a time, on a thread of its own.

use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use askfirst::machine::{Answer, Member, Question, QuestionId, Somebody};
use askfirst::ports::{Approver, Reply};
use askfirst::{Approval, Cause};
use askfirst_runtime::present::page::summary;
use askfirst_runtime::redact::Mark;
use rustix::event::{EventfdFlags, eventfd};

use crate::Options;
use crate::live::Memory;
use crate::schema::Schemas;
use crate::tty::{Ended, Gone, Tty, find, turn};
use crate::ui::Past;
use crate::words::taken_back;
use crate::{Style, live, plain, signals};

/// Asks whoever sits at the terminal.
pub struct TerminalApprover {
    options: Options,
    schemas: Schemas,
    worker: Mutex<Option<Worker>>,
}

struct Worker {
    jobs: Sender<Job>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    question: Question,
    reply: Reply,
}

/// What both sides look at.
struct Shared {
    wake: OwnedFd,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Questions that are asked or wait to be.
    open: Vec<QuestionId>,
    /// Those of them that were taken back.
    withdrawn: Vec<(QuestionId, Cause)>,
    closing: bool,
}

impl TerminalApprover {
    /// An approver; nothing happens before the first question.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, schemas: Schemas::default(), worker: Mutex::new(None) }
    }

    /// The same, knowing what tools take: edited arguments are checked before they are sent back.
    #[must_use]
    pub fn with_schemas(mut self, schemas: Schemas) -> Self {
        self.schemas = schemas;
        self
    }

    /// Whether there is a terminal to ask on.
    #[must_use]
    pub fn somebody() -> Somebody {
        if find().is_some() { Somebody::There } else { Somebody::Absent }
    }

    fn hand_over(&self, job: Job) {
        let mut worker = lock(&self.worker);
        if worker.is_none() {
            match start(self.options.clone(), self.schemas.clone()) {
                Ok(started) => *worker = Some(started),
                Err(error) => {
                    let note = format!("the prompt could not be started: {error}");
                    drop(worker);
                    return job.reply.send(Answer::failed(Cause::ApproverFailed, note));
                }
            }
        }
        if let Some(worker) = worker.as_ref() {
            lock(&worker.shared.state).open.push(job.question.id);
            // A job that comes back is dropped, and its reply says that the approver failed.
            drop(worker.jobs.send(job));
        }
    }
}

impl Approver for TerminalApprover {
    fn ask(&self, question: Question, reply: Reply) {
        self.hand_over(Job { question, reply });
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        let worker = lock(&self.worker);
        let Some(worker) = worker.as_ref() else { return };
        let mut state = lock(&worker.shared.state);
        if state.open.contains(&question) {
            state.withdrawn.push((question, cause));
            drop(state);
            worker.shared.wake_up();
        }
    }
}

impl Drop for TerminalApprover {
    fn drop(&mut self) {
        let Some(worker) = lock(&self.worker).take() else { return };
        lock(&worker.shared.state).closing = true;
        worker.shared.wake_up();
        drop(worker.jobs);
        // Dropped by its own thread, in a reply, it cannot wait for itself.
        if let Some(thread) =
            worker.thread.filter(|thread| thread.thread().id() != std::thread::current().id())
        {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for TerminalApprover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TerminalApprover").field("options", &self.options).finish_non_exhaustive()
    }
}

fn start(options: Options, schemas: Schemas) -> std::io::Result<Worker> {
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let shared = Arc::new(Shared { wake, state: Mutex::default() });
    let (jobs, queue) = channel();
    let theirs = Arc::clone(&shared);
    let work = move || work(&queue, &theirs, &options, &schemas);
    let thread = std::thread::Builder::new().name("askfirst-prompt".to_owned()).spawn(work)?;
    Ok(Worker { jobs, shared, thread: Some(thread) })
}

fn work(queue: &Receiver<Job>, shared: &Shared, options: &Options, schemas: &Schemas) {
    let mut memory = Memory::default();
    for Job { question, reply } in queue {
        let id = question.id;
        let question = Arc::new(question);
        // A panic drops the reply, which answers that the approver failed; the terminal is put back on the way.
        let answer = catch_unwind(AssertUnwindSafe(|| {
            let prompt = Prompt { question: &question, shared, options, schemas };
            prompt.answer(&mut memory)
        }));
        remember(&mut memory, &question, options);
        lock(&shared.state).forget(id);
        // The signal ends the program before somebody goes on with a refusal.
        signals::let_it_end();
        match answer {
            Ok(Some(answer)) => reply.send(answer),
            Ok(None) | Err(_) => drop(reply),
        }
    }
}

/// Said where nobody can be asked.
const NOBODY: &str =
    "there is no terminal to ask on: `--approve-all` runs what would ask, `--strict` refuses it";

/// The same where a person must answer each time.
const NOBODY_BUT_NEEDED: &str = "there is no terminal to ask on, and a person must answer this each time (`human`): no flag runs it, \
                                 `--strict` refuses it without asking";

/// More calls from before are not kept.
const MAX_HISTORY: usize = 200;

/// Keeps what was asked about, so that a later question can say what a pattern would have covered.
fn remember(memory: &mut Memory, question: &Question, options: &Options) {
    let history = Arc::make_mut(&mut memory.history);
    for member in &question.members {
        let request = &member.request;
        let args = options.redactor.args(&request.args, Mark::Screen).left;
        let (tool, payload) = (request.tool_name.clone(), request.payload.clone());
        history.push(Past { tool, payload, summary: summary(&args) });
    }
    let over = history.len().saturating_sub(MAX_HISTORY);
    history.drain(..over);
}

/// One question on its way to an answer.
struct Prompt<'a> {
    question: &'a Arc<Question>,
    shared: &'a Shared,
    options: &'a Options,
    schemas: &'a Schemas,
}

impl Prompt<'_> {
    /// Asks until there is an answer, or the question is over.
    fn answer(&self, memory: &mut Memory) -> Option<Answer> {
        let Self { question, shared, options, .. } = self;
        shared.calm_down();
        if shared.over(question.id).is_some() {
            return None;
        }
        let Some(fd) = find() else {
            let person = |member: &Member| member.request.approval == Approval::Human;
            let note = match question.members.iter().any(person) {
                true => NOBODY_BUT_NEEDED,
                false => NOBODY,
            };
            return Some(Answer::failed(Cause::NobodyToAsk, note));
        };
        let lost = || Some(Answer::failed(Cause::TerminalLost, "the terminal cannot be used"));
        // Held until the terminal is put back: what is declared first is dropped last.
        let _turn = loop {
            match turn(&fd, shared.wake.as_fd()) {
                Ok(turn) => break turn,
                Err(Gone::Lost) => return lost(),
                Err(Gone::Woken) => {
                    shared.calm_down();
                    if shared.over(question.id).is_some() {
                        return None;
                    }
                }
            }
        };
        let Ok(mut tty) = Tty::take(fd, shared.wake.as_fd(), options.style) else { return lost() };
        loop {
            match self.ask(&mut tty, memory) {
                Ended::Answered(answer) => return Some(answer),
                Ended::Woken | Ended::TooSmall => {
                    shared.calm_down();
                    if let Some(cause) = shared.over(question.id) {
                        // Whoever took it back knows; the line is for the one who looks.
                        let _ = tty.write(&format!("\n{}\n", taken_back(question, cause, &options.redactor)));
                        return None;
                    }
                }
            }
        }
    }

    fn ask(&self, tty: &mut Tty<'_>, memory: &mut Memory) -> Ended {
        let lines = |tty: &mut Tty<'_>| plain::ask(tty, self.question, self.options, self.schemas);
        match self.options.style {
            Style::Plain => lines(tty),
            Style::Coloured | Style::Uncoloured => {
                match live::ask(tty, self.question, self.options, self.schemas, memory) {
                    Ended::TooSmall => lines(tty),
                    ended @ (Ended::Answered(_) | Ended::Woken) => ended,
                }
            }
        }
    }
}

impl Shared {
    fn wake_up(&self) {
        // It can only fail because it is awake already.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn calm_down(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.wake, &mut count);
    }

    /// Why a question is over, if it is.
    fn over(&self, id: QuestionId) -> Option<Cause> {
        let state = lock(&self.state);
        let withdrawn = state.withdrawn.iter().find(|(known, _)| *known == id).map(|(_, cause)| *cause);
        withdrawn.or((state.closing || signals::is_over()).then_some(Cause::Cancelled))
    }
}

impl State {
    fn forget(&mut self, id: QuestionId) {
        if let Some(at) = self.open.iter().position(|known| *known == id) {
            self.open.remove(at);
        }
        if !self.open.contains(&id) {
            self.withdrawn.retain(|(known, _)| *known != id);
        }
    }
}

/// A lock is good even if somebody panicked with it: every change here is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
