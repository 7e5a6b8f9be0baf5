//! Commands of the shell itself that change what later words mean, or evaluate what they are given.

use super::evaluates::plain_name;
use super::flow::Outcome;
use super::names::{STEERS, ZSH};
use super::number::{is_decimal, numeric};
use super::state::{Known, State, squeezed};
use super::syntax::Span;
use super::tree::{Assignment, Piece, Word};
use super::walk::Walker;

/// Whether a text may assign a variable without `=`.
pub(super) fn assigns(text: &str) -> bool {
    const WORDS: [&str; 13] = [
        "read", "mapfile", "declare", "typeset", "local", "unset", "getopts", "eval", "source", ". ", "for ",
        "select ", "wait",
    ];
    // `printf -v`, unless the first word behind it is surely a format.
    let printf = text.match_indices("printf").any(|(at, name)| {
        let rest = text.get(at + name.len()..).unwrap_or_default().trim_start();
        let word = rest.split_whitespace().next().unwrap_or_default();
        !word.starts_with(|c: char| c == '%' || c.is_ascii_alphanumeric()) || word.contains(['<', '>', '&'])
    });
    printf || WORDS.iter().any(|word| text.contains(word))
}

impl Walker<'_> {
    /// Names whose change alters how everything later is read.
    pub(super) fn watch(&mut self, name: &str, span: &Span) {
        match name {
            "IFS" => self.gap(span, "a change of `IFS`, which controls how words are split"),
            "TEXTDOMAIN" | "TEXTDOMAINDIR" => {
                self.gap(span, &format!("a change of `{name}`, which makes the shell replace text"));
            }
            "GLOBIGNORE" | "POSIXLY_CORRECT" | "SHELLOPTS" | "BASHOPTS" | "BASH_ALIASES" | "BASH_CMDS"
            | "EXECIGNORE" | "FUNCNEST" | "NULLCMD" | "READNULLCMD" => {
                self.gap(span, &format!("a change of `{name}`, which changes how the shell reads commands"))
            }
            _ if name.starts_with("BASH_VERSINFO") => {
                self.gap(span, "a change of a read-only variable, which ends the line");
            }
            "PWD" | "OLDPWD" | "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "EPOCHSECONDS"
            | "SRANDOM" | "HISTCMD" | "BASHPID" | "BASH_SUBSHELL" | "BASH_MONOSECONDS" | "EPOCHREALTIME"
            | "OPTIND" | "OPTERR" | "COLUMNS" | "LINES" | "DIRSTACK" | "GROUPS" | "FUNCNAME"
            | "COMP_CWORD" => {
                self.gap(span, &format!("a change of `{name}`, which is the shell's own variable"));
            }
            _ => {}
        }
    }

    /// A variable that gets its value by other means than `NAME=value`, so that nobody sees it as an assignment. Names in
    /// capitals are those that programs and the shell itself act upon.
    pub(super) fn slip(&mut self, name: &str, span: &Span) {
        let capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        if name.len() > 1 && name != "REPLY" && name != "MAPFILE" && name.bytes().all(capital) {
            self.gap(span, &format!("a change of `{name}`, which programs may use"));
        }
    }

    /// A variable that is taken away, or hidden in a function.
    pub(super) fn vanish(&mut self, name: &str, span: &Span) {
        match name {
            "PATH" => self.gap(span, "`PATH` without a value, which lets the shell run files in the folder"),
            "HOME" => self.gap(span, "`HOME` without a value"),
            _ => self.watch(name, span),
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
                self.gap(&program.span, "a program that is not known in advance");
                state.forget();
                state.lose_folders();
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
        // What follows is understood by looking for such words, so they must stand there.
        if STEERS.contains(&name) && squeezed(self.slice(&program.span)) != name {
            self.gap(&program.span, &format!("`{name}`, whose name comes from an expansion"));
            state.forget();
            state.lose_folders();
        }
        // With words that they do not take, the line may be left.
        if matches!(name, "break" | "continue" | "exit" | "logout" | "return" | "shift") {
            self.breaks |= operands.len() > 1 || !operands.iter().all(is_digits);
        }
        match name {
            "cd" | "pushd" | "popd" => return self.moved(name, operands, state),
            "break" | "continue" | "return" => {
                self.jumps = true;
                self.leaves |= name != "return";
            }
            // With more words it fails, and a shell that reads its orders goes on.
            "exit" if !wrapped && operands.len() <= 1 && operands.iter().all(is_digits) => {
                return Outcome { ok: None, fail: None, output: None };
            }
            "true" | ":" => return Outcome { ok: Some(state), fail: None, output: None },
            "false" => return Outcome { ok: None, fail: Some(state), output: None },
            "alias" if operands.iter().any(|word| word.literal().is_none_or(|text| text.contains('='))) => {
                self.gap(span, "an alias, which changes what later words mean");
            }
            // Where no process can be made any more, the line is left.
            "ulimit" => self.breaks = true,
            "set" => {
                operands.iter().for_each(|word| self.wilds.give("@", word));
                self.set(operands, span, &mut state);
            }
            "shopt" => {
                let harmless = ["-s", "-u", "-q", "-p", "nullglob", "inherit_errexit"];
                if !operands.iter().all(|word| word.literal().is_some_and(|text| harmless.contains(&text))) {
                    self.gap(span, "a shell option that changes how later words are read");
                }
                // Loops look for its name in the text.
                let vanish = operands.iter().any(|word| word.literal() == Some("nullglob"));
                if vanish && (self.hands_on() || !self.plain.contains("nullglob")) {
                    self.gap(span, "`nullglob`, which also applies to code that this line runs later");
                }
            }
            "hash" if !operands.iter().all(|word| word.literal() == Some("-r")) => {
                self.gap(span, "`hash`, which can replace one program with another");
            }
            "enable" | "bind" | "complete" | "compgen" | "compopt" | "fc" | "history" | "logout"
            | "suspend" => {
                self.gap(span, &format!("`{name}`, which changes or evaluates what the shell runs"));
            }
            "trap" => {
                let operands = match operands {
                    [dashes, rest @ ..] if dashes.literal() == Some("--") => rest,
                    all => all,
                };
                let signals = operands.iter().skip(1);
                let late = |word: &Word| match word.literal() {
                    Some(text) => matches!(
                        text.to_ascii_uppercase().as_str(),
                        "DEBUG"
                            | "ERR"
                            | "RETURN"
                            | "SIGDEBUG"
                            | "SIGERR"
                            | "SIGRETURN"
                            | "CHLD"
                            | "SIGCHLD"
                            | "17"
                    ),
                    None => true,
                };
                // What it sets may be set at any time, but for the end.
                let ends = |word: &Word| matches!(word.literal(), Some("EXIT" | "0" | "exit"));
                let sets = operands.first().is_some_and(|word| {
                    let text = squeezed(word.prefix());
                    let others = ["=", "((", "cd", "let ", "popd", "pushd", "set", "shift"];
                    assigns(&text) || others.iter().any(|it| text.contains(it))
                });
                if (sets && !operands.iter().skip(1).all(ends))
                    || signals.into_iter().any(late)
                    || operands.iter().any(Word::is_unknown)
                {
                    self.gap(span, "a trap that runs between other commands");
                }
                // It runs where the line ends, not where it stands.
                let around = [self.text.get(..span.start), self.text.get(span.end..)];
                let words = around.into_iter().flatten().flat_map(|text| {
                    text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '\\' | '\'' | '"'))
                });
                let moves = |word: &str| ["cd", "pushd", "popd"].contains(&squeezed(word).as_str());
                if operands.iter().any(|script| rereads(script.prefix())) {
                    self.gap(span, "a trap that changes how later words are read");
                }
                if operands.first().is_some_and(|script| !script.prefix().is_empty())
                    && (words.into_iter().any(moves) || self.text.contains("$'"))
                {
                    self.gap(span, "a trap that runs in another folder");
                }
                state.forget();
                if operands.iter().any(|word| squeezed(word.prefix()).contains("cd")) {
                    state.lose_folders();
                }
            }
            "eval" => {
                (self.jumps, self.leaves) = (true, true);
                let text: Vec<Option<&str>> = operands.iter().map(Word::literal).collect();
                let moves = ["cd", "pushd", "popd"];
                if text.iter().any(|text| {
                    text.is_none_or(|text| moves.iter().any(|word| squeezed(text).contains(word)))
                }) {
                    state.lose_folders();
                }
                if text
                    .iter()
                    .any(|text| text.is_none_or(|text| text.contains("()") || text.contains("function")))
                {
                    self.gap(span, "`eval` of text that may define a function");
                }
                if text.iter().any(|text| text.is_none_or(rereads)) {
                    self.gap(span, "`eval` of text that changes how later words are read");
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
                        self.gap(span, "arithmetic that evaluates the value of a variable");
                    }
                    let text = word.prefix().to_owned();
                    if let Some((name, _)) = text.split_once('=') {
                        self.slip(name, span);
                    }
                    // Where it fails, what was there stays.
                    for name in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
                        let sets = text.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
                        let sure = numeric(name, &state) || sets.is_some_and(is_decimal);
                        state.set(name, sure.then_some(Known::Number));
                    }
                }
            }
            "declare" | "typeset" | "local" | "readonly" | "export" => {
                self.declare(name, operands, span, &mut state, exports);
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "wait" => {
                if name == "mapfile" || name == "readarray" {
                    let calls = |word: &Word| {
                        (word.prefix().starts_with('-') && word.prefix().contains('C')) || word.is_unknown()
                    };
                    if operands.iter().any(calls) {
                        self.gap(span, "a command that runs for each line read");
                    }
                }
                let job = |word: &Word| {
                    name == "wait" && matches!(&*word.pieces, [Piece::Unknown(it)] if it.text == "$!")
                };
                let odd = |word: &Word| {
                    if job(word) {
                        return false;
                    }
                    word.literal().is_none_or(|text| text.contains(['[', '$', '`']))
                        || (name == "unset" && word.literal().is_some_and(special_name))
                };
                // The text of `read -p` is no name.
                let asked = |at: usize| {
                    let before = at.checked_sub(1).and_then(|at| operands.get(at)).and_then(Word::literal);
                    // A letter before it that takes a word of its own would take the `p`.
                    let letters = before.and_then(|option| option.strip_prefix('-')?.strip_suffix('p'));
                    name == "read"
                        && letters.is_some_and(|letters| letters.chars().all(|c| "ers".contains(c)))
                };
                // `read -raPATH`, `wait -pPATH`: the name may stand in the option's own word.
                let glued = |word: &Word| {
                    let options = word.prefix().strip_prefix('-').unwrap_or_default();
                    let names = if name == "wait" { 'p' } else { 'a' };
                    options.split_once(names).is_some_and(|(_, name)| !name.is_empty())
                };
                if matches!(name, "read" | "wait")
                    && operands.iter().enumerate().any(|(at, word)| glued(word) && !asked(at))
                {
                    self.gap(span, "a variable name attached to an option");
                }
                if operands.iter().enumerate().any(|(at, word)| odd(word) && !asked(at)) {
                    self.gap(span, "a variable name that may be evaluated");
                }
                if name != "unset" {
                    operands.iter().filter_map(Word::literal).for_each(|text| self.slip(text, span));
                } else {
                    operands.iter().filter_map(Word::literal).for_each(|text| self.vanish(text, span));
                }
                if name == "wait" && operands.is_empty() {
                    return Outcome::both(state);
                }
                for word in operands {
                    if let Some(text) = word.literal() {
                        state.set(text, None);
                    }
                }
                // `read -ax`: an option may hold the name.
                let attached = |word: &Word| word.prefix().starts_with('-') && word.prefix().contains('a');
                if name != "read" || operands.iter().any(attached) {
                    state.forget();
                } else {
                    state.set("REPLY", None);
                }
                if name == "unset" {
                    operands.iter().filter_map(Word::literal).for_each(|name| state.undefine(name));
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
            ("cd", [word]) if word.literal() == Some("-") => after.turn_back(),
            ("cd" | "pushd", [word]) => {
                let turns = name == "pushd" && (word.prefix().starts_with(['+', '-']) || word.is_unknown());
                let empty = word.pieces.is_empty();
                if turns {
                    after.lose_folders();
                } else if empty {
                    after.back.clone_from(&after.folders);
                } else {
                    after.enter(word);
                }
            }
            ("cd", []) if after.home => {
                let span = operands.last().map_or(0..0, |word| word.span.clone());
                after.enter(&Word::new(span, vec![Piece::Home]));
            }
            _ => after.lose_folders(),
        }
        if name == "popd" {
            after.lose_folders();
        }
        if name != "cd" {
            after.back = None;
        }
        Outcome { ok: Some(after), fail: Some(state), output: None }
    }

    fn set(&mut self, operands: &[Word], span: &Span, state: &mut State) {
        let mut words = operands.iter();
        while let Some(word) = words.next() {
            let Some(text) = word.literal() else {
                self.gap(span, "shell options that are not known in advance");
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
                    // Each takes a name.
                    for _ in letters.matches('o') {
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
}

/// Whether a text, which runs in this very shell, may change what variables keep or what wildcards become.
fn rereads(text: &str) -> bool {
    let text = squeezed(text);
    ["shopt", "declare", "typeset", "local", "readonly", "trap"].iter().any(|word| text.contains(word))
}

/// Whether a word is digits and nothing else.
fn is_digits(word: &Word) -> bool {
    word.literal().is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn special_name(name: &str) -> bool {
    matches!(name, "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "EPOCHSECONDS")
}
