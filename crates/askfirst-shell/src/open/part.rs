//! One command on its way to be looked at, and what stands in for words that are not known yet.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::super::fill::Filled;
use super::super::line::tree::{Assignment, Command, Line, Piece, Stdin, Way, Word};
use super::super::paths;
use super::super::programs::used::{Effect, Nested, Role, Used};
use super::super::secrets::{included, secrets};
use super::super::start::{Kind, Remark, Target};
use super::super::world::World;

/// One command before it is looked at.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) span: Range<usize>,
    pub(super) words: Vec<Word>,
    pub(super) assignments: Vec<Assignment>,
    pub(super) redirections: Vec<Target>,
    pub(super) stdin: Stdin,
    pub(super) parent: Option<(usize, usize)>,
    pub(super) below: Vec<usize>,
    pub(super) some_name: Vec<usize>,
    /// What is not understood about it.
    pub(super) notes: Vec<Remark>,
    pub(super) kind: Kind,
    pub(super) says: bool,
    /// Whether it is what another one may turn out to be.
    pub(super) turned: bool,
    /// Whether names that a wildcard finds may fall apart in it.
    pub(super) loose: bool,
    /// Whether something stands in it for what is not known.
    pub(super) guessed: bool,
}

impl Part {
    pub(super) fn new(span: Range<usize>) -> Self {
        Self {
            span,
            words: Vec::new(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            stdin: Stdin::Inherited,
            parent: None,
            below: Vec::new(),
            some_name: Vec::new(),
            notes: Vec::new(),
            kind: Kind::Program,
            says: false,
            turned: false,
            loose: false,
            guessed: false,
        }
    }
}

impl Part {
    /// Where the command stands whose output it reads.
    pub(super) fn fed_by(&self, line: &Line) -> Option<Range<usize>> {
        match &self.stdin {
            Stdin::Pipe(from) => line.commands.get(*from).map(|command| command.span.clone()),
            Stdin::Inherited | Stdin::Text(_) | Stdin::Unknown => None,
        }
    }
}

/// Puts words in the place that `xargs` has for them.
pub(super) fn place(inner: &mut Part, words: Vec<Word>) -> Range<usize> {
    let at = inner.words.iter().position(is_placeholder);
    inner.words.retain(|word| !is_placeholder(word));
    let at = at.unwrap_or(inner.words.len()).min(inner.words.len());
    let count = words.len();
    inner.words.splice(at..at, words);
    at..at + count
}

/// A word that stands for one of standard input.
pub(super) fn is_placeholder(word: &Word) -> bool {
    matches!(&*word.pieces, [Piece::Unknown(unknown)] if unknown.text == "{}")
}

/// Words that stand for whatever lies below a place (`find -exec`): the place, marked.
pub(super) fn found_below(part: &mut Part) -> bool {
    let mut found = false;
    for (at, word) in part.words.iter_mut().enumerate() {
        let [.., Piece::Glob(glob)] = &*word.pieces else { continue };
        if glob == "**" && word.pieces.iter().filter(|piece| matches!(piece, Piece::Glob(_))).count() == 1 {
            word.edit().pop();
            part.below.push(at);
            found = true;
        }
    }
    found
}

/// Where standard input comes from, redirections counted.
pub(super) fn stdin(part: &Part) -> Stdin {
    let redirected = part.redirections.iter().any(|target| target.way != Way::Write);
    if redirected { Stdin::Unknown } else { part.stdin.clone() }
}

/// Programs that look at a value and do not print it.
const TESTS: [&str; 3] = ["test", "[", "[["];

/// Programs whose words are code for the most part.
const CODED: [&str; 15] = [
    "autossh", "awk", "gawk", "gsed", "jq", "mawk", "nawk", "perl", "php", "python3", "ruby", "sed",
    "slogin", "ssh", "yq",
];

/// Whether a word is code to a program, or may be: a branch may be named as a command is written.
pub(super) fn is_code(used: &Used, at: usize) -> bool {
    let script = used.nested.iter().any(|nested| matches!(nested, Nested::Script { .. }));
    let role = used.operands.iter().find(|operand| operand.word == at).map(|operand| operand.role);
    let operand =
        matches!(role, Some(Role::Script | Role::Code | Role::Command | Role::Ask | Role::File | Role::Rest));
    let asks = used.options.iter().any(|given| given.effect == Effect::Asks && given.value.is_some());
    script || operand || asks || CODED.contains(&used.program.as_str())
}

/// What is a name that is not known stays one in what is started, and what may turn out so.
pub(super) fn hand_on(outer: &Part, inner: &mut Part) {
    let unknown: Vec<&Word> = outer.some_name.iter().filter_map(|at| outer.words.get(*at)).collect();
    let same = inner.words.iter().enumerate().filter(|(_, word)| unknown.contains(word));
    let same: Vec<usize> = same.map(|(at, _)| at).collect();
    inner.some_name.extend(same);
    inner.turned = outer.turned;
    inner.loose = outer.loose;
    inner.guessed = outer.guessed;
}

/// Whether an option stands before the names: it takes the first for its value, and more may follow.
pub(super) fn takes_first(inner: &Part) -> bool {
    let at = inner.words.iter().position(is_placeholder).unwrap_or(inner.words.len());
    at > 1 && inner.words.get(at - 1).is_some_and(|word| word.prefix().starts_with('-'))
}

/// Why a command cannot be judged where more of it may be nothing than is tried. What only prints may print any of it.
pub(super) fn too_doubtful(filled: &Filled, command: &Command) -> Option<String> {
    let doubtful = filled.is_too_doubtful() && !prints(command);
    doubtful.then(|| "too many parts of this command may be empty".to_owned())
}

/// Whether a command is given what a wildcard found by a variable outside quotes. What only prints may print any of it.
pub(super) fn is_given_loose(command: &Command) -> bool {
    !prints(command) && !command.loose.is_empty()
}

/// Whether something stands for what is not known, in its words or where its streams lead.
pub(super) fn is_guessed(command: &Command) -> bool {
    let targets = command.redirections.iter().map(|redirection| &redirection.target);
    command.words.iter().chain(targets).any(Word::is_unknown)
}

fn prints(command: &Command) -> bool {
    matches!(command.words.first().and_then(Word::literal), Some("echo" | "printf"))
}

/// Why a command cannot be judged that is given such names: those on the disk with blanks or wildcards in them become others.
pub(super) fn falls_apart(command: &Command, folders: &[PathBuf], world: &dyn World) -> Option<String> {
    let odd = |folder: &Path, name: &str| {
        name.contains(|c: char| c.is_whitespace() || "*?[".contains(c)) && world.exists(&folder.join(name))
    };
    let mut words = command.loose.iter().filter(|_| is_given_loose(command));
    let apart = words.any(|word| {
        folders.iter().any(|folder| {
            let names = paths::texts(word, folder, world).unwrap_or_default();
            names.iter().any(|name| odd(folder, name))
        })
    });
    apart.then(|| "a file name contains spaces or wildcards, so the shell would split it".to_owned())
}

/// Whether a command prints nothing but what stands in the line: `cat` of a here-document.
pub(super) fn only_says(command: &Command) -> bool {
    matches!(&command.stdin, Stdin::Text(_))
        && matches!(command.words.as_slice(), [cat] if cat.literal() == Some("cat"))
        && command.redirections.iter().all(|redirection| redirection.way == Way::Write)
}

/// What is not understood about a command by its words alone: secrets that it would print, and files that it looks for.
pub(super) fn remarks(command: &Command, name: Option<&str>) -> Vec<Remark> {
    let seeks = matches!(name, Some("grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack"));
    let sought = if seeks { included(&command.words) } else { None };
    let shows = name.is_none_or(|name| !TESTS.contains(&name));
    if shows { secrets(command) } else { Vec::new() }.into_iter().chain(sought).map(Remark::secret).collect()
}
