//! From a word to the places that it names: home, wildcards, `..` and links, from the folder that the command runs in.
//!
//! It looks at the disk and changes nothing. It reports a place that it cannot determine and never guesses. The sandbox
//! covers hard links and links that are swapped later.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::glob::{Glob, Reach};
use super::line::tree::{Piece, Word};
use super::real::{plain, real};
use super::world::{FileKind, World};

/// How many folders are followed at once.
pub(super) const MOST_FOLDERS: usize = 32;

/// So many names are looked at for one wildcard.
const MAX_NAMES: usize = 4_000;
/// The file `.git` of a work tree is shorter than so many bytes.
const MAX_POINTER: u64 = 4_096;
/// So many places may one word name.
const MAX_PLACES: usize = 1_000;

/// A place that a word names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// As the program gets to see it.
    pub(super) text: String,
    /// By its text alone.
    pub(super) plain: PathBuf,
    /// Where it leads.
    pub(super) real: PathBuf,
}

/// What a word names.
pub(super) enum Named {
    /// These places.
    Places(Vec<Place>),
    /// It cannot be told, and why.
    Unknown(String),
}

/// The texts that a word may stand for: one, or one for each name that its wildcards match. Nothing if that cannot be
/// told.
pub(super) fn texts(word: &Word, folder: &Path, world: &dyn World) -> Result<Vec<String>, String> {
    if let Some(text) = plainly(word) {
        return Ok(vec![text.to_owned()]);
    }
    // As a wildcard, and as it stands where that finds nothing.
    let (mut glob, mut bare) = (String::new(), String::new());
    let mut wild = false;
    for (at, piece) in word.pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => {
                if at == 0 && text.starts_with('~') {
                    return Err(format!("`{text}` may be a user's home folder"));
                }
                glob.push_str(&as_glob(text));
                bare.push_str(text);
            }
            Piece::Glob(text) => {
                wild = true;
                glob.push_str(text);
                bare.push_str(text);
            }
            Piece::Home => {
                let home = world.home().and_then(Path::to_str).ok_or("the home folder is not known")?;
                glob.push_str(&as_glob(home));
                bare.push_str(home);
            }
            Piece::Unknown(unknown) => {
                return Err(format!("`{}` is not known in advance", unknown.text));
            }
        }
    }
    // Classes by name are not read here.
    if wild && ["[:", "[.", "[="].iter().any(|class| glob.contains(class)) {
        return Err("its wildcards use a character class that askfirst does not check".to_owned());
    }
    let found = if wild { expand(&glob, folder, world)? } else { Vec::new() };
    Ok(if found.is_empty() { vec![bare] } else { found })
}

/// The names on the disk that a wildcard matches.
fn expand(glob: &str, folder: &Path, world: &dyn World) -> Result<Vec<String>, String> {
    let too_many = || "its wildcards match too many files to check".to_owned();
    let mut found: Vec<String> = vec![if glob.starts_with('/') { "/".to_owned() } else { String::new() }];
    let mut looked = 0;
    for part in glob.split('/').filter(|part| !part.is_empty()) {
        let matcher = Glob::new(part);
        let mut next = Vec::new();
        for head in found {
            let join = |name: &str| {
                if head.is_empty() || head.ends_with('/') {
                    format!("{head}{name}")
                } else {
                    format!("{head}/{name}")
                }
            };
            if let Some(name) = matcher.plain() {
                next.push(join(name));
                continue;
            }
            let at = folder.join(if head.is_empty() { "." } else { &head });
            let Some(listing) = world.list(&at, MAX_NAMES + 1 - looked) else { continue };
            for (name, _) in listing.iter() {
                looked += 1;
                if looked > MAX_NAMES {
                    return Err(too_many());
                }
                let Some(name) = name.to_str() else {
                    return Err("a file name in its folder is not valid UTF-8".to_owned());
                };
                let hidden = name.starts_with('.') && !part.starts_with('.');
                if !hidden && matcher.matches(name, Reach::Anything) {
                    next.push(join(name));
                }
            }
        }
        found = next;
        if found.len() > MAX_PLACES {
            return Err(too_many());
        }
    }
    found.retain(|path| world.exists(&folder.join(path)));
    found.sort();
    Ok(found)
}

/// The word as it is written, quotes taken off.
pub(super) fn word_text(word: &Word) -> Cow<'_, str> {
    if let Some(text) = word.literal() {
        return Cow::Borrowed(text);
    }
    let mut whole = String::new();
    for piece in word.pieces.iter() {
        whole.push_str(match piece {
            Piece::Text(text) | Piece::Glob(text) => text,
            Piece::Home => "~",
            Piece::Unknown(unknown) => &unknown.text,
        });
    }
    Cow::Owned(whole)
}

/// The places that a word names, from a folder that no link leads to.
pub(super) fn named(word: &Word, folder: &Path, world: &dyn World) -> Named {
    let place = |text: String| {
        if text.contains('\0') {
            return Err("a path contains a NUL byte".to_owned());
        }
        match world.resolve(folder, Path::new(&text)) {
            Some(real) => Ok(Place { plain: plain(folder.join(&text)), real, text }),
            None => Err(format!("`{text}` is a loop of symbolic links")),
        }
    };
    let places = match plainly(word) {
        Some(text) => place(text.to_owned()).map(|place| vec![place]),
        None => texts(word, folder, world).and_then(|texts| texts.into_iter().map(place).collect()),
    };
    places.map_or_else(Named::Unknown, Named::Places)
}

