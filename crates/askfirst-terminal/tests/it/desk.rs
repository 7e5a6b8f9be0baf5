//! Runs the example `ask` on a pseudo-terminal, types keys and reads the screen.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use askfirst::machine::{Answer, Member, Question, QuestionId};
use askfirst::{ApprovalDecision, ApprovalRequest, Args, simple_approval_request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Termios, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

/// The time after which a test fails. Nothing takes that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The way in which the program gets its terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    /// On standard input.
    Stdin,
    /// As the controlling terminal only.
    Controlling,
    /// Not at all.
    None,
    /// On standard input, and the program ignores a hang-up.
    OutlivesHangUp,
}

/// The setup of a test: questions, flags, environment and terminal.
pub(crate) struct Desk {
    questions: Vec<Question>,
    flags: Vec<String>,
    env: Vec<(String, String)>,
    columns: u16,
    rows: u16,
    seat: Seat,
    typed_ahead: Vec<u8>,
    raw: bool,
}

/// The output of the program so far.
#[derive(Default)]
struct Output {
    bytes: Mutex<Vec<u8>>,
    more: Condvar,
    stop: AtomicBool,
}

/// A program that was started on a terminal.
pub(crate) struct SpawnedProgram {
    pub(crate) master: OwnedFd,
    pub(crate) child: Child,
    /// The modes of the terminal before the program started.
    pub(crate) before: Termios,
    pub(crate) folder: tempfile::TempDir,
}

/// A running program that asks.
pub(crate) struct PromptRun {
    size: (u16, u16),
    before: LocalModes,
    master: Option<Arc<OwnedFd>>,
    drawn: Arc<Output>,
    reader: Option<JoinHandle<()>>,
    child: Child,
    matched: usize,
    _folder: tempfile::TempDir,
}

/// The result of a program that ended.
pub(crate) struct PromptResult {
    /// The answers, in the order of the questions.
    pub(crate) answers: Vec<Answer>,
    /// The whole output.
    pub(crate) screen: String,
}

impl PromptResult {
    /// The one decision.
    pub(crate) fn decision(&self) -> &ApprovalDecision {
        match self.answers.as_slice() {
            [Answer { decisions, .. }] => &decisions[0],
            other => panic!("not one answer: {other:?}\n{}", self.screen),
        }
    }
}

pub(crate) fn args(value: serde_json::Value) -> Args {
    value.as_object().cloned().unwrap_or_default()
}

pub(crate) fn email() -> ApprovalRequest {
    let args = args(serde_json::json!({"to": "bob@example.com", "subject": "Hi"}));
    simple_approval_request("send_email", &args, Some("Send email to bob@example.com: Hi"), &[])
}

pub(crate) fn question(requests: Vec<ApprovalRequest>) -> Question {
    let member = |request: ApprovalRequest| Member::new(request);
    Question { id: QuestionId(1), members: requests.into_iter().map(member).collect(), position: 1, of: 1 }
}

impl Desk {
    pub(crate) fn new(request: ApprovalRequest) -> Self {
        Self::group(vec![request])
    }

    pub(crate) fn group(requests: Vec<ApprovalRequest>) -> Self {
        Self {
            questions: vec![question(requests)],
            flags: Vec::new(),
            env: Vec::new(),
            columns: 80,
            rows: 40,
            seat: Seat::Stdin,
            typed_ahead: Vec::new(),
            raw: false,
        }
    }

    pub(crate) fn and_then(mut self, request: ApprovalRequest) -> Self {
        let id = u64::try_from(self.questions.len()).unwrap() + 1;
        let next = Question { id: QuestionId(id), ..question(vec![request]) };
        self.questions.push(next);
        self
    }

    pub(crate) fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn columns(mut self, columns: u16) -> Self {
        self.columns = columns;
        self
    }

    pub(crate) fn questions(mut self, questions: Vec<Question>) -> Self {
        self.questions = questions;
        self
    }

    pub(crate) fn rows(mut self, rows: u16) -> Self {
        self.rows = rows;
        self
    }

    pub(crate) fn change(mut self, change: impl FnOnce(&mut Question)) -> Self {
        change(&mut self.questions[0]);
        self
    }

    pub(crate) fn seat(mut self, seat: Seat) -> Self {
        self.seat = seat;
        self
    }

    pub(crate) fn typed_ahead(mut self, bytes: &[u8]) -> Self {
        self.typed_ahead = bytes.to_vec();
        self
    }

