//! Programs by what becomes of the files that they are given.

/// Programs that put what they are given into a folder under its own name.
pub(super) const COPYING: [&str; 7] = ["cp", "install", "link", "ln", "mv", "rsync", "scp"];

/// Programs that write a file without the end of its name, or with another.
pub(super) const UNPACKING: [&str; 13] = [
    "bunzip2",
    "bzip2",
    "gunzip",
    "gzip",
    "lz4",
    "lzma",
    "uncompress",
    "unlz4",
    "unlzma",
    "unxz",
    "unzstd",
    "xz",
    "zstd",
];

/// Programs that look for a file by its name and an ending of theirs, where it is not there by its name.
pub(super) const ENDING: [(&[&str], &[&str]); 2] = [
    (
        &[
            "gunzip",
            "gzcat",
            "gzip",
            "uncompress",
            "zcat",
            "zcmp",
            "zdiff",
            "zegrep",
            "zfgrep",
            "zgrep",
            "zless",
            "zmore",
        ],
        &[".gz", ".z", ".Z", "-gz", "-z", "_z", ".taz", ".tgz"],
    ),
    (
        &["unzip", "zipinfo", "zipgrep", "zip", "7z", "7za", "7zr", "rar", "unrar"],
        &[".zip", ".ZIP", ".7z", ".rar"],
    ),
];

/// Programs that copy whole folders to another machine.
pub(super) const SENDING: [&str; 2] = ["rsync", "scp"];

/// Programs that fill a file with what they are given.
pub(super) const FILLING: [&str; 25] = [
    "bunzip2", "cp", "curl", "dd", "docker", "git", "gunzip", "gzip", "install", "ln", "mv", "patch", "perl",
    "rsync", "scp", "sed", "split", "sponge", "tar", "tee", "truncate", "unxz", "unzip", "wget", "xz",
];
/// Programs that take away or change a folder with all that is in it.
pub(super) const SWEEPING: [&str; 8] = ["rm", "rmdir", "unlink", "shred", "mv", "chmod", "chown", "chgrp"];
/// Programs that print what stands in the command line.
pub(super) const SAYING: [&str; 2] = ["echo", "printf"];
/// Programs that run what they read. Without a table nobody can tell what that is.
pub(super) const INTERPRETERS: [&str; 40] = [
    "R",
    "Rscript",
    "bun",
    "clojure",
    "deno",
    "dc",
    "ed",
    "elixir",
    "emacs",
    "erl",
    "ex",
    "expect",
    "fish",
    "gdb",
    "ghci",
    "groovy",
    "guile",
    "iex",
    "irb",
    "julia",
    "ksh",
    "lldb",
    "lua",
    "luajit",
    "m4",
    "node",
    "nvim",
    "octave",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "pypy",
    "python",
    "ruby",
    "scala",
    "tclsh",
    "vim",
    "wish",
    "zsh",
];
