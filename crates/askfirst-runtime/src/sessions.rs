//! Lets another terminal list the memory of running sessions, and revoke single decisions.
//!
//! Each session listens on a socket in a folder that only the user can access. A client can list and revoke decisions.
//! It can never make a session allow more. The session logs a revocation before it forgets the decision.
//! The session redacts secrets before it sends a list, because only the session knows which values its config calls
//! secret.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use askfirst::ports::{Durability, Recorder};
use askfirst::record::{ProcessOrigin, Record, RevocationRecord};
use askfirst::{MemoryId, RememberedDecision};
use askfirst_display::redact::{Mark, Redactor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::controller::ApprovalController;

/// A request to a session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ask {
    List,
    Revoke { id: MemoryId, by: ProcessOrigin },
}

/// The answer of a session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SessionReply {
    Remembered(Vec<RememberedDecision>),
    Revoked(bool),
    NotLogged(String),
}

/// The memory of one running session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionMemory {
    /// The session id.
    pub session: String,
    /// The remembered decisions.
    pub remembered: Vec<RememberedDecision>,
}

/// Why the sessions could not be listed or changed.
#[derive(Debug, thiserror::Error)]
pub enum SessionsError {
    /// Other users can access the folder, or it belongs to another user.
    #[error("`{}` is not a private folder: only your user may have access to it", .0.display())]
    NotOurs(PathBuf),
    /// The operating system returned an error.
    #[error("cannot use `{}`: {}", .0.display(), .1)]
    Io(PathBuf, std::io::Error),
    /// The session could not log a revocation, so it still remembers the decision.
    #[error("{0}")]
    NotLogged(String),
}

/// A listening session. Dropping it removes the socket.
#[derive(Debug)]
pub struct ListeningSession {
    socket: PathBuf,
}

impl Drop for ListeningSession {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.socket));
    }
}

const FOLDER: &str = "sessions";
const SUFFIX: &str = ".sock";
const PATIENCE: Duration = Duration::from_secs(2);
const MAX_LINE: u64 = 16 << 20;

/// Makes a session without an audit log answer on a socket below `state`. `redactor` removes secrets from its answers.
///
/// # Errors
/// Fails if other users can access the folder, or if the socket cannot be created.
pub fn listen(
    state: &Path,
    session: &str,
    controller: &ApprovalController,
    redactor: &Redactor,
) -> Result<ListeningSession, SessionsError> {
    listen_and_log(state, session, controller, redactor, None)
}

/// Makes a session answer on a socket below `state`. `redactor` removes secrets from its answers. The session logs
/// revocations with `recorder`.
///
/// # Errors
/// Fails if other users can access the folder, or if the socket cannot be created.
pub fn listen_and_log(
    state: &Path,
    session: &str,
    controller: &ApprovalController,
    redactor: &Redactor,
    recorder: Option<Arc<dyn Recorder>>,
) -> Result<ListeningSession, SessionsError> {
    let folder = own_folder(state, FOLDER)?;
    let socket = folder.join(format!("{session}{SUFFIX}"));
    let listener = UnixListener::bind(&socket).map_err(|e| SessionsError::Io(socket.clone(), e))?;
    let (controller, redactor) = (controller.clone(), redactor.clone());
    let serve = move || {
        for stream in listener.incoming().flatten() {
            if rustix::net::sockopt::socket_peercred(&stream)
                .is_ok_and(|peer| peer.uid == rustix::process::geteuid())
            {
                drop(answer(&stream, &controller, &redactor, recorder.as_deref()));
            }
        }
    };
    let thread = std::thread::Builder::new().name("askfirst-session".to_owned());
    thread.spawn(serve).map_err(|e| SessionsError::Io(socket.clone(), e))?;
    Ok(ListeningSession { socket })
}

fn answer(
    stream: &UnixStream,
    controller: &ApprovalController,
    redactor: &Redactor,
    recorder: Option<&dyn Recorder>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let said = match read::<Ask>(stream)? {
        Ask::List => {
            let told = controller.remembered().into_iter().map(|entry| without_secrets(entry, redactor));
            SessionReply::Remembered(told.collect())
        }
        Ask::Revoke { id, by } => {
            let found = controller.remembered().into_iter().find(|entry| entry.id == id);
            let logged = match (found.map(|entry| without_secrets(entry, redactor)), recorder) {
                (Some(entry), Some(recorder)) => log_revocation(entry, by, recorder),
                (None, _) | (_, None) => Ok(()),
            };
            match logged {
                Ok(()) => SessionReply::Revoked(controller.revoke(id)),
                Err(why) => SessionReply::NotLogged(why),
            }
        }
    };
    write(stream, &said)
}

