//! Records which project configs the user trusts, by path and content digest.
//!
//! A changed config has another digest, so it is no longer trusted.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use askfirst::Digest;
use serde::{Deserialize, Serialize};

use super::fault::Faults;
use super::layers::{LoadOptions, ProjectTrust, load_with};
use super::node::{Position, Source};
use super::places::{Places, writable_by};
use super::read::folder_of;
use super::settings::{Config, Layer};

pub use super::loosens::loosens;

const FILE: &str = "trust.json";

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

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustStore {
    version: u32,
    trusted: BTreeMap<String, Digest>,
}

impl Default for TrustStore {
    fn default() -> Self {
        Self { version: 1, trusted: BTreeMap::new() }
    }
}

/// Records that the user trusts the config at `path` as long as its content has this digest.
///
/// # Errors
/// Fails if the trust cannot be written safely. The recorded trust is then unchanged.
pub fn record(places: &Places, path: &Path, digest: Digest) -> Result<(), TrustError> {
    change(places, path, Some(digest))
}

/// Removes the recorded trust in the config at `path`.
///
/// # Errors
/// Fails if the change cannot be written safely. The recorded trust is then unchanged.
pub fn revoke(places: &Places, path: &Path) -> Result<(), TrustError> {
    change(places, path, None)
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

fn change(places: &Places, path: &Path, digest: Option<Digest>) -> Result<(), TrustError> {
    let state = places.state.as_path();
    let key = key_of(path)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    let folder = File::open(state)?;
    // Without the lock, one of two simultaneous changes would be lost.
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).map_err(io::Error::from)?;
    let mut store = read_store(&state.join(FILE))?;
    match digest {
        Some(digest) => store.trusted.insert(key, digest),
        None => store.trusted.remove(&key),
    };
    let mut text = serde_json::to_vec_pretty(&store).map_err(io::Error::from)?;
    text.push(b'\n');
    replace(state, &text)?;
    folder.sync_all()?;
    Ok(())
}

/// Writes a new file and renames it over the old one. After a crash, the file is either the old one or the new one.
fn replace(state: &Path, text: &[u8]) -> io::Result<()> {
    let new = state.join(format!("{FILE}.new"));
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&new, state.join(FILE))
}

fn read_store(path: &Path) -> Result<TrustStore, TrustError> {
    let unreadable = |reason: String| TrustError::Unreadable { path: path.to_path_buf(), reason };
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TrustStore::default()),
        Err(error) => return Err(unreadable(error.kind().to_string())),
    };
    if !meta.is_file() {
        return Err(unreadable("it is not a regular file".to_owned()));
    }
    let folder = path.parent().map(Path::metadata).transpose()?;
    let other_writer = writable_by(&meta).or_else(|| folder.as_ref().and_then(writable_by));
    if let Some(who) = other_writer {
        return Err(unreadable(format!("it is writable by {who}")));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(error.kind().to_string()))?;
    let value = askfirst::json::parse(&bytes).map_err(|error| unreadable(error.to_string()))?;
    let store: TrustStore = serde_json::from_value(value).map_err(|error| unreadable(error.to_string()))?;
    if store.version != 1 {
        return Err(unreadable("it was written by another version of askfirst".to_owned()));
    }
    Ok(store)
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
