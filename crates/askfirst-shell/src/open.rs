//! Everything that a command line would start, wrappers opened: what `env`, `xargs`, `sh -c`, `find -exec`, a
//! here-document into a shell and their like start stands here as if it were written out.

mod dialect;
mod folders;
mod part;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::folders::Entered;
use self::part::{
    Part, falls_apart, found_below, hand_on, is_code, is_given_loose, is_guessed, is_placeholder, only_says,
    place, remarks, stdin, takes_first, too_doubtful,
};
use super::fill::{Filled, Filler, Likeness, dashless, fill_is_tame, roles_shift, tops};
use super::filters::{makes_function, spelled_out, unfiltered};
use super::line;
use super::line::tree::{Assignment, Command, Exported, Line, Redirection, Shape, Stdin, Way, Word};
use super::lists;
use super::orders;
use super::programs;
use super::programs::used::{Class, Fed, Given, Nested, Used, Yields};
use super::secrets::sought;
use super::start::{Kind, Opened, Remark, Start, Target, exported, is_defined, printed, shown};
use super::world::World;

/// So deep are commands inside commands looked at.
const MAX_DEPTH: usize = 16;
/// So many programs may one line start.
const MAX_STARTS: usize = 256;
/// So many words may it have: each may be a path.
const MAX_WORDS: usize = 512;
const TOO_MANY_WORDS: &str = "more words than askfirst checks";
/// So many words with wildcards may it have: each is looked for on the disk.
const MAX_WILD: usize = 32;
/// Programs that write the files which what they read names.
const PATCHING: [&str; 3] = ["git", "hub", "patch"];
/// Shells whose scripts are read here.
const SHELLS: [&str; 3] = ["sh", "bash", "dash"];

/// Where a text stands.
#[derive(Clone)]
struct Setting<'a> {
    text: &'a str,
    /// The place in the outermost text, where this text is not that itself.
    within: Option<Range<usize>>,
    folders: Arc<[PathBuf]>,
    /// Whether the shell has other names for them.
    linked: bool,
    via: Arc<[String]>,
    /// What is set for everything in it.
    assignments: Vec<Assignment>,
    redirections: Vec<Target>,
    depth: usize,
}

/// Opens a command line.
pub(super) fn open_text(text: &str, folder: &Path, world: &dyn World) -> Opened {
    let mut opener =
        Opener { world, opened: Opened::default(), words: 0, wild: 0, entered: RefCell::default() };
    opener.text(&Setting {
        text,
        within: None,
        folders: Arc::new([folder.to_owned()]),
        linked: false,
        via: Arc::default(),
        assignments: Vec::new(),
        redirections: Vec::new(),
        depth: 0,
    });
    opener.opened
}

/// Opens a program with its words, without a shell.
pub(super) fn open_words(words: &[String], text: &str, folder: &Path, world: &dyn World) -> Opened {
    let mut opener =
        Opener { world, opened: Opened::default(), words: 0, wild: 0, entered: RefCell::default() };
    if words.len() > MAX_WORDS {
        opener.gap(0..text.len(), TOO_MANY_WORDS);
        return opener.opened;
    }
    let Command { words, .. } = line::argv(words);
    let setting = Setting {
        text,
        within: Some(0..text.len()),
        folders: Arc::new([folder.to_owned()]),
        linked: false,
        via: Arc::default(),
        assignments: Vec::new(),
        redirections: Vec::new(),
        depth: 0,
    };
    let line = Line::default();
    opener.program(&setting, &line, Part { words, ..Part::new(0..text.len()) });
    opener.opened
}

struct Opener<'a> {
    world: &'a dyn World,
    opened: Opened,
    words: usize,
    wild: usize,
    /// The folders of the command before: most that stand behind a `cd` have them too.
    entered: RefCell<Option<Entered>>,
}

