//! What is named to be installed: a package of the usual index is covered by a rule, an address and somebody's
//! repository are asked about, and a folder or an archive is code that would run.

use super::Reader;
use crate::line::tree::{Piece, Word};
use crate::programs::used::Role;
use crate::programs::words::shown;

/// How addresses begin that have no `://`.
const ADDRESSES: [&str; 8] = ["git+", "git@", "git:", "github:", "gitlab:", "bitbucket:", "gist:", "hg+"];
/// How a package on this machine is named.
const HERE: [&str; 3] = ["file:", "link:", "portal:"];
const ARCHIVES: [&str; 12] = [
    ".whl", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".zip", ".conda", ".deb", ".rpm", ".gem", ".apk", ".rb",
];
/// Programs to which `owner/name` is a repository elsewhere.
const SHORTHANDS: [&str; 9] =
    ["brew", "bun", "deno", "npm", "pnpm", "yarn", "yarnpkg", "composer", "ansible-galaxy"];

/// Programs that install for the whole machine: a file of the project is none of theirs.
const MACHINE: [&str; 12] = [
    "apk",
    "apt",
    "apt-get",
    "brew",
    "conda",
    "dnf",
    "gem",
    "mamba",
    "microdnf",
    "micromamba",
    "pipx",
    "yum",
];

/// What a word names.
#[derive(Debug, PartialEq, Eq)]
enum Named<'t> {
    Package,
    Path(&'t str),
    Elsewhere,
}

impl Reader<'_, '_> {
    pub(super) fn package(&mut self, word: &Word, at: usize) {
        let globs = word.pieces.iter().all(|piece| matches!(piece, Piece::Text(_) | Piece::Glob(_)));
        let Some(text) = word.literal() else {
            if globs {
                self.runs = true;
                self.path(word, Role::File);
            }
            return;
        };
        match named(text, SHORTHANDS.contains(&self.used.program.as_str())) {
            Named::Package => {}
            Named::Path(path) if !MACHINE.contains(&self.used.program.as_str()) => {
                self.runs = true;
                self.path(&Word::text(path, word.span.clone()), Role::File);
            }
            Named::Path(_) | Named::Elsewhere => {
                let name = shown(word);
                let why = format!("`{name}` is not a plain package name");
                self.doubt_named(at, vec![name], why);
            }
        }
    }
}

fn named(text: &str, shorthands: bool) -> Named<'_> {
    // `npm:chalk`, `jsr:@std/path`: of the usual index, said in full.
    let text = ["npm:", "jsr:"].iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    let at = text.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let spec = at.and_then(|at| text.get(at + 1..)).map(str::trim);
    let name = at.and_then(|at| text.get(..at)).unwrap_or(text);
    if [Some(text), spec].into_iter().flatten().any(is_address)
        || text.starts_with('!')
        || text.ends_with('-')
    {
        return Named::Elsewhere;
    }
    for part in [text].into_iter().chain(spec) {
        let here = HERE.iter().find_map(|scheme| part.strip_prefix(scheme));
        let path = here.or_else(|| {
            let path = part.starts_with(['.', '/', '~']) || ARCHIVES.iter().any(|end| part.ends_with(end));
            path.then_some(part)
        });
        if let Some(path) = path {
            // `.[dev]`: the parts of a project that are wanted.
            return Named::Path(path.split('[').next().unwrap_or(path));
        }
    }
    let scoped = name.strip_prefix('@').is_some_and(|name| name.matches('/').count() == 1);
    match (spec.is_some_and(|spec| spec.contains('/')), name.contains('/') && !scoped) {
        (true, _) => Named::Elsewhere,
        (false, true) if shorthands => Named::Elsewhere,
        (false, true) => Named::Path(text),
        (false, false) => Named::Package,
    }
}

fn is_address(text: &str) -> bool {
    // Installers know an address by what stands before its colon, in whatever letters.
    let lower = text.to_ascii_lowercase();
    let scheme =
        ["http:", "https:", "ftp:", "ssh:"].iter().chain(&ADDRESSES).any(|scheme| lower.starts_with(scheme));
    scheme || text.contains("://")
}

#[cfg(test)]
#[path = "packages/tests.rs"]
mod tests;
