//! Drives the state machine of the core: for blocking callers, for async callers, and with a running clock.
//!
//! Each controller has one thread, started with the first question. The thread presents questions and checks the time.
//! It never waits for a person: approvers answer through their [`Reply`].

mod stop;
mod wait;

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use askfirst::machine::{Answer, Audience, Effect, Machine, QuestionId, Resolution, Submission, Ticket};
use askfirst::ports::{Approver, Clock, Presenter, Reply};
use askfirst::{
    ApprovalContext, ApprovalDecision, ApprovalMemory, ApprovalRequest, ApprovalScope, Cause, Judgement,
    MemoryId, Mode, Permit, RememberedDecision, SharedMemory, Shown,
};

use crate::approver::{Callback, answer_for, answering_for};
use crate::blocking::block_on;
use crate::clock::SystemClock;
use crate::project::ProjectRules;
pub(crate) use wait::Wait;

/// Turns a request into a decision: mode, then memory, then approver. Clones share all state.
#[derive(Clone)]
pub struct ApprovalController(Arc<Handle>);

/// Builder of a controller.
pub struct Setup {
    mode: Mode,
    approver: Option<Arc<dyn Approver>>,
    memory: SharedMemory,
    project: Option<Arc<ProjectRules>>,
    time_out: Option<Duration>,
    clock: Arc<dyn Clock>,
}

impl Setup {
    /// Sets the approver.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Sets a function as the approver. Each question runs it on its own thread.
    #[must_use]
    pub fn callback(self, f: impl Fn(&ApprovalRequest) -> ApprovalDecision + Send + Sync + 'static) -> Self {
        self.approver(Arc::new(Callback::new(f)))
    }

    /// Sets the memory to start with. Other controllers may use the same shared memory.
    #[must_use]
    pub fn memory(mut self, memory: impl Into<SharedMemory>) -> Self {
        self.memory = memory.into();
        self
    }

    /// Sets the user's own rules for the project.
    #[must_use]
    pub fn project(mut self, project: Option<ProjectRules>) -> Self {
        self.project = project.map(Arc::new);
        self
    }

    /// Sets how long a question waits for an answer. `None` means no limit.
    #[must_use]
    pub fn time_out(mut self, time: Option<Duration>) -> Self {
        self.time_out = time;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Builds the controller.
    #[must_use]
    pub fn build(self) -> ApprovalController {
        let audience = if self.approver.is_some() { Audience::There } else { Audience::Absent };
        let project = self.project.as_ref().map(|project| project.approvals());
        let machine =
            Machine::new(self.mode, audience, self.memory.clone(), self.time_out).with_project(project);
        let state = ControllerState {
            machine,
            slots: HashMap::new(),
            to_show: VecDeque::new(),
            thread: false,
            closed: false,
            by_denial: false,
        };
        let desk = ControllerCore {
            state: Mutex::new(state),
            changed: Condvar::new(),
            mode: self.mode,
            memory: self.memory,
            project: self.project,
            approver: self.approver,
            clock: self.clock,
        };
        ApprovalController(Arc::new(Handle(Arc::new(desk))))
    }
}

impl ApprovalController {
    /// Starts to build a controller. The default time limit of a question is ten minutes.
    #[must_use]
    pub fn setup(mode: Mode) -> Setup {
        Setup {
            mode,
            approver: None,
            memory: SharedMemory::default(),
            project: None,
            time_out: Some(Duration::from_secs(600)),
            clock: Arc::new(SystemClock::start()),
        }
    }

    /// Returns a controller that calls a function for each request.
    #[must_use]
    pub fn interactive(f: impl Fn(&ApprovalRequest) -> ApprovalDecision + Send + Sync + 'static) -> Self {
        Self::setup(Mode::Interactive).callback(f).build()
    }

    /// Returns a controller that approves every request without asking, except those set to `human`. Unsafe.
    #[must_use]
    pub fn approve_all() -> Self {
        Self::setup(Mode::ApproveAll).build()
    }

    /// Returns a controller that refuses every request without asking.
    #[must_use]
    pub fn strict() -> Self {
        Self::setup(Mode::Strict).build()
    }

