//! Tests of which keys count, and when. The clock is a number.

use askfirst::machine::{Member, Question, QuestionId};
use askfirst::{Approval, ApprovalScope, Args, Loosen, OfferedPattern, Timestamp, simple_approval_request};
use askfirst_display::redact::Redactor;
use proptest::prelude::*;

use super::*;

#[path = "tests/always.rs"]
mod always;
#[path = "tests/pages.rs"]
mod pages;

/// The keys of a prompt and a clock.
struct Desk {
    keys: Keys,
    now: u64,
}

fn args(value: serde_json::Value) -> Args {
    value.as_object().cloned().unwrap_or_default()
}

fn desk_with(members: usize, risk: Risk, approval: Approval, reach: Reach) -> Desk {
    let mut desk = desk_on(Renderer::Lines, members, risk, approval, Vec::new());
    desk.keys.reach = reach;
    desk
}

/// A prompt whose tool offers a wider scope.
fn wide(front: Renderer, risk: Risk) -> Desk {
    let fields = args(serde_json::json!({"to": ""}));
    let patterns = vec![OfferedPattern::new("anybody", fields, [("to", Loosen::Any)])];
    desk_on(front, 1, risk, Approval::Required, patterns)
}

fn on_screen() -> Desk {
    desk_on(Renderer::Screen, 1, Risk::Low, Approval::Required, Vec::new())
}

fn desk_on(
    front: Renderer,
    members: usize,
    risk: Risk,
    approval: Approval,
    patterns: Vec<OfferedPattern>,
) -> Desk {
    let mut request =
        simple_approval_request("send", &args(serde_json::json!({"to": "bob@x.org"})), None, &[]);
    request.risk = risk;
    request.approval = approval;
    request.patterns = patterns;
    let member = Member::new(request);
    let question = Question { id: QuestionId(1), members: vec![member; members], position: 1, of: 1 };
    let offers = Offers::of(&question, &Redactor::default(), Timestamp(0), &[]);
    let mut keys = Keys::new(offers, front, Duration::ZERO);
    keys.mark_content_shown();
    keys.mark_parts_seen();
    keys.mark_all_seen();
    Desk { keys, now: 0 }
}

fn desk() -> Desk {
    desk_with(1, Risk::Low, Approval::Required, Reach::Whole)
}

impl Desk {
    fn event(&mut self, event: Event) -> Vec<Effect> {
        self.keys.handle(event, Duration::from_millis(self.now))
    }

    fn after(&mut self, millis: u64) -> Vec<Effect> {
        self.now += millis;
        self.event(Event::Tick)
    }

    fn armed(mut self) -> Self {
        self.arm();
        self
    }

    fn arm(&mut self) {
        assert_eq!(self.after(2_000), [Effect::Ready]);
    }

    fn press(&mut self, key: Key) -> Vec<Effect> {
        self.event(Event::Read(vec![Input::Key(key)]))
    }

    /// Presses a key and waits until it acts.
    fn tap(&mut self, key: Key) -> Vec<Effect> {
        let mut effects = self.press(key);
        effects.extend(self.after(200));
        effects
    }

    fn tap_char(&mut self, c: char) -> Vec<Effect> {
        self.tap(Key::Char(c))
    }
}

fn answer(effects: &[Effect]) -> Vec<ApprovalDecision> {
    match effects {
        [.., Effect::Answer(decisions)] => decisions.clone(),
        other => panic!("no answer: {other:?}"),
    }
}

fn one(effects: &[Effect]) -> ApprovalDecision {
    let decisions = answer(effects);
    assert_eq!(decisions.len(), 1);
    decisions[0].clone()
}

fn yes() -> ApprovalDecision {
    ApprovalDecision::yes(Cause::Person)
}

fn no() -> ApprovalDecision {
    ApprovalDecision::no(Cause::Person)
}

#[test]
fn keys_before_arming_are_discarded_and_delay_arming() {
    let mut desk = desk();
    for _ in 0..20 {
        assert!(desk.press(Key::Char('y')).is_empty());
        assert!(desk.after(290).is_empty());
    }
    assert_eq!(desk.after(10), [Effect::Ready]);
    assert!(desk.keys.is_armed());
}

