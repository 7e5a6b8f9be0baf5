//! Watcher and sessions, and processes that pretend to be one.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says no by panicking"
)]

mod hostile;
mod place;
mod talk;

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use askfirst::machine::{Answer, Member, Question, QuestionId};
use askfirst::ports::{Approver, Reply};
use askfirst::{ApprovalDecision, ApprovalRequest, Cause};
use serde_json::Value;

use super::*;

/// Tries until there is a result. Nothing here takes long, so it gives up after a minute.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..6000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came");
}

/// The person at the watcher.
#[derive(Default)]
struct Person {
    asked: Mutex<Vec<(Question, Option<Reply>)>>,
    withdrawn: Mutex<Vec<(QuestionId, Cause)>>,
}

impl Approver for Person {
    fn ask(&self, question: Question, reply: Reply) {
        self.asked.lock().unwrap().push((question, Some(reply)));
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        self.withdrawn.lock().unwrap().push((question, cause));
    }
}

impl Person {
    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// The question with this number, counted from one.
    fn question(&self, number: usize) -> Question {
        wait_for(|| self.asked.lock().unwrap().get(number - 1).map(|(question, _)| question.clone()))
    }

    fn answer(&self, number: usize, answer: Answer) {
        let reply = wait_for(|| self.asked.lock().unwrap().get_mut(number - 1)?.1.take());
        reply.send(answer);
    }
}

/// A watcher with a person at it.
struct WatchSession {
    person: Arc<Person>,
    looks: Arc<Mutex<Vec<DisplaySettings>>>,
    takes: Arc<Mutex<ToolSchemas>>,
    told: Arc<Mutex<Vec<String>>>,
    stop_handle: StopHandle,
    serving: Option<JoinHandle<WatchEnd>>,
}

impl WatchSession {
    fn at(state: &Path) -> Self {
        let desk = Desk::open(state).unwrap();
        let stop_handle = desk.stop_handle();
        let (person, looks): (Arc<Person>, Arc<Mutex<Vec<DisplaySettings>>>) = Default::default();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let takes: Arc<Mutex<ToolSchemas>> = Arc::default();
        let taken = Arc::clone(&takes);
        let (theirs, seen, heard) = (Arc::clone(&person), Arc::clone(&looks), Arc::clone(&told));
        let serving = std::thread::spawn(move || {
            let prompt = move |look: &DisplaySettings, takes: ToolSchemas| {
                seen.lock().unwrap().push(look.clone());
                *taken.lock().unwrap() = takes;
                Some(Arc::clone(&theirs) as Arc<dyn Approver>)
            };
            desk.serve(prompt, move |text| heard.lock().unwrap().push(text.to_owned())).unwrap()
        });
        Self { person, looks, takes, told, stop_handle, serving: Some(serving) }
    }

    fn leave(&mut self) -> WatchEnd {
        self.stop_handle.stop();
        self.serving.take().unwrap().join().unwrap()
    }
}

fn asker(session: &str) -> Asker {
    Asker {
        door: "mcp".to_owned(),
        name: "notes".to_owned(),
        session: session.to_owned(),
        folder: "/home/me/project".to_owned(),
    }
}

fn question(id: u64) -> Question {
    let request = ApprovalRequest::new("tool", format!("question {id}"), Value::Null);
    let members = vec![Member::new(request)];
    Question { id: QuestionId(id), members, position: 1, of: 1 }
}

/// A session that asks through the watcher.
fn session(state: &Path, name: &str) -> WatchApprover {
    WatchApprover::new(
        state,
        asker(name),
        DisplaySettings { preview_lines: 50, ..DisplaySettings::default() },
        |_| None,
    )
}

fn ask(session: &WatchApprover, question: Question) -> Receiver<Answer> {
    let (send, answers) = channel();
    session.ask(question, Reply::new(move |answer| drop(send.send(answer))));
    answers
}

fn cause(answers: &Receiver<Answer>) -> Cause {
    let answer = answers.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(!answer.decisions[0].approved, "{answer:?}");
    answer.decisions[0].cause
}

fn yes() -> Answer {
    Answer::all(ApprovalDecision::yes(Cause::Person))
}
