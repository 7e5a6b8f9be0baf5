//! The way through a line: every statement in its place, with what is known there.

use std::collections::BTreeSet;

use super::calls::Bodies;
use super::cover::uncovered;
use super::flow::Outcome;
use super::gap;
use super::state::State;
use super::syntax::{Grammar, Kind, Node, Raw, Span, Stmt};
use super::tree::{Command, Gap, Stdin, Step};
use super::wild::Wilds;

/// How many bytes of words may be read: loops read theirs once per value.
const BYTES: usize = 256 * 1024;
/// How many commands a line may come to.
const COMMANDS: usize = 512;
/// How many substitutions may be parsed.
const PARSES: usize = 96;
/// How many bytes of them, counted once per level of brackets in them.
const PARSED: usize = 64 * 1024;
/// How deep they may nest.
const DEPTH: usize = 16;

/// The reader of one line.
pub(super) struct Walker<'a> {
    pub(super) text: &'a str,
    grammar: &'a dyn Grammar,
    pub(super) commands: Vec<Command>,
    pub(super) gaps: Vec<Gap>,
    pub(super) stdin: Stdin,
    pub(super) reached: Vec<Step>,
    /// Names that are functions somewhere in the line.
    pub(super) functions: BTreeSet<String>,
    /// Those that were made so far.
    pub(super) bodies: Bodies,
    /// Those whose calls are being read.
    pub(super) calling: Vec<String>,
    /// Whether anything in the line changes the folder.
    pub(super) moves: bool,
    /// The text without quotes, backslashes and blanks.
    pub(super) plain: String,
    /// Whether `break`, `continue` or `return` was met: what stands behind it may not have happened.
    pub(super) jumps: bool,
    /// Whether `break` or `continue` was met.
    pub(super) leaves: bool,
    /// Whether something was met that may fail in a way that ends its line but not the next one.
    pub(super) breaks: bool,
    /// Names of lists that are known.
    pub(super) lists: BTreeSet<String>,
    /// Names of lists whose elements have names: given plain words, every other one is a name.
    pub(super) keyed: BTreeSet<String>,
    /// What is done with wildcards in what is filled in.
    pub(super) wilds: Wilds,
    /// The command whose words are being read.
    pub(super) current: Option<usize>,
    bytes: usize,
    parses: usize,
    parsed: usize,
    depth: usize,
    spent: bool,
}

/// Every command of a text, and every gap.
pub(super) fn walk(text: &str, grammar: &dyn Grammar) -> (Vec<Command>, Vec<Gap>) {
    let squeezed = super::state::squeezed(text);
    let mut plain = String::with_capacity(squeezed.len());
    plain.extend(squeezed.split_whitespace());
    let mut walker = Walker {
        text,
        grammar,
        commands: Vec::new(),
        gaps: Vec::new(),
        stdin: Stdin::Inherited,
        reached: Vec::new(),
        functions: BTreeSet::new(),
        bodies: Bodies::new(),
        calling: Vec::new(),
        moves: ["cd", "pushd", "popd", "eval", "source"].iter().any(|word| squeezed.contains(word))
            || has_dot(&squeezed),
        plain,
        jumps: false,
        leaves: false,
        breaks: false,
        lists: BTreeSet::new(),
        keyed: BTreeSet::new(),
        wilds: Wilds::default(),
        current: None,
        bytes: 0,
        parses: 0,
        parsed: 0,
        depth: 0,
        spent: false,
    };
    let mut state = State::new();
    walker.part(&(0..text.len()), &mut state);
    walker.drop_bodies();
    if !walker.keyed.is_disjoint(&walker.lists) {
        walker.gap(&(0..text.len()), "an associative array that is assigned as a list");
    }
    if std::mem::take(&mut walker.wilds).meet() {
        walker.gap(&(0..text.len()), "a wildcard in an expanded value");
    }
    let (commands, mut gaps) = (walker.commands, walker.gaps);
    gaps.sort_by_key(|gap| (gap.span.start, gap.span.end));
    gaps.dedup();
    gaps.truncate(32);
    (commands, gaps)
}

/// Programs that are given the folder itself: `find . -name x`.
const LISTERS: [&str; 8] = ["find", "ls", "tree", "du", "fd", "grep", "rg", "wc"];

