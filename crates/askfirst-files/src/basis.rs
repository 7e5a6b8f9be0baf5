//! The basis of a shown call: the state of its files, which is compared again before the call runs.

use std::fs::File;
use std::io::Read;

use rustix::fs::Stat;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::error::CallError;
use super::file_call::FileCall;
use super::handle::{ObjectKind, size_of};
use super::location::Location;
use super::place::RootView;
use super::plan::Plan;
use super::read;
use super::tree::{self, FolderTotals};

/// Files up to this size are compared by content, larger files by metadata.
pub(crate) const MAX_SHOWN: u64 = 16 << 20;

/// How the state of a file is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompareBy {
    Content,
    Metadata,
}

/// Returns how a call compares its files, or `None` if only their paths matter.
fn compare_by(call: &FileCall) -> Option<CompareBy> {
    match call {
        FileCall::Write { .. } | FileCall::Edit { .. } => Some(CompareBy::Content),
        FileCall::Make { .. }
        | FileCall::Move { .. }
        | FileCall::Copy { .. }
        | FileCall::Delete { .. }
        | FileCall::Attach { .. } => Some(CompareBy::Metadata),
        FileCall::Read { .. } | FileCall::List { .. } | FileCall::Find { .. } | FileCall::Stat { .. } => None,
    }
}

/// Whether an observation keeps the content of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeepContent {
    Yes,
    No,
}

/// The state of a call's files at one moment.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    /// The content of the file, if it was kept. The digest is of exactly these bytes.
    pub(crate) content: Option<Vec<u8>>,
    /// The digest of the content.
    pub(crate) digest: Option<String>,
    /// For each location that is a folder, the totals of its content.
    pub(crate) totals: Vec<Option<FolderTotals>>,
}

/// Returns the basis of a call, and the observation that it was made from.
pub(crate) fn capture(
    view: &RootView<'_>,
    call: &FileCall,
    plan: &Plan,
) -> Result<(Value, Observation), CallError> {
    observe(view, call, plan, KeepContent::Yes)
}

fn observe(
    view: &RootView<'_>,
    call: &FileCall,
    plan: &Plan,
    keep: KeepContent,
) -> Result<(Value, Observation), CallError> {
    let (mut states, mut observation) = (Vec::new(), Observation::default());
    if let Some(by) = compare_by(call) {
        for location in &plan.locations {
            states.push(fingerprint(view, location, (by, keep), &mut observation)?);
        }
    }
    Ok((json!({"at": plan.labels(), "was": states}), observation))
}

/// Compares the current state of a call's files with the basis.
///
/// Returns the observation. An edit applies to exactly the bytes that were compared.
pub(crate) fn compare(
    view: &RootView<'_>,
    call: &FileCall,
    plan: &Plan,
    basis: &Value,
) -> Result<Observation, CallError> {
    let keep = if matches!(call, FileCall::Edit { .. }) { KeepContent::Yes } else { KeepContent::No };
    let (now, observation) = observe(view, call, plan, keep)?;
    if now == *basis {
        return Ok(observation);
    }
    let labels = plan.labels().join("` or `");
    Err(CallError::Stale(if now.get("at") == basis.get("at") {
        format!("`{labels}` changed since it was shown")
    } else {
        format!("the path now leads to `{labels}`, which is not the path that was shown")
    }))
}

/// Describes the state of one location, and adds it to the observation.
fn fingerprint(
    view: &RootView<'_>,
    location: &Location,
    (by, keep): (CompareBy, KeepContent),
    observation: &mut Observation,
) -> Result<Value, CallError> {
    let Some(object) = &location.object else {
        observation.totals.push(None);
        return Ok("absent".into());
    };
    let stat = &object.stat;
    let (state, totals) = match object.kind {
        ObjectKind::File if by == CompareBy::Content && size_of(stat) <= MAX_SHOWN => {
            let (mut file, stat) = view.open_file(location)?;
            let (digest, size) = match keep {
                KeepContent::No => {
                    let error = |e| CallError::failed(&format!("cannot read `{}`", location.label), e);
                    (digest(&mut file).map_err(error)?, size_of(&stat))
                }
                // Uses the size of the content that was read, which differs if another process wrote meanwhile.
                KeepContent::Yes => {
                    let content = read::read_bytes(&file, &location.label, 0, MAX_SHOWN)?;
                    let known = (askfirst::Digest::of(&content).to_string(), content.len() as u64);
                    observation.content = Some(content);
                    known
                }
            };
            observation.digest = Some(digest.clone());
            let mode = stat.st_mode & 0o7777;
            (
                json!({"ino": stat.st_ino, "size": size, "mtime": mtime(&stat), "digest": digest, "mode": mode}),
                None,
            )
        }
        ObjectKind::Folder => {
            let totals = tree::count_content(view, location)?;
            let sum = [totals.0, totals.1, totals.2];
            (json!({"ino": stat.st_ino, "mtime": mtime(stat), "sum": sum}), Some(totals))
        }
        ObjectKind::File | ObjectKind::Link | ObjectKind::Other(_) => {
            let ctime = format!("{}.{:09}", stat.st_ctime, stat.st_ctime_nsec);
            let size = stat.st_size;
            (json!({"ino": stat.st_ino, "size": size, "mtime": mtime(stat), "ctime": ctime}), None)
        }
    };
    observation.totals.push(totals);
    Ok(state)
}

/// Returns true if the files are still as they were when the basis was captured.
///
/// The content need not be read again: the digest is of the captured content.
/// Size and modification time show whether another process has written to the file since then.
pub(crate) fn is_unchanged(
    view: &RootView<'_>,
    call: &FileCall,
    plan: &Plan,
    basis: &Value,
) -> Result<bool, CallError> {
    match compare_by(call) {
        Some(CompareBy::Content) => {}
        Some(CompareBy::Metadata) | None => {
            return Ok(observe(view, call, plan, KeepContent::No)?.0 == *basis);
        }
    }
    let states = basis.get("was").and_then(Value::as_array);
    for (location, state) in plan.locations.iter().zip(states.into_iter().flatten()) {
        let opened = location.object.as_ref().map(|_| view.open_file(location)).transpose()?;
        let Some(stat) = opened.map(|(_, stat)| stat) else {
            continue;
        };
        let now = json!([stat.st_ino, size_of(&stat), mtime(&stat)]);
        let before = json!([state.get("ino"), state.get("size"), state.get("mtime")]);
        if now != before {
            return Ok(false);
        }
    }
    Ok(true)
}

fn mtime(stat: &Stat) -> String {
    format!("{}.{:09}", stat.st_mtime, stat.st_mtime_nsec)
}

/// Computes the digest of a file's content, one chunk at a time.
pub(crate) fn digest(file: &mut File) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            let bytes: [u8; 32] = hasher.finalize().into();
            return Ok(bytes.iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}")));
        }
        hasher.update(chunk.get(..read).unwrap_or_default());
    }
}
