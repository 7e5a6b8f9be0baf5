//! Chooses the program that sets up the sandbox: this program itself, or an `askfirst` executable with a known digest.

#[cfg(target_env = "gnu")]
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use crate::error::escape;

/// The program name (`argv[0]`) of a helper for one order.
pub(super) const NAME: &str = "askfirst-sandbox-helper";

/// The program name (`argv[0]`) of a helper that takes several orders.
pub(super) const POOLED_NAME: &str = "askfirst-sandbox-helper-pooled";

/// Whether this program acts as a helper when it is started under one of these names.
static IS_HELPER: AtomicBool = AtomicBool::new(false);

/// Runs the helper and does not return, if this process was started as a helper. Otherwise does nothing.
///
/// Call it first in `main`, before any thread starts. A program that does not call it cannot be its own helper.
pub fn run_helper_if_requested() {
    if let Some(name) = std::env::args_os().next() {
        run_if_named(name.as_encoded_bytes());
    }
    IS_HELPER.store(true, Ordering::Relaxed);
}

/// Runs the helper and does not return, if this is the name of a helper.
fn run_if_named(name: &[u8]) {
    if name == NAME.as_bytes() {
        super::helper_process::main();
    }
    if name == POOLED_NAME.as_bytes() {
        super::pooled_helper::main();
    }
}

/// Runs the helper before `main`. A helper does not need what the standard library prepares before `main`, and that takes
/// longer than the rest of its start. Only glibc passes the arguments to this function.
#[cfg(target_env = "gnu")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn(c_int, *const *const c_char) = before_main;

#[cfg(target_env = "gnu")]
extern "C" fn before_main(count: c_int, words: *const *const c_char) {
    if count < 1 || words.is_null() {
        return;
    }
    // SAFETY: the first `count` pointers are valid, and each string is NUL-terminated.
    let name = unsafe { CStr::from_ptr(*words) };
    run_if_named(name.to_bytes());
}

/// The program that sets up the sandbox.
#[derive(Clone, Debug)]
pub struct Helper(pub(super) Program);

/// Where the helper program is.
#[derive(Clone, Debug)]
pub(super) enum Program {
    /// This program itself.
    Own,
    /// An executable, held open since its digest was checked.
    File(Arc<OwnedFd>),
}

/// Why no helper is available.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// This program did not call [`run_helper_if_requested`], and no other program was configured.
    #[error("this program cannot set up a sandbox, and no `askfirst` executable was configured")]
    None,
    /// The executable cannot be read.
    #[error("cannot read the helper `{path}`: {cause}")]
    Read {
        /// The path of the executable.
        path: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// The executable is not the expected one.
    #[error("the helper `{0}` is not the expected program: its digest differs")]
    Digest(String),
}

impl Helper {
    /// Uses this program, if it has called [`run_helper_if_requested`].
    ///
    /// # Errors
    ///
    /// Fails if it has not.
    pub fn own() -> Result<Self, HelperError> {
        if IS_HELPER.load(Ordering::Relaxed) { Ok(Self(Program::Own)) } else { Err(HelperError::None) }
    }

    /// Uses the executable at a path, if it has this SHA-256 digest (hexadecimal). A helper of another version refuses orders.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or has another digest.
    pub fn at(path: &Path, digest: &str) -> Result<Self, HelperError> {
        let failed = |cause| HelperError::Read { path: escape(path), cause };
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
            return Err(HelperError::Digest(escape(path)));
        }
        Ok(Self(Program::File(Arc::new(file.into()))))
    }

    /// Uses the executable `askfirst` in the folder of a library. Its digest is in the file `askfirst.sha256` next to it.
    ///
    /// # Errors
    ///
    /// Fails if one of the two files cannot be read, or if the digest differs.
    pub fn beside(library: &Path) -> Result<Self, HelperError> {
        let folder = library.parent().unwrap_or(Path::new("/"));
        let digest_file = folder.join("askfirst.sha256");
        let digest = std::fs::read_to_string(&digest_file)
            .map_err(|cause| HelperError::Read { path: escape(&digest_file), cause })?;
        Self::at(&folder.join("askfirst"), digest.split_whitespace().next().unwrap_or_default())
    }
}
