//! Which program makes the walls: this one again, or the `askfirst` executable; never one that merely lies on a path.

#[cfg(all(target_env = "gnu", not(test)))]
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use crate::error::shown;

/// The name under which a helper is started.
pub(super) const NAME: &str = "askfirst-walls-helper";

/// The name under which one is started that takes several orders.
pub(super) const STAYING: &str = "askfirst-walls-helper-staying";

/// Whether this program makes walls when it is started under that name.
static IS_HELPER: AtomicBool = AtomicBool::new(false);

/// To be called first in `main`, before threads are started: if this process was started as a helper, it makes the
/// walls, starts the program, and does not return. Without this, this program cannot be its own helper.
pub fn main_if_helper() {
    if let Some(name) = std::env::args_os().next() {
        be(name.as_encoded_bytes());
    }
    IS_HELPER.store(true, Ordering::Relaxed);
}

/// Does not return if this is the name of a helper.
fn be(name: &[u8]) {
    if name == NAME.as_bytes() {
        super::inside::main();
    }
    if name == STAYING.as_bytes() {
        super::stay::main();
    }
}

/// The same before `main`: a helper needs nothing of what the standard library prepares there, which takes longer
/// than the rest of its start. The C library passes on the words only if it is this one.
#[cfg(all(target_env = "gnu", not(test)))]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn(c_int, *const *const c_char) = before_main;

#[cfg(all(target_env = "gnu", not(test)))]
extern "C" fn before_main(count: c_int, words: *const *const c_char) {
    if count < 1 || words.is_null() {
        return;
    }
    // SAFETY: so many words are there, and each is NUL-ended.
    let name = unsafe { CStr::from_ptr(*words) };
    be(name.to_bytes());
}

/// The program that makes the walls.
#[derive(Clone, Debug)]
pub struct Helper(pub(super) Program);

#[derive(Clone, Debug)]
pub(super) enum Program {
    /// This one again.
    Own,
    /// This one, held open since it was checked.
    File(Arc<OwnedFd>),
}

/// Why there is no helper.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// This program is none, and no other was named.
    #[error("this program cannot make walls, and no `askfirst` executable was named")]
    None,
    /// It cannot be read.
    #[error("the helper `{path}` cannot be read: {cause}")]
    Read {
        /// Where it should be.
        path: String,
        /// What the system said.
        cause: io::Error,
    },
    /// It is not what it should be.
    #[error("the helper `{0}` is another program than expected: its digest differs")]
    Digest(String),
}

impl Helper {
    /// This program, if it has called [`main_if_helper`].
    ///
    /// # Errors
    ///
    /// If it has not.
    pub fn own() -> Result<Self, HelperError> {
        if IS_HELPER.load(Ordering::Relaxed) { Ok(Self(Program::Own)) } else { Err(HelperError::None) }
    }

    /// The executable at a path, if its SHA-256 (in hexadecimal) is this. A helper of another version refuses its work.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is another.
    pub fn at(path: &Path, digest: &str) -> Result<Self, HelperError> {
        let failed = |cause| HelperError::Read { path: shown(path), cause };
        let mut file = File::open(path).map_err(failed)?;
        let mut hash = Sha256::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece).map_err(failed)? {
                0 => break,
                count => hash.update(piece.get(..count).unwrap_or_default()),
            }
        }
        let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if !found.eq_ignore_ascii_case(digest.trim()) {
            return Err(HelperError::Digest(shown(path)));
        }
        Ok(Self(Program::File(Arc::new(file.into()))))
    }

    /// The executable `askfirst` in the folder of a library, whose digest lies beside it in `askfirst.sha256`.
    ///
    /// # Errors
    ///
    /// If one of the two cannot be read, or they do not belong together.
    pub fn beside(library: &Path) -> Result<Self, HelperError> {
        let folder = library.parent().unwrap_or(Path::new("/"));
        let noted = folder.join("askfirst.sha256");
        let digest = std::fs::read_to_string(&noted)
            .map_err(|cause| HelperError::Read { path: shown(&noted), cause })?;
        Self::at(&folder.join("askfirst"), digest.split_whitespace().next().unwrap_or_default())
    }
}
