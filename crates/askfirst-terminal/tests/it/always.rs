//! Snapshots of the screens for a yes that always holds in the project, in common windows and small ones.

use std::time::Duration;

use askfirst::machine::Question;
use askfirst::{OfferedPattern, OfferedTool};
use askfirst_terminal::headless::HeadlessPrompt;
use askfirst_terminal::{Options, Style};

use crate::fixtures::{self, NOW};

/// The windows: columns and rows.
const WINDOWS: [(u16, u16); 2] = [(80, 24), (62, 18)];

/// A question about a call in a project.
fn in_project() -> Question {
    let mut question = fixtures::edit();
    question.members[0].project = Some("/home/ann/projects/shop".to_owned());
    question
}

/// A question about an MCP tool whose gateway offers other tools of the server.
fn with_tools() -> Question {
    let mut question = in_project();
    let request = std::sync::Arc::make_mut(&mut question.members[0].request);
    let names: Vec<String> = (1..=24).map(|n| format!("create_item_{n:02}")).collect();
    let tool = |name: &String| OfferedTool {
        name: format!("mcp__shop__{name}"),
        definition: askfirst::Digest::of(name),
    };
    let label = format!("these {} tools of `shop` with any arguments: {}", names.len(), names.join(", "));
    request.patterns = vec![
        OfferedPattern::any_arguments("`shop: create_item_01` with any arguments", Vec::new()),
        OfferedPattern::any_arguments(label, names.iter().map(tool).collect()),
    ];
    question
}

fn screen(question: &Question, keys: &[&str], (columns, rows): (u16, u16)) -> String {
    let options = Options { style: Style::Uncolored, preview_lines: 50, ..Options::default() };
    let mut prompt = HeadlessPrompt::new(question.clone(), &options, (columns, rows), NOW);
    for key in keys {
        prompt.wait(Duration::from_secs(2)).send(key.as_bytes()).wait(Duration::from_millis(200));
    }
    prompt.wait(Duration::from_secs(2));
    let mut parser = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
    let drawn = String::from_utf8(prompt.drawn().to_vec()).unwrap();
    parser.process(drawn.replace('\n', "\r\n").as_bytes());
    parser.screen().contents()
}

#[test]
fn screens_for_always_match_their_snapshots() {
    for (columns, rows) in WINDOWS {
        for (name, question, keys) in [
            ("question", in_project(), &[][..]),
            ("scope", in_project(), &["v", "\x1b[F", "v", "a"]),
            ("facts", in_project(), &["?"]),
            ("tools", with_tools(), &["v", "\x1b[F", "v", "a", "3"]),
        ] {
            let shown = screen(&question, keys, (columns, rows));
            insta::assert_snapshot!(format!("always_{name}_{columns}x{rows}"), shown);
        }
    }
}

#[test]
fn every_tool_of_a_pattern_is_named_in_full() {
    let shown: String = ["3", "\x1b[6~", "\x1b[6~"]
        .iter()
        .scan(vec!["v", "\x1b[F", "v", "a"], |keys, key| {
            keys.push(key);
            Some(screen(&with_tools(), keys, (62, 18)))
        })
        .collect();
    let shown: String =
        shown.lines().map(|line| line.trim_start_matches([' ', '│', '┆']).trim_end()).collect();
    for n in 1..=24 {
        assert!(shown.contains(&format!("create_item_{n:02}")), "{n}: {shown}");
    }
}

// invariant: 6
#[test]
fn long_scope_is_approved_only_after_all_of_it_was_on_screen() {
    let mut question = with_tools();
    let request = std::sync::Arc::make_mut(&mut question.members[0].request);
    let names: Vec<String> = (1..=80).map(|n| format!("create_item_{n:02}")).collect();
    request.patterns[1].label = format!("these 80 tools of `shop` with any arguments: {}", names.join(", "));
    let options = Options { style: Style::Uncolored, preview_lines: 50, ..Options::default() };
    let mut prompt = HeadlessPrompt::new(question, &options, (62, 18), NOW);
    let mut press = |key: &str| {
        prompt.wait(Duration::from_secs(2)).send(key.as_bytes()).wait(Duration::from_millis(200));
        (prompt.answer().is_some(), String::from_utf8(prompt.drawn().to_vec()).unwrap())
    };
    ["v", "\x1b[F", "v", "a", "3"].iter().for_each(|key| drop(press(key)));
    let (answered, drawn) = press("a");
    assert!(!answered && drawn.contains("a part of these calls was not on screen yet"), "{drawn}");
    ["\x1b[6~", "\x1b[6~", "\x1b[6~"].iter().for_each(|key| drop(press(key)));
    assert!(press("a").0, "all of it was on screen");
}
