//! `call`: checks one tool call, asks if needed, runs it and logs it.

use std::io::Read;
use std::sync::Arc;

use anyhow::Context;
use askfirst::{ApprovalContext, Outcome};
use askfirst_config::Places;
use askfirst_display::Choice;
use askfirst_runtime::Session;
use askfirst_runtime::assess::Unknown;
use askfirst_runtime::pipeline::next_call_id;
use askfirst_runtime::tools::catalog::redactor;

use crate::args::{Common, ModeFlags};
use crate::commands::run::live::{Audience, LiveRows};
use crate::exit::Exit;
use crate::session::{FrontEnd, end_commands, open, read_config};

/// The maximum size of the arguments, in bytes.
const MAX_ARGS: u64 = 16 << 20;

/// The session ends with its one call, so an answer for the session does nothing, and there is no run to stop.
const CALL: FrontEnd =
    FrontEnd { name: "call", withheld: &[Choice::Session, Choice::NoSession, Choice::Stop] };

/// Runs one call.
pub fn call(common: &Common, mode: ModeFlags, tool: &str, args: &str) -> anyhow::Result<Exit> {
    let args = parse_args(args)?;
    let config = read_config(common)?;
    let live = Arc::new(LiveRows::new(Audience::Program, Arc::new(redactor(&config)?)));
    let builder = Session::builder(config).unknown(Unknown::Unnamed).observe(Arc::clone(&live) as _);
    let session = open(&CALL, builder, common, mode, &Places::from_env().state, |_, terminal| terminal)?;
    let call = ApprovalContext { id: next_call_id(), ..ApprovalContext::new(tool, args) };
    let call = Arc::new(call);
    live.expect([(1, &call)]);
    let id = call.id;
    let outcome = session.tools.call_many_sync(vec![Arc::unwrap_or_clone(call)]).pop();
    let outcome = wait_for_server(&session, tool, outcome.context("the call was lost")?);
    askfirst_terminal::wait_until_released();
    end_commands(&session);
    let summary = live.settle(id, &outcome);
    Ok(crate::outcome::print(&outcome, &summary, &session.redactor, common.json))
}

/// Waits for the end of a command that `shell` started in the background, since it would end with this session.
fn wait_for_server(session: &Session, tool: &str, outcome: Outcome) -> Outcome {
    let is_running =
        |outcome: &Outcome| matches!(outcome, Outcome::Done(result) if result["state"] == "running");
    let id = match &outcome {
        Outcome::Done(result) if tool == "shell" && is_running(&outcome) => result["id"].clone(),
        Outcome::Done(_) | Outcome::Denied(_) | Outcome::Failed(_) => return outcome,
    };
    let args: askfirst::Args = [("id".to_owned(), id), ("wait".to_owned(), 600.into())].into_iter().collect();
    loop {
        let outcome = session.tools.call_sync("shell_output", args.clone());
        if !is_running(&outcome) {
            return outcome;
        }
    }
}

/// Parses the arguments from the command line, or from standard input for `-`.
pub fn parse_args(args: &str) -> anyhow::Result<askfirst::Args> {
    let bytes = if args == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .take(MAX_ARGS)
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        bytes
    } else {
        args.as_bytes().to_vec()
    };
    askfirst::json::parse_object(&bytes).map_err(|e| anyhow::anyhow!("`--args` is not a JSON object: {e}"))
}

/// Returns the call of `shell` for a command line: one word is the whole line, several words are quoted and joined.
pub fn shell_call(words: &[String]) -> ApprovalContext {
    let line = match words {
        [line] => line.clone(),
        words => words.iter().enumerate().map(|(at, word)| quoted(at, word)).collect::<Vec<_>>().join(" "),
    };
    ApprovalContext::new("shell", [("command".to_owned(), line.into())].into_iter().collect())
}

/// Words that mean something else to the shell than the program of that name.
const RESERVED: [&str; 17] = [
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "time", "until", "while",
];

/// Quotes a word, so that the shell reads exactly this word again.
fn quoted(at: usize, word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+./:,@".contains(c) || (c == '=' && at > 0);
    let means_itself = at > 0 || !RESERVED.contains(&word);
    if !word.is_empty() && word.chars().all(is_plain) && means_itself {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