#[test]
fn risky_prompt_arms_after_one_second() {
    let mut desk = desk_with(1, Risk::High, Approval::Required, Reach::Whole);
    assert!(desk.after(999).is_empty());
    assert_eq!(desk.after(1), [Effect::Ready]);
}

#[test]
fn wake_time_is_when_the_prompt_arms_or_acts() {
    let mut desk = desk();
    assert_eq!(desk.keys.wake_at(), Some(Duration::from_millis(300)));
    desk.arm();
    assert_eq!(desk.keys.wake_at(), None);
    desk.press(Key::Char('y'));
    assert_eq!(desk.keys.wake_at(), Some(Duration::from_millis(2_000) + ALONE));
}

#[test]
fn every_offered_key_has_its_effect() {
    assert_eq!(one(&desk().armed().tap_char('y')), yes());
    assert_eq!(one(&desk().armed().tap_char('n')), no());
    assert_eq!(desk().armed().tap_char('s'), [Effect::AskScope(Lifetime::Session)]);
    assert_eq!(one(&desk().armed().tap_char('N')), no().remembered(ApprovalScope::Session));
    assert_eq!(one(&desk().armed().tap_char('q')), ApprovalDecision { stop: true, ..no() });
    assert_eq!(one(&desk().armed().tap(Key::Escape)), no());
    assert_eq!(desk().armed().tap_char('v'), [Effect::View]);
    assert_eq!(desk().armed().tap_char('?'), [Effect::Facts]);
    assert_eq!(desk().armed().tap_char('e'), [Effect::Edit]);
    assert_eq!(desk().armed().tap_char('r'), [Effect::AskReason]);
}

#[test]
fn enter_space_and_unknown_keys_disarm() {
    for key in [Key::Enter, Key::Char(' '), Key::Other, Key::Backspace, Key::Char('Y'), Key::Char('1')] {
        let mut desk = desk().armed();
        assert_eq!(desk.press(key), [Effect::NotYet], "{key:?}");
        assert!(desk.tap_char('y').is_empty(), "{key:?}");
    }
}

#[test]
fn several_keys_in_one_read_decide_nothing() {
    let mut desk = desk().armed();
    let several = vec![Input::Key(Key::Char('y')), Input::Key(Key::Enter)];
    assert_eq!(desk.event(Event::Read(several)), [Effect::Say(Notice::Several), Effect::NotYet]);
    assert!(desk.after(250).is_empty());
}

#[test]
fn pasted_key_decides_nothing() {
    let mut desk = desk().armed();
    let effects = desk.event(Event::Read(vec![Input::Paste("y".into())]));
    assert_eq!(effects, [Effect::Say(Notice::Several), Effect::NotYet]);
}

#[test]
fn held_key_decides_nothing() {
    let mut desk = desk().armed();
    for _ in 0..30 {
        let mut effects = desk.press(Key::Char('y'));
        effects.extend(desk.after(40));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Answer(_))));
    }
    assert!(!desk.keys.is_armed());
}

#[test]
fn resize_and_redraw_disarm() {
    let mut desk = desk().armed();
    assert_eq!(desk.event(Event::Resize), [Effect::Redraw]);
    assert!(desk.tap_char('y').is_empty());
    desk.arm();
    assert_eq!(desk.tap_char('v'), [Effect::View]);
    assert!(desk.tap_char('y').is_empty());
}

#[test]
fn end_of_input_and_lost_terminal_refuse_with_cause() {
    assert_eq!(one(&desk().event(Event::EndOfInput)).cause, Cause::EndOfInput);
    assert_eq!(one(&desk().event(Event::Lost)).cause, Cause::TerminalLost);
    assert_eq!(one(&desk().press(Key::EndOfInput)).cause, Cause::EndOfInput);
    assert!(!one(&desk().event(Event::Lost)).approved);
}

#[test]
fn ctrl_c_stops_at_any_time() {
    assert!(one(&desk().press(Key::Interrupt)).stop);
    assert!(one(&desk().armed().press(Key::Interrupt)).stop);
    let mut desk = desk().armed();
    desk.tap_char('r');
    assert!(one(&desk.press(Key::Interrupt)).stop);
}

