//! Explains why a program was not found: its folder exists outside the sandbox, and is hidden inside.

use std::path::{Component, Path, PathBuf};

use askfirst_sandbox::{Denial, DeniedPath, OSProfile};

use super::Toolchains;
use super::listing::{interpreter, is_program};
use crate::error::show;

/// How many bytes at the end of a stream are searched for errors.
const MAX_END: usize = 8 * 1024;
/// The ends of error messages about a program that was not found.
const PHRASES: [&str; 3] = ["not found", "No such file or directory", "Permission denied"];
/// Programs that start others. Their message about a missing program looks like that of `cat` about a missing file.
const STARTERS: [&str; 12] = [
    "env",
    "make",
    "gmake",
    "xargs",
    "timeout",
    "nohup",
    "nice",
    "setsid",
    "stdbuf",
    "time",
    "exec",
    "FileNotFoundError",
];
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

    /// Explains the output of a command whose exit code may belong to another program, as in `cargo test | tail`.
    ///
    /// Only the end of each stream counts, and only lines that say that a program was not found.
    pub fn explain_output(&self, streams: [&[u8]; 2], folder: &Path, profile: &OSProfile) -> Option<String> {
        if self.hidden.is_empty() {
            return None;
        }
        let ends = streams.map(|stream| {
            let end = stream.get(stream.len().saturating_sub(MAX_END)..).unwrap_or_default();
            String::from_utf8_lossy(end).into_owned()
        });
        let names = ends.iter().flat_map(|end| end.lines().rev()).flat_map(missing_programs);
        names.take(MAX_WORDS).find_map(|name| self.explain_program(Path::new(name), folder, profile))
    }

    /// Names the hidden folders of `PATH`, for a shell whose errors are not known. Returns `None` if there are none.
    pub fn name_hidden_entries(&self) -> Option<String> {
        let entries = self.absolute_entries().filter(|entry| self.hidden.contains_key(*entry));
        let names: Vec<String> = entries.map(|entry| format!("`{}`", self.shorten(entry))).collect();
        (!names.is_empty()).then(|| {
            format!("these folders of `PATH` are hidden in the sandbox: {}{SEE_DOCTOR}", names.join(", "))
        })
    }

    fn absolute_entries(&self) -> impl Iterator<Item = &PathBuf> + Clone {
        self.start.iter().flat_map(|start| &start.path).filter(|entry| entry.is_absolute())
    }

    /// Explains why a program does not start. Returns `None` if nothing of it is hidden.
    ///
    /// A process in the sandbox may have chosen the name. So the answer must not say whether a hidden file exists, except
    /// for a program on `PATH`.
    pub fn explain_program(&self, name: &Path, folder: &Path, profile: &OSProfile) -> Option<String> {
        let entries = self.absolute_entries();
        let is_plain = name.file_name() == Some(name.as_os_str());
        let path = match is_plain {
            true => {
                let has = |entry: &&PathBuf| entry.join(name).metadata().is_ok_and(|file| is_program(&file));
                let starts = |entry: &PathBuf| {
                    let real = entry.canonicalize().map(|entry| entry.join(name));
                    real.is_ok_and(|real| is_visible(profile, &real) && needed(real, profile).is_none())
                };
                // If another folder of `PATH` has a program that starts, nothing hidden is missing.
                if entries.clone().filter(has).any(starts) {
                    return None;
                }
                entries.clone().find(has)?.join(name)
            }
            false => folder.join(name),
        };
        self.explain_path(&path, name, profile).or_else(|| outside(name, profile))
    }

    fn explain_path(&self, path: &Path, name: &Path, profile: &OSProfile) -> Option<String> {
        let above = path.parent()?.canonicalize().ok()?;
        let real = above.join(path.file_name()?);
        if is_visible(profile, &real) {
            let needed = needed(real, profile)?;
            let (name, needed) = (show(name), show(&needed));
            return Some(format!("`{name}` needs `{needed}`, which is hidden in the sandbox{SEE_DOCTOR}"));
        }
        let is_here = |entry: &&PathBuf| entry.canonicalize().is_ok_and(|entry| entry == above);
        let entry = self.absolute_entries().find(is_here)?;
        let reason = self.hidden.get(entry).map(|reason| format!(": {reason}")).unwrap_or_default();
        let hint = match self.config_line(entry) {
            Some(line) => format!("; hint: `{line}` would show it"),
            None => SEE_DOCTOR.to_owned(),
        };
        let (name, entry) = (show(name), self.shorten(entry));
        Some(format!("`{name}` is in `{entry}`, which is hidden in the sandbox{reason}{hint}"))
    }
}

