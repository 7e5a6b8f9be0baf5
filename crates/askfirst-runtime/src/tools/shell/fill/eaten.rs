//! Lines that a loop reads one by one: what another command takes of them in between, the next one lacks.

use super::super::line::tree::{Command, Line, Stdin, Way, Word};
use super::super::programs;
use super::super::programs::used::{Known, Role};

/// Commands that read nothing, whatever they are given.
const QUIET: [&str; 27] = [
    ":", "[", "[[", "basename", "break", "cd", "chmod", "continue", "cp", "date", "dirname", "echo", "exit",
    "export", "false", "local", "ls", "mkdir", "mv", "printf", "pwd", "realpath", "rm", "sleep", "stat",
    "test", "true",
];
/// The sub-commands of git that read nothing.
const QUIET_GIT: [&str; 12] =
    ["add", "blame", "branch", "diff", "grep", "log", "ls-files", "mv", "rev-parse", "rm", "show", "status"];
/// Programs that read what they are sent besides the files that they are given.
const READING: [&str; 8] = ["dd", "ffmpeg", "patch", "sponge", "ssh", "tee", "vim", "xargs"];

/// Whether a command of the line may take a part of what a loop over this output reads.
pub(super) fn is_eaten(line: &Line, from: usize) -> bool {
    line.commands.iter().enumerate().any(|(at, command)| {
        let shares = match command.stdin {
            Stdin::Unknown => true,
            Stdin::Pipe(_) | Stdin::Inherited | Stdin::Text(_) => false,
        };
        at > from && shares && may_read(command)
    })
}

fn may_read(command: &Command) -> bool {
    let Some(name) = command.words.first() else { return false };
    let Some(name) = name.literal() else { return true };
    let fed = command.redirections.iter().any(|it| it.way == Way::Read);
    // `-`, `--files0-from=-`, `/dev/stdin`, `--stdin`.
    let stream = |word: &Word| {
        let text = word.prefix();
        text.ends_with('-') && text != "--"
            || ["/dev", "/proc", "stdin", "batch"].iter().any(|it| text.contains(it))
    };
    let streams = command.words.iter().skip(1).any(stream);
    if (QUIET.contains(&name) || fed) && !streams {
        return false;
    }
    let used = programs::used(&command.words);
    let git = name == "git" && used.subs.first().is_some_and(|sub| QUIET_GIT.contains(&sub.name.as_str()));
    let given = used
        .paths
        .iter()
        .any(|path| matches!(path.role, Role::Read | Role::Tree | Role::List | Role::File | Role::Write));
    let known = used.known == Known::Table && used.nested.is_empty() && !READING.contains(&name);
    streams || !(git || (known && given))
}
