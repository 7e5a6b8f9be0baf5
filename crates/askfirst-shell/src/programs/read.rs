//! Reads a command's words by a table: options, sub-commands, operands. What it cannot tell becomes a doubt.

pub(super) mod goals;
mod options;
mod packages;
pub(super) mod queries;
mod roles;

use std::borrow::Cow;
use std::sync::Arc;

use askfirst::Risk;

use super::code::only_computes;
use super::table::{Condition, Operands, OptEffect, Section, Special, Style, Table};
use super::used::{Class, Doubt, Effect, Given, Held, Known, Lifts, Role, Sub, Used, Yields};
use super::words::{Lead, lead, shown, splits};
use super::{find, glob, guards, table, wrap};
use crate::line::tree::Word;

/// A reading on its way.
pub(super) struct Reader<'t, 'w> {
    pub(super) words: &'w [Word],
    pub(super) used: Used,
    pub(super) style: Style,
    /// The program's section, then that of each sub-command.
    chain: Vec<&'t Section>,
    /// The word that is read next.
    pub(super) next: usize,
    /// Which words are operands of the innermost section.
    pub(super) operands: Vec<usize>,
    /// Options whose rows are chosen at the end, when all are known.
    pending: Vec<Pending<'t>>,
    /// Code that options brought.
    codes: Vec<(Word, usize)>,
    /// From which option on conditions look.
    own: usize,
    ended: Ended,
    /// Options that are harmless only alone.
    alone: Vec<(Vec<String>, usize)>,
    only_reads: bool,
    pub(super) changes: bool,
    pub(super) runs: bool,
    /// Whether it copies to or from another machine.
    pub(super) elsewhere: bool,
    /// A word that is no sub-command where one could stand.
    no_sub: Option<usize>,
    /// From where on all words are any text.
    rest_from: Option<usize>,
    /// How many operands there are in all.
    operands_given: usize,
    /// Variables that `env` sets.
    pub(super) assignments: Vec<(String, Word)>,
}

/// An option that is given, before it is known which of its rows holds.
struct Pending<'t> {
    section: &'t Section,
    known: &'t str,
    /// Its place among the options that are given.
    given: usize,
    written: String,
    values: Vec<(Word, usize)>,
}

/// Whether options may still come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    No,
    /// By the first operand.
    ByOperand,
    /// By `--`.
    ByDashes,
}

/// What is used, before anything is read.
pub(super) fn blank(program: String, known: Known) -> Used {
    Used {
        program,
        path: None,
        known,
        subs: Vec::new(),
        options: Vec::new(),
        operands: Vec::new(),
        class: Class::Asks,
        doubts: Vec::new(),
        paths: Vec::new(),
        folders: Vec::new(),
        nested: Vec::new(),
        unknown_code: false,
        network: false,
        shows_secrets: false,
        only_loopback: true,
        held: Held::Inside,
        risk: Risk::Low,
        yields: Yields::Text,
    }
}

/// The words as the table's program would read them.
pub(super) fn read(table: &Table, program: String, words: &[Word]) -> Used {
    let mut reader = Reader {
        words,
        used: blank(program, Known::Table),
        style: table.root.style.unwrap_or(Style::GNU),
        chain: vec![&table.root],
        next: 1,
        operands: Vec::new(),
        pending: Vec::new(),
        codes: Vec::new(),
        own: 0,
        ended: Ended::No,
        alone: Vec::new(),
        only_reads: false,
        changes: false,
        runs: false,
        elsewhere: false,
        no_sub: None,
        rest_from: None,
        operands_given: 0,
        assignments: Vec::new(),
    };
    if !table.faults.is_empty() {
        reader.doubt(0, "the program table for this command has an error");
    }
    reader.run();
    reader.finish()
}

