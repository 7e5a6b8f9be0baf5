//! How a command uses its program: what a table makes of its words.

use std::ops::Range;
use std::sync::Arc;

use askfirst::Risk;

use crate::line::tree::Word;

/// A command's words as its program would read them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Used {
    /// The program by its plain name: the last part of its path.
    pub(crate) program: String,
    /// The program as it is written, where that is a path: `/bin/rm`, `./run.sh`.
    pub(crate) path: Option<String>,
    /// Whether there is a table for it.
    pub(crate) known: Known,
    /// The sub-commands, in order: `["remote", "show"]`, by their first name in the table.
    pub(crate) subs: Vec<Sub>,
    /// The options that are given.
    pub(crate) options: Vec<Given>,
    /// The operands: what is neither an option, a value of one, nor a sub-command.
    pub(crate) operands: Vec<Operand>,
    /// What it would do, options counted.
    pub(crate) class: Class,
    /// What a rule for the program does not cover unless its pattern names it.
    pub(crate) doubts: Vec<Doubt>,
    /// Paths that it would touch: of options and of operands, and what counts where none is given.
    pub(crate) paths: Vec<PathUse>,
    /// The folder of the rest, where an option sets it (`git -C x`); of what it starts too (`env -C x`).
    pub(crate) folders: Vec<Word>,
    /// What it would start.
    pub(crate) nested: Vec<Nested>,
    /// Whether it has code in a language of its own that is not known before it runs.
    pub(crate) unknown_code: bool,
    /// Whether it would touch the network.
    pub(crate) network: bool,
    /// Whether it prints values that are usually secrets.
    pub(crate) shows_secrets: bool,
    /// Whether every address that it would reach is one of this machine.
    pub(crate) only_loopback: bool,
    /// Whether a rehearsal can hold its effect.
    pub(crate) held: Held,
    /// The least risk of a request about it.
    pub(crate) risk: Risk,
    /// What it prints.
    pub(crate) yields: Yields,
}

impl Used {
    /// What an option that asks hands to a program that runs things: `python3 -c CODE`.
    pub(crate) fn codes(&self) -> impl Iterator<Item = &str> {
        let asking = |given: &&Given| self.class == Class::Runs && given.effect == Effect::Asks;
        self.options.iter().filter(asking).filter_map(|given| given.value.as_ref()?.literal())
    }
}

/// Whether a program has a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has, and every option of it that could matter is in it.
    Table,
    /// It has none: a rule covers operands and what its pattern names.
    Nothing,
}

/// A sub-command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sub {
    /// Its first name in the table.
    pub(crate) name: String,
    /// Which word it is.
    pub(crate) word: usize,
}

/// An option that is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    /// All its names in the table, or the one that is written where it is unknown.
    pub(crate) names: Arc<[String]>,
    /// The word that it stands in.
    pub(crate) word: usize,
    /// Its value: the rest of the word or the next one.
    pub(crate) value: Option<Word>,
    /// What a rule makes of it.
    pub(crate) effect: Effect,
}

/// What an option does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing that matters.
    Harmless,
    /// It no longer only reads.
    Changes,
    /// Its section only reads with it.
    Reads,
    /// It is asked about unless the rule's pattern names it.
    Asks,
    /// It is not in the table: asked about unless the rule's pattern names it.
    Unknown,
}

/// What is neither option nor sub-command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operand {
    /// Which word it is.
    pub(crate) word: usize,
    /// The role that it plays.
    pub(crate) role: Role,
}

/// What a word is to its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Anything; no path.
    Text,
    /// A file that is read.
    Read,
    /// A folder that is read with all below it, or a file.
    Tree,
    /// A folder of which only names are read.
    List,
    /// What is created, changed or removed.
    Write,
    /// Becomes the working folder.
    Folder,
    /// Text, but absolute or climbing paths are read.
    Pathspec,
    /// Touches the network.
    Url,
    /// A program file that is run.
    File,
    /// The program's own words, any text.
    Rest,
    /// The first word of a command that is started.
    Command,
    /// A text that a shell runs.
    Script,
    /// A text in a small language of its own.
    Code,
    /// Asked about.
    Ask,
}

/// What a use would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Only reads what it is given, and prints.
    Reads,
    /// Changes things, as a rule for it grants.
    Changes,
    /// Runs what the project configured, as a rule for it grants.
    Runs,
    /// Asked about unless the rule names the sub-command.
    Asks,
}

/// Whether a rehearsal can hold the effect of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Held {
    /// It changes files of the sandbox, or what the sandbox refuses.
    #[default]
    Inside,
    /// It acts on other processes, services or machines, or on the system.
    Outside,
    /// It needs a terminal.
    Terminal,
}

impl Held {
    /// Why the command cannot be rehearsed.
    pub(crate) fn why_not_rehearsed(self) -> Option<&'static str> {
        match self {
            Self::Inside => None,
            Self::Outside => {
                Some("this command acts outside the project, so a rehearsal cannot show its effect")
            }
            Self::Terminal => Some("this command needs a terminal, and a rehearsal has none"),
        }
    }
}

/// Why a rule for the program may not be enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// The words that it is about.
    pub(crate) words: Range<usize>,
    /// The names of the option, where it is one: a pattern that has any of them lifts the doubt.
    pub(crate) names: Vec<String>,
    /// Whether naming it in the pattern is enough.
    pub(crate) lifts: Lifts,
    /// Why, in words for a person.
    pub(crate) why: String,
}

/// What lifts a doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifts {
    /// A pattern that names the option or sub-command.
    Named,
    /// Nothing: it was not understood.
    Nothing,
}

/// A path that would be touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathUse {
    /// The path as it is written; from the command's folder, after `folders`.
    pub(crate) word: Word,
    /// How: one of `Read`, `Tree`, `List`, `Write`, `Folder`, `File`.
    pub(crate) role: Role,
}

/// Something that would be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Nested {
    /// A program with its words. More words may follow that are not known (`xargs`).
    ///
    /// The place of a path that `find` found is its start, a `/` and the wildcard `**`: the start itself or anything below it.
    /// The place that `xargs -I` fills is an unknown part with the text `{}`; nothing is added at the end then.
    Words {
        /// How it is reached: `env`, `xargs`, `find -exec`.
        via: String,
        /// Program and arguments.
        words: Vec<Word>,
        /// Variables that are set for it.
        assignments: Vec<(String, Word)>,
        /// Whether words are added that come from standard input.
        fed: Fed,
    },
    /// A text that a shell runs.
    Script {
        /// How it is reached: `sh -c`, `eval`, `trap`.
        via: String,
        /// The text.
        text: Word,
    },
    /// A shell or an interpreter that runs what it reads from standard input.
    Stdin {
        /// How it is reached: `sh`.
        via: String,
    },
}

/// Whether words are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fed {
    /// No.
    No,
    /// Words from standard input are added at the end.
    FromInput,
}

/// What a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Yields {
    /// Anything.
    Text,
    /// Paths below what it was given, or below its folder.
    Paths,
    /// Digits.
    Number,
    /// One word without `/`, which does not begin with `-`.
    Name,
    /// A folder that contains its own folder or lies in it.
    Folder,
}
