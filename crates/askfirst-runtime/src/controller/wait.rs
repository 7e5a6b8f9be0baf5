//! A submitted call that waits for its resolution, as a future.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use askfirst::machine::{Resolution, Ticket};

use super::ControllerCore;

/// A submitted call that waits for its resolution.
pub(crate) struct Wait {
    pub(super) desk: Arc<ControllerCore>,
    pub(super) ticket: Ticket,
    pub(super) over: bool,
}

impl Future for Wait {
    type Output = Box<Resolution>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Box<Resolution>> {
        let desk = Arc::clone(&self.desk);
        let mut state = desk.lock();
        let Some(slot) = state.slots.get_mut(&self.ticket) else { return Poll::Pending };
        match slot.resolution.take() {
            Some(resolution) => {
                state.slots.remove(&self.ticket);
                self.over = true;
                Poll::Ready(resolution)
            }
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if !self.over {
            self.desk.with(|state, now| {
                state.slots.remove(&self.ticket);
                state.machine.cancel(self.ticket, now);
            });
        }
    }
}
