//! Programs between a command and `xargs` that only leave lines out or turn them around: what comes out went in.

use super::line::tree::{Command, Line, Stdin, Step, Word};
use super::programs::used::Used;

/// The command whose lines come to a pipe's end, behind programs that only leave some of them out or turn them around.
pub(super) fn unfiltered(line: &Line, from: usize) -> Option<&Command> {
    // What is said of failures is no line of it.
    let command = line.commands.get(from).filter(|command| !command.mixes)?;
    match command.stdin {
        Stdin::Pipe(before) if before < from && picks_lines(line, command) => unfiltered(line, before),
        Stdin::Pipe(_) | Stdin::Inherited | Stdin::Text(_) | Stdin::Unknown => Some(command),
    }
}

/// Whether every line that a command prints is one that it reads from its standard input.
fn picks_lines(line: &Line, command: &Command) -> bool {
    let words: Option<Vec<&str>> = command.words.iter().map(Word::literal).collect();
    let Some([program, words @ ..]) = words.as_deref() else { return false };
    let flags = |letters: &'static str| {
        move |word: &&str| {
            let given = word.strip_prefix('-').unwrap_or_default();
            !given.is_empty() && given.chars().all(|c| letters.contains(c))
        }
    };
    let count = |word: &&str| word.trim_start_matches(['-', '+']).bytes().all(|byte| byte.is_ascii_digit());
    let plain = command.redirections.is_empty() && command.assignments.is_empty();
    plain
        && !makes_function(line, program)
        && match *program {
            "head" | "tail" => match words {
                [] => true,
                [one] => one.strip_prefix("-n").or_else(|| one.strip_prefix('-')).is_some_and(|n| count(&n)),
                [option, n] => *option == "-n" && count(n),
                [..] => false,
            },
            "sort" => words.iter().all(flags("urnfV")),
            "uniq" => words.iter().all(flags("ud")),
            "tac" => words.is_empty(),
            "grep" => {
                let (options, patterns): (Vec<&&str>, Vec<&&str>) =
                    words.iter().partition(|word| word.starts_with('-'));
                patterns.len() == 1 && options.into_iter().all(flags("vEFwxi"))
            }
            _ => false,
        }
}

/// The words that a plain text is to `xargs`, where it runs its program once with all of them.
pub(super) fn spelled_out(text: &str, used: &Used) -> Option<Vec<Word>> {
    const OTHERWISE: [&str; 8] = ["-0", "-d", "-n", "-L", "-l", "-I", "-i", "-s"];
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-+=:,@ \n".contains(c);
    let otherwise = |name: &String| OTHERWISE.contains(&name.as_str());
    let once = !used.options.iter().any(|given| given.names.iter().any(otherwise));
    let words: Vec<Word> = text.split_whitespace().map(|word| Word::text(word, 0..0)).collect();
    (used.program == "xargs" && once && words.len() <= 64 && text.chars().all(plain)).then_some(words)
}

/// Whether the line has a function of this name, wherever it is made.
pub(super) fn makes_function(line: &Line, name: &str) -> bool {
    let made = |step: &Step| matches!(step, Step::Function(own) if own == name);
    line.commands.iter().any(|command| command.reached.iter().any(made))
}