/// Returns the programs that a line reports as not found, or as not executable.
fn missing_programs(line: &str) -> Vec<&str> {
    let parts: Vec<&str> = line.split(": ").map(str::trim).collect();
    let Some(at) = parts.iter().position(|part| PHRASES.iter().any(|phrase| part.ends_with(phrase))) else {
        return Vec::new();
    };
    let said = parts.get(at).copied().unwrap_or_default();
    let is_starter = |part: &&str| {
        let name = part.split([' ', '[']).next().unwrap_or_default();
        STARTERS.contains(&name.rsplit('/').next().unwrap_or_default())
    };
    // A shell says `not found` only about a program. Other messages may be about any file with the same name.
    let is_about_program = said.ends_with("not found") || parts.iter().take(at).any(is_starter);
    // A shell names a line, and a program with its path: `bash: line 1: bin/tool: No such file or directory`.
    let is_line = |part: &&str| {
        let number = part.strip_prefix("line ").unwrap_or(part);
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_of_shell = parts.iter().take(at).any(is_line);
    let names = parts.iter().enumerate().filter(|(number, _)| *number != at).map(|(_, part)| name_in(part));
    let is_program = |name: &&str| is_about_program || is_of_shell && name.contains('/');
    names.filter(|name| !name.is_empty()).filter(is_program).collect()
}

/// Returns the name that a part of a message consists of or quotes, without quotes. It is empty if there is none.
fn name_in(part: &str) -> &str {
    const QUOTES: [char; 8] = ['\'', '"', '`', '‘', '’', '“', '”', '«'];
    let part = part.trim_end_matches('»');
    match part.contains(char::is_whitespace) {
        false => part.trim_matches(QUOTES),
        // `failed to run command ‘cargo’`
        true => {
            let quoted = part.strip_suffix(QUOTES).and_then(|start| start.rsplit(QUOTES).next());
            quoted.filter(|name| !name.contains(char::is_whitespace)).unwrap_or_default()
        }
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

/// Names the folder of an absolute path of which the sandbox shows nothing. Only the path itself decides this, and not
/// whether a file exists there.
fn outside(path: &Path, profile: &OSProfile) -> Option<String> {
    let is_normal = |part| matches!(part, Component::RootDir | Component::Normal(_));
    let grants = profile.readable.iter().chain(&profile.writable).chain(&profile.scratch);
    let links = profile.links.iter().map(|(link, _)| link);
    let own = ["/dev", "/proc", "/tmp"].map(PathBuf::from);
    let mut shown = grants.map(|grant| &grant.path).chain(&profile.system).chain(links).chain(&own);
    if !path.is_absolute() || !path.components().all(is_normal) || shown.any(|open| path.starts_with(open)) {
        return None;
    }
    let folder = show(path.parent()?);
    Some(format!("`{folder}` is not among the folders that the sandbox shows{SEE_DOCTOR}"))
}

/// Whether a process with this profile can read a path whose folder has no links.
fn is_visible(profile: &OSProfile, path: &Path) -> bool {
    let hides = |denied: &DeniedPath| denied.what == Denial::All && path.starts_with(&denied.path);
    let grants = profile.readable.iter().chain(&profile.writable).map(|grant| &grant.path);
    !profile.denied.iter().any(hides) && grants.chain(&profile.system).any(|open| path.starts_with(open))
}
