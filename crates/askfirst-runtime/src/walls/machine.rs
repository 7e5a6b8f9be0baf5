//! Which walls this machine has: found once for each process, when somebody first asks, by running something.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use askfirst_sandbox::{Helper, Tier, Walls};

/// What was found.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Walls of the full tier, or why there are none.
    pub full: Result<Arc<Walls>, String>,
    /// Walls of any tier.
    pub any: Result<Arc<Walls>, String>,
}

static NAMED: OnceLock<Helper> = OnceLock::new();

/// Names the program that makes the walls, for a program that is no helper itself. It counts before the first look.
pub fn use_helper(helper: Helper) {
    // The first one that was named stays.
    let _ = NAMED.set(helper);
}

static KEEPING: AtomicBool = AtomicBool::new(false);

/// Keeps the program that makes the walls for the next command, which starts sooner then. Only for a process that never
/// gives up rights and is never split; it counts before the first look.
pub fn keep_helpers() {
    KEEPING.store(true, Ordering::Relaxed);
}

static MACHINE: OnceLock<Machine> = OnceLock::new();

/// Lets what was kept end, before the process does.
pub fn end_helpers() {
    if let Some(Machine { any: Ok(walls), .. }) = MACHINE.get() {
        walls.end_helpers();
    }
}

/// Looks once.
pub fn machine() -> &'static Machine {
    MACHINE.get_or_init(|| {
        let helper = match NAMED.get().cloned().map_or_else(Helper::own, Ok) {
            Ok(helper) => helper,
            Err(why) => return Machine { full: Err(why.to_string()), any: Err(why.to_string()) },
        };
        look(helper)
    })
}

fn look(helper: Helper) -> Machine {
    let probe = if KEEPING.load(Ordering::Relaxed) { Walls::probe_keeping } else { Walls::probe };
    match probe(helper, Tier::ContentOnly).map(Arc::new) {
        Ok(walls) => match walls.tier() {
            Tier::Full => Machine { full: Ok(Arc::clone(&walls)), any: Ok(walls) },
            Tier::ContentOnly => Machine { full: Err(walls.passed_over().join("; ")), any: Ok(walls) },
        },
        Err(none) => Machine { full: Err(none.to_string()), any: Err(none.to_string()) },
    }
}

impl Machine {
    /// Walls that are at least as good as this.
    ///
    /// # Errors
    /// Says why there are none.
    pub fn walls(&self, least: Tier) -> Result<&Arc<Walls>, &str> {
        let found = match least {
            Tier::Full => &self.full,
            Tier::ContentOnly => &self.any,
        };
        found.as_ref().map_err(String::as_str)
    }
}
