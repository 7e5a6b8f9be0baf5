//! Reads any text as a command line: no panic, every position lies inside the text, and the same result twice.
#![no_main]
#![allow(
    dead_code,
    unused_imports,
    reason = "the module is compiled here without the modules that use the rest of it"
)]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/askfirst-shell/src/line/mod.rs"]
mod line;

use line::tree::{Command, Line, Shape, Stdin, Word};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read = line::read(text);
    check(text, &read);
    let agreed = line::confirm(text, &read);
    assert_eq!(read, line::read(text), "read in two ways");
    if read.shape == Shape::Plain {
        assert!(agreed && !read.commands.is_empty() && read.gaps.is_empty());
        slow(text, &read);
    }
    let blank = text.replace("\\\n", "").bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
    let comment = text.contains('#');
    let tests = text.contains("[[")
        || text.contains("((")
        || text.contains("time")
        || text.contains("case")
        || text.contains("()")
        || text.contains("for ");
    assert!(
        blank || comment || tests || !read.commands.is_empty() || !read.gaps.is_empty(),
        "nothing was found in {text:?}"
    );
});

/// Puts an assignment before a plain line, so that the parser reads it; the result must be the same.
fn slow(text: &str, read: &Line) {
    let before = "A=1;";
    let parsed = line::read(&format!("{before}{text}"));
    let same = parsed.commands.len() == read.commands.len() + 1
        && parsed.commands.iter().skip(1).zip(&read.commands).all(|(slow, fast)| {
            let stdin = match &fast.stdin {
                Stdin::Pipe(from) => Stdin::Pipe(from + 1),
                other => other.clone(),
            };
            let span = fast.span.start + before.len()..fast.span.end + before.len();
            let to = slow.redirections.iter().map(|to| (to.way, &to.target.pieces));
            let pieces = |words: &[Word]| words.iter().map(|word| word.pieces.clone()).collect::<Vec<_>>();
            let folders = |command: &Command| {
                command.folders.iter().flatten().map(|folder| pieces(&folder.0)).collect::<Vec<_>>()
            };
            pieces(&slow.words) == pieces(&fast.words)
                && (&slow.stdin, &slow.reached, &slow.span) == (&stdin, &fast.reached, &span)
                && folders(slow) == folders(fast)
                && to.eq(fast.redirections.iter().map(|to| (to.way, &to.target.pieces)))
                && slow.assignments.is_empty()
        });
    assert!(same || !parsed.gaps.is_empty(), "the two ways disagree on {text:?}: {parsed:?}");
}

fn check(text: &str, line: &Line) {
    let inside =
        |span: &std::ops::Range<usize>| assert!(text.get(span.clone()).is_some(), "{span:?} of {text:?}");
    let word = |word: &Word| inside(&word.span);
    for gap in &line.gaps {
        inside(&gap.span);
        assert!(!gap.why.is_empty());
    }
    for (at, command) in line.commands.iter().enumerate() {
        inside(&command.span);
        command.words.iter().for_each(word);
        command.assignments.iter().for_each(|assignment| word(&assignment.value));
        for redirection in &command.redirections {
            inside(&redirection.span);
            word(&redirection.target);
        }
        match &command.stdin {
            Stdin::Pipe(from) => assert!(*from != at && *from < line.commands.len()),
            Stdin::Text(text) => word(text),
            Stdin::Inherited | Stdin::Unknown => {}
        }
    }
}
