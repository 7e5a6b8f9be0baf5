//! Whether a rule that grants something covers a command: strictly, word by word.
//!
//! What a pattern does not name and the program's table does not know as harmless is not covered. Nothing here grants.

mod otherwise;

use std::path::{Path, PathBuf};

use super::glob::Reach;
use super::line::tree::Exported;
use super::line::tree::Word;
use super::paths::{self, Named, word_text};
use super::pattern::{Exact, Pattern, PatternWord};
use super::programs;
use super::programs::used::{Class, Known, Lifts, Role, Used};
use super::real::real;
use super::start::{Kind, Start};
use super::variables::{self, Standing};
use super::world::World;

/// Folders whose programs go by their plain name.
const FOLDERS: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];

/// What a pattern makes of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Covered {
    /// It is about something else.
    No,
    /// All of it.
    Yes,
    /// It matches, but does not name these things.
    But(Vec<String>),
    /// It matches the wrapper, and goes on with this word of the pattern into what the wrapper starts.
    Into(usize),
}

/// The command that a pattern is held against.
pub(super) struct Case<'a> {
    pub(super) start: &'a Start,
    pub(super) used: &'a Used,
    pub(super) world: &'a dyn World,
    /// Where paths of a pattern begin.
    pub(super) base: &'a Path,
    /// Where a pattern's bare names are: the folder that the call begins in.
    pub(super) cwd: &'a Path,
    /// The word at which what it wraps begins.
    pub(super) inner: Option<usize>,
}

/// What a word is to its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Sub,
    Option,
    Value,
    Operand(Role),
}

/// Holds a pattern against a command, from one of the pattern's words on.
pub(super) fn covers(pattern: &Pattern, from: usize, case: &Case<'_>) -> Covered {
    let words = pattern.words.get(from..).unwrap_or_default();
    let (Some(program), Some(first)) = (words.first(), case.start.words.first()) else { return Covered::No };
    let by_path = first.literal().is_some_and(|text| text.contains('/') && !text.starts_with(['/', '~']));
    let elsewhere = by_path && !is_at(case.base, case);
    if case.start.kind != Kind::Program || elsewhere || !program_matches(program, case, first) {
        return Covered::No;
    }
    if program.head.is_empty() && program.is_wild() && !is_harmless(case) {
        return Covered::But(vec!["a rule that names no program covers only commands that read".to_owned()]);
    }
    let said = |(word, given): (&PatternWord, &Word)| {
        word.glob.plain().is_some_and(|plain| given.literal() == Some(plain))
    };
    // A rule that says a command word for word means it, whatever its words are.
    if pattern.exact == Exact::Yes
        && case.inner.is_none()
        && words.iter().all(|word| is_at(base_of(word, case), case))
        && words.len() == case.start.words.len()
        && words.iter().zip(&case.start.words).skip(1).all(said)
    {
        let mut missing = case.start.gaps.iter().map(|gap| gap.why.clone()).collect::<Vec<_>>();
        missing.extend(unnamed_variables(Some(pattern), case.start));
        // What it is sent is not said by the rule.
        let sent = !case.start.redirections.is_empty()
            || case.start.words.iter().any(|word| word.literal() == Some("-"));
        let doubts = case.used.doubts.iter().filter(|doubt| sent && doubt.lifts == Lifts::Nothing);
        missing.extend(doubts.map(|doubt| doubt.why.clone()));
        return if missing.is_empty() { Covered::Yes } else { Covered::But(missing) };
    }
    let labels = labels(case.start, case.used);
    let mut at = 1;
    let mut named: Vec<(usize, usize)> = vec![(0, 0)];
    for (index, word) in words.iter().enumerate().skip(1) {
        loop {
            if case.inner == Some(at) {
                return Covered::Into(from + index);
            }
            let (Some(given), Some(label)) = (case.start.words.get(at), labels.get(at)) else {
                return Covered::No;
            };
            if matches_word(word, given, *label, at, case) {
                named.push((index, at));
                at += 1;
                break;
            }
            match label {
                Label::Option => {
                    at += 1;
                    while labels.get(at) == Some(&Label::Value) {
                        at += 1;
                    }
                }
                Label::Sub | Label::Value | Label::Operand(_) => return Covered::No,
            }
        }
    }
    if pattern.exact == Exact::Yes && at < case.start.words.len() {
        return Covered::No;
    }
    let rest = Rest { words, named: &named, labels: &labels, at };
    match rest.check(case) {
        None => Covered::No,
        Some(mut missing) => {
            missing.extend(not_named(pattern, words, &named, case));
            missing.extend(otherwise::said(words, &named, &labels, case));
            missing.extend(otherwise::does_more(words, &named, case));
            if missing.is_empty() { Covered::Yes } else { Covered::But(missing) }
        }
    }
}

