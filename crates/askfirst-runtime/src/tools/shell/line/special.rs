//! Commands of the shell itself that change what later words mean, or evaluate what they are given.

use super::flow::{Outcome, known};
use super::number::numeric;
use super::state::{Known, State};
use super::syntax::Span;
use super::tree::{Assignment, Exported, Piece, Word};
use super::walk::Walker;

/// Names that no function should take.
const NAMES: [&str; 86] = [
    "alias",
    "awk",
    "bash",
    "bg",
    "bind",
    "break",
    "builtin",
    "bun",
    "caller",
    "cargo",
    "cat",
    "cd",
    "chmod",
    "command",
    "compgen",
    "complete",
    "continue",
    "cp",
    "curl",
    "declare",
    "dirs",
    "disown",
    "docker",
    "echo",
    "enable",
    "env",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "find",
    "getopts",
    "git",
    "go",
    "grep",
    "hash",
    "head",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "ls",
    "make",
    "mapfile",
    "mkdir",
    "mv",
    "node",
    "npm",
    "pip",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "python",
    "python3",
    "read",
    "readarray",
    "readonly",
    "return",
    "rm",
    "sed",
    "set",
    "sh",
    "shift",
    "shopt",
    "sort",
    "source",
    "sudo",
    "tail",
    "test",
    "time",
    "touch",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "unset",
    "wait",
    "xargs",
];

/// Programs that only zsh has, or that it reads otherwise.
const ZSH: [&str; 24] = [
    "repeat",
    "print",
    "zmodload",
    "autoload",
    "setopt",
    "unsetopt",
    "emulate",
    "zle",
    "zstyle",
    "bindkey",
    "foreach",
    "noglob",
    "nocorrect",
    "whence",
    "vared",
    "ztcp",
    "zcompile",
    "zparseopts",
    "zsocket",
    "zpty",
    "zselect",
    "sched",
    "functions",
    "-",
];

/// Whether a function of this name would stand in front of a program.
pub(super) fn reserved(name: &str) -> bool {
    NAMES.contains(&name) || ZSH.contains(&name) || name.contains('/')
}

/// Whether a text may assign a variable without `=`.
pub(super) fn assigns(text: &str) -> bool {
    const WORDS: [&str; 13] = [
        "read", "mapfile", "declare", "typeset", "local", "unset", "getopts", "printf -", "eval", "source",
        ". ", "for ", "wait",
    ];
    WORDS.iter().any(|word| text.contains(word))
}