    /// Returns the mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.desk().mode
    }

    /// Reads or changes the memory. Inside `f`, call no other method of this controller except [`mode`](Self::mode):
    /// it would deadlock.
    pub fn memory<T>(&self, f: impl FnOnce(&mut ApprovalMemory) -> T) -> T {
        f(&mut self.desk().memory.lock())
    }

    /// Returns the decisions that are remembered now.
    #[must_use]
    pub fn remembered(&self) -> Vec<RememberedDecision> {
        let now = self.now();
        self.memory(|memory| memory.list(now).into_iter().cloned().collect())
    }

    /// Forgets one remembered decision. Returns whether it existed.
    #[must_use]
    pub fn revoke(&self, id: MemoryId) -> bool {
        self.memory(|memory| memory.revoke(id))
    }

    /// Returns whether memory approves this request because an equal one was approved for the session.
    #[must_use]
    pub fn is_session_approved(&self, request: &ApprovalRequest) -> bool {
        let now = self.now();
        self.memory(|memory| memory.approves(request, now))
    }

    /// Approves equal requests for the session. A request without a definition covers every definition of its tool.
    pub fn add_session_approval(&self, request: &ApprovalRequest) {
        let (now, yes) = (self.now(), ApprovalDecision::yes(Cause::Person));
        self.memory(|memory| memory.settle(request, yes.remembered(ApprovalScope::Session), now));
    }

    /// Forgets all remembered decisions.
    pub fn clear_session_approvals(&self) {
        self.memory(ApprovalMemory::clear);
    }

    /// Returns a function that decides about requests like [`request_approval_sync`](Self::request_approval_sync).
    pub fn approval_callback(
        &self,
    ) -> impl Fn(ApprovalRequest) -> ApprovalDecision + Clone + Send + Sync + 'static {
        let controller = self.clone();
        move |request| controller.request_approval_sync(request)
    }

    /// Decides about a request: mode, then memory, then the approver.
    ///
    /// This method cannot judge a call with other arguments. If a person edits the arguments, the decision is a
    /// refusal that carries them. The caller may ask again with these.
    ///
    /// The controller refuses a request at once if it comes from the code that is answering one of its questions.
    pub async fn request_approval(&self, request: ApprovalRequest) -> ApprovalDecision {
        let call = ApprovalContext {
            definition: request.definition,
            ..ApprovalContext::new(request.tool_name.clone(), request.args.clone())
        };
        let submission = Submission { call: Arc::new(call), request, shown_by: None, no_ends_run: false };
        match self.submit(vec![(submission, None)]).pop() {
            Some(waiting) => as_asked(waiting.await.decision),
            None => ApprovalDecision::no(Cause::ApproverFailed),
        }
    }

    /// Blocking version of [`request_approval`](Self::request_approval).
    #[must_use]
    pub fn request_approval_sync(&self, request: ApprovalRequest) -> ApprovalDecision {
        block_on(self.request_approval(request))
    }

    /// Returns the permit of a call that mode or memory approves without asking.
    pub(crate) fn permit_without_asking(
        &self,
        judgement: &Judgement<'_>,
        call: &Arc<ApprovalContext>,
    ) -> Option<Permit> {
        let now = self.now();
        self.desk().lock().machine.permit_without_asking(judgement, call, now)
    }

    /// Submits calls together. Dropping a [`Wait`] cancels its call.
    pub(crate) fn submit(&self, calls: Vec<(Submission, Option<Arc<dyn Presenter + Sync>>)>) -> Vec<Wait> {
        if let Some(approver) = &self.desk().approver {
            calls
                .iter()
                .for_each(|(submission, _)| caught(|| approver.announce(&submission.request.call_id)));
        }
        let (submissions, presenters): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
        let tickets = self.desk().with(|state, now| {
            let tickets = state.machine.submit(submissions, now);
            for (ticket, presenter) in tickets.iter().zip(presenters) {
                state.slots.insert(*ticket, Slot { presenter, ..Slot::default() });
                if answering_for() == self.desk().name() {
                    state.machine.refuse(*ticket, &asks_itself(), now);
                }
            }
            tickets
        });
        tickets
            .into_iter()
            .map(|ticket| Wait { desk: Arc::clone(self.desk()), ticket, over: false })
            .collect()
    }

    /// Returns whether both are clones of one controller.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn now(&self) -> askfirst::Timestamp {
        self.desk().clock.now()
    }

    fn desk(&self) -> &Arc<ControllerCore> {
        &self.0.0
    }
}

