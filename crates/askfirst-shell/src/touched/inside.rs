//! Files that stand inside other words and files: lists of checksums, patches, the keys of `dd`, modules of Python.

use std::path::Path;

use super::Looker;
use crate::line::tree::{Way, Word};
use crate::orders::QUERIED;
use crate::paths::{self, Named, entered_all, word_text};
use crate::programs::used::{PathUse, Used};
use crate::reach::Touch;
use crate::world::FileKind;

/// Programs that read the files which a list names.
const SUMS: [&str; 9] =
    ["b2sum", "cksum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum"];
/// The longest patch that is looked into.
const MOST_PATCH: u64 = 1 << 20;
/// The longest list of checksums that is looked into.
const MOST_BYTES: u64 = 1 << 16;
/// Modules that `json.tool` loads.
const MODULES: &[&str] = &[
    "_colorize",
    "_json",
    "_locale",
    "_struct",
    "abc",
    "argparse",
    "ast",
    "bisect",
    "bz2",
    "codecs",
    "collections",
    "contextlib",
    "copy",
    "copyreg",
    "dataclasses",
    "dis",
    "encodings",
    "enum",
    "errno",
    "fnmatch",
    "functools",
    "genericpath",
    "gettext",
    "glob",
    "heapq",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "lzma",
    "math",
    "ntpath",
    "opcode",
    "operator",
    "os",
    "pathlib",
    "posixpath",
    "random",
    "re",
    "reprlib",
    "runpy",
    "shutil",
    "site",
    "sitecustomize",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "stat",
    "string",
    "struct",
    "sys",
    "textwrap",
    "threading",
    "token",
    "tokenize",
    "types",
    "typing",
    "urllib",
    "usercustomize",
    "tempfile",
    "warnings",
    "weakref",
    "zipfile",
    "zlib",
    "binascii",
    "atexit",
    "time",
];

