//! Which project configs the user trusts: by path and by the digest of their bytes, so that any change ends it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use askfirst::Digest;
use serde::{Deserialize, Serialize};

use super::fault::Faults;
use super::layers::{LoadOptions, ProjectTrust, load_with};
use super::node::{Place, Source};
use super::places::{Places, writable_by};
use super::read::folder_of;
use super::settings::{Config, Layer};

pub use super::loosens::loosens;

const FILE: &str = "trust.json";

/// Why trust could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum TrustFault {
    /// The path of the config cannot be written down.
    #[error("the path of the config is not UTF-8")]
    BadPath,
    /// What is there cannot be read.
    #[error("`{path}` cannot be read: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// It could not be written.
    #[error("the trust could not be recorded: {0}")]
    Io(#[from] io::Error),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Store {
    version: u32,
    trusted: BTreeMap<String, Digest>,
}

impl Default for Store {
    fn default() -> Self {
        Self { version: 1, trusted: BTreeMap::new() }
    }
}

/// Records that the user trusts the config at `path` as long as its bytes have this digest.
///
/// # Errors
/// Fails if it cannot be written safely; then nothing is trusted that was not before.
pub fn record(places: &Places, path: &Path, digest: Digest) -> Result<(), TrustFault> {
    change(places, path, Some(digest))
}

/// Takes the trust back.
///
/// # Errors
/// As [`record`].
pub fn revoke(places: &Places, path: &Path) -> Result<(), TrustFault> {
    change(places, path, None)
}

/// Whether the user trusts the config at `path` with exactly these bytes. In doubt, no.
#[must_use]
pub fn is_trusted(places: &Places, path: &Path, digest: Digest) -> bool {
    let Ok(key) = key_of(path) else { return false };
    read_store(&places.state.join(FILE)).is_ok_and(|store| store.trusted.get(&key) == Some(&digest))
}

/// What would be in force if the project's config with this digest were trusted.
///
/// # Errors
/// Fails with every fault of the files, if the file is no longer the one with this digest, and if it can never be
/// trusted because somebody else can write it.
pub fn as_if_trusted(options: &LoadOptions, digest: Digest) -> Result<Config, Faults> {
    let config = load_with(options, ProjectTrust::Assumed)?;
    let mut files = config.files.iter().rev();
    let refuse =
        |path: &Path, message: &str| Err(Faults(vec![Source::new(path, "").fault(&Place::start(), message)]));
    match files.find(|file| matches!(file.layer, Layer::Project | Layer::UntrustedProject)) {
        None => refuse(&options.folder, "there is no project config here"),
        Some(file) if file.digest != digest => refuse(&file.path, "the config has changed in the meantime"),
        Some(file) if file.layer == Layer::UntrustedProject => {
            refuse(&file.path, "this config cannot be trusted: somebody else can write it")
        }
        Some(_) => Ok(config),
    }
}

fn change(places: &Places, path: &Path, digest: Option<Digest>) -> Result<(), TrustFault> {
    let state = places.state.as_path();
    let key = key_of(path)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    let folder = File::open(state)?;
    // Two at once would lose one of the two.
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

/// Writes a new file beside the old one, then puts it in its place: a crash leaves the one or the other.
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

fn read_store(path: &Path) -> Result<Store, TrustFault> {
    let unreadable = |reason: String| TrustFault::Unreadable { path: path.to_path_buf(), reason };
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Store::default()),
        Err(error) => return Err(unreadable(error.kind().to_string())),
    };
    if !meta.is_file() {
        return Err(unreadable("it is not a file".to_owned()));
    }
    let folder = path.parent().map(Path::metadata).transpose()?;
    let open = writable_by(&meta).or_else(|| folder.as_ref().and_then(writable_by));
    if let Some(who) = open {
        return Err(unreadable(format!("it can be written by {who}")));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(error.kind().to_string()))?;
    let value = askfirst::json::parse(&bytes).map_err(|error| unreadable(error.to_string()))?;
    let store: Store = serde_json::from_value(value).map_err(|error| unreadable(error.to_string()))?;
    if store.version != 1 {
        return Err(unreadable("it was written by another version".to_owned()));
    }
    Ok(store)
}

/// Where a config speaks: its real folder, and its name there. A link to a config that is trusted elsewhere speaks for another
/// folder, so it is not trusted with it.
fn key_of(path: &Path) -> Result<String, TrustFault> {
    let name = path.file_name().ok_or(TrustFault::BadPath)?;
    let real = folder_of(path).canonicalize()?.join(name);
    real.to_str().map(str::to_owned).ok_or(TrustFault::BadPath)
}

#[cfg(test)]
#[path = "trust/tests.rs"]
mod tests;
