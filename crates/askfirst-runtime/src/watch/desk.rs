//! The watcher's side: accepts questions from sessions, asks them one at a time, and sends the answers back.

use std::collections::VecDeque;
use std::fs::File;
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Reply};
use askfirst::{Cause, Fact};

use super::approver::LIMIT;
use super::frame::{FrameError, Patience, read, write};
use super::place::{MissingFolder, Secret, WatcherFolder};
use super::takes::{Schemas, ToolSchemas};
use super::{Asker, DisplaySettings, FromAsker, FromWatcher, WatchError, hands};

/// The maximum number of open connections. A session that connects beyond it is closed, as if no watcher were running.
const MAX_LINES: usize = 64;
/// How long a session may take to send its question after its proof.
const SOON: Duration = Duration::from_secs(10);
/// The maximum number of warnings that are shown one by one. The others are only counted.
const MAX_WARNINGS: usize = 8;
/// The maximum number of prompts that are kept. Each one remembers earlier questions of its session.
const MAX_PROMPTS: usize = 16;

/// Why a watcher ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchEnd {
    /// The terminal is gone, so no one can be asked here.
    TerminalLost,
    /// A [`StopHandle`] stopped it.
    Stopped,
}

impl WatchEnd {
    /// The former name of [`WatchEnd::Stopped`].
    #[doc(hidden)]
    #[expect(non_upper_case_globals, reason = "a former variant")]
    pub const Told: Self = Self::Stopped;
}

/// Stops a watcher.
#[derive(Debug, Clone)]
pub struct StopHandle(Sender<WatchEvent>);

impl StopHandle {
    /// Stops the watcher. It removes the question from the screen, and the sessions see that the watcher is gone.
    pub fn stop(&self) {
        // If sending fails, the watcher has already ended.
        drop(self.0.send(WatchEvent::Stop));
    }

    /// The former name of [`StopHandle::stop`].
    #[doc(hidden)]
    pub fn leave(&self) {
        self.stop();
    }
}

/// The socket where questions arrive.
pub struct Desk {
    listener: UnixListener,
    socket: PathBuf,
    secret: Arc<Secret>,
    events: Sender<WatchEvent>,
    received: Mutex<Receiver<WatchEvent>>,
    /// The lock file, held as long as the desk exists.
    _lock: File,
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.socket));
    }
}

/// A question from a session.
#[derive(Debug)]
struct IncomingQuestion {
    id: QuestionId,
    asker: Asker,
    process: u32,
    look: DisplaySettings,
    takes: Schemas,
    question: Question,
    stream: UnixStream,
}

#[derive(Debug)]
enum WatchEvent {
    Stop,
    /// A connection was rejected, for this reason.
    Warning(String),
    Asked(Box<IncomingQuestion>),
    Withdrawn(QuestionId, Cause),
    Answered(QuestionId, Answer),
}

impl Desk {
    /// Opens the desk below `state`. Each user can have only one.
    ///
    /// # Errors
    /// Fails if another watcher is running, or if other users can access the folder or the secret.
    pub fn open(state: &Path) -> Result<Self, WatchError> {
        let place = WatcherFolder::open(state, MissingFolder::Create)?;
        let lock = place.lock()?;
        let secret = Arc::new(place.secret_or_new()?);
        let socket = place.socket();
        let io = |e| WatchError::Io(socket.clone(), e);
        // The holder of the lock is the only watcher, so an existing socket was left behind.
        match std::fs::remove_file(&socket) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(io(e)),
            Err(_) | Ok(()) => {}
        }
        let listener = UnixListener::bind(&socket).map_err(io)?;
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o600)).map_err(io)?;
        let (events, received) = channel();
        Ok(Self { listener, socket, secret, events, received: Mutex::new(received), _lock: lock })
    }

    /// Returns the path of the socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns a handle that stops the watcher.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.events.clone())
    }

    /// The former name of [`Desk::stop_handle`].
    #[doc(hidden)]
    #[must_use]
    pub fn leaving(&self) -> StopHandle {
        self.stop_handle()
    }

    /// Asks questions one at a time, in the order of arrival, through the approver that `prompt` returns.
    /// A question for which `prompt` returns `None` is refused. `tell` gets warnings, but never while a question is on
    /// the screen.
    ///
    /// # Errors
    /// Fails if the socket cannot accept connections.
    pub fn serve(
        &self,
        prompt: impl Fn(&DisplaySettings, ToolSchemas) -> Option<Arc<dyn Approver>>,
        tell: impl Fn(&str),
    ) -> Result<WatchEnd, WatchError> {
        let io = |e| WatchError::Io(self.socket.clone(), e);
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let entrance = Entrance {
            secret: Arc::clone(&self.secret),
            lines: Arc::default(),
            next: Arc::new(AtomicU64::new(1)),
            events: self.events.clone(),
        };
        let listener = self.listener.try_clone().map_err(io)?;
        let thread = std::thread::Builder::new().name("askfirst-accept".to_owned());
        thread.spawn(move || entrance.accept_all(&listener)).map_err(io)?;
        let mut queue = Queue::new(prompt, self.events.clone());
        for event in received.iter() {
            match event {
                WatchEvent::Stop => return Ok(WatchEnd::Stopped),
                WatchEvent::Warning(text) => queue.add_warning(text),
                WatchEvent::Asked(asked) => queue.waiting.push_back(*asked),
                WatchEvent::Withdrawn(id, cause) => queue.withdraw(id, cause),
                WatchEvent::Answered(id, answer) => {
                    let lost = is_lost(&answer);
                    queue.answer(id, answer);
                    if lost {
                        return Ok(WatchEnd::TerminalLost);
                    }
                }
            }
            queue.show_next();
            if queue.shown.is_none() {
                queue.take_warnings().iter().for_each(|text| tell(text));
            }
        }
        Ok(WatchEnd::TerminalLost)
    }
}

