//! One program in a storm: applies the actions, reads the output and checks the end.

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
use super::actions::StormAction;
use super::contents::RAW;
use super::mark::{Mark, Marks};
use crate::desk::{Desk, SpawnedProgram};

/// The time after which a program that does not end counts as hanging.
const PATIENCE: Duration = Duration::from_secs(40);
/// The time after which the output of a stopped program has arrived.
const SETTLED: Duration = Duration::from_millis(180);
/// A pause that the program must detect as a stop.
const ASLEEP: Duration = Duration::from_millis(1_500);
/// The longest pause between the keys of a held key. The program waits longer before a key acts.
const HELD: Duration = Duration::from_millis(100);
/// The pause after which a paste ends, so that the next byte is a key again.
const PASTE_IS_OVER: Duration = Duration::from_millis(1_300);

pub(crate) struct StormRun {
    master: Option<OwnedFd>,
    child: Child,
    pid: Pid,
    before: Termios,
    drawn: Vec<u8>,
    marks: Marks,
    log: Vec<String>,
    sent: Vec<Signal>,
    ended: Option<ExitStatus>,
    /// Whether a key came so late that it counts as a real key press.
    has_late_key: bool,
    _folder: tempfile::TempDir,
}

impl StormRun {
    pub(crate) fn new(desk: Desk) -> Self {
        let SpawnedProgram { master, child, before, folder } = desk.spawn();
        ioctl_fionbio(&master, true).unwrap();
        Self {
            master: Some(master),
            pid: Pid::from_child(&child),
            child,
            before,
            drawn: Vec::new(),
            marks: Marks::new(),
            log: Vec::new(),
            sent: Vec::new(),
            ended: None,
            has_late_key: false,
            _folder: folder,
        }
    }

    /// The actions so far and the last output.
    pub(crate) fn report(&self) -> String {
        let from = self.drawn.len().saturating_sub(3_000);
        let drawn = String::from_utf8_lossy(&self.drawn[from..]);
        format!("{}\ndrawn at last: {drawn:?}", self.log.join("\n"))
    }

    /// Whether the program ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap();
        }
        self.ended.is_some()
    }

    pub(crate) fn apply(&mut self, action: &StormAction) {
        let (mark, log) = (self.marks.last, format!("{action:?}").chars().take(300).collect::<String>());
        self.log.push(format!("{mark:?}: {log}"));
        match action {
            StormAction::Type(pieces) => {
                for (bytes, pause) in pieces {
                    self.wait(*pause);
                    self.send(bytes);
                }
            }
            StormAction::Ahead(key) => self.ahead(*key),
            StormAction::Held(key, times, pause) => self.hold(*key, *times, *pause),
            StormAction::Asleep(key) => {
                if self.stop() {
                    self.wait(ASLEEP);
                    self.send(&[*key]);
                    self.signal(Signal::CONT);
                }
            }
            StormAction::Resize(columns, key) => {
                let start = Instant::now();
                self.resize(*columns);
                if let Some(key) = key {
                    self.send(&[*key]);
                    // A later key could be meant for the new screen.
                    self.has_late_key |= start.elapsed() > HELD;
                }
            }
            StormAction::Signals(signal, times) => (0..*times).for_each(|_| self.signal(*signal)),
            StormAction::Blink(time) => {
                self.signal(Signal::STOP);
                self.wait(*time);
                self.signal(Signal::CONT);
            }
            StormAction::Lines(key) => self.lines(*key),
            StormAction::Wait(time) => self.wait(*time),
            StormAction::HangUp => self.master = None,
        }
        self.drain();
    }

    fn signal(&mut self, signal: Signal) {
        // After the program was waited for, another process may have its number.
        if !self.has_ended() && kill_process(self.pid, signal).is_ok() {
            self.sent.push(signal);
        }
    }

    /// Stops the program. Returns whether all its threads are stopped.
    fn stop(&mut self) -> bool {
        self.signal(Signal::STOP);
        let until = Instant::now() + PATIENCE;
        while !self.has_ended() && Instant::now() < until {
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

    /// Sends a key before the screen says ready. The program is stopped, so that nothing changes in between.
    fn ahead(&mut self, key: u8) {
        if self.stop() {
            self.wait(SETTLED);
            if self.marks.last != Mark::Ready {
                self.log.push("  sent".to_owned());
                self.send(&[key]);
                self.wait(Duration::from_millis(2));
            }
            self.signal(Signal::CONT);
        }
    }

    /// Sends a key several times in quick succession.
    fn hold(&mut self, key: u8, times: usize, pause: Duration) {
        let mut last = Instant::now();
        self.send(&[key]);
        for _ in 1..times {
            self.wait(pause);
            self.send(&[key]);
            // Keys with longer pauses look like single key presses.
            self.has_late_key |= last.elapsed() > HELD;
            last = Instant::now();
        }
    }

    fn resize(&mut self, columns: u16) {
        let Some(master) = &self.master else { return };
        let ws_row = 6 + columns % 50;
        tcsetwinsize(master, Winsize { ws_row, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }

    /// Makes the terminal read lines, and may send a key and the end of the line without a newline.
    fn lines(&mut self, key: Option<u8>) {
        let Some(master) = &self.master else { return };
        tcsetattr(master, OptionalActions::Now, &self.before).unwrap();
        if let Some(key) = key {
            self.send(&[key, 0x04]);
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        // A full buffer discards further input.
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

    /// Ends the program and checks the result.
    pub(crate) fn end(&mut self, last: StormAction) -> Outcome {
        self.apply(&last);
        let until = Instant::now() + PATIENCE;
        let mut next = Instant::now() + PASTE_IS_OVER;
        while !self.has_ended() {
            if Instant::now() > until {
                let _ = self.child.kill();
                return Outcome::Broken("the program hangs".to_owned());
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
        // Edited arguments are judged and shown again.
        if decisions().any(|decision| decision.approved && decision.edited_args.is_none()) {
            let late = Outcome::Answered("a key that came late".to_owned());
            return if self.has_late_key {
                late
            } else {
                Outcome::Approved(format!("approved: {answers:?}"))
            };
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
            // If the terminal closes before the program opens it, the program cannot start.
            (Some(1), _) if self.master.is_none() => Outcome::Answered(String::new()),
            (_, Some(signal)) if self.may_end_by(signal) => Outcome::Ended(signal),
            (_, _) => Outcome::Broken(format!("the program ended with {status}")),
        }
    }

    fn may_end_by(&self, signal: i32) -> bool {
        let hung_up = self.master.is_none() && signal == Signal::HUP.as_raw();
        // While the terminal reads lines, Ctrl-C is a signal.
        let interrupted = signal == Signal::INT.as_raw();
        hung_up || interrupted || self.sent.iter().any(|sent| sent.as_raw() == signal)
    }

    /// The first thing that the program left changed or drew raw.
    fn left_behind(&self) -> Option<String> {
        let drawn = String::from_utf8_lossy(&self.drawn);
        if let Some(raw) = RAW.iter().find(|raw| drawn.contains(**raw)) {
            return Some(format!("{raw:?} was drawn unescaped"));
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

impl Drop for StormRun {
    fn drop(&mut self) {
        if !self.has_ended() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
