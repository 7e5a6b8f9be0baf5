//! A handle that ends launches from another thread. It never blocks, and once used it stays used.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// ChildStreams every launch that it was passed to, both running and future ones. Clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    state: Arc<Mutex<StopState>>,
}

/// Whether the handle was used, and the pipe that wakes its launches.
#[derive(Debug, Default)]
enum StopState {
    #[default]
    Unwatched,
    Watched(PipeReader, PipeWriter),
    Stopped,
}

/// The answer to a launch that registers for a wake-up.
pub(crate) enum Watch {
    /// This pipe becomes readable when the handle is used.
    Until(PipeReader),
    /// The handle has already been used.
    Stopped,
}

impl Stop {
    /// Creates an unused handle.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the launches. Further calls do nothing.
    pub fn stop(&self) {
        if let StopState::Watched(reader, mut writer) = mem::replace(&mut *self.lock(), StopState::Stopped) {
            // The byte is never read, so it wakes every launch. If the write fails, closing the pipe wakes them.
            drop(writer.write_all(b"!"));
            drop(reader);
        }
    }

    /// Whether [`stop`](Self::stop) has been called.
    pub fn is_stopped(&self) -> bool {
        match *self.lock() {
            StopState::Stopped => true,
            StopState::Unwatched | StopState::Watched(..) => false,
        }
    }

    pub(crate) fn watch(&self) -> io::Result<Watch> {
        let mut state = self.lock();
        match &*state {
            StopState::Stopped => Ok(Watch::Stopped),
            StopState::Watched(reader, _) => reader.try_clone().map(Watch::Until),
            StopState::Unwatched => {
                let (reader, writer) = io::pipe()?;
                let copy = reader.try_clone()?;
                *state = StopState::Watched(reader, writer);
                Ok(Watch::Until(copy))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, StopState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
