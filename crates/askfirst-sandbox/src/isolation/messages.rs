//! Reads the messages of a helper, on the side of the launcher.

use std::cell::{RefCell, RefMut};
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd};

use super::order::HelperMessage;
use crate::launch::{AfterReport, EndReport, EndReporter};

/// The messages of the helper that have arrived so far.
pub(super) struct MessageReader {
    pub(super) pipe: PipeReader,
    buffer: RefCell<MessageBuffer>,
    after_report: AfterReport,
}

/// Bytes and messages read from the pipe of a helper.
#[derive(Default)]
pub(super) struct MessageBuffer {
    /// An incomplete message.
    partial: Vec<u8>,
    pub(super) messages: Vec<HelperMessage>,
    /// Whether the pipe is closed, so that no further message can arrive.
    closed: bool,
}

impl MessageReader {
    /// Makes the pipe non-blocking, since a process that we could not kill may hold the other end.
    pub(super) fn new(pipe: PipeReader, after_report: AfterReport) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self { pipe, buffer: RefCell::default(), after_report })
    }

    /// Reads the messages that have arrived since the last call.
    pub(super) fn read_messages(&self) -> io::Result<RefMut<'_, MessageBuffer>> {
        let mut buffer = self.buffer.borrow_mut();
        let MessageBuffer { partial, messages, closed } = &mut *buffer;
        match (&self.pipe).read_to_end(partial) {
            Ok(_) => *closed = true,
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
            Err(cause) => return Err(cause),
        }
        let mut rest = partial.as_slice();
        while let Some((message, after)) = HelperMessage::decode(rest) {
            messages.push(message);
            rest = after;
        }
        *partial = rest.to_vec();
        Ok(buffer)
    }
}

impl EndReporter for MessageReader {
    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    fn report(&self) -> io::Result<EndReport> {
        let buffer = self.read_messages()?;
        Ok(match buffer.messages.last() {
            Some(HelperMessage::Gone(_)) => EndReport::Complete,
            Some(_) | None if buffer.closed => EndReport::Closed,
            Some(_) | None => EndReport::None,
        })
    }

    fn after_report(&self) -> AfterReport {
        self.after_report
    }
}
