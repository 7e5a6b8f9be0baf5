//! Programs that take orders from their standard input, some of which start other programs: `!` in `ed`, `\!` in `psql`.

use super::line;
use super::line::tree::{Command, Word};
use super::programs::only_reads;

/// Programs, and how an order of theirs looks that starts another program. Nothing: every order does.
const ORDERS: &[(&[&str], &[&str])] = &[
    (
        &[
            "at",
            "batch",
            "chroot",
            "crontab",
            "expect",
            "linux32",
            "linux64",
            "newgrp",
            "nix-shell",
            "nsenter",
            "osh",
            "parallel",
            "runuser",
            "script",
            "setarch",
            "setpriv",
            "sg",
            "ssh",
            "su",
            "unshare",
        ],
        &[],
    ),
    (&["ed", "ex", "vi", "vim", "nvim", "view", "red"], &["!", "system", "shell", "term"]),
    (&["dc"], &["!"]),
    (
        &["gdb", "lldb"],
        &[
            "!", "shell", "make", "pipe", "python", "pi ", "py ", "guile", "source", "run", "call",
            "command", "script", "platform",
        ],
    ),
    (&["gnuplot"], &["!", "system", "shell", "<", "|", "load"]),
    (&["m4"], &["syscmd", "include", "indir", "builtin"]),
    (&["ftp", "lftp", "sftp", "telnet"], &["!", "|", "shell"]),
    (&["mail", "mailx", "mutt"], &["~"]),
];

/// Programs whose orders are queries.
pub(super) const QUERIED: [&str; 4] = ["mariadb", "mysql", "psql", "sqlite3"];

/// Programs that hand what they read to what they start elsewhere, and words that make a shell of that.
const HANDING: [&str; 13] = [
    "docker",
    "podman",
    "nerdctl",
    "kubectl",
    "oc",
    "nix",
    "pipenv",
    "poetry",
    "rails",
    "lxc",
    "vagrant",
    "toolbox",
    "distrobox",
];
const SHELLS: [&str; 12] =
    ["sh", "bash", "zsh", "dash", "ash", "ksh", "fish", "shell", "develop", "console", "ssh", "enter"];

/// Whether a program may start others by what it reads; nothing is known of a text that is not given.
pub(super) fn may_start(program: &str, words: &[Word], text: Option<&str>) -> bool {
    let mut given = words.iter().skip(1).filter_map(Word::literal);
    if HANDING.contains(&program) {
        let shell = |word: &str| SHELLS.contains(&word.rsplit('/').next().unwrap_or(word));
        return given.clone().any(shell) && !given.any(|word| word == "-c");
    }
    if QUERIED.contains(&program) {
        return text.is_none_or(|text| !only_reads(text));
    }
    let Some((_, orders)) = ORDERS.iter().find(|(names, _)| names.contains(&program)) else { return false };
    text.is_none_or(|text| orders.is_empty() || orders.iter().any(|order| text.contains(order)))
}

/// Whether a command of a script may read the script itself from standard input, so that its texts become code, or may put
/// another in its place.
pub(super) fn may_eat(script: &str) -> bool {
    /// Programs that never read it.
    const ABSTAINING: [&str; 30] = [
        ":", "[", "[[", "basename", "cd", "cp", "date", "dirname", "du", "echo", "exit", "export", "false",
        "hostname", "id", "ls", "mkdir", "mv", "nproc", "printf", "pwd", "rm", "rmdir", "set", "sleep",
        "stat", "test", "touch", "true", "uname",
    ];
    let line = line::read(script);
    let abstains = |command: &Command| {
        let words = command.words.first();
        words.is_none_or(|word| word.literal().is_some_and(|name| ABSTAINING.contains(&name)))
    };
    // It may be given another script, or one may be added to it.
    let other = ["exec", "/dev/", "/proc/", "&0", "<>"]
        .iter()
        .any(|word| script.replace("/dev/null", "").contains(word));
    other || (script.trim().contains('\n') && !line.commands.iter().all(abstains))
}

/// Whether all that it reads is orders to it; a file with queries is what a rule for the others means.
pub(super) fn obeys(program: &str) -> bool {
    ORDERS.iter().any(|(names, _)| names.contains(&program))
}

#[cfg(test)]
#[path = "orders/tests.rs"]
mod tests;
