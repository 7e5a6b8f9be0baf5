//! Programs that take orders from their standard input, some of which start other programs: `!` in `ed`, `\!` in `psql`.

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
    (&["mariadb", "mysql"], &["\\!", "system", "\\.", "source", "pager", "\\P", "edit", "\\e"]),
    (&["psql"], &["\\", "program", "PROGRAM"]),
    (&["sqlite3"], &["."]),
];

/// Whether a program may start others by what it reads; nothing is known of a text that is not given.
pub(super) fn may_start(program: &str, text: Option<&str>) -> bool {
    let Some((_, orders)) = ORDERS.iter().find(|(names, _)| names.contains(&program)) else { return false };
    text.is_none_or(|text| orders.is_empty() || orders.iter().any(|order| text.contains(order)))
}

/// Whether all that it reads is orders to it; a file with queries is what a rule for the others means.
pub(super) fn obeys(program: &str) -> bool {
    let queried = ["mariadb", "mysql", "psql", "sqlite3"].contains(&program);
    !queried && ORDERS.iter().any(|(names, _)| names.contains(&program))
}

#[cfg(test)]
#[path = "orders/tests.rs"]
mod tests;
