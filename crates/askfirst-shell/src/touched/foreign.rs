//! What somebody else may have written: repositories and projects of their own inside a root, other repositories that
//! git is pointed at, and addresses that turn out to be files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use askfirst::Approval;

use super::{Looker, Reason};
use crate::glob::{Glob, Reach};
use crate::line::tree::Word;
use crate::paths::{self, Named, Repository, entered_all, word_text};
use crate::programs::used::{Class, Role, Used};
use crate::reach::Touch;
use crate::real::real;

/// Programs that read a repository's config, which can start other programs.
const KEEPERS: [&str; 10] = ["git", "git-lfs", "gh", "glab", "hg", "hub", "jj", "lazygit", "sl", "tig"];
/// Programs that run what a project says while they install what it needs.
const INSTALLERS: [&str; 15] = [
    "bun", "bundle", "cargo", "composer", "conda", "deno", "mix", "npm", "pdm", "pip", "pip3", "pnpm",
    "poetry", "uv", "yarn",
];
/// Ways to reach another machine.
const SCHEMES: [&str; 9] = ["http", "https", "ssh", "git", "ftp", "ftps", "git+ssh", "ssh+git", "git+https"];
/// Ways that hand what is sent to something else than a web server.
const ODD: [&str; 12] =
    ["dict", "gopher", "imap", "ldap", "pop3", "rtsp", "scp", "sftp", "smb", "smtp", "telnet", "tftp"];

