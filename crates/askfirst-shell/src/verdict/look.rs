//! One command as one layer sees it: the rule that speaks, or what else does.

use askfirst::{Approval, Risk};

use super::{Judge, Main, NO_RULE, Reason, Row, Speaks, secrets};
use crate::aliases;
use crate::match_deny::{self, Denied, Ways};
use crate::match_words::{self, Case, Covered, unnamed_variables};
use crate::programs;
use crate::programs::used::{Class, Known, Used};
use crate::rules::{Layer, Rule};
use crate::start::{Opened, Start};
use crate::touched::Touched;
use crate::variables;

/// What the shell does by itself, and nothing else sees. The folder that `cd` names is looked at like any other.
const SHELL_STATE: [&str; 11] =
    ["cd", "true", "false", ":", "exit", "return", "break", "continue", "wait", "shift", "set"];

/// One command as one layer sees it.
pub(super) struct Look<'a> {
    pub(super) judge: &'a Judge<'a>,
    pub(super) at: usize,
    pub(super) start: &'a Start,
    pub(super) used: &'a Used,
    pub(super) opened: &'a Opened,
    pub(super) touched: &'a Touched<'a>,
}

impl<'a> Look<'a> {
    /// What all layers say, added to the row, and the risk of the rules that speak.
    pub(super) fn layers(&self, row: &mut Row) -> (Speaks, Risk) {
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
    pub(super) fn speak<'l>(
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
        let steers = SHELL_STATE.contains(&self.used.program.as_str())
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
