//! Serves one client on standard streams, with several servers or with servers behind URLs.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::front::FrontError;
use super::peer::{Backend, Names};
use super::proxy::beat;
use crate::gateway::refuse;
use crate::lines::{LineRead, Lines, TooLong};
use crate::out::LineSink;
use crate::sink::Sink;

/// How long servers may take to answer the requests of a client that has ended.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long servers may take to end their sessions.
const GOODBYE: Duration = Duration::from_secs(2);

/// Serves one client until it ends.
///
/// # Errors
/// Fails if the runtime or a server cannot be started.
pub fn serve_lines(
    backends: Vec<Backend>,
    names: Names,
    input: impl Read + Send + 'static,
    output: Box<dyn Write + Send>,
) -> Result<(), FrontError> {
    super::run(async move {
        for backend in &backends {
            tokio::spawn(beat(Arc::clone(&backend.gateway)));
        }
        let to_client: Arc<dyn LineSink> = Arc::new(Sink::new(output));
        let peer = super::peer::open(&backends, names, Arc::clone(&to_client), &Handle::current())?;
        let (ended, end) = oneshot::channel();
        let (taking, hearing) = (Arc::clone(&peer), Arc::clone(&to_client));
        std::thread::spawn(move || {
            let mut lines = Lines::new(input);
            loop {
                match lines.next() {
                    Ok(LineRead::Line(line)) => {
                        if taking.take(&hearing, &line).is_err() {
                            break;
                        }
                    }
                    Ok(LineRead::TooLong) => {
                        let _ = refuse(&*hearing, None, -32600, &TooLong.to_string());
                        break;
                    }
                    Ok(LineRead::End) | Err(_) => break,
                }
            }
            taking.client_is_gone();
            let _ = ended.send(());
        });
        let _ = end.await;
        let idle = async {
            while !peer.is_idle() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, idle).await;
        peer.close();
        let gone = async {
            while !peer.is_over() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = tokio::time::timeout(GOODBYE, gone).await;
        Ok(())
    })
}
