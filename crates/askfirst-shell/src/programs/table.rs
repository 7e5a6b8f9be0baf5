//! A program's table: its sections, options and operands. It refuses rows that it does not understand.

mod like;
mod parse;
mod terms;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use askfirst::Risk;

use super::used::{Class, Held, Role, Yields};

pub(crate) use parse::tables;
#[cfg(test)]
pub(crate) use parse::{Example, Verdict, examples};

/// What is known about a program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// Its names, the usual one first.
    pub(crate) names: Vec<String>,
    /// Those among its names that are one program, in groups.
    pub(crate) synonyms: Vec<Vec<String>>,
    /// The rows before the first sub-command.
    pub(crate) root: Section,
    /// Rows that were not understood, by line. With one of them the program is asked about.
    pub(crate) faults: Vec<(usize, String)>,
}

/// A program's own rows, or those of one of its sub-commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    pub(crate) names: Vec<String>,
    pub(crate) class: Option<Class>,
    pub(crate) risk: Risk,
    /// Whether a rehearsal can hold its effect, and on which conditions.
    pub(crate) held: Vec<(Held, Condition)>,
    pub(crate) style: Option<Style>,
    pub(crate) options: Vec<Opt>,
    /// Names of options, each with its places in `options`, in the order of the rows.
    pub(crate) index: HashMap<String, Vec<usize>>,
    /// Names that stand here only by `[no-]`.
    pub(crate) negated: Vec<String>,
    /// Signs besides `-` that options begin with here.
    pub(crate) signs: Vec<char>,
    /// Sections whose options hold here too.
    pub(crate) like: Vec<Vec<String>>,
    pub(crate) operands: Vec<Operands>,
    pub(crate) yields: Vec<(Yields, Condition)>,
    pub(crate) subs: Vec<Section>,
    /// Names of sub-commands, each with its place in `subs`. Put together when one is first looked for.
    by_name: OnceLock<HashMap<String, usize>>,
    /// Whether one of its options asks, changes, writes or starts something.
    pub(crate) sharp: bool,
    /// Whether one of its options takes a path.
    pub(crate) paths: bool,
}

/// An option.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opt {
    pub(crate) names: Vec<String>,
    /// The same, to be handed on. Put together when the option is first met, when the table is whole.
    shared: OnceLock<Arc<[String]>>,
    pub(crate) values: Vec<Part>,
    /// The one value may be left out, and is attached where it is given.
    pub(crate) optional: bool,
    pub(crate) effect: OptEffect,
    /// The row holds where the value matches this.
    pub(crate) glob: Option<String>,
    pub(crate) condition: Condition,
}

/// What the table says of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OptEffect {
    #[default]
    Harmless,
    Changes,
    Reads,
    Asks,
    Alone,
}

/// What a value or an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) role: Role,
    /// Its being there changes things.
    pub(crate) changes: bool,
    /// It is a program, whose own table reads what follows.
    pub(crate) tool: bool,
    /// What else is seen to.
    pub(crate) looked: Looked,
}

/// What is seen to beside a word's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looked {
    Not,
    /// Whether it sets a variable.
    Variable,
    /// Whether it is a package by its name.
    Package,
    /// Whether it is a query that only reads.
    Query,
    /// Whether a shell elsewhere makes more of it than a word.
    Remote,
}

/// A row of operands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Operands {
    pub(crate) head: Vec<Part>,
    pub(crate) star: Option<Part>,
    pub(crate) tail: Vec<Part>,
    /// What counts where no operand plays the last role.
    pub(crate) or: Option<String>,
    pub(crate) condition: Condition,
}

/// When a row holds.
#[derive(Debug, Clone, Default)]
pub(crate) enum Condition {
    #[default]
    Always,
    /// Options of which one must be given; `a+b` is a list of which all must.
    If(Vec<Vec<String>>),
    /// Options of which none may be given.
    Unless(Vec<Vec<String>>),
}

/// How words are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of a style row")]
pub(crate) struct Style {
    pub(crate) posix: bool,
    pub(crate) exact: bool,
    pub(crate) long: bool,
    pub(crate) none: bool,
    pub(crate) old: bool,
    pub(crate) front: bool,
    pub(crate) special: Special,
}

/// What is peculiar to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Nothing,
    Find,
    Sed,
    Awk,
    Jq,
    Yq,
    Env,
    Xargs,
    Shell,
    Trap,
    Names,
    Test,
}

impl Style {
    /// Without a row.
    pub(crate) const GNU: Self = Self {
        posix: false,
        exact: false,
        long: false,
        none: false,
        old: false,
        front: false,
        special: Special::Nothing,
    };
}

impl Section {
    /// The sub-command of this name.
    pub(crate) fn sub(&self, name: &str) -> Option<&Self> {
        let by_name = self.by_name.get_or_init(|| {
            // Of two with one name the first counts.
            let places = self.subs.iter().enumerate().rev();
            places.flat_map(|(place, sub)| sub.names.iter().map(move |name| (name.clone(), place))).collect()
        });
        self.subs.get(*by_name.get(name)?)
    }

    /// The rows of exactly this name.
    pub(crate) fn rows(&self, name: &str) -> impl Iterator<Item = &Opt> {
        let places = self.index.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| self.options.get(*place))
    }

    /// The option that stands for every one with this beginning.
    pub(crate) fn starred(&self, name: &str) -> Option<&Opt> {
        self.options.iter().find(|option| {
            option
                .names
                .iter()
                .any(|known| known.strip_suffix('*').is_some_and(|stem| name.starts_with(stem)))
        })
    }
}

impl Opt {
    /// Its names, to be handed on.
    pub(crate) fn shared(&self) -> Arc<[String]> {
        Arc::clone(self.shared.get_or_init(|| self.names.as_slice().into()))
    }

    /// Whether one of its names stands for all that begin so.
    pub(crate) fn is_starred(&self) -> bool {
        self.names.iter().any(|name| name.ends_with('*'))
    }
}

impl Operands {
    /// What the operand at this place is, counted from the first, where no roles follow a `*`.
    pub(crate) fn at(&self, place: usize) -> Option<Part> {
        self.head.get(place).copied().or(self.star)
    }

    /// What the operands are, of which there are so many. None: more than the row has.
    pub(crate) fn role(&self, place: usize, count: usize) -> Option<Part> {
        if let Some(part) = self.head.get(place) {
            return Some(*part);
        }
        let from_end = count.saturating_sub(place);
        if from_end <= self.tail.len() {
            return self.tail.get(self.tail.len() - from_end).copied();
        }
        self.star
    }

    /// Whether the operand at this place may be several without shifting the roles of others.
    pub(crate) fn loose(&self, place: usize, count: usize) -> bool {
        let star = place >= self.head.len() && count.saturating_sub(place) > self.tail.len();
        let mut all = self.head.iter().chain(&self.star).chain(&self.tail);
        let first = all.next();
        (star && self.star.is_some()) || (self.star.is_some() && all.all(|part| Some(part) == first))
    }

    /// The last role.
    pub(crate) fn last(&self) -> Option<Part> {
        self.tail.last().or(self.star.as_ref()).or(self.head.last()).copied()
    }
}