/// Whether a rule that names no program may mean this: what only reads, and what says what it is.
fn is_harmless(case: &Case<'_>) -> bool {
    let says = |word: &Word| matches!(word.literal(), Some("--version" | "--help" | "-V" | "-h" | "-v"));
    match case.used.known {
        Known::Table => case.used.class == Class::Reads,
        Known::Nothing => matches!(case.start.words.as_slice(), [_, only] if says(only)),
    }
}

/// Where a word of a pattern begins, if it is a path.
fn base_of<'a>(word: &PatternWord, case: &Case<'a>) -> &'a Path {
    if word.head.contains('/') { case.base } else { case.cwd }
}

/// Whether it runs in this folder.
fn is_at(base: &Path, case: &Case<'_>) -> bool {
    let own = real(base, case.world);
    case.start
        .folders
        .iter()
        .all(|folder| folder == base || (own.is_some() && real(folder, case.world) == own))
}

fn program_matches(pattern: &PatternWord, case: &Case<'_>, word: &Word) -> bool {
    let Some(text) = word.literal() else { return false };
    if !text.is_ascii() {
        return false;
    }
    let plain = match &case.used.path {
        None => text,
        Some(path) => match FOLDERS.iter().find_map(|folder| path.strip_prefix(folder)) {
            Some(name) if !name.contains('/') => name,
            Some(_) | None => text,
        },
    };
    // `./a/b` and `a/b` are one file; `./b` and `b` are not, nor are `.//a` and `/a`.
    let other = match text.strip_prefix("./") {
        Some(rest) => (rest.contains('/') && !rest.starts_with('/')).then(|| rest.to_owned()),
        None => (text.contains('/') && !text.starts_with('/')).then(|| format!("./{text}")),
    };
    // The same file by its whole path.
    let climbs = text.split('/').any(|part| part == "..");
    let below = Path::new(text).strip_prefix(case.base).ok().and_then(Path::to_str);
    let below = below.filter(|_| text.starts_with('/') && !climbs).map(|below| format!("./{below}"));
    let bare = below.as_deref().and_then(|below| below.strip_prefix("./")).filter(|bare| bare.contains('/'));
    let texts = [plain, text].into_iter().chain(other.as_deref()).chain(below.as_deref()).chain(bare);
    // Another name of the program: `python3` for `python`.
    let synonyms = programs::synonyms(plain).filter(|_| !plain.contains('/'));
    texts.into_iter().chain(synonyms).any(|text| pattern.glob.matches(text, Reach::Within))
}

fn labels(start: &Start, used: &Used) -> Vec<Label> {
    let mut labels = vec![Label::Value; start.words.len()];
    let mut set = |at: usize, label: Label| {
        if let Some(slot) = labels.get_mut(at) {
            *slot = label;
        }
    };
    set(0, Label::Sub);
    for option in &used.options {
        set(option.word, Label::Option);
    }
    for operand in &used.operands {
        set(operand.word, Label::Operand(operand.role));
    }
    for sub in &used.subs {
        set(sub.word, Label::Sub);
    }
    for (at, word) in start.words.iter().enumerate().skip(1) {
        let known = labels.get(at) != Some(&Label::Value);
        if !known && used.known == Known::Nothing {
            let option = word.prefix().starts_with('-');
            if let Some(slot) = labels.get_mut(at) {
                *slot = if option { Label::Option } else { Label::Operand(Role::Rest) };
            }
        }
    }
    labels
}

fn is_path(role: Role) -> bool {
    match role {
        Role::Read | Role::Tree | Role::List | Role::Write | Role::Folder | Role::File | Role::Pathspec => {
            true
        }
        Role::Text | Role::Url | Role::Rest | Role::Command | Role::Script | Role::Code | Role::Ask => false,
    }
}

fn matches_word(pattern: &PatternWord, word: &Word, label: Label, at: usize, case: &Case<'_>) -> bool {
    if pattern.is_option() {
        let Some(text) = word.literal() else { return false };
        let one = || {
            let mut given = case.used.options.iter().filter(|option| option.word == at);
            let first = given.next();
            first.filter(|_| given.next().is_none())
        };
        let same = || {
            let named = one()
                .is_some_and(|option| !pattern.head.contains('=') && option.names.contains(&pattern.head));
            named && pattern.glob.plain().is_some() && !text.contains('=')
        };
        return pattern.glob.matches(text, Reach::Within) || same();
    }
    if pattern.is_address() {
        let Some(text) = address(word, case) else { return false };
        let text = text.as_str();
        return match pattern.glob.plain().filter(|plain| plain.ends_with('/')) {
            Some(head) => text.strip_prefix(head).is_some_and(is_tame_address),
            None => pattern.glob.matches(text, Reach::Within),
        };
    }
    let path = match label {
        Label::Operand(role) => is_path(role) || (role == Role::Rest && pattern.head.contains('/')),
        Label::Sub | Label::Option | Label::Value => false,
    };
    if path {
        return matches_path(pattern, word, case);
    }
    // A sub-command may be written by another of its names.
    let by_name = case.used.subs.iter().any(|sub| sub.word == at && pattern.glob.plain() == Some(&sub.name));
    by_name || word.literal().is_some_and(|text| pattern.glob.matches(text, Reach::Within))
}

