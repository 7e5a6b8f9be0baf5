//! Where git is led: by a `.git` that is no folder, by the folder that worktrees share, by settings that name others or
//! a folder of hooks. What lies there is protected as it is in `.git`, whether or not git would take the folder for a
//! repository by itself.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use askfirst_sandbox::Denial;
use rustix::fs::{Mode, OFlags};

use super::protected::{Found, Sort};

/// A larger file of git's leads nowhere, and larger settings are not looked at.
pub(super) const LARGEST: u64 = 64 << 10;

/// So many settings that name each other are followed.
const INCLUDED: usize = 8;

/// What git runs or obeys in the folder of a repository, whatever that folder is called.
pub(super) const OF_GIT: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "info/attributes"];

/// What is protected in the repository that a `.git` leads to.
pub(super) fn led_by(git: &Path, home: Option<&Path>) -> Vec<(PathBuf, Found)> {
    let to = || {
        let (real, tree) = (git.canonicalize().ok()?, git.parent()?);
        if real.is_dir() {
            return Some(real);
        }
        let text = read_small(&real)?;
        tree.join(line(text.strip_prefix("gitdir: ")?)).canonicalize().ok()
    };
    let (Some(to), Some(tree)) = (to(), git.parent()) else { return Vec::new() };
    in_repository(&to, git, tree, &format!("`{}` makes it git's", git.display()), home)
}

/// What git runs or obeys in the folder of a repository, in the folder that this shares with others, and where the
/// settings of both lead for the files in `tree`; all because of `by`.
pub(super) fn in_repository(
    folder: &Path,
    by: &Path,
    tree: &Path,
    why: &str,
    home: Option<&Path>,
) -> Vec<(PathBuf, Found)> {
    let mut all: Vec<(PathBuf, Found)> = of_git(folder, by, why).collect();
    let common = common(folder).filter(|common| common != folder);
    all.extend(common.iter().flat_map(|common| of_git(common, by, why)));
    let mut waiting: Vec<PathBuf> =
        [Some(folder), common.as_deref()].into_iter().flatten().map(|it| it.join("config")).collect();
    waiting.push(folder.join("config.worktree"));
    let mut seen: Vec<PathBuf> = Vec::new();
    while let Some(settings) = waiting.pop() {
        if seen.len() >= INCLUDED || seen.contains(&settings) {
            continue;
        }
        let text = settings.canonicalize().ok().and_then(|real| read_small(&real)).unwrap_or_default();
        for (path, leads) in led_by_settings(&text, &settings, tree, home) {
            let why = format!("`{}` leads git to it", settings.display());
            if let Some(found) = Found::at(&path, Denial::Write, why, Sort::Name) {
                all.push((path.clone(), Found { by: vec![settings.clone(), by.to_owned()], ..found }));
            }
            match leads {
                Leads::ToSettings => waiting.push(path),
                Leads::ToHooks => {}
            }
        }
        seen.push(settings);
    }
    all
}

/// The folder that a repository shares with others.
fn common(folder: &Path) -> Option<PathBuf> {
    let text = read_small(&folder.join("commondir").canonicalize().ok()?)?;
    folder.join(line(&text)).canonicalize().ok()
}

/// A file of one line, as git reads it.
fn line(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

fn of_git(folder: &Path, by: &Path, why: &str) -> impl Iterator<Item = (PathBuf, Found)> {
    OF_GIT.iter().filter_map(move |name| {
        let path = folder.join(name);
        let found = Found::at(&path, Denial::Write, why.to_owned(), Sort::Name)?;
        Some((path, Found { by: vec![by.to_owned()], ..found }))
    })
}

/// What settings lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leads {
    ToHooks,
    ToSettings,
}

