//! The result that the agent gets for a process that ended, and the quoting of words for people.

use askfirst::ToolError;
use askfirst::ports::{ProcessEnd, ProcessOutput};
use serde_json::{Value, json};

/// Quotes words as a shell would read them.
pub(crate) fn quoted(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c))
    };
    let quote = |word: &String| {
        if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Returns the output and the exit status of a process. Unless it succeeded, they are returned as an error.
pub(crate) fn result_of(finished: &ProcessOutput) -> Result<Value, ToolError> {
    let mut result = json!({
        "stdout": String::from_utf8_lossy(&finished.stdout),
        "stderr": String::from_utf8_lossy(&finished.stderr),
    });
    let mut add = |key: &str, value: Value| {
        if let Some(map) = result.as_object_mut() {
            map.insert(key.to_owned(), value);
        }
    };
    if finished.dropped > 0 {
        add("left_out_bytes", finished.dropped.into());
    }
    let message = match finished.ended {
        ProcessEnd::Exited(0) => {
            add("exit_code", 0.into());
            return Ok(result);
        }
        ProcessEnd::Exited(code) => {
            add("exit_code", code.into());
            format!("the command exited with code {code}")
        }
        ProcessEnd::Signalled(signal) => {
            add("signal", signal.into());
            format!("the command was killed by signal {signal}")
        }
        ProcessEnd::TimedOut => "the command ran too long and was stopped".to_owned(),
        ProcessEnd::Stopped => "the command was stopped".to_owned(),
    };
    Err(ToolError::Ended { message, result })
}