/// An address as it stands: a `?` in it is no wildcard where no file fits it.
fn address(word: &Word, case: &Case<'_>) -> Option<String> {
    if let Some(text) = word.literal() {
        return Some(text.to_owned());
    }
    let own = word_text(word);
    let same = |folder: &PathBuf| paths::texts(word, folder, case.world).is_ok_and(|texts| texts == [&*own]);
    let folders = &case.start.folders;
    (word.has_glob() && !folders.is_empty() && folders.iter().all(same)).then(|| own.into_owned())
}

/// The rest of an address below one that a rule names.
fn is_tame_address(rest: &str) -> bool {
    let lower = rest.to_ascii_lowercase();
    rest.is_ascii()
        && !rest.contains(['\\', '{', '[', '@', ' '])
        && !rest.split(['/', '?', '#']).any(|part| part == "..")
        && !lower.contains("%2e")
        && !rest.contains(char::is_control)
}

/// Whether a path matches by its text, and stays under what the pattern names once it is resolved.
fn matches_path(pattern: &PatternWord, word: &Word, case: &Case<'_>) -> bool {
    !case.start.folders.is_empty()
        && case.start.folders.iter().all(|folder| match paths::named(word, folder, case.world) {
            Named::Unknown(_) => false,
            Named::Places(places) => places.iter().all(|place| {
                let text = tidy(&place.text);
                // The same place by its whole path.
                let inside =
                    Path::new(&text).strip_prefix(base_of(pattern, case)).ok().and_then(Path::to_str);
                let text = match inside.filter(|_| !pattern.head.starts_with('/')) {
                    Some(inside) => inside.to_owned(),
                    None => text,
                };
                let (fits, base) = match pattern.glob.plain() {
                    Some(plain) if plain.ends_with('/') && plain.len() > 1 => {
                        let top = tidy(plain);
                        let below =
                            text == top || text.strip_prefix(&top).is_some_and(|rest| rest.starts_with('/'));
                        (below, base_of(pattern, case).join(top))
                    }
                    Some(plain) => (text == tidy(plain), base_of(pattern, case).join(tidy(plain))),
                    None => {
                        let head = tidy_head(&pattern.head);
                        let above = head.rsplit_once('/').map_or("", |(above, _)| above);
                        let above = if head.starts_with('/') && above.is_empty() { "/" } else { above };
                        let glob = pattern.glob.matches(&place.text, Reach::Within)
                            || pattern.glob.matches(&text, Reach::Within);
                        (glob, base_of(pattern, case).join(above))
                    }
                };
                let parent = base.parent().and_then(|parent| real(parent, case.world));
                let base = match (pattern.is_wild(), base.file_name(), parent) {
                    (false, Some(name), Some(parent)) => Some(parent.join(name)),
                    (_, _, _) => real(&base, case.world),
                };
                fits && base.is_some_and(|base| place.real.starts_with(base))
            }),
        })
}

/// A path without `./`, doubled slashes and a slash at the end.
fn tidy(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let text = parts.join("/");
    if path.starts_with('/') { format!("/{text}") } else { text }
}

fn tidy_head(head: &str) -> String {
    let mut head = head;
    while let Some(rest) = head.strip_prefix("./") {
        head = rest;
    }
    head.to_owned()
}

struct Rest<'a> {
    words: &'a [PatternWord],
    named: &'a [(usize, usize)],
    labels: &'a [Label],
    at: usize,
}

