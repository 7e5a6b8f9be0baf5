//! A call on its way. Given up before its end, it still leaves a record.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use askfirst::ports::{Clock, Durability, Keeps, Recorder};

use crate::history::Judged;
use crate::offload::offload;

/// A judged call for as long as somebody drives it.
pub(crate) struct Underway {
    judged: Judged,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
}

impl Underway {
    pub(crate) fn new(recorder: &Arc<dyn Recorder>, clock: &Arc<dyn Clock>, judged: Judged) -> Self {
        Self { judged, recorder: Arc::clone(recorder), clock: Arc::clone(clock) }
    }
}

impl Deref for Underway {
    type Target = Judged;

    fn deref(&self) -> &Judged {
        &self.judged
    }
}

impl DerefMut for Underway {
    fn deref_mut(&mut self) -> &mut Judged {
        &mut self.judged
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        if self.recorder.keeps() == Keeps::Nothing {
            return;
        }
        if let Some(record) = self.judged.given_up(self.clock.now()) {
            let recorder = Arc::clone(&self.recorder);
            // Whoever drops it may be somebody who must not wait for a disk.
            drop(offload(move || recorder.record(&record, Durability::Synced)));
        }
    }
}
