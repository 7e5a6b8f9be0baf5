//! Writes the steps of a filter from the last to the first, so that every jump leads to a step that is already there.
//! What is looked at most often by the kernel, the number of a call, is found by halves and not one by one.

use std::collections::BTreeMap;

use libc::sock_filter;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;

/// So many numbers are compared one by one.
const FEW: usize = 4;

/// What a step asks about the number that was loaded.
#[derive(Clone, Copy)]
pub(super) enum Ask {
    Equal(u32),
    AtLeast(u32),
    AnyBit(u32),
}

/// A step that is written, counted from the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Step(usize);

/// What is written so far, the last step first.
#[derive(Default)]
pub(super) struct Steps {
    back: Vec<sock_filter>,
    /// The nearest step for each answer.
    answers: BTreeMap<u32, Step>,
}

impl Steps {
    /// Ends with an answer.
    pub(super) fn answer(&mut self, answer: u32) -> Step {
        match self.answers.get(&answer) {
            Some(step) if self.distance(*step) < u8::MAX.into() => *step,
            Some(_) | None => {
                let step = self.push(RETURN, 0, 0, answer);
                self.answers.insert(answer, step);
                step
            }
        }
    }

    /// Goes one way or the other.
    pub(super) fn ask(&mut self, ask: Ask, yes: Step, no: Step) -> Step {
        let (code, k) = match ask {
            Ask::Equal(k) => (0x15, k),
            Ask::AtLeast(k) => (0x35, k),
            Ask::AnyBit(k) => (0x45, k),
        };
        // Bringing the second near moves the first one step further away.
        let (yes, no) = (self.near(yes, 1), self.near(no, 0));
        let jump = |step| u8::try_from(self.distance(step)).unwrap_or(u8::MAX);
        let (yes, no) = (jump(yes), jump(no));
        self.push(code, yes, no, k)
    }

    /// Loads what lies at this place of a call, and goes on.
    pub(super) fn load(&mut self, place: u32, then: Step) -> Step {
        self.before(then);
        self.push(LOAD, 0, 0, place)
    }

    /// Keeps these bits of what was loaded, and goes on.
    pub(super) fn keep(&mut self, bits: u32, then: Step) -> Step {
        self.before(then);
        self.push(AND, 0, 0, bits)
    }

    /// Goes to the step for the number that was loaded, or to another for all that have none.
    pub(super) fn choose(&mut self, steps: &[(u32, Step)], other: u32) -> Step {
        if steps.len() <= FEW {
            let none = self.answer(other);
            return steps
                .iter()
                .rev()
                .fold(none, |no, (number, yes)| self.ask(Ask::Equal(*number), *yes, no));
        }
        let (low, high) = steps.split_at(steps.len() / 2);
        let Some((middle, _)) = high.first() else { return self.answer(other) };
        let above = self.choose(high, other);
        let below = self.choose(low, other);
        self.ask(Ask::AtLeast(*middle), above, below)
    }

    /// From the first step on.
    pub(super) fn finish(mut self, first: Step) -> Vec<sock_filter> {
        self.before(first);
        self.back.reverse();
        self.back
    }

    /// How many steps a jump from the next one passes over.
    fn distance(&self, to: Step) -> usize {
        self.back.len().saturating_sub(to.0 + 1)
    }

    /// A step that can still be reached after so many more.
    fn near(&mut self, step: Step, more: usize) -> Step {
        if self.distance(step) + more <= u8::MAX.into() { step } else { self.jump(step) }
    }

    /// Makes a step the one that follows.
    fn before(&mut self, then: Step) {
        if self.distance(then) > 0 {
            self.jump(then);
        }
    }

    fn jump(&mut self, to: Step) -> Step {
        let distance = u32::try_from(self.distance(to)).unwrap_or(u32::MAX);
        self.push(JUMP, 0, 0, distance)
    }

    fn push(&mut self, code: u16, jt: u8, jf: u8, k: u32) -> Step {
        self.back.push(sock_filter { code, jt, jf, k });
        Step(self.back.len() - 1)
    }
}

#[cfg(test)]
#[path = "steps/tests.rs"]
pub(super) mod tests;