impl Looker<'_> {
    /// The length of a regular file, links followed.
    fn length(&self, path: &Path) -> Option<u64> {
        self.world.info_behind(path).filter(|info| info.kind == FileKind::File).map(|info| info.length)
    }

    /// Files that a list of checksums names are read too.
    pub(super) fn listed(&mut self, used: &Used) {
        let checks = used.options.iter().any(|given| given.names.iter().any(|name| name == "--check"));
        if !checks || !SUMS.contains(&used.program.as_str()) {
            return;
        }
        // What comes by standard input is not looked into.
        let streamed = |path: &PathUse| matches!(path.word.literal(), Some("-" | "/dev/stdin"));
        if used.paths.is_empty() || used.paths.iter().any(streamed) {
            self.wonder("askfirst cannot tell which files this command checks");
        }
        let folders = &self.start.folders;
        for (path, folder) in used.paths.iter().flat_map(|path| folders.iter().map(move |at| (path, at))) {
            let Named::Places(places) = paths::named(&path.word, folder, self.world) else { continue };
            for place in places {
                let small = self.length(&place.real).is_some_and(|length| length <= MOST_BYTES);
                if !small && self.world.exists(&place.real) {
                    self.wonder(format!("askfirst cannot tell which files `{}` lists", place.text));
                    continue;
                }
                let text = self.world.read_text(&place.real, MOST_BYTES).unwrap_or_default();
                for name in text.lines().filter_map(listed_name) {
                    self.one(&Word::text(name, 0..0), Touch::Read, std::slice::from_ref(folder));
                }
            }
        }
    }

    /// A file of queries that a program is sent: some of its lines may be orders to the program itself.
    pub(super) fn queried(&mut self, used: &Used) {
        if !QUERIED.contains(&used.program.as_str()) {
            return;
        }
        let sent = self.start.redirections.iter().filter(|target| target.way == Way::Read);
        let words: Vec<Word> = sent.map(|target| target.word.clone()).collect();
        let folders = self.start.folders.clone();
        for (word, folder) in words.iter().flat_map(|word| folders.iter().map(move |at| (word, at))) {
            let Named::Places(places) = paths::named(word, folder, self.world) else { continue };
            for place in places.iter().filter(|place| !place.plain.starts_with("/dev")) {
                // What the line itself brings there counts as what runs.
                self.touched.run.push(place.real.clone());
                // Nor is it known what will be there.
                let small = self.length(&place.real).is_some_and(|length| length <= MOST_PATCH);
                let text = if small { self.world.read_text(&place.real, MOST_PATCH) } else { None };
                if text.is_none_or(|text| has_orders(&text)) {
                    self.wonder(format!("`{}` may contain commands that start other programs", place.text));
                }
            }
        }
    }

    /// What a patch would write is named in it.
    pub(super) fn patched(&mut self, used: &Used) {
        let git = used.program == "git"
            && used.subs.first().is_some_and(|sub| matches!(sub.name.as_str(), "apply" | "am"));
        if !git && used.program != "patch" {
            return;
        }
        let streams = self.start.redirections.iter().map(|target| &target.word);
        let operands = used.operands.iter().filter_map(|operand| self.start.words.get(operand.word));
        let words: Vec<Word> =
            streams.chain(operands).chain(used.paths.iter().map(|path| &path.word)).cloned().collect();
        let folders = entered_all(&self.start.folders, &used.folders, self.world);
        for (word, folder) in words.iter().flat_map(|word| folders.iter().map(move |at| (word, at))) {
            let Named::Places(places) = paths::named(word, folder, self.world) else { continue };
            for place in places {
                let size = self.length(&place.real);
                self.touched.judged_by.push(place.real.clone());
                let Some(size) = size else { continue };
                if size > MOST_PATCH {
                    self.wonder(format!("`{}` is too long to check which files it changes", place.text));
                    continue;
                }
                let text = self.world.read(&place.real, MOST_PATCH).unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                self.patch(&text, folder);
            }
        }
        if let Some(text) = &self.start.sent {
            folders.iter().for_each(|folder| self.patch(text, folder));
        }
    }

    fn patch(&mut self, text: &str, folder: &Path) {
        for path in text.lines().filter_map(patched_name) {
            let parts: Vec<&str> = path.split('/').collect();
            let below = |from: usize| folder.join(parts.get(from..).unwrap_or_default().join("/"));
            let found = (0..parts.len()).map(below).find_map(|path| {
                self.reach.never_in(path.parent().unwrap_or(folder), path.file_name().unwrap_or_default())
            });
            self.protect(found, &format!("the patch writes `{path}`"));
        }
    }

    /// Of a folder and a file `diff` compares the file of that name in the folder.
    pub(super) fn paired(&mut self, used: &Used) {
        let (true, [one, other]) =
            (matches!(used.program.as_str(), "diff" | "sdiff" | "colordiff"), used.paths.as_slice())
        else {
            return;
        };
        for (folder, file) in [(&one.word, &other.word), (&other.word, &one.word)] {
            let (Some(folder), Some(file)) = (folder.literal(), file.literal()) else { continue };
            let name = file.trim_end_matches('/').rsplit('/').next().unwrap_or(file);
            let inside = Word::text(format!("{folder}/{name}"), 0..0);
            if self.start.folders.iter().any(|at| self.world.is_folder(&at.join(folder))) {
                self.one(&inside, Touch::Read, &self.start.folders);
            }
        }
    }

    /// The files of `dd`, which stand behind their keys.
    pub(super) fn keyed(&mut self, used: &Used) {
        if used.program != "dd" {
            return;
        }
        let folders = &self.start.folders;
        for text in self.start.words.iter().skip(1).map(word_text) {
            match text.split_once('=') {
                Some(("if", path)) => self.one(&Word::text(path, 0..0), Touch::Read, folders),
                Some(("of", path)) => self.one(&Word::text(path, 0..0), Touch::Write, folders),
                Some(_) | None => {}
            }
        }
    }

    /// A module of Python itself, unless a file of the folder would be taken for it.
    pub(super) fn shadowed(&mut self, used: &Used) {
        if !used.subs.iter().any(|sub| sub.name == "json.tool") {
            return;
        }
        for folder in self.start.folders.iter() {
            self.touched.judged_by.extend(MODULES.iter().map(|module| folder.join(module)));
            let listing = self.world.list(folder, usize::MAX).unwrap_or_default();
            let taken = listing.iter().filter_map(|(name, _)| name.to_str()).find(|name| {
                let stem = name.split('.').next().unwrap_or(name);
                MODULES.contains(&stem)
            });
            if let Some(name) = taken {
                self.wonder(format!("`{name}` replaces a Python module"));
            }
        }
    }
}

/// Whether queries have orders among them: lines that begin with a dot, backslashes, and functions that reach files.
fn has_orders(text: &str) -> bool {
    let lower = text.to_lowercase();
    let reaching =
        ["load_extension", "writefile", "readfile", "program", "outfile", "system", "source", "edit("];
    text.contains('\\')
        || lower.lines().any(|line| line.trim_start().starts_with('.'))
        || reaching.iter().any(|word| lower.contains(word))
}

/// The file that a line of a patch names.
fn patched_name(line: &str) -> Option<&str> {
    let heads = ["+++ ", "--- ", "rename to ", "copy to ", "Index: ", "*** "];
    let path = heads.iter().find_map(|head| line.strip_prefix(head))?;
    let path = path.split('\t').next().unwrap_or(path).trim().trim_matches('"');
    (!path.is_empty()).then_some(path)
}

/// The file of a line of checksums: `HASH  name`, `HASH *name`, `MD5 (name) = HASH`.
fn listed_name(line: &str) -> Option<&str> {
    if let Some((head, _)) = line.rsplit_once(") = ") {
        return head.split_once(" (").map(|(_, name)| name);
    }
    let (_, name) = line.trim_start_matches('\\').split_once(' ')?;
    Some(name.strip_prefix([' ', '*', '?', '^']).unwrap_or(name))
}
