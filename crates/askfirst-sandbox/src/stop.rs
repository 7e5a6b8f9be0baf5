//! A handle that ends launches from another thread; once used it stays used, and it never blocks.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ends every launch it was handed to, those under way and those still to come. Clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unwatched,
    Watched(PipeReader, PipeWriter),
    Stopped,
}

/// What a launch learns when it asks to be woken.
pub(crate) enum Watch {
    /// This becomes readable when stopped.
    Until(PipeReader),
    /// It was already stopped.
    Stopped,
}

impl Stop {
    /// A handle that has not been used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the launches. The second call does nothing.
    pub fn stop(&self) {
        if let State::Watched(reader, mut writer) = mem::replace(&mut *self.lock(), State::Stopped) {
            // The byte is never read, so it wakes everyone. Should it not be written, the closing pipe wakes them.
            drop(writer.write_all(b"!"));
            drop(reader);
        }
    }

    /// Whether [`stop`](Self::stop) has been called.
    pub fn is_stopped(&self) -> bool {
        match *self.lock() {
            State::Stopped => true,
            State::Unwatched | State::Watched(..) => false,
        }
    }

    pub(crate) fn watch(&self) -> io::Result<Watch> {
        let mut state = self.lock();
        match &*state {
            State::Stopped => Ok(Watch::Stopped),
            State::Watched(reader, _) => reader.try_clone().map(Watch::Until),
            State::Unwatched => {
                let (reader, writer) = io::pipe()?;
                let mine = reader.try_clone()?;
                *state = State::Watched(reader, writer);
                Ok(Watch::Until(mine))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