impl Rest<'_> {
    /// Whether the operands behind the pattern's words are covered. Nothing: the rule is about something else.
    fn check(&self, case: &Case<'_>) -> Option<Vec<String>> {
        let role = |at: usize| match self.labels.get(at) {
            Some(Label::Operand(role)) => Some(*role),
            Some(Label::Sub | Label::Option | Label::Value) | None => None,
        };
        let further: Vec<(usize, Role)> = (self.at..self.labels.len())
            .filter_map(|at| Some((at, role(at)?)))
            .filter(|(_, role)| is_path(*role))
            .collect();
        let (last, last_at) = *self.named.last()?;
        let last_word = self.words.get(last)?;
        let last_path = last > 0 && role(last_at).is_some_and(is_path);
        if last_path && last_word.is_wild() {
            let fits = |(at, _): &(usize, Role)| {
                case.start.words.get(*at).is_some_and(|word| matches_path(last_word, word, case))
            };
            return further.iter().all(fits).then(Vec::new);
        }
        if last > 0 && last_word.is_address() {
            let address = |at: usize| {
                let word = case.start.words.get(at).map(word_text).unwrap_or_default();
                role(at) == Some(Role::Url) || word.contains("://")
            };
            let fits = |at: usize| {
                let (word, label) = (case.start.words.get(at), self.labels.get(at));
                word.zip(label).is_some_and(|(word, label)| matches_word(last_word, word, *label, at, case))
            };
            if (self.at..self.labels.len()).any(|at| address(at) && !fits(at)) {
                return None;
            }
        }
        // Who names a branch to be pushed means that one.
        let pushes = case.used.program == "git" && case.used.subs.iter().any(|sub| sub.name == "push");
        let operands = |at: usize| matches!(self.labels.get(at), Some(Label::Operand(_)));
        let named = self.named.iter().filter(|(index, at)| *index > 0 && operands(*at)).count();
        if pushes && named > 1 && (self.at..self.labels.len()).any(operands) {
            return Some(vec!["this command pushes more than the rule names".to_owned()]);
        }
        let names_path = self.named.iter().skip(1).any(|(_, at)| role(*at).is_some_and(is_path));
        let changes = case.used.class == Class::Changes;
        match further.first().filter(|_| names_path && changes) {
            Some((at, _)) => {
                let text = case.start.words.get(*at).map(word_text).unwrap_or_default();
                Some(vec![format!("`{text}` is a path that the rule does not name")])
            }
            None => Some(Vec::new()),
        }
    }
}

/// What a pattern would have to name, and does not.
fn not_named(
    pattern: &Pattern,
    words: &[PatternWord],
    named: &[(usize, usize)],
    case: &Case<'_>,
) -> Vec<String> {
    let plainly = |at: usize| {
        named.iter().any(|(index, word)| *word == at && words.get(*index).is_some_and(|word| !word.is_wild()))
    };
    let mut missing = case.start.gaps.iter().map(|gap| gap.why.clone()).collect::<Vec<_>>();
    for doubt in &case.used.doubts {
        let by_name =
            || doubt.names.iter().any(|name| words.iter().skip(1).any(|word| word.names_option(name)));
        let by_word = || !doubt.words.is_empty() && doubt.words.clone().all(plainly);
        let lifted = match doubt.lifts {
            Lifts::Named => by_name() || by_word(),
            Lifts::Nothing => false,
        };
        if !lifted {
            missing.push(doubt.why.clone());
        }
    }
    let script = reads_script(case.used) && !enters_environment(case);
    if (case.used.class == Class::Asks && case.used.known == Known::Table) || script {
        let subs = &case.used.subs;
        let lifted = if subs.is_empty() {
            named.len() > 1 && named.iter().skip(1).all(|(_, at)| plainly(*at))
        } else {
            subs.iter().all(|sub| plainly(sub.word))
        };
        if !lifted {
            missing.push(format!("`{}` needs a rule that names exactly this use", case.used.program));
        }
    }
    missing.extend(unnamed_variables(Some(pattern), case.start));
    missing
}

/// Whether it runs a file in the shell itself, where it may change everything that follows. A rule must name the file.
pub(super) fn reads_script(used: &Used) -> bool {
    matches!(used.program.as_str(), "source" | ".")
}

/// `source .venv/bin/activate`: of a program that reads scripts, what a rule for it means the most.
fn enters_environment(case: &Case<'_>) -> bool {
    let file = case.start.words.get(1).and_then(Word::literal).unwrap_or_default();
    let venv = ["venv/bin/activate", ".venv/bin/activate", "env/bin/activate", ".env/bin/activate"];
    case.start.words.len() == 2 && venv.contains(&file.strip_prefix("./").unwrap_or(file))
}

/// Variables that neither are harmless nor named by the pattern.
pub(super) fn unnamed_variables(pattern: Option<&Pattern>, start: &Start) -> Vec<String> {
    let mut missing = Vec::new();
    for set in &start.assignments {
        let value = set.value.literal();
        let standing = match set.exported {
            Exported::ToThis | Exported::ToAll => variables::exported(&set.name, value),
            Exported::No => variables::kept(&set.name),
        };
        let named =
            value.is_some_and(|value| pattern.is_some_and(|pattern| pattern.grants(&set.name, value)));
        let name = &set.name;
        match standing {
            Standing::Harmless => {}
            Standing::Never if start.used.iter().any(|used| variables::is_looked_into(name, value, used)) => {
            }
            Standing::Named if named => {}
            Standing::Named => missing.push(format!("the variable `{name}` is set, and no rule names it")),
            Standing::Never => {
                missing.push(format!("the variable `{name}` can make programs run something else"))
            }
        }
    }
    missing
}
