//! `doctor`: reports what this machine can enforce, what is missing, and what no kernel can enforce.

mod agents;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use askfirst::ports::Launcher;
use askfirst::{Mode, SandboxStatus};
use askfirst_config::{Config, PathMode, Places};
use askfirst_runtime::launcher::{SandboxLauncher, sandbox_status};
use askfirst_runtime::rehearsal::{UndoError, UndoStore};
use askfirst_runtime::sandbox::{
    SYSTEM_PATHS, StartEnvironment, Toolchains, is_root, landlock_version, probe_machine,
};
use askfirst_runtime::tools::catalog::{ledger_path, warnings};
use serde::Serialize;

use crate::args::Common;
use crate::exit::Exit;
use crate::print::{counted, out};
use crate::session::{project, read_config};

#[derive(Serialize)]
struct Finding {
    about: &'static str,
    state: Health,
    text: String,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Health {
    Good,
    Weak,
    Bad,
}

/// Prints the findings. Exits with [`Exit::Policy`] if one of them is bad.
pub fn doctor(common: &Common) -> anyhow::Result<Exit> {
    let config = read_config(common)?;
    let places = Places::from_env();
    let mut found = Vec::new();
    let mut say = |about, state, text: String| found.push(Finding { about, state, text });
    if config.files.is_empty() {
        say(
            "config",
            Health::Weak,
            "no config: askfirst asks about every call and offers no tools".to_owned(),
        );
    }
    for file in &config.files {
        say("config", Health::Good, format!("{} ({})", file.path.display(), file.layer.as_str()));
    }
    for warning in warnings(&config, Mode::Interactive) {
        say("config", Health::Weak, warning.replace("\nhint: ", "; hint: "));
    }
    if let Some(project) = project(common)? {
        let found = project.in_force();
        let count = counted((found.own.len() + found.of_main.len()) as u64, "rule");
        if !found.own.is_empty() || !found.of_main.is_empty() {
            let text = format!("{count} of your own for this project; see `askfirst memory`");
            say("config", Health::Good, text);
        }
        for warning in found.warnings {
            say("config", Health::Weak, warning.replace("\nhint: ", "; hint: "));
        }
    }
    for reason in &config.not_offered {
        say("tools", Health::Weak, reason.clone());
    }
    for (state, text) in about_sandbox(&config) {
        say("sandbox", state, text);
    }
    for (state, text) in about_toolchains(&config) {
        say("toolchain", state, text);
    }
    let caches = config.main.sandbox.cache_folders(places.home.as_deref());
    if !caches.is_empty() {
        let caches: Vec<String> = caches.iter().map(|path| path.display().to_string()).collect();
        let text =
            format!("every program can read these, and its writes are thrown away: {}", caches.join(" "));
        say("caches", Health::Good, text);
    }
    if config.main.sandbox.paths.values().any(|path| path.mode == PathMode::Rw) {
        let (state, text) = about_rehearsals(&config);
        say("rehearsal", state, text);
    }
    if UndoStore::exists(&places.state) {
        let (state, text) = about_undo(&config, &places.state);
        say("undo", state, text);
    }
    let ledger = ledger_path(&config, &places.state);
    let (state, text) = writable(&ledger);
    say("audit log", state, text);
    for (state, text) in agents::about_agents()? {
        say("agents", state, text);
    }
    match std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty") {
        Ok(_) => say("terminal", Health::Good, "available for prompts".to_owned()),
        Err(_) => say(
            "terminal",
            Health::Weak,
            "none: askfirst refuses calls that need approval (exit code 5)".to_owned(),
        ),
    }
    for text in NO_KERNEL {
        say("limits", Health::Weak, (*text).to_owned());
    }
    if common.json {
        crate::print::json(&found);
    } else {
        for finding in &found {
            let word = match finding.state {
                Health::Good => "ok",
                Health::Weak => "note",
                Health::Bad => "BAD",
            };
            out(&format!("{word:<5} {:<9} {}", finding.about, finding.text));
        }
    }
    let bad = found.iter().any(|finding| finding.state == Health::Bad);
    Ok(if bad { Exit::Policy } else { Exit::Done })
}

/// Limits of every sandbox.
const NO_KERNEL: [&str; 3] = [
    "limits on suffixes and sizes of files apply to the file tools only, not to programs that a tool starts",
    "an approved call runs, even if the person misunderstood it",
    "your processes can remove the newest entries of the audit log; keep the head from `log verify` elsewhere",
];

