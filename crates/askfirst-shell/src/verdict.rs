//! The verdict about a command line: of every program that it would start, the strictest. What was not understood is
//! never allowed, whatever a rule or a default says.

mod before;
mod look;
mod streams;

use std::path::Path;

use askfirst::{Approval, Risk};

use self::before::{Before, Order};
use self::look::Look;
use super::judged::{Judged, Reason, Row};
use super::match_deny;
use super::match_words::unnamed_variables;
use super::programs;
use super::programs::used::{Class, Known, Used};
use super::reach::Reach;
use super::rules::{Layer, NetworkAccess};
use super::start::{Kind, Opened, Start};
use super::touched::{self, Touched};

/// What a line is judged by.
pub(super) struct Judge<'a> {
    pub(super) main: &'a Layer,
    pub(super) floors: &'a [Layer],
    pub(super) reach: Reach<'a>,
    /// The folder that the call begins in.
    pub(super) cwd: &'a Path,
}

impl Judge<'_> {
    /// Judges everything that a text would start.
    pub(super) fn judge<'s>(&self, text: &str, opened: &'s Opened) -> Judged<'s> {
        let mut judged = Judged {
            rows: Vec::new(),
            whole: Vec::new(),
            risk: Risk::Low,
            network: None,
            uses_network: false,
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
        judged.network = judged.network.filter(|_| judged.uses_network);
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
                let at_network = row.reasons.len();
                let look = Look { judge: self, at, start, used, opened, touched: &touched };
                let said = look.layers(&mut row);
                let uses_network = used.network || said.network_by_rule;
                if let Some(why) = asks_for_network(said.network).filter(|_| uses_network) {
                    // A rehearsal has a network of its own, with this machine's addresses alone.
                    let approval = if used.only_loopback { unclear } else { Approval::Required };
                    let by_layer = self.main.network == Some(said.network) && !said.network_by_rule;
                    let origin = self.main.origin("shell.network").filter(|_| by_layer);
                    row.reasons.insert(at_network, Reason::of(approval, why, origin));
                }
                judged.uses_network |= uses_network;
                if uses_network || used.known != Known::Table || used.class >= Class::Runs {
                    judged.network = judged.network.max(Some(said.network));
                }
                speaks = said.speaks;
                judged.risk = judged.risk.max(said.risk);
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

/// Why a command that uses the network is asked about, if it is.
fn asks_for_network(access: NetworkAccess) -> Option<&'static str> {
    match access {
        NetworkAccess::None => None,
        NetworkAccess::Required => Some("this command uses the network, which needs approval"),
        NetworkAccess::Deny => Some("this command uses the network, and `shell.network` is false"),
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
    let secrets = start.gaps.iter().filter(|gap| gap.shows_secret).map(|gap| gap.why.clone());
    let variables = start.used.as_ref().filter(|used| used.shows_secrets);
    let secrets = secrets.chain(variables.map(|_| programs::PRINTS_ALL.to_owned()));
    secrets.map(|why| Reason::new(Approval::Required, why))
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
