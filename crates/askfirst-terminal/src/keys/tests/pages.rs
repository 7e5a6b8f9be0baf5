//! Tests of the screens besides the question, and of keys that must not approve.

use super::*;

#[test]
fn scope_is_chosen_by_a_number_and_approved_by_s() {
    for (digit, remember, pattern) in
        [('1', ApprovalScope::Session, None), ('2', ApprovalScope::Pattern, Some(0))]
    {
        let mut desk = wide(Renderer::Screen, Risk::Low).armed();
        assert_eq!(desk.tap_char('s'), [Effect::AskScope(Lifetime::Session)]);
        assert!(desk.tap_char(digit).is_empty());
        desk.arm();
        assert_eq!(desk.tap_char('3'), [Effect::NotYet]);
        desk.arm();
        assert_eq!(desk.tap_char('s'), [Effect::Say(Notice::ChooseFirst), Effect::NotYet]);
        desk.arm();
        let at = if pattern.is_some() { 1 } else { 0 };
        assert_eq!(desk.press(Key::Char(digit)), [Effect::ScopeChosen(Lifetime::Session, at)]);
        assert!(desk.tap_char('s').is_empty());
        desk.arm();
        let decision = one(&desk.tap_char('s'));
        assert_eq!((decision.remember, decision.pattern), (remember, pattern));
    }
}

#[test]
fn escape_on_the_scopes_goes_back() {
    let mut desk = wide(Renderer::Lines, Risk::Low).armed();
    desk.tap_char('s');
    desk.arm();
    assert_eq!(desk.tap(Key::Escape), [Effect::Redraw]);
}

#[test]
fn scrolling_goes_back_from_the_question_about_the_rest() {
    let mut desk = on_screen();
    desk.keys.reach = Reach::Part;
    desk.arm();
    assert_eq!(desk.tap_char('y'), [Effect::AskRest]);
    desk.arm();
    assert_eq!(desk.press(Key::PageDown), [Effect::NotYet, Effect::Redraw, Effect::Move(Key::PageDown)]);
    assert_eq!(*desk.keys.screen(), Screen::Question);
    desk.keys.mark_all_seen();
    desk.arm();
    assert_eq!(one(&desk.tap_char('y')), yes());
}

#[test]
fn resize_goes_back_from_the_question_about_the_rest() {
    let mut desk = on_screen();
    desk.keys.reach = Reach::Part;
    desk.arm();
    desk.tap_char('y');
    assert_eq!(desk.event(Event::Resize), [Effect::Redraw]);
    assert_eq!(*desk.keys.screen(), Screen::Question);
}

