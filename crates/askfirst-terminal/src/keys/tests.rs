//! Tests of which key decides, and when. Time is a number here.

use askfirst::machine::{Member, Question, QuestionId};
use askfirst::{Approval, ApprovalScope, Args, Loosen, OfferedPattern, Timestamp, simple_approval_request};
use askfirst_display::redact::Redactor;
use proptest::prelude::*;

use super::*;

#[path = "tests/pages.rs"]
mod pages;

/// A prompt and a clock.
struct Desk {
    keys: Keys,
    now: u64,
}

fn args(value: serde_json::Value) -> Args {
    value.as_object().cloned().unwrap_or_default()
}

fn desk_with(members: usize, risk: Risk, approval: Approval, reach: Reach) -> Desk {
    let mut desk = desk_on(Front::Lines, members, risk, approval, Vec::new());
    desk.keys.reach = reach;
    desk
}

/// A prompt whose tool offers a pattern.
fn wide(front: Front, risk: Risk) -> Desk {
    let fields = args(serde_json::json!({"to": ""}));
    let patterns = vec![OfferedPattern::new("anybody", fields, [("to", Loosen::Any)])];
    desk_on(front, 1, risk, Approval::Required, patterns)
}

fn on_screen() -> Desk {
    desk_on(Front::Screen, 1, Risk::Low, Approval::Required, Vec::new())
}

fn desk_on(
    front: Front,
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
    let member = Member { request: request.into(), calls: 1, remembered_until: None };
    let question = Question { id: QuestionId(1), members: vec![member; members], position: 1, of: 1 };
    let offers = Offers::of(&question, &Redactor::default(), Timestamp(0));
    let mut keys = Keys::new(offers, front, Duration::ZERO);
    keys.content_shown();
    keys.saw_all_parts();
    keys.reached_end();
    Desk { keys, now: 0 }
}

fn desk() -> Desk {
    desk_with(1, Risk::Low, Approval::Required, Reach::End)
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

    /// Presses a key and lets it stay alone.
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
fn keys_before_arming_are_discarded_and_keep_it_unarmed() {
    let mut desk = desk();
    for _ in 0..20 {
        assert!(desk.press(Key::Char('y')).is_empty());
        assert!(desk.after(290).is_empty());
    }
    assert_eq!(desk.after(10), [Effect::Ready]);
    assert!(desk.keys.is_armed());
}

#[test]
fn high_risk_arms_only_after_the_page_stood_a_second() {
    let mut desk = desk_with(1, Risk::High, Approval::Required, Reach::End);
    assert!(desk.after(999).is_empty());
    assert_eq!(desk.after(1), [Effect::Ready]);
}

#[test]
fn it_says_when_it_wants_to_be_woken() {
    let mut desk = desk();
    assert_eq!(desk.keys.wake_at(), Some(Duration::from_millis(300)));
    desk.arm();
    assert_eq!(desk.keys.wake_at(), None);
    desk.press(Key::Char('y'));
    assert_eq!(desk.keys.wake_at(), Some(Duration::from_millis(2_000) + ALONE));
}

#[test]
fn each_key_does_what_it_says() {
    assert_eq!(one(&desk().armed().tap_char('y')), yes());
    assert_eq!(one(&desk().armed().tap_char('n')), no());
    assert_eq!(one(&desk().armed().tap_char('s')), yes().remembered(ApprovalScope::Session));
    assert_eq!(one(&desk().armed().tap_char('N')), no().remembered(ApprovalScope::Session));
    assert_eq!(one(&desk().armed().tap_char('q')), ApprovalDecision { stop: true, ..no() });
    assert_eq!(one(&desk().armed().tap(Key::Escape)), no());
    assert_eq!(desk().armed().tap_char('v'), [Effect::View]);
    assert_eq!(desk().armed().tap_char('?'), [Effect::Facts]);
    assert_eq!(desk().armed().tap_char('e'), [Effect::Edit]);
    assert_eq!(desk().armed().tap_char('r'), [Effect::AskReason]);
}

#[test]
fn enter_space_and_unknown_keys_decide_nothing_and_disarm() {
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
fn pasted_text_decides_nothing() {
    let mut desk = desk().armed();
    let effects = desk.event(Event::Read(vec![Input::Paste("y".into())]));
    assert_eq!(effects, [Effect::Say(Notice::Several), Effect::NotYet]);
}

#[test]
fn a_held_key_decides_nothing() {
    let mut desk = desk().armed();
    for _ in 0..30 {
        let mut effects = desk.press(Key::Char('y'));
        effects.extend(desk.after(40));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Answer(_))));
    }
    assert!(!desk.keys.is_armed());
}

#[test]
fn a_resize_and_a_redraw_disarm() {
    let mut desk = desk().armed();
    assert_eq!(desk.event(Event::Resize), [Effect::Redraw]);
    assert!(desk.tap_char('y').is_empty());
    desk.arm();
    assert_eq!(desk.tap_char('v'), [Effect::View]);
    assert!(desk.tap_char('y').is_empty());
}

#[test]
fn end_of_input_and_a_lost_terminal_refuse_with_their_cause() {
    assert_eq!(one(&desk().event(Event::EndOfInput)).cause, Cause::EndOfInput);
    assert_eq!(one(&desk().event(Event::Lost)).cause, Cause::TerminalLost);
    assert_eq!(one(&desk().press(Key::EndOfInput)).cause, Cause::EndOfInput);
    assert!(!one(&desk().event(Event::Lost)).approved);
}