/// Reports what the sandbox of this machine enforces.
fn about_sandbox(config: &Config) -> Vec<(Health, String)> {
    let mut findings = Vec::new();
    let machine = probe_machine();
    match (&machine.full, &machine.any) {
        (Ok(sandbox), _) => {
            let landlock = landlock_version().map_or("unknown".to_owned(), |version| version.to_string());
            findings.push((
                Health::Good,
                format!("full, verified by running a program: {} (Landlock {landlock})", sandbox.backend()),
            ));
            sandbox.rejected_backends().iter().for_each(|why| findings.push((Health::Weak, why.clone())));
        }
        (Err(why), Ok(weaker)) => {
            findings.push((Health::Weak, format!("only `content-only` works ({}): {why}", weaker.backend())));
            let text = "`content-only` does not prevent changes of modes, owners and times, or hide which files exist";
            findings.push((Health::Weak, text.to_owned()));
        }
        (Err(why), Err(_)) => findings.push((Health::Weak, format!("no sandbox works: {why}"))),
    }
    let (state, text) = match (sandbox_status(config), config.main.sandbox.require_os_sandbox) {
        (SandboxStatus::Settled, Some(false)) => {
            (Health::Weak, "the config lets processes run without a sandbox where none works")
        }
        (SandboxStatus::Settled, Some(true) | None) => {
            (Health::Good, "every process that a tool starts runs in the sandbox")
        }
        (SandboxStatus::Missing, _) => (
            Health::Weak,
            "without an accepted sandbox, askfirst asks about every call that starts a process",
        ),
        (SandboxStatus::Demanded, _) => {
            (Health::Bad, "the config requires a sandbox, but none works: no process starts")
        }
    };
    findings.push((state, text.to_owned()));
    let there = SYSTEM_PATHS.into_iter().filter(|path| Path::new(path).exists()).collect::<Vec<_>>();
    findings
        .push((Health::Good, format!("every program can also read, besides the roots: {}", there.join(" "))));
    findings.push((
        Health::Good,
        "the memory limit applies to each process (RLIMIT_DATA), not to all processes together".to_owned(),
    ));
    if is_root() {
        let text = "askfirst runs as root: if one ordinary user owns all roots, programs run as that user";
        findings.push((Health::Weak, text.to_owned()));
        let text = "otherwise programs stay root without capabilities: only mounts protect root's files, and the \
                    number of processes is not limited";
        findings.push((Health::Weak, text.to_owned()));
    }
    findings
}

/// Reports whether commands can run on a copy of the roots first.
fn about_rehearsals(config: &Config) -> (Health, String) {
    match SandboxLauncher::new(config.clone()).view_obstacle() {
        None => (Health::Good, "commands can run on a copy of the roots first".to_owned()),
        Some(why) => {
            (Health::Weak, format!("no command can run on a copy, so `rehearse` means `required`: {why}"))
        }
    }
}

/// Reports where undo keeps what commands replaced, and how much of its limit is used.
fn about_undo(config: &Config, state: &Path) -> (Health, String) {
    let kept = || -> Result<(usize, u64), UndoError> {
        let store = UndoStore::open(state, Path::new("/"))?;
        Ok((store.list()?.len(), store.kept_bytes()?))
    };
    let limit = in_mib(config.main.undo.size);
    match kept() {
        Ok((count, bytes)) => {
            let changes = counted(count as u64, "change");
            let folder = UndoStore::folder(state);
            (Health::Good, format!("{changes} kept, {} of {limit}, in {}", in_mib(bytes), folder.display()))
        }
        Err(why) => (Health::Bad, why.to_string()),
    }
}

/// A size in MiB, with one decimal.
fn in_mib(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

/// The maximum number of hidden paths that are reported one by one.
const MAX_HIDDEN: usize = 16;

/// Reports which folders the programs on `PATH` may read in the sandbox, and what stays hidden.
fn about_toolchains(config: &Config) -> Vec<(Health, String)> {
    let toolchains = Toolchains::find(config, &StartEnvironment::read());
    let names = |paths: Vec<&Path>| {
        paths.into_iter().map(|path| toolchains.shorten(path)).collect::<Vec<_>>().join(" ")
    };
    let (shown, inside) = (toolchains.summary(), toolchains.hidden_inside().collect::<Vec<_>>());
    let mut findings = Vec::new();
    if !shown.is_empty() {
        findings.push((Health::Good, format!("every program can also read, to start: {}", shown.join(" "))));
    }
    if !inside.is_empty() {
        findings.push((Health::Good, format!("hidden inside these folders: {}", names(inside))));
    }
    for (path, reason) in toolchains.hidden().take(MAX_HIDDEN) {
        let line = toolchains.config_line(path);
        let line = line.map(|line| format!("; hint: `{line}` would show it")).unwrap_or_default();
        findings.push((Health::Weak, format!("{} is hidden: {reason}{line}", toolchains.shorten(path))));
    }
    let more = toolchains.hidden().count().saturating_sub(MAX_HIDDEN);
    if more > 0 {
        findings.push((Health::Weak, format!("{more} more are hidden")));
    }
    findings
}

fn writable(ledger: &Path) -> (Health, String) {
    let nearest = ledger.ancestors().skip(1).find(|folder| folder.exists());
    match (std::fs::symlink_metadata(ledger), nearest) {
        (Ok(file), _) if file.is_file() && file.mode() & 0o077 == 0 => {
            (Health::Good, format!("{} ({} bytes)", ledger.display(), file.len()))
        }
        (Ok(_), _) => (Health::Bad, format!("{} is not a file that only you can access", ledger.display())),
        (Err(_), Some(folder)) if !can_be_filled(folder) => {
            let text =
                format!("cannot create {}: no file can be created in {}", ledger.display(), folder.display());
            (Health::Bad, text)
        }
        (Err(_), Some(folder)) => {
            (Health::Good, format!("will be created at {} (in {})", ledger.display(), folder.display()))
        }
        (Err(e), None) => (Health::Bad, format!("cannot create {}: {e}", ledger.display())),
    }
}

/// Whether a folder can be created in this folder. Creates one and removes it.
fn can_be_filled(folder: &Path) -> bool {
    let probe = folder.join(format!(".askfirst-doctor-{}", std::process::id()));
    std::fs::create_dir(&probe).is_ok() && std::fs::remove_dir(&probe).is_ok()
}