    /// Starts on a terminal that another program left in raw mode.
    pub(crate) fn left_raw(mut self) -> Self {
        self.raw = true;
        self
    }

    pub(crate) fn start(self) -> PromptRun {
        let size = (self.rows, self.columns);
        let SpawnedProgram { master, child, before, folder } = self.spawn();
        let master = Arc::new(master);
        let drawn = Arc::new(Output::default());
        let reader = {
            let (master, drawn) = (Arc::clone(&master), Arc::clone(&drawn));
            std::thread::spawn(move || read_all(&master, &drawn))
        };
        PromptRun {
            size,
            before: before.local_modes,
            master: Some(master),
            drawn,
            reader: Some(reader),
            child,
            matched: 0,
            _folder: folder,
        }
    }

    /// Starts the program without reading its output.
    pub(crate) fn spawn(self) -> SpawnedProgram {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        tcsetwinsize(
            &master,
            Winsize { ws_row: self.rows, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 },
        )
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("questions.json");
        std::fs::write(&file, serde_json::to_vec(&self.questions).unwrap()).unwrap();
        let slave = {
            use std::os::unix::fs::OpenOptionsExt;
            let noctty = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap();
            OpenOptions::new().read(true).write(true).custom_flags(noctty).open(&name).unwrap()
        };
        if self.raw {
            let mut modes = tcgetattr(&slave).unwrap();
            modes.make_raw();
            tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
        }
        let before = tcgetattr(&slave).unwrap();
        rustix::io::write(&master, &self.typed_ahead).unwrap();
        let (stdin, session) = match self.seat {
            Seat::Stdin | Seat::OutlivesHangUp => (Stdio::from(slave), "stdin"),
            Seat::Controlling => (Stdio::null(), name.as_str()),
            Seat::None => (Stdio::null(), "none"),
        };
        let mut command = match self.seat {
            Seat::OutlivesHangUp => {
                let mut sh = Command::new("sh");
                sh.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(program());
                sh
            }
            // In the background of a script, tests ignore signals, and the program would inherit that.
            Seat::Stdin | Seat::Controlling | Seat::None if ignores_signals() => {
                let mut env = Command::new("env");
                env.arg("--default-signal=HUP,INT,QUIT,TERM,USR1").arg(program());
                env
            }
            Seat::Stdin | Seat::Controlling | Seat::None => Command::new(program()),
        };
        let child = command
            .args(["--session", session])
            .args(&self.flags)
            .arg(file)
            .env_remove("NO_COLOR")
            .env_remove("VTE_VERSION")
            .env_remove("VISUAL")
            .env_remove("EDITOR")
            .env("TERM", "xterm-256color")
            .envs(self.env)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        SpawnedProgram { master, child, before, folder }
    }
}

/// Whether this process was started with a signal such as SIGHUP or SIGINT ignored.
fn ignores_signals() -> bool {
    let ending = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1];
    let ending = ending.iter().fold(0_u64, |set, signal| set | 1 << (signal.as_raw() - 1));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set & ending != 0)
}

/// The path of the example `ask`, which is built with the tests.
fn program() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let program = this.parent().and_then(|deps| deps.parent()).unwrap().join("examples/ask");
    assert!(program.exists(), "build the example first: `cargo build --example ask`");
    program
}

fn read_all(master: &OwnedFd, drawn: &Output) {
    let mut bytes = [0; 4096];
    while !drawn.stop.load(Ordering::SeqCst) {
        let mut fds = [PollFd::new(master, PollFlags::IN)];
        let time = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        if poll(&mut fds, Some(&time)) == Ok(0) || !fds[0].revents().contains(PollFlags::IN) {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        }
        if let Ok(read) = rustix::io::read(master, &mut bytes) {
            drawn.bytes.lock().unwrap().extend_from_slice(&bytes[..read]);
            drawn.more.notify_all();
        }
    }
}

