//! Finds the sandbox that works on this machine, once per process and at its first use, by running a program in it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use askfirst_sandbox::{Helper, Sandbox, Tier, UnprovenSandbox};

/// The sandbox of this machine.
#[derive(Debug, Clone)]
pub struct MachineSandbox {
    /// The sandbox of the full tier, or the reason why there is none.
    pub full: Result<Arc<Sandbox>, String>,
    /// The sandbox of the strongest tier that works.
    pub any: Result<Arc<Sandbox>, String>,
}

static HELPER: OnceLock<Helper> = OnceLock::new();

/// Sets the helper program, for a program that is no helper itself. Must be called before the first use of the sandbox.
pub fn use_helper(helper: Helper) {
    // The first call wins.
    let _ = HELPER.set(helper);
}

static KEEP_HELPERS: AtomicBool = AtomicBool::new(false);

/// Keeps helpers running for the next commands, which then start faster. Must be called before the first use of the
/// sandbox, and only in a process that never drops privileges and never forks.
pub fn keep_helpers() {
    KEEP_HELPERS.store(true, Ordering::Relaxed);
}

static MACHINE: OnceLock<MachineSandbox> = OnceLock::new();

/// Ends the kept helpers. A process calls this before it exits.
pub fn end_helpers() {
    if let Some(MachineSandbox { any: Ok(sandbox), .. }) = MACHINE.get() {
        sandbox.end_helpers();
    }
}

/// Finds the sandbox of this machine. Only the first call does any work.
pub fn probe_machine() -> &'static MachineSandbox {
    MACHINE.get_or_init(|| {
        let helper = match HELPER.get().cloned().map_or_else(Helper::own, Ok) {
            Ok(helper) => helper,
            Err(why) => return MachineSandbox { full: Err(why.to_string()), any: Err(why.to_string()) },
        };
        probe(helper)
    })
}

static FIRST: Mutex<Vec<(Tier, Arc<UnprovenSandbox>)>> = Mutex::new(Vec::new());

/// Returns the sandbox of this machine of at least this tier, for a process that probably starts a single program.
///
/// Unlike [`probe_machine`], it starts nothing: the first program tests the sandbox.
///
/// # Errors
///
/// Fails with the reason if this process has no helper.
pub fn untested_sandbox(least: Tier) -> Result<Arc<UnprovenSandbox>, String> {
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, sandbox)) = first.iter().find(|(tier, _)| *tier == least) {
        return Ok(Arc::clone(sandbox));
    }
    let helper = HELPER.get().cloned().map_or_else(Helper::own, Ok).map_err(|why| why.to_string())?;
    let sandbox = Arc::new(UnprovenSandbox::new(helper, least));
    first.push((least, Arc::clone(&sandbox)));
    Ok(sandbox)
}

/// Starts the helper of the sandbox that [`untested_sandbox`] returns for the full tier, so that it is ready when the first
/// program is. For a process that has just started and never changes its privileges.
pub fn start_helper_early() {
    // Without a helper, the first program reports it.
    if let Ok(sandbox) = untested_sandbox(Tier::Full) {
        sandbox.start_helper();
    }
}

fn probe(helper: Helper) -> MachineSandbox {
    let probe =
        if KEEP_HELPERS.load(Ordering::Relaxed) { Sandbox::probe_with_helper_pool } else { Sandbox::probe };
    match probe(helper, Tier::ContentOnly).map(Arc::new) {
        Ok(sandbox) => match sandbox.tier() {
            Tier::Full => MachineSandbox { full: Ok(Arc::clone(&sandbox)), any: Ok(sandbox) },
            Tier::ContentOnly => {
                MachineSandbox { full: Err(sandbox.rejected_backends().join("; ")), any: Ok(sandbox) }
            }
        },
        Err(none) => MachineSandbox { full: Err(none.to_string()), any: Err(none.to_string()) },
    }
}

impl MachineSandbox {
    /// Returns a sandbox of at least this tier.
    ///
    /// # Errors
    ///
    /// Fails with the reason if there is none.
    pub fn sandbox(&self, least: Tier) -> Result<&Arc<Sandbox>, &str> {
        let found = match least {
            Tier::Full => &self.full,
            Tier::ContentOnly => &self.any,
        };
        found.as_ref().map_err(String::as_str)
    }
}