impl std::fmt::Debug for ApprovalController {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApprovalController").field("mode", &self.mode()).finish_non_exhaustive()
    }
}

/// Ends the thread when the last clone of the controller is dropped.
struct Handle(Arc<ControllerCore>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.with(|state, now| {
            state.closed = true;
            state.machine.stop(now);
        });
        self.0.changed.notify_all();
    }
}

struct ControllerCore {
    state: Mutex<ControllerState>,
    changed: Condvar,
    mode: Mode,
    memory: SharedMemory,
    project: Option<Arc<ProjectRules>>,
    approver: Option<Arc<dyn Approver>>,
    clock: Arc<dyn Clock>,
}

struct ControllerState {
    machine: Machine,
    slots: HashMap<Ticket, Slot>,
    to_show: VecDeque<QuestionId>,
    thread: bool,
    closed: bool,
    /// Whether the run was stopped because a person refused a call.
    by_denial: bool,
}

#[derive(Default)]
struct Slot {
    resolution: Option<Box<Resolution>>,
    waker: Option<Waker>,
    presenter: Option<Arc<dyn Presenter + Sync>>,
}

type ToPresent = Vec<(Arc<ApprovalRequest>, Option<Arc<dyn Presenter + Sync>>)>;

impl ControllerState {
    /// Returns the requests of a question, each with the presenter of its own ticket. Callers choose call ids, so
    /// these cannot serve as keys.
    fn to_present(&self, id: QuestionId) -> Option<ToPresent> {
        let presenter = |ticket| self.slots.get(&ticket).and_then(|slot| slot.presenter.clone());
        let requests = self.machine.requests_of(id)?.into_iter();
        Some(requests.map(|(ticket, request)| (request, presenter(ticket))).collect())
    }
}

fn present(request: &ApprovalRequest, by: Option<Arc<dyn Presenter + Sync>>) -> Shown {
    by.map(|presenter| presenter.present(request)).unwrap_or_default()
}

impl ControllerCore {
    fn lock(&self) -> MutexGuard<'_, ControllerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, then carries out the effects that the machine returns: wake, withdraw, show.
    fn with<T>(self: &Arc<Self>, change: impl FnOnce(&mut ControllerState, askfirst::Timestamp) -> T) -> T {
        if let Some(project) = &self.project {
            project.refresh();
        }
        let mut state = self.lock();
        let result = change(&mut state, self.clock.now());
        let (mut wakers, mut withdrawn) = (Vec::new(), Vec::new());
        for effect in state.machine.take_effects() {
            match effect {
                Effect::Show(id) => state.to_show.push_back(id),
                Effect::Withdraw(id, cause) => withdrawn.push((id, cause)),
                Effect::Resolve(ticket, resolution) => {
                    if let Some(slot) = state.slots.get_mut(&ticket) {
                        slot.resolution = Some(resolution);
                        wakers.extend(slot.waker.take());
                    }
                }
            }
        }
        if !state.to_show.is_empty() && !state.thread && !state.closed {
            let desk = Arc::clone(self);
            let thread = std::thread::Builder::new().name("askfirst-desk".to_owned());
            state.thread = thread.spawn(move || while desk.watch_caught().is_err() {}).is_ok();
        }
        let unshown = if state.thread { None } else { state.to_show.pop_front() };
        drop(state);
        self.changed.notify_all();
        wakers.into_iter().for_each(|waker| caught(|| waker.wake()));
        if let Some(approver) = &self.approver {
            withdrawn.into_iter().for_each(|(id, cause)| caught(|| approver.withdraw(id, cause)));
        }
        if let Some(id) = unshown {
            self.fail(id, "could not start a thread to ask");
        }
        result
    }

