//! Destinations of messages. Each message is written whole.

use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The destination of messages to one side.
pub(crate) trait LineSink: Send + Sync {
    /// Writes one message. If the other side is slow, this waits, and so does the caller.
    fn line(&self, line: &[u8]) -> io::Result<()>;

    /// Writes a notification or a request of the gateway itself, which answers nothing.
    fn note(&self, line: &[u8]) -> io::Result<()> {
        self.line(line)
    }

    /// Whether the other side still reads.
    fn is_open(&self) -> bool {
        true
    }

    /// Closes the destination: no more messages follow.
    fn close(&self) {}

    /// How long the write in progress has been waiting for the other side.
    fn stuck(&self) -> Option<Duration> {
        None
    }
}

/// The destinations for the results of one message: the two ends of a pipe, or one HTTP request and its response.
#[derive(Clone)]
pub struct Connection {
    pub(crate) to_client: Arc<dyn LineSink>,
    pub(crate) to_server: Arc<dyn LineSink>,
}

impl Connection {
    /// Creates destinations that write lines to two streams.
    #[must_use]
    pub fn lines(to_client: Box<dyn io::Write + Send>, to_server: Box<dyn io::Write + Send>) -> Self {
        let sink = |output| Arc::new(crate::sink::Sink::new(output)) as Arc<dyn LineSink>;
        Self { to_client: sink(to_client), to_server: sink(to_server) }
    }

    /// How long the write in progress has been waiting for the server.
    #[must_use]
    pub fn stuck(&self) -> Option<Duration> {
        self.to_server.stuck()
    }

    /// Closes the stream to the server: no more messages follow.
    pub fn close_server(&self) {
        self.to_server.close();
    }
}

/// Enlarges the buffer of a pipe, so that a large message needs fewer writes. Has no effect if that is not possible.
pub fn widen(pipe: impl std::os::fd::AsFd) {
    const MOST: usize = 1 << 20;
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, MOST);
}
