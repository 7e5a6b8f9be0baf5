//! `doctor`: what this machine can enforce, what is missing, and what no kernel can enforce.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use askfirst::{Mode, Walls};
use askfirst_runtime::config::Places;
use askfirst_runtime::launcher::walls;
use serde::Serialize;

use crate::args::Common;
use crate::exit::Exit;
use crate::print::out;
use crate::session::{ledger_path, read_config, warnings};

#[derive(Serialize)]
struct Finding {
    about: &'static str,
    state: State,
    text: String,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    Weak,
    Bad,
}

/// Prints what it finds.
pub fn doctor(common: &Common) -> anyhow::Result<Exit> {
    let config = read_config(common)?;
    let places = Places::from_env();
    let mut found = Vec::new();
    let mut say = |about, state, text: String| found.push(Finding { about, state, text });
    if config.files.is_empty() {
        say(
            "config",
            State::Weak,
            "there is none: every call is asked about, and no tool is offered".to_owned(),
        );
    }
    for file in &config.files {
        say("config", State::Good, format!("{} ({})", file.path.display(), file.layer.as_str()));
    }
    for warning in warnings(&config, Mode::Interactive) {
        say("config", State::Weak, warning);
    }
    if config.main.shell.is_some() {
        say("tools", State::Weak, "the shell tool that the config sets up is not in this version".to_owned());
    }
    for reason in &config.not_offered {
        say("tools", State::Weak, reason.clone());
    }
    let (state, text) = match walls(&config) {
        Walls::Settled => (
            State::Weak,
            "none in this version, and the config accepts that: processes run as you, unconfined",
        ),
        Walls::Missing => {
            (State::Weak, "none in this version, so every call that starts a process is asked about")
        }
        Walls::Demanded => {
            (State::Bad, "none in this version, and the config demands them: no process starts")
        }
    };
    say("walls", state, text.to_owned());
    for (about, text) in machine() {
        say(about, State::Good, text);
    }
    let ledger = ledger_path(&config, &places.state);
    let (state, text) = writable(&ledger);
    say("record", state, text);
    match std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty") {
        Ok(_) => say("terminal", State::Good, "there is one to ask at".to_owned()),
        Err(_) => {
            say("terminal", State::Weak, "none here: what must be asked is refused (exit code 5)".to_owned())
        }
    }
    for text in NO_KERNEL {
        say("beyond", State::Weak, (*text).to_owned());
    }
    if common.json {
        crate::print::json(&found);
    } else {
        for finding in &found {
            let word = match finding.state {
                State::Good => "ok",
                State::Weak => "note",
                State::Bad => "BAD",
            };
            out(&format!("{word:<5} {:<9} {}", finding.about, finding.text));
        }
    }
    let bad = found.iter().any(|finding| finding.state == State::Bad);
    Ok(if bad { Exit::Policy } else { Exit::Done })
}

/// What no kernel can enforce.
const NO_KERNEL: [&str; 3] = [
    "suffixes and sizes of files bind the file tools only, never a program that a tool starts",
    "what a person approves runs, whether or not they understood it",
    "whoever can write the record's folder as you can remove its newest entries; note `log verify`'s head elsewhere",
];

/// What the kernel has that walls could be built from.
fn machine() -> Vec<(&'static str, String)> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let modules = read("/sys/kernel/security/lsm");
    let landlock = match modules.trim() {
        "" => "unknown (no list of security modules)",
        list if list.split(',').any(|found| found == "landlock") => "there",
        _ => "not seen",
    };
    let spaces = read("/proc/sys/user/max_user_namespaces").trim().parse::<u64>().unwrap_or_default() > 0;
    let yes = |there: bool| if there { "there" } else { "not seen" };
    let text = format!(
        "user namespaces {}, Landlock {landlock}, seccomp {} (not used yet)",
        yes(spaces),
        yes(Path::new("/proc/sys/kernel/seccomp/actions_avail").exists()),
    );
    vec![("kernel", text)]
}

fn writable(ledger: &Path) -> (State, String) {
    let nearest = ledger.ancestors().skip(1).find(|folder| folder.exists());
    match (std::fs::symlink_metadata(ledger), nearest) {
        (Ok(file), _) if file.is_file() && file.mode() & 0o077 == 0 => {
            (State::Good, format!("{} ({} bytes)", ledger.display(), file.len()))
        }
        (Ok(_), _) => (State::Bad, format!("{} is not a file of yours alone", ledger.display())),
        (Err(_), Some(folder)) => {
            (State::Good, format!("will be begun at {} (below {})", ledger.display(), folder.display()))
        }
        (Err(e), None) => (State::Bad, format!("{} cannot be made: {e}", ledger.display())),
    }
}
