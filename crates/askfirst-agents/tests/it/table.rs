//! The table of real agents in the guide, which `tests/agents/run` writes.

use askfirst_agents::Agent;
use askfirst_agents::agent::HookFault;

const PAGE: &str = include_str!("../../../../docs/guide/agents.md");

#[test]
fn facts_of_every_agent_are_those_of_the_real_one() {
    let lines = PAGE.lines().skip_while(|line| !line.starts_with("<!-- agents: begin")).skip(1);
    let rows: Vec<Vec<&str>> = lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    for agent in Agent::ALL.into_iter().filter(|agent| *agent != Agent::Cursor) {
        let facts = agent.facts();
        let column = rows[0].iter().position(|head| head.starts_with(facts.title)).unwrap();
        for (case, fault) in [
            ("hook is missing", facts.missing),
            ("hook is killed", facts.crash),
            ("hook crashes", facts.crash),
            ("hook is too slow", facts.timeout),
            ("hook prints nonsense", facts.nonsense),
        ] {
            let row = rows.iter().find(|row| row[1] == case).unwrap();
            let effect = match fault {
                HookFault::Denies | HookFault::DeniesIfConfigured => "denied",
                HookFault::Runs => "runs",
            };
            assert_eq!(row[column], effect, "{agent}: {case}");
        }
    }
}
