//! The verdict about a command line: of every program that it would start, the strictest. What was not understood is
//! never allowed, whatever a rule or a default says.

mod before;
mod streams;

use std::path::Path;

use askfirst::{Approval, Risk};

use self::before::{Before, Order};
use super::aliases;
use super::judged::{Judged, Reason, Row};
use super::match_deny::{self, Denied, Ways};
use super::match_words::{self, Case, Covered, unnamed_variables};
use super::programs;
use super::programs::used::{Class, Known, Used};
use super::reach::Reach;
use super::rules::{Layer, Rule};
use super::start::{Kind, Opened, Start};
use super::touched::{self, Touched};
use super::variables;

/// What the shell does by itself, and nothing else sees. The folder that `cd` names is looked at like any other.
const STEERING: [&str; 11] =
    ["cd", "true", "false", ":", "exit", "return", "break", "continue", "wait", "shift", "set"];

/// What a line is judged by.
pub(super) struct Judge<'a> {
    pub(super) main: &'a Layer,
    pub(super) floors: &'a [Layer],
    pub(super) reach: Reach<'a>,
    /// The folder that the call begins in.
    pub(super) cwd: &'a Path,
    pub(super) network: bool,
}

impl Judge<'_> {
    /// Judges everything that a text would start.
    pub(super) fn judge<'s>(&self, text: &str, opened: &'s Opened) -> Judged<'s> {
        let mut judged = Judged {
            rows: Vec::new(),
            whole: Vec::new(),
            risk: Risk::Low,
            network: false,
            basis: Vec::new(),
            writes: Vec::new(),
            starts: Vec::new(),
        };
        self.judge_whole(text, opened, &mut judged);
        let mut before = Before::default();
        let mut heard = Vec::with_capacity(opened.starts.len());
        judged.rows.reserve_exact(opened.starts.len());
        for (at, start) in opened.starts.iter().enumerate() {
            let (row, speaks, touched) = self.judge_start(at, start, opened, &mut judged, &mut before);
            judged.rows.push(row);
            heard.push((speaks, touched));
        }
        if before.has_something() && opened.repeats() {
            // What comes behind in the text may come before in time.
            for ((row, start), (_, touched)) in judged.rows.iter_mut().zip(&opened.starts).zip(&heard) {
                let hinders = before.hinders(start, touched, Order::Any, touched.unclear, self.reach.world);
                row.reasons.extend(hinders);
            }
        }
        streams::print_on(&opened.starts, &heard, &mut judged.rows);
        for (at, row) in judged.rows.iter_mut().enumerate() {
            let risk = self.streams(at, opened, &heard, row);
            judged.risk = judged.risk.max(risk);
        }
        if judged.approval() == Approval::None && !opened.confirmed() {
            let why = "askfirst's two parsers read this line differently";
            judged.whole.push((0..0, Reason::new(self.unclear(), why)));
        }
        judged.basis.sort();
        judged.basis.dedup();
        judged.basis.push(["verdict: ", judged.approval().as_str()].concat());
        judged.writes.sort();
        judged.writes.dedup();
        judged.starts = opened.starts.iter().collect();
        judged.leave_out_repeats();
        judged
    }

    /// What holds about the text as a whole.
    fn judge_whole(&self, text: &str, opened: &Opened, judged: &mut Judged) {
        for (span, why) in &opened.gaps {
            let why = format!("cannot parse this line: {why}");
            judged.whole.push((span.clone(), Reason::new(self.unclear(), why)));
        }
        for (at, letter) in text.char_indices().filter(|(_, letter)| is_hidden(*letter)) {
            let why = format!("this line contains the invisible character U+{:04X}", u32::from(letter));
            judged.whole.push((at..at + letter.len_utf8(), Reason::new(Approval::Required, why)));
        }
        if opened.starts.is_empty() && opened.gaps.is_empty() {
            let why = "this line contains no command";
            judged.whole.push((0..text.len(), Reason::new(Approval::Required, why)));
        }
        for layer in std::iter::once(self.main).chain(self.floors) {
            for because in layer.dangerous(text) {
                let reason =
                    Reason::of(Approval::Required, "this line matches a dangerous pattern", Some(because));
                judged.whole.push((0..text.len(), reason));
            }
            let unclear = !opened.gaps.is_empty() || opened.starts.iter().any(|start| !start.gaps.is_empty());
            let denies = layer.all_denies().filter(|_| unclear);
            for rule in denies.filter(|rule| match_deny::in_text(&rule.pattern, text)) {
                let why = "cannot parse this line, and it contains text that a deny rule matches";
                judged
                    .whole
                    .push((0..text.len(), Reason::of(Approval::Deny, why, Some(&rule.config.origin))));
            }
        }
    }

    fn judge_start<'s>(
        &'s self,
        at: usize,
        start: &'s Start,
        opened: &Opened,
        judged: &mut Judged,
        before: &mut Before,
    ) -> (Row, Speaks, Touched<'s>) {
        let mut touched = self.touch(start, before, self.unclear());
        if touched.unclear >= Approval::Required && self.is_rehearsed_by_rule(at, start, opened, &touched) {
            touched = self.touch(start, before, Approval::Rehearse);
        }
        let unclear = touched.unclear;
        before.note(start, &mut touched);
        judged.basis.append(&mut touched.places);
        judged.writes.append(&mut touched.writes);
        let mut row = Row { reasons: std::mem::take(&mut touched.reasons), ..Row::default() };
        let mut speaks = Speaks::Nothing;
        match (&start.used, start.kind) {
            (Some(used), Kind::Program) => {
                judged.risk = judged.risk.max(used.risk);
                judged.network |= used.network;
                if used.network && !self.network {
                    let why = "this command uses the network, and `shell.network` is false";
                    // A rehearsal has a network of its own, with this machine's addresses alone.
                    let approval = if used.only_loopback { unclear } else { Approval::Required };
                    row.reasons.push(Reason::new(approval, why));
                }
                let risk;
                let look = Look { judge: self, at, start, used, opened, touched: &touched };
                (speaks, risk) = look.layers(&mut row);
                judged.risk = judged.risk.max(risk);
            }
            (_, Kind::Function) => {
                let why = "a function that this line defines; its commands are listed separately";
                row.reasons.push(Reason::new(Approval::None, why));
                row.reasons.extend(doubted(start, unclear));
                speaks = Speaks::Harmless;
            }
            (_, Kind::Nothing) | (None, Kind::Program) => {
                row.reasons.push(Reason::new(Approval::None, "this command starts no program"));
                row.reasons.extend(doubted(start, unclear));
            }
        }
        once_each(&mut row.reasons);
        (row, speaks, touched)
    }

    /// What a command touches, and what before it in the line hinders it.
    fn touch<'s>(&'s self, start: &'s Start, before: &Before, unclear: Approval) -> Touched<'s> {
        self.reach.unclear.set(unclear);
        let mut touched = touched::touched(start, &self.reach);
        touched.reasons.extend(before.hinders(start, &touched, Order::Before, unclear, self.reach.world));
        touched
    }

    /// What is asked about what no rule covers, where it is not understood. A floor that says something else keeps that.
    fn unclear(&self) -> Approval {
        if self.floors_let_rehearse() { self.main.unclear() } else { Approval::Required }
    }

    fn floors_let_rehearse(&self) -> bool {
        self.floors.iter().all(|floor| floor.default.is_none() || floor.unclear() == Approval::Rehearse)
    }

    /// Whether the rule that speaks for a command has it rehearsed.
    fn is_rehearsed_by_rule(&self, at: usize, start: &Start, opened: &Opened, touched: &Touched) -> bool {
        let (Some(used), Kind::Program) = (&start.used, start.kind) else { return false };
        if !self.main.rehearses_by_rule() || !self.floors_let_rehearse() {
            return false;
        }
        let look = Look { judge: self, at, start, used, opened, touched };
        let (_, rule) = look.speak(self.main, Main::Yes, &mut Vec::new());
        rule.is_some_and(|rule| rule.config.approval == Approval::Rehearse)
    }
}

