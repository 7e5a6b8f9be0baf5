//! Scripts that are made up and really run: what bash starts must have been found, words and folder included.

use std::path::Path;
use std::process::{Command as Process, Stdio};

use super::super::tree::{Command, Folder, Line, Piece, Word};
use super::super::{confirm, read};
use super::scripts::{Maker, STUBS};

/// How many scripts, unless the environment says more.
fn count(usual: u64) -> u64 {
    std::env::var("ASKFIRST_SCRIPTS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn first() -> u64 {
    std::env::var("ASKFIRST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

// invariant: 7
#[test]
fn every_program_that_bash_starts_is_found_or_a_gap() {
    let home = tempfile::tempdir().unwrap();
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    // One write per start: jobs run side by side.
    let stub = "#!/bin/sh\nnote=$PWD\nfor word in \"${0##*/}\" \"$@\"; do note=\"$note\u{1f}$word\"; done\nprintf '%s\u{1e}' \"$note\" >> \"$NOTES\"\ncase $0 in */no*) exit 1;; */says) echo 'x y';; esac\n";
    for name in STUBS {
        let path = bin.join(name);
        std::fs::write(&path, stub).unwrap();
        set_mode(&path);
    }
    std::os::unix::fs::symlink("/bin/cat", bin.join("cat")).unwrap();
    let (mut clear, mut starts, mut agreed) = (0, 0, 0);
    let total = count(150);
    for seed in first()..first() + total {
        let text = Maker::new(seed).script();
        let line = read(&text);
        if !line.gaps.is_empty() {
            continue;
        }
        clear += 1;
        agreed += u64::from(confirm(&text, &line));
        // What is started in the background may outlive its script: each has a folder of its own.
        let work = home.path().join(format!("work{seed}"));
        let log = home.path().join(format!("notes{seed}"));
        std::fs::create_dir_all(work.join("d1/d2")).unwrap();
        std::fs::create_dir_all(work.join("d2/d1")).unwrap();
        for name in ["a.txt", "b c.txt", "z"] {
            std::fs::write(work.join(name), "").unwrap();
        }
        std::fs::write(&log, "").unwrap();
        run(&text, &bin, &work, &log);
        let noted = std::fs::read_to_string(&log).unwrap_or_default();
        for record in noted.split('\u{1e}').filter(|record| !record.is_empty()) {
            let fields: Vec<&str> = record.split('\u{1f}').collect();
            let (folder, argv) = (fields[0], &fields[1..]);
            starts += 1;
            let found = line
                .commands
                .iter()
                .any(|command| words_match(&command.words, argv) && folder_matches(command, &work, folder));
            assert!(
                found,
                "seed {seed}: {argv:?} in {folder} was started by\n{text}\nfound: {}",
                show(&line)
            );
        }
    }
    assert!(clear * 3 > total, "{clear} of {total} scripts were understood");
    assert!(starts > total / 2, "{starts} programs were started");
    assert!(agreed * 4 > clear, "the second parser agreed on {agreed} of {clear}");
    eprintln!("{clear} of {total} understood, {starts} started, {agreed} confirmed");
}

#[test]
fn most_scripts_that_bash_accepts_are_parsed_in_bounds() {
    let total = count(400);
    let mut clear = 0;
    for seed in first()..first() + total {
        let text = Maker::new(seed.wrapping_add(1 << 40)).script();
        if !bash_accepts(&text) {
            continue;
        }
        let line = read(&text);
        if !line.gaps.is_empty() {
            continue;
        }
        clear += 1;
        for command in &line.commands {
            assert!(text.get(command.span.clone()).is_some());
            for word in &command.words {
                assert!(text.get(word.span.clone()).is_some());
            }
        }
    }
    assert!(clear * 4 > total, "{clear} of {total} scripts were understood");
}

fn bash_accepts(text: &str) -> bool {
    Process::new("bash").args(["-n", "-c", text]).stderr(Stdio::null()).status().unwrap().success()
}

/// A loop that is made up may go round forever; what it started until it is stopped counts all the same.
fn run(text: &str, bin: &Path, work: &Path, notes: &Path) {
    let run = Process::new("/usr/bin/timeout")
        .args(["20", "/bin/bash", "-c", text])
        .env_clear()
        .env("PATH", bin)
        .env("NOTES", notes)
        .env("HOME", "/nonexistent")
        .current_dir(work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(run.is_ok(), "it was not run:\n{text}");
}

fn set_mode(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether these words can become this argv.
fn words_match(words: &[Word], argv: &[&str]) -> bool {
    let Some((word, rest)) = words.split_first() else { return argv.is_empty() };
    let splits = word.pieces.iter().any(|piece| match piece {
        Piece::Unknown(unknown) => unknown.splits,
        Piece::Glob(_) => true,
        Piece::Text(_) | Piece::Home => false,
    });
    if splits {
        return (0..=argv.len()).any(|taken| words_match(rest, &argv[taken..]));
    }
    argv.split_first()
        .is_some_and(|(first, more)| word_matches(&word.pieces, first) && words_match(rest, more))
}

fn word_matches(pieces: &[Piece], text: &str) -> bool {
    match pieces.split_first() {
        None => text.is_empty(),
        Some((Piece::Text(literal), rest)) => {
            text.strip_prefix(literal.as_str()).is_some_and(|text| word_matches(rest, text))
        }
        Some((Piece::Home, rest)) => {
            text.strip_prefix("/nonexistent").is_some_and(|text| word_matches(rest, text))
        }
        Some((Piece::Unknown(_) | Piece::Glob(_), rest)) => {
            (0..=text.len()).filter_map(|at| text.get(at..)).any(|text| word_matches(rest, text))
        }
    }
}

fn folder_matches(command: &Command, work: &Path, folder: &str) -> bool {
    let Some(folders) = &command.folders else { return true };
    folders.iter().any(|it| resolve(it, work).is_none_or(|path| path == folder))
}

fn resolve(folder: &Folder, work: &Path) -> Option<String> {
    let mut at = work.to_path_buf();
    for word in &folder.0 {
        for part in word.literal()?.split('/') {
            match part {
                "." | "" => {}
                ".." => {
                    at.pop();
                }
                part => at.push(part),
            }
        }
    }
    Some(at.to_str()?.to_owned())
}

fn show(line: &Line) -> String {
    line.commands
        .iter()
        .map(|command| {
            let words: Vec<_> = command.words.iter().map(|word| &word.pieces).collect();
            format!("\n  {words:?} in {:?}", command.folders)
        })
        .collect()
}
