//! Real escape attempts: each succeeds without a sandbox, and none in one.
//!
//! This test program is its own helper, attacker and victim. The name of a process says which of them it is.

mod denials;
mod escapes;
mod everyday;
mod facts;
mod files;
mod kept;
mod kernel;
mod loopback;
mod missing_features;
mod network;
mod pooled;
mod processes;
mod reads;
mod runs;
mod scratch;
mod setup;
mod status;
mod terminal;
mod tree;
mod view_check;
mod views;
mod world;

use std::path::Path;

use world::World;

/// The first argument of a process that runs probes, and the program name of a process that prepares them.
const ATTACKER: &str = "askfirst-attacker";
const SCENE: &str = "askfirst-scene";

/// Runs before the test runner, which does not know these names.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    super::run_helper_if_requested();
    let words: Vec<String> = std::env::args().take(2).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [SCENE, ..] => runs::scene(),
        [_, ATTACKER] => runs::attack(),
        _ => {}
    }
}

/// The result of a probe: `Ok` if the attempt succeeded, otherwise the reason why not.
type ProbeResult = Result<(), String>;

/// The result of a probe for a feature that this kernel does not have.
const ABSENT: &str = "absent here";

/// Which users can do it without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// Every user.
    All,
    /// Only root.
    Root,
    /// Every user. The sandbox does not prevent it for root, and the guide says so.
    User,
}

/// How the success of a probe is observed.
#[derive(Clone, Copy)]
enum Observation {
    /// The probe itself knows.
    Inside,
    /// A process outside checks afterwards.
    Outside(fn(&World) -> bool),
}

/// One escape attempt.
struct Probe {
    name: &'static str,
    who: Who,
    seen: Observation,
    attempt: fn(&World) -> ProbeResult,
}

const fn probe(name: &'static str, attempt: fn(&World) -> ProbeResult) -> Probe {
    Probe { name, who: Who::All, seen: Observation::Inside, attempt }
}

const fn root(name: &'static str, attempt: fn(&World) -> ProbeResult) -> Probe {
    Probe { name, who: Who::Root, seen: Observation::Inside, attempt }
}

const fn seen(name: &'static str, attempt: fn(&World) -> ProbeResult, look: fn(&World) -> bool) -> Probe {
    Probe { name, who: Who::All, seen: Observation::Outside(look), attempt }
}

fn probes() -> impl Iterator<Item = &'static Probe> {
    [files::PROBES, reads::PROBES, processes::PROBES, network::PROBES, kernel::PROBES, denials::PROBES]
        .into_iter()
        .flatten()
}

/// Converts the result of a system call that returns -1 on failure.
fn sys(result: impl Into<i64>) -> Result<i64, String> {
    let result = result.into();
    if result < 0 { Err(std::io::Error::last_os_error().to_string()) } else { Ok(result) }
}

fn did(result: impl Into<i64>) -> ProbeResult {
    sys(result).map(drop)
}

fn io<T>(result: std::io::Result<T>) -> ProbeResult {
    result.map(drop).map_err(|cause| cause.to_string())
}

fn c(path: impl AsRef<Path>) -> std::ffi::CString {
    super::sys::c_path(path.as_ref()).unwrap()
}

/// Records a skipped test in the file that `./test` reads.
fn skip(name: &str, why: &str) {
    use std::io::Write;
    let Some(file) = std::env::var_os("ASKFIRST_SKIPS") else { return };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    writeln!(file, "{name}: {why}").unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
