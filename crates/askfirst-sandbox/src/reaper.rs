//! Collects exit statuses of processes on a background thread, so that their launcher does not wait until the kernel
//! has removed them.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use rustix::process::{WaitId, WaitIdOptions};

/// The channel to the thread, and the pid of the process that started it. A forked child does not have this thread.
static THREAD: Mutex<Option<(u32, Sender<OwnedFd>)>> = Mutex::new(None);

/// Collects a process on the background thread once it has ended. If there is no thread, waits for it here.
pub(crate) fn reap_later(process: OwnedFd) {
    if let Err(process) = hand_over(process) {
        reap_now(&process);
    }
}

fn hand_over(process: OwnedFd) -> Result<(), OwnedFd> {
    let own = std::process::id();
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if thread.as_ref().is_none_or(|(of, _)| *of != own) {
        let (to, from) = channel::<OwnedFd>();
        let started = std::thread::Builder::new()
            .name("askfirst-collect".to_owned())
            .spawn(move || from.into_iter().for_each(|process| reap_now(&process)));
        *thread = started.is_ok().then_some((own, to));
    }
    match &*thread {
        Some((_, to)) => to.send(process).map_err(|back| back.0),
        None => Err(process),
    }
}

/// Waits for the end of a process and collects its exit status.
pub(crate) fn reap_now(process: &OwnedFd) {
    // This fails if another part of the process has already collected it.
    let _ = rustix::io::retry_on_intr(|| {
        rustix::process::waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED)
    });
}