/// Answers with a yes for the session: the key, and the key again once the scope is on screen.
fn session_yes(desk: &mut Desk) -> Vec<Effect> {
    assert_eq!(desk.tap_char('s'), [Effect::AskScope(Lifetime::Session)]);
    desk.arm();
    desk.tap_char('s')
}

#[test]
fn session_yes_counts_after_its_scope_was_on_screen() {
    let mut desk = desk().armed();
    assert_eq!(desk.tap_char('s'), [Effect::AskScope(Lifetime::Session)]);
    assert!(desk.tap_char('s').is_empty(), "the scope was not on screen for a while");
    desk.arm();
    assert_eq!(one(&desk.tap_char('s')), yes().remembered(ApprovalScope::Session));
}

#[test]
fn risky_call_needs_the_whole_page_on_screen() {
    for key in ['y', 's'] {
        let mut desk = desk_with(1, Risk::High, Approval::Required, Reach::Part).armed();
        assert_eq!(desk.tap_char(key), [Effect::Say(Notice::SeeAll), Effect::NotYet]);
        desk.arm();
        assert_eq!(desk.tap_char('v'), [Effect::View]);
        desk.keys.mark_all_seen();
        desk.arm();
        let effects = if key == 's' { session_yes(&mut desk) } else { desk.tap_char(key) };
        assert!(one(&effects).approved);
    }
}

fn partly_seen(members: usize) -> Desk {
    desk_with(members, Risk::Low, Approval::Required, Reach::Part).armed()
}

// invariant: 6
#[test]
fn yes_to_a_page_partly_seen_asks_again_and_is_marked() {
    let mut desk = partly_seen(1);
    assert_eq!(desk.tap_char('y'), [Effect::AskRest]);
    assert!(desk.tap_char(REST_KEY).is_empty(), "keys count only after a while");
    desk.arm();
    assert_eq!(one(&desk.tap_char(REST_KEY)), ApprovalDecision { rest_unseen: true, ..yes() });
}

#[test]
fn only_its_own_key_leaves_the_rest_unseen() {
    for key in ['y', 's', 'W', ' ', '1'] {
        let mut desk = partly_seen(1);
        desk.tap_char('y');
        desk.arm();
        assert_eq!(desk.tap_char(key), [Effect::NotYet], "{key}");
    }
    let mut desk = partly_seen(1);
    assert_eq!(desk.tap_char(REST_KEY), [Effect::NotYet], "without a yes before it");
    desk.arm();
    desk.tap_char('y');
    desk.arm();
    assert_eq!(one(&desk.tap_char('n')), no(), "a key never changes its meaning");
    let mut desk = partly_seen(1);
    desk.tap_char('y');
    desk.arm();
    assert_eq!(desk.tap(Key::Escape), [Effect::Redraw]);
    desk.arm();
    assert_eq!(desk.tap_char(REST_KEY), [Effect::NotYet], "after going back");
}

#[test]
fn yes_for_the_session_never_leaves_the_rest_unseen() {
    assert_eq!(partly_seen(1).tap_char('s'), [Effect::Say(Notice::SeeAll), Effect::NotYet]);
    let mut desk = desk_with(1, Risk::Low, Approval::OncePerSession, Reach::Part).armed();
    assert_eq!(desk.tap_char('s'), [Effect::Say(Notice::SeeAll), Effect::NotYet]);
}

#[test]
fn rest_of_a_group_is_marked_only_where_it_is_approved() {
    let mut desk = partly_seen(2);
    desk.press(Key::Char('2'));
    desk.arm();
    desk.tap_char('y');
    desk.arm();
    let marks: Vec<bool> = answer(&desk.tap_char(REST_KEY)).iter().map(|one| one.rest_unseen).collect();
    assert_eq!(marks, [true, false]);
}

#[test]
fn wider_scope_of_a_risky_call_needs_the_whole_page() {
    let mut desk = wide(Renderer::Lines, Risk::High);
    desk.keys.reach = Reach::Part;
    desk.arm();
    assert_eq!(desk.tap_char('s'), [Effect::Say(Notice::SeeAll), Effect::NotYet]);
}

