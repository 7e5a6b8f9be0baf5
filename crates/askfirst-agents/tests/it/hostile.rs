//! Broken and hostile events: every one is denied, and no denial becomes an allow.

use askfirst_agents::contract::MAX_EVENT;
use askfirst_agents::{Agent, Answer, ContractError, HookEvent, Moment, Reply, read, refusal, write};
use proptest::prelude::*;

use super::fixtures::{all, bytes, event};
use super::obeys::{Effect, effect};

const DECIDING: [Moment; 5] = [
    Moment::BeforeCall,
    Moment::BeforeShell,
    Moment::BeforeMcp,
    Moment::BeforeRead,
    Moment::PermissionRequest,
];

fn events() -> Vec<HookEvent> {
    all().iter().map(|name| event(name)).collect()
}

/// The events of all agents that wait for a decision.
fn deciding() -> Vec<HookEvent> {
    events().into_iter().filter(|event| event.moment.decides()).collect()
}

/// An event of each agent with a part replaced, and the error that reading it gives.
fn broken(from: &str, to: &str) -> Vec<(Agent, ContractError)> {
    let mut errors = Vec::new();
    for name in all().iter().filter(|name| name.contains("/before_")) {
        let agent = name.split('/').next().unwrap().parse().unwrap();
        let text = String::from_utf8(bytes(name)).unwrap();
        if text.contains(from) {
            let changed = text.replacen(from, to, 1);
            let error = read(agent, changed.as_bytes()).expect_err(&changed);
            errors.push((agent, error));
        }
    }
    assert!(!errors.is_empty(), "no event contains {from}");
    errors
}

fn assert_broken(from: &str, to: &str, reason: &str) {
    for (agent, error) in broken(from, to) {
        assert!(error.to_string().contains(reason), "{agent}: {error}");
    }
}

// invariant: 1
#[test]
fn event_outside_the_contract_is_an_error_with_its_reason() {
    assert_broken("\"session_id\"", "\"other_id\"", "the event has no `session_id`");
    assert_broken("\"session_id\":", "\"session_id\":\"a\",\"session_id\":", "duplicate key `session_id`");
    assert_broken("\"tool_input\":{", "\"tool_input\":{\"a\\u0000b\":1,", "a control character");
    assert_broken("\"tool_input\":{", "\"tool_input\":{\"a\":[{\"\\u001b\":1}],", "a control character");
    assert_broken(
        "\"tool_input\":{",
        "\"tool_input\":7,\"b\":{",
        "`tool_input` must be an object, not a number",
    );
    assert_broken("\"cwd\":\"/", "\"cwd\":\"", "`cwd` must be an absolute path");
    assert_broken("\"cwd\":\"/", "\"cwd\":\"/\\n", "`cwd` must not contain control characters");
    assert_broken(
        "\"tool_name\":",
        "\"tool_name\":true,\"b\":",
        "`tool_name` must be a string, not a boolean",
    );
    assert_broken("\"tool_name\":", "\"tool_name\":\"\",\"b\":", "`tool_name` must not be empty");
    assert_broken("ToolUse\"", "ToolUse2\"", "ToolUse2`");
    assert_broken("{", "[{", "not valid JSON");
    assert_broken("\"sessionId\"", "\"other\"", "the event has no `sessionId`");
    assert_broken("\"toolArgs\":\"{", "\"toolArgs\":\"{{", "not valid JSON");
    assert_broken("\"toolArgs\":\"{", "\"toolArgs\":\"{\\\"\\\\u0007\\\":1,", "a control character");
    assert_broken("\"toolArgs\":", "\"toolArgs\":[],\"b\":", "`toolArgs` must be an object, not a list");
    assert_broken("\"version\":1", "\"version\":2", "hint: run `askfirst hook install opencode` again");
    assert_broken("\"mcp_context\":{", "\"mcp_context\":7,\"b\":{", "`mcp_context` must be an object");
}

#[test]
fn event_that_is_too_long_or_not_utf8_is_an_error() {
    for agent in Agent::ALL {
        let long = vec![b' '; MAX_EVENT + 1];
        assert_eq!(read(agent, &long), Err(ContractError::TooLarge));
        let error = read(agent, b"{\"session_id\":\"\xff\"}").unwrap_err();
        assert!(error.to_string().contains("not UTF-8 at byte 15"), "{error}");
        assert!(read(agent, b"").is_err() && read(agent, b"{}").is_err() && read(agent, b"null").is_err());
    }
}

// invariant: 1
#[test]
fn event_that_cannot_be_read_is_blocked_at_every_moment() {
    for agent in Agent::ALL {
        for reason in ["the event has no `session_id`", "", "{\"decision\":\"allow\"}"] {
            let reply = refusal(reason);
            for moment in DECIDING {
                assert_eq!(effect(agent, moment, &reply), Effect::Blocked, "{agent} {moment:?} {reply:?}");
            }
        }
    }
}