impl Walker<'_> {
    /// Names whose change alters how everything later is read.
    pub(super) fn watch(&mut self, name: &str, span: &Span) {
        match name {
            "IFS" => self.gap(span, "a change of `IFS`, which cuts words apart"),
            "GLOBIGNORE" | "POSIXLY_CORRECT" | "SHELLOPTS" | "BASHOPTS" | "BASH_ALIASES" | "BASH_CMDS"
            | "EXECIGNORE" | "FUNCNEST" => {
                self.gap(span, &format!("a change of `{name}`, which changes how the shell reads"))
            }
            "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "EPOCHSECONDS" | "SRANDOM" => {
                self.gap(span, &format!("a change of `{name}`, which is the shell's own"));
            }
            _ => {}
        }
    }

    /// What a command of the shell does to what is known; gaps for what it evaluates.
    pub(super) fn special(
        &mut self,
        words: &[Word],
        span: &Span,
        mut state: State,
        exports: &mut Vec<Assignment>,
    ) -> Outcome {
        let mut words = words;
        // `command cd x` and `builtin eval x` are what they start.
        let mut wrapped = false;
        while let [first, rest @ ..] = words {
            match first.literal() {
                Some("command" | "builtin" | "exec") => {
                    let mut rest = rest;
                    while let [option, more @ ..] = rest {
                        if !option.prefix().starts_with('-') {
                            break;
                        }
                        if first.literal() == Some("command") && matches!(option.literal(), Some("-v" | "-V"))
                        {
                            return Outcome::both(state);
                        }
                        rest = more;
                    }
                    if rest.is_empty() {
                        return Outcome::both(state);
                    }
                    wrapped = true;
                    words = rest;
                }
                Some(_) | None => break,
            }
        }
        let Some((program, operands)) = words.split_first() else { return Outcome::both(state) };
        let Some(name) = program.literal() else {
            if program.is_unknown() {
                self.gap(&program.span, "a program that is not known before it runs");
                state.forget();
                state.folders = None;
            } else {
                self.gap(&program.span, "a program that a wildcard finds");
            }
            return Outcome::both(state);
        };
        if name.is_empty() {
            self.gap(&program.span, "a program without a name");
        }
        if ZSH.contains(&name) {
            self.gap(span, &format!("`{name}`, which zsh reads in its own way"));
        }
        match name {
            "cd" | "pushd" | "popd" => return self.moved(name, operands, state),
            "exit" if !wrapped => return Outcome { ok: None, fail: None, output: None },
            "true" | ":" => return Outcome { ok: Some(state), fail: None, output: None },
            "false" => return Outcome { ok: None, fail: Some(state), output: None },
            "alias" if operands.iter().any(|word| word.literal().is_none_or(|text| text.contains('='))) => {
                self.gap(span, "an alias, which changes what later words mean");
            }
            "set" => self.set(operands, span, &mut state),
            "shopt" => {
                let harmless = ["-s", "-u", "-q", "-p", "nullglob", "failglob", "inherit_errexit"];
                if !operands.iter().all(|word| word.literal().is_some_and(|text| harmless.contains(&text))) {
                    self.gap(span, "a shell option that changes how later words are read");
                }
            }
            "hash" => {
                if !operands.iter().all(|word| word.literal() == Some("-r")) {
                    self.gap(span, "`hash`, which can put one program in place of another");
                }
            }
            "enable" | "bind" | "complete" | "compgen" | "compopt" | "fc" | "history" | "logout"
            | "suspend" => {
                self.gap(span, &format!("`{name}`, which changes or evaluates what the shell runs"));
            }
            "trap" => {
                let signals = operands.iter().skip(1);
                let late = |word: &Word| match word.literal() {
                    Some(text) => matches!(
                        text.to_ascii_uppercase().as_str(),
                        "DEBUG" | "ERR" | "RETURN" | "SIGDEBUG" | "SIGERR" | "SIGRETURN"
                    ),
                    None => true,
                };
                if signals.into_iter().any(late) || operands.iter().any(Word::is_unknown) {
                    self.gap(span, "a trap that runs between other commands");
                }
                state.forget();
                if operands.iter().any(|word| word.prefix().contains("cd")) {
                    state.folders = None;
                }
            }
            "eval" => {
                let text: Vec<Option<&str>> = operands.iter().map(Word::literal).collect();
                let moves = ["cd", "pushd", "popd"];
                if text
                    .iter()
                    .any(|text| text.is_none_or(|text| moves.iter().any(|word| text.contains(word))))
                {
                    state.folders = None;
                }
                if text
                    .iter()
                    .any(|text| text.is_none_or(|text| text.contains("()") || text.contains("function")))
                {
                    self.gap(span, "`eval` of what may define a function");
                }
                state.forget();
            }
            "source" | "." => state.forget(),
            "test" | "[" => self.test(operands, span),
            "printf" => self.printf(operands, span, &mut state),
            "let" => {
                for word in operands {
                    let fine = word.literal().is_some_and(|text| {
                        let names = text
                            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                            .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
                        let all = names.clone().all(|name| numeric(name, &state));
                        let assigned = text.split_once('=').is_some_and(|(name, value)| {
                            plain_name(name)
                                && !value.is_empty()
                                && value.bytes().all(|byte| byte.is_ascii_digit())
                        });
                        !text.contains(['[', '$', '`', '\'', '"']) && (all || assigned)
                    });
                    if !fine {
                        self.gap(span, "arithmetic that evaluates what a variable holds");
                    }
                    if let Some((name, _)) = word.prefix().split_once('=') {
                        state.set(name, Some(Known::Number));
                    }
                }
            }
            "declare" | "typeset" | "local" | "readonly" | "export" => {
                self.declare(name, operands, span, &mut state, exports);
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "wait" => {
                if name == "mapfile" || name == "readarray" {
                    let calls = |word: &Word| word.prefix().starts_with("-C") || word.is_unknown();
                    if operands.iter().any(calls) {
                        self.gap(span, "a command that runs for each line read");
                    }
                }
                let odd = |word: &Word| {
                    word.literal().is_none_or(|text| text.contains(['[', '$', '`']))
                        || (name == "unset" && word.literal().is_some_and(|text| special_name(text)))
                };
                let text = |word: &Word| word.literal().is_some_and(|text| text.contains(' '));
                if operands.iter().any(|word| odd(word) && !text(word)) {
                    self.gap(span, "the name of a variable that may be evaluated");
                }
                if operands.iter().any(|word| word.literal() == Some("IFS")) {
                    self.watch("IFS", span);
                }
                if name == "wait" && operands.is_empty() {
                    return Outcome::both(state);
                }
                for word in operands {
                    if let Some(text) = word.literal() {
                        state.set(text, None);
                    }
                }
                if name != "read" {
                    state.forget();
                } else {
                    state.set("REPLY", None);
                }
                if name == "unset" {
                    for word in operands {
                        word.literal().map(|text| state.functions.remove(text));
                    }
                }
            }
            _ => {}
        }
        Outcome::both(state)
    }

    fn moved(&mut self, name: &str, operands: &[Word], state: State) -> Outcome {
        let mut after = state.clone();
        let mut rest = operands;
        while let [option, more @ ..] = rest {
            match option.literal() {
                Some("-L" | "-P" | "-e" | "-LP" | "-Pe") if name == "cd" => rest = more,
                Some("--") => {
                    rest = more;
                    break;
                }
                Some(_) | None => break,
            }
        }
        match (name, rest) {
            ("cd", [word]) if word.literal() == Some("-") => after.folders = None,
            ("cd" | "pushd", [word]) => {
                let splits = word.pieces.iter().any(|piece| matches!(piece, Piece::Unknown(it) if it.splits));
                let turns = name == "pushd" && (word.prefix().starts_with(['+', '-']) || word.is_unknown());
                let empty = word.pieces.is_empty();
                if turns {
                    after.folders = None;
                } else if !empty {
                    after.enter(word);
                }
                if splits {
                    // It may become no word at all, and then the home is meant: the word is kept for the judge.
                }
            }
            ("cd", []) if after.home => {
                let span = operands.last().map_or(0..0, |word| word.span.clone());
                after.enter(&Word { span, pieces: vec![Piece::Home] });
            }
            _ => after.folders = None,
        }
        if name == "popd" {
            after.folders = None;
        }
        Outcome { ok: Some(after), fail: Some(state), output: None }
    }

    fn set(&mut self, operands: &[Word], span: &Span, state: &mut State) {
        let mut words = operands.iter();
        while let Some(word) = words.next() {
            let Some(text) = word.literal() else {
                self.gap(span, "shell options that are not known before it runs");
                return;
            };
            match text {
                "--" | "-" => return,
                _ if text.starts_with(['-', '+']) => {
                    let letters = text.trim_start_matches(['-', '+']);
                    if !letters
                        .bytes()
                        .all(|byte| matches!(byte, b'e' | b'u' | b'x' | b'v' | b'E' | b'C' | b'o'))
                    {
                        self.gap(span, "a shell option that changes how later words are read");
                    }
                    if letters.contains('o') {
                        let named = words.next().and_then(Word::literal);
                        if !matches!(
                            named,
                            None | Some(
                                "pipefail"
                                    | "errexit"
                                    | "nounset"
                                    | "xtrace"
                                    | "verbose"
                                    | "errtrace"
                                    | "noclobber"
                            )
                        ) {
                            self.gap(span, "a shell option that changes how later words are read");
                        }
                    }
                }
                _ => return,
            }
        }
        if operands.is_empty() {
            state.set("_", None);
        }
    }

    fn test(&mut self, operands: &[Word], span: &Span) {
        let operands = match operands {
            [head @ .., last] if last.literal() == Some("]") => head,
            all => all,
        };
        let spread = |word: &Word| {
            word.has_glob()
                || word.pieces.iter().any(|piece| matches!(piece, Piece::Unknown(it) if it.splits))
        };
        if operands.iter().any(spread) {
            // It may become several words, among them `-v name[…]`.
            self.gap(span, "a test of words that may fall apart");
            return;
        }
        let asks = |word: &Word| matches!(word.literal(), Some("-v" | "-R"));
        for two in operands.windows(2) {
            if let [first, second] = two
                && asks(first)
                && !second.literal().is_some_and(plain_name)
            {
                self.gap(span, "the name of a variable that may be evaluated");
            }
        }
        let body = match operands {
            [not, rest @ ..] if not.literal() == Some("!") => rest,
            all => all,
        };
        let joined = operands.iter().any(|word| matches!(word.literal(), Some("-a" | "-o" | "(" | ")")));
        let unknown = |word: &Word| word.is_unknown() && word.prefix().is_empty();
        let unary = matches!(body, [first, _] if unknown(first));
        if unary
            || (joined && operands.iter().any(unknown))
            || (operands.len() > 4 && operands.iter().any(unknown))
        {
            self.gap(span, "a test whose operators are not known before it runs");
        }
    }

    fn printf(&mut self, operands: &[Word], span: &Span, state: &mut State) {
        let Some(first) = operands.first() else { return };
        if first.prefix().starts_with("-v") {
            let name = match first.literal() {
                Some("-v") => operands.get(1).and_then(Word::literal),
                Some(text) => text.strip_prefix("-v"),
                None => None,
            };
            match name {
                Some(name) if plain_name(name) => {
                    self.watch(name, span);
                    state.set(name, None);
                }
                Some(_) | None => self.gap(span, "the name of a variable that may be evaluated"),
            }
        } else if first.literal().is_none() && first.prefix().is_empty() {
            self.gap(span, "a format that is not known before it runs");
        }
    }

    fn declare(
        &mut self,
        name: &str,
        operands: &[Word],
        span: &Span,
        state: &mut State,
        exports: &mut Vec<Assignment>,
    ) {
        let mut exported = name == "export";
        let mut evaluates = false;
        for word in operands {
            let text = word.literal();
            if let Some(options) = text.filter(|text| text.starts_with(['-', '+'])) {
                if name != "readonly"
                    && options.contains(['f', 'F'])
                    && !matches!(options, "-f" | "-F" if name != "export" && operands.len() == 1)
                {
                    self.gap(span, "functions that are handed on or printed");
                }
                if options.contains('n') && name != "export" {
                    self.gap(span, "a name that stands for another variable");
                }
                evaluates |= options.contains('i');
                exported |= options.contains('x');
                continue;
            }
            let (variable, value) = match word.prefix().split_once('=') {
                Some((variable, _)) => (variable, Some(behind(word))),
                None if text.is_some() => (word.prefix(), None),
                None => {
                    self.gap(span, "the name of a variable that may be evaluated");
                    continue;
                }
            };
            let append = variable.ends_with('+');
            let variable = variable.trim_end_matches('+');
            if !plain_name(variable) {
                self.gap(span, "the name of a variable that may be evaluated");
            }
            if evaluates {
                let number = |value: &Word| {
                    value.literal().is_some_and(|text| {
                        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
                    })
                };
                if !value.as_ref().is_none_or(number) {
                    self.gap(span, "arithmetic that evaluates what a variable holds");
                }
            }
            self.watch(variable, span);
            if let Some(value) = value {
                // Attributes of an earlier declaration may change what is kept.
                let plain = name == "export" && !append
                    || (name == "local" || name == "declare") && !append && !evaluates && operands.len() == 1;
                state.set(variable, plain.then(|| known(&value)).flatten());
                let exported = if exported { Exported::ToAll } else { Exported::No };
                exports.push(Assignment { name: variable.to_owned(), value, exported });
            } else if name != "export" {
                state.set(variable, None);
            }
            if evaluates || name == "readonly" {
                state.forget();
            }
        }
    }
}

/// What stands behind the first `=`.
fn behind(word: &Word) -> Word {
    let mut pieces = word.pieces.clone();
    if let Some(Piece::Text(text)) = pieces.first_mut() {
        let rest = text.split_once('=').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        *text = rest;
    }
    pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    let mut value = Word { span: word.span.clone(), pieces };
    super::word::whole(&mut value);
    value
}

fn plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn special_name(name: &str) -> bool {
    matches!(name, "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "EPOCHSECONDS")
}
