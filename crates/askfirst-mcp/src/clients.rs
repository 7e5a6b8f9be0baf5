//! Puts the gateway in front of the servers in a client's config, and removes it again.
//!
//! Only the command and its arguments change; every other byte of the file stays unchanged.

mod installed;

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use installed::{InstalledClient, SERVE, installed};

/// The keys under which clients list their servers.
const PLACES: [&[&str]; 3] = [&["mcpServers"], &["servers"], &["mcp", "servers"]];

/// The words of the gateway's arguments that the server's command follows. Some clients treat `--` as one of their own
/// arguments, so the gateway is written with the first word.
const SEPARATORS: [&str; 2] = ["--command", "--"];

/// The reason why a config cannot be rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrapError {
    /// The file is not JSON.
    #[error("not plain JSON: {0}; hint: remove the comments first")]
    Syntax(String),
    /// The file lists no servers.
    #[error("no `mcpServers` and no `servers` found")]
    NoServers,
    /// The name of a server cannot be part of a tool's name.
    #[error("`{0}` cannot name a server: `__` separates server and tool")]
    Name(String),
}

/// A rewritten config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenConfig {
    /// The whole text.
    pub text: String,
    /// The servers that changed.
    pub changed: Vec<String>,
    /// The servers that did not change, each with the reason.
    pub left: Vec<(String, &'static str)>,
}

/// The change to each server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Put the gateway in front.
    Wrap,
    /// Remove the gateway.
    Unwrap,
}

#[doc(hidden)]
pub use {Direction as Way, RewrittenConfig as Rewritten};

/// Rewrites a client's config, with `askfirst` as the program of the gateway.
///
/// # Errors
/// Fails if the text is not such a config, or if a server has an invalid name. Then nothing changes.
pub fn rewrite(text: &str, askfirst: &str, direction: Direction) -> Result<RewrittenConfig, WrapError> {
    // Some clients keep their whole state in this file, so it may be large.
    askfirst::json::parse_of_any_size(text.as_bytes()).map_err(|e| WrapError::Syntax(e.to_string()))?;
    let whole: &RawValue = serde_json::from_str(text).map_err(|e| WrapError::Syntax(e.to_string()))?;
    let servers = PLACES.iter().find_map(|place| {
        place.iter().try_fold(whole, |at, key| members(at).and_then(|members| members.get(*key).copied()))
    });
    let servers = servers.and_then(members).ok_or(WrapError::NoServers)?;
    let (mut changes, mut changed, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for (name, server) in servers {
        match change(&name, server, askfirst, direction)? {
            Ok(edits) => {
                changed.push(name);
                changes.extend(edits);
            }
            Err(why) => left.push((name, why)),
        }
    }
    let base = text.as_ptr() as usize;
    let mut spans: Vec<(Range<usize>, String)> = changes
        .into_iter()
        .map(|(old, new)| {
            let start = old.as_ptr() as usize - base;
            (start..start + old.len(), new)
        })
        .collect();
    spans.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut text = text.to_owned();
    for (span, new) in spans {
        text.replace_range(span, &new);
    }
    Ok(RewrittenConfig { text, changed, left })
}

fn members(value: &RawValue) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(value.get()).ok()
}

type Edits<'a> = Vec<(&'a str, String)>;

/// The edits for one server: parts of the text and their replacements. Or the reason why the server stays unchanged.
fn change<'a>(
    name: &str,
    server: &'a RawValue,
    askfirst: &str,
    direction: Direction,
) -> Result<Result<Edits<'a>, &'static str>, WrapError> {
    let members: BTreeMap<String, &'a RawValue> = members(server).unwrap_or_default();
    let Some(command) = members.get("command") else {
        return Ok(Err("the server has no command: the client does not start servers behind a `url`"));
    };
    let args = members.get("args").copied();
    let words: Option<Vec<String>> =
        args.map_or(Some(Vec::new()), |args| serde_json::from_str(args.get()).ok());
    let program: Option<String> = serde_json::from_str(command.get()).ok();
    let (Some(program), Some(words)) = (program, words) else {
        return Ok(Err("`command` must be a string and `args` a list of strings"));
    };
    let behind = behind(&program, &words, askfirst);
    let (program, words) = match (direction, behind) {
        (Direction::Wrap, Some(_)) => return Ok(Err("the server is already behind the gateway")),
        (Direction::Unwrap, None) => return Ok(Err("the server is not behind the gateway")),
        (Direction::Unwrap, Some((program, words))) => (program.clone(), words.to_vec()),
        (Direction::Wrap, None) => {
            if name.contains("__") {
                return Err(WrapError::Name(name.to_owned()));
            }
            let front = ["mcp", "--name", name, SEPARATORS[0], &program].map(str::to_owned);
            (askfirst.to_owned(), [&front[..], &words].concat())
        }
    };
    let (program, words) =
        (Value::from(program).to_string(), json!(words).to_string().replace("\",\"", "\", \""));
    Ok(Ok(match args {
        Some(args) => vec![(command.get(), program), (args.get(), words)],
        None => vec![(command.get(), format!("{program}, \"args\": {words}"))],
    }))
}

/// The server's own program and arguments, if the program is a gateway named `askfirst` or like ours.
fn behind<'a>(program: &str, words: &'a [String], askfirst: &str) -> Option<(&'a String, &'a [String])> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_gateway = ["askfirst".to_owned(), name(askfirst)].contains(&name(program));
    let ours = is_gateway && words.first().is_some_and(|word| word == "mcp");
    let at = words.iter().position(|word| SEPARATORS.contains(&word.as_str())).filter(|_| ours)?;
    words.get(at + 1..)?.split_first()
}

#[cfg(test)]
#[path = "clients/tests.rs"]
mod tests;
