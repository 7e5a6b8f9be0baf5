//! What is surely known at one point of a line: values of variables, folders, functions. Less is always safe.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::tree::{Folder, Piece, Word};

/// How many variables are followed.
const NAMES: usize = 24;
/// How long a value may be, in bytes.
const VALUE: usize = 2048;
/// How many elements an array may have.
const ELEMENTS: usize = 32;
/// How many folders are kept apart.
const FOLDERS: usize = 4;

/// What is known at one point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    /// States are handed on a lot and seldom changed, so what they hold is shared.
    vars: Arc<BTreeMap<String, Known>>,
    /// The folders that it may be; none if that is not known.
    pub(super) folders: Option<Arc<Vec<Folder>>>,
    /// The folders that `cd -` leads back to; none if that is not known.
    pub(super) back: Option<Arc<Vec<Folder>>>,
    /// Functions that surely stand for these names.
    pub(super) functions: Arc<BTreeSet<String>>,
    /// Whether `~` is the person's home.
    pub(super) home: bool,
}

/// What is known of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// Its value.
    Value(Arc<[Piece]>),
    /// That it is a whole number.
    Number,
    /// The elements of an array, none with anything that acts.
    List(Arc<[String]>),
}

impl Known {
    /// Values that grow without end are given up.
    fn is_small(&self) -> bool {
        match self {
            Self::Number => true,
            Self::List(elements) => {
                elements.len() <= ELEMENTS && elements.iter().map(String::len).sum::<usize>() <= VALUE
            }
            Self::Value(pieces) => {
                let length = |piece: &Piece| match piece {
                    Piece::Text(text) | Piece::Glob(text) => text.len(),
                    Piece::Home => 1,
                    Piece::Unknown(unknown) => unknown.text.len(),
                };
                pieces.len() <= 32 && pieces.iter().map(length).sum::<usize>() <= VALUE
            }
        }
    }
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            vars: Arc::default(),
            folders: Some(Arc::new(vec![Folder::default()])),
            back: None,
            functions: Arc::default(),
            home: true,
        }
    }

    /// Where nothing is known: not even the folder, if anything may change it.
    pub(super) fn nothing(moves: bool) -> Self {
        let mut state = Self { home: false, ..Self::new() };
        if moves {
            state.lose_folders();
        }
        state
    }

    pub(super) fn get(&self, name: &str) -> Option<&Known> {
        self.vars.get(name)
    }

    /// Notes a value, unless the shell gives the name a meaning of its own.
    pub(super) fn set(&mut self, name: &str, value: Option<Known>) {
        if name == "HOME" {
            self.home = false;
        }
        if matches!(name, "CDPATH") {
            self.folders = None;
        }
        if matches!(name, "OLDPWD" | "PWD") {
            self.back = None;
        }
        let value = value.filter(Known::is_small);
        match value {
            Some(known) if !own(name) && (self.vars.len() < NAMES || self.vars.contains_key(name)) => {
                Arc::make_mut(&mut self.vars).insert(name.to_owned(), known);
            }
            Some(_) | None => self.remove(name),
        }
    }

    fn remove(&mut self, name: &str) {
        if self.vars.contains_key(name) {
            Arc::make_mut(&mut self.vars).remove(name);
        }
    }

    /// A function stands for this name from here on.
    pub(super) fn define(&mut self, name: &str) {
        Arc::make_mut(&mut self.functions).insert(name.to_owned());
    }

    /// It does not any more.
    pub(super) fn undefine(&mut self, name: &str) {
        Arc::make_mut(&mut self.functions).remove(name);
    }

    /// Forgets every variable.
    pub(super) fn forget(&mut self) {
        self.vars = Arc::default();
        self.home = false;
        self.back = None;
    }

    /// Forgets the values of what this text, which runs more than once, may assign; counters stay numbers.
    pub(super) fn loosen(&mut self, raw: &str, text: &str) {
        let mut doomed = Vec::new();
        if self.vars.is_empty() {
            return;
        }
        // In places of lists and parts of values, too.
        let places = raw.contains('[') || raw.contains("${");
        let counts = ["((", "let ", "$[", "++"].iter().any(|word| text.contains(word))
            || (places
                && ["--", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]
                    .iter()
                    .any(|sign| text.contains(sign)));
        for (name, known) in Arc::make_mut(&mut self.vars) {
            let (mut assigned, mut numbers);
            // There blanks may stand in front of the sign.
            let behind = |text: &str, at: usize| {
                let rest = text.get(at + name.len()..).unwrap_or_default();
                let own = !text.get(..at).is_some_and(|before| before.ends_with(['$', '{']));
                let trimmed = rest.trim_start();
                let sets = trimmed.starts_with(['=', '+']) && !trimmed.starts_with("==");
                let blanks = if places && own && sets { rest.len() - trimmed.len() } else { 0 };
                at + name.len() + blanks
            };
            // Where quotes or backslashes spell more of them, none counts.
            let sets = |text: &str| {
                let set = |at: usize| {
                    text.get(behind(text, at)..).is_some_and(|rest| rest.starts_with(['=', '+', ':', '[']))
                };
                text.match_indices(name.as_str()).filter(|(at, _)| set(*at)).count()
            };
            let spelled = sets(raw) == sets(text);
            (assigned, numbers) = (!spelled, spelled);
            for (at, _) in raw.match_indices(name.as_str()) {
                let rest = raw.get(behind(raw, at)..).unwrap_or("");
                // Digits behind digits may be octal.
                numbers &= !rest.starts_with("+=");
                let rest = rest.strip_prefix('+').unwrap_or(rest);
                // The number of a stream: `{name}<file`.
                let before = raw.get(..at).unwrap_or_default();
                assigned |= before.ends_with('{')
                    && !before.ends_with("${")
                    && (rest.starts_with("}<") || rest.starts_with("}>"));
                let Some(value) = rest.strip_prefix('=') else {
                    // `${name:=…}` and an index assign too.
                    numbers &= !(rest.starts_with([':', '[']));
                    assigned |= rest.starts_with([':', '[']);
                    continue;
                };
                assigned = true;
                let behind = value.trim_start_matches(|c: char| c.is_ascii_digit());
                let octal = value.starts_with('0') && value.len() > behind.len() + 1;
                let digits = behind.len() < value.len()
                    && !octal
                    && (behind.is_empty() || behind.starts_with([';', ' ', '\n']));
                numbers &= digits || sum(value);
            }
            let digits = match known {
                Known::Number => true,
                Known::List(_) => false,
                // With a zero in front it would be octal.
                Known::Value(pieces) => matches!(&**pieces,
                    [Piece::Text(text)] if text.bytes().all(|byte| byte.is_ascii_digit())
                        && (text == "0" || !text.starts_with('0'))),
            };
            if digits && numbers && (assigned || counts) {
                *known = Known::Number;
            } else if assigned || counts {
                doomed.push(name.clone());
            }
        }
        for name in doomed {
            self.remove(&name);
        }
    }

    /// What holds on both ways.
    pub(super) fn merge(mut self, other: &Self) -> Self {
        if !Arc::ptr_eq(&self.vars, &other.vars) {
            Arc::make_mut(&mut self.vars).retain(|name, known| other.vars.get(name) == Some(known));
        }
        if !Arc::ptr_eq(&self.functions, &other.functions) {
            Arc::make_mut(&mut self.functions).retain(|name| other.functions.contains(name));
        }
        self.home &= other.home;
        self.back = self.back.filter(|back| other.back.as_ref() == Some(back));
        self.folders = match (self.folders, &other.folders) {
            (Some(mut mine), Some(theirs)) => {
                for folder in theirs.iter() {
                    if !mine.contains(folder) {
                        Arc::make_mut(&mut mine).push(folder.clone());
                    }
                }
                (mine.len() <= FOLDERS).then_some(mine)
            }
            (_, _) => None,
        };
        self
    }

    /// The folder is not known any more.
    pub(super) fn lose_folders(&mut self) {
        self.folders = None;
        self.back = None;
    }

    /// After `cd -`.
    pub(super) fn turn_back(&mut self) {
        let here = self.folders.take();
        self.folders = std::mem::replace(&mut self.back, here);
    }

    /// After `cd` to this word.
    pub(super) fn enter(&mut self, word: &Word) {
        self.back.clone_from(&self.folders);
        if let Some(folders) = self.folders.as_mut().map(Arc::make_mut) {
            for folder in folders.iter_mut() {
                if word.literal().is_some_and(|text| text.starts_with('/')) {
                    folder.0.clear();
                }
                folder.0.push(word.clone());
                if folder.0.len() > 16 {
                    self.folders = None;
                    return;
                }
            }
            let mut kept: Vec<Folder> = Vec::new();
            for folder in folders.drain(..) {
                if !kept.contains(&folder) {
                    kept.push(folder);
                }
            }
            *folders = kept;
        }
    }
}

