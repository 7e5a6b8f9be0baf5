//! Tests with a person at a terminal: a real pty, real keys, the real binary.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::commands::Place;

mod always;
mod rehearsal;
mod signals;
mod stories;
mod together;

const CONFIG: &str = r#"
version: 1
sandbox: { require_os_sandbox: false }
tools:
  note: { command: [echo, --, "{text}"], args: { text: { type: string } } }
"#;

/// A terminal that runs askfirst.
pub(crate) struct Terminal {
    master: File,
    child: Child,
    seen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    read_to: usize,
}

impl Terminal {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        Self::with(place, args, &[])
    }

    pub(crate) fn with(place: &Place, args: &[&str], env: &[(&str, &str)]) -> Self {
        Self::program(place, env!("CARGO_BIN_EXE_askfirst"), args, env)
    }

    /// Starts a terminal with any program.
    pub(crate) fn program(place: &Place, program: &str, args: &[&str], env: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        // High enough to approve every request without scrolling.
        let size = rustix::termios::Winsize { ws_row: 120, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&master, size).unwrap();
        let side = || File::options().read(true).write(true).open(&name).unwrap();
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", program]).args(args);
        command.current_dir(place.path()).env("TERM", "xterm").env("NO_COLOR", "1");
        command.env_remove("VISUAL").env_remove("EDITOR").env_remove("VTE_VERSION").envs(env.iter().copied());
        command.stdin(side()).stdout(side()).stderr(side());
        place.alone(&mut command);
        let child = command.spawn().unwrap();
        let master = File::from(master);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut from, into) = (master.try_clone().unwrap(), Arc::clone(&seen));
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                into.lock().unwrap().extend(&buffer[..count]);
            }
        });
        Self { master, child, seen, reader, read_to: 0 }
    }

    /// Answers a question with a line.
    fn answer(&mut self, question: &str, line: &str) {
        self.wait_for(question);
        self.wait_for("] ");
        writeln!(self.master, "{line}").unwrap();
    }

    /// Waits until the terminal shows a text, after the text of the previous wait.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        for _ in 0..3_000 {
            let ended = self.reader.is_finished();
            let seen = self.seen.lock().unwrap().clone();
            let printed = String::from_utf8_lossy(&seen[self.read_to..]).into_owned();
            if let Some(at) = printed.find(text) {
                self.read_to += at + text.len();
                return printed[..at].to_owned();
            }
            assert!(!ended, "`{text}` never came:\n{printed}");
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("`{text}` never came:\n{}", String::from_utf8_lossy(&self.seen.lock().unwrap()));
    }

    /// Presses a key once the prompt is armed.
    pub(crate) fn press(&mut self, key: &str) -> String {
        let page = self.wait_for("ready:");
        self.type_keys(key);
        page
    }

    /// Answers yes for the session: once to see what that covers, and once more to approve it. Returns the two pages.
    pub(crate) fn approve_for_session(&mut self) -> String {
        let question = self.press("s");
        let scope = self.press("s");
        self.wait_for("approved for the session");
        format!("{question}\n{scope}")
    }

    /// Types keys at once, without waiting for the prompt.
    fn type_keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Returns the process ID of the program in it.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the program in it.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills the program in it.
    pub(crate) fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
        self.child.wait().unwrap();
    }

    pub(crate) fn end(mut self) -> (i32, String) {
        let code = self.child.wait().unwrap().code().unwrap();
        // The last output may arrive until no process holds the terminal.
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while !self.reader.is_finished() && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        let seen = self.seen.lock().unwrap().clone();
        (code, String::from_utf8_lossy(&seen[self.read_to..]).into_owned())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A failed test leaves no program at a prompt.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn calls(place: &Place, texts: &[&str]) {
    let lines: Vec<String> =
        texts.iter().map(|text| format!(r#"{{"tool":"note","args":{{"text":"{text}"}}}}"#)).collect();
    std::fs::write(place.path().join("calls.jsonl"), lines.join("\n")).unwrap();
}

#[test]
fn session_answer_is_listed_and_revoked_during_a_run() {
    let place = Place::new(CONFIG);
    calls(&place, &["one", "one", "two", "one"]);
    let mut terminal = Terminal::start(&place, &["run", "calls.jsonl", "--config", "c.yaml"]);
    let page = terminal.approve_for_session();
    assert!(page.contains("run: echo -- one") && page.contains("no rule covers this tool"), "{page}");
    // The second, equal call runs without asking. While the third waits, the test lists and revokes the first answer.
    terminal.wait_for("echo -- two");
    let (code, listed, complaint) = place.run(&["memory", "--json"]);
    assert_eq!(code, 0, "{complaint}");
    let sessions: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let entry = &sessions[0]["remembered"][0];
    assert_eq!(
        (entry["hits"].as_u64(), entry["payload"]["text"].as_str()),
        (Some(1), Some("one")),
        "{listed}"
    );
    let id = format!("{}:{}", sessions[0]["session"].as_str().unwrap(), entry["id"]);
    assert_eq!(place.run(&["memory", "revoke", &id]).0, 0);
    assert_eq!(place.run(&["memory", "revoke", &id]).0, 2);
    let (_, listed, _) = place.run(&["log", "--config", "c.yaml"]);
    assert_eq!(listed.matches("revoked  person    yes to note: ").count(), 1, "{listed}");
    terminal.press("y");
    terminal.wait_for("approved once");
    let page = terminal.press("n");
    assert!(page.contains("echo -- one"), "a revoked answer is asked again: {page}");
    let (code, rest) = terminal.end();
    assert_eq!(code, 4, "{rest}");
    assert_eq!(place.run(&["memory"]).1.trim(), "no remembered decisions (0 running sessions)");
    let (code, printed, _) = place.run(&["log", "verify", "--config", "c.yaml"]);
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn revocation_that_cannot_be_logged_does_not_happen() {
    let place = Place::new(CONFIG);
    calls(&place, &["one", "two"]);
    let mut terminal = Terminal::start(&place, &["run", "calls.jsonl", "--config", "c.yaml"]);
    terminal.approve_for_session();
    terminal.wait_for("echo -- two");
    let memory = || serde_json::from_str::<serde_json::Value>(&place.run(&["memory", "--json"]).1).unwrap();
    let sessions = memory();
    let id = format!("{}:{}", sessions[0]["session"].as_str().unwrap(), sessions[0]["remembered"][0]["id"]);
    let log = place.path().join("state/askfirst/ledger.jsonl");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    let (code, _, complaint) = place.run(&["memory", "revoke", &id]);
    assert!(code == 6 && complaint.contains("cannot write the audit log"), "{complaint}");
    assert_eq!(memory()[0]["remembered"].as_array().unwrap().len(), 1);
    terminal.kill();
}

#[test]
fn reason_reaches_the_agent_and_a_stop_lists_the_rest() {
    let place = Place::new(CONFIG);
    calls(&place, &["one", "two", "three", "four"]);
    let mut terminal = Terminal::start(&place, &["run", "calls.jsonl", "--config", "c.yaml"]);
    terminal.press("r");
    terminal.wait_for("reason");
    for key in ["n", "o", "t", " ", "n", "o", "w", "\r"] {
        std::thread::sleep(Duration::from_millis(150));
        terminal.type_keys(key);
    }
    terminal.wait_for("a person said no: not now");
    terminal.press("q");
    let (code, rest) = terminal.end();
    assert_eq!(code, 4);
    assert!(rest.contains("not run") && rest.contains("stopped: 2 not run"), "{rest}");
}

#[test]
fn call_restores_the_terminal_and_ends_its_tools_on_a_signal() {
    let place = Place::new(
        "version: 1\nsandbox: { require_os_sandbox: false }\ntools:\n  nap: { command: [sleep, \"1000\"], approval: none }\n",
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_askfirst"));
    command.args(["call", "nap", "--config", "c.yaml"]).current_dir(place.path());
    place.alone(&mut command);
    let mut child = command.spawn().unwrap();
    let pid = child.id();
    let children = || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let more = tasks
            .flatten()
            .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
        more.fold(text, |all, some| all + &some)
    };
    let mut nap = None;
    for _ in 0..1000 {
        nap = children().split_whitespace().next().map(str::to_owned);
        let started = |pid: &String| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sleep")
        };
        if nap.as_ref().is_some_and(started) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let nap = nap.expect("the tool runs");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid.cast_signed()).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(!std::path::Path::new(&format!("/proc/{nap}")).exists(), "the tool outlived its call");
    let (_, printed, _) = place.run(&["log", "--config", "c.yaml"]);
    assert!(printed.contains("nap") && printed.contains("failed"), "{printed}");
}

#[test]
fn edited_call_is_reported_to_the_agent_and_logged() {
    let place = Place::new(CONFIG);
    let call = r#"{"id":7,"tool":"note","args":{"text":"one"}}"#;
    std::fs::write(place.path().join("calls.jsonl"), format!("{call}\n")).unwrap();
    let edit = |words: &[&str], more: &[&str]| {
        let args = [words, &["--config", "c.yaml"], more].concat();
        let mut terminal = Terminal::with(&place, &args, &[("EDITOR", "sed -i s/one/two/")]);
        terminal.press("e");
        terminal.press("y");
        terminal.end().1
    };
    for words in [&["run", "calls.jsonl"][..], &["call", "note", "--args", r#"{"text":"one"}"#]] {
        let printed = edit(words, &["--json"]);
        assert!(printed.contains(r#""edited_args":{"text":"two"}"#), "{printed}");
        let printed = edit(words, &[]);
        assert!(printed.contains("edited: note (text: two)"), "{printed}");
    }
    let (_, listed, _) = place.feed(&["log", "--config", "c.yaml"], b"");
    assert_eq!((listed.matches("edited").count(), listed.matches("waiting").count()), (4, 0), "{listed}");
}

#[test]
fn project_trust_needs_a_person_and_ends_on_a_change() {
    let place = Place::new(CONFIG);
    let project = place.path().join("askfirst.yaml");
    std::fs::write(&project, "version: 1\ntools: { lookup: { approval: none } }\n").unwrap();
    let verdict = || {
        let (_, printed, _) = place.feed(&["decide"], b"{\"tool\":\"lookup\"}\n");
        serde_json::from_str::<serde_json::Value>(&printed).unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(), "ask");
    let mut terminal = Terminal::start(&place, &["trust"]);
    let page = terminal.press("n");
    assert!(page.contains("lookup"), "what it loosens is shown: {page}");
    assert_eq!(terminal.end().0, 4);
    assert_eq!(verdict(), "ask");
    // There are no arguments to edit, no agent to read a reason, and no run to stop.
    let mut terminal =
        Terminal::with(&place, &["trust"], &[("EDITOR", "sed -i s/askfirst.yaml/other.yaml/")]);
    for key in ["e", "r", "s", "q"] {
        let page = terminal.press(key);
        assert!(!page.contains("because") && !page.contains("this session"), "{page}");
        terminal.wait_for("[not yet]");
    }
    terminal.press("n");
    assert_eq!(terminal.end().0, 4, "a key that is not offered does nothing");
    assert_eq!(verdict(), "ask");
    // An act that cannot be logged does not happen.
    let log = place.path().join("state/askfirst/ledger.jsonl");
    std::fs::create_dir_all(&log).unwrap();
    let mut terminal = Terminal::start(&place, &["trust"]);
    terminal.press("y");
    let (code, rest) = terminal.end();
    assert!(code == 6 && rest.contains("cannot write the audit log"), "{rest}");
    assert_eq!(verdict(), "ask");
    std::fs::remove_dir(&log).unwrap();
    let mut terminal = Terminal::start(&place, &["trust"]);
    terminal.press("y");
    let (code, rest) = terminal.end();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(verdict(), "allow");
    let (_, listed, _) = place.run(&["log"]);
    assert!(listed.lines().next().unwrap().contains(", trust at /dev/pts/"), "{listed}");
    assert!(listed.contains("trusted  person    ") && listed.lines().count() == 2, "{listed}");
    std::fs::write(
        &project,
        "version: 1\ntools: { lookup: { approval: none }, other: { approval: none } }\n",
    )
    .unwrap();
    assert_eq!(verdict(), "ask", "any change needs trust again");
}

// invariant: 5
#[test]
fn trust_shows_what_changed_since_the_last_trust() {
    let place = Place::new(CONFIG);
    let project = place.path().join("askfirst.yaml");
    let first = "version: 1\ntools:\n  lookup: { approval: none }\n";
    std::fs::write(&project, first).unwrap();
    let mut terminal = Terminal::start(&place, &["trust"]);
    let page = terminal.press("y");
    assert!(!page.contains("since you last trusted it"), "{page}");
    assert_eq!(terminal.end().0, 0);
    std::fs::write(&project, format!("{first}  other: {{ approval: none }} # \u{202e}seen\n")).unwrap();
    let mut terminal = Terminal::start(&place, &["trust"]);
    let page = terminal.press("n");
    let lines: Vec<&str> = page.lines().map(str::trim).collect();
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(has("since you last trusted it") && has("the tool `lookup`: `none`"), "{page}");
    assert!(has("+   other: { approval: none } # \\u{202e}seen") && !has("+   lookup"), "{page}");
    assert!(!page.contains('\u{202e}'), "{page}");
    assert_eq!(terminal.end().0, 4);
    // Without the copy of the text, the page shows everything that the config loosens.
    std::fs::remove_dir_all(place.path().join("state/askfirst/trusted")).unwrap();
    let mut terminal = Terminal::start(&place, &["trust"]);
    let page = terminal.press("y");
    assert!(page.contains("the tool `other`: `none`") && !page.contains("last trusted"), "{page}");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn config_that_others_can_write_cannot_be_trusted() {
    let place = Place::new(CONFIG);
    let project = place.path().join("askfirst.yaml");
    std::fs::write(&project, "version: 1\n").unwrap();
    std::fs::set_permissions(&project, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    let mut terminal = Terminal::start(&place, &["trust"]);
    terminal.wait_for("this config cannot be trusted: other users can write it");
    assert_eq!(terminal.end().0, 2);
}

#[test]
fn init_asks_writes_a_config_and_asks_for_trust() {
    let place = Place::new(CONFIG);
    std::fs::write(place.path().join("Cargo.toml"), "").unwrap();
    let mut terminal = Terminal::start(&place, &["init"]);
    terminal.answer("read files below this folder", "");
    terminal.answer("git does not show you changes here", "nonsense");
    terminal.answer("one of: ask, yes, never", "yes");
    terminal.answer("only read", "");
    terminal.answer("other commands on a copy first?", "y");
    terminal.answer("reach the network?", "");
    let page = terminal.press("y");
    let product = "target` directly, and undo does not cover it";
    assert!(page.contains(product), "what it allows is shown: {page}");
    let (code, rest) = terminal.end();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.contains("runs as you when you run it. `askfirst review` lists it."), "{rest}");
    assert!(rest.contains("askfirst doctor") && rest.contains("askfirst watch"), "{rest}");
    assert!(!rest.contains("askfirst trust"), "{rest}");
    let call = br#"{"tool":"write_file","args":{"path":"a.txt","content":""}}"#;
    let (_, printed, _) = place.feed(&["decide"], &[&call[..], b"\n"].concat());
    assert!(printed.contains(r#""verdict":"allow""#), "{printed}");
    let mut terminal = Terminal::start(&place, &["init"]);
    terminal.wait_for("already exists here");
    assert_eq!(terminal.end().0, 2);
}

#[test]
fn init_lets_commands_change_files_if_tools_may() {
    let place = Place::new(CONFIG);
    let made = Command::new("git").args(["init", "-q"]).arg(place.path()).status();
    assert!(made.unwrap().success());
    for name in ["a", "Makefile"] {
        std::fs::write(place.path().join(name), "x\n").unwrap();
    }
    let mut terminal = Terminal::start(&place, &["init"]);
    terminal.answer("read files below this folder", "");
    terminal.answer("May it change them", "yes");
    terminal.answer("only read", "");
    terminal.answer("other commands on a copy first?", "ask");
    terminal.answer("reach the network?", "");
    terminal.press("y");
    assert_eq!(terminal.end().0, 0);
    let decided = |command: &str| {
        let (_, printed, complaint) = place.run(&["decide", "--", command]);
        let line: serde_json::Value = serde_json::from_str(&printed).expect(&complaint);
        line["verdict"].as_str().unwrap().to_owned()
    };
    for command in [
        "mkdir -p x/y",
        "touch b",
        "mv a b",
        "cp a b",
        "sed -i s/x/y/ a",
        "git add a",
        "git add -A",
        "cat a > b",
        "echo x >> a",
        "git log | tee b",
    ] {
        assert_eq!(decided(command), "allow", "{command}");
    }
    for command in ["rm a", "mv a Makefile", "mkdir ../x", "cp a /etc/x", "make", "git commit -m x"] {
        assert_eq!(decided(command), "ask", "{command}");
    }
    assert_eq!(decided("cp a .git/hooks/pre-commit"), "deny");
}

#[test]
fn init_yes_at_a_terminal_asks_only_for_trust() {
    let place = Place::new(CONFIG);
    let mut terminal = Terminal::start(&place, &["init", "--yes"]);
    let page = terminal.press("n");
    assert!(page.contains("written: ") && !page.contains("May the agent"), "{page}");
    let (code, rest) = terminal.end();
    assert_eq!(code, 4, "{rest}");
    assert!(rest.contains("askfirst trust"), "the next steps begin with trust: {rest}");
}