/// Why something is asked about that nothing speaks for.
const NO_RULE: &str = "no rule allows it";

/// What spoke for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaks {
    Rule,
    ReadOnly,
    Default,
    Harmless,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Main {
    Yes,
    No,
}

/// Takes away what is said a second time.
fn once_each(reasons: &mut Vec<Reason>) {
    let mut at = 1;
    while let Some(reason) = reasons.get(at) {
        if reasons.iter().take(at).any(|before| before == reason) {
            reasons.remove(at);
        } else {
            at += 1;
        }
    }
}

/// What is not understood about a command that starts no program of its own.
fn doubted(start: &Start, unclear: Approval) -> impl Iterator<Item = Reason> {
    let variables = unnamed_variables(None, start).into_iter();
    let gaps = variables.chain(start.gaps.iter().map(|gap| gap.why.clone()));
    gaps.map(move |why| Reason::new(unclear, why)).chain(secrets(start))
}

/// Secrets that a command would show.
fn secrets(start: &Start) -> impl Iterator<Item = Reason> {
    let secrets = start.gaps.iter().filter(|gap| gap.shows_secret);
    secrets.map(|gap| Reason::new(Approval::Required, gap.why.clone()))
}

/// One command as one layer sees it.
struct Look<'a> {
    judge: &'a Judge<'a>,
    at: usize,
    start: &'a Start,
    used: &'a Used,
    opened: &'a Opened,
    touched: &'a Touched<'a>,
}

