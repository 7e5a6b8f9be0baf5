//! Explains why a program was not found: its folder exists outside the sandbox, and is hidden inside.

use std::path::{Path, PathBuf};

use askfirst_sandbox::{Denial, DeniedPath, OSProfile};

use super::Toolchains;
use super::listing::{interpreter, is_program};
use crate::error::show;

/// How many words of a shell's errors are looked up.
const MAX_WORDS: usize = 64;
/// How many links and interpreters are followed.
const MAX_STEPS: usize = 8;

impl Toolchains {
    /// Explains the errors of a shell that did not find a program. Returns one line, or `None` if the errors name nothing
    /// that is hidden.
    pub fn explain_errors(&self, errors: &[u8], folder: &Path, profile: &OSProfile) -> Option<String> {
        let errors = String::from_utf8_lossy(errors);
        // A shell writes `bash: line 1: NAME: command not found`, in the language of the user.
        let words = errors.lines().rev().flat_map(|line| line.split(": "));
        let quotes = ['\'', '"', '`', '‘', '’', '“', '”', '«', '»'];
        let words = words.map(|word| word.trim().trim_matches(quotes));
        let names = words.filter(|word| !word.is_empty() && !word.contains(char::is_whitespace));
        names.take(MAX_WORDS).find_map(|name| self.explain_program(Path::new(name), folder, profile))
    }

    /// Names the hidden folders of `PATH`, for a shell whose errors are not known. Returns `None` if there are none.
    pub fn name_hidden_entries(&self) -> Option<String> {
        let entries = self.start.iter().flat_map(|start| &start.path);
        let entries = entries.filter(|entry| entry.is_absolute() && self.hidden.contains_key(*entry));
        let names: Vec<String> = entries.map(|entry| format!("`{}`", self.shorten(entry))).collect();
        (!names.is_empty()).then(|| {
            format!("these folders of `PATH` are hidden in the sandbox: {}{SEE_DOCTOR}", names.join(", "))
        })
    }

    /// Explains why a program does not start. Returns `None` if nothing of it is hidden.
    ///
    /// A process in the sandbox may have chosen the name. So the answer must not say whether a hidden file exists, except
    /// for a program on `PATH`.
    pub fn explain_program(&self, name: &Path, folder: &Path, profile: &OSProfile) -> Option<String> {
        let entries = self.start.iter().flat_map(|start| &start.path).filter(|entry| entry.is_absolute());
        let is_plain = name.file_name() == Some(name.as_os_str());
        let path = match is_plain {
            true => {
                let has = |entry: &&PathBuf| entry.join(name).metadata().is_ok_and(|file| is_program(&file));
                entries.clone().find(has)?.join(name)
            }
            false => folder.join(name),
        };
        let above = path.parent()?.canonicalize().ok()?;
        let real = above.join(path.file_name()?);
        if is_visible(profile, &real) {
            let needed = needed(real, profile)?;
            let (name, needed) = (show(name), show(&needed));
            return Some(format!("`{name}` needs `{needed}`, which is hidden in the sandbox{SEE_DOCTOR}"));
        }
        let is_here = |entry: &&PathBuf| entry.canonicalize().is_ok_and(|entry| entry == above);
        let entry = entries.clone().find(is_here)?;
        let reason = self.hidden.get(entry).map(|reason| format!(": {reason}")).unwrap_or_default();
        let hint = match self.config_line(entry) {
            Some(line) => format!("; hint: `{line}` would show it"),
            None => SEE_DOCTOR.to_owned(),
        };
        let (name, entry) = (show(name), self.shorten(entry));
        Some(format!("`{name}` is in `{entry}`, which is hidden in the sandbox{reason}{hint}"))
    }
}

const SEE_DOCTOR: &str = "; hint: `askfirst doctor` lists what the sandbox shows";

/// Returns the hidden path that a visible program leads to, as a link or as a script.
fn needed(program: PathBuf, profile: &OSProfile) -> Option<PathBuf> {
    let mut at = program;
    for _ in 0..MAX_STEPS {
        let target = match at.read_link() {
            Ok(to) => at.parent()?.join(to),
            Err(_) if at.symlink_metadata().is_ok_and(|found| found.is_file()) => interpreter(&at)?,
            Err(_) => return None,
        };
        let folder = target.parent()?.canonicalize().ok();
        match folder.and_then(|folder| Some(folder.join(target.file_name()?))) {
            Some(real) if is_visible(profile, &real) => at = real,
            Some(_) | None => return Some(target),
        }
    }
    None
}

/// Whether a process with this profile can read a path whose folder has no links.
fn is_visible(profile: &OSProfile, path: &Path) -> bool {
    let hides = |denied: &DeniedPath| denied.what == Denial::All && path.starts_with(&denied.path);
    let grants = profile.readable.iter().chain(&profile.writable).map(|grant| &grant.path);
    !profile.denied.iter().any(hides) && grants.chain(&profile.system).any(|open| path.starts_with(open))
}
