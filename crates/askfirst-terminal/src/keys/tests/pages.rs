//! Tests of pages besides the question, and of what each rule is for.

use super::*;

#[test]
fn how_far_a_yes_reaches_is_chosen_by_a_number_and_given_by_s() {
    for (digit, remember, pattern) in
        [('1', ApprovalScope::Session, None), ('2', ApprovalScope::Pattern, Some(0))]
    {
        let mut desk = wide(Front::Screen, Risk::Low).armed();
        assert_eq!(desk.tap_char('s'), [Effect::AskScope]);
        assert!(desk.tap_char(digit).is_empty());
        desk.arm();
        assert_eq!(desk.tap_char('3'), [Effect::NotYet]);
        desk.arm();
        assert_eq!(desk.tap_char('s'), [Effect::Say(Notice::ChooseFirst), Effect::NotYet]);
        desk.arm();
        let at = if pattern.is_some() { 1 } else { 0 };
        assert_eq!(desk.press(Key::Char(digit)), [Effect::Marked(at)]);
        assert!(desk.tap_char('s').is_empty());
        desk.arm();
        let decision = one(&desk.tap_char('s'));
        assert_eq!((decision.remember, decision.pattern), (remember, pattern));
    }
}

#[test]
fn escape_goes_back_from_the_scopes() {
    let mut desk = wide(Front::Lines, Risk::Low).armed();
    desk.tap_char('s');
    desk.arm();
    assert_eq!(desk.tap(Key::Escape), [Effect::Redraw]);
}

#[test]
fn while_something_is_looked_at_no_key_decides() {
    for key in ['v', '?'] {
        let mut desk = on_screen().armed();
        desk.tap_char(key);
        for other in ['y', 's', 'n', 'N', 'r', 'e', 'q', ' ', '1'] {
            assert_eq!(desk.tap_char(other), [Effect::Move(Key::Char(other))]);
        }
        assert_eq!(desk.press(Key::Escape), [Effect::Redraw]);
        assert!(desk.tap_char('y').is_empty());
        desk.arm();
        assert!(one(&desk.tap_char('y')).approved);
    }
}

#[test]
fn a_text_to_find_is_typed_and_ctrl_c_still_stops() {
    let mut desk = on_screen().armed();
    desk.tap_char('v');
    for c in "/yv".chars() {
        assert_eq!(desk.press(Key::Char(c)), [Effect::Redraw]);
    }
    assert_eq!(desk.press(Key::Enter), [Effect::Find("yv".into())]);
    assert!(one(&desk.press(Key::Interrupt)).stop);
}

#[test]
fn moving_does_not_decide_and_asks_for_quiet() {
    let mut desk = on_screen().armed();
    assert_eq!(desk.press(Key::Down), [Effect::NotYet, Effect::Move(Key::Down)]);
    assert!(desk.tap_char('y').is_empty());
    let burst = vec![Input::Key(Key::Down), Input::Key(Key::Down)];
    assert_eq!(desk.event(Event::Read(burst)), [Effect::Move(Key::Down), Effect::Move(Key::Down)]);
}

#[test]
fn typed_arguments_are_handed_over_and_never_approve_by_themselves() {
    let mut desk = on_screen().armed();
    desk.keys.open_args("{}", Duration::from_millis(desk.now));
    for key in [Key::Left, Key::Char('y'), Key::Home, Key::Delete, Key::End, Key::Backspace] {
        desk.press(key);
    }
    assert_eq!(desk.press(Key::Enter), [Effect::Typed("y".into())]);
    assert_eq!(desk.press(Key::Escape), [Effect::Redraw]);
}

#[test]
fn before_the_content_is_there_nothing_arms() {
    let mut desk = on_screen();
    desk.keys.content = false;
    assert!(desk.after(60_000).is_empty());
    assert!(desk.tap_char('y').is_empty());
    assert_eq!(desk.keys.wake_at(), None);
    desk.keys.content_shown();
    assert_eq!(desk.after(400), [Effect::Ready]);
}

#[test]
fn what_must_be_seen_must_have_been_on_screen() {
    let mut desk = on_screen();
    desk.keys.must = Reach::Part;
    desk.arm();
    assert_eq!(desk.tap_char('y'), [Effect::Say(Notice::SeeAllParts), Effect::NotYet]);
    desk.keys.saw_all_parts();
    desk.arm();
    assert!(one(&desk.tap_char('y')).approved);
}

#[test]
fn what_the_terminal_says_about_focus_is_no_key() {
    let mut desk = on_screen().armed();
    assert!(desk.press(Key::FocusOut).is_empty());
    assert!(desk.keys.is_armed());
}

/// A way to get a yes that a rule forbids.
type Sneak = fn(&mut Desk) -> Vec<Effect>;

const SNEAKS: [(Rule, Sneak); 10] = [
    (Rule::Arming, |desk| desk.tap_char('y')),
    (Rule::Alone, |desk| {
        desk.arm();
        let mut effects = desk.press(Key::Char('y'));
        effects.extend(desk.press(Key::Char('y')));
        effects.extend(desk.after(200));
        effects
    }),
    (Rule::Several, |desk| {
        desk.arm();
        let several = vec![Input::Key(Key::Char('y')), Input::Key(Key::Enter)];
        let mut effects = desk.event(Event::Read(several));
        effects.extend(desk.after(200));
        effects
    }),
    (Rule::Enter, |desk| {
        desk.arm();
        desk.tap(Key::Enter)
    }),
    (Rule::End, |desk| {
        (desk.keys.reach, desk.keys.offers.risk) = (Reach::Part, Risk::High);
        desk.arm();
        desk.tap_char('y')
    }),
    (Rule::MustSee, |desk| {
        desk.keys.must = Reach::Part;
        desk.arm();
        desk.tap_char('y')
    }),
    (Rule::Repaint, |desk| {
        desk.arm();
        desk.event(Event::Resize);
        desk.tap_char('y')
    }),
    (Rule::Quiet, |desk| {
        for _ in 0..4 {
            desk.press(Key::Char('x'));
            desk.after(100);
        }
        desk.tap_char('y')
    }),
    (Rule::Longer, |desk| {
        desk.keys.offers.risk = Risk::High;
        desk.after(600);
        desk.tap_char('y')
    }),
    (Rule::Content, |desk| {
        desk.keys.content = false;
        desk.after(2_000);
        desk.tap_char('y')
    }),
];

fn slips_through(sneak: Sneak, off: Option<Rule>) -> bool {
    let mut desk = on_screen();
    desk.keys.off = off;
    let approves =
        |effect: &Effect| matches!(effect, Effect::Answer(all) if all.iter().any(|one| one.approved));
    sneak(&mut desk).iter().any(approves)
}

#[test]
fn every_rule_is_what_keeps_a_yes_from_slipping_through() {
    for (rule, sneak) in SNEAKS {
        assert!(!slips_through(sneak, None), "{rule:?} does not hold");
        assert!(slips_through(sneak, Some(rule)), "without {rule:?} nothing is different");
    }
}