impl PromptRun {
    /// Waits for a text in the output after the last match.
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        let until = Instant::now() + PATIENCE;
        let mut bytes = self.drawn.bytes.lock().unwrap();
        loop {
            let new = &bytes[self.matched..];
            if let Some(at) = new.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.matched += at + text.len();
                drop(bytes);
                return self;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "`{text}` was not drawn:\n{}", String::from_utf8_lossy(&bytes));
            bytes = self.drawn.more.wait_timeout(bytes, left).unwrap().0;
        }
    }

    /// Waits for one of several texts. Returns the index of the first one, or `None` if the program ended.
    pub(crate) fn which(&mut self, texts: &[&str]) -> Option<usize> {
        let until = Instant::now() + PATIENCE;
        loop {
            let ended = self.child.try_wait().unwrap().is_some();
            let bytes = self.drawn.bytes.lock().unwrap();
            let new = &bytes[self.matched..];
            let place = |text: &&str| new.windows(text.len()).position(|window| window == text.as_bytes());
            let first = texts.iter().enumerate().filter_map(|(at, text)| Some((place(text)?, at))).min();
            if let Some((place, at)) = first {
                self.matched += place + texts[at].len();
                return Some(at);
            }
            if ended {
                return None;
            }
            assert!(Instant::now() < until, "none of {texts:?}:\n{}", String::from_utf8_lossy(&bytes));
            drop(self.drawn.more.wait_timeout(bytes, Duration::from_millis(20)).unwrap());
        }
    }

    /// Answers no, unless the question was already answered.
    pub(crate) fn refuse(&mut self) -> PromptResult {
        if self.which(&["ready:"]).is_some() {
            self.send(b"n");
        }
        self.end()
    }

    pub(crate) fn ready(&mut self) -> &mut Self {
        self.wait_for("ready:")
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> &mut Self {
        rustix::io::write(self.master.as_deref().unwrap(), bytes).unwrap();
        self
    }

    /// Types a text key by key. Each key waits until the one before was drawn.
    pub(crate) fn type_slowly(&mut self, text: &str) -> &mut Self {
        let mut typed = String::new();
        for c in text.chars() {
            typed.push(c);
            self.send(c.to_string().as_bytes());
            // A space at the end of a line is not drawn.
            if c != ' ' {
                self.wait_for(&typed);
            }
        }
        self
    }

    pub(crate) fn resize(&mut self, columns: u16) -> &mut Self {
        let size = Winsize { ws_row: self.size.0, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(self.master.as_deref().unwrap(), size).unwrap();
        self
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> &mut Self {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self
    }

    /// Makes the terminal read lines, as a shell does after a stop.
    pub(crate) fn read_lines(&mut self) -> &mut Self {
        let master = self.master.as_deref().unwrap();
        let mut modes = tcgetattr(master).unwrap();
        modes.local_modes = self.before;
        tcsetattr(master, OptionalActions::Now, &modes).unwrap();
        self
    }

    /// Waits for the end of the program. Returns the exit code, or the signal that ended it as an error.
    pub(crate) fn ended(&mut self) -> Result<i32, i32> {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "the program does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        };
        self.read_to_end();
        status.code().ok_or_else(|| status.signal().unwrap_or_default())
    }

    /// Whether the terminal has the modes from before the prompt.
    pub(crate) fn is_restored(&self) -> bool {
        tcgetattr(self.master.as_deref().unwrap()).unwrap().local_modes == self.before
    }

    pub(crate) fn hang_up(&mut self) -> &mut Self {
        self.stop_reading();
        self.master = None;
        self
    }

    /// Waits until the whole output was read.
    fn read_to_end(&self) {
        let mut quiet = 0;
        while quiet < 5 {
            std::thread::sleep(Duration::from_millis(10));
            let left = self.master.as_deref().is_some_and(|master| {
                let mut fds = [PollFd::new(master, PollFlags::IN)];
                let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::IN)
            });
            quiet = if left { 0 } else { quiet + 1 };
        }
    }

    fn stop_reading(&mut self) {
        self.drawn.stop.store(true, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }

    pub(crate) fn end(&mut self) -> PromptResult {
        let until = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            if Instant::now() > until {
                self.child.kill().unwrap();
                panic!("the program does not end:\n{}", self.screen());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        if self.master.is_some() {
            assert!(self.is_restored(), "the terminal was not restored");
        }
        self.read_to_end();
        self.stop_reading();
        let answers = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        PromptResult { answers, screen: self.screen() }
    }

    /// The current screen, as a terminal would show it.
    pub(crate) fn terminal(&self) -> vt100::Parser {
        let mut parser =
            vt100::Parser::new(self.size.0.try_into().unwrap(), self.size.1.try_into().unwrap(), 200);
        parser.process(&self.drawn.bytes.lock().unwrap());
        parser
    }

    /// The text of the current screen.
    pub(crate) fn seen(&self) -> String {
        self.terminal().screen().contents()
    }

    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.drawn.bytes.lock().unwrap()).replace("\r\n", "\n")
    }
}

impl Drop for PromptRun {
    fn drop(&mut self) {
        self.drawn.stop.store(true, Ordering::SeqCst);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
