//! What holds for every text: no panic, every place inside, and the fast way agrees with the slow one.

use proptest::prelude::*;

use super::super::shuck::Shuck;
use super::super::tree::{Line, Shape, Stdin};
use super::super::walk::walk;
use super::super::{confirm, read};
use super::scripts::Maker;

/// Parts that matter to a shell, to be put together at random.
const PARTS: [&str; 48] = [
    "a",
    "b c",
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "$(",
    "${x",
    "$((",
    "))",
    "`",
    "'",
    "\"",
    "\\",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<(",
    ">(",
    ">",
    "<",
    "2>&1",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "case x in ",
    "esac",
    "[[ ",
    " ]]",
    "((",
    "$'",
    "x=",
    "cd ",
    "*",
    "{a,b}",
    "#",
    "é",
    "\u{200b}",
];

fn inside(text: &str, line: &Line) {
    for gap in &line.gaps {
        assert!(text.get(gap.span.clone()).is_some() && !gap.why.is_empty());
    }
    for (index, command) in line.commands.iter().enumerate() {
        assert!(text.get(command.span.clone()).is_some());
        for word in command.words.iter().chain(command.assignments.iter().map(|it| &it.value)) {
            assert!(text.get(word.span.clone()).is_some());
        }
        for redirection in &command.redirections {
            assert!(
                text.get(redirection.span.clone()).is_some()
                    && text.get(redirection.target.span.clone()).is_some()
            );
        }
        if let Stdin::Pipe(from) = command.stdin {
            assert!(from != index && from < line.commands.len());
        }
    }
}

const WORDS: [&str; 14] = [
    "cd src",
    "cd a && b",
    "cd -P x",
    "ls 2>/dev/null",
    "wc >out 2>&1",
    "x 2> 'a b' y >>c",
    "ls",
    "git log",
    "'a b' c",
    "\\rm x",
    "",
    "echo a=b",
    "x -n 'q; r' \"s|t\"",
    "wc",
];
const JOINTS: [&str; 12] = ["|", " | ", "&&", " && ", "||", ";", " ; ", " ", "\n", "&", "|&", ";;"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        let line = read(&text);
        inside(&text, &line);
        confirm(&text, &line);
    }

    #[test]
    fn any_order_of_shell_parts_is_read_without_panic(parts in proptest::collection::vec(0..PARTS.len(), 0..40)) {
        let text: String = parts.iter().map(|at| PARTS[*at]).collect();
        let line = read(&text);
        inside(&text, &line);
        confirm(&text, &line);
    }

    #[test]
    fn plain_lines_are_the_same_to_the_parser(text in "[a-z./=~#!:@%+^ 12>|&;'\"\\\\\n-]{1,24}") {
        let line = read(&text);
        if line.shape == Shape::Plain {
            let (commands, gaps) = walk(&text, &Shuck);
            prop_assert!(commands == line.commands || !gaps.is_empty(), "{:?}: {:?} {:?}", text, line, commands);
        }
    }

    #[test]
    fn plain_commands_are_joined_as_the_parser_joins_them(
        parts in proptest::collection::vec((0..WORDS.len(), 0..JOINTS.len()), 1..10)
    ) {
        let text: String = parts.iter().map(|(word, joint)| format!("{}{}", WORDS[*word], JOINTS[*joint])).collect();
        let line = read(&text);
        let (commands, gaps) = walk(&text, &Shuck);
        if line.shape == Shape::Plain {
            prop_assert!(commands == line.commands || !gaps.is_empty(), "{:?}: {:?} {:?}", text, line, commands);
        }
    }

    #[test]
    fn commands_stand_in_the_order_of_the_text(seed in any::<u64>()) {
        let text = Maker::new(seed).script();
        let line = read(&text);
        inside(&text, &line);
        // Loops over known values come back to their start.
        if !text.contains("for ") {
            let tops: Vec<_> = line.commands.iter().filter(|it| it.reached.is_empty()).map(|it| it.span.start).collect();
            prop_assert!(tops.is_sorted(), "{:?} in {}", tops, text);
        }
    }

    #[test]
    fn command_after_a_clear_script_is_found(seed in any::<u64>()) {
        let text = format!("{}\nlast-one x", Maker::new(seed).script());
        let line = read(&text);
        let found = line.commands.iter().any(|it| it.words.first().and_then(|word| word.literal()) == Some("last-one"));
        prop_assert!(found || !line.gaps.is_empty(), "{}", text);
    }
}