fn is_lost(answer: &Answer) -> bool {
    let lost = |cause: Cause| matches!(cause, Cause::TerminalLost | Cause::NoOneToAsk);
    answer.decisions.iter().any(|decision| !decision.approved && lost(decision.cause))
}

/// Accepts the connections of sessions.
struct Entrance {
    secret: Arc<Secret>,
    lines: Arc<AtomicUsize>,
    next: Arc<AtomicU64>,
    events: Sender<WatchEvent>,
}

/// Counts a connection as long as it is open.
struct ConnectionCount(Arc<AtomicUsize>);

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Entrance {
    fn accept_all(&self, listener: &UnixListener) {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => self.accept(stream),
                // Too many files are open, or the client has already disconnected.
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn accept(&self, stream: UnixStream) {
        let counted = ConnectionCount(Arc::clone(&self.lines));
        if self.lines.fetch_add(1, Ordering::Relaxed) >= MAX_LINES {
            return;
        }
        let (secret, events) = (Arc::clone(&self.secret), self.events.clone());
        let id = QuestionId(self.next.fetch_add(1, Ordering::Relaxed));
        // Without a thread the connection is closed, as if no watcher were running.
        drop(std::thread::Builder::new().name("askfirst-line".to_owned()).spawn(move || {
            let _counted = counted;
            if let Err(e) = attend(id, stream, &secret, &events) {
                drop(events.send(WatchEvent::Warning(format!("a process that connected was refused: {e}"))));
            }
        }));
    }
}

/// Serves one session, from the handshake to the answer or the end of the connection.
fn attend(
    id: QuestionId,
    stream: UnixStream,
    secret: &Secret,
    events: &Sender<WatchEvent>,
) -> Result<(), WatchError> {
    let process = match hands::greet_asker(&stream, secret) {
        Ok(process) => process,
        // A client that connects only to check for a watcher is no reason for a warning.
        Err(WatchError::Talk(FrameError::Ended)) => return Ok(()),
        Err(e) => return Err(e),
    };
    let FromAsker::Ask { asker, look, takes, question } = read(&stream, LIMIT, Patience::Within(SOON))?
    else {
        return Err(FrameError::Garbled.into());
    };
    if question.members.is_empty() {
        return Err(FrameError::Garbled.into());
    }
    let talk = |e| WatchError::Talk(FrameError::Io(e));
    let ours = stream.try_clone().map_err(talk)?;
    let asked = IncomingQuestion { id, asker, process, look, takes, question: *question, stream };
    // Sending fails only after the watcher has ended.
    let _ = events.send(WatchEvent::Asked(Box::new(asked)));
    let (cause, ended) = match read(&ours, 1 << 10, Patience::Person) {
        Ok(FromAsker::Withdraw { cause }) => (cause, Ok(())),
        Err(FrameError::Ended) => (Cause::Cancelled, Ok(())),
        Ok(FromAsker::Hello { .. } | FromAsker::Ask { .. }) => {
            (Cause::ApproverFailed, Err(FrameError::Garbled))
        }
        Err(e) => (Cause::ApproverFailed, Err(e)),
    };
    let _ = events.send(WatchEvent::Withdrawn(id, cause));
    ended.map_err(WatchError::Talk)
}

/// The prompt of one session.
struct Prompt {
    session: String,
    look: DisplaySettings,
    takes: ToolSchemas,
    approver: Arc<dyn Approver>,
}

/// The question on the screen, and those that wait.
struct Queue<P> {
    prompt: P,
    prompts: VecDeque<Prompt>,
    waiting: VecDeque<IncomingQuestion>,
    shown: Option<(IncomingQuestion, Arc<dyn Approver>)>,
    position: usize,
    /// Warnings to show once the screen is free, and the number of further ones.
    warnings: (Vec<String>, usize),
    events: Sender<WatchEvent>,
}

impl<P: Fn(&DisplaySettings, ToolSchemas) -> Option<Arc<dyn Approver>>> Queue<P> {
    fn new(prompt: P, events: Sender<WatchEvent>) -> Self {
        Self {
            prompt,
            prompts: VecDeque::new(),
            waiting: VecDeque::new(),
            shown: None,
            position: 0,
            warnings: Default::default(),
            events,
        }
    }

    fn add_warning(&mut self, text: String) {
        match self.warnings.0.len() < MAX_WARNINGS {
            true => self.warnings.0.push(text),
            false => self.warnings.1 += 1,
        }
    }

    fn take_warnings(&mut self) -> Vec<String> {
        let (mut told, more) = std::mem::take(&mut self.warnings);
        if more > 0 {
            told.push(format!("{more} more processes were refused"));
        }
        told
    }

    fn withdraw(&mut self, id: QuestionId, cause: Cause) {
        self.waiting.retain(|asked| asked.id != id);
        if let Some((_, approver)) = self.shown.take_if(|(asked, _)| asked.id == id) {
            approver.withdraw(id, cause);
        }
    }

    /// Sends an answer to the session. Ignores an answer to a question that is no longer on the screen.
    fn answer(&mut self, id: QuestionId, answer: Answer) {
        let Some((asked, _)) = self.shown.take_if(|(asked, _)| asked.id == id) else { return };
        // A session that does not read the answer in time is gone, and refuses on its own.
        let _ = write(&asked.stream, &FromWatcher::Answer { answer }, LIMIT);
        let _ = asked.stream.shutdown(Shutdown::Both);
    }

    /// Shows the next question, if none is on the screen.
    fn show_next(&mut self) {
        if self.shown.is_some() {
            return;
        }
        let Some(asked) = self.waiting.pop_front() else {
            self.position = 0;
            return;
        };
        self.position += 1;
        let behind = |asked: &IncomingQuestion| asked.question.of.saturating_sub(asked.question.position);
        let more = behind(&asked) + self.waiting.iter().map(|other| behind(other) + 1).sum::<usize>();
        let mut question = asked.question.clone();
        (question.id, question.position, question.of) = (asked.id, self.position, self.position + more);
        let from = Fact::new("comes from", told(&asked));
        for member in &mut question.members {
            Arc::make_mut(&mut member.request).facts.insert(0, from.clone());
        }
        let (id, events) = (asked.id, self.events.clone());
        // Sending fails only after the watcher has ended.
        let reply = Reply::new(move |answer| drop(events.send(WatchEvent::Answered(id, answer))));
        let approver = self.prompt_for(&asked).unwrap_or_else(|| Arc::new(RefusingApprover));
        self.shown = Some((asked, Arc::clone(&approver)));
        approver.ask(question, reply);
    }

    /// Returns the prompt of a session. Each session has one, so that the prompt remembers earlier questions.
    fn prompt_for(&mut self, asked: &IncomingQuestion) -> Option<Arc<dyn Approver>> {
        let same = |prompt: &&Prompt| prompt.session == asked.asker.session && prompt.look == asked.look;
        if let Some(prompt) = self.prompts.iter().find(same) {
            prompt.takes.learn(asked.takes.clone());
            return Some(Arc::clone(&prompt.approver));
        }
        let takes = ToolSchemas::default();
        takes.learn(asked.takes.clone());
        let approver = (self.prompt)(&asked.look, takes.clone())?;
        let (session, look) = (asked.asker.session.clone(), asked.look.clone());
        self.prompts.push_back(Prompt { session, look, takes, approver: Arc::clone(&approver) });
        if self.prompts.len() > MAX_PROMPTS {
            self.prompts.pop_front();
        }
        Some(approver)
    }
}

/// Removes the question from the screen, and closes every connection.
impl<P> Drop for Queue<P> {
    fn drop(&mut self) {
        if let Some((asked, approver)) = self.shown.take() {
            approver.withdraw(asked.id, Cause::Cancelled);
            self.waiting.push_front(asked);
        }
        for asked in &self.waiting {
            let _ = asked.stream.shutdown(Shutdown::Both);
        }
    }
}

/// An approver that refuses, for a question that cannot be shown correctly.
struct RefusingApprover;

impl Approver for RefusingApprover {
    fn ask(&self, _: Question, reply: Reply) {
        reply.send(Answer::failed(
            Cause::ApproverFailed,
            "`askfirst watch` cannot show this request correctly",
        ));
    }
}

fn told(asked: &IncomingQuestion) -> String {
    let Asker { door: front_end, name, folder, .. } = &asked.asker;
    let name = if name.is_empty() { String::new() } else { format!(" `{name}`") };
    format!("{front_end}{name} in {folder} (process {})", asked.process)
}
