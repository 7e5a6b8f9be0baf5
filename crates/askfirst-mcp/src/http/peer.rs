//! Connections that take a client's messages: to a program that is started for the client, or to a server behind a
//! URL.

use std::io::{self, BufReader};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;

use super::bridge::Bridge;
use super::target::Target;
use crate::gateway::{Gateway, Link};
use crate::message::Id;
use crate::out::{Connection, LineSink};
use crate::sink::Sink;

/// How long a program may take to end after its input was closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// One connection to a server.
pub(crate) trait Peer: Send + Sync {
    /// Handles a message, whose answer goes to `to_client`. May wait for a slow server.
    fn take(&self, to_client: &Arc<dyn LineSink>, line: &[u8]) -> io::Result<()>;

    /// Withdraws a request that the client no longer waits for. Returns whether its approval request was withdrawn.
    fn withdraw(&self, id: &Id) -> bool;

    /// Withdraws every call that was not sent yet: the client has ended.
    fn client_is_gone(&self);

    /// Whether no request is open.
    fn is_idle(&self) -> bool;

    /// Closes the connection.
    fn close(&self);

    /// Whether the connection has ended.
    fn is_over(&self) -> bool;
}

/// How a client sees the names of tools and prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// The server's own names, for a single server.
    Plain,
    /// With the server's name as a prefix, for several servers.
    Prefixed,
}

/// Opens a connection to one server, or to several servers at once.
pub(crate) fn open(
    backends: &[Backend],
    names: Names,
    unasked: Arc<dyn LineSink>,
    runtime: &Handle,
) -> io::Result<Arc<dyn Peer>> {
    match (backends, names) {
        ([one], Names::Plain) => one.open(unasked, runtime),
        (_, _) => Ok(super::merge::Merge::open(backends, unasked, runtime)?),
    }
}

type Start = Box<dyn Fn() -> io::Result<Child> + Send + Sync>;

/// A server behind the gateway.
pub struct Backend {
    pub(crate) name: String,
    pub(crate) gateway: Arc<Gateway>,
    kind: BackendKind,
}

enum BackendKind {
    Program(Start),
    Address(Arc<Target>),
}

impl Backend {
    /// A program that is started for each connection, with pipes as its standard streams.
    pub fn program(
        name: &str,
        gateway: Arc<Gateway>,
        start: impl Fn() -> io::Result<Child> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), gateway, kind: BackendKind::Program(Box::new(start)) }
    }

    /// A server behind a URL.
    #[must_use]
    pub fn address(name: &str, gateway: Arc<Gateway>, target: Target) -> Self {
        Self { name: name.to_owned(), gateway, kind: BackendKind::Address(Arc::new(target)) }
    }

    /// Opens a new connection. Messages that answer no request go to `unasked`.
    pub(crate) fn open(&self, unasked: Arc<dyn LineSink>, runtime: &Handle) -> io::Result<Arc<dyn Peer>> {
        match &self.kind {
            BackendKind::Program(start) => Ok(Program::start(&self.gateway, start()?, unasked)?),
            BackendKind::Address(target) => {
                Ok(Bridge::start(&self.gateway, Arc::clone(target), unasked, runtime))
            }
        }
    }
}

/// A program that runs for one connection.
struct Program {
    link: Arc<Link>,
    to_server: Arc<dyn LineSink>,
    child: Arc<Mutex<Child>>,
}

impl Program {
    fn start(gateway: &Arc<Gateway>, mut child: Child, unasked: Arc<dyn LineSink>) -> io::Result<Arc<Self>> {
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server's standard streams are missing"));
        };
        let link = gateway.link();
        let to_server: Arc<dyn LineSink> = Arc::new(Sink::new(Box::new(input)));
        let connection = Connection { to_client: unasked, to_server: Arc::clone(&to_server) };
        let reading = Arc::clone(&link);
        std::thread::spawn(move || {
            reading.serve_server(&connection, BufReader::with_capacity(1 << 16, output));
            connection.to_server.close();
            connection.to_client.close();
        });
        Ok(Arc::new(Self { link, to_server, child: Arc::new(Mutex::new(child)) }))
    }
}

impl Peer for Program {
    fn take(&self, to_client: &Arc<dyn LineSink>, line: &[u8]) -> io::Result<()> {
        let connection =
            Connection { to_client: Arc::clone(to_client), to_server: Arc::clone(&self.to_server) };
        self.link.from_client(&connection, line.into())
    }

    fn withdraw(&self, id: &Id) -> bool {
        self.link.withdraw(id)
    }

    fn client_is_gone(&self) {
        self.link.client_is_gone();
        self.to_server.close();
    }

    fn is_idle(&self) -> bool {
        self.link.is_idle()
    }

    fn close(&self) {
        self.link.withdraw_all();
        self.to_server.close();
        let child = Arc::clone(&self.child);
        std::thread::spawn(move || end(&child));
    }

    fn is_over(&self) -> bool {
        self.child.try_lock().is_ok_and(|mut child| !matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.close();
    }
}

/// Waits until a program ends, and kills it if it takes too long.
fn end(child: &Mutex<Child>) {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..100 {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(PATIENCE / 100),
            Ok(Some(_)) | Err(_) => return,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}
