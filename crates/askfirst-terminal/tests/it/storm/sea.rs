//! A program in the storm: what is done to it, what it drew, how it ended.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use askfirst::machine::Answer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::termios::{OptionalActions, Termios, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use super::Outcome;
use super::contents::RAW;
use super::doings::Doing;
use super::mark::{Mark, Marks};
use crate::desk::{Desk, Started};

/// Longer than any end takes; then it hangs.
const PATIENCE: Duration = Duration::from_secs(40);
/// What a stopped program drew is there after this time, and it knows that it was stopped.
const SETTLED: Duration = Duration::from_millis(180);
/// Longer than any delay: it was stopped.
const ASLEEP: Duration = Duration::from_millis(1_500);
/// Keys that come sooner after each other are held. A key must stay alone longer than that.
const HELD: Duration = Duration::from_millis(100);
/// A pasted text ends after such a pause, so that a key is one again.
const PASTE_IS_OVER: Duration = Duration::from_millis(1_300);

pub(crate) struct Sea {
    master: Option<OwnedFd>,
    child: Child,
    pid: Pid,
    before: Termios,
    drawn: Vec<u8>,
    marks: Marks,
    told: Vec<String>,
    sent: Vec<Signal>,
    ended: Option<ExitStatus>,
    /// A key came so late that it might be a person's.
    late: bool,
    _folder: tempfile::TempDir,
}

impl Sea {
    pub(crate) fn new(desk: Desk) -> Self {
        let Started { master, child, before, folder } = desk.spawn();
        ioctl_fionbio(&master, true).unwrap();
        Self {
            master: Some(master),
            pid: Pid::from_child(&child),
            child,
            before,
            drawn: Vec::new(),
            marks: Marks::new(),
            told: Vec::new(),
            sent: Vec::new(),
            ended: None,
            late: false,
            _folder: folder,
        }
    }

    /// What was done, and what stood on the screen at last.
    pub(crate) fn told(&self) -> String {
        let from = self.drawn.len().saturating_sub(3_000);
        let drawn = String::from_utf8_lossy(&self.drawn[from..]);
        format!("{}\ndrawn at last: {drawn:?}", self.told.join("\n"))
    }