/// The one text that a word surely stands for.
fn plainly(word: &Word) -> Option<&str> {
    word.literal().filter(|text| !text.starts_with('~'))
}

/// The folder after a `cd`. The shell takes `..` by the text, the kernel by where links lead: they must agree.
pub(super) fn entered(word: &Word, folder: &Path, world: &dyn World) -> Result<PathBuf, String> {
    match named(word, folder, world) {
        Named::Unknown(why) => Err(why),
        Named::Places(places) => match places.as_slice() {
            [place] => {
                let climbs = place.text.split('/').any(|part| part == "..");
                if climbs && real(&place.plain, world).as_ref() != Some(&place.real) {
                    return Err(format!("`{}` uses `..` after a symbolic link", place.text));
                }
                Ok(place.real.clone())
            }
            [] | [_, _, ..] => Err(format!("`{}` is not a single folder", word_text(word))),
        },
    }
}

/// Whether a word leads to a folder by a link. The shell then takes `..`, and says where it is, by the text.
pub(super) fn leads_by_link(word: &Word, folder: &Path, world: &dyn World) -> bool {
    match named(word, folder, world) {
        Named::Unknown(_) => true,
        Named::Places(places) => places.iter().any(|place| place.plain != place.real),
    }
}

/// Whether a wildcard may match a name on the disk.
pub(super) fn finds(glob: &str, folder: &Path, world: &dyn World) -> bool {
    expand(glob, folder, world).map_or(true, |found| !found.is_empty())
}

/// A text as a wildcard that matches only itself.
pub(super) fn as_glob(text: &str) -> String {
    let mut glob = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
            glob.push('\\');
        }
        glob.push(letter);
    }
    glob
}

/// The repository that a folder belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Repository {
    /// None.
    None,
    /// The one whose work tree begins here.
    At(PathBuf),
    /// A work tree here, of the repository whose own work tree begins there.
    WorkTree(PathBuf, PathBuf),
    /// Something else that git would take for one, here.
    Odd(PathBuf),
}

/// Looks for the repository as git does: from the folder upwards.
pub(super) fn repository(folder: &Path, world: &dyn World) -> Repository {
    let mut path = PathBuf::with_capacity(folder.as_os_str().len() + "/objects".len());
    path.push(folder);
    loop {
        path.push(".git");
        if let Some(info) = world.info(&path) {
            let at = path.parent().unwrap_or(folder);
            if info.kind == FileKind::Folder {
                return Repository::At(at.to_owned());
            }
            return work_tree(at, &path, world).unwrap_or_else(|| Repository::Odd(at.to_owned()));
        }
        path.set_file_name("HEAD");
        let head = world.exists(&path);
        path.pop();
        if head && world.is_folder(&path.join("objects")) && world.is_folder(&path.join("refs")) {
            return Repository::Odd(path);
        }
        if !path.pop() {
            return Repository::None;
        }
    }
}

fn work_tree(at: &Path, git: &Path, world: &dyn World) -> Option<Repository> {
    let info = world.info(git)?;
    if info.kind != FileKind::File || info.length >= MAX_POINTER {
        return None;
    }
    let text = world.read_text(git, MAX_POINTER)?;
    let target = real(&at.join(text.strip_prefix("gitdir:")?.trim()), world)?;
    let trees = target.parent().filter(|trees| trees.file_name().is_some_and(|name| name == "worktrees"))?;
    let own = trees.parent().filter(|own| own.file_name().is_some_and(|name| name == ".git"))?;
    Some(Repository::WorkTree(at.to_owned(), own.parent()?.to_owned()))
}

/// The folders that a word leads into: one, or each that a wildcard finds.
pub(super) fn entered_each(word: &Word, folder: &Path, world: &dyn World) -> Result<Vec<PathBuf>, String> {
    if !word.pieces.contains(&Piece::one_word()) {
        return entered(word, folder, world).map(|folder| vec![folder]);
    }
    match named(word, folder, world) {
        Named::Unknown(why) => Err(why),
        Named::Places(places) if places.len() > MOST_FOLDERS => {
            Err(format!("`{}` matches more folders than askfirst checks", word_text(word)))
        }
        Named::Places(places) => {
            let found: Vec<PathBuf> =
                places.into_iter().map(|place| place.real).filter(|real| world.is_folder(real)).collect();
            if found.is_empty() { Err(format!("`{}` is not a folder", word_text(word))) } else { Ok(found) }
        }
    }
}

/// The folders after each of some words was entered. None if that cannot be told.
pub(super) fn entered_all<'f>(
    folders: &'f [PathBuf],
    words: &[Word],
    world: &dyn World,
) -> Cow<'f, [PathBuf]> {
    let mut found = Cow::Borrowed(folders);
    for word in words {
        let next: Result<Vec<Vec<PathBuf>>, String> =
            found.iter().map(|folder| entered_each(word, folder, world)).collect();
        match next {
            Ok(next) => found = Cow::Owned(next.concat()),
            Err(_) => return Cow::Owned(Vec::new()),
        }
    }
    found
}

#[cfg(test)]
#[path = "paths/tests.rs"]
mod tests;