#[test]
fn keys_that_are_not_offered_disarm() {
    assert_eq!(
        desk_with(1, Risk::Low, Approval::OncePerSession, Reach::Whole).armed().tap_char('y'),
        [Effect::NotYet]
    );
    for key in ['s', 'N'] {
        assert_eq!(
            desk_with(1, Risk::Low, Approval::Human, Reach::Whole).armed().tap_char(key),
            [Effect::NotYet]
        );
    }
    for key in ['y', 's'] {
        let mut desk = desk_with(1, Risk::Irreversible, Approval::Required, Reach::Whole).armed();
        assert_eq!(desk.tap_char(key), [Effect::NotYet]);
    }
}

fn typed(desk: &mut Desk, word: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in word.chars() {
        desk.now += 90;
        effects.extend(desk.press(Key::Char(c)));
    }
    effects.extend(desk.after(200));
    effects
}

#[test]
fn whole_word_approves_without_enter() {
    let mut desk = desk_with(1, Risk::Irreversible, Approval::Required, Reach::Whole).armed();
    assert_eq!(one(&typed(&mut desk, "bob@x.org")), yes());
}

#[test]
fn wrong_pasted_or_unarmed_word_does_not_approve() {
    let fresh = || desk_with(1, Risk::Irreversible, Approval::Required, Reach::Whole);
    let effects = typed(&mut fresh().armed(), "bob@y.org");
    assert!(effects.contains(&Effect::Say(Notice::NotTheWord)));
    assert!(typed(&mut fresh(), "bob@x.org").is_empty());
    let mut desk = fresh().armed();
    let paste = "bob@x.org".chars().map(|c| Input::Key(Key::Char(c))).collect();
    assert_eq!(desk.event(Event::Read(paste)), [Effect::Say(Notice::Several), Effect::NotYet]);
    let mut desk = fresh().armed();
    typed(&mut desk, "bob@x.or");
    let paste = vec![Input::Paste("g".into())];
    assert_eq!(desk.event(Event::Read(paste)), [Effect::Say(Notice::Several), Effect::NotYet]);
    let mut desk = desk_with(1, Risk::Irreversible, Approval::Required, Reach::Part).armed();
    assert!(typed(&mut desk, "bob@x.org").contains(&Effect::Say(Notice::SeeAll)));
}

#[test]
fn word_with_more_letters_does_not_approve() {
    let mut desk = desk_with(1, Risk::Irreversible, Approval::Required, Reach::Whole).armed();
    let effects = typed(&mut desk, "bob@x.orgs");
    assert!(effects.contains(&Effect::Say(Notice::Several)));
}

#[test]
fn typed_reason_is_sent_by_enter() {
    let mut desk = desk().armed();
    desk.tap_char('r');
    for c in "noy".chars() {
        assert_eq!(desk.press(Key::Char(c)), [Effect::Echo(c.to_string())]);
    }
    assert_eq!(desk.press(Key::Backspace), [Effect::Erase('y')]);
    let paste = Input::Paste(" to\nme".into());
    assert_eq!(desk.event(Event::Read(vec![paste])).len(), 6);
    assert_eq!(one(&desk.press(Key::Enter)), no().with_note("no to me"));
}

#[test]
fn pasted_enter_does_not_send_a_reason() {
    let mut desk = desk().armed();
    desk.tap_char('r');
    let paste = vec![Input::Key(Key::Char('a')), Input::Key(Key::Enter)];
    assert!(!desk.event(Event::Read(paste)).iter().any(|effect| matches!(effect, Effect::Answer(_))));
    assert_eq!(desk.press(Key::Escape), [Effect::Redraw]);
    assert!(desk.tap_char('y').is_empty());
    desk.arm();
    assert_eq!(one(&desk.tap_char('n')), no());
}

#[test]
fn group_member_left_out_is_refused_and_the_rest_kept() {
    let mut desk = desk_with(3, Risk::Low, Approval::Required, Reach::Whole).armed();
    assert_eq!(desk.press(Key::Char('2')), [Effect::Member { at: 1, kept: false }]);
    assert!(desk.tap_char('y').is_empty(), "it did not disarm");
    desk.arm();
    assert_eq!(answer(&desk.tap_char('y')), [yes(), no(), yes()]);
}