#[test]
fn an_interrupt_stops_at_any_time() {
    assert!(one(&desk().press(Key::Interrupt)).stop);
    assert!(one(&desk().armed().press(Key::Interrupt)).stop);
    let mut desk = desk().armed();
    desk.tap_char('r');
    assert!(one(&desk.press(Key::Interrupt)).stop);
}

#[test]
fn high_risk_needs_the_end_on_screen() {
    for key in ['y', 's'] {
        let mut desk = desk_with(1, Risk::High, Approval::Required, Reach::Part).armed();
        assert_eq!(desk.tap_char(key), [Effect::Say(Notice::SeeTheEnd), Effect::NotYet]);
        desk.arm();
        assert_eq!(desk.tap_char('v'), [Effect::View]);
        desk.keys.reached_end();
        desk.arm();
        assert!(one(&desk.tap_char(key)).approved);
    }
    assert!(one(&desk_with(1, Risk::Low, Approval::Required, Reach::Part).armed().tap_char('y')).approved);
}

#[test]
fn a_widened_approval_needs_the_end_too() {
    let mut desk = wide(Front::Lines, Risk::High);
    desk.keys.reach = Reach::Part;
    desk.arm();
    assert_eq!(desk.tap_char('s'), [Effect::Say(Notice::SeeTheEnd), Effect::NotYet]);
}

#[test]
fn keys_that_are_not_offered_do_nothing() {
    assert_eq!(
        desk_with(1, Risk::Low, Approval::OncePerSession, Reach::End).armed().tap_char('y'),
        [Effect::NotYet]
    );
    for key in ['s', 'N'] {
        assert_eq!(
            desk_with(1, Risk::Low, Approval::Human, Reach::End).armed().tap_char(key),
            [Effect::NotYet]
        );
    }
    for key in ['y', 's'] {
        let mut desk = desk_with(1, Risk::Irreversible, Approval::Required, Reach::End).armed();
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
fn the_word_typed_whole_approves_without_enter() {
    let mut desk = desk_with(1, Risk::Irreversible, Approval::Required, Reach::End).armed();
    assert_eq!(one(&typed(&mut desk, "bob@x.org")), yes());
}

#[test]
fn a_wrong_pasted_or_unarmed_word_does_not_approve() {
    let fresh = || desk_with(1, Risk::Irreversible, Approval::Required, Reach::End);
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
    assert!(typed(&mut desk, "bob@x.org").contains(&Effect::Say(Notice::SeeTheEnd)));
}

#[test]
fn a_word_with_more_behind_it_does_not_approve() {
    let mut desk = desk_with(1, Risk::Irreversible, Approval::Required, Reach::End).armed();
    let effects = typed(&mut desk, "bob@x.orgs");
    assert!(effects.contains(&Effect::Say(Notice::Several)));
}

#[test]
fn a_reason_is_typed_and_confirmed_by_enter() {
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
fn a_pasted_enter_does_not_end_a_reason_and_escape_goes_back() {
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
fn one_of_a_group_is_left_out_and_the_rest_kept() {
    let mut desk = desk_with(3, Risk::Low, Approval::Required, Reach::End).armed();
    assert_eq!(desk.press(Key::Char('2')), [Effect::Member { at: 1, kept: false }]);
    assert!(desk.tap_char('y').is_empty(), "it must arm again");
    desk.arm();
    assert_eq!(answer(&desk.tap_char('y')), [yes(), no(), yes()]);
}

#[test]
fn a_member_can_be_taken_back_in() {
    let mut desk = desk_with(2, Risk::Low, Approval::Required, Reach::End).armed();
    desk.press(Key::Char('2'));
    desk.arm();
    assert_eq!(desk.press(Key::Char('2')), [Effect::Member { at: 1, kept: true }]);
    desk.arm();
    assert_eq!(desk.press(Key::Char('3')), [Effect::Say(Notice::NoSuchNumber), Effect::NotYet]);
    desk.arm();
    let session = yes().remembered(ApprovalScope::Session);
    assert_eq!(answer(&desk.tap_char('s')), [session.clone(), session]);
}

#[test]
fn numbers_of_two_digits_wait_for_the_second_or_enter() {
    let mut desk = desk_with(12, Risk::Low, Approval::Required, Reach::End).armed();
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
fn each_member_that_cannot_be_undone_needs_its_word() {
    let mut desk = desk_with(2, Risk::Irreversible, Approval::Required, Reach::End).armed();
    assert!(!typed(&mut desk, "bob@x.org").iter().any(|effect| matches!(effect, Effect::Answer(_))));
    assert_eq!(answer(&typed(&mut desk, "bob@x.org")), [yes(), yes()]);
    let mut desk = desk_with(2, Risk::Irreversible, Approval::Required, Reach::End).armed();
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
    fn nothing_is_approved_but_by_a_key_that_stood_alone_on_an_armed_prompt(
        events in prop::collection::vec(any_event(), 0..60),
    ) {
        let mut desk = desk_with(1, Risk::High, Approval::Required, Reach::End);
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
