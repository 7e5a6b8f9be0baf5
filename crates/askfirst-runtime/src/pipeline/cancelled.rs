//! Logs a call that the caller drops before its end.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use askfirst::ports::{Clock, Durability, Recorder, Retention};
use askfirst::toolset::CallerThread;

use crate::blocking::offload;
use crate::call_state::PendingCall;

/// A pending call, driven by its caller. Dropping it logs that the call was canceled.
pub(crate) struct DrivenCall {
    call: PendingCall,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
    pub(crate) thread: CallerThread,
}

impl DrivenCall {
    pub(crate) fn new(
        recorder: &Arc<dyn Recorder>,
        clock: &Arc<dyn Clock>,
        call: PendingCall,
        thread: CallerThread,
    ) -> Self {
        Self { call, recorder: Arc::clone(recorder), clock: Arc::clone(clock), thread }
    }
}

impl Deref for DrivenCall {
    type Target = PendingCall;

    fn deref(&self) -> &PendingCall {
        &self.call
    }
}

impl DerefMut for DrivenCall {
    fn deref_mut(&mut self) -> &mut PendingCall {
        &mut self.call
    }
}

impl Drop for DrivenCall {
    fn drop(&mut self) {
        if self.recorder.keeps() == Retention::Nothing {
            return;
        }
        if let Some(record) = self.call.given_up(self.clock.now()) {
            let recorder = Arc::clone(&self.recorder);
            // The thread that drops the call may be one that must not wait for a disk.
            drop(offload(self.thread, move || recorder.record(&record, Durability::Synced)));
        }
    }
}
