//! What a word does in its role: paths, the network, what it starts, what is asked about.

use super::Reader;
use crate::line::tree::{Piece, Unknown, Word};
use crate::programs::code::{self, Looked};
use crate::programs::guards;
use crate::programs::table::{self, Part, Special};
use crate::programs::test_words;
use crate::programs::used::{Nested, Operand, PathUse, Role};
use crate::programs::words::{is_name, joined, many, may_leave, shown, splits, without};

impl Reader<'_, '_> {
    /// Gives every operand its role.
    pub(super) fn assign(&mut self) {
        let operands = std::mem::take(&mut self.operands);
        let row = self.row();
        let count = operands.len();
        self.operands_given = count;
        let mut filled = false;
        let mut scripts: Vec<usize> = Vec::new();
        for (place, at) in operands.iter().copied().enumerate() {
            let Some(word) = self.words.get(at) else { continue };
            let text = Part { role: Role::Text, changes: false, tool: false, looked: table::Looked::Not };
            let part = match row {
                _ if self.rest_from.is_some_and(|from| at >= from) => Some(Part { role: Role::Rest, ..text }),
                None => Some(text),
                Some(row) => row.role(place, count),
            };
            let Some(part) = part else {
                let name = shown(word);
                let why = format!("`{name}` is an unexpected argument");
                self.doubt_named(at, vec![name], why);
                self.used.operands.push(Operand { word: at, role: Role::Text });
                continue;
            };
            if let Some(row) = row {
                if many(word) && part.role != Role::Rest && !row.loose(place, count) {
                    let why = format!("`{}` may become several words, or none", shown(word));
                    self.doubt(at, &why);
                }
                filled |= Some(part) == row.last() && !splits(word);
            }
            self.used.operands.push(Operand { word: at, role: part.role });
            if part.role == Role::Script && row.is_some_and(|row| row.star.is_some()) {
                scripts.push(at);
            } else if part.role != Role::Command {
                self.play(word, part, at);
            }
        }
        if let (Some(row), false) = (row, filled)
            && let (Some(path), Some(part)) = (row.or.as_deref(), row.last())
        {
            self.play(&Word::text(path, 0..0), part, 0);
        }
        if !scripts.is_empty() {
            let text = joined(scripts.iter().filter_map(|at| self.words.get(*at)));
            self.script(text, None);
        }
        self.operands = operands;
        self.code();
    }

