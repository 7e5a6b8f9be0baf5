//! The state that the hook processes of one agent session share: remembered decisions, answers to equal requests, and
//! calls that the agent may run.
//!
//! It ends with the agent's session, or after a week.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use askfirst::record::DecidedRecord;
use askfirst::{ApprovalDecision, ApprovalRequest, Digest, MemoryId, RememberedDecision, Timestamp};
use askfirst_agents::tools::{Mapping, Step, map, under_own_name};
use askfirst_agents::{Agent, HookEvent};
use askfirst_config::state_file::{LockedFolder, StateFileError, VERSION, read};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How long the state of a session that sends no end is kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long the agent may take from the permission for a call to its end.
const CALL_EXPIRES: u64 = 3_600_000;
/// The most answers and calls that are kept. The oldest are dropped first.
const MAX_KEPT: usize = 64;
const FILE: &str = "state.json";

/// The state of one session of an agent.
pub struct AgentSession {
    folder: PathBuf,
    /// The working directory of the event.
    cwd: String,
    /// The agent's name for the tool of the event. Only for its calls, the effect depends on the working directory.
    tool: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredState {
    version: u32,
    /// The working directory of the first event.
    folder: Option<String>,
    remembered: Vec<StoredDecision>,
    answers: Vec<StoredAnswer>,
    calls: Vec<StoredCall>,
}

impl Default for StoredState {
    fn default() -> Self {
        Self {
            version: VERSION,
            folder: None,
            remembered: Vec::new(),
            answers: Vec::new(),
            calls: Vec::new(),
        }
    }
}

/// A remembered decision, and the working directory of the call that it was about.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredDecision {
    cwd: String,
    decision: RememberedDecision,
}

/// An answer, for equal requests that waited for it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredAnswer {
    request: Digest,
    decision: ApprovalDecision,
    at: Timestamp,
}

/// A call that the agent may run, or about which it asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredCall {
    id: Option<String>,
    input: Digest,
    at: Timestamp,
    /// The decisions about the steps of the call.
    pub decided: Vec<DecidedRecord>,
    /// The files that were kept for undo before the call.
    #[serde(default)]
    pub edit: Option<String>,
}

impl AgentSession {
    /// Opens the state of the session of an event.
    pub fn open(state: &Path, event: &HookEvent) -> io::Result<Self> {
        let all = state.join("agents");
        let folder = all.join(name_of(event.agent, &event.session));
        if !folder.is_dir() {
            remove_old(&all);
        }
        LockedFolder::open(&folder)?;
        Ok(Self { folder, cwd: event.cwd.clone(), tool: under_own_name(event).tool_name })
    }

    /// Returns the folder in which the session began. Its config applies to the whole session, because the model can
    /// change the working directory.
    pub fn folder(&self) -> Result<PathBuf, StateFileError> {
        if let Some(folder) = self.read()?.folder {
            return Ok(folder.into());
        }
        let mut first = self.cwd.clone();
        self.change(|state| first.clone_from(state.folder.get_or_insert(self.cwd.clone())))?;
        Ok(first.into())
    }

