//! Programs that take orders from their standard input, some of which start other programs: `!` in `ed`, `\!` in `psql`.

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
            "parallel",
            "runuser",
            "script",
            "setarch",
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
        &["!", "shell", "make", "pipe", "python", "source", "run", "call", "command", "script", "platform"],
    ),
    (&["gnuplot"], &["!", "system", "shell", "<", "|", "load"]),
    (&["m4"], &["syscmd", "include"]),
    (&["ftp", "lftp", "sftp", "telnet"], &["!", "|", "shell"]),
    (&["mail", "mailx", "mutt"], &["~"]),
];

/// Programs whose orders are queries.
const QUERIED: [&str; 4] = ["mariadb", "mysql", "psql", "sqlite3"];

/// Whether a program may start others by what it reads; nothing is known of a text that is not given.
pub(super) fn may_start(program: &str, text: Option<&str>) -> bool {
    if QUERIED.contains(&program) {
        return text.is_none_or(|text| !only_reads(text));
    }
    let Some((_, orders)) = ORDERS.iter().find(|(names, _)| names.contains(&program)) else { return false };
    text.is_none_or(|text| orders.is_empty() || orders.iter().any(|order| text.contains(order)))
}

/// Whether a command of a script may read the script itself from standard input, so that its texts become code.
pub(super) fn may_eat(script: &str) -> bool {
    const EATING: [&str; 21] = [
        "awk",
        "bash",
        "cat",
        "dd",
        "grep",
        "head",
        "mapfile",
        "perl",
        "python",
        "python3",
        "read",
        "readarray",
        "ruby",
        "sed",
        "select",
        "sh",
        "ssh",
        "tail",
        "tee",
        "wc",
        "xargs",
    ];
    let texts = script.contains("<<") || script.contains(['\'', '"', '\\']);
    let mut words = script.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    script.trim().contains('\n') && texts && words.any(|word| EATING.contains(&word))
}

/// Whether all that it reads is orders to it; a file with queries is what a rule for the others means.
pub(super) fn obeys(program: &str) -> bool {
    ORDERS.iter().any(|(names, _)| names.contains(&program))
}

#[cfg(test)]
#[path = "orders/tests.rs"]
mod tests;
