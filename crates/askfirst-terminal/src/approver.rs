//! The approver of the terminal: asks questions one at a time, on a thread of its own.

use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use askfirst::json::count;
use askfirst::machine::{Answer, Audience, Member, Question, QuestionId};
use askfirst::ports::{Approver, Reply};
use askfirst::{Approval, Cause};
use askfirst_display::page::summary;
use askfirst_display::redact::Mark;
use rustix::event::{EventfdFlags, eventfd};

use crate::Options;
use crate::live::PromptContext;
use crate::notify::Attention;
use crate::schema::Schemas;
use crate::tty::{Interruption, PromptEnd, Tty, find_terminal, lock_terminal};
use crate::ui::EarlierRequest;
use crate::words::withdrawal_line;
use crate::{Style, live, plain, signals};

/// Asks the person at the terminal.
pub struct TerminalApprover {
    options: Options,
    schemas: Schemas,
    worker: Mutex<Option<Worker>>,
}

struct Worker {
    jobs: Sender<Job>,
    shared: Arc<SharedState>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    question: Question,
    reply: Reply,
}

/// The state that the approver and its thread share.
struct SharedState {
    wake: OwnedFd,
    state: Mutex<ApproverState>,
}

#[derive(Default)]
struct ApproverState {
    /// Questions that are on screen or waiting.
    open: Vec<QuestionId>,
    /// Open questions that were withdrawn.
    withdrawn: Vec<(QuestionId, Cause)>,
    closing: bool,
}

impl TerminalApprover {
    /// Creates an approver. It does nothing before the first question.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, schemas: Schemas::default(), worker: Mutex::new(None) }
    }

    /// Sets the schemas of the tools. Edited arguments are checked against them before they are sent back.
    #[must_use]
    pub fn with_schemas(mut self, schemas: Schemas) -> Self {
        self.schemas = schemas;
        self
    }

    /// Returns whether there is a terminal to ask on.
    #[must_use]
    pub fn audience() -> Audience {
        if find_terminal().is_some() { Audience::There } else { Audience::Absent }
    }

    /// The former name of [`TerminalApprover::audience`].
    #[doc(hidden)]
    #[must_use]
    pub fn somebody() -> Audience {
        Self::audience()
    }

    fn enqueue(&self, job: Job) {
        let mut worker = lock(&self.worker);
        if worker.is_none() {
            match start(self.options.clone(), self.schemas.clone()) {
                Ok(started) => *worker = Some(started),
                Err(error) => {
                    let note = format!("cannot start the prompt: {error}");
                    drop(worker);
                    return job.reply.send(Answer::failed(Cause::ApproverFailed, note));
                }
            }
        }
        if let Some(worker) = worker.as_ref() {
            lock(&worker.shared.state).open.push(job.question.id);
            // If the thread has ended, the job is dropped, and its reply reports that the approver failed.
            drop(worker.jobs.send(job));
        }
    }
}

impl Approver for TerminalApprover {
    fn ask(&self, question: Question, reply: Reply) {
        self.enqueue(Job { question, reply });
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        let worker = lock(&self.worker);
        let Some(worker) = worker.as_ref() else { return };
        let mut state = lock(&worker.shared.state);
        if state.open.contains(&question) {
            state.withdrawn.push((question, cause));
            drop(state);
            worker.shared.wake_thread();
        }
    }
}

impl Drop for TerminalApprover {
    fn drop(&mut self) {
        let Some(worker) = lock(&self.worker).take() else { return };
        lock(&worker.shared.state).closing = true;
        worker.shared.wake_thread();
        drop(worker.jobs);
        // A reply can drop the approver on its own thread, which cannot wait for itself.
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
    let shared = Arc::new(SharedState { wake, state: Mutex::default() });
    let (jobs, queue) = channel();
    let theirs = Arc::clone(&shared);
    let work = move || work(&queue, &theirs, &options, &schemas);
    let thread = std::thread::Builder::new().name("askfirst-prompt".to_owned()).spawn(work)?;
    Ok(Worker { jobs, shared, thread: Some(thread) })
}

fn work(queue: &Receiver<Job>, shared: &SharedState, options: &Options, schemas: &Schemas) {
    let mut context = PromptContext::default();
    for Job { question, reply } in queue {
        let id = question.id;
        let question = Arc::new(question);
        context.attention = Attention::default();
        // A panic restores the terminal and drops the reply, which then reports that the approver failed.
        let answer = catch_unwind(AssertUnwindSafe(|| {
            let task = PromptTask { question: &question, shared, options, schemas };
            task.answer(&mut context)
        }));
        remember(&mut context, &question, options);
        lock(&shared.state).forget(id);
        // If a signal is about to end the program, it ends before the caller gets a refusal.
        signals::wait_for_exit();
        match answer {
            Ok(Some(answer)) => reply.send(answer),
            Ok(None) | Err(_) => drop(reply),
        }
    }
}

/// The note of a refusal without a terminal. The agent reads it, so it names no flag that approves the call.
const NO_TERMINAL: &str = "there is no terminal";

/// The note of a refusal without a terminal, for a call that is set to `human`.
const NO_TERMINAL_FOR_PERSON: &str = "there is no terminal, and the call needs a person every time (`human`)";

/// The number of earlier requests that are kept.
const MAX_HISTORY: usize = 200;

/// The size of the earlier requests that are kept, in bytes. A session may have few calls, but large ones.
const MAX_HISTORY_BYTES: usize = 4 << 20;

/// The memory that one value takes at least, in bytes.
const VALUE_BYTES: usize = 64;

/// Keeps the requests of a question, so that a later one can show which of them a wider scope would have covered.
fn remember(context: &mut PromptContext, question: &Question, options: &Options) {
    let history = Arc::make_mut(&mut context.history);
    for member in &question.members {
        let request = &member.request;
        let args = options.redactor.args(&request.args, Mark::Screen).left;
        let (tool, payload, summary) = (request.tool_name.clone(), &request.payload, summary(&args));
        let bytes = count(payload) * VALUE_BYTES + payload.to_string().len() + summary.len();
        history.push(EarlierRequest { tool, payload: payload.clone(), summary, bytes });
    }
    let mut bytes = 0;
    let fits = |past: &&EarlierRequest| {
        bytes += past.bytes;
        bytes <= MAX_HISTORY_BYTES
    };
    let kept = history.iter().rev().take(MAX_HISTORY).take_while(fits).count();
    history.drain(..history.len() - kept);
}

/// The task of getting one question answered.
struct PromptTask<'a> {
    question: &'a Arc<Question>,
    shared: &'a SharedState,
    options: &'a Options,
    schemas: &'a Schemas,
}

