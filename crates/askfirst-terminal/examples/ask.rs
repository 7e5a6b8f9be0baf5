//! Asks the questions of a JSON file on this terminal and prints each answer as a line of JSON.
//!
//! Usage: `ask QUESTIONS.json [--plain] [--preview LINES] [--session none|stdin|TERMINAL] [--withdraw MILLISECONDS]
//! [--schema JSON] [--say TEXT] [--say-part TEXT] [--exit-after MILLISECONDS] [--notify bell|off] [--without KEYS]`
//!
//! With `--session`, the program first starts a new session, without a terminal or with the given one.

use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use askfirst::Cause;
use askfirst::machine::Question;
use askfirst::ports::{Approver, Reply};
use askfirst_display::Choice;
use askfirst_terminal::{Notify, Options, Schemas, Style, TerminalApprover};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options { front_end: "ask".to_owned(), ..Options::default() };
    let mut questions: Vec<Question> = Vec::new();
    let mut withdraw = None;
    let mut schemas = Schemas::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("`{word}` needs a value"));
        match word.as_str() {
            "--plain" => options.style = Style::Plain,
            "--notify" => {
                options.notify = if value()? == "off" { Notify::Off } else { Notify::Bell };
            }
            "--without" => {
                let keys = value()?;
                options.withheld = Choice::ALL.into_iter().filter(|one| keys.contains(one.key())).collect();
            }
            "--preview" => options.preview_lines = value()?.parse()?,
            "--session" => start_session(&value()?)?,
            "--withdraw" => withdraw = Some(Duration::from_millis(value()?.parse()?)),
            "--schema" => {
                let schema: serde_json::Value = serde_json::from_str(&value()?)?;
                schemas = Schemas::new(move |_| Some(schema.clone()));
            }
            "--exit-after" => {
                let time = Duration::from_millis(value()?.parse()?);
                std::thread::spawn(move || {
                    std::thread::sleep(time);
                    askfirst_terminal::restore_terminals();
                    std::process::exit(3);
                });
            }
            "--say" => print_on_terminal(&format!("{}\n", value()?))?,
            "--say-part" => print_on_terminal(&value()?)?,
            file => questions = serde_json::from_slice(&std::fs::read(file)?)?,
        }
    }
    let approver = Arc::new(TerminalApprover::new(options).with_schemas(schemas));
    let ids: Vec<_> = questions.iter().map(|question| question.id).collect();
    let answers: Vec<_> = questions
        .into_iter()
        .map(|question| {
            let (sender, answer) = channel();
            // Sending fails only if the receiver is gone, and then the answer is not needed.
            approver.ask(question, Reply::new(move |answer| drop(sender.send(answer))));
            answer
        })
        .collect();
    if let Some(time) = withdraw {
        std::thread::sleep(time);
        ids.iter().for_each(|id| approver.withdraw(*id, Cause::TimeOut));
    }
    for answer in answers {
        println!("{}", serde_json::to_string(&answer.recv()?)?);
    }
    Ok(())
}

/// Prints text on the terminal before the first question.
fn print_on_terminal(text: &str) -> Result<(), Box<dyn Error>> {
    rustix::io::write(rustix::stdio::stdin(), text.as_bytes())?;
    Ok(())
}

fn start_session(terminal: &str) -> Result<(), Box<dyn Error>> {
    rustix::process::setsid()?;
    match terminal {
        "none" => {}
        "stdin" => rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?,
        path => {
            let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
            let fd = rustix::fs::open(path, flags, rustix::fs::Mode::empty())?;
            // Opening the terminal may have made it the controlling terminal already.
            let _ = rustix::process::ioctl_tiocsctty(&fd);
        }
    }
    Ok(())
}
