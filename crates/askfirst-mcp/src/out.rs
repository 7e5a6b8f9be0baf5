//! Where messages go. What is given away is given away whole.

use std::io;
use std::sync::Arc;
use std::time::Duration;

/// One side's end of a way.
pub(crate) trait Out: Send + Sync {
    /// Gives one message away. The other side may be slow: then this waits, and so does whoever feeds it.
    fn line(&self, line: &[u8]) -> io::Result<()>;

    /// Gives a notification or a question of the gateway's own away, which is no answer to anything.
    fn note(&self, line: &[u8]) -> io::Result<()> {
        self.line(line)
    }

    /// Whether somebody still takes what is given.
    fn is_open(&self) -> bool {
        true
    }

    /// Nothing more will come.
    fn close(&self) {}

    /// For how long the other side has not taken what is being given to it.
    fn stuck(&self) -> Option<Duration> {
        None
    }
}

/// Where what comes of one message goes: the two ends of a pipe, or one HTTP request and what it becomes.
#[derive(Clone)]
pub struct Ways {
    pub(crate) to_client: Arc<dyn Out>,
    pub(crate) to_server: Arc<dyn Out>,
}

impl Ways {
    /// Lines to two streams.
    #[must_use]
    pub fn lines(to_client: Box<dyn io::Write + Send>, to_server: Box<dyn io::Write + Send>) -> Self {
        let sink = |output| Arc::new(crate::sink::Sink::new(output)) as Arc<dyn Out>;
        Self { to_client: sink(to_client), to_server: sink(to_server) }
    }

    /// For how long the server has not taken what is being sent to it.
    #[must_use]
    pub fn stuck(&self) -> Option<Duration> {
        self.to_server.stuck()
    }

    /// Tells the server that nothing more will come.
    pub fn close_server(&self) {
        self.to_server.close();
    }
}

/// Lets a pipe hold more, so that a large message passes with few turns. Whatever is no pipe, or may not, stays.
pub fn widen(pipe: impl std::os::fd::AsFd) {
    const MOST: usize = 1 << 20;
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, MOST);
}
