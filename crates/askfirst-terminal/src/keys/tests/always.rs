//! Tests of a yes that always holds in the project: the key, its screen, and what does not count.

use super::*;

/// A prompt in a project. The tool may offer a wider scope.
fn in_project(front: Renderer, patterns: Vec<OfferedPattern>) -> Desk {
    let mut request =
        simple_approval_request("send", &args(serde_json::json!({"to": "bob@x.org"})), None, &[]);
    request.patterns = patterns;
    let project = Some("/project".to_owned());
    let member = Member { project, ..Member::new(request) };
    let question = Question { id: QuestionId(1), members: vec![member], position: 1, of: 1 };
    let mut desk = desk_on(front, 1, Risk::Low, Approval::Required, Vec::new());
    desk.keys.offers = Offers::of(&question, &Redactor::default(), Timestamp(0), &[]);
    desk
}

fn ask_scope() -> Effect {
    Effect::AskScope(Lifetime::Project)
}

#[test]
fn always_yes_counts_after_its_scope_was_on_screen() {
    for front in [Renderer::Screen, Renderer::Lines] {
        let mut desk = in_project(front, Vec::new()).armed();
        assert_eq!(desk.tap_char('a'), [ask_scope()]);
        assert!(desk.tap_char('a').is_empty(), "the scope was not on screen for a while");
        desk.arm();
        assert_eq!(one(&desk.tap_char('a')), yes().remembered(ApprovalScope::Session).always());
    }
}

#[test]
fn wider_scope_is_chosen_and_approved_by_a() {
    let fields = args(serde_json::json!({"to": ""}));
    let anybody = OfferedPattern::new("anybody", fields, [("to", Loosen::Any)]);
    let mut desk = in_project(Renderer::Screen, vec![anybody]).armed();
    desk.tap_char('a');
    desk.arm();
    assert_eq!(desk.tap_char('a'), [Effect::Say(Notice::ChooseFirst), Effect::NotYet]);
    desk.arm();
    assert_eq!(desk.press(Key::Char('2')), [Effect::ScopeChosen(Lifetime::Project, 1)]);
    desk.arm();
    let decision = one(&desk.tap_char('a'));
    assert_eq!((decision.always, decision.remember), (true, ApprovalScope::Pattern));
    assert_eq!(decision.pattern, Some(0));
}

// invariant: 6
#[test]
fn each_scope_screen_has_a_key_of_its_own() {
    for (opens, other) in [('a', 's'), ('s', 'a')] {
        let mut desk = in_project(Renderer::Screen, Vec::new()).armed();
        desk.tap_char(opens);
        for key in [other, 'y', ' '] {
            desk.arm();
            assert_eq!(desk.tap_char(key), [Effect::NotYet], "{opens} {key}");
        }
        desk.arm();
        assert_eq!(desk.tap(Key::Enter), [Effect::NotYet]);
        desk.arm();
        assert_eq!(one(&desk.tap_char(opens)).always, opens == 'a');
    }
}

#[test]
fn key_does_nothing_where_it_is_not_offered() {
    for mut desk in [desk(), on_screen(), wide(Renderer::Screen, Risk::Low)] {
        desk.arm();
        assert_eq!(desk.tap_char('a'), [Effect::NotYet]);
        assert_eq!(*desk.keys.screen(), Screen::Question);
    }
}

// invariant: 6
#[test]
fn early_or_pasted_always_yes_approves_nothing() {
    let mut early = in_project(Renderer::Screen, Vec::new());
    assert!(early.tap_char('a').is_empty());
    let mut twice = in_project(Renderer::Screen, Vec::new()).armed();
    let mut effects = twice.press(Key::Char('a'));
    effects.extend(twice.press(Key::Char('a')));
    effects.extend(twice.after(200));
    assert_eq!(effects, [Effect::Say(Notice::Several), Effect::NotYet]);
    let mut pasted = in_project(Renderer::Screen, Vec::new()).armed();
    pasted.tap_char('a');
    pasted.arm();
    let burst = vec![Input::Key(Key::Char('a')), Input::Key(Key::Char('a'))];
    for inputs in [burst, vec![Input::Paste("a".into())]] {
        let mut effects = pasted.event(Event::Read(inputs));
        effects.extend(pasted.after(200));
        assert_eq!(effects, [Effect::Say(Notice::Several), Effect::NotYet]);
        pasted.arm();
    }
}

// invariant: 6
#[test]
fn always_yes_needs_the_whole_page_on_screen() {
    let mut desk = in_project(Renderer::Screen, Vec::new());
    desk.keys.reach = Reach::Part;
    desk.arm();
    assert_eq!(desk.tap_char('a'), [Effect::Say(Notice::SeeAll), Effect::NotYet]);
}