impl<'a> Look<'a> {
    /// What all layers say, added to the row, and the risk of the rules that speak.
    fn layers(&self, row: &mut Row) -> (Speaks, Risk) {
        let (speaks, rule) = self.speak(self.judge.main, Main::Yes, &mut row.reasons);
        if self.touched.unclear < Approval::Required {
            row.reasons.extend(secrets(self.start));
        }
        if row.approval() == Approval::Rehearse {
            let why = self.used.held.why_not_rehearsed();
            row.reasons.extend(why.map(|why| Reason::new(Approval::Required, why)));
        }
        let mut risk = Risk::Low;
        if let Some(rule) = rule {
            risk = rule.config.risk.unwrap_or_default();
            row.description.clone_from(&rule.config.description);
        }
        for floor in self.judge.floors {
            let mut said = Vec::new();
            let (_, rule) = self.speak(floor, Main::No, &mut said);
            let strictest = row.approval();
            row.reasons.extend(said.into_iter().filter(|reason| reason.approval > strictest));
            risk = risk.max(rule.and_then(|rule| rule.config.risk).unwrap_or_default());
        }
        (speaks, risk)
    }

    /// What speaks for it, and the rule that does; why is added to the reasons.
    fn speak<'l>(
        &self,
        layer: &'l Layer,
        main: Main,
        reasons: &mut Vec<Reason>,
    ) -> (Speaks, Option<&'l Rule>) {
        if let Some((denied, rule)) = self.denied(layer) {
            let pattern = &rule.config.pattern;
            let (approval, text) = match denied {
                Denied::Yes => (Approval::Deny, format!("the rule `{pattern}` denies this command")),
                Denied::Perhaps | Denied::No => {
                    (Approval::Required, format!("the rule `{pattern}` may deny this command"))
                }
            };
            reasons.push(Reason::of(approval, text, Some(&rule.config.origin)));
            if denied == Denied::Yes {
                return (Speaks::Rule, Some(rule));
            }
        }
        let unclear = match main {
            Main::Yes => self.touched.unclear,
            Main::No => layer.unclear(),
        };
        let mut but: Option<(&Rule, Vec<String>)> = None;
        for (_, rule) in self.candidates(layer) {
            match self.covered(rule) {
                Covered::No | Covered::Into(_) => {}
                Covered::Yes => {
                    let text = format!("rule `{}`", rule.config.pattern);
                    reasons.push(Reason::of(rule.config.approval, text, Some(&rule.config.origin)));
                    return (Speaks::Rule, Some(rule));
                }
                Covered::But(_)
                    if rule.config.approval >= Approval::Required
                        || rule.config.approval == Approval::Rehearse =>
                {
                    let text = format!("rule `{}`", rule.config.pattern);
                    reasons.push(Reason::of(rule.config.approval, text, Some(&rule.config.origin)));
                    return (Speaks::Rule, Some(rule));
                }
                Covered::But(why) => {
                    but.get_or_insert((rule, why));
                }
            }
        }
        if let Some((rule, why)) = but {
            reasons.extend(why.into_iter().map(|why| {
                let text = format!("{why}; the rule `{}` does not cover that", rule.config.pattern);
                Reason::of(unclear, text, Some(&rule.config.origin))
            }));
            return (Speaks::Rule, Some(rule));
        }
        let doubts = self.doubts();
        let clean = doubts.is_empty();
        if main == Main::Yes {
            reasons.extend(doubts.into_iter().map(|why| Reason::new(unclear, why)));
        }
        if clean && self.only_wraps() {
            reasons.push(Reason::new(Approval::None, "this command only starts commands listed separately"));
            return (Speaks::Harmless, None);
        }
        // `set` alone prints every variable.
        let steers = STEERING.contains(&self.used.program.as_str())
            && (self.used.program != "set" || self.start.words.len() > 1);
        if clean && (steers || variables::sets_harmless(self.start, self.used)) && self.used.path.is_none() {
            reasons.push(Reason::new(Approval::None, "this command only changes the shell's own state"));
            return (Speaks::ReadOnly, None);
        }
        if clean && self.only_reads() && layer.known_read_only.is_some() {
            let approval = layer.known_read_only.unwrap_or(Approval::Required);
            let origin = layer.origin("shell.known_read_only");
            reasons.push(Reason::of(approval, "this command only reads", origin));
            return (Speaks::ReadOnly, None);
        }
        if let Some(default) = layer.default {
            reasons.push(Reason::of(default, NO_RULE, layer.origin("shell.default.approval")));
        }
        (Speaks::Default, None)
    }

    fn denied<'l>(&self, layer: &'l Layer) -> Option<(Denied, &'l Rule)> {
        if !layer.denies_something() {
            return None;
        }
        let held = self.denied_as(layer, self.start, self.used);
        if held.is_some_and(|(denied, _)| denied == Denied::Yes) {
            return held;
        }
        let others = aliases::others(&self.start.words, self.used);
        if others.len() >= aliases::MOST {
            // There may be further ones, of what any rule denies.
            return held.or_else(|| layer.all_denies().next().map(|rule| (Denied::Perhaps, rule)));
        }
        let others = others.into_iter().filter_map(|words| {
            let used = programs::used(&words);
            self.denied_as(layer, &Start { words, ..self.start.clone() }, &used)
        });
        let held = held.into_iter().chain(others).max_by_key(|(denied, _)| *denied);
        let subs = self.used.subs.iter().map(|sub| sub.name.as_str());
        let words = self.start.words.iter().skip(1).filter_map(|word| word.literal()).chain(subs);
        held.or_else(|| self.may_start_denied(layer, &words.collect::<Vec<_>>()))
    }

    fn denied_as<'l>(&self, layer: &'l Layer, start: &Start, used: &Used) -> Option<(Denied, &'l Rule)> {
        let literal = start.words.iter().all(|word| word.literal().is_some());
        let table = used.known == Known::Table && literal;
        let subs = used.subs.iter().map(|sub| sub.name.as_str());
        let words = start.words.iter().skip(1).filter_map(|word| word.literal()).chain(subs);
        let rules = if start.words.first().is_some_and(|word| word.literal().is_none()) {
            layer.all_denies().map(|rule| (0, rule)).collect()
        } else {
            let names = match_deny::names_of(used, &start.folders, self.judge.reach.world);
            let looked = |name: &String| layer.denies(name, table.then_some(words.clone()));
            names.iter().flat_map(looked).collect::<Vec<_>>()
        };
        let ways = Ways { base: self.judge.reach.roots.folder(), world: self.judge.reach.world };
        let held =
            rules.into_iter().map(|(_, rule)| (match_deny::denies(&rule.pattern, start, used, ways), rule));
        held.filter(|(denied, _)| *denied > Denied::No).max_by_key(|(denied, _)| *denied)
    }

    /// A program that does more than read may start what its words name: `npx rm`, `fakeroot rm`, `ssh host rm`.
    fn may_start_denied<'l>(&self, layer: &'l Layer, words: &[&'a str]) -> Option<(Denied, &'l Rule)> {
        if self.used.class == Class::Reads && self.used.known == Known::Table {
            return None;
        }
        // A program that nothing is known about, or that runs others, may hand a word to a shell.
        let signs =
            [' ', '\t', '\n', '=', '"', '\'', '(', ')', '!', ';', '`', '[', ']', ',', '&', '|', '{', '}'];
        let apart = |word: &&'a str| word.split(signs).collect::<Vec<_>>();
        let words: Vec<&str> = if self.used.known == Known::Nothing || self.used.class >= Class::Runs {
            words.iter().flat_map(apart).filter(|word| !word.is_empty()).collect()
        } else {
            words.to_vec()
        };
        let later = |at: usize| words.get(at..).unwrap_or_default().join(" ");
        words.iter().enumerate().find_map(|(at, word)| {
            let name = word.rsplit('/').next().unwrap_or(word);
            let rules = layer.denies(name, None::<std::iter::Empty<&str>>);
            let mut rules = rules.into_iter().map(|(_, rule)| rule);
            let rule = rules.find(|rule| match_deny::in_text(&rule.pattern, &later(at)))?;
            // Code on the line that says it says nothing else.
            let says = self.used.codes().any(|code| match_deny::in_text(&rule.pattern, code));
            Some((if says { Denied::Yes } else { Denied::Perhaps }, rule))
        })
    }

    /// The rules that may cover it: about the program, or about a wrapper that it is reached through.
    fn candidates<'l>(&self, layer: &'l Layer) -> Vec<(usize, &'l Rule)> {
        let words = |start: &'a Start| {
            let subs = start.used.iter().flat_map(|used| used.subs.iter().map(|sub| sub.name.as_str()));
            start.words.iter().skip(1).filter_map(|word| word.literal()).chain(subs)
        };
        let names = |program: &'a str| std::iter::once(program).chain(programs::synonyms(program));
        let mut found = Vec::new();
        let mut look = |program: &'a str, start: &'a Start| {
            found.extend(names(program).flat_map(|name| layer.allows(name, words(start))));
        };
        look(&self.used.program, self.start);
        let mut start = self.start;
        while let Some(parent) = start.parent.and_then(|(parent, _)| self.opened.starts.get(parent)) {
            if let Some(used) = &parent.used {
                look(&used.program, parent);
            }
            start = parent;
        }
        found.sort_by_key(|(at, _)| *at);
        found.dedup_by_key(|(at, _)| *at);
        found
    }

    fn covered(&self, rule: &Rule) -> Covered {
        if !self.holds(rule) {
            return Covered::No;
        }
        let own = self.covered_from(rule, 0, self.at);
        if own != Covered::No && !matches!(own, Covered::Into(_)) {
            return own;
        }
        // The rule may name the wrapper and go on into this program.
        let mut chain = vec![self.at];
        let mut start = self.start;
        while let Some((parent, _)) = start.parent {
            chain.push(parent);
            match self.opened.starts.get(parent) {
                Some(above) => start = above,
                None => break,
            }
        }
        for top in 1..chain.len() {
            let mut from = 0;
            let mut last = Covered::No;
            for at in chain.iter().take(top + 1).rev() {
                last = self.covered_from(rule, from, *at);
                match last {
                    Covered::Into(next) => from = next,
                    Covered::No | Covered::Yes | Covered::But(_) => {
                        if *at != self.at {
                            last = Covered::No;
                        }
                        break;
                    }
                }
            }
            if matches!(last, Covered::Yes | Covered::But(_)) {
                return last;
            }
        }
        Covered::No
    }

    fn covered_from(&self, rule: &Rule, from: usize, at: usize) -> Covered {
        let (start, used) = if at == self.at {
            (self.start, self.used)
        } else {
            let Some(start) = self.opened.starts.get(at) else { return Covered::No };
            let Some(used) = &start.used else { return Covered::No };
            (start, &**used)
        };
        let inner = self.opened.starts.iter().filter_map(|inner| inner.parent);
        let inner = inner.filter(|(parent, _)| *parent == at).map(|(_, offset)| offset).min();
        let roots = self.judge.reach.roots;
        let paths = rule.pattern.words.iter().any(|word| word.head.contains('/'));
        let base = if paths { roots.base(self.judge.cwd) } else { roots.folder() };
        let case = Case { start, used, world: self.judge.reach.world, base, cwd: self.judge.cwd, inner };
        match_words::covers(&rule.pattern, from, &case)
    }

    /// Whether the folder and every place lie in the roots that a rule is about.
    fn holds(&self, rule: &Rule) -> bool {
        let roots = &rule.config.sandbox_paths;
        if roots.is_empty() {
            return true;
        }
        let within = |root: Option<&str>| root.is_some_and(|root| roots.iter().any(|held| held == root));
        !self.start.folders.is_empty()
            && self.start.folders.iter().all(|folder| within(self.judge.reach.root_of(folder)))
            && self.touched.roots.iter().all(|root| within(*root))
    }

    /// What no rule lifted.
    fn doubts(&self) -> Vec<String> {
        let mut doubts: Vec<String> = self.used.doubts.iter().map(|doubt| doubt.why.clone()).collect();
        doubts.extend(self.start.gaps.iter().map(|gap| gap.why.clone()));
        doubts.extend(unnamed_variables(None, self.start));
        if match_words::reads_script(self.used) {
            doubts.push("the shell runs a file, which can change all later commands".to_owned());
        }
        doubts
    }

    /// Whether all that it does is start programs that are judged themselves.
    fn only_wraps(&self) -> bool {
        !self.used.nested.is_empty() && self.used.paths.is_empty() && self.used.class < Class::Asks
    }

    fn only_reads(&self) -> bool {
        self.used.class == Class::Reads && !self.used.network && self.used.known == Known::Table
    }
}

/// Letters that a screen does not draw, or that change how others are drawn.
fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{a0}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{3000}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

#[cfg(test)]
#[path = "verdict/tests.rs"]
mod tests;