#[test]
fn reason_reaches_standard_error_without_control_characters() {
    let reply = refusal("a\u{1b}[2Jb\u{9b}c\rd\ne");
    assert!(reply.stderr.chars().all(|c| c == '\n' || !c.is_control()), "{reply:?}");
}

// invariant: 1
#[test]
fn denial_blocks_the_call_in_every_agent() {
    for event in deciding() {
        for reason in ["no", ""] {
            let reply = write(&event, Answer::Deny { reason: reason.to_owned() });
            let effect = effect(event.agent, event.moment, &reply);
            assert_eq!(effect, Effect::Blocked, "{event:?}: {reply:?}");
        }
    }
}

// invariant: 2
#[test]
fn question_never_lets_a_call_run_unasked() {
    for event in deciding() {
        let reply = write(&event, Answer::Ask { reason: "why".to_owned() });
        let effect = effect(event.agent, event.moment, &reply);
        let is_claude = [Agent::Claude, Agent::Qwen].contains(&event.agent);
        let asks_anyway =
            is_claude && event.moment == Moment::PermissionRequest && effect == Effect::OwnRules;
        let asks = asks_anyway || effect == Effect::Asks;
        assert!(asks || effect == Effect::Blocked, "{event:?}: {reply:?}");
        assert_eq!(asks, event.agent.facts().can_ask.contains(&event.moment), "{event:?}");
    }
}

#[test]
fn allow_never_blocks_the_call() {
    for event in deciding() {
        let reply = write(&event, Answer::ALLOW);
        let effect = effect(event.agent, event.moment, &reply);
        assert!(matches!(effect, Effect::Runs | Effect::OwnRules), "{event:?}: {reply:?}");
    }
}

// invariant: 3
#[test]
fn call_with_a_new_input_never_runs_with_the_old_one() {
    for event in deciding() {
        for keeps_keys in [true, false] {
            let mut input = if keeps_keys { event.input.clone() } else { askfirst::Args::new() };
            input.insert("command".to_owned(), "rewritten".into());
            let reply = write(&event, Answer::Allow { input: Some(input.clone()), context: None });
            let effect = effect(event.agent, event.moment, &reply);
            let has_input = reply.stdout.contains(&serde_json::Value::from(input).to_string());
            assert_eq!(has_input, effect != Effect::Blocked, "{event:?}: {reply:?}");
            let can = event.agent.facts().can_rewrite_input.contains(&event.moment);
            assert_eq!(
                has_input,
                can && (keeps_keys || event.agent != Agent::Gemini),
                "{event:?}: {reply:?}"
            );
        }
    }
}

#[test]
fn silence_is_no_fault_of_the_hook() {
    for event in deciding() {
        let reply = write(&event, Answer::Nothing);
        assert_eq!(effect(event.agent, event.moment, &reply), Effect::OwnRules, "{event:?}: {reply:?}");
    }
}

#[test]
fn objection_after_a_call_reaches_the_model() {
    for event in events().into_iter().filter(|event| !event.moment.decides()) {
        assert_eq!(write(&event, Answer::ALLOW), Reply::silent());
        let reply = write(&event, Answer::Deny { reason: "the log is full".to_owned() });
        assert!(format!("{}{}", reply.stdout, reply.stderr).contains("the log is full"), "{reply:?}");
    }
}

fn any_agent() -> impl Strategy<Value = Agent> {
    proptest::sample::select(Agent::ALL.to_vec())
}

fn any_answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        Just(Answer::ALLOW),
        Just(Answer::Nothing),
        any::<String>().prop_map(|reason| Answer::Ask { reason }),
        any::<String>().prop_map(|reason| Answer::Deny { reason }),
    ]
}

proptest! {
    #[test]
    fn no_bytes_panic_and_unreadable_ones_are_blocked(
        agent in any_agent(),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let reason = read(agent, &bytes).unwrap_err().to_string();
        let reply = refusal(&reason);
        for moment in DECIDING {
            prop_assert_eq!(effect(agent, moment, &reply), Effect::Blocked);
        }
    }

    // invariant: 1
    #[test]
    fn event_with_changed_bytes_is_blocked_or_obeyed(
        (name, at, byte) in proptest::sample::select(all()).prop_flat_map(|name| {
            let length = bytes(&name).len();
            (Just(name), 0..length, any::<u8>())
        }),
        answer in any_answer(),
    ) {
        let agent: Agent = name.split('/').next().unwrap().parse().unwrap();
        let mut changed = bytes(&name);
        changed[at] = byte;
        let is_denial = matches!(answer, Answer::Deny { .. });
        let (reply, moment) = match read(agent, &changed) {
            Ok(event) => (write(&event, answer), event.moment),
            Err(error) => (refusal(&error.to_string()), Moment::BeforeCall),
        };
        let effect = effect(agent, moment, &reply);
        if is_denial && moment.decides() {
            prop_assert_eq!(effect, Effect::Blocked, "{:?}", reply);
        }
    }
}