    /// A word in its role.
    pub(super) fn play(&mut self, word: &Word, part: Part, at: usize) {
        let nowhere = part.role == Role::Write
            && matches!(word.literal(), Some("/dev/null" | "/dev/stdout" | "/dev/stderr"));
        self.changes |= part.changes && !nowhere;
        match part.looked {
            table::Looked::Not => {}
            table::Looked::Variable => self.variable(word, at),
            table::Looked::Package => self.package(word, at),
            table::Looked::Query => self.query(word, at),
            table::Looked::Remote => self.remote(word, at),
        }
        if matches!(part.role, Role::Tree | Role::Write) {
            self.elsewhere |= guards::is_elsewhere(&self.used.program, word.prefix());
            self.used.network |= self.elsewhere;
        }
        match part.role {
            Role::Text | Role::Rest | Role::Command | Role::Code => {}
            Role::Read | Role::Tree | Role::List => {
                if word.literal() != Some("-") {
                    self.path(word, part.role);
                }
                let named = word.prefix();
                if part.role != Role::List && guards::is_no_plain_path(&self.used.program, part.role, named) {
                    let name = shown(word);
                    let why = format!("`{name}` is not a plain path, so it needs a rule that names it");
                    self.doubt_named(at, vec![name], why);
                }
            }
            Role::Write => self.path(word, Role::Write),
            Role::Folder => {
                self.path(word, Role::Folder);
                self.used.folders.push(word.clone());
            }
            Role::Pathspec => {
                if may_leave(word) {
                    self.path(word, Role::Read);
                }
            }
            Role::Url => {
                self.used.network = true;
                self.used.only_loopback &= guards::is_loopback(word);
            }
            Role::File => {
                self.runs = true;
                if matches!(word.literal(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) {
                    let via = self.used.program.clone();
                    self.used.nested.push(Nested::Stdin { via });
                } else if is_stream(word.prefix()) {
                    let via = self.used.program.clone();
                    let unknown =
                        Unknown { text: shown(word), splits: false, output_of: None, ..Unknown::default() };
                    let text = Word::new(word.span.clone(), vec![Piece::Unknown(unknown)]);
                    self.used.nested.push(Nested::Script { via, text });
                } else {
                    self.path(word, Role::File);
                }
            }
            Role::Script => {
                let given =
                    self.used.options.iter().rev().find(|given| given.word <= at && given.value.is_some());
                let given = given.filter(|given| given.value.as_ref() == Some(word));
                let via = given.and_then(|given| given.names.first().cloned());
                self.script(word.clone(), via);
            }
            Role::Ask => {
                let name = shown(word);
                let why = format!("`{name}` needs a rule that names it");
                if word.literal().is_some() {
                    self.doubt_named(at, vec![name], why);
                } else {
                    self.doubt(at, &why);
                }
            }
        }
    }

    /// A word that may set a variable: `make SHELL=x`.
    fn variable(&mut self, word: &Word, at: usize) {
        if word.literal().is_none_or(|text| text.contains('=') && !is_harmless(text)) {
            let name = shown(word);
            let why = format!("`{name}` sets a variable, so it needs a rule that names it");
            self.doubt_named(at, vec![name], why);
        }
    }

    /// A word that is joined to others by blanks for a shell elsewhere, whatever quotes it had here.
    fn remote(&mut self, word: &Word, at: usize) {
        const SIGNS: [char; 13] = [';', '&', '|', '<', '>', '(', ')', '$', '`', '\\', '\'', '"', '\n'];
        let name = shown(word);
        match word.literal() {
            Some(text) if text.contains(SIGNS) => {
                let why = format!("a remote shell would read more than one word in `{name}`");
                self.doubt_named(at, vec![name], why);
            }
            Some(_) => {}
            None => self.doubt(at, &format!("`{name}` goes to a remote shell and is not known in advance")),
        }
    }

    pub(in crate::programs) fn path(&mut self, word: &Word, role: Role) {
        // `-f=x` is `=x` to some programs and `x` to others.
        if word.prefix().starts_with('=') {
            self.used.paths.push(PathUse { word: without(word, 1), role });
        }
        self.used.paths.push(PathUse { word: word.clone(), role });
    }

    /// A text that a shell runs.
    pub(super) fn script(&mut self, text: Word, option: Option<String>) {
        if self.style.special == Special::Trap {
            let resets = self.operands_given < 2 || matches!(text.literal(), Some("-" | ""));
            if resets {
                return;
            }
        }
        let program = self.used.program.as_str();
        let shell = self.style.special == Special::Shell && self.has("-c");
        let via = match option {
            Some(option) => format!("{program} {option}"),
            None if shell => format!("{program} -c"),
            None => program.to_owned(),
        };
        self.used.nested.push(Nested::Script { via, text });
    }

    /// Looks into texts in a language of their own, and into words that a builtin evaluates.
    pub(super) fn code(&mut self) {
        let looker: fn(&str) -> Looked = match self.style.special {
            Special::Sed => {
                self.suffix();
                code::sed
            }
            Special::Awk => code::awk,
            Special::Jq => code::jq,
            Special::Yq => code::yq,
            Special::Names => return self.names(),
            Special::Test => return test_words::read(self),
            Special::Nothing
            | Special::Find
            | Special::Env
            | Special::Xargs
            | Special::Shell
            | Special::Trap => {
                let given = self.used.operands.iter().any(|operand| operand.role == Role::Code);
                if given || !self.codes.is_empty() {
                    self.doubt(0, "this command runs code in a language that askfirst cannot check");
                }
                return;
            }
        };
        let mut texts: Vec<(Word, usize)> = std::mem::take(&mut self.codes);
        let operands = self.used.operands.iter().filter(|operand| operand.role == Role::Code);
        texts.extend(
            operands.filter_map(|operand| Some((self.words.get(operand.word)?.clone(), operand.word))),
        );
        let mut literal: Vec<(String, usize)> = Vec::new();
        for (text, at) in &texts {
            match text.literal() {
                Some(text) => literal.push((text.to_owned(), *at)),
                None => {
                    let why = format!("`{}` is code that is not known in advance", shown(text));
                    self.doubt(*at, &why);
                    self.used.unknown_code = true;
                }
            }
        }
        if self.style.special == Special::Sed && literal.len() > 1 {
            // A text of `a` may go on in the next one.
            let at = literal.first().map_or(0, |(_, at)| *at);
            let all: Vec<&str> = literal.iter().map(|(text, _)| text.as_str()).collect();
            literal = vec![(all.join("\n"), at)];
        }
        for (text, at) in literal {
            match looker(&text) {
                Looked::Fine { reads } => {
                    for path in reads {
                        self.path(&Word::text(path, 0..0), Role::Read);
                    }
                }
                Looked::Doubt(why) => self.doubt(at, &why),
            }
        }
    }

    /// Where `sed -i` puts the old file: a suffix with `/` or `*` is the way to it, not the end of its name.
    fn suffix(&mut self) {
        let places = self.used.options.iter().filter(|given| given.names.iter().any(|name| name == "-i"));
        let given: Vec<(usize, Word)> =
            places.filter_map(|given| Some((given.word, given.value.clone()?))).collect();
        for (at, suffix) in given {
            if suffix.literal().is_none_or(|text| text.contains(['/', '*'])) {
                let why = format!("`{}` is where `sed` writes the old file", shown(&suffix));
                self.doubt(at, &why);
            }
        }
    }

    /// Names of variables: an array's subscript would be evaluated.
    fn names(&mut self) {
        let operands: Vec<usize> = self.used.operands.iter().map(|operand| operand.word).collect();
        for at in operands {
            let Some(word) = self.words.get(at) else { continue };
            let name = word.prefix().split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
            let fine = match name {
                Some(name) => is_name(name),
                None => word.literal().is_some_and(is_name),
            };
            if !fine {
                let why = format!("`{}` is not a plain variable name", shown(word));
                self.doubt(at, &why);
            }
        }
        let given: Vec<(usize, Word)> =
            self.used.options.iter().filter_map(|given| Some((given.word, given.value.clone()?))).collect();
        for (at, value) in given {
            let plain = value.pieces.iter().all(|piece| match piece {
                Piece::Text(text) => !text.contains('['),
                Piece::Glob(_) | Piece::Home | Piece::Unknown(_) => false,
            });
            if !plain {
                let why = format!("`{}` may be evaluated", shown(&value));
                self.doubt(at, &why);
            }
        }
    }
}

/// What somebody sends, `<(…)` among it, in place of a file.
fn is_stream(path: &str) -> bool {
    path.starts_with("/dev/fd/") || (path.starts_with("/proc/") && path.contains("/fd/"))
}

/// Names by which a build is told what it is about, and never which program to use.
const ABOUT: [&str; 14] = [
    "ARCH",
    "BUILD_TYPE",
    "ENV",
    "MODE",
    "PACKAGE",
    "PKG",
    "PLATFORM",
    "PORT",
    "PROFILE",
    "STAGE",
    "SUITE",
    "TEST",
    "TESTS",
    "VERSION",
];

/// Options that tests and builds of every kind take, and that load nothing.
const QUIET_OR_LOUD: [&str; 16] = [
    "",
    "-v",
    "-vv",
    "-vvv",
    "--verbose",
    "-q",
    "-qq",
    "--quiet",
    "-x",
    "-s",
    "-short",
    "-race",
    "--release",
    "--no-capture",
    "--nocapture",
    "--lf",
];

/// `V=1`: how much a build says; `TEST=parser`: what it is about.
fn is_harmless(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else { return false };
    match name {
        "V" | "VERBOSE" | "DEBUG" | "Q" => {
            matches!(value, "" | "@" | "true" | "false" | "yes" | "no" | "on" | "off")
                || (value.len() <= 2 && value.bytes().all(|byte| byte.is_ascii_digit()))
        }
        // Options that say how much is printed, or when to stop.
        "ARGS" | "TESTARGS" | "TEST_ARGS" | "PYTEST_ARGS" | "FLAGS" | "TESTFLAGS" | "TEST_FLAGS" => {
            value.split(' ').all(|word| QUIET_OR_LOUD.contains(&word))
        }
        // Nothing that a recipe could take for an option, a path or more than one word.
        name => {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            ABOUT.contains(&name) && value.chars().all(plain) && !value.starts_with(['-', '.'])
        }
    }
}
