//! Steps lead where they should, however many lie in between.

use super::*;

/// Follows a filter as the kernel would; `call` gives what lies at a place.
pub(crate) fn follow(code: &[sock_filter], call: impl Fn(u32) -> u32) -> u32 {
    let (mut at, mut loaded) = (0, 0);
    loop {
        let sock_filter { code: kind, jt, jf, k } = code[at];
        at += 1;
        let jump = |holds: bool| usize::from(if holds { jt } else { jf });
        match kind {
            LOAD => loaded = call(k),
            AND => loaded &= k,
            JUMP => at += k as usize,
            RETURN => return k,
            0x15 => at += jump(loaded == k),
            0x35 => at += jump(loaded >= k),
            0x45 => at += jump(loaded & k != 0),
            other => panic!("{other:#x}"),
        }
    }
}

#[test]
fn each_number_finds_its_own_step_across_any_distance() {
    for count in [0_u32, 1, 4, 5, 73, 400] {
        let mut steps = Steps::default();
        let own: Vec<(u32, Step)> = (0..count).map(|n| (3 * n + 1, steps.answer(1_000 + n))).collect();
        let first = steps.choose(&own, 7);
        let first = steps.load(0, first);
        let code = steps.finish(first);
        for number in (0..3 * count + 5).chain([u32::MAX]) {
            let is_own = number % 3 == 1 && number < 3 * count;
            let expected = if is_own { 1_000 + number / 3 } else { 7 };
            assert_eq!(follow(&code, |_| number), expected, "{number} of {count}");
        }
    }
}

#[test]
fn a_number_is_found_by_halves() {
    let mut steps = Steps::default();
    let own: Vec<(u32, Step)> = (0..128).map(|number| (number, steps.answer(1))).collect();
    let first = steps.choose(&own, 2);
    let first = steps.load(0, first);
    let code = steps.finish(first);
    // The kernel follows a filter for every number once, when it is put in force: what counts is the longest way.
    fn longest(code: &[sock_filter], at: usize) -> usize {
        let sock_filter { code: kind, jt, jf, k } = code[at];
        1 + match kind {
            RETURN => 0,
            LOAD | AND => longest(code, at + 1),
            JUMP => longest(code, at + 1 + k as usize),
            _ => longest(code, at + 1 + usize::from(jt)).max(longest(code, at + 1 + usize::from(jf))),
        }
    }
    assert!(longest(&code, 0) <= 1 + 5 + FEW + 1, "{}", longest(&code, 0));
}

#[test]
fn what_is_loaded_and_kept_is_asked_about_even_if_the_next_step_lies_elsewhere() {
    let mut steps = Steps::default();
    let (yes, no) = (steps.answer(1), steps.answer(2));
    let asked = steps.ask(Ask::Equal(5), yes, no);
    let between = (10..600).map(|answer| steps.answer(answer)).last().unwrap();
    let kept = steps.keep(0xf, asked);
    let loaded = steps.load(16, kept);
    let first = steps.ask(Ask::AnyBit(1), loaded, between);
    let first = steps.load(0, first);
    let code = steps.finish(first);
    assert_eq!(follow(&code, |place| if place == 0 { 3 } else { 0xf5 }), 1);
    assert_eq!(follow(&code, |place| if place == 0 { 3 } else { 0xf6 }), 2);
    assert_eq!(follow(&code, |_| 2), 599);
}
