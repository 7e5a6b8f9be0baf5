//! Events as the agents write them, from `tests/fixtures/AGENT/VERSION`.

use std::path::{Path, PathBuf};

use askfirst_agents::{Agent, HookEvent, Moment, read};

/// The bytes of an event.
pub fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name).with_extension("json")).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// An event of an agent, by the name of its file, such as `claude/2.1.325/before_bash`.
pub fn event(name: &str) -> HookEvent {
    let agent = name.split('/').next().unwrap().parse().unwrap();
    read(agent, &bytes(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The names of all events.
pub fn all() -> Vec<String> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let versions = list(&folder()).into_iter().flat_map(|agent| list(&agent));
    let files = versions.flat_map(|version| list(&version));
    let name =
        |path: PathBuf| path.strip_prefix(folder()).unwrap().with_extension("").to_str().unwrap().to_owned();
    files.map(name).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The start of a fixture's name says which moment it is.
fn moment(name: &str) -> Moment {
    let (start, _) = name.rsplit('/').next().unwrap().split_once('_').unwrap();
    match start {
        "before" => Moment::BeforeCall,
        "shell" => Moment::BeforeShell,
        "mcp" => Moment::BeforeMcp,
        "read" => Moment::BeforeRead,
        "permission" => Moment::PermissionRequest,
        "after" => Moment::AfterCall,
        "session" => Moment::SessionEnd,
        other => panic!("{other}"),
    }
}

#[test]
fn every_fixture_is_read_with_its_moment_and_session() {
    for name in all() {
        let event = event(&name);
        assert_eq!(event.moment, moment(&name), "{name}");
        assert!(event.session.len() > 3 && event.cwd == "/home/ada/shop", "{name}: {event:?}");
        assert_eq!(event.tool.is_empty(), event.moment == Moment::SessionEnd, "{name}");
        assert_eq!(event.output.is_some(), event.moment == Moment::AfterCall, "{name}");
    }
}

#[test]
fn every_agent_has_fixtures_of_the_version_in_its_facts() {
    for agent in Agent::ALL {
        let folder = format!("{agent}/{}/", agent.facts().version);
        assert!(all().iter().any(|name| name.starts_with(&folder)), "{folder}");
    }
}

#[test]
fn agent_is_found_by_its_name_alone() {
    for agent in Agent::ALL {
        assert_eq!(agent.name().parse(), Ok(agent));
        assert_eq!(agent.to_string(), agent.name());
    }
    assert_eq!("Claude".parse::<Agent>().unwrap_err().to_string(), "unknown agent `Claude`");
}
