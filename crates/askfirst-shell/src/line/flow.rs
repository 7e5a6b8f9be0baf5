//! Statements in order: what holds after success and after failure, in branches, loops, pipes and subshells.

use std::rc::Rc;

use super::atoms::Wild;
use super::evaluates::plain_name;
use super::guard::Place;
use super::number::{Alone, numeric};
use super::state::{Known, State};
use super::syntax::{Assign, Check, Kind, Node, Pick, Raw, Redirect, Span, Stmt, Turn, Value};
use super::tree::{Piece, Stdin, Step, Taken, Unknown, Word};
use super::walk::Walker;
use super::word::Around;

/// How many values a loop is followed for.
const VALUES: usize = 16;

/// What holds after a statement; none where it is never reached.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// After success.
    pub(super) ok: Option<State>,
    /// After failure.
    pub(super) fail: Option<State>,
    /// The one command whose output this is.
    pub(super) output: Option<usize>,
}

impl Outcome {
    pub(super) fn both(state: State) -> Self {
        Self { ok: Some(state.clone()), fail: Some(state), output: None }
    }

    fn end(&self) -> Option<State> {
        join(self.ok.clone(), self.fail.as_ref())
    }
}

fn join(one: Option<State>, other: Option<&State>) -> Option<State> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.merge(other)),
        (Some(one), None) => Some(one),
        (None, other) => other.cloned(),
    }
}

