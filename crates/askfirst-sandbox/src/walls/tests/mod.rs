//! Real attempts to get out: each succeeds without walls and none behind them, and without any one mechanism some do.
//!
//! This test program is its own helper, its own attacker and its own victim; which of them a process is, its name says.

mod again;
mod denials;
mod everyday;
mod files;
mod kernel;
mod mutations;
mod network;
mod processes;
mod reads;
mod runs;
mod setup;
mod terminal;
mod tree;
mod without;
mod world;

use std::path::Path;

use world::World;

/// The first word of a process that tries probes, and the name of one that prepares them.
const ATTACKER: &str = "askfirst-attacker";
const SCENE: &str = "askfirst-scene";

/// Before the test runner, which knows nothing of these names.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    let words: Vec<String> = std::env::args().take(2).collect();
    if words
        .first()
        .is_some_and(|name| [super::helper::NAME, super::helper::STAYING].contains(&name.as_str()))
    {
        // As the standard library has it where a helper is started in `main`.
        // SAFETY: no handler is passed.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    super::main_if_helper();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [SCENE, ..] => runs::scene(),
        [_, ATTACKER] => runs::attack(),
        _ => {}
    }
}

/// What came of an attempt: nothing if it worked, else why not.
type Tried = Result<(), String>;

/// Said by an attempt on something that this kernel does not have at all.
const ABSENT: &str = "absent here";

/// Who can do it without walls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// Anybody.
    All,
    /// Root alone.
    Root,
    /// Anybody; for root it is not held, and the guide says so.
    User,
}

/// How it is seen that it worked.
#[derive(Clone, Copy)]
enum Seen {
    /// The attempt itself knows.
    Inside,
    /// Somebody outside looks afterwards.
    Outside(fn(&World) -> bool),
}

/// One attempt.
struct Probe {
    name: &'static str,
    who: Who,
    seen: Seen,
    attempt: fn(&World) -> Tried,
}

const fn probe(name: &'static str, attempt: fn(&World) -> Tried) -> Probe {
    Probe { name, who: Who::All, seen: Seen::Inside, attempt }
}

const fn root(name: &'static str, attempt: fn(&World) -> Tried) -> Probe {
    Probe { name, who: Who::Root, seen: Seen::Inside, attempt }
}

const fn seen(name: &'static str, attempt: fn(&World) -> Tried, look: fn(&World) -> bool) -> Probe {
    Probe { name, who: Who::All, seen: Seen::Outside(look), attempt }
}

fn probes() -> impl Iterator<Item = &'static Probe> {
    [files::PROBES, reads::PROBES, processes::PROBES, network::PROBES, kernel::PROBES, denials::PROBES]
        .into_iter()
        .flatten()
}

/// The result of a system call that gives -1 on failure.
fn sys(result: impl Into<i64>) -> Result<i64, String> {
    let result = result.into();
    if result < 0 { Err(std::io::Error::last_os_error().to_string()) } else { Ok(result) }
}

fn did(result: impl Into<i64>) -> Tried {
    sys(result).map(drop)
}

fn io<T>(result: std::io::Result<T>) -> Tried {
    result.map(drop).map_err(|cause| cause.to_string())
}

fn c(path: impl AsRef<Path>) -> std::ffi::CString {
    super::sys::c_path(path.as_ref()).unwrap()
}

/// Says that a test was skipped, where `./test` looks for it.
fn skip(name: &str, why: &str) {
    use std::io::Write;
    let Some(file) = std::env::var_os("ASKFIRST_SKIPS") else { return };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    writeln!(file, "{name}: {why}").unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
