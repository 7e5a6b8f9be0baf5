//! Pins: the definition of each tool of a server when it was first listed or last approved.
//!
//! A tool with a different definition is not the tool for which the user wrote the rules.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use askfirst::json::{MAX_VALUES, count_object};
use serde_json::{Map, Value};

/// The reason why pins cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PinsError {
    /// The file cannot be read or written.
    #[error("cannot read or write the pins of `{server}`: {cause}")]
    Disk {
        /// The name of the server.
        server: String,
        /// The cause.
        cause: String,
    },
    /// The file is not a valid pin file.
    #[error("invalid pins of `{server}`: {cause}; hint: remove `{file}` to start again")]
    Garbled {
        /// The name of the server.
        server: String,
        /// The file.
        file: String,
        /// The cause.
        cause: String,
    },
    /// The file would be too large to be read again.
    #[error(
        "the pins of `{server}` would have more than {MAX_VALUES} values; hint: remove `{file}` to start again"
    )]
    Full {
        /// The name of the server.
        server: String,
        /// The file.
        file: String,
    },
}

/// The pins of one server.
#[derive(Debug)]
pub struct Pins {
    server: String,
    file: PathBuf,
    known: Mutex<Map<String, Value>>,
}

impl Pins {
    /// Reads the pins of a server from a folder. The file may be missing.
    ///
    /// # Errors
    /// Fails if the file exists but cannot be read: then the earlier definitions are unknown.
    pub fn open(state: &Path, server: &str) -> Result<Self, PinsError> {
        let name: String = server
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '%' })
            .collect();
        let file = state.join("pins").join(format!("{name}-{}.json", askfirst::Digest::of(server).short()));
        let known = match std::fs::read(&file) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Map::new(),
            Err(e) => return Err(PinsError::Disk { server: server.to_owned(), cause: e.to_string() }),
            Ok(bytes) => match askfirst::json::parse_object(&bytes) {
                Ok(map) => map,
                Err(e) => {
                    return Err(PinsError::Garbled {
                        server: server.to_owned(),
                        file: file.display().to_string(),
                        cause: e.to_string(),
                    });
                }
            },
        };
        Ok(Self { server: server.to_owned(), file, known: Mutex::new(known) })
    }

    /// Returns the pinned definitions of the tools that have changed. Pins every tool that has no pin yet.
    ///
    /// # Errors
    /// Fails if a new pin cannot be written.
    pub(crate) fn changed(&self, tools: &[(String, Value)]) -> Result<BTreeMap<String, Value>, PinsError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut changed, mut new) = (BTreeMap::new(), Map::new());
        for (name, definition) in tools {
            match known.get(name).or_else(|| new.get(name)) {
                Some(pinned) if pinned == definition => {}
                Some(pinned) => {
                    changed.insert(name.clone(), pinned.clone());
                }
                None => {
                    new.insert(name.clone(), definition.clone());
                }
            }
        }
        if !new.is_empty() {
            self.keep(&mut known, new)?;
        }
        Ok(changed)
    }

    /// Pins the current definition of a tool, which a person has seen.
    ///
    /// # Errors
    /// Fails if the pin cannot be written.
    pub(crate) fn accept(&self, name: &str, definition: &Value) -> Result<(), PinsError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.keep(&mut known, Map::from_iter([(name.to_owned(), definition.clone())]))
    }

    /// Writes more pins. If the file cannot be written, or would be too large to be read again, nothing changes.
    fn keep(&self, known: &mut Map<String, Value>, more: Map<String, Value>) -> Result<(), PinsError> {
        let mut all = known.clone();
        all.extend(more.clone());
        if count_object(&all) > MAX_VALUES {
            let file = self.file.display().to_string();
            return Err(PinsError::Full { server: self.server.clone(), file });
        }
        self.replace(&Value::Object(all).to_string())
            .map_err(|e| PinsError::Disk { server: self.server.clone(), cause: e.to_string() })?;
        known.extend(more);
        Ok(())
    }

    /// Replaces the file as a whole, or not at all.
    fn replace(&self, text: &str) -> std::io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let temporary = self.file.with_extension(format!("{}.new", std::process::id()));
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, &self.file)
    }
}

#[cfg(test)]
#[path = "pins/tests.rs"]
mod tests;