#[test]
fn keys_in_a_document_decide_nothing() {
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
fn search_text_is_typed_and_ctrl_c_stops() {
    let mut desk = on_screen().armed();
    desk.tap_char('v');
    for c in "/yv".chars() {
        assert_eq!(desk.press(Key::Char(c)), [Effect::Redraw]);
    }
    assert_eq!(desk.press(Key::Enter), [Effect::Find("yv".into())]);
    assert!(one(&desk.press(Key::Interrupt)).stop);
}

#[test]
fn scrolling_disarms_and_decides_nothing() {
    let mut desk = on_screen().armed();
    assert_eq!(desk.press(Key::Down), [Effect::NotYet, Effect::Move(Key::Down)]);
    assert!(desk.tap_char('y').is_empty());
    let burst = vec![Input::Key(Key::Down), Input::Key(Key::Down)];
    assert_eq!(desk.event(Event::Read(burst)), [Effect::Move(Key::Down), Effect::Move(Key::Down)]);
}

#[test]
fn typed_arguments_are_submitted_without_an_approval() {
    let mut desk = on_screen().armed();
    desk.keys.open_args("{}", Duration::from_millis(desk.now));
    for key in [Key::Left, Key::Char('y'), Key::Home, Key::Delete, Key::End, Key::Backspace] {
        desk.press(key);
    }
    assert_eq!(desk.press(Key::Enter), [Effect::ArgsTyped("y".into())]);
    assert_eq!(desk.press(Key::Escape), [Effect::Redraw]);
}

#[test]
fn prompt_without_content_does_not_arm() {
    let mut desk = on_screen();
    desk.keys.content = false;
    assert!(desk.after(60_000).is_empty());
    assert!(desk.tap_char('y').is_empty());
    assert_eq!(desk.keys.wake_at(), None);
    desk.keys.mark_content_shown();
    assert_eq!(desk.after(400), [Effect::Ready]);
}

#[test]
fn yes_needs_every_must_see_part_on_screen() {
    let mut desk = on_screen();
    desk.keys.must = Reach::Part;
    desk.arm();
    assert_eq!(desk.tap_char('y'), [Effect::Say(Notice::SeeAllParts), Effect::NotYet]);
    desk.keys.mark_parts_seen();
    desk.arm();
    assert!(one(&desk.tap_char('y')).approved);
}

#[test]
fn focus_report_is_not_a_key() {
    let mut desk = on_screen().armed();
    assert!(desk.press(Key::FocusOut).is_empty());
    assert!(desk.keys.is_armed());
}

fn approves(effects: &[Effect]) -> bool {
    let approves =
        |effect: &Effect| matches!(effect, Effect::Answer(all) if all.iter().any(|one| one.approved));
    effects.iter().any(approves)
}

// invariant: 6
#[test]
fn yes_before_arming_approves_nothing() {
    assert!(!approves(&on_screen().tap_char('y')));
}

#[test]
fn yes_after_early_input_approves_nothing() {
    let mut desk = on_screen().armed();
    desk.keys.discard_early_input(Duration::from_millis(desk.now));
    assert!(!approves(&desk.tap_char('y')));
}

#[test]
fn yes_pressed_twice_quickly_approves_nothing() {
    let mut desk = on_screen().armed();
    let mut effects = desk.press(Key::Char('y'));
    effects.extend(desk.press(Key::Char('y')));
    effects.extend(desk.after(200));
    assert!(!approves(&effects));
}

#[test]
fn yes_read_with_another_key_approves_nothing() {
    let mut desk = on_screen().armed();
    let several = vec![Input::Key(Key::Char('y')), Input::Key(Key::Enter)];
    let mut effects = desk.event(Event::Read(several));
    effects.extend(desk.after(200));
    assert!(!approves(&effects));
}

#[test]
fn enter_on_an_armed_question_approves_nothing() {
    assert!(!approves(&on_screen().armed().tap(Key::Enter)));
}

#[test]
fn yes_to_a_risky_call_partly_seen_approves_nothing() {
    let mut desk = on_screen();
    (desk.keys.reach, desk.keys.offers.risk) = (Reach::Part, Risk::High);
    desk.arm();
    assert!(!approves(&desk.tap_char('y')));
}

#[test]
fn yes_to_any_call_partly_seen_approves_nothing() {
    let mut desk = on_screen();
    desk.keys.reach = Reach::Part;
    desk.arm();
    assert!(!approves(&desk.tap_char('y')));
}

#[test]
fn yes_before_all_required_parts_approves_nothing() {
    let mut desk = on_screen();
    desk.keys.must = Reach::Part;
    desk.arm();
    assert!(!approves(&desk.tap_char('y')));
}

#[test]
fn yes_right_after_a_resize_approves_nothing() {
    let mut desk = on_screen().armed();
    desk.event(Event::Resize);
    assert!(!approves(&desk.tap_char('y')));
}

#[test]
fn yes_soon_after_other_keys_approves_nothing() {
    let mut desk = on_screen();
    for _ in 0..4 {
        desk.press(Key::Char('x'));
        desk.after(100);
    }
    assert!(!approves(&desk.tap_char('y')));
}

#[test]
fn yes_to_a_risky_call_after_600_ms_approves_nothing() {
    let mut desk = on_screen();
    desk.keys.offers.risk = Risk::High;
    desk.after(600);
    assert!(!approves(&desk.tap_char('y')));
}

#[test]
fn yes_before_the_content_is_shown_approves_nothing() {
    let mut desk = on_screen();
    desk.keys.content = false;
    desk.after(2_000);
    assert!(!approves(&desk.tap_char('y')));
}