/// Names whose value is the shell's affair.
pub(super) fn own(name: &str) -> bool {
    name.starts_with("BASH")
        || matches!(
            name,
            "SECONDS"
                | "RANDOM"
                | "SRANDOM"
                | "LINENO"
                | "UID"
                | "EUID"
                | "PPID"
                | "PWD"
                | "OLDPWD"
                | "HOME"
                | "OPTIND"
                | "OPTARG"
                | "OPTERR"
                | "COLUMNS"
                | "LINES"
                | "HISTCMD"
                | "DIRSTACK"
                | "GROUPS"
                | "FUNCNAME"
                | "PIPESTATUS"
                | "EPOCHSECONDS"
                | "EPOCHREALTIME"
                | "_"
                | "IFS"
                | "PATH"
                | "SHLVL"
                | "SHELLOPTS"
                | "REPLY"
                | "MAPFILE"
                | "COPROC"
                | "HOSTNAME"
                | "HOSTTYPE"
                | "MACHTYPE"
                | "OSTYPE"
                | "CDPATH"
                | "SHELL"
                | "TMPDIR"
        )
}

/// A text in which words are looked for, however they are quoted.
pub(super) fn squeezed(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // A line that goes on.
            '\\' => {
                letters.next_if_eq(&'\n');
            }
            '\'' | '"' => {}
            '\t' => plain.push(' '),
            letter => plain.push(letter),
        }
    }
    if text.contains("$'") {
        // What stands there may spell any of them.
        plain.push_str(" cd pushd popd eval source . read for select break continue declare local");
    }
    plain
}

/// Whether a value is one `$(( … ))` and nothing else.
fn sum(value: &str) -> bool {
    let bytes = super::close::Bytes(value.as_bytes());
    value.starts_with("$((")
        && bytes.sums(3, value.len(), 0).is_some_and(|end| {
            value
                .get(end..)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([';', ' ', '\n', ')', '&']))
        })
}
