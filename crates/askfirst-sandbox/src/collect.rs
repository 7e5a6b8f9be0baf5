//! Collects processes that are about to end and that nobody waits for any more: a thread does, so that whoever started
//! one need not stay until the kernel has taken it down.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use rustix::process::{WaitId, WaitIdOptions};

/// The way to the thread, and the process that it belongs to: one that is split off later has no such thread.
static THREAD: Mutex<Option<(u32, Sender<OwnedFd>)>> = Mutex::new(None);

/// Collects a process once it has ended. Without a thread, waits for it here.
pub(crate) fn later(process: OwnedFd) {
    if let Err(process) = hand_over(process) {
        now(&process);
    }
}

fn hand_over(process: OwnedFd) -> Result<(), OwnedFd> {
    let own = std::process::id();
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if thread.as_ref().is_none_or(|(of, _)| *of != own) {
        let (to, from) = channel::<OwnedFd>();
        let started = std::thread::Builder::new()
            .name("askfirst-collect".to_owned())
            .spawn(move || from.into_iter().for_each(|process| now(&process)));
        *thread = started.is_ok().then_some((own, to));
    }
    match &*thread {
        Some((_, to)) => to.send(process).map_err(|back| back.0),
        None => Err(process),
    }
}

/// Waits for the end of a process, and collects it.
pub(crate) fn now(process: &OwnedFd) {
    // Whoever embeds us may have collected it.
    let _ = rustix::io::retry_on_intr(|| {
        rustix::process::waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED)
    });
}
