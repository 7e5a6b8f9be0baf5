//! One program that a line would start, with everything around it. Plain data, and what can be told from it alone.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::line;
use super::line::tree::{Assignment, Command, Exported, Line, Piece, Stdin, Step, Way, Word};
use super::paths::word_text;
use super::programs::used::Used;

/// One program that would start, or a line's assignments and redirections without one.
#[derive(Debug, Clone)]
pub struct Start {
    /// Its position in the command line.
    pub span: Range<usize>,
    /// Its own text.
    pub text: String,
    /// The wrappers that start it, outermost first.
    pub via: Arc<[String]>,
    pub(super) words: Vec<Word>,
    /// What its program makes of the words; nothing where there is no program.
    pub(super) used: Option<Arc<Used>>,
    pub(super) assignments: Vec<Assignment>,
    pub(super) redirections: Vec<Target>,
    /// The folders that it may run in; empty if they are not known.
    pub folders: Arc<[PathBuf]>,
    /// The wrapper, and which of its words this program is.
    pub(super) parent: Option<(usize, usize)>,
    /// Which words stand for any path below the one that they name.
    pub(super) below: Vec<usize>,
    /// Which words are a name that is not known.
    pub(super) some_name: Vec<usize>,
    /// What was not understood about it. No rule lifts it.
    pub(super) gaps: Vec<Remark>,
    pub(super) kind: Kind,
    /// What it is sent, where that stands in the line.
    pub(super) sent: Option<String>,
    /// It prints nothing but what stands in the line: `cat` of a here-document.
    pub(super) says: bool,
    /// Whether it is what another one may turn out to be.
    pub(super) turned: bool,
    /// Whether names that a wildcard finds may fall apart in it.
    pub(super) loose: bool,
    /// Whether something stands in it for what is not known: a number, a date, a name.
    pub(super) guessed: bool,
    /// The command of the line whose output it reads.
    pub(super) fed_by: Option<Range<usize>>,
}

/// What is not understood about a command by its words alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remark {
    /// Why, in words for a person.
    pub(super) why: String,
    /// Whether the command would show a secret. Then askfirst asks before it runs, whatever it does.
    pub(super) shows_secret: bool,
}

impl Remark {
    pub(super) fn secret(why: String) -> Self {
        Self { why, shows_secret: true }
    }
}

impl From<String> for Remark {
    fn from(why: String) -> Self {
        Self { why, shows_secret: false }
    }
}

impl Start {
    /// The name of its program; empty if it starts none.
    #[must_use]
    pub fn program(&self) -> &str {
        self.used.as_ref().map(|used| used.program.as_str()).unwrap_or_default()
    }

    /// Whether this is a program that another one starts.
    pub(super) fn is_within(&self, outer: &Start) -> bool {
        self.via.len() > outer.via.len()
            && self.via.starts_with(&outer.via)
            && outer.span.start <= self.span.start
            && self.span.end <= outer.span.end
            && self.kind == Kind::Program
    }
}

/// What a start is, besides a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program.
    Program,
    /// A function that the line itself makes, and whose commands stand here too.
    Function,
    /// No program.
    Nothing,
}

/// A file that a stream leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) span: Range<usize>,
    pub(super) text: String,
    pub(super) way: Way,
    pub(super) word: Word,
    /// It stands for any file below the one that it names.
    pub(super) below: bool,
}

/// Everything that a text would start.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub(super) starts: Vec<Start>,
    /// What was not understood, and where.
    pub(super) gaps: Vec<(Range<usize>, String)>,
    /// Texts that took a parser: an automatic allow needs a second one to agree.
    pub(super) parsed: Vec<(String, Line)>,
    /// Whether the second parser agrees on all of them. It runs only when the answer matters.
    confirmed: OnceLock<bool>,
}

impl Opened {
    /// Whether a second parser reads all of the parsed texts in the same way.
    pub(super) fn confirmed(&self) -> bool {
        *self.confirmed.get_or_init(|| self.parsed.iter().all(|(text, line)| line::confirm(text, line)))
    }

    /// Whether parts of the text run more than once, later than they stand, or at the same time.
    pub(super) fn repeats(&self) -> bool {
        let mut commands = self.parsed.iter().flat_map(|(_, line)| &line.commands);
        commands.any(|command| {
            // What a trap holds runs at the end, or whenever a signal comes.
            let later = command.words.iter().any(|word| word.literal() == Some("trap"));
            later
                || command.reached.iter().any(|step| match step {
                    Step::Loop | Step::Function(_) | Step::Background | Step::Pipe => true,
                    // It runs before the command around it, or beside it.
                    Step::Substitution => true,
                    Step::Subshell | Step::Branch => false,
                })
        })
    }
}

/// What a command prints, where that stands in the line: `echo` of plain words, `cat` of a here-document.
pub(super) fn printed(command: &Command) -> Option<String> {
    if !command.redirections.is_empty() || command.mixes {
        return None;
    }
    let words: Option<Vec<&str>> = command.words.iter().map(Word::literal).collect();
    match words?.as_slice() {
        ["cat"] => match &command.stdin {
            Stdin::Text(word) => word.literal().map(str::to_owned),
            Stdin::Inherited | Stdin::Pipe(_) | Stdin::Unknown => None,
        },
        ["echo", rest @ ..] => {
            let plain = rest.first().is_none_or(|first| !first.starts_with('-'));
            (plain && !rest.iter().any(|word| word.contains('\\'))).then(|| rest.join(" "))
        }
        ["printf", text] if !text.contains(['\\', '%']) => Some((*text).to_owned()),
        ["printf", "%s" | "%s\\n", text] => Some((*text).to_owned()),
        _ => None,
    }
}

/// What the line sets for all commands behind it.
pub(super) fn exported(line: &Line) -> Vec<(usize, Assignment)> {
    let commands = line.commands.iter().enumerate();
    let all = commands.flat_map(|(at, command)| command.assignments.iter().map(move |set| (at, set)));
    all.filter(|(_, set)| set.exported == Exported::ToAll).map(|(at, set)| (at, set.clone())).collect()
}

/// Whether a name is surely a function of the line when a command is reached: defined before it, whatever happens.
pub(super) fn is_defined(line: &Line, at: usize, name: &str) -> bool {
    let Some(call) = line.commands.get(at) else { return false };
    if call.reached.iter().any(|step| matches!(step, Step::Function(_))) {
        return false;
    }
    line.commands.iter().any(|command| match command.reached.first() {
        Some(Step::Function(own)) => own == name && command.span.end <= call.span.start,
        Some(
            Step::Pipe | Step::Subshell | Step::Substitution | Step::Branch | Step::Loop | Step::Background,
        )
        | None => false,
    })
}

/// A word as a person would write it.
pub(super) fn shown(word: &Word) -> Cow<'_, str> {
    let text = word_text(word);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,~^".contains(c);
    let literal = word.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)));
    if text.is_empty() || (literal && !text.chars().all(plain)) {
        Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
    } else {
        text
    }
}
