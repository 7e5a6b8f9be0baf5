//! A test setup with a client on one side and a server on the other.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Clock, Durability, RecordFailed, Recorder, Reply};
use askfirst::record::Record;
use askfirst::{
    Approval, ApprovalDecision, Args, Because, Case, Cause, FunctionToolset, Mode, Policy, Rules,
    SandboxStatus, ToolEntry,
};
use askfirst_mcp::{Connection, Gateway, Pins, Setup};
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::config::Project;
use askfirst_runtime::project::ProjectRules;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

/// An audit log in memory, which can refuse to write.
#[derive(Default)]
pub struct Notes {
    pub all: Mutex<Vec<Value>>,
    pub full: Mutex<bool>,
}

impl Recorder for Notes {
    fn record(&self, record: &Record, _: Durability) -> Result<(), RecordFailed> {
        if *self.full.lock().unwrap() {
            return Err(RecordFailed("the disk is full".to_owned()));
        }
        self.all.lock().unwrap().push(serde_json::to_value(record).unwrap());
        Ok(())
    }
}

/// An approver that answers when the test tells it to.
#[derive(Default)]
pub struct Person {
    pub asked: Mutex<Vec<(Question, Option<Reply>)>>,
    pub withdrawn: Mutex<Vec<QuestionId>>,
}

impl Approver for Person {
    fn ask(&self, question: Question, reply: Reply) {
        self.asked.lock().unwrap().push((question, Some(reply)));
    }

    fn withdraw(&self, question: QuestionId, _: Cause) {
        self.withdrawn.lock().unwrap().push(question);
    }
}

impl Person {
    /// Waits for the approval request with this number, counted from one, and answers it.
    pub fn answer(&self, number: usize, answer: impl Fn(&Question) -> Answer) {
        let reply = wait_for(|| {
            let mut asked = self.asked.lock().unwrap();
            let (question, reply) = asked.get_mut(number - 1)?;
            Some((answer(question), reply.take()?))
        });
        reply.1.send(reply.0);
    }

    pub fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// Retries until there is a value. Nothing here takes long, so a minute is the limit.
pub fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..6000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came");
}

pub struct Desk {
    client_out: Option<PipeWriter>,
    client_in: BufReader<PipeReader>,
    pub server_in: BufReader<PipeReader>,
    server_out: Option<PipeWriter>,
    pub gateway: Arc<Gateway>,
    pub person: Arc<Person>,
    pub notes: Arc<Notes>,
    pub told: Arc<Mutex<Vec<String>>>,
    _state: Option<tempfile::TempDir>,
}

/// A policy with rules such as `("add", none)` for tools of the server `maths`. Other calls need approval.
pub fn policy(entries: &[(&str, Approval)]) -> Policy {
    let case = |approval| Case::new(Some(approval), Because::built_in("test", "says so"));
    let entries = entries
        .iter()
        .map(|(name, approval)| ToolEntry::new(format!("mcp__maths__{name}"), vec![case(*approval)]));
    Policy::new(Rules::new(None, entries).unwrap()).with_sandbox(SandboxStatus::Settled)
}

pub fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("The tool {name}"), "inputSchema": {"type": "object"}})
}

impl Desk {
    pub fn new(entries: &[(&str, Approval)]) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut desk = Self::at(state.path(), policy(entries), false);
        desk._state = Some(state);
        desk
    }

    pub fn at(state: &Path, policy: Policy, hide_denied: bool) -> Self {
        Self::in_project(state, policy, hide_denied, None)
    }

    /// A gateway in a project of the user, if there is one.
    pub fn in_project(state: &Path, policy: Policy, hide_denied: bool, project: Option<Project>) -> Self {
        let (from_client, client_out) = pipe().unwrap();
        let (client_in, to_client) = pipe().unwrap();
        let (server_in, to_server) = pipe().unwrap();
        let (from_server, server_out) = pipe().unwrap();
        let (person, notes) = (Arc::new(Person::default()), Arc::new(Notes::default()));
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let controller = ApprovalController::setup(Mode::Interactive)
            .approver(Arc::clone(&person) as _)
            .clock(Arc::clone(&clock))
            .project(project.map(|project| ProjectRules::new(project, Arc::default(), |_| ())))
            .build();
        let heard = Arc::clone(&told);
        let policy = policy;
        let approval = ApprovalToolset::new(FunctionToolset::new(), controller, policy.clone())
            .recorder(Arc::clone(&notes) as _)
            .clock(clock)
            .session("test");
        let setup = Setup {
            server: "maths".to_owned(),
            approval,
            policy,
            pins: Pins::open(state, "maths").unwrap(),
            hide_denied,
            tell: Box::new(move |text| heard.lock().unwrap().push(text.to_owned())),
        };
        let gateway = Gateway::new(setup);
        let connection = Connection::lines(Box::new(to_client), Box::new(to_server));
        let (one, other) = (gateway.link(), connection.clone());
        let link = Arc::clone(&one);
        std::thread::spawn(move || one.serve_client(&connection, BufReader::new(from_client)));
        std::thread::spawn(move || link.serve_server(&other, BufReader::new(from_server)));
        Self {
            client_out: Some(client_out),
            client_in: BufReader::new(client_in),
            server_in: BufReader::new(server_in),
            server_out: Some(server_out),
            gateway,
            person,
            notes,
            told,
            _state: None,
        }
    }

    /// Writes a line as the client.
    pub fn say(&mut self, line: impl AsRef<[u8]>) {
        let out = self.client_out.as_mut().unwrap();
        out.write_all(&[line.as_ref(), b"\n"].concat()).unwrap();
    }

    pub fn call(&mut self, id: u64, tool: &str, args: Value) -> String {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": args}})
        .to_string();
        self.say(&line);
        line
    }

    /// Reads a line as the client.
    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        self.client_in.read_line(&mut line).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    pub fn hear_json(&mut self) -> Value {
        serde_json::from_str(&self.hear()).unwrap()
    }

    /// Reads a line as the server.
    pub fn received(&mut self) -> String {
        let mut line = String::new();
        self.server_in.read_line(&mut line).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    /// Writes a line as the server.
    pub fn reply(&mut self, line: impl AsRef<[u8]>) {
        let out = self.server_out.as_mut().unwrap();
        out.write_all(&[line.as_ref(), b"\n"].concat()).unwrap();
    }

    /// Lists the tools as the client, and answers with these tools as the server.
    pub fn list(&mut self, tools: &[Value]) -> Value {
        self.say(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
        assert!(self.received().contains("tools/list"));
        self.reply(json!({"jsonrpc": "2.0", "id": "list", "result": {"tools": tools}}).to_string());
        self.hear_json()
    }

    /// Takes the server's end, so that the test can write to it.
    pub fn server_ends_with(&mut self) -> PipeWriter {
        self.server_out.take().unwrap()
    }

    pub fn server_ends(&mut self) {
        self.server_out = None;
    }

    pub fn client_ends(&mut self) {
        self.client_out = None;
    }
}

pub fn yes() -> Answer {
    Answer::all(ApprovalDecision::yes(Cause::Person))
}

pub fn no(note: &str) -> Answer {
    Answer::all(ApprovalDecision::no(Cause::Person).with_note(note))
}

pub fn edit(args: &Args) -> Answer {
    let mut decision = ApprovalDecision::yes(Cause::Person);
    decision.edited_args = Some(args.clone());
    Answer::all(decision)
}
