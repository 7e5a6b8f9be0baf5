//! Replaces a file in one step: it has the old text or the whole new text, never a part.

use std::io::Write;
use std::path::Path;

/// Replaces a file in one step and keeps its mode.
pub fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let target = file.canonicalize()?;
    let beside = target.with_extension("askfirst-new");
    let mut new = std::fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
    let done = new
        .set_permissions(std::fs::metadata(&target)?.permissions())
        .and_then(|()| new.write_all(text.as_bytes()))
        .and_then(|()| new.sync_all())
        .and_then(|()| std::fs::rename(&beside, &target));
    if done.is_err() {
        drop(std::fs::remove_file(&beside));
    }
    done
}