/// The places that settings lead git to: `core.hooksPath` from where the files of the repository are, and `include.path`
/// and `includeIf.….path` from the settings. A link is named with where it leads.
fn led_by_settings(text: &str, settings: &Path, tree: &Path, home: Option<&Path>) -> Vec<(PathBuf, Leads)> {
    let mut led = Vec::new();
    for (section, key, value) in values(text) {
        let (base, leads) = match (section.as_str(), key.as_str()) {
            ("core", "hookspath") => (Some(tree), Leads::ToHooks),
            ("include" | "includeif", "path") => (settings.parent(), Leads::ToSettings),
            _ => continue,
        };
        let path = match (value.strip_prefix("~/"), home, base) {
            (Some(rest), Some(home), _) => home.join(rest),
            (None, _, Some(base)) if !value.is_empty() => base.join(&value),
            (Some(_), None, _) | (None, _, _) => continue,
        };
        let own = path.file_name().and_then(|name| Some(path.parent()?.canonicalize().ok()?.join(name)));
        let real = path.canonicalize().ok().filter(|real| own.as_ref() != Some(real));
        // Where files of the repository are hooks, not all of them are closed.
        let around = |path: &PathBuf| leads == Leads::ToHooks && tree.starts_with(path);
        led.extend(own.into_iter().chain(real).filter(|path| !around(path)).map(|path| (path, leads)));
    }
    led
}

/// Every value in settings of git's, with its section and key in small letters.
pub(super) fn values(text: &str) -> Vec<(String, String, String)> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace("\\\n", "");
    let mut all = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let mut quoted = false;
            let end = rest.char_indices().find(|(_, c)| {
                quoted ^= *c == '"';
                *c == ']' && !quoted
            });
            let Some((head, after)) = end.and_then(|(at, _)| rest.split_at_checked(at)) else { continue };
            section = head.split(['"', ' ', '\t', '.']).next().unwrap_or_default().to_lowercase();
            line = after.trim_start_matches(']').trim();
        }
        let Some((key, rest)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) else {
            continue;
        };
        all.push((section.clone(), key.trim().to_lowercase(), value(rest.trim())));
    }
    all
}

/// A value without its quotes, escapes and what is remarked behind it.
fn value(text: &str) -> String {
    let (mut out, mut quoted, mut kept) = (String::new(), false, 0);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('b') => out.push('\u{8}'),
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
        if quoted || !c.is_whitespace() {
            kept = out.len();
        }
    }
    out.truncate(kept);
    out
}

/// Whether the rules about `.git` speak for a folder: it is one, or of a submodule or worktree of one.
pub(super) fn is_known_to_rules(path: &Path, roots: &[PathBuf]) -> bool {
    let inside =
        roots.iter().filter_map(|root| path.strip_prefix(root).ok()).min_by_key(|it| it.as_os_str().len());
    let names: Vec<&str> = inside.unwrap_or(path).iter().filter_map(|name| name.to_str()).collect();
    let git = names.iter().position(|name| *name == ".git");
    match git.and_then(|at| names.get(at + 1..)) {
        Some([]) | Some(["modules", _, ..]) => true,
        Some(["worktrees", _]) => path.join("commondir").is_file() && !path.join("objects").exists(),
        Some(_) | None => false,
    }
}

/// The text of a small file. Whatever else stands there is not waited for.
pub(super) fn read_small(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let stat = file.metadata().ok()?;
    if !stat.is_file() || stat.len() >= LARGEST {
        return None;
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What makes git take a folder for a repository: `HEAD` beside `objects` and `refs`, or beside the way to them.
#[derive(Default)]
pub(super) struct Marks {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: bool,
}

impl Marks {
    pub(super) fn see(&mut self, path: &Path) {
        match path.file_name().and_then(|name| name.to_str()) {
            Some("HEAD") => self.head = true,
            Some("objects") => self.objects = true,
            Some("refs") => self.refs = true,
            Some("commondir") => self.commondir = true,
            Some(_) | None => {}
        }
    }

    pub(super) fn are_there(&self) -> bool {
        self.head && (self.objects && self.refs || self.commondir)
    }
}

#[cfg(test)]
#[path = "git/tests.rs"]
mod tests;
