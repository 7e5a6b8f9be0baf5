//! Tests of the screen that need its private parts.

use askfirst::machine::{Member, QuestionId};
use askfirst::simple_approval_request;

use super::*;
use crate::decode::Input;

fn ui(size: (u16, u16)) -> Ui {
    let request = simple_approval_request("tool", &askfirst::Args::new(), None, &[]);
    let member = Member::new(request);
    let question = Arc::new(Question { id: QuestionId(1), members: vec![member], position: 1, of: 1 });
    let options = Options::default();
    let mut ui =
        Ui::new(Arc::clone(&question), &options, &Schemas::default(), Arc::default(), size, Timestamp(0));
    ui.complete(prepare(&question, &options, Timestamp(0), HighlightBudget::BRIEF), Duration::ZERO);
    ui.frame(Timestamp(0));
    ui
}

fn press(ui: &mut Ui, at: u64) -> Vec<HostAction> {
    let y = Event::Read(vec![Input::Key(Key::Char('y'))]);
    let mut actions = ui.event(y, Duration::from_millis(at));
    actions.extend(ui.event(Event::Tick, Duration::from_millis(at + 200)));
    actions
}

// invariant: 6
#[test]
fn content_off_screen_cannot_be_approved() {
    let mut ui = ui((80, 30));
    ui.event(Event::Tick, Duration::from_secs(2));
    assert!(ui.keys.is_armed());
    ui.resize((10, 4), Duration::from_secs(3));
    ui.frame(Timestamp(0));
    ui.event(Event::Tick, Duration::from_secs(9));
    assert!(!ui.keys.is_armed());
    assert_eq!(press(&mut ui, 10_000), []);
    ui.resize((80, 30), Duration::from_secs(11));
    ui.frame(Timestamp(0));
    assert_eq!(press(&mut ui, 11_010), []);
    ui.event(Event::Tick, Duration::from_secs(20));
    assert!(matches!(press(&mut ui, 21_000).as_slice(), [HostAction::Answer(all)] if all[0].approved));
}

#[test]
fn prompt_without_its_content_never_arms() {
    let whole = ui((80, 30));
    let mut head = Ui::new(
        Arc::clone(&whole.question),
        &Options::default(),
        &Schemas::default(),
        Arc::default(),
        (80, 30),
        Timestamp(0),
    );
    head.frame(Timestamp(0));
    head.event(Event::Tick, Duration::from_secs(60));
    assert!(!head.keys.is_armed());
    assert_eq!(press(&mut head, 61_000), []);
}