impl Looker<'_> {
    /// Programs that run what a folder configures, in a folder that is not the root's own project.
    pub(super) fn repositories(&mut self, used: &Used) {
        let keeper = KEEPERS.contains(&used.program.as_str());
        let installs = used.class == Class::Changes && INSTALLERS.contains(&used.program.as_str());
        if !keeper && used.class != Class::Runs && !installs {
            return;
        }
        let folders = entered_all(&self.start.folders, &used.folders, self.world);
        let mut looked = folders.to_vec();
        if keeper {
            self.touched.kept.clone_from(&looked);
        }
        if !keeper {
            for (path, folder) in used.paths.iter().flat_map(|path| folders.iter().map(move |at| (path, at)))
            {
                if let Named::Places(places) = paths::named(&path.word, folder, self.world) {
                    looked.extend(places.into_iter().map(|place| place.real));
                }
            }
            looked.extend(self.meant(used, &folders));
        }
        looked.sort();
        looked.dedup();
        for at in looked.iter().filter_map(|folder| self.foreign(folder)).collect::<Vec<_>>() {
            let name = at.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            self.wonder(if keeper {
                format!("`{name}` is a separate repository, and its config can run programs")
            } else {
                format!("`{name}` is a separate repository, and this command runs what it configures")
            });
        }
    }

    /// Places that words name which are no paths by their role: `go test ./x/...`, `vitest --dir x`.
    fn meant(&self, used: &Used, folders: &[PathBuf]) -> Vec<PathBuf> {
        let operands = used.operands.iter().filter_map(|operand| self.start.words.get(operand.word));
        let values = used.options.iter().filter_map(|given| given.value.as_ref());
        let texts = operands.chain(values).filter_map(Word::literal).flat_map(|text| {
            let text = text.trim_end_matches("...").trim_end_matches('/');
            [Some(text), text.split_once('=').map(|(_, value)| value)].into_iter().flatten()
        });
        let named = texts.filter(|text| !text.is_empty() && !text.starts_with('-') && !text.contains(' '));
        let places = named.flat_map(|text| folders.iter().map(move |folder| (text, folder.join(text))));
        let there = places.filter(|(text, place)| text.contains('/') || self.world.exists(place));
        there.filter_map(|(_, place)| real(&place, self.world)).collect()
    }

    /// The repository that a place belongs to, if it is none of the roots' own.
    fn foreign(&self, at: &Path) -> Option<PathBuf> {
        let found = self.reach.repository(at);
        let own = |place: &Path| {
            self.reach.roots.places().into_iter().any(|root| match &*self.reach.repository(root) {
                Repository::At(own) => own == place,
                Repository::WorkTree(tree, own) => own == place || tree == place,
                Repository::None | Repository::Odd(_) => false,
            })
        };
        match &*found {
            Repository::None => None,
            Repository::At(at) if own(at) => None,
            Repository::WorkTree(tree, at) if own(at) || own(tree) => None,
            Repository::At(at) | Repository::WorkTree(at, _) | Repository::Odd(at) => Some(at.clone()),
        }
    }

    /// Where git would fetch from or push to: a name and an address are covered by a rule, another repository of this
    /// machine and a helper are not.
    pub(super) fn remotes(&mut self, used: &Used) {
        let subs: Vec<&str> = used.subs.iter().map(|sub| sub.name.as_str()).collect();
        if used.program == "gh" && subs == ["repo", "clone"] && used.operands.len() == 1 {
            let folders = entered_all(&self.start.folders, &used.folders, self.world);
            let word = used.operands.first().and_then(|operand| self.start.words.get(operand.word));
            word.map(word_text).iter().for_each(|text| self.falls_beside(text, &folders));
        }
        if used.program == "gh" && subs == ["repo", "clone"] {
            let words = used.operands.iter().filter_map(|operand| self.start.words.get(operand.word));
            let handed = words.map(word_text).find(|text| text.starts_with('-'));
            handed.iter().for_each(|text| self.ask(format!("`gh` passes `{text}` on to git")));
        }
        if used.program == "gh" && subs.contains(&"api") {
            let words = self.start.words.iter().map(word_text).filter(|text| text.contains("://"));
            for text in words.collect::<Vec<_>>() {
                self.ask(format!("`{text}` may not be a GitHub server"));
            }
        }
        if !matches!(used.program.as_str(), "git" | "hub") {
            return;
        }
        let place = match subs.as_slice() {
            ["clone" | "fetch" | "pull" | "push" | "ls-remote", ..]
            | ["submodule", "add"]
            | ["remote", "show" | "prune" | "update"] => Some(0),
            ["remote", "add" | "set-url"] | ["subtree", _] => Some(1),
            _ => None,
        };
        let Some(place) = place else { return };
        let words: Vec<Word> =
            used.operands.iter().filter_map(|operand| self.start.words.get(operand.word)).cloned().collect();
        let folders = entered_all(&self.start.folders, &used.folders, self.world);
        for (at, word) in words.iter().enumerate() {
            let text = word_text(word);
            if text.split_once("::").is_some_and(|(helper, _)| is_name(helper)) {
                self.ask(format!("git reaches `{text}` through a helper, which may run anything"));
            } else if at == place && self.is_here(&text, &folders) {
                self.ask(format!("`{text}` is another repository on this machine"));
            } else if at == place && subs == ["push"] && text.contains([':', '/']) {
                self.ask(format!("`{text}` is not a remote of this repository"));
            }
        }
        if words.len() == place + 1 && matches!(subs.as_slice(), ["clone"] | ["submodule", "add"]) {
            words.last().map(word_text).iter().for_each(|text| self.falls_beside(text, &folders));
        }
    }

    /// Asks about a protected file that a command may write.
    pub(super) fn protect(&mut self, found: Option<(Approval, String)>, what: &str) {
        let reason = found.map(|(approval, why)| Reason::new(approval, format!("{what}: {why}")));
        self.touched.reasons.extend(reason);
    }

    /// What is cloned without a folder's name comes to lie under its own.
    fn falls_beside(&mut self, address: &str, folders: &[PathBuf]) {
        let plain = address.trim_end_matches('/');
        let plain = plain.strip_suffix(".git").unwrap_or(plain);
        let name = plain.rsplit(['/', ':']).next().unwrap_or_default();
        let found = folders.iter().find_map(|folder| self.reach.never_in(folder, name.as_ref()));
        self.protect(found, &format!("this command may write `{name}`"));
    }

    /// Whether a remote is a place of this machine.
    fn is_here(&self, text: &str, folders: &[PathBuf]) -> bool {
        if let Some((scheme, _)) = text.split_once("://") {
            return !SCHEMES.contains(&scheme.to_ascii_lowercase().as_str());
        }
        let host = text.split('/').next().unwrap_or_default();
        if host.contains(':') {
            return false;
        }
        let there = |folder: &PathBuf| self.world.exists(&folder.join(text));
        text.starts_with(['/', '.', '~']) || text.contains('/') || folders.iter().any(there)
    }

    /// Addresses that a program is given: a file of this machine is a path, and some reach more than the web.
    pub(super) fn addresses(&mut self, used: &Used, folders: &[PathBuf]) {
        for text in self.start.words.iter().skip(1).map(word_text) {
            self.address(&text, folders);
            self.sent(&text, folders);
        }
        for operand in used.operands.iter().filter(|operand| operand.role == Role::Url) {
            let Some(text) = self.start.words.get(operand.word).map(word_text) else { continue };
            if used.program == "curl" && is_spread(&text) {
                self.ask(format!("`{text}` expands to addresses with different beginnings"));
            }
            if used.program != "wget" {
                continue;
            }
            let path = text.split(['?', '#']).next().unwrap_or_default();
            let name = unescaped(path.rsplit('/').next().unwrap_or_default());
            let found = folders.iter().find_map(|folder| self.reach.never_in(folder, name.as_ref()));
            self.protect(found, &format!("this command may write `{name}`"));
        }
    }

    /// A file whose content is sent: `-d @file`, `-F name=@file`.
    fn sent(&mut self, text: &str, folders: &[PathBuf]) {
        let Some((before, path)) = text.split_once('@').filter(|(_, path)| !path.is_empty()) else { return };
        let marks = before.is_empty() || before.ends_with('=') || before.starts_with('-');
        for folder in folders.iter().filter(|_| marks) {
            let Named::Places(places) = paths::named(&Word::text(path, 0..0), folder, self.world) else {
                continue;
            };
            for place in places.iter().filter(|place| self.world.exists(&place.real)) {
                self.place(place, Touch::Read);
            }
        }
    }

    /// An address of a file on this machine is a path.
    fn address(&mut self, text: &str, folders: &[PathBuf]) {
        let lower = text.to_ascii_lowercase();
        let scheme = lower.split_once("://").map(|(scheme, _)| scheme);
        if scheme.is_some_and(|scheme| {
            ODD.iter().any(|odd| scheme == *odd || scheme.strip_suffix('s') == Some(odd))
        }) {
            return self.ask(format!("`{text}` is not the address of a web server"));
        }
        let Some(rest) = lower.find("file:").and_then(|at| text.get(at + "file:".len()..)) else { return };
        if rest.contains(['%', '{', '[']) {
            return self.ask(format!("`{text}` does not plainly name one file"));
        }
        let path = match rest.strip_prefix("//") {
            Some(named) => named.find('/').and_then(|at| named.get(at..)).unwrap_or_default(),
            None => rest,
        };
        self.one(&Word::text(path, 0..0), Touch::Read, folders);
    }

    /// A path that is an address to programs that know how to fetch one.
    pub(super) fn addressed(&mut self, word: &Word, folders: &[PathBuf]) {
        let Some(text) = word.literal() else { return };
        if self.start.used.as_ref().is_some_and(|used| used.program.starts_with("ff")) && text.contains(':') {
            return self.wonder(format!("`{text}` names a protocol, not a plain file"));
        }
        if let Some(rest) = text.get(..5).filter(|head| head.eq_ignore_ascii_case("file:")).and(text.get(5..))
        {
            let path = rest.strip_prefix("//").unwrap_or(rest);
            self.one(&Word::text(path, 0..0), Touch::Read, folders);
        } else if text.split_once("://").is_some_and(|(scheme, _)| is_name(scheme)) {
            self.ask(format!("`{text}` is an address, not a file"));
        }
    }

    /// Whether a path lies in the root that the command runs in.
    fn is_beside(&self, path: &Path) -> bool {
        let Some(place) = real(path, self.world) else { return false };
        let root = self.reach.root_of(&place);
        let here = &self.start.folders;
        root.is_some() && !here.is_empty() && here.iter().all(|folder| self.reach.root_of(folder) == root)
    }

    /// Operands that name another machine where a name or a file is expected, and what is handed on to a compiler.
    pub(super) fn strangers(&mut self, used: &Used) {
        let network = KEEPERS.contains(&used.program.as_str());
        let subs: Vec<&str> = used.subs.iter().map(|sub| sub.name.as_str()).collect();
        for operand in used.operands.iter().filter(|_| !network) {
            let Some(text) = self.start.words.get(operand.word).map(word_text) else { continue };
            let climbs = text.starts_with("../") || text.starts_with("~/");
            let whole = text.starts_with('/') && !text.starts_with("//") && !text.ends_with('/');
            let leaves = climbs || (whole && !self.is_beside(Path::new(&*text)));
            if used.class == Class::Runs && operand.role == Role::Text && leaves {
                self.ask(format!("this command may run `{text}`, which is outside the folder"));
            }
            let fetches = operand.role == Role::Pathspec || used.program == "helm";
            if fetches && text.contains("://") {
                self.ask(format!(
                    "`{text}` is an address, but a rule for `{}` covers only names and files",
                    used.program
                ));
            }
            if used.program == "go"
                && subs.first() == Some(&"run")
                && operand.role == Role::Pathspec
                && text.contains('@')
            {
                self.ask(format!("this command downloads and runs `{text}`"));
            }
        }
        let fetches = matches!(
            (used.program.as_str(), subs.last()),
            ("docker" | "podman" | "nerdctl", Some(&"build")) | ("kubectl" | "oc", _) | ("kustomize", _)
        );
        let given = used.options.iter().filter_map(|given| given.value.as_ref()).map(word_text);
        let operands = used.operands.iter().filter_map(|operand| self.start.words.get(operand.word));
        let texts: Vec<_> = operands.map(word_text).chain(given).filter(|_| fetches).collect();
        for text in texts.iter().filter(|text| is_remote(text)) {
            self.ask(format!("`{text}` is a remote repository"));
        }
        if used.program == "cargo" && matches!(subs.first(), Some(&("test" | "bench"))) {
            let words = self.start.words.iter().map(word_text).skip_while(|text| text != "--").skip(1);
            for text in words.filter(|text| text.starts_with("--logfile")).collect::<Vec<_>>() {
                self.wonder(format!("`{text}` writes a file"));
            }
        }
        if used.program == "cargo" && matches!(subs.first(), Some(&("clippy" | "rustc" | "rustdoc"))) {
            let words = self.start.words.iter().map(word_text).skip_while(|text| text != "--").skip(1);
            for text in words.filter(|text| !is_lint(text)).collect::<Vec<_>>() {
                self.wonder(format!("`cargo` passes `{text}` on to the compiler"));
            }
        }
        if matches!(used.program.as_str(), "docker" | "podman" | "nerdctl") && subs.last() == Some(&"cp") {
            let folders = &self.start.folders;
            let words: Vec<_> = used
                .operands
                .iter()
                .filter_map(|operand| self.start.words.get(operand.word))
                .map(word_text)
                .collect();
            for (at, text) in words.iter().enumerate() {
                let local = !text.split('/').next().unwrap_or_default().contains(':') && text != "-";
                let touch = if at == 0 { Touch::ReadAll } else { Touch::Write };
                if local {
                    self.one(&Word::text(&**text, 0..0), touch, folders);
                }
            }
        }
    }

    /// Files that git would bring back from another time: what is never written is not.
    pub(super) fn restored(&mut self, used: &Used, word: &Word, folders: &[PathBuf]) {
        let restores = used.program == "git"
            && used.subs.first().is_some_and(|sub| {
                matches!(sub.name.as_str(), "checkout" | "restore" | "rm" | "mv" | "stash" | "read-tree")
            });
        if !restores {
            return;
        }
        let text = word_text(word);
        let path = match text.strip_prefix(':') {
            Some(rest) => rest.rsplit([')', '/']).next().unwrap_or_default(),
            None => &*text,
        };
        for folder in folders {
            let Named::Places(places) = paths::named(&Word::text(path, 0..0), folder, self.world) else {
                continue;
            };
            for place in places {
                let above = place.real.parent().unwrap_or(folder);
                let name = place.real.file_name().unwrap_or_default();
                let found = self.reach.never_in(above, name);
                self.protect(found, &format!("this command may write `{text}`"));
                self.touched.filled.push(place.real);
            }
            // git looks for names by wildcards of its own, at any depth.
            if path.contains(['*', '?', '[']) {
                let glob = Glob::new(path.rsplit('/').next().unwrap_or(path));
                let fits =
                    |name: &OsStr| name.to_str().is_some_and(|name| glob.matches(name, Reach::Anything));
                if let Some(found) = self.reach.protected_below(folder, &fits) {
                    self.wonder(format!("this command may write `{text}`: {found}"));
                }
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '.'))
}

