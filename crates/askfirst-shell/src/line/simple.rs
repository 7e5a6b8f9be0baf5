//! One simple command: its words, assignments and redirections, read into the line.

use super::atoms::Wild;
use super::flow::Outcome;
use super::guard::Place;
use super::number::Alone;
use super::state::{Known, State};
use super::syntax::{Assign, Kind, Raw, Redirect, Span, Value};
use super::tree::{Assignment, Command, Exported, Piece, Redirection, Stdin, Step, Unknown, Way, Word};
use super::walk::Walker;
use super::word::Around;

impl Walker<'_> {
    pub(super) fn begin(&mut self, span: &Span, state: &State) -> usize {
        self.spend(64);
        let index = self.commands.len();
        self.commands.push(Command {
            span: span.clone(),
            words: Vec::new(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            folders: state.folders.as_deref().cloned(),
            stdin: self.stdin.clone(),
            mixes: false,
            loose: Vec::new(),
            reached: self.reached.clone(),
        });
        index
    }

    pub(super) fn raw(&mut self, raw: &Raw, place: Place, state: &mut State) -> Vec<Word> {
        match raw {
            Raw::Word(span) => self.words(span, place, state),
            Raw::Array(assign) => {
                let (value, _) = self.assigned(assign, state);
                let mut pieces = vec![Piece::Text(format!("{}=", assign.name))];
                pieces.extend(value.pieces.iter().cloned());
                vec![Word::new(assign.span.clone(), pieces)]
            }
        }
    }

    /// The value of an assignment and what is known by it, with what its index and elements run.
    fn assigned(&mut self, assign: &Assign, state: &mut State) -> (Word, Option<Known>) {
        if let Some(index) = &assign.index {
            let digits = self.slice(index).bytes().all(|byte| byte.is_ascii_digit()) && !index.is_empty();
            // A place that is not there, or a list in it, ends the line.
            self.breaks |= !digits || matches!(assign.value, Value::Many(..));
            self.number(index, Alone::No, state);
        }
        match &assign.value {
            Value::One(span) => {
                let outer = self.wilds.printed.take();
                let value = self.value(span, Wild::Text, state);
                match assign.append {
                    true => self.wilds.add(&assign.name, &value),
                    false => self.wilds.give(&assign.name, &value),
                }
                if let Some(leads) = std::mem::replace(&mut self.wilds.printed, outer) {
                    self.wilds.note(&assign.name, leads);
                }
                let known = known(&value);
                (value, known)
            }
            Value::Many(words, keys) => {
                if matches!(assign.name.as_str(), "path" | "fpath" | "cdpath" | "manpath" | "module_path")
                    || assign.name.ends_with("_functions")
                {
                    self.gap(&assign.span, "an array such as `path`, which zsh searches for programs");
                }
                // Bash writes a substitution anew before it runs it, and loses these in a list.
                if self.reached.contains(&Step::Substitution) && self.slice(&assign.span).contains('\\') {
                    self.gap(&assign.span, "a backslash in an array inside a substitution");
                }
                for key in keys {
                    self.breaks = true;
                    self.number(key, Alone::No, state);
                }
                let mut elements = Vec::with_capacity(words.len());
                for word in words {
                    elements.extend(self.words(word, Place::Operand, state));
                }
                self.give_list(&assign.name, &elements);
                let elements: Option<Vec<String>> =
                    elements.iter().map(|word| word.literal().map(str::to_owned)).collect();
                let elements = elements.filter(|_| keys.is_empty());
                let text = self.slice(&assign.span).to_owned();
                let unknown = Unknown { text, splits: false, output_of: None, ..Unknown::default() };
                let value = Word::new(assign.span.clone(), vec![Piece::Unknown(unknown)]);
                (value, elements.map(|elements| Known::List(elements.into())))
            }
        }
    }

    pub(super) fn simple(
        &mut self,
        span: &Span,
        assigns: &[Assign],
        raws: &[Raw],
        redirects: &[Redirect],
        mut state: State,
    ) -> Outcome {
        let index = self.begin(span, &state);
        let current = self.current.replace(index);
        let mut words = Vec::with_capacity(raws.len());
        let mut end = span.start;
        if let Some(Raw::Word(first)) = raws.first()
            && super::cover::reserved(self.slice(first))
        {
            self.gap(first, "a shell keyword where a program is expected");
        }
        let mut behind = assigns.last().map(|assign| assign.span.end);
        for raw in raws {
            let place_of = match raw {
                Raw::Word(span) => span,
                Raw::Array(assign) => &assign.span,
            };
            if behind.replace(place_of.end) == Some(place_of.start) {
                self.gap(place_of, "words that the parser splits where bash does not");
            }
            // `3<<<`: the number of a stream, which the parser takes for a word.
            let digits = self.slice(place_of).bytes().all(|byte| byte.is_ascii_digit());
            if digits && redirects.iter().any(|it| it.span.start == place_of.end) {
                self.gap(place_of, "a number directly before a redirection");
            }
            let place = if words.is_empty() { Place::Program } else { Place::Operand };
            words.extend(self.raw(raw, place, &mut state));
            end = end.max(match raw {
                Raw::Word(span) => span.end,
                Raw::Array(assign) => assign.span.end,
            });
        }
        let led = self.redirects(index, redirects, &mut state);
        let stdin = led.clone().unwrap_or_else(|| self.stdin.clone());
        self.takes(&words, &stdin);
        for redirect in redirects {
            end = end.max(redirect.span.end);
        }
        let mut assignments = Vec::with_capacity(assigns.len());
        let scope = if raws.is_empty() { Exported::No } else { Exported::ToThis };
        for (at, assign) in assigns.iter().enumerate() {
            end = end.max(assign.span.end);
            // What stands before it holds already.
            let text = self.slice(&assign.span);
            let taken = |before: &Assign| text.contains('$') && text.contains(before.name.as_str());
            if scope == Exported::ToThis && assigns.iter().take(at).any(taken) {
                self.gap(&assign.span, "a value that uses another variable set for the same command");
            }
            let (value, known) = self.assigned(assign, &mut state);
            if assign.name == "IFS" && scope == Exported::ToThis && is_read(&words) {
                continue;
            }
            self.watch(&assign.name, &assign.span);
            self.recodes(&assign.name, &value, &assign.span);
            if matches!(&known, Some(Known::List(elements)) if !elements.is_empty()) {
                self.lists.insert(assign.name.clone());
            }
            let plain = assign.index.is_none() && !assign.append;
            if scope == Exported::No {
                // Where a file cannot be opened, not every shell sets it.
                state.set(&assign.name, known.filter(|_| plain && redirects.is_empty()));
            } else if words.first().and_then(Word::literal).is_some_and(keeps) {
                // In `sh` these keep what is set in front of them.
                state.set(&assign.name, None);
            }
            assignments.push(Assignment { name: assign.name.clone(), value, exported: scope });
        }
        // What stands in front of it may have read some of it.
        let stdin = led.unwrap_or_else(|| self.stdin.clone());
        self.current = current;
        let from = [
            assigns.first().map(|it| it.span.start),
            redirects.first().map(|it| it.span.start),
            raws.first().map(|raw| match raw {
                Raw::Word(span) => span.start,
                Raw::Array(assign) => assign.span.start,
            }),
        ];
        let from = from.into_iter().flatten().min().unwrap_or(span.start);
        let before = (!redirects.is_empty()).then(|| state.clone());
        let called = words.first().and_then(Word::literal).is_some_and(|name| state.functions.contains(name));
        let words_name = words.first().and_then(Word::literal).map(str::to_owned);
        let entry = called.then(|| state.clone());
        let mut outcome = if called {
            state.forget();
            if self.moves {
                state.lose_folders();
            }
            Outcome::both(state)
        } else if raws.is_empty() {
            Outcome::both(state)
        } else {
            let mut exports = Vec::new();
            let outcome = self.special(&words, &(from..end.max(from)), state, &mut exports);
            assignments.extend(exports);
            outcome
        };
        let empty =
            called && assignments.is_empty() && redirects.is_empty() && index + 1 == self.commands.len();
        if empty {
            self.commands.pop();
        }
        if let (Some(entry), Some(name)) = (entry, &words_name) {
            self.call(name, &(from..end), words.get(1..).unwrap_or_default(), &entry);
        }
        if empty {
            return outcome;
        }
        if let Some(command) = self.commands.get_mut(index) {
            command.span = from..end.max(from);
            command.words = if called { Vec::new() } else { words };
            command.assignments = assignments;
            command.stdin = stdin;
        }
        // Where a file cannot be opened it does not happen at all.
        if let Some(before) = before {
            outcome.fail = Some(match outcome.fail.take() {
                Some(fail) => fail.merge(&before),
                None => before,
            });
        }
        if !called && words_name.is_some_and(|name| self.may_be_function(&name)) {
            self.gap(&(from..end.max(from)), "a name that may be a function");
        }
        let elsewhere = |redirect: &Redirect| {
            let out = redirect.fd.is_none_or(|fd| fd == 1);
            let taken = redirect.fd == Some(1);
            (out && matches!(redirect.kind, Kind::DupOut(_) | Kind::Write(_)))
                || (taken && matches!(redirect.kind, Kind::DupIn(_) | Kind::Both(_) | Kind::Read(_)))
        };
        outcome.output = (!called && !redirects.iter().any(elsewhere)).then_some(index);
        outcome
    }

    /// Reads redirections into a command; where they lead its standard input, if they do.
    pub(super) fn redirects(
        &mut self,
        index: usize,
        redirects: &[Redirect],
        state: &mut State,
    ) -> Option<Stdin> {
        let mut stdin = None;
        for redirect in redirects {
            if let Some(name) = &redirect.named {
                self.watch(name, &redirect.span);
                state.set(name, Some(Known::Number));
            }
            let zero = redirect.named.is_none() && redirect.fd.is_none_or(|fd| fd == 0);
            if is_mixing(redirect)
                && let Some(command) = self.commands.get_mut(index)
            {
                command.mixes = true;
            }
            let (way, target) = match &redirect.kind {
                Kind::Read(target) => {
                    if zero {
                        stdin = Some(Stdin::Inherited);
                    }
                    (Way::Read, target)
                }
                Kind::Write(target) => (Way::Write, target),
                Kind::Both(target) => {
                    if zero {
                        stdin = Some(Stdin::Inherited);
                    }
                    (Way::Both, target)
                }
                Kind::DupIn(target) | Kind::DupOut(target) => {
                    let text = self.slice(target).trim_end_matches('-');
                    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
                    let input = matches!(redirect.kind, Kind::DupIn(_));
                    if input && zero {
                        stdin = Some(Stdin::Unknown);
                    }
                    if plain {
                        continue;
                    }
                    (if input { Way::Both } else { Way::Write }, target)
                }
                Kind::String(target) => {
                    let word = self.value(target, Wild::Text, state);
                    if zero {
                        stdin = Some(Stdin::Text(word));
                    }
                    continue;
                }
                Kind::Doc { body, expands, strips } => {
                    let word = self.body(body, *expands, *strips, state);
                    if zero {
                        stdin = Some(Stdin::Text(word));
                    }
                    continue;
                }
            };
            if self.slice(target).starts_with('!') {
                self.gap(target, "`>!`, which zsh reads differently");
            }
            let mut words = self.words(target, Place::Operand, state);
            if words.len() != 1 {
                self.gap(target, "a redirection to several words");
            }
            let target = words.pop().unwrap_or_default();
            if let Some(command) = self.commands.get_mut(index) {
                command.redirections.push(Redirection { span: redirect.span.clone(), way, target });
            }
        }
        stdin
    }

    fn body(&mut self, body: &Span, expands: bool, strips: bool, state: &mut State) -> Word {
        let mut word = if expands {
            let atoms = self.atoms(body, Around::Document, state);
            super::atoms::words(&atoms, body, true, Wild::Text).pop().unwrap_or_default()
        } else {
            Word::text(self.slice(body), body.clone())
        };
        if strips {
            let mut fresh = true;
            for piece in word.edit().iter_mut() {
                if let Piece::Text(text) = piece {
                    let mut kept = String::with_capacity(text.len());
                    for c in text.chars() {
                        if !(fresh && c == '\t') {
                            kept.push(c);
                            fresh = c == '\n';
                        }
                    }
                    *text = kept;
                } else {
                    fresh = false;
                }
            }
        }
        word.span = body.clone();
        word
    }
}

