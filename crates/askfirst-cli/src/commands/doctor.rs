//! `doctor`: what this machine can enforce, what is missing, and what no kernel can enforce.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use askfirst::{Mode, Walls};
use askfirst_config::{Config, Places};
use askfirst_runtime::launcher::walls;
use askfirst_runtime::tools::catalog::{ledger_path, warnings};
use askfirst_runtime::walls::{SYSTEM_PATHS, is_root, landlock_version, machine};
use serde::Serialize;

use crate::args::Common;
use crate::exit::Exit;
use crate::print::out;
use crate::session::read_config;

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
    for reason in &config.not_offered {
        say("tools", State::Weak, reason.clone());
    }
    for (state, text) in about_walls(&config) {
        say("walls", state, text);
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

/// What this machine enforces, in plain words.
fn about_walls(config: &Config) -> Vec<(State, String)> {
    let mut said = Vec::new();
    let machine = machine();
    match (&machine.full, &machine.any) {
        (Ok(walls), _) => {
            let landlock = landlock_version().map_or("unknown".to_owned(), |version| version.to_string());
            said.push((
                State::Good,
                format!("full, tried by running a program: {} (Landlock {landlock})", walls.way()),
            ));
            walls.passed_over().iter().for_each(|why| said.push((State::Weak, why.clone())));
        }
        (Err(why), Ok(weaker)) => {
            said.push((State::Weak, format!("only `content-only` holds ({}): {why}", weaker.way())));
            let text =
                "`content-only` does not hold changes of modes, owners and times, nor looks at what exists";
            said.push((State::Weak, text.to_owned()));
        }
        (Err(why), Err(_)) => said.push((State::Weak, format!("none hold: {why}"))),
    }
    let (state, text) = match (walls(config), config.main.sandbox.require_os_sandbox) {
        (Walls::Settled, Some(false)) => {
            (State::Weak, "the config accepts that processes run without walls where they do not hold")
        }
        (Walls::Settled, Some(true) | None) => {
            (State::Good, "every process that a tool starts runs behind them")
        }
        (Walls::Missing, _) => (State::Weak, "so every call that starts a process is asked about"),
        (Walls::Demanded, _) => (State::Bad, "the config demands walls that do not hold: no process starts"),
    };
    said.push((state, text.to_owned()));
    let there = SYSTEM_PATHS.into_iter().filter(|path| Path::new(path).exists()).collect::<Vec<_>>();
    said.push((State::Good, format!("readable for every program besides the roots: {}", there.join(" "))));
    said.push((
        State::Good,
        "memory is limited for each process by itself (RLIMIT_DATA), not for all together".to_owned(),
    ));
    if is_root() {
        let text = "as root, programs become the owner of the roots if that is not root; else they stay root without \
                    capabilities, what root owns is held by the mounts alone, and the number of processes is not limited";
        said.push((State::Weak, text.to_owned()));
    }
    said
}

fn writable(ledger: &Path) -> (State, String) {
    let nearest = ledger.ancestors().skip(1).find(|folder| folder.exists());
    match (std::fs::symlink_metadata(ledger), nearest) {
        (Ok(file), _) if file.is_file() && file.mode() & 0o077 == 0 => {
            (State::Good, format!("{} ({} bytes)", ledger.display(), file.len()))
        }
        (Ok(_), _) => (State::Bad, format!("{} is not a file of yours alone", ledger.display())),
        (Err(_), Some(folder)) if !can_be_filled(folder) => {
            let text =
                format!("{} cannot be begun: nothing can be made in {}", ledger.display(), folder.display());
            (State::Bad, text)
        }
        (Err(_), Some(folder)) => {
            (State::Good, format!("will be begun at {} (below {})", ledger.display(), folder.display()))
        }
        (Err(e), None) => (State::Bad, format!("{} cannot be made: {e}", ledger.display())),
    }
}

/// Whether something can be made in a folder: found out by making it, and taking it away again.
fn can_be_filled(folder: &Path) -> bool {
    let probe = folder.join(format!(".askfirst-doctor-{}", std::process::id()));
    std::fs::create_dir(&probe).is_ok() && std::fs::remove_dir(&probe).is_ok()
}