impl Walker<'_> {
    /// Statements one after the other.
    pub(super) fn seq(&mut self, stmts: &[Stmt], start: State) -> Outcome {
        let mut state = start;
        let mut last = Outcome::both(state.clone());
        let (mut dead, mut from) = (false, None);
        for stmt in stmts {
            if self.is_spent() {
                break;
            }
            // What may have ended a line of the text may have kept anything in it from happening.
            let since = from.replace(stmt.span.start).map(|from: usize| from..stmt.span.start.max(from));
            let next = since.is_some_and(|since| self.slice(&since).contains('\n'));
            if self.breaks && self.is_outermost() && next {
                state = State::nothing(self.moves);
            }
            last = self.stmt(stmt, state.clone());
            self.stdin_is_used();
            match last.end() {
                // What stands behind `exit` is read all the same.
                None => dead = true,
                Some(next) => state = next,
            }
        }
        if stmts.len() != 1 {
            last.output = None;
        }
        if dead && stmts.len() > 1 {
            return Outcome { ok: None, fail: None, output: None };
        }
        last
    }

    /// What one command read of standard input is not there for the next.
    pub(super) fn stdin_is_used(&mut self) {
        if matches!(self.stdin, Stdin::Text(_) | Stdin::Pipe(_)) {
            self.stdin = Stdin::Unknown;
        }
    }

    fn block(&mut self, stmts: &[Stmt], start: State, step: Step) -> Outcome {
        self.reached.push(step);
        let outcome = self.seq(stmts, start);
        self.reached.pop();
        outcome
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt, state: State) -> Outcome {
        if stmt.background {
            self.reached.push(Step::Background);
            self.node(stmt, state.clone());
            self.reached.pop();
            return Outcome::both(state);
        }
        let mut outcome = self.node(stmt, state);
        if stmt.negated {
            std::mem::swap(&mut outcome.ok, &mut outcome.fail);
        }
        outcome
    }

    fn node(&mut self, stmt: &Stmt, mut state: State) -> Outcome {
        if let Node::Simple(assigns, words) = &stmt.node {
            return self.simple(&stmt.span, assigns, words, &stmt.redirects, state);
        }
        if stmt.redirects.is_empty() {
            return self.compound(stmt, state);
        }
        // Redirections of a block are a command of their own; what is inside has its streams.
        let index = self.begin(&stmt.span, &state);
        let led = self.redirects(index, &stmt.redirects, &mut state);
        let stdin = led.unwrap_or_else(|| self.stdin.clone());
        let reads =
            stmt.redirects.iter().any(|it| matches!(it.kind, Kind::Read(_) | Kind::Both(_) | Kind::DupIn(_)));
        let inner = match (reads, stdin) {
            (true, _) => self.process_behind(index).map_or(Stdin::Unknown, Stdin::Pipe),
            (false, stdin) => stdin,
        };
        let outer = std::mem::replace(&mut self.stdin, inner);
        let before = state.clone();
        let mut outcome = self.compound(stmt, state);
        self.stdin = outer;
        // Where a file cannot be opened nothing of it happens.
        outcome.fail = join(outcome.fail, Some(&before));
        let feeds = |it: &Redirect| matches!(it.kind, Kind::Read(_) | Kind::String(_) | Kind::Doc { .. });
        if !stmt.redirects.iter().all(|it| feeds(it) && it.fd.is_none_or(|fd| fd == 0)) {
            outcome.output = None;
        }
        outcome
    }

    fn compound(&mut self, stmt: &Stmt, mut state: State) -> Outcome {
        match &stmt.node {
            Node::Simple(..) => Outcome::both(state),
            Node::And(left, right) => {
                let quiet = self.is_quiet(left);
                let first = self.stmt(left, state.clone());
                if !quiet {
                    self.stdin_is_used();
                }
                let second = self.branch(right, first.ok.clone().unwrap_or(state));
                let ok = if first.ok.is_some() { second.ok } else { None };
                let fail =
                    if first.ok.is_some() { join(first.fail, second.fail.as_ref()) } else { first.fail };
                Outcome { ok, fail, output: if quiet { second.output } else { None } }
            }
            Node::Or(left, right) => {
                let first = self.stmt(left, state.clone());
                self.stdin_is_used();
                let second = self.branch(right, first.fail.clone().unwrap_or(state));
                let reached = first.fail.is_some();
                let ok = if reached { join(first.ok, second.ok.as_ref()) } else { first.ok };
                Outcome { ok, fail: if reached { second.fail } else { None }, output: None }
            }
            Node::Pipe(parts) => self.pipe(parts, state),
            Node::If(arms, other) => self.branches(arms, other.as_deref(), state),
            Node::While(turn, condition, body) => {
                let stdin = self.stdin.clone();
                self.weaken(&[condition, body], &mut state);
                let checked = self.block(condition, state.clone(), Step::Loop);
                let (go, stop) = match turn {
                    Turn::While => (checked.ok, checked.fail),
                    Turn::Until => (checked.fail, checked.ok),
                };
                let mut inside = go.clone().unwrap_or_else(|| state.clone());
                if let (Turn::While, Stdin::Pipe(from), Some((name, taken))) =
                    (turn, &stdin, self.read(condition))
                {
                    let text = format!("${name}");
                    let line = Unknown { text, splits: false, output_of: Some(*from), taken };
                    inside.set(&name, Some(Known::Value(vec![Piece::Unknown(line)].into())));
                }
                let after = self.block(body, inside, Step::Loop);
                // A `break` leaves from anywhere in the body.
                let end = join(join(stop, go.as_ref()), after.end().as_ref()).unwrap_or(state);
                Outcome::both(self.left(end))
            }
            Node::For(name, pick, words, body) => self.each(name, *pick, words.as_deref(), body, state),
            Node::Count(parts, body) => {
                self.weaken(&[body], &mut state);
                for (at, part) in parts.iter().enumerate() {
                    let mut counted = state.clone();
                    self.number(part, Alone::Yes, &mut counted);
                    // Only the first part surely happens.
                    state = if at == 0 { counted } else { state.merge(&counted) };
                }
                let after = self.block(body, state.clone(), Step::Loop);
                let end = join(Some(state.clone()), after.end().as_ref()).unwrap_or(state);
                Outcome::both(self.left(end))
            }
            Node::Case(word, arms) => {
                self.value(word, Wild::Text, &mut state);
                let mut end = Some(state.clone());
                for (patterns, body) in arms {
                    for pattern in patterns {
                        self.scan(pattern, Around::Pattern, &mut state);
                    }
                    end = join(end, Some(&state));
                    let after = self.block(body, end.clone().unwrap_or_else(|| state.clone()), Step::Branch);
                    end = join(end, after.end().as_ref());
                }
                Outcome::both(end.unwrap_or(state))
            }
            Node::Subshell(body) => {
                let outcome = self.block(body, state.clone(), Step::Subshell);
                Outcome { output: outcome.output, ..Outcome::both(state) }
            }
            Node::Group(body) => self.seq(body, state),
            Node::Arithmetic(span) => {
                self.number(span, Alone::Yes, &mut state);
                Outcome::both(state)
            }
            Node::Test(checks) => {
                self.checks(&stmt.span, checks, &mut state);
                Outcome::both(state)
            }
            Node::Time(inner) => match inner {
                Some(inner) => self.stmt(inner, state),
                None => Outcome::both(state),
            },
            Node::Function(name, body) => {
                self.define(name, body, &stmt.span, &mut state);
                Outcome::both(state)
            }
        }
    }

    /// Whether a statement surely prints nothing: `cd -` says where it leads.
    fn is_quiet(&self, stmt: &Stmt) -> bool {
        let Node::Simple(_, raws) = &stmt.node else { return matches!(stmt.node, Node::Test(_)) };
        let words = raws.iter().map(|raw| match raw {
            Raw::Word(word) => self.slice(word),
            Raw::Array(assign) => self.slice(&assign.span),
        });
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_');
        match words.collect::<Vec<_>>().as_slice() {
            ["cd", folder] => folder.starts_with(plain),
            ["test" | "[", ..] => true,
            [..] => false,
        }
    }

    fn branch(&mut self, stmt: &Stmt, state: State) -> Outcome {
        self.reached.push(Step::Branch);
        let outcome = self.stmt(stmt, state);
        self.reached.pop();
        outcome
    }

    fn branches(&mut self, arms: &[(Vec<Stmt>, Vec<Stmt>)], other: Option<&[Stmt]>, start: State) -> Outcome {
        let mut state = start.clone();
        let mut end: Option<State> = None;
        let mut falls = true;
        for (condition, body) in arms {
            let checked = self.seq(condition, state.clone());
            let after = self.block(body, checked.ok.clone().unwrap_or_else(|| state.clone()), Step::Branch);
            if checked.ok.is_some() && falls {
                end = join(end, after.end().as_ref());
            }
            match checked.fail {
                Some(next) => state = next,
                None => falls = false,
            }
        }
        if let Some(body) = other {
            let after = self.block(body, state, Step::Branch);
            if falls {
                end = join(end, after.end().as_ref());
            }
        } else if falls {
            end = join(end, Some(&state));
        }
        match end {
            Some(end) => Outcome::both(end),
            None => Outcome { ok: None, fail: None, output: None },
        }
    }

    fn pipe(&mut self, parts: &[Stmt], state: State) -> Outcome {
        let outer = self.stdin.clone();
        self.reached.push(Step::Pipe);
        let mut output = None;
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.stdin = output.map_or(Stdin::Unknown, Stdin::Pipe);
            }
            output = self.stmt(part, state.clone()).output;
        }
        self.reached.pop();
        self.stdin = outer;
        Outcome { output, ..Outcome::both(state) }
    }

    fn each(
        &mut self,
        name: &str,
        pick: Pick,
        words: Option<&[Raw]>,
        body: &[Stmt],
        mut state: State,
    ) -> Outcome {
        self.slip(name, &(0..self.text.len()));
        self.stdin_is_used();
        let mut values = Vec::new();
        let whole = !words.unwrap_or_default().iter().any(|raw| self.over_wildcard(raw, &state));
        for raw in words.unwrap_or_default() {
            values.extend(self.raw(raw, Place::Operand, &mut state));
        }
        self.give_each(name, pick, &values);
        let few = words.is_some() && (1..=VALUES).contains(&values.len());
        let known = few && whole && !values.iter().any(Word::is_unknown);
        if known && pick == Pick::Each {
            // `continue` and `break` leave from anywhere in the body.
            let jumps = self.mentions(body, &["break", "continue"]);
            for value in values {
                if self.is_spent() {
                    break;
                }
                // Where what is not found vanishes, nothing of it may happen.
                let vanishes = value.has_glob() && self.plain.contains("nullglob");
                let skipped = vanishes.then(|| state.clone());
                if value.has_glob() {
                    self.weaken(&[body], &mut state);
                }
                state.set(name, Some(Known::Value(value.pieces)));
                if jumps {
                    self.weaken(&[body], &mut state);
                }
                let before = state.clone();
                let after = self.block(body, state, Step::Loop);
                let end = after.end().unwrap_or(before);
                let end = skipped.into_iter().fold(end, |end, skipped| end.merge(&skipped));
                state = self.left(end);
            }
            return Outcome::both(state);
        }
        self.weaken(&[body], &mut state);
        let one = match values.as_slice() {
            // Each value comes from one command: the variable is a word of its output.
            [value] if pick == Pick::Each && whole => {
                let mut value = value.clone();
                for piece in value.edit().iter_mut() {
                    if let Piece::Unknown(unknown) = piece
                        && unknown.splits
                    {
                        unknown.taken = Taken::Word;
                    }
                }
                Some(Known::Value(value.pieces))
            }
            _ => None,
        };
        state.set(name, one);
        let after = self.block(body, state.clone(), Step::Loop);
        let mut end = join(Some(state.clone()), after.end().as_ref()).unwrap_or(state);
        end.set(name, None);
        Outcome::both(self.left(end))
    }

    /// After a loop that a jump may have left at any point.
    fn left(&self, mut end: State) -> State {
        if self.jumps {
            end.forget();
            if self.moves {
                end.lose_folders();
            }
        }
        end
    }

    /// The command whose output a block reads: `done < <(find …)`.
    fn process_behind(&self, index: usize) -> Option<usize> {
        let [redirection] = self.commands.get(index)?.redirections.as_slice() else { return None };
        match &*redirection.target.pieces {
            [Piece::Unknown(unknown)] if unknown.text.starts_with("<(") => unknown.output_of,
            _ => None,
        }
    }

    /// The one variable that takes each line: `while IFS= read -r name`.
    fn read(&self, condition: &[Stmt]) -> Option<(String, Taken)> {
        let [Stmt { node: Node::Simple(assigns, raws), redirects, negated: false, background: false, .. }] =
            condition
        else {
            return None;
        };
        let whole = |assign: &Assign| match &assign.value {
            Value::One(value) => assign.name == "IFS" && matches!(self.slice(value), "" | "''" | "\"\""),
            Value::Many(..) => false,
        };
        if !redirects.is_empty() || !assigns.iter().all(whole) {
            return None;
        }
        let words: Option<Vec<&str>> = raws
            .iter()
            .map(|raw| match raw {
                Raw::Word(span) => Some(self.slice(span)),
                Raw::Array(_) => None,
            })
            .collect();
        let words = words?;
        let (name, taken) = match words.as_slice() {
            ["read", name] | ["read", "-r", name] => (name, Taken::Line),
            ["read", "-r", "-d", "''" | "\"\"", name] | ["read", "-d", "''" | "\"\"", "-r", name] => {
                (name, Taken::Record)
            }
            _ => return None,
        };
        plain_name(name).then(|| ((*name).to_owned(), taken))
    }

    fn define(&mut self, name: &str, body: &Rc<Stmt>, span: &Span, state: &mut State) {
        if super::names::reserved(name) || name == "command_not_found_handle" {
            self.gap(span, &format!("a function that replaces `{name}`"));
        }
        if self.plain.contains("unset") {
            self.gap(span, "a function that this line may remove");
        }
        if self.leaves {
            self.gap(span, "a function after a command that leaves a loop, so it may not be defined");
        }
        self.functions.insert(name.to_owned());
        let mut inner = State::new();
        inner.define(name);
        inner.forget();
        if self.moves {
            inner.lose_folders();
        }
        let outer = std::mem::replace(&mut self.stdin, Stdin::Unknown);
        self.reached.push(Step::Function(name.to_owned()));
        let from = self.commands.len();
        self.stmt(body, inner);
        self.keep(name, body, from..self.commands.len());
        self.reached.pop();
        self.stdin = outer;
        state.define(name);
    }

    /// `[[ … ]]` starts nothing, and stands in the line for the files that it looks at.
    fn checks(&mut self, span: &Span, checks: &[Check], state: &mut State) {
        let index = self.begin(span, state);
        let mut words = vec![Word::text("[[", span.start..span.start + 2)];
        for check in checks {
            match check {
                Check::Text(span) => self.scan(span, Around::Pattern, state),
                Check::File(span, how) => {
                    words.push(Word::text(*how, span.clone()));
                    words.push(self.value(span, Wild::Text, state));
                }
                Check::Number(span) => {
                    let text = self.slice(span);
                    let inner = text.trim_matches('"');
                    let name =
                        inner.strip_prefix('$').map(|it| it.trim_start_matches('{').trim_end_matches('}'));
                    let digits = inner.strip_prefix('-').unwrap_or(inner);
                    if inner.starts_with("$(") && !inner.starts_with("$((") && self.counted(span, state) {
                        continue;
                    }
                    let fine = (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
                        || name.is_some_and(|name| {
                            numeric(name, state) || matches!(name, "#" | "?" | "$" | "!")
                        })
                        || name.is_some_and(|name| name.starts_with('#') && !name.contains(['[', '$', '`']));
                    if !fine {
                        self.scan(span, Around::Pattern, state);
                        self.gap(span, "a comparison that evaluates the value of a variable");
                    }
                }
                Check::Name(span) => {
                    if !self.slice(span).bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                        self.scan(span, Around::Pattern, state);
                        self.gap(span, "a variable name that may be evaluated");
                    }
                }
            }
        }
        if let Some(command) = self.commands.get_mut(index) {
            command.words = words;
        }
    }
}
