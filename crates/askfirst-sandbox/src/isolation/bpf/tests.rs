//! Tests that jumps reach their labels across any distance.

use super::*;

/// Interprets a filter as the kernel would. `call` returns the word at an offset of the call data.
pub(crate) fn interpret(code: &[sock_filter], call: impl Fn(u32) -> u32) -> u32 {
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
fn dispatch_reaches_each_label_across_any_distance() {
    for count in [0_u32, 1, 4, 5, 73, 400] {
        let mut asm = Assembler::default();
        let own: Vec<(u32, Label)> = (0..count).map(|n| (3 * n + 1, asm.ret(1_000 + n))).collect();
        let first = asm.dispatch(&own, 7);
        let first = asm.load(0, first);
        let code = asm.finish(first);
        for number in (0..3 * count + 5).chain([u32::MAX]) {
            let is_own = number % 3 == 1 && number < 3 * count;
            let expected = if is_own { 1_000 + number / 3 } else { 7 };
            assert_eq!(interpret(&code, |_| number), expected, "{number} of {count}");
        }
    }
}

#[test]
fn dispatch_uses_binary_search() {
    let mut asm = Assembler::default();
    let own: Vec<(u32, Label)> = (0..128).map(|number| (number, asm.ret(1))).collect();
    let first = asm.dispatch(&own, 2);
    let first = asm.load(0, first);
    let code = asm.finish(first);
    // The kernel runs a new filter once for every number, so the longest path counts.
    fn longest(code: &[sock_filter], at: usize) -> usize {
        let sock_filter { code: kind, jt, jf, k } = code[at];
        1 + match kind {
            RETURN => 0,
            LOAD | AND => longest(code, at + 1),
            JUMP => longest(code, at + 1 + k as usize),
            _ => longest(code, at + 1 + usize::from(jt)).max(longest(code, at + 1 + usize::from(jf))),
        }
    }
    assert!(longest(&code, 0) <= 1 + 5 + LINEAR_SEARCH + 1, "{}", longest(&code, 0));
}

#[test]
fn load_and_mask_apply_before_a_distant_branch() {
    let mut asm = Assembler::default();
    let (yes, no) = (asm.ret(1), asm.ret(2));
    let branch = asm.branch(Condition::Equal(5), yes, no);
    let between = (10..600).map(|value| asm.ret(value)).last().unwrap();
    let masked = asm.mask(0xf, branch);
    let loaded = asm.load(16, masked);
    let first = asm.branch(Condition::AnyBit(1), loaded, between);
    let first = asm.load(0, first);
    let code = asm.finish(first);
    assert_eq!(interpret(&code, |place| if place == 0 { 3 } else { 0xf5 }), 1);
    assert_eq!(interpret(&code, |place| if place == 0 { 3 } else { 0xf6 }), 2);
    assert_eq!(interpret(&code, |_| 2), 599);
}