#[test]
fn group_member_can_be_included_again() {
    let mut desk = desk_with(2, Risk::Low, Approval::Required, Reach::Whole).armed();
    desk.press(Key::Char('2'));
    desk.arm();
    assert_eq!(desk.press(Key::Char('2')), [Effect::Member { at: 1, kept: true }]);
    desk.arm();
    assert_eq!(desk.press(Key::Char('3')), [Effect::Say(Notice::NoSuchNumber), Effect::NotYet]);
    desk.arm();
    let session = yes().remembered(ApprovalScope::Session);
    assert_eq!(answer(&session_yes(&mut desk)), [session.clone(), session]);
}

#[test]
fn first_digit_of_two_waits_for_the_second_or_enter() {
    let mut desk = desk_with(12, Risk::Low, Approval::Required, Reach::Whole).armed();
    assert_eq!(desk.press(Key::Char('1')), [Effect::Echo("1".into())]);
    assert_eq!(desk.press(Key::Char('2')), [Effect::Member { at: 11, kept: false }]);
    desk.arm();
    desk.press(Key::Char('1'));
    assert_eq!(desk.press(Key::Enter), [Effect::Member { at: 0, kept: false }]);
    desk.arm();
    let approved: Vec<bool> = answer(&desk.tap_char('y')).iter().map(|decision| decision.approved).collect();
    assert_eq!(approved.iter().filter(|approved| !**approved).count(), 2);
}

#[test]
fn every_irreversible_member_needs_its_word() {
    let mut desk = desk_with(2, Risk::Irreversible, Approval::Required, Reach::Whole).armed();
    assert!(!typed(&mut desk, "bob@x.org").iter().any(|effect| matches!(effect, Effect::Answer(_))));
    assert_eq!(answer(&typed(&mut desk, "bob@x.org")), [yes(), yes()]);
    let mut desk = desk_with(2, Risk::Irreversible, Approval::Required, Reach::Whole).armed();
    desk.press(Key::Char('1'));
    desk.arm();
    assert_eq!(answer(&typed(&mut desk, "bob@x.org")), [no(), yes()]);
}

fn any_event() -> impl Strategy<Value = (Event, u64)> {
    let key = prop_oneof![
        4 => prop::sample::select(vec!['y', 's', 'v', '1', '2', ' ', 'b', 'r']).prop_map(Key::Char),
        1 => Just(Key::Enter),
        1 => Just(Key::Other),
    ];
    let input = prop_oneof![8 => key.prop_map(Input::Key), 1 => Just(Input::Paste("y".into()))];
    let event = prop_oneof![
        4 => prop::collection::vec(input, 1..3).prop_map(Event::Read),
        2 => Just(Event::Tick),
        1 => Just(Event::Resize),
    ];
    (event, 0_u64..400)
}

proptest! {
    #[test]
    fn only_a_single_key_on_an_armed_prompt_approves(
        events in prop::collection::vec(any_event(), 0..60),
    ) {
        let mut desk = desk_with(1, Risk::High, Approval::Required, Reach::Whole);
        let mut history: Vec<(u64, Event)> = Vec::new();
        let mut armed_at = None;
        for (event, after) in events {
            desk.now += after;
            history.push((desk.now, event.clone()));
            let effects = desk.event(event);
            if effects.contains(&Effect::Ready) {
                armed_at = Some(desk.now);
            }
            if let Some(Effect::Answer(decisions)) = effects.last() {
                if decisions.iter().any(|decision| decision.approved) {
                    let reads: Vec<_> = history.iter().filter(|(_, event)| matches!(event, Event::Read(_))).collect();
                    let (at, read) = reads[reads.len() - 1];
                    let deciding = ['y', 's'].map(|c| Event::Read(vec![Input::Key(Key::Char(c))]));
                    prop_assert!(deciding.contains(read));
                    prop_assert!(*at + 120 <= desk.now);
                    prop_assert!(armed_at.is_some_and(|armed| armed <= *at && armed >= 1_000));
                }
                return Ok(());
            }
        }
    }
}
