//! A command line as a small tree of our own: what would start, in the order of the text, and what was not understood.

use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

/// A command line, understood as far as it can be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line {
    /// Every simple command, in the order of the text: those in substitutions, functions, loops and branches too.
    /// One that runs for each value of a list stands here once per value.
    pub(crate) commands: Vec<Command>,
    /// What was not understood. With one of these no rule can allow the line.
    pub(crate) gaps: Vec<Gap>,
    /// How much it took to read it, so how sure one can be.
    pub(crate) shape: Shape,
}

/// How a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Shape {
    /// One command of plain words: nothing that a shell acts on.
    #[default]
    Plain,
    /// It took a parser. An automatic allow needs a second one to agree.
    Parsed,
}

/// A part that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Where it stands, in bytes of the text.
    pub(crate) span: Range<usize>,
    /// Why, in words for a person: "a here-document inside a here-document".
    pub(crate) why: String,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    /// Where it stands, in bytes of the text.
    pub(crate) span: Range<usize>,
    /// Program and arguments. Empty where there are only assignments or redirections.
    pub(crate) words: Vec<Word>,
    /// `NAME=value` in front of it, or alone.
    pub(crate) assignments: Vec<Assignment>,
    /// Where its streams lead.
    pub(crate) redirections: Vec<Redirection>,
    /// The folders that it may run in: usually one. None means that it is not known.
    pub(crate) folders: Option<Vec<Folder>>,
    /// Where standard input comes from, before redirections.
    pub(crate) stdin: Stdin,
    /// Whether what it says of failures may go where its output goes.
    pub(crate) mixes: bool,
    /// What a wildcard found and a variable brings here outside quotes: names that fall apart.
    pub(crate) loose: Vec<Word>,
    /// How it is reached, outermost first.
    pub(crate) reached: Vec<Step>,
}

/// A folder: the words of each `cd` on the way, from the folder that the call starts in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Folder(pub(crate) Vec<Word>);

/// Where standard input comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// From where the whole line has it.
    Inherited,
    /// From the output of this command of the line.
    Pipe(usize),
    /// From a here-document or here-string.
    Text(Word),
    /// From several commands, or it cannot be told.
    Unknown,
}

/// One step on the way to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Part of a pipeline.
    Pipe,
    /// Inside `( … )`.
    Subshell,
    /// Inside `$( … )`, backquotes or `<( … )`.
    Substitution,
    /// In a branch of `if`, `case`, `&&`, `||`.
    Branch,
    /// In a loop.
    Loop,
    /// In the body of this function.
    Function(String),
    /// Behind `&` or `coproc`.
    Background,
}

/// One word as the shell sees it, before wildcards.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word {
    /// Where it stands, in bytes of the text.
    pub(crate) span: Range<usize>,
    /// Its parts. Neighbouring texts are joined; an empty list is the empty word. Words are handed on a lot, so these are
    /// shared.
    pub(crate) pieces: Arc<[Piece]>,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text that reaches the program as it stands, quotes taken off.
    Text(String),
    /// A wildcard outside quotes: `*`, `?`, `[…]`.
    Glob(String),
    /// `~` at the start of the word: the person's home.
    Home,
    /// Not known before it runs.
    Unknown(Unknown),
}

/// Something that is not known before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Unknown {
    /// As it is written: `$HOME`, `$(date)`; a variable that surely holds a number stands as `$((name))`.
    pub(crate) text: String,
    /// Outside quotes: it may become no word, or several.
    pub(crate) splits: bool,
    /// For `$( … )`: the last command of the substitution, whose output it is.
    pub(crate) output_of: Option<usize>,
    /// How much of that output.
    pub(crate) taken: Taken,
}

/// How much of an output something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Taken {
    /// All of it.
    #[default]
    All,
    /// A word of it.
    Word,
    /// A line of it.
    Line,
    /// What stands between two NULs.
    Record,
}

/// A variable that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// Its name.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: Word,
    /// Whether programs that start later see it.
    pub(crate) exported: Exported,
}

/// Whether programs see a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exported {
    /// `NAME=value program`: that program does.
    ToThis,
    /// `export NAME=value`: every later one does.
    ToAll,
    /// `NAME=value` alone: none does, unless it is in the environment already.
    No,
}

/// Where a stream leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirection {
    /// Where it stands, in bytes of the text.
    pub(crate) span: Range<usize>,
    /// What is done with the target.
    pub(crate) way: Way,
    /// The file. Duplicated and closed descriptors, here-documents and here-strings have none, and do not stand here.
    pub(crate) target: Word,
}

/// What a redirection does with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// `<`.
    Read,
    /// `>`, `>>`, `>|`, `&>`.
    Write,
    /// `<>`.
    Both,
}

impl Command {
    /// Makes it stand for nothing: others count their places by it.
    pub(super) fn drop(&mut self) {
        self.span.end = self.span.start;
        self.words.clear();
        self.assignments.clear();
        self.redirections.clear();
    }

    /// Whether it stands for nothing.
    pub(crate) fn is_dropped(&self) -> bool {
        self.span.is_empty()
            && self.words.is_empty()
            && self.assignments.is_empty()
            && self.redirections.is_empty()
    }
}

impl Piece {
    /// A wildcard that finds nothing: a word with it is what a wildcard found before, in quotes, and stays one word.
    pub(crate) fn one_word() -> Self {
        Self::Glob(String::new())
    }
}

impl Word {
    /// A word of these parts.
    pub(crate) fn new(span: Range<usize>, pieces: Vec<Piece>) -> Self {
        Self { span, pieces: pieces.into() }
    }

    /// Its parts, to be changed.
    pub(crate) fn edit(&mut self) -> Edit<'_> {
        let pieces = self.pieces.to_vec();
        Edit { word: self, pieces }
    }

    /// A word of plain text.
    pub(crate) fn text(text: impl Into<String>, span: Range<usize>) -> Self {
        let text = text.into();
        let pieces: Arc<[Piece]> =
            if text.is_empty() { Arc::default() } else { Arc::new([Piece::Text(text)]) };
        Self { span, pieces }
    }

    /// The text, if the word reaches the program as it stands.
    pub(crate) fn literal(&self) -> Option<&str> {
        match &*self.pieces {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            [_] | [_, _, ..] => None,
        }
    }

    /// The text that it surely begins with.
    pub(crate) fn prefix(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            Some(Piece::Glob(_) | Piece::Home | Piece::Unknown(_)) | None => "",
        }
    }

    /// Whether any part is not known before it runs.
    pub(crate) fn is_unknown(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Unknown(_)))
    }

    /// Whether a wildcard outside quotes is in it.
    pub(crate) fn has_glob(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)))
    }
}

/// The parts of a word while they are changed; put back in the end.
pub(crate) struct Edit<'w> {
    word: &'w mut Word,
    pieces: Vec<Piece>,
}

impl Deref for Edit<'_> {
    type Target = Vec<Piece>;

    fn deref(&self) -> &Vec<Piece> {
        &self.pieces
    }
}

impl DerefMut for Edit<'_> {
    fn deref_mut(&mut self) -> &mut Vec<Piece> {
        &mut self.pieces
    }
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        self.word.pieces = std::mem::take(&mut self.pieces).into();
    }
}