impl<'t> Reader<'t, '_> {
    fn run(&mut self) {
        if self.style.old {
            self.old_cluster();
        }
        let words = self.words;
        while let Some(word) = words.get(self.next) {
            let at = self.next;
            if self.rest_begins() {
                self.operands.extend(at..self.words.len());
                self.next = self.words.len();
                return;
            }
            self.next += 1;
            if self.style.special == Special::Find {
                find::word(self, word, at);
            } else if self.style.none || self.ended != Ended::No {
                self.operand(word, at);
            } else {
                match lead(word) {
                    Lead::Dash if word.literal() == Some("-") => self.operand(word, at),
                    Lead::Dash if word.literal() == Some("--") => self.ended = Ended::ByDashes,
                    Lead::Dash => self.option(word, at),
                    Lead::Plain if splits(word) => self.perhaps(word, at),
                    Lead::Glob | Lead::Unknown => self.perhaps(word, at),
                    Lead::Plain if self.signed(word, at) => {}
                    Lead::Empty | Lead::Plain => self.operand(word, at),
                }
            }
        }
    }

    /// A word that may turn out to be an option.
    pub(super) fn perhaps(&mut self, word: &Word, at: usize) {
        let unknown = lead(word) == Lead::Unknown || splits(word);
        if self.scope().any(|section| section.sharp || (unknown && section.paths)) {
            let why = format!("`{}` may be an option", shown(word));
            self.doubt(at, &why);
        }
        self.operand(word, at);
    }

    /// The sections whose options hold here, innermost first.
    pub(super) fn scope(&self) -> impl Iterator<Item = &'t Section> {
        let inner = self.chain.len() > 1;
        let skipped = usize::from(inner && self.chain.first().is_some_and(|root| is_front(root)));
        self.chain.iter().skip(skipped).rev().copied()
    }

    /// Whether everything from here on is the program's own words.
    fn rest_begins(&self) -> bool {
        if self.operands.is_empty() && self.section().is_some_and(|section| !section.subs.is_empty()) {
            return false;
        }
        let Some(part) = self.row().and_then(|row| row.at(self.operands.len())) else { return false };
        // The program's own options may follow the host, but not the first word of what runs there.
        let option = || {
            let next = self.words.get(self.next).map(lead);
            self.ended == Ended::No && matches!(next, Some(Lead::Dash | Lead::Glob | Lead::Unknown))
        };
        part.role == Role::Rest || (part.looked == table::Looked::Remote && !option())
    }

    fn section(&self) -> Option<&'t Section> {
        self.chain.last().copied()
    }

    /// The row of operands that holds, by the options that are given so far.
    pub(super) fn row(&self) -> Option<&'t Operands> {
        let section = self.section()?;
        section
            .operands
            .iter()
            .filter(|row| self.holds(&row.condition))
            .min_by_key(|row| is_always(&row.condition))
    }

    fn holds(&self, condition: &Condition) -> bool {
        let any = |lists: &[Vec<String>]| lists.iter().any(|all| all.iter().all(|name| self.has(name)));
        match condition {
            Condition::Always => true,
            Condition::If(lists) => any(lists),
            Condition::Unless(lists) => !any(lists),
        }
    }

    /// Whether an option of this name is given.
    pub(super) fn has(&self, name: &str) -> bool {
        let own = self.used.options.iter().skip(self.own);
        own.into_iter().any(|given| given.names.iter().any(|known| known == name))
    }

    /// A word that is a program of its own: its table reads what follows, as if it were a sub-command.
    fn tool(&mut self, word: &Word, at: usize) {
        // A module of Python itself; whether a file stands in its place is looked at elsewhere.
        self.runs |= word.literal() != Some("json.tool") || !self.used.program.starts_with("python");
        self.no_sub = None;
        let subs: Vec<&str> = self.used.subs.iter().map(|sub| sub.name.as_str()).collect();
        let is_file = word.literal().is_some_and(|name| guards::is_file(&self.used.program, &subs, name));
        if is_file {
            self.path(word, Role::File);
        }
        if is_file || word.literal().is_some_and(|name| guards::is_script(&self.used.program, name)) {
            self.operands.extend(at..self.words.len());
            self.rest_from = Some(at);
            self.next = self.words.len();
            return;
        }
        let table = word.literal().and_then(super::table_of).filter(|table| table.faults.is_empty());
        let Some(table) = table else {
            let name = shown(word);
            let why = format!("askfirst does not know the tool `{name}`");
            if word.literal().is_some() {
                self.doubt_named(at, vec![name], why);
            } else {
                self.doubt(at, &why);
            }
            self.operands.extend(at..self.words.len());
            self.rest_from = Some(at);
            self.next = self.words.len();
            return;
        };
        let name = word.literal().unwrap_or_default().to_owned();
        if self.chain.iter().rev().find_map(|section| section.class) == Some(Class::Asks)
            && let Some(Sub { name, word }) = self.used.subs.last().cloned()
        {
            let why = format!("`{name}` needs a rule that names it");
            self.doubt_named(word, vec![name], why);
        }
        let style = table.root.style.unwrap_or(Style::GNU);
        match style.special {
            Special::Shell
            | Special::Env
            | Special::Xargs
            | Special::Trap
            | Special::Names
            | Special::Test => {
                let why = format!("`{name}` starts other programs and is not a known project tool");
                self.doubt_named(at, vec![name.clone()], why);
            }
            Special::Nothing | Special::Find | Special::Sed | Special::Awk | Special::Jq | Special::Yq => {
                if !guards::is_project_tool(&name) {
                    let why = format!("`{name}` is not a known project tool");
                    self.doubt_named(at, vec![name.clone()], why);
                }
            }
        }
        self.used.subs.push(Sub { name, word: at });
        self.chain = vec![&table.root];
        self.style = style;
        self.own = self.used.options.len();
        self.ended = Ended::No;
        self.operands.clear();
    }

    pub(super) fn operand(&mut self, word: &Word, at: usize) {
        if self.operands.is_empty()
            && let Some(section) = self.section()
            && !section.subs.is_empty()
        {
            match word.literal().map(|name| (name, section.sub(name))) {
                Some((_, Some(sub))) => {
                    self.enter(sub, at);
                    return;
                }
                Some((_, None)) => self.no_sub = Some(at),
                None => {
                    let why = format!("`{}` is in the place of a subcommand", shown(word));
                    self.doubt(at, &why);
                }
            }
        }
        if self.style.special == Special::Env && wrap::assignment(self, word) {
            return;
        }
        let part = self.row().and_then(|row| row.at(self.operands.len()));
        if part.is_some_and(|part| part.role == Role::Command) {
            self.operands.push(at);
            let words = self.words.get(at..).unwrap_or_default();
            wrap::command(self, words);
            self.next = self.words.len();
            return;
        }
        if part.is_some_and(|part| part.tool) {
            self.tool(word, at);
            return;
        }
        self.operands.push(at);
        if self.style.posix && self.ended == Ended::No {
            self.ended = Ended::ByOperand;
        }
    }

    fn enter(&mut self, sub: &'t Section, at: usize) {
        if self.ended == Ended::ByDashes {
            self.doubt(at, "a subcommand follows `--`");
        }
        let name = sub.names.first().cloned().unwrap_or_default();
        self.used.subs.push(Sub { name, word: at });
        self.chain.push(sub);
        if let Some(style) = sub.style {
            let front = self.style.front;
            self.style = Style { front, ..style };
        }
    }

    /// Notes a word of an expression that has no row.
    pub(super) fn mark(&mut self, name: &str, at: usize) {
        let names = Arc::new([name.to_owned()]);
        self.used.options.push(Given { names, word: at, value: None, effect: Effect::Harmless });
    }

    /// Notes something that nothing lifts.
    pub(super) fn doubt(&mut self, at: usize, why: &str) {
        let doubt =
            Doubt { words: at..at + 1, names: Vec::new(), lifts: Lifts::Nothing, why: why.to_owned() };
        self.used.doubts.push(doubt);
    }

    /// Notes something that a pattern lifts which names it.
    pub(super) fn doubt_named(&mut self, at: usize, names: Vec<String>, why: String) {
        self.used.doubts.push(Doubt { words: at..at + 1, names, lifts: Lifts::Named, why });
    }

    fn finish(mut self) -> Used {
        self.settle();
        let after = self.used.subs.last().map_or(1, |sub| sub.word + 1);
        let alone =
            matches!(self.alone.as_slice(), [(_, at)] if *at == after && after + 1 == self.words.len());
        for (names, at) in std::mem::take(&mut self.alone) {
            if !alone {
                let why =
                    format!("`{}` is used with other arguments", names.first().map_or("", String::as_str));
                self.doubt_named(at, names, why);
            }
        }
        if let Some(at) = self.no_sub
            && self.row().is_none()
        {
            let name = self.words.get(at).map(shown).unwrap_or_default();
            let why = format!("askfirst does not know the subcommand `{name}`");
            self.doubt_named(at, vec![name], why);
        }
        let operands: Vec<&str> =
            self.operands.iter().filter_map(|at| self.words.get(*at)).map(Word::prefix).collect();
        let options = self.used.options.iter().filter(|given| given.effect != Effect::Unknown).count();
        if guards::prints_all(&self.used.program, &operands, options) {
            self.prints_all_variables();
        }
        if !alone {
            self.further_goals();
            self.assign();
            wrap::standard_input(&mut self);
        }
        let class = self.chain.iter().rev().find_map(|section| section.class).unwrap_or(Class::Asks);
        let words: Vec<Option<&str>> = self.words.iter().skip(1).map(Word::literal).collect();
        let tells = guards::only_tells(&self.used.program, &words);
        let mut class = if self.only_reads || alone || tells { Class::Reads } else { class };
        if self.changes {
            class = class.max(Class::Changes);
        }
        if self.runs {
            class = class.max(Class::Runs);
        }
        self.used.class = class;
        self.used.risk = self.chain.iter().map(|section| section.risk).max().unwrap_or_default();
        self.used.yields = self.yields();
        self.used.held = self.held();
        self.used
    }

    fn yields(&self) -> Yields {
        let rows = self.section().map(|section| section.yields.as_slice()).unwrap_or_default();
        let held = rows.iter().filter(|(_, condition)| self.holds(condition));
        held.min_by_key(|(_, condition)| is_always(condition)).map_or(Yields::Text, |(kind, _)| *kind)
    }

    /// Chooses the row of each option that is given, and counts what it says.
    fn settle(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let Pending { section, known, given, written, values } = pending;
            let at = self.used.options.get(given).map_or(0, |given| given.word);
            let value = values.first().and_then(|(word, _)| word.literal());
            // What climbs is not what a glob shows, unless that forbids it; what is not known may be forbidden.
            let perhaps = |glob: &str, word: &Word| word.is_unknown() || glob::matches(glob, &shown(word));
            let fits = |glob: &str, effect: OptEffect| match values.first() {
                Some((word, _)) if effect == OptEffect::Asks => perhaps(glob, word),
                Some(_) => value.is_some_and(|value| glob::matches(glob, value) && !guards::climbs(value)),
                None => false,
            };
            let row = section.rows(known).find(|row| {
                self.holds(&row.condition) && row.glob.as_deref().is_none_or(|glob| fits(glob, row.effect))
            });
            let Some(row) = row else {
                let names =
                    self.used.options.get(given).map(|given| given.names.to_vec()).unwrap_or_default();
                if let Some(given) = self.used.options.get_mut(given) {
                    given.effect = Effect::Unknown;
                }
                let why = format!("askfirst does not know this value of `{written}`");
                self.doubt_named(at, names, why);
                continue;
            };
            let all = || match row.names.contains(&written) {
                true => Cow::Borrowed(row.names.as_slice()),
                false => Cow::Owned(row.names.iter().chain([&written]).cloned().collect()),
            };
            let names = || all().into_owned();
            let loads = value.is_some_and(|value| guards::loads(&self.used.program, &all(), value));
            if row.glob.is_none() && (loads || guards::tells_code(&self.used.program, &written)) {
                let why = format!("the value of `{written}` may load code");
                self.doubt_named(at, names(), why);
            }
            let effect = match row.effect {
                OptEffect::Harmless => Effect::Harmless,
                OptEffect::Changes => {
                    self.changes = true;
                    Effect::Changes
                }
                OptEffect::Reads => {
                    self.only_reads = true;
                    Effect::Reads
                }
                OptEffect::Alone => {
                    self.alone.push((names(), at));
                    Effect::Harmless
                }
                OptEffect::Asks
                    if written == "-c"
                        && value
                            .is_some_and(|value| only_computes(&self.used.program, self.words, value)) =>
                {
                    Effect::Harmless
                }
                OptEffect::Asks => {
                    let why = format!("`{written}` needs a rule that names it");
                    self.doubt_named(at, names(), why);
                    // Who names the option has not seen a value that nobody knows.
                    if values.iter().any(|(word, _)| word.is_unknown() || word.has_glob()) {
                        let why = format!("the value of `{written}` is not known in advance");
                        self.doubt(at, &why);
                    }
                    Effect::Asks
                }
            };
            if let Some(given) = self.used.options.get_mut(given) {
                given.effect = effect;
            }
            for ((word, place), part) in values.iter().zip(&row.values) {
                if part.role == Role::Code {
                    self.codes.push((word.clone(), *place));
                } else if !part.tool {
                    self.play(word, *part, *place);
                }
            }
        }
    }
}

/// Whether the program's own options hold only before the sub-command.
fn is_front(root: &Section) -> bool {
    root.style.is_some_and(|style| style.front)
}

fn is_always(condition: &Condition) -> bool {
    matches!(condition, Condition::Always)
}