fn log_revocation(
    entry: RememberedDecision,
    by: ProcessOrigin,
    recorder: &dyn Recorder,
) -> Result<(), String> {
    let record = Record::Revoked(RevocationRecord {
        memory_id: entry.id.0,
        tool_name: entry.tool_name,
        description: entry.description,
        approved: entry.decision.approved,
        by,
    });
    recorder.record(&record, Durability::Synced).map_err(|e| e.0)
}

fn without_secrets(mut entry: RememberedDecision, redactor: &Redactor) -> RememberedDecision {
    let args = entry.payload.as_object().cloned().unwrap_or_default();
    let about = redactor.about(&args);
    let clean = |text: &str| about.text_about(&args, text, Mark::Screen).left;
    entry.description = clean(&entry.description);
    entry.tool_name = redactor.text(&entry.tool_name, Mark::Screen).left;
    entry.payload = match &entry.payload {
        Value::Object(args) => Value::Object(redactor.args(args, Mark::Screen).left),
        other => redactor.value(other, Mark::Screen).left,
    };
    if let Some(pattern) = &mut entry.pattern {
        pattern.label = clean(&pattern.label);
        pattern.fields = redactor.args(&pattern.fields, Mark::Screen).left;
    }
    let decision = &mut entry.decision;
    decision.note = decision.note.as_deref().map(clean);
    decision.edited_args = decision.edited_args.as_ref().map(|args| redactor.args(args, Mark::Screen).left);
    entry
}

/// Lists the memory of all running sessions.
///
/// # Errors
/// Fails if other users can access the folder, or if it cannot be read.
pub fn list(state: &Path) -> Result<Vec<SessionMemory>, SessionsError> {
    let found = running(state)?.into_iter().filter_map(|(session, socket)| match ask(&socket, &Ask::List) {
        Ok(SessionReply::Remembered(remembered)) => Some(SessionMemory { session, remembered }),
        Ok(SessionReply::Revoked(_) | SessionReply::NotLogged(_)) | Err(_) => None,
    });
    Ok(found.collect())
}

/// Makes a session forget one decision. Returns whether the decision existed.
///
/// # Errors
/// Fails if other users can access the folder, if it cannot be read, or if the session cannot log the revocation.
pub fn revoke(state: &Path, session: &str, id: MemoryId) -> Result<bool, SessionsError> {
    let socket = running(state)?.into_iter().find(|(name, _)| name == session).map(|(_, socket)| socket);
    let by = crate::origin::of_this_process();
    match socket.map(|socket| ask(&socket, &Ask::Revoke { id, by })) {
        Some(Ok(SessionReply::NotLogged(why))) => Err(SessionsError::NotLogged(why)),
        said => Ok(matches!(said, Some(Ok(SessionReply::Revoked(true))))),
    }
}

fn running(state: &Path) -> Result<Vec<(String, PathBuf)>, SessionsError> {
    let folder = own_folder(state, FOLDER)?;
    let entries = std::fs::read_dir(&folder).map_err(|e| SessionsError::Io(folder.clone(), e))?;
    let name = |path: &Path| Some(path.file_name()?.to_str()?.strip_suffix(SUFFIX)?.to_owned());
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(name) = name(&path) else { continue };
        match UnixStream::connect(&path) {
            Ok(_) => found.push((name, path)),
            // A session that was killed left this socket behind.
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => drop(std::fs::remove_file(path)),
            Err(_) => {}
        }
    }
    found.sort();
    Ok(found)
}

fn ask(socket: &Path, ask: &Ask) -> std::io::Result<SessionReply> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write(&stream, ask)?;
    read(&stream)
}

fn read<T: for<'de> Deserialize<'de>>(stream: &UnixStream) -> std::io::Result<T> {
    let mut line = String::new();
    BufReader::new(stream).take(MAX_LINE).read_line(&mut line)?;
    serde_json::from_str(&line).map_err(Into::into)
}

fn write(mut stream: &UnixStream, value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    stream.write_all(line.as_bytes())
}

/// Returns a folder below the state folder, and creates it if needed. Fails if other users can access it.
pub(crate) fn own_folder(state: &Path, name: &str) -> Result<PathBuf, SessionsError> {
    let folder = state.join(name);
    let io = |e| SessionsError::Io(folder.clone(), e);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(io)?;
    let metadata = std::fs::symlink_metadata(&folder).map_err(io)?;
    let ours = metadata.is_dir()
        && metadata.uid() == rustix::process::geteuid().as_raw()
        && metadata.mode() & 0o077 == 0;
    if ours { Ok(folder) } else { Err(SessionsError::NotOurs(folder)) }
}