/// Commands that keep variables set in front of them, in `sh`.
fn keeps(name: &str) -> bool {
    matches!(
        name,
        ":" | "."
            | "break"
            | "continue"
            | "eval"
            | "exec"
            | "exit"
            | "export"
            | "readonly"
            | "return"
            | "set"
            | "shift"
            | "times"
            | "trap"
            | "unset"
    )
}

/// `2>&1`: what is said of failures goes where the output goes.
pub(super) fn is_mixing(redirect: &Redirect) -> bool {
    redirect.fd == Some(2) && matches!(redirect.kind, Kind::DupOut(_) | Kind::DupIn(_))
}

/// `IFS= read` cuts only what is read.
fn is_read(words: &[Word]) -> bool {
    words.first().and_then(Word::literal) == Some("read")
}

/// What is known of a variable that is set to this word.
pub(super) fn known(value: &Word) -> Option<Known> {
    if let [Piece::Unknown(unknown)] = &*value.pieces {
        let number = super::close::arithmetic(&unknown.text).is_some()
            || unknown.text.starts_with("${#")
            || unknown.text == "$#"
            || matches!(
                unknown.text.as_str(),
                "$?" | "$SECONDS" | "$RANDOM" | "$EPOCHSECONDS" | "$LINENO" | "$UID" | "$EUID" | "$PPID"
            );
        return Some(if number { Known::Number } else { Known::Value(value.pieces.clone()) });
    }
    Some(Known::Value(value.pieces.clone()))
}