    /// Whether the program has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap();
        }
        self.ended.is_some()
    }

    pub(crate) fn go_through(&mut self, doing: &Doing) {
        let (mark, told) = (self.marks.last, format!("{doing:?}").chars().take(300).collect::<String>());
        self.told.push(format!("{mark:?}: {told}"));
        match doing {
            Doing::Type(pieces) => {
                for (bytes, pause) in pieces {
                    self.wait(*pause);
                    self.send(bytes);
                }
            }
            Doing::Ahead(key) => self.ahead(*key),
            Doing::Held(key, times, pause) => self.hold(*key, *times, *pause),
            Doing::Asleep(key) => {
                if self.stop() {
                    self.wait(ASLEEP);
                    self.send(&[*key]);
                    self.signal(Signal::CONT);
                }
            }
            Doing::Resize(columns, key) => {
                let start = Instant::now();
                self.resize(*columns);
                if let Some(key) = key {
                    self.send(&[*key]);
                    // Later it might be meant for what stands there by then.
                    self.late |= start.elapsed() > HELD;
                }
            }
            Doing::Signals(signal, times) => (0..*times).for_each(|_| self.signal(*signal)),
            Doing::Blink(time) => {
                self.signal(Signal::STOP);
                self.wait(*time);
                self.signal(Signal::CONT);
            }
            Doing::Lines(key) => self.lines(*key),
            Doing::Wait(time) => self.wait(*time),
            Doing::HangUp => self.master = None,
        }
        self.drain();
    }

    fn signal(&mut self, signal: Signal) {
        // Once it was waited for, the number may be somebody else's.
        if !self.is_over() && kill_process(self.pid, signal).is_ok() {
            self.sent.push(signal);
        }
    }

    /// Whether it is stopped now, every thread of it.
    fn stop(&mut self) -> bool {
        self.signal(Signal::STOP);
        let until = Instant::now() + PATIENCE;
        while !self.is_over() && Instant::now() < until {
            let how = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
            if waitid(WaitId::Pid(self.pid), how)
                .is_ok_and(|status| status.is_some_and(|status| status.stopped()))
            {
                return true;
            }
            self.wait(Duration::from_millis(1));
        }
        self.signal(Signal::CONT);
        false
    }

    /// A key before the screen says that keys count: the program is stopped, so nothing can change meanwhile.
    fn ahead(&mut self, key: u8) {
        if self.stop() {
            self.wait(SETTLED);
            if self.marks.last != Mark::Ready {
                self.told.push("  sent".to_owned());
                self.send(&[key]);
                self.wait(Duration::from_millis(2));
            }
            self.signal(Signal::CONT);
        }
    }

    /// Each key comes soon after the one before.
    fn hold(&mut self, key: u8, times: usize, pause: Duration) {
        let mut last = Instant::now();
        self.send(&[key]);
        for _ in 1..times {
            self.wait(pause);
            self.send(&[key]);
            // Nobody can tell such keys from ones that were pressed one by one.
            self.late |= last.elapsed() > HELD;
            last = Instant::now();
        }
    }

    fn resize(&mut self, columns: u16) {
        let Some(master) = &self.master else { return };
        let ws_row = 6 + columns % 50;
        tcsetwinsize(master, Winsize { ws_row, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }

    /// Lines are read and echoed again; a key and the end of a line that has no line feed follow.
    fn lines(&mut self, key: Option<u8>) {
        let Some(master) = &self.master else { return };
        tcsetattr(master, OptionalActions::Now, &self.before).unwrap();
        if let Some(key) = key {
            self.send(&[key, 0x04]);
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        // A full buffer takes no more, as that of a person who types for nobody.
        if let Some(master) = &self.master {
            let _ = rustix::io::write(master, bytes);
        }
    }

    fn wait(&mut self, time: Duration) {
        let until = Instant::now() + time;
        loop {
            self.drain();
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(5)));
        }
    }

    fn drain(&mut self) {
        let Some(master) = &self.master else { return };
        let mut bytes = [0; 16_384];
        loop {
            let mut fds = [PollFd::new(master, PollFlags::IN)];
            let ready = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
            if ready != Ok(1) || !fds[0].revents().contains(PollFlags::IN) {
                return;
            }
            match rustix::io::read(master, &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(read) => {
                    self.marks.take(&bytes[..read]);
                    self.drawn.extend_from_slice(&bytes[..read]);
                }
            }
        }
    }

    /// Ends it, and looks at what is left.
    pub(crate) fn end(&mut self, last: Doing) -> Outcome {
        self.go_through(&last);
        let until = Instant::now() + PATIENCE;
        let mut next = Instant::now() + PASTE_IS_OVER;
        while !self.is_over() {
            if Instant::now() > until {
                let _ = self.child.kill();
                return Outcome::Broken("it hangs".to_owned());
            }
            self.wait(Duration::from_millis(5));
            if Instant::now() > next {
                self.signal(Signal::CONT);
                self.send(b"\x03");
                next = Instant::now() + PASTE_IS_OVER;
            }
        }
        self.wait(SETTLED);
        self.outcome()
    }

    fn outcome(&mut self) -> Outcome {
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        let answers: Vec<Answer> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let decisions = || answers.iter().flat_map(|answer| &answer.decisions);
        // Edited arguments are judged and asked about again.
        if decisions().any(|decision| decision.approved && decision.edited_args.is_none()) {
            let late = Outcome::Answered("a key that came late".to_owned());
            return if self.late { late } else { Outcome::Approved(format!("approved: {answers:?}")) };
        }
        if let Some(broken) = self.left_behind() {
            return Outcome::Broken(broken);
        }
        let status = self.ended.unwrap();
        match (status.code(), status.signal()) {
            (Some(0), _) => {
                let edited = decisions().any(|decision| decision.approved);
                let last = decisions().last().map(|decision| format!("{:?}", decision.cause));
                Outcome::Answered(if edited { "edited".to_owned() } else { last.unwrap_or_default() })
            }
            // Before it has the terminal, it cannot begin without one.
            (Some(1), _) if self.master.is_none() => Outcome::Answered(String::new()),
            (_, Some(signal)) if self.may_end_by(signal) => Outcome::Ended(signal),
            (_, _) => Outcome::Broken(format!("it ended with {status}")),
        }
    }

    fn may_end_by(&self, signal: i32) -> bool {
        let hung_up = self.master.is_none() && signal == Signal::HUP.as_raw();
        // While lines are read, Ctrl-C is a signal.
        let interrupted = signal == Signal::INT.as_raw();
        hung_up || interrupted || self.sent.iter().any(|sent| sent.as_raw() == signal)
    }

    /// What is not as it was.
    fn left_behind(&self) -> Option<String> {
        let drawn = String::from_utf8_lossy(&self.drawn);
        if let Some(raw) = RAW.iter().find(|raw| drawn.contains(**raw)) {
            return Some(format!("{raw:?} was drawn as it is"));
        }
        let now = tcgetattr(self.master.as_ref()?).unwrap();
        let modes = |modes: &Termios| {
            (
                modes.input_modes,
                modes.output_modes,
                modes.control_modes,
                modes.local_modes,
                modes.input_speed(),
            )
        };
        if modes(&now) != modes(&self.before) {
            return Some(format!("the terminal is {:?}, and was {:?}", modes(&now), modes(&self.before)));
        }
        let left = |mode: &&&str| {
            let [on, off] = ["h", "l"].map(|end| drawn.rfind(&format!("\x1b[?{mode}{end}")));
            on > off
        };
        ["2004", "1004", "1049"].iter().find(left).map(|mode| format!("mode {mode} was left on"))
    }
}

impl Drop for Sea {
    fn drop(&mut self) {
        if !self.is_over() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
