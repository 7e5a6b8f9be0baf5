//! Modes of files, in digits and in letters: whether one sets what another names.

use super::Denied;

/// Everybody may write.
const OTHERS_WRITE: u32 = 0o002;

/// What is known about the bits of a file after `chmod`.
#[derive(Debug, Clone, Copy)]
struct Mode {
    /// They are set.
    sure: u32,
    /// They may be set: what was there before stays.
    may: u32,
    /// Bits are taken from a place that is not known: `go=u`.
    copied: bool,
}

impl Mode {
    /// Whether nothing stays of what was there before.
    fn is_whole(self) -> bool {
        self.sure == self.may
    }
}

/// Whether a mode that is given makes the bits that a denied one makes.
pub(super) fn hears(denied: &str, given: &str) -> Denied {
    let (Some(wanted), Some(mode)) = (read(denied), read(given)) else { return Denied::No };
    let bits = wanted.sure;
    let has_all = mode.sure & bits == bits;
    let may_all = mode.may & bits == bits;
    if bits == 0 {
        return Denied::No;
    }
    let perhaps = |holds: bool| if holds { Denied::Perhaps } else { Denied::No };
    if wanted.is_whole() {
        if has_all && mode.sure & 0o777 == bits & 0o777 {
            return Denied::Yes;
        }
        // Who denies that everybody writes means more than this one mode. The rest may be there already.
        let opens = bits & mode.sure & OTHERS_WRITE != 0;
        return perhaps((opens || (mode.copied && bits & OTHERS_WRITE != 0)) && may_all);
    }
    if !denied.starts_with(['+', '=']) {
        return if has_all { Denied::Yes } else { perhaps(mode.copied && may_all) };
    }
    // Nobody is named, so anybody is meant.
    let kinds = [0o444, 0o222, 0o111, 0o6000, 0o1000].into_iter().filter(|kind| bits & kind != 0);
    kinds
        .map(|kind| match mode.sure & kind != 0 {
            // Digits always say who reads and writes.
            true if mode.is_whole() && kind & 0o666 != 0 => Denied::Perhaps,
            true => Denied::Yes,
            false => perhaps(mode.copied && mode.may & kind != 0),
        })
        .min()
        .unwrap_or(Denied::No)
}

/// Whether a mode lets everybody write, or its program be somebody else.
pub(crate) fn opens(text: &str) -> bool {
    read(text).is_some_and(|mode| mode.sure & (OTHERS_WRITE | 0o6000) != 0)
}

fn read(text: &str) -> Option<Mode> {
    let digits = text.strip_prefix(['+', '=']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        let bits = u32::from_str_radix(digits, 8).ok().filter(|bits| *bits <= 0o7777)?;
        let may = if text.starts_with('+') { 0o7777 } else { bits };
        return Some(Mode { sure: bits, may, copied: false });
    }
    let mut mode = Mode { sure: 0, may: 0o7777, copied: false };
    for clause in text.split(',') {
        mode = changed(mode, clause)?;
    }
    Some(mode)
}

/// The bits after one part of a mode in letters: `go=u`, `a+rw+x`.
fn changed(mut mode: Mode, clause: &str) -> Option<Mode> {
    let (who, mut rest) = clause.split_at(clause.find(['+', '-', '='])?);
    let everybody = if who.is_empty() { 0o7777 } else { 0 };
    let mask = who.chars().try_fold(everybody, |mask, letter| match letter {
        'a' => Some(0o7777),
        letter => Some(mask | place(letter)?.0),
    })?;
    while let Some(sign) = rest.chars().next() {
        let what = rest.get(1..)?;
        let (what, next) = what.split_at(what.find(['+', '-', '=']).unwrap_or(what.len()));
        rest = next;
        let (sure, may) = match place(what.chars().next().unwrap_or_default()) {
            Some((_, shift)) if what.len() == 1 => {
                let spread = |bits: u32| (((bits >> shift) & 7) * 0o111) & mask;
                mode.copied |= spread(mode.sure) != spread(mode.may);
                (spread(mode.sure), spread(mode.may))
            }
            Some(_) | None => {
                let bits = letters(what)? & mask;
                // Without a name the usual mask keeps others from writing; who gives all of it means everybody.
                let own = who.is_empty() && bits & 0o555 != 0o555;
                (if own { bits & !0o022 } else { bits }, bits)
            }
        };
        mode = match sign {
            '+' => Mode { sure: mode.sure | sure, may: mode.may | may, ..mode },
            '-' => Mode { sure: mode.sure & !may, may: mode.may & !sure, ..mode },
            _ => Mode { sure: (mode.sure & !mask) | sure, may: (mode.may & !mask) | may, ..mode },
        };
    }
    Some(mode)
}

/// The bits of the owner, the group or the others, and how far they stand from the right.
fn place(letter: char) -> Option<(u32, u32)> {
    match letter {
        'u' => Some((0o4700, 6)),
        'g' => Some((0o2070, 3)),
        'o' => Some((0o1007, 0)),
        _ => None,
    }
}

fn letters(text: &str) -> Option<u32> {
    text.chars().try_fold(0, |bits, letter| {
        Some(
            bits | match letter {
                'r' => 0o444,
                'w' => 0o222,
                'x' | 'X' => 0o111,
                's' => 0o6000,
                't' => 0o1000,
                _ => return None,
            },
        )
    })
}
