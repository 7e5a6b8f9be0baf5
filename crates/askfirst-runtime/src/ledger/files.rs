//! The files of one audit log: the current one, and the closed ones before it.

use std::path::{Path, PathBuf};

use super::disk::folder;

/// A closed file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClosedFile {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) path: PathBuf,
}

/// Returns the name that a file gets when it is closed.
pub(super) fn closed_name(path: &Path, first: u64, last: u64) -> String {
    let (stem, suffix) = name_parts(path);
    format!("{stem}-{first}-{last}{suffix}")
}

fn name_parts(path: &Path) -> (String, String) {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|p| p.to_string_lossy().into_owned());
    let suffix = part(path.extension()).map(|suffix| format!(".{suffix}")).unwrap_or_default();
    (part(path.file_stem()).unwrap_or_default(), suffix)
}

/// Returns the name of a file without its folder.
pub(super) fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the closed files of an audit log, oldest first.
pub(super) fn closed(path: &Path) -> std::io::Result<Vec<ClosedFile>> {
    let (stem, suffix) = name_parts(path);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder(path))? {
        let name = entry?.file_name();
        let Some(numbers) = name.to_str().and_then(|name| {
            name.strip_prefix(&stem)?.strip_prefix('-')?.strip_suffix(&suffix)?.split_once('-')
        }) else {
            continue;
        };
        if let (Some(first), Some(last)) = (number(numbers.0), number(numbers.1)) {
            found.push(ClosedFile { first, last, path: folder(path).join(&name) });
        }
    }
    found.sort();
    Ok(found)
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}