/// Whether a `.` may be the command that runs a file in this very shell.
fn has_dot(squeezed: &str) -> bool {
    squeezed.match_indices(". ").any(|(at, _)| {
        let before = squeezed.get(..at).unwrap_or_default();
        let name = before.strip_suffix(' ').unwrap_or_default();
        let lists = |lister: &&str| {
            let head = name.strip_suffix(*lister).map(str::trim_end);
            // Not a stream's target, nor the end of a longer word.
            head.is_some_and(|head| {
                let apart = name.len() - lister.len() > head.len() || head.is_empty();
                (apart || head.ends_with([';', '&', '|', '(', '{', '`'])) && !head.ends_with(['<', '>'])
            })
        };
        // The end of another word: `src/. `, `a. `.
        let ends = before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.'));
        !ends && !LISTERS.iter().any(lists)
    })
}

impl<'a> Walker<'a> {
    /// This part of the text.
    pub(super) fn slice(&self, span: &Span) -> &'a str {
        self.text.get(span.clone()).unwrap_or("")
    }

    /// Parses a part of the text and walks it.
    fn part(&mut self, part: &Span, state: &mut State) -> Option<(Outcome, Vec<Stmt>)> {
        self.parses += 1;
        // A parser reads what is nested once per level.
        self.parsed += part.len() * (1 + self.text.get(part.clone()).map_or(0, super::guard::depth));
        if self.parses > PARSES || self.depth > DEPTH || (self.depth > 0 && self.parsed > PARSED) {
            self.gap(part, "too many commands inside commands");
            return None;
        }
        let script = self.grammar.parse(self.text, part.clone());
        match script {
            Err(fault) => {
                self.gaps.push(gap(fault.span, fault.why));
                None
            }
            Ok(mut script) => {
                if let Some(span) = uncovered(self.text, part.clone(), &mut script.leaves) {
                    self.gap(&span, "a part that the parser skipped");
                }
                let outcome = self.seq(&script.stmts, state.clone());
                Some((outcome, script.stmts))
            }
        }
    }

    /// Counts what is read; false when a line costs too much.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        self.bytes += bytes + 8;
        if self.spent {
            return false;
        }
        if self.bytes > BYTES || self.commands.len() > COMMANDS {
            self.spent = true;
            self.gap(&(0..self.text.len()), "the line expands to too many commands");
            return false;
        }
        true
    }

    /// Whether what is read stands in no other command.
    pub(super) fn is_outermost(&self) -> bool {
        self.depth == 0 && self.reached.is_empty() && self.calling.is_empty()
    }

    pub(super) fn is_spent(&self) -> bool {
        self.spent
    }

    /// A command substitution: the command whose output it is, and its text where that is certain.
    pub(super) fn substitution(&mut self, inner: &Span, state: &State) -> (Option<usize>, Option<String>) {
        let stdin = self.stdin.clone();
        self.inside(inner, stdin, state)
    }

    /// A process substitution.
    pub(super) fn process(&mut self, inner: &Span, fed: bool, state: &State) -> Option<usize> {
        let stdin = match (fed, self.current) {
            (true, Some(index)) => Stdin::Pipe(index),
            (true, None) => Stdin::Unknown,
            (false, _) => self.stdin.clone(),
        };
        let (output, _) = self.inside(inner, stdin, state);
        if fed { None } else { output }
    }

    fn inside(&mut self, inner: &Span, stdin: Stdin, state: &State) -> (Option<usize>, Option<String>) {
        if self.spent {
            return (None, None);
        }
        self.depth += 1;
        self.reached.push(Step::Substitution);
        let outer = std::mem::replace(&mut self.stdin, stdin);
        let current = self.current.take();
        let mut state = state.clone();
        let walked = self.part(inner, &mut state);
        self.current = current;
        self.stdin = outer;
        // What it has read of standard input is not there any more.
        self.stdin_is_used();
        self.reached.pop();
        self.depth -= 1;
        let Some((outcome, stmts)) = walked else { return (None, None) };
        let output = outcome.output;
        let text = output.and_then(|index| self.document(&stmts, index, &state));
        (output, text)
    }

    /// The text of `cat <<'EOF'`.
    fn document(&self, stmts: &[Stmt], index: usize, state: &State) -> Option<String> {
        let [stmt] = stmts else { return None };
        let Node::Simple(assigns, words) = &stmt.node else { return None };
        let ([], [Raw::Word(word)], [redirect]) =
            (assigns.as_slice(), words.as_slice(), stmt.redirects.as_slice())
        else {
            return None;
        };
        let Kind::Doc { .. } = redirect.kind else { return None };
        if self.slice(word) != "cat" || redirect.fd.is_some_and(|fd| fd != 0) || stmt.background {
            return None;
        }
        if state.functions.contains("cat") || self.functions.contains("cat") {
            return None;
        }
        match &self.commands.get(index)?.stdin {
            Stdin::Text(body) => body.literal().map(|text| text.trim_end_matches('\n').to_owned()),
            Stdin::Inherited | Stdin::Pipe(_) | Stdin::Unknown => None,
        }
    }
}