    /// Runs [`watch`](Self::watch) and catches a panic, for example of a clock that the caller supplied.
    fn watch_caught(self: &Arc<Self>) -> std::thread::Result<()> {
        let watched = catch_unwind(AssertUnwindSafe(|| self.watch()));
        if watched.is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        watched
    }

    /// Returns a number that identifies this controller.
    fn name(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// Body of the thread: shows queued questions, and ticks the machine at the time that it asks for.
    fn watch(self: &Arc<Self>) {
        let mut state = self.lock();
        while !state.closed {
            if let Some(id) = state.to_show.pop_front() {
                drop(state);
                self.show(id);
                state = self.lock();
                continue;
            }
            state = match state.machine.wake_at() {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let now = self.clock.now();
                    if at <= now {
                        drop(state);
                        self.with(|state, now| state.machine.tick(now));
                        self.lock()
                    } else {
                        let waited = self.changed.wait_timeout(state, now.until(at));
                        waited.unwrap_or_else(PoisonError::into_inner).0
                    }
                }
            };
        }
    }

    fn show(self: &Arc<Self>, id: QuestionId) {
        let Some(approver) = self.approver.clone() else { return self.fail(id, "no one can be asked") };
        let Some(to_present) = self.lock().to_present(id) else { return };
        let presented = answer_for(self.name(), || {
            // Each request is dropped before the machine adds the presentation to it. Otherwise the machine would copy
            // it.
            to_present.into_iter().map(|(request, by)| present(&request, by)).collect::<Vec<Shown>>()
        });
        let Ok(shown) = presented else { return self.fail(id, "the tool could not prepare what to show") };
        let question = self.with(|state, now| state.machine.presented(id, shown, now));
        let Some(question) = question else { return };
        let desk = Arc::downgrade(self);
        let reply = Reply::new(move |answer| {
            if let Some(desk) = desk.upgrade() {
                desk.answer(id, answer);
            }
        });
        // If the approver panics, it drops the reply, and the answer is "the approver failed".
        drop(answer_for(self.name(), || approver.ask(question, reply)));
    }

    /// Applies an answer. An approval that always holds is stored first; if that fails, it counts only once.
    fn answer(self: &Arc<Self>, id: QuestionId, mut answer: Answer) {
        self.with(|state, now| {
            let lasting = state.machine.lasting(id, &answer, now);
            if let Some(project) = self.project.as_ref().filter(|_| !lasting.is_empty())
                && let Err(why) = project.store(lasting)
            {
                let once = ApprovalScope::None;
                answer.decisions.iter_mut().for_each(|decision| {
                    (decision.always, decision.remember, decision.pattern) = (false, once, None);
                });
                // The person must know before the call runs, and before the program may end.
                caught(|| project.warn(&format!("approved only once: {why}")));
            }
            state.machine.answer(id, answer, now);
        });
    }

    fn fail(self: &Arc<Self>, id: QuestionId, note: &str) {
        let answer = Answer::failed(Cause::ApproverFailed, note);
        self.with(|state, now| state.machine.answer(id, answer, now));
    }
}

/// Runs code of the caller and ignores its panic.
fn caught(f: impl FnOnce()) {
    drop(catch_unwind(AssertUnwindSafe(f)));
}

/// Turns an approval with edited arguments into a refusal, because the request was for other arguments.
fn as_asked(decision: ApprovalDecision) -> ApprovalDecision {
    if !decision.approved || decision.edited_args.is_none() {
        return decision;
    }
    let edited = "the arguments were edited, so the original request is not approved";
    let note = decision.note.as_ref().map_or_else(|| edited.to_owned(), |note| format!("{note} ({edited})"));
    ApprovalDecision { approved: false, remember: ApprovalScope::None, ..decision }.with_note(note)
}

fn asks_itself() -> ApprovalDecision {
    let why = "an approver made this request while answering another request of the same controller";
    ApprovalDecision::no(Cause::ApproverFailed).with_note(why)
}