impl Opener<'_> {
    fn gap(&mut self, span: Range<usize>, why: impl Into<String>) {
        self.opened.gaps.push((span, why.into()));
    }

    fn text(&mut self, setting: &Setting<'_>) {
        let whole = setting.within.clone().unwrap_or(0..setting.text.len());
        if setting.depth > MAX_DEPTH {
            return self.gap(whole, "commands nested too deeply");
        }
        let line = line::read(setting.text);
        for gap in &line.gaps {
            self.gap(setting.within.clone().unwrap_or(gap.span.clone()), &gap.why);
        }
        let words = || line.commands.iter().flat_map(|command| &command.words);
        self.words += words().count();
        if self.words > MAX_WORDS {
            return self.gap(whole, TOO_MANY_WORDS);
        }
        self.wild += words().filter(|word| word.has_glob()).count();
        if self.wild > MAX_WILD {
            return self.gap(whole, "more wildcards than askfirst checks");
        }
        let exported = exported(&line);
        // What a wrapper starts mostly fits in as well.
        self.opened.starts.reserve_exact(line.commands.len().max(3));
        for (at, command) in line.commands.iter().enumerate().filter(|(_, command)| !command.is_dropped()) {
            self.command(setting, &line, at, command, &exported);
        }
        if line.shape == Shape::Parsed {
            self.opened.parsed.push((setting.text.to_owned(), line));
        }
    }

    fn command(
        &mut self,
        setting: &Setting<'_>,
        line: &Line,
        at: usize,
        command: &Command,
        exported: &[(usize, Assignment)],
    ) {
        let (folders, linked) = self.folders(setting, line, command);
        let here = Setting { folders: Arc::clone(&folders), linked, ..setting.clone() };
        let own = command.folders.as_deref();
        let filler = Filler { line, world: self.world, folders: &folders, own, linked };
        let filled = filler.fill(&command.words);
        let others = filler.others(&command.words, &filled);
        let doubt = too_doubtful(&filled, command).or_else(|| falls_apart(command, &folders, self.world));
        let Filled { words, below, some_name, .. } = filled;
        let targets = command.redirections.iter().map(|redirection| {
            let (word, below) = filler.target(&redirection.target);
            Target {
                span: setting.within.clone().unwrap_or(redirection.span.clone()),
                text: setting.text.get(redirection.span.clone()).unwrap_or_default().to_owned(),
                way: redirection.way,
                word,
                below,
            }
        });
        let mut assignments = setting.assignments.clone();
        assignments
            .extend(exported.iter().filter(|(from, _)| *from < at).map(|(_, assignment)| assignment.clone()));
        assignments.extend(command.assignments.iter().cloned());
        let name = command.words.first().and_then(Word::literal);
        let function = name.is_some_and(|name| is_defined(line, at, name));
        let kind = match (words.is_empty(), function) {
            (true, _) => Kind::Nothing,
            (false, true) => Kind::Function,
            (false, false) => Kind::Program,
        };
        let notes = remarks(command, name).into_iter().chain(doubt.map(Remark::from)).collect();
        let part = Part {
            says: only_says(command),
            loose: is_given_loose(command),
            guessed: is_guessed(command),
            words,
            assignments,
            notes,
            redirections: setting.redirections.iter().cloned().chain(targets).collect(),
            stdin: command.stdin.clone(),
            below,
            some_name,
            kind,
            ..Part::new(command.span.clone())
        };
        // It is judged as everything that it may be.
        for Filled { words, below, some_name, .. } in others {
            self.program(&here, line, Part { words, below, some_name, turned: true, ..part.clone() });
        }
        self.program(&here, line, part);
    }

    fn program(&mut self, setting: &Setting<'_>, line: &Line, part: Part) {
        if self.opened.starts.len() >= MAX_STARTS {
            let whole = setting.within.clone().unwrap_or(part.span);
            if self.opened.gaps.len() < MAX_STARTS {
                self.gap(whole, "the line starts more programs than askfirst checks");
            }
            return;
        }
        let reads = |start: &Start| {
            start.redirections.is_empty() && start.used.as_ref().is_none_or(|used| used.class == Class::Reads)
        };
        let words = if self.opened.starts.iter().all(reads) {
            dashless(&part.words, &setting.folders, self.world)
        } else {
            Cow::Borrowed(part.words.as_slice())
        };
        let used = (!part.words.is_empty()).then(|| programs::used(&words));
        let used = used.map(|used| Arc::new(self.without_sums(line, &part, used)));
        let shifts = used.as_ref().is_some_and(|used| roles_shift(&words, &part.below, used));
        let place = setting.within.clone().unwrap_or(part.span.clone());
        let text = match (part.parent, setting.text.get(part.span.clone())) {
            (None, Some(text)) if !text.is_empty() => text.to_owned(),
            (None | Some(_), _) => part.words.iter().map(shown).collect::<Vec<_>>().join(" "),
        };
        let index = self.opened.starts.len();
        let patches = used.as_ref().is_some_and(|used| PATCHING.contains(&used.program.as_str()));
        let sent = if patches { self.input(line, &part) } else { None };
        let fed_by = if setting.within.is_none() { part.fed_by(line) } else { None };
        let coded = used.as_ref().is_some_and(|used| part.some_name.iter().any(|at| is_code(used, *at)));
        let runs = used.as_ref().filter(|_| part.kind == Kind::Program);
        let orders = runs.filter(|used| self.takes_orders(line, &part, used)).map(|used| {
            format!("`{}` takes commands from its input, and they may start other programs", used.program)
        });
        // What starts others is looked at once more.
        let wraps = runs.filter(|used| !used.nested.is_empty()).map(|used| (Arc::clone(used), part.clone()));
        self.opened.starts.push(Start {
            span: place.clone(),
            text,
            via: Arc::clone(&setting.via),
            words: part.words,
            used,
            assignments: part.assignments,
            redirections: part.redirections,
            folders: Arc::clone(&setting.folders),
            parent: part.parent,
            below: part.below,
            some_name: part.some_name,
            gaps: part.notes,
            kind: part.kind,
            sent,
            says: part.says,
            turned: part.turned,
            loose: part.loose,
            guessed: part.guessed,
            fed_by,
        });
        if coded {
            self.note(
                index,
                "code that this command runs contains a name that askfirst cannot know in advance".to_owned(),
            );
        }
        if shifts {
            self.note(index, "the number of names in a list changes the effect of this command".to_owned());
        }
        orders.into_iter().for_each(|why| self.note(index, why));
        let Some((used, part)) = wraps else { return };
        for nested in &used.nested {
            self.nested(setting, line, &part, &used, index, &place, nested);
        }
    }

    /// An interpreter that reads what only computes starts nothing else by it; it needs a rule of its own.
    fn without_sums(&self, line: &Line, part: &Part, mut used: Used) -> Used {
        if matches!(used.nested.as_slice(), [Nested::Stdin { .. }])
            && let Some(script) = self.input(line, part)
            && programs::only_computes(&used.program, &part.words, &script)
        {
            used.nested.clear();
        }
        used
    }

    /// Whether it may start others by what it reads.
    fn takes_orders(&self, line: &Line, part: &Part, used: &Used) -> bool {
        let redirected = part.redirections.iter().any(|target| target.way != Way::Write);
        match part.stdin {
            Stdin::Pipe(_) | Stdin::Text(_) if !redirected => {
                orders::may_start(&used.program, &part.words, self.input(line, part).as_deref())
            }
            Stdin::Pipe(_) | Stdin::Text(_) | Stdin::Inherited | Stdin::Unknown => {
                redirected && orders::obeys(&used.program)
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what is inside has its setting from everything around it")]
    fn nested(
        &mut self,
        setting: &Setting<'_>,
        line: &Line,
        part: &Part,
        used: &Used,
        index: usize,
        place: &Range<usize>,
        nested: &Nested,
    ) {
        let via = |via: &str| setting.via.iter().cloned().chain([via.to_owned()]).collect();
        let folders = self.after(&setting.folders, &used.folders);
        match nested {
            Nested::Words { via: name, words, assignments, fed } => {
                if setting.depth >= MAX_DEPTH {
                    return self.gap(place.clone(), "commands nested too deeply");
                }
                let first = words.first().map(|word| word.span.clone());
                let offset = part.words.iter().position(|word| Some(&word.span) == first.as_ref());
                let mut inner = Part {
                    words: words.clone(),
                    assignments: part.assignments.clone(),
                    redirections: Vec::new(),
                    stdin: stdin(part),
                    parent: Some((index, offset.unwrap_or(usize::MAX))),
                    ..Part::new(part.span.clone())
                };
                inner.assignments.extend(assignments.iter().map(|(name, value)| Assignment {
                    name: name.clone(),
                    value: value.clone(),
                    exported: Exported::ToThis,
                }));
                hand_on(part, &mut inner);
                let placed = inner.words.iter().any(is_placeholder);
                if (*fed == Fed::FromInput || placed)
                    && let Err(why) = self.feed(setting, line, part, used, &mut inner)
                {
                    self.note(index, why);
                }
                if found_below(&mut inner)
                    && let Some(name) = sought(&part.words)
                {
                    inner.notes.push(searches(name));
                }
                let setting =
                    Setting { folders, via: via(name), depth: setting.depth + 1, ..setting.clone() };
                self.program(&setting, line, inner);
            }
            Nested::Script { via: name, text } => match text.literal() {
                Some(script) => {
                    if !dialect::is_common(name, script) {
                        self.note(index, format!("`{name}` may read this text differently than bash"));
                    }
                    self.script(setting, part, folders, via(name), place, script);
                }
                None => self.note(index, format!("`{name}` runs text that is not known in advance")),
            },
            Nested::Stdin { via: name } => match self.input(line, part) {
                Some(script) if SHELLS.contains(&name.as_str()) && !orders::may_eat(&script) => {
                    if !dialect::is_common(name, &script) {
                        self.note(index, format!("`{name}` may read this text differently than bash"));
                    }
                    self.script(setting, part, folders, via(name), place, &script);
                }
                Some(_) | None => {
                    self.note(index, format!("`{name}` runs its input, which is not known in advance"));
                }
            },
        }
    }

    fn script(
        &mut self,
        setting: &Setting<'_>,
        part: &Part,
        folders: Arc<[PathBuf]>,
        via: Arc<[String]>,
        place: &Range<usize>,
        script: &str,
    ) {
        let recodes = |it: &Assignment| line::recodes(&it.name, it.value.literal());
        if !script.is_ascii() && part.assignments.iter().any(recodes) {
            self.gap(place.clone(), "a change of how non-ASCII characters are read");
        }
        let inner = Setting {
            linked: setting.linked,
            text: script,
            within: Some(place.clone()),
            folders,
            via,
            assignments: part.assignments.clone(),
            redirections: Vec::new(),
            depth: setting.depth + 1,
        };
        self.text(&inner);
    }

    fn note(&mut self, index: usize, why: impl Into<Remark>) {
        if let Some(start) = self.opened.starts.get_mut(index) {
            start.gaps.push(why.into());
        }
    }

    /// Adds the words that come from standard input, where it can be told what they are.
    fn feed(
        &self,
        setting: &Setting<'_>,
        line: &Line,
        part: &Part,
        used: &Used,
        inner: &mut Part,
    ) -> Result<(), Remark> {
        let unknown = || Remark::from(format!("`{}` adds words that are not known in advance", used.program));
        // With this it reads a file instead.
        let file = ["-a", "--arg-file"];
        let cut = ["-d", "--delimiter"];
        let lines = |given: &Given| given.value.as_ref().and_then(Word::literal) == Some("\\n");
        let odd = |given: &Given| {
            let is = |names: &[&str]| given.names.iter().any(|name| names.contains(&name.as_str()));
            is(&file) || (is(&cut) && !lines(given))
        };
        if used.options.iter().any(odd) {
            return Err(unknown());
        }
        // It prints whatever it is given.
        if inner.words.first().and_then(Word::literal) == Some("echo") {
            place(inner, vec![Word::text("x", 0..0)]);
            return Ok(());
        }
        if let Some(words) = self.input(line, part).and_then(|text| spelled_out(&text, used)) {
            place(inner, words);
            return Ok(());
        }
        let (source, listed, folders) = match &stdin(part) {
            Stdin::Pipe(from) => {
                let command = unfiltered(line, *from).ok_or_else(unknown)?;
                let (folders, linked) = self.folders(setting, line, command);
                let own = command.folders.as_deref();
                let filler = Filler { line, world: self.world, folders: &folders, own, linked };
                let filled = filler.fill(&command.words);
                if let Some(name) = sought(&filled.words) {
                    return Err(searches(name));
                }
                let source = programs::used(&filled.words);
                let parted = lists::parts_by_nul(&filled.words, &source);
                let led = |it: &Redirection| it.target.literal() != Some("/dev/null");
                if command.redirections.iter().any(led) || parted != lists::parts_by_nul(&part.words, used) {
                    return Err(unknown());
                }
                let name = command.words.first().and_then(Word::literal).unwrap_or_default();
                let here = folders == setting.folders && !makes_function(line, name);
                if here
                    && source.yields == Yields::Number
                    && filled.words.iter().all(|word| !word.is_unknown())
                {
                    // Any number is to a program what this one is, unless it is a name.
                    if Likeness::of_number().is_there(&folders, self.world) {
                        return Err(unknown());
                    }
                    place(inner, vec![Word::text("1", 0..0)]);
                    return Ok(());
                }
                let listed = here && lists::is_plain(&filled.words, &source, &folders, self.world);
                (source, listed, folders)
            }
            Stdin::Inherited | Stdin::Text(_) | Stdin::Unknown => return Err(unknown()),
        };
        if source.yields != Yields::Paths || !listed || folders.is_empty() {
            return Err(unknown());
        }
        let tops: Vec<Word> = tops(&source);
        if !fill_is_tame(&tops, &folders, self.world) {
            return Err(Remark::from(format!(
                "`{}` adds file names that may contain spaces, start with a dash, or be too many to check",
                used.program
            )));
        }
        let tops = if takes_first(inner) { [tops.clone(), tops].concat() } else { tops };
        let at = place(inner, tops);
        inner.below.extend(at);
        Ok(())
    }

    /// What is read from standard input, where that stands in the line.
    fn input(&self, line: &Line, part: &Part) -> Option<String> {
        match &stdin(part) {
            Stdin::Text(word) => word.literal().map(str::to_owned),
            Stdin::Pipe(from) => printed(line.commands.get(*from)?),
            Stdin::Inherited | Stdin::Unknown => None,
        }
    }
}

/// A search for files by a name that secrets usually have.
fn searches(name: &str) -> Remark {
    Remark::secret(format!(
        "this command searches for `{name}`, and files with this name usually hold secrets"
    ))
}
