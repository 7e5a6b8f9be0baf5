//! Reads any bytes as an event of each agent, answers it and maps its call: no panic, no denial that looks like another
//! answer, and no part of an unknown call is lost. The first byte selects the agent.
#![no_main]

use askfirst_agents::{Agent, Answer, Mapping, Step, map, read, refusal, rewritten, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let agent = Agent::ALL[usize::from(*first) % Agent::ALL.len()];
    let event = match read(agent, bytes) {
        Ok(event) => event,
        Err(error) => {
            let reply = refusal(&error.to_string());
            assert!(reply.code == 2 && !reply.stderr.trim().is_empty(), "{reply:?}");
            return;
        }
    };
    let denied = write(&event, Answer::Deny { reason: event.tool.clone() });
    let allowed = Answer::Allow { input: Some(event.input.clone()), context: Some(event.tool.clone()) };
    for answer in [Answer::ALLOW, Answer::Nothing] {
        assert_ne!(write(&event, answer), denied, "{event:?}");
    }
    let _ = write(&event, allowed);
    match map(&event) {
        Mapping::Unknown(call) => assert_eq!(call.args, event.input),
        Mapping::Known(steps) => {
            for step in steps {
                match step {
                    Step::Update(update) => drop(update.calls(&event.tool)),
                    Step::Call(call, _) => {
                        let back = rewritten(&event, &call.args);
                        assert!(
                            call.tool_name != "shell" || back.as_ref() == Some(&event.input),
                            "{event:?}"
                        );
                    }
                }
            }
        }
    }
});