/// `github.com/owner/name`, `git@host:name`: what some programs fetch where they expect a folder.
fn is_remote(text: &str) -> bool {
    let host = text.split('/').next().unwrap_or_default();
    let owned =
        text.contains('/') && (host == "github.com" || host == "gitlab.com" || host == "bitbucket.org");
    owned || text.starts_with("git@") || text.starts_with("git::")
}

/// What only says what the compiler complains about: `-D`, `warnings`, `clippy::all`.
fn is_lint(text: &str) -> bool {
    let name = ["-D", "-W", "-A", "-F", "--deny", "--warn", "--allow", "--forbid"]
        .iter()
        .find_map(|option| text.strip_prefix(option))
        .unwrap_or(text);
    let name = name.strip_prefix('=').unwrap_or(name);
    !name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-'))
}

/// Whether an address has wildcards of curl before its host ends: `{file,http}://`, `[a-z]://`.
fn is_spread(text: &str) -> bool {
    let Some(at) = text.find(['{', '[']) else { return false };
    let (before, _) = text.split_at(at);
    let lower = before.to_ascii_lowercase();
    let host = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://"));
    let Some(host) = host else {
        // Without a scheme in front, what stands in the braces may hold one.
        return !before.contains('/');
    };
    let numbered = host.is_empty() && text.get(at..).is_some_and(is_number);
    !numbered && !host.contains(['/', '?'])
}

/// `[::1]:3000/…`.
fn is_number(text: &str) -> bool {
    let inner = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    inner.is_some_and(|(inner, rest)| {
        inner.contains(':')
            && inner.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'))
            && !rest.contains("://")
    })
}

/// A name with its `%2e` read.
fn unescaped(name: &str) -> String {
    let mut out = Vec::with_capacity(name.len());
    let mut bytes = name.bytes();
    while let Some(byte) = bytes.next() {
        let hex = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let mut ahead = bytes.clone();
        match (byte, hex(ahead.next()), hex(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                out.extend(u8::try_from(high * 16 + low));
                bytes = ahead;
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