impl PromptTask<'_> {
    /// Asks until there is an answer. Returns `None` if the question was withdrawn.
    fn answer(&self, context: &mut PromptContext) -> Option<Answer> {
        let Self { question, shared, options, .. } = self;
        shared.clear_wake();
        if shared.withdrawal(question.id).is_some() {
            return None;
        }
        let Some(fd) = find_terminal() else {
            let needs_person = |member: &Member| member.request.approval == Approval::Human;
            let note = match question.members.iter().any(needs_person) {
                true => NO_TERMINAL_FOR_PERSON,
                false => NO_TERMINAL,
            };
            return Some(Answer::failed(Cause::NoOneToAsk, note));
        };
        let lost = || Some(Answer::failed(Cause::TerminalLost, "cannot use the terminal"));
        // Declared before `tty`, so that the lock is released only after the terminal is restored.
        let _lock = loop {
            match lock_terminal(&fd, shared.wake.as_fd()) {
                Ok(lock) => break lock,
                Err(Interruption::Lost) => return lost(),
                Err(Interruption::Woken) => {
                    shared.clear_wake();
                    if shared.withdrawal(question.id).is_some() {
                        return None;
                    }
                }
            }
        };
        let Ok(mut tty) = Tty::take(fd, shared.wake.as_fd(), options.style) else { return lost() };
        loop {
            match self.ask(&mut tty, context) {
                PromptEnd::Answered(answer) => return Some(answer),
                PromptEnd::Woken | PromptEnd::TooSmall => {
                    shared.clear_wake();
                    if let Some(cause) = shared.withdrawal(question.id) {
                        // The caller already knows. This line is for the person at the terminal.
                        let _ = tty
                            .write(&format!("\n{}\n", withdrawal_line(question, cause, &options.redactor)));
                        return None;
                    }
                }
            }
        }
    }

    fn ask(&self, tty: &mut Tty<'_>, context: &mut PromptContext) -> PromptEnd {
        let lines = |tty: &mut Tty<'_>, context: &mut PromptContext| {
            plain::ask(tty, self.question, self.options, self.schemas, context)
        };
        match self.options.style {
            Style::Plain => lines(tty, context),
            Style::Colored | Style::Uncolored => {
                match live::ask(tty, self.question, self.options, self.schemas, context) {
                    PromptEnd::TooSmall => lines(tty, context),
                    ended @ (PromptEnd::Answered(_) | PromptEnd::Woken) => ended,
                }
            }
        }
    }
}

impl SharedState {
    fn wake_thread(&self) {
        // This fails only if the wake-up is already pending.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn clear_wake(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.wake, &mut count);
    }

    /// The cause for which a question was withdrawn, if it was.
    fn withdrawal(&self, id: QuestionId) -> Option<Cause> {
        let state = lock(&self.state);
        let withdrawn = state.withdrawn.iter().find(|(known, _)| *known == id).map(|(_, cause)| *cause);
        withdrawn.or((state.closing || signals::is_ending()).then_some(Cause::Cancelled))
    }
}

impl ApproverState {
    fn forget(&mut self, id: QuestionId) {
        if let Some(at) = self.open.iter().position(|known| *known == id) {
            self.open.remove(at);
        }
        if !self.open.contains(&id) {
            self.withdrawn.retain(|(known, _)| *known != id);
        }
    }
}

/// Locks a mutex, even after a panic. Every change under these locks is one step, so the state is valid.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "approver/tests.rs"]
mod tests;
