//! Assembles a seccomp filter from the last instruction to the first, so that every jump target already exists.
//!
//! The kernel runs the filter for every system call, so the number of the call is found by binary search.

use std::collections::BTreeMap;

use libc::sock_filter;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;

/// Up to this many numbers, a linear search is used.
const LINEAR_SEARCH: usize = 4;

/// A condition on the loaded number.
#[derive(Clone, Copy)]
pub(super) enum Condition {
    Equal(u32),
    AtLeast(u32),
    AnyBit(u32),
}

/// The position of an instruction, counted from the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(usize);

/// The instructions so far, the last one first.
#[derive(Default)]
pub(super) struct Assembler {
    back: Vec<sock_filter>,
    /// The nearest return instruction for each value.
    returns: BTreeMap<u32, Label>,
}

impl Assembler {
    /// Emits an instruction that returns a value, or reuses one.
    pub(super) fn ret(&mut self, value: u32) -> Label {
        match self.returns.get(&value) {
            Some(label) if self.distance(*label) < u8::MAX.into() => *label,
            Some(_) | None => {
                let label = self.push(RETURN, 0, 0, value);
                self.returns.insert(value, label);
                label
            }
        }
    }

    /// Emits a conditional jump.
    pub(super) fn branch(&mut self, condition: Condition, yes: Label, no: Label) -> Label {
        let (code, k) = match condition {
            Condition::Equal(k) => (0x15, k),
            Condition::AtLeast(k) => (0x35, k),
            Condition::AnyBit(k) => (0x45, k),
        };
        // The jump that brings `no` within reach moves `yes` one instruction further away.
        let (yes, no) = (self.within_reach(yes, 1), self.within_reach(no, 0));
        let jump = |label| u8::try_from(self.distance(label)).unwrap_or(u8::MAX);
        let (yes, no) = (jump(yes), jump(no));
        self.push(code, yes, no, k)
    }

    /// Emits a load of the word at this offset of the call data, and continues at `then`.
    pub(super) fn load(&mut self, place: u32, then: Label) -> Label {
        self.fall_through_to(then);
        self.push(LOAD, 0, 0, place)
    }

    /// Emits a mask of the loaded number, and continues at `then`.
    pub(super) fn mask(&mut self, bits: u32, then: Label) -> Label {
        self.fall_through_to(then);
        self.push(AND, 0, 0, bits)
    }

    /// Emits a jump to the label of the loaded number, or a return of `other` if it has none.
    pub(super) fn dispatch(&mut self, targets: &[(u32, Label)], other: u32) -> Label {
        if targets.len() <= LINEAR_SEARCH {
            let none = self.ret(other);
            return targets
                .iter()
                .rev()
                .fold(none, |no, (number, yes)| self.branch(Condition::Equal(*number), *yes, no));
        }
        let (low, high) = targets.split_at(targets.len() / 2);
        let Some((middle, _)) = high.first() else { return self.ret(other) };
        let above = self.dispatch(high, other);
        let below = self.dispatch(low, other);
        self.branch(Condition::AtLeast(*middle), above, below)
    }

    /// Returns the instructions in order, starting with `first`.
    pub(super) fn finish(mut self, first: Label) -> Vec<sock_filter> {
        self.fall_through_to(first);
        self.back.reverse();
        self.back
    }

    /// The number of instructions that a jump from the next one skips.
    fn distance(&self, to: Label) -> usize {
        self.back.len().saturating_sub(to.0 + 1)
    }

    /// Returns a label for `label` that stays within reach after `more` further instructions.
    fn within_reach(&mut self, label: Label, more: usize) -> Label {
        if self.distance(label) + more <= u8::MAX.into() { label } else { self.jump(label) }
    }

    /// Makes sure that `then` is the next instruction.
    fn fall_through_to(&mut self, then: Label) {
        if self.distance(then) > 0 {
            self.jump(then);
        }
    }

    fn jump(&mut self, to: Label) -> Label {
        let distance = u32::try_from(self.distance(to)).unwrap_or(u32::MAX);
        self.push(JUMP, 0, 0, distance)
    }

    fn push(&mut self, code: u16, jt: u8, jf: u8, k: u32) -> Label {
        self.back.push(sock_filter { code, jt, jf, k });
        Label(self.back.len() - 1)
    }
}

#[cfg(test)]
#[path = "bpf/tests.rs"]
pub(super) mod tests;
