//! A script by another way: `./run.sh`, `sh run.sh` and `. run.sh` are all `bash run.sh`.

use std::path::Path;

use super::{Denied, Ways, names, says};
use crate::line::tree::Word;
use crate::paths::word_text;
use crate::pattern::{Exact, Pattern, PatternWord};
use crate::programs::used::{Known, Role, Used};
use crate::start::Start;

/// Programs that run files of one language.
struct Family {
    /// By which a denial may name a file.
    names: &'static [&'static str],
    /// They run such files too.
    starters: &'static [&'static str],
    /// What is put behind a name that is no file.
    endings: &'static [&'static str],
    /// How names of such files end.
    suffixes: &'static [&'static str],
}

const FAMILIES: [Family; 5] = [
    Family {
        names: &["bash", "sh", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "source", "."],
        starters: &["busybox"],
        endings: &[],
        suffixes: &["sh", "bash", "zsh", "ksh"],
    },
    Family {
        names: &["python3", "python", "pypy3", "pypy", "py", "python2"],
        starters: &["coverage", "uv", "ipython", "kernprof", "scalene", "viztracer", "pdb3", "pdb"],
        endings: &["/__main__.py"],
        suffixes: &["py", "pyw", "pyz", "pyc"],
    },
    Family {
        names: &["node", "nodejs", "bun", "deno", "tsx", "ts-node"],
        starters: &["nodemon", "babel-node", "esbuild-register", "nyc", "c8", "pm2", "forever"],
        endings: &[".js", ".cjs", ".mjs", ".ts", ".json", "/index.js"],
        suffixes: &["js", "cjs", "mjs", "ts", "mts", "cts"],
    },
    Family { names: &["ruby", "jruby"], starters: &[], endings: &[], suffixes: &["rb"] },
    Family { names: &["perl", "perl5"], starters: &[], endings: &[], suffixes: &["pl", "pm"] },
];

/// Modules of Python that run a file which they are given.
const MODULES: [&str; 9] =
    ["pdb", "ipdb", "coverage", "cProfile", "profile", "trace", "runpy", "debugpy", "viztracer"];

/// The names of programs by which a denial may mean the script that is run.
pub(super) fn starters(used: &Used) -> impl Iterator<Item = &'static str> {
    let program = bare(&used.program);
    let file = used.path.as_deref();
    FAMILIES.iter().filter(move |family| family.runs(program, file)).flat_map(|family| family.names).copied()
}

impl Family {
    /// Whether a program is one of these, or a file that one of them may run.
    fn runs(&self, program: &str, file: Option<&str>) -> bool {
        let named = self.names.iter().chain(self.starters).any(|name| bare(name) == program);
        named || file.is_some_and(|file| self.may_run(file))
    }

    /// Whether a file that is run by its path may be of this language.
    fn may_run(&self, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or(file);
        match name.rsplit_once('.') {
            Some((_, suffix)) => self.suffixes.contains(&suffix),
            None => true,
        }
    }
}

/// Holds a denial that names a script against a command that may run it otherwise.
pub(super) fn denies(pattern: &Pattern, start: &Start, used: &Used, ways: Ways<'_>) -> Denied {
    let Some((program, wanted)) = pattern.words.split_first() else { return Denied::No };
    let Some((file, more)) = wanted.split_first().filter(|(file, _)| !file.is_option()) else {
        return Denied::No;
    };
    let own = program.glob.plain().map(|name| bare(name.rsplit('/').next().unwrap_or(name)));
    let family = FAMILIES.iter().find(|family| family.names.iter().any(|name| Some(bare(name)) == own));
    let Some(family) = family else { return Denied::No };
    let by_path = used.path.as_deref().filter(|path| family.may_run(path)).map(|_| 0);
    let named = family.runs(bare(&used.program), None);
    let given = used.operands.iter().filter(|operand| named && is_run(operand.role, used));
    let given = by_path.into_iter().chain(given.map(|operand| operand.word));
    let look = Look { start, used, ways, family };
    let fits = |at: usize| {
        let behind = start.words.len().saturating_sub(at + 1);
        if pattern.exact == Exact::Yes && behind != more.len() {
            return Denied::No;
        }
        look.is_file(file, at).min(look.follow(more, at + 1))
    };
    let found = given.map(fits).max().unwrap_or(Denied::No);
    found.max(if named { look.is_module(file, more) } else { Denied::No })
}