    /// Removes the state of a session that has ended.
    pub fn end(state: &Path, event: &HookEvent) -> io::Result<()> {
        match std::fs::remove_dir_all(state.join("agents").join(name_of(event.agent, &event.session))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Waits until no other process of this session asks a person.
    pub fn turn(&self) -> io::Result<LockedFolder> {
        LockedFolder::open(&self.folder.join("turn"))
    }

    /// Returns the decisions that apply to the call of the event.
    pub fn remembered(&self) -> Result<Vec<RememberedDecision>, StateFileError> {
        let applies =
            |stored: &StoredDecision| stored.decision.tool_name != self.tool || stored.cwd == self.cwd;
        Ok(self.read()?.remembered.into_iter().filter(applies).map(|stored| stored.decision).collect())
    }

    /// Adds remembered decisions, with ids of their own.
    pub fn remember(&self, decisions: Vec<RememberedDecision>) -> Result<(), StateFileError> {
        if decisions.is_empty() {
            return Ok(());
        }
        self.change(|state| {
            for decision in decisions {
                let last = state.remembered.iter().map(|known| known.decision.id.0).max().unwrap_or(0);
                let decision = RememberedDecision { id: MemoryId(last + 1), ..decision };
                state.remembered.push(StoredDecision { cwd: self.cwd.clone(), decision });
            }
        })
    }

    /// Returns the answer to an equal request that was given since this time.
    pub fn answer_since(
        &self,
        request: &ApprovalRequest,
        since: Timestamp,
    ) -> Result<Option<ApprovalDecision>, StateFileError> {
        let request = digest_of(request);
        let state = self.read()?;
        let found = state.answers.into_iter().rfind(|answer| answer.request == request && answer.at >= since);
        Ok(found.map(|answer| answer.decision))
    }

    /// Keeps an answer for equal requests that wait.
    pub fn share(
        &self,
        request: &ApprovalRequest,
        decision: &ApprovalDecision,
        at: Timestamp,
    ) -> Result<(), StateFileError> {
        let answer = StoredAnswer { request: digest_of(request), decision: decision.clone(), at };
        self.change(|state| push(&mut state.answers, answer))
    }

    /// Keeps the decisions about a call, until the agent reports its end.
    pub fn keep_call(
        &self,
        event: &HookEvent,
        decided: Vec<DecidedRecord>,
        edit: Option<String>,
        at: Timestamp,
    ) -> Result<(), StateFileError> {
        let call = StoredCall { id: event.use_id.clone(), input: input_of(event), at, decided, edit };
        self.change(|state| push(&mut state.calls, call))
    }

    /// Returns the last call that was kept for this event.
    pub fn call(&self, event: &HookEvent, now: Timestamp) -> Result<Option<StoredCall>, StateFileError> {
        let is_recent = |call: &StoredCall| now.0.saturating_sub(call.at.0) < CALL_EXPIRES;
        Ok(self.read()?.calls.into_iter().rfind(|call| call.is_of(event) && is_recent(call)))
    }

    /// Removes the calls that were kept for this event.
    pub fn forget_call(&self, event: &HookEvent) -> Result<(), StateFileError> {
        self.change(|state| state.calls.retain(|call| !call.is_of(event)))
    }

    fn read(&self) -> Result<StoredState, StateFileError> {
        Ok(read(&self.folder.join(FILE))?.unwrap_or_default())
    }

    fn change(&self, change: impl FnOnce(&mut StoredState)) -> Result<(), StateFileError> {
        let unwritable = |error| StateFileError::Unwritable { path: self.folder.clone(), error };
        let locked = LockedFolder::open(&self.folder).map_err(unwritable)?;
        let mut state = self.read()?;
        change(&mut state);
        locked.write(FILE, &state).map_err(unwritable)
    }
}

fn push<T>(items: &mut Vec<T>, item: T) {
    items.push(item);
    let excess = items.len().saturating_sub(MAX_KEPT);
    items.drain(..excess);
}

/// The name of the folder of a session. The agent chooses the id, so it may have any characters.
fn name_of(agent: Agent, session: &str) -> String {
    Digest::of(json!([agent.name(), session]).to_string()).to_string().replace(':', "-")
}

/// Two requests are equal if a person would see the same.
fn digest_of(request: &ApprovalRequest) -> Digest {
    let ApprovalRequest {
        tool_name, description, args, payload, facts, presentation, risk, definition, ..
    } = request;
    let shown = json!([tool_name, description, args, payload, facts, presentation, risk, definition]);
    Digest::of(askfirst::json::canonical(&shown))
}

impl StoredCall {
    /// Whether an event is about this call. Some agents send the id of a call only with some of its events.
    fn is_of(&self, event: &HookEvent) -> bool {
        match (&self.id, &event.use_id) {
            (Some(own), Some(other)) => own == other,
            (None, _) | (_, None) => self.has_input_of(event),
        }
    }

    /// Whether an event is about the same effect. The model may give the id of one call to another one.
    pub fn has_input_of(&self, event: &HookEvent) -> bool {
        self.input == input_of(event)
    }
}

/// The digest of the effect of a call. Some agents add a description to some of its events.
fn input_of(event: &HookEvent) -> Digest {
    let as_it_is = || json!([event.tool, event.input, event.cwd]);
    let input = match map(event) {
        Mapping::Unknown(_) => as_it_is(),
        Mapping::Known(steps) => {
            let call = |step: &Step| match step {
                Step::Call(call, _) => Some(json!([call.tool_name, call.args])),
                Step::Update(_) => None,
            };
            steps.iter().map(call).collect::<Option<Value>>().unwrap_or_else(as_it_is)
        }
    };
    Digest::of(askfirst::json::canonical(&input))
}

/// Removes the state of sessions that sent no end.
fn remove_old(all: &Path) {
    let Ok(entries) = std::fs::read_dir(all) else { return };
    for entry in entries.flatten() {
        let changed = entry.metadata().and_then(|meta| meta.modified());
        let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
        if age.is_some_and(|age| age > KEPT) {
            // If this fails, the next new session tries again.
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
}
