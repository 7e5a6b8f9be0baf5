//! Lines that a loop reads one by one: what another command takes of them in between, the next one lacks.

use super::super::line::tree::{Command, Line, Redirection, Stdin, Way, Word};
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
const READING: [&str; 16] = [
    "7z", "7za", "bc", "cmp", "cpio", "dc", "dd", "ffmpeg", "patch", "sponge", "sqlite3", "ssh", "tee",
    "unzip", "vim", "xargs",
];

/// Whether a command of the line may take a part of what a loop over this output reads.
pub(super) fn is_eaten(line: &Line, from: usize) -> bool {
    line.commands.iter().enumerate().any(|(at, command)| {
        let shares = match command.stdin {
            Stdin::Unknown => true,
            Stdin::Pipe(_) | Stdin::Inherited | Stdin::Text(_) => false,
        };
        // `< /dev/stdin` is what it had before.
        let again = |it: &Redirection| it.way != Way::Write && is_stream(&it.target);
        at > from && (shares && may_read(command) || command.redirections.iter().any(again))
    })
}

/// Whether a word may be standard input: `-`, `--files0-from=-`, `/dev/stdin`, `--stdin`.
fn is_stream(word: &Word) -> bool {
    let text = word.prefix();
    text.ends_with('-') && text != "--"
        || text != "/dev/null"
            && ["--args", "--jsonargs", "/dev", "/proc", "stdin", "batch"].iter().any(|it| text.contains(it))
}

/// Whether an option has a command ask before it does something, and read the answer.
fn asks(name: &str, words: &[Word]) -> bool {
    let letters: &[char] = match name {
        "cp" | "mv" | "rm" => &['i', 'I'],
        "git" if words.iter().any(|word| word.literal() == Some("add")) => &['e', 'i', 'p'],
        _ => return false,
    };
    words.iter().any(|word| word.prefix().starts_with('-') && word.prefix().contains(letters))
}

fn may_read(command: &Command) -> bool {
    let Some(name) = command.words.first() else { return false };
    let Some(name) = name.literal() else { return true };
    let options = || command.words.iter().skip(1);
    let streams = options().any(is_stream) || asks(name, &command.words);
    if QUIET.contains(&name) && !streams {
        return false;
    }
    let used = programs::used(&command.words);
    let git = name == "git" && used.subs.first().is_some_and(|sub| QUIET_GIT.contains(&sub.name.as_str()));
    // `awk 1 x=1` is given no file.
    let sets = name.ends_with("awk") && options().last().is_some_and(|word| word.prefix().contains('='));
    // A file that an option names is read besides: `grep -f patterns`.
    let given = used.operands.iter().any(|operand| {
        matches!(operand.role, Role::Read | Role::Tree | Role::List | Role::File | Role::Write)
    });
    let known = used.known == Known::Table && used.nested.is_empty() && !READING.contains(&name);
    streams || !(git || (known && given && !sets))
}