/// Whether a word may be a file that is run. What is only read, checked or formatted is not.
fn is_run(role: Role, used: &Used) -> bool {
    let module = used.options.iter().find(|given| given.names.iter().any(|name| name == "-m"));
    let module = module.and_then(|given| given.value.as_ref()?.literal());
    let starts = module.is_none_or(|name| MODULES.contains(&name));
    match role {
        Role::File | Role::Rest | Role::Command | Role::Ask | Role::Text => starts,
        Role::Read
        | Role::Tree
        | Role::List
        | Role::Write
        | Role::Folder
        | Role::Pathspec
        | Role::Url
        | Role::Script
        | Role::Code => used.known == Known::Nothing,
    }
}

/// A command, and what its file is held against.
struct Look<'a> {
    start: &'a Start,
    used: &'a Used,
    ways: Ways<'a>,
    family: &'a Family,
}

impl Look<'_> {
    fn is_file(&self, wanted: &PatternWord, at: usize) -> Denied {
        let Some(word) = self.start.words.get(at) else { return Denied::No };
        let own = says(wanted, at, self.start, self.used, self.ways);
        let text = word_text(word);
        let short = text.strip_prefix("./").unwrap_or(&text);
        let longer =
            self.family.endings.iter().map(|ending| format!("{}{ending}", short.trim_end_matches('/')));
        longer.chain([short.to_owned()]).map(|text| self.leads(wanted, &text)).max().unwrap_or(own).max(own)
    }

    fn leads(&self, wanted: &PatternWord, text: &str) -> Denied {
        if wanted.glob.matches(text, crate::glob::Reach::Anything) {
            return Denied::Yes;
        }
        let word = Word::text(text, 0..0);
        let here = |folder: &Path| names(wanted, &word, folder, self.ways);
        // A folder that the file lies in is no script.
        let surely = self.start.folders.iter().any(|folder| here(folder) == Denied::Yes);
        if surely { Denied::Yes } else { Denied::No }
    }

    /// `python3 -m scripts.deploy`
    fn is_module(&self, wanted: &PatternWord, more: &[PatternWord]) -> Denied {
        let words = self.start.words.iter().enumerate().skip(1);
        let named = words.filter_map(|(at, word)| match word.literal()?.strip_prefix("-m")? {
            "" => Some((at + 1, self.start.words.get(at + 1)?.literal()?)),
            name => Some((at, name)),
        });
        let path = |name: &str| name.replace('.', "/");
        let fits = |(at, name): (usize, &str)| {
            let files = [format!("{}.py", path(name)), format!("{}/__main__.py", path(name))];
            let file = files.iter().map(|file| self.leads(wanted, file)).max().unwrap_or(Denied::No);
            file.min(self.follow(more, at + 1))
        };
        named.map(fits).max().unwrap_or(Denied::No)
    }

    /// Whether the words stand here, in this order.
    fn follow(&self, wanted: &[PatternWord], mut from: usize) -> Denied {
        let mut said = Denied::Yes;
        for pattern in wanted {
            let places = from..self.start.words.len();
            let here = |at: usize| (says(pattern, at, self.start, self.used, self.ways), at);
            let found = places.map(here).max_by_key(|(denied, at)| (*denied, std::cmp::Reverse(*at)));
            let Some((denied, at)) = found else { return Denied::No };
            said = said.min(denied);
            from = at + 1;
        }
        said
    }
}

/// A name without its version.
fn bare(name: &str) -> &str {
    if name == "." {
        return name;
    }
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}
