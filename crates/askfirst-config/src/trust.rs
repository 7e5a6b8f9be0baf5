//! Records which project configs the user trusts, by path and content digest.
//!
//! A changed config has another digest, so it is no longer trusted. A copy of each trusted text remains, so that a person
//! can be shown the difference.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use askfirst::Digest;
use serde::{Deserialize, Serialize};

use super::fault::Faults;
use super::layers::{LoadOptions, ProjectTrust, load_with};
use super::node::{Position, Source};
use super::places::{Places, fetch};
use super::read::folder_of;
use super::settings::{Config, Layer};
use super::state_file::{self, LockedFolder, StateFileError, VERSION};

pub use super::loosens::loosens;

const FILE: &str = "trust.json";

/// The folder with the copies of the trusted texts. Each is named after its digest.
const TEXTS: &str = "trusted";

/// The reason why the trust could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The path of the config is not valid UTF-8, so it cannot be stored.
    #[error("the path of the config is not valid UTF-8")]
    BadPath,
    /// The stored trust cannot be read, or another user could have written it.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file with the stored trust.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The trust could not be written.
    #[error("cannot write the trust file: {0}")]
    Io(#[from] io::Error),
}

impl From<StateFileError> for TrustError {
    fn from(error: StateFileError) -> Self {
        match error {
            StateFileError::Unreadable { path, reason } => Self::Unreadable { path, reason },
            StateFileError::Unwritable { error, .. } => Self::Io(error),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustStore {
    version: u32,
    trusted: BTreeMap<String, Digest>,
}

impl Default for TrustStore {
    fn default() -> Self {
        Self { version: VERSION, trusted: BTreeMap::new() }
    }
}

/// Records that the user trusts the config at `path` as long as its content has this digest.
///
/// # Errors
/// Fails if the trust cannot be written safely. The recorded trust is then unchanged.
pub fn record(places: &Places, path: &Path, digest: Digest) -> Result<(), TrustError> {
    change(places, path, Some(digest), None)
}

/// Records that the user trusts the config at `path` as long as it has this text, and keeps a copy of the text.
///
/// # Errors
/// Fails if the trust or the copy cannot be written safely. The recorded trust is then unchanged.
pub fn record_text(places: &Places, path: &Path, text: &str) -> Result<(), TrustError> {
    change(places, path, Some(Digest::of(text)), Some(text))
}

/// Returns the text of the config at `path`.
///
/// # Errors
/// Fails if the config cannot be read, or if its content does not have this digest.
pub fn read_text(path: &Path, digest: Digest) -> Result<String, TrustError> {
    let unreadable =
        |reason: &str| TrustError::Unreadable { path: path.to_owned(), reason: reason.to_owned() };
    let raw = fetch(path).map_err(|reason| unreadable(&reason))?;
    let bytes = raw.map(|raw| raw.bytes).filter(|bytes| Digest::of(bytes) == digest);
    let bytes = bytes.ok_or_else(|| unreadable("it changed after askfirst had read it"))?;
    String::from_utf8(bytes).map_err(|_| unreadable("it is not valid UTF-8"))
}

/// Returns the text with which the user last trusted the config at `path`, if a copy of it remains.
#[must_use]
pub fn trusted_text(places: &Places, path: &Path) -> Option<String> {
    let store = read_store(&places.state.join(FILE)).ok()?;
    let digest = *store.trusted.get(&key_of(path).ok()?)?;
    read_text(&places.state.join(TEXTS).join(digest.to_string()), digest).ok()
}

/// Removes the recorded trust in the config at `path`.
///
/// # Errors
/// Fails if the change cannot be written safely. The recorded trust is then unchanged.
pub fn revoke(places: &Places, path: &Path) -> Result<(), TrustError> {
    change(places, path, None, None)
}

/// Returns true if the user trusts the config at `path` with this digest.
///
/// Returns false if the recorded trust cannot be read.
#[must_use]
pub fn is_trusted(places: &Places, path: &Path, digest: Digest) -> bool {
    let Ok(key) = key_of(path) else { return false };
    read_store(&places.state.join(FILE)).is_ok_and(|store| store.trusted.get(&key) == Some(&digest))
}

/// Loads the config as if the user trusted the project config with this digest.
///
/// # Errors
/// Fails if a file has errors, if the project config has another digest, or if other users can write it.
pub fn load_as_if_trusted(options: &LoadOptions, digest: Digest) -> Result<Config, Faults> {
    let config = load_with(options, ProjectTrust::Assumed)?;
    let mut files = config.files.iter().rev();
    let refuse = |path: &Path, message: &str| {
        Err(Faults(vec![Source::new(path, "").fault(&Position::start(), message)]))
    };
    match files.find(|file| matches!(file.layer, Layer::Project | Layer::UntrustedProject)) {
        None => refuse(&options.folder, "no project config in this folder or above"),
        Some(file) if file.digest != digest => {
            refuse(&file.path, "the config has changed since it was shown")
        }
        Some(file) if file.layer == Layer::UntrustedProject => {
            refuse(&file.path, "this config cannot be trusted: other users can write it")
        }
        Some(_) => Ok(config),
    }
}

fn change(
    places: &Places,
    path: &Path,
    digest: Option<Digest>,
    text: Option<&str>,
) -> Result<(), TrustError> {
    let state = places.state.as_path();
    let key = key_of(path)?;
    let folder = LockedFolder::open(state)?;
    let mut store = read_store(&state.join(FILE))?;
    match digest {
        Some(digest) => store.trusted.insert(key, digest),
        None => store.trusted.remove(&key),
    };
    let texts = state.join(TEXTS);
    if let (Some(digest), Some(text)) = (digest, text) {
        state_file::create_private(&texts)?;
        state_file::replace(&texts, &digest.to_string(), text.as_bytes())?;
    }
    folder.write(FILE, &store)?;
    remove_other_texts(&texts, &store);
    Ok(())
}

/// Removes the copies of texts that are no longer trusted.
fn remove_other_texts(texts: &Path, store: &TrustStore) {
    let kept: Vec<String> = store.trusted.values().map(Digest::to_string).collect();
    let found = fs::read_dir(texts).into_iter().flatten().filter_map(Result::ok);
    for file in found.filter(|file| !kept.iter().any(|name| file.file_name() == name.as_str())) {
        // An old copy does no harm: askfirst reads only the copies of trusted digests.
        let _ = fs::remove_file(file.path());
    }
}

fn read_store(path: &Path) -> Result<TrustStore, TrustError> {
    Ok(state_file::read(path)?.unwrap_or_default())
}

/// Returns the key under which trust is stored: the real folder of the config, and its name.
///
/// A link to a trusted config in another folder has another key, because it would apply to another folder.
fn key_of(path: &Path) -> Result<String, TrustError> {
    let name = path.file_name().ok_or(TrustError::BadPath)?;
    let real = folder_of(path).canonicalize()?.join(name);
    real.to_str().map(str::to_owned).ok_or(TrustError::BadPath)
}

#[cfg(test)]
#[path = "trust/tests.rs"]
mod tests;
