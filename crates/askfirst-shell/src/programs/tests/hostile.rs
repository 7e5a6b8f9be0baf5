//! Words with unknown parts everywhere, and properties that hold for every table and any words.

use proptest::prelude::*;

use super::{asks, of, reading, reads, verdict};
use crate::line::tree::{Piece, Unknown, Word};
use crate::programs::files::FILES;
use crate::programs::table::Verdict;
use crate::programs::used;
use crate::programs::used::{Class, Known, Lifts};
use crate::programs::words::{may_leave, shown};

#[test]
fn doubt_about_an_unknown_program_is_lifted_by_nothing() {
    for command in ["$X a", "\"$X\" a", "'' a", "a$X b", "*", "~ x"] {
        let used = of(command);
        assert!(
            used.doubts.iter().any(|doubt| doubt.lifts == Lifts::Nothing),
            "{command}: {}",
            reading(&used)
        );
    }
    assert_eq!(verdict(&used(&[])), Verdict::Asks);
}

#[test]
fn word_that_may_become_an_option_needs_approval() {
    asks("sed -n p \"$X\"");
    asks("sed -n p $X");
    asks("sed -n p *");
    reads("sed -n p -- \"$X\"");
    reads("sed -n p ./*");
    reads("sed -n p ~/x*");
    asks("sed -n p a$X");
    reads("echo $X \"$Y\" *");
}

#[test]
fn options_of_which_the_name_is_not_known_are_lifted_by_nothing() {
    for command in ["sed -$X p a", "sed --$X p a", "sed -n\"$X\" p a", "sed --in-pl\"$X\" p a", "sed -* p a"]
    {
        let used = of(command);
        assert!(
            used.doubts.iter().any(|doubt| doubt.lifts == Lifts::Nothing),
            "{command}: {}",
            reading(&used)
        );
    }
}

#[test]
fn value_that_may_be_split_is_asked_about() {
    asks("xargs -n $X ls");
    asks("xargs -n * ls");
    asks("xargs -n$X ls");
    reads("xargs -n \"$X\" ls");
    reads("xargs --max-args=\"$X\" ls");
}

#[test]
fn programs_without_a_table_have_their_options_asked_about() {
    let used = of("frobnicate run --force x --out=y -- -z");
    assert_eq!(used.known, Known::Nothing);
    assert_eq!(used.class, Class::Runs);
    let names: Vec<&str> = used.doubts.iter().flat_map(|doubt| &doubt.names).map(String::as_str).collect();
    assert_eq!(names, ["--force", "--out"]);
    assert!(of("frobnicate run x").doubts.is_empty());
    for command in
        ["frobnicate $X", "frobnicate \"$X\"", "frobnicate *", "frobnicate --a$X", "frobnicate a$X"]
    {
        let used = of(command);
        assert!(
            used.doubts.iter().any(|doubt| doubt.lifts == Lifts::Nothing),
            "{command}: {}",
            reading(&used)
        );
    }
}

#[test]
fn program_in_another_folder_is_not_that_of_the_table() {
    assert_eq!(of("/bin/echo x").class, Class::Reads);
    let used = of("./echo x");
    assert_eq!(used.class, Class::Runs);
    assert!(reading(&used).contains("file `./echo`"));
    assert_eq!(of("/usr/bin/../../tmp/echo x").class, Class::Runs);
    assert_eq!(of("//bin/echo x").class, Class::Runs);
}

#[test]
fn paths_that_climb_are_told_from_ranges_of_revisions() {
    let word = |text: &str| Word::text(text, 0..0);
    for path in ["..", "../x", "a/../..", "/x", "a/.."] {
        assert!(may_leave(&word(path)), "{path}");
    }
    for path in ["main..HEAD", "a...b", "x", "a/b..c", ""] {
        assert!(!may_leave(&word(path)), "{path}");
    }
    let dots = Word::new(0..0, vec![Piece::Text(".".to_owned()), Piece::Glob("*".to_owned())]);
    assert!(may_leave(&dots));
}

fn program() -> impl Strategy<Value = String> {
    let names: Vec<&str> = FILES.iter().flat_map(|file| file.programs.iter().copied()).collect();
    prop::sample::select(names).prop_map(str::to_owned)
}

/// Pieces of words that matter somewhere.
fn piece() -> impl Strategy<Value = Piece> {
    let texts = vec![
        "-",
        "--",
        "-x",
        "-n",
        "-f",
        "--f",
        "--force",
        "=",
        "x=y",
        "-o",
        "push",
        "status",
        "run",
        "a",
        "/",
        "..",
        "{}",
        ";",
        "+",
        "!",
        "(",
        "-exec",
        "-S",
        "-c",
        "-e",
        "-i",
        "s/a/b/w x",
        "{print}",
        "é",
        "\0",
        "'",
        "1",
        "-5",
        "sh",
        "]",
        "@",
        ":x",
    ];
    prop_oneof![
        4 => prop::sample::select(texts).prop_map(|text| Piece::Text(text.to_owned())),
        1 => any::<String>().prop_map(Piece::Text),
        1 => Just(Piece::Glob("*".to_owned())),
        1 => Just(Piece::Home),
        1 => any::<bool>().prop_map(|splits| {
            Piece::Unknown(Unknown { text: "$X".to_owned(), splits, output_of: None, ..Unknown::default() })
        }),
    ]
}

fn word() -> impl Strategy<Value = Word> {
    prop::collection::vec(piece(), 0..3).prop_map(|pieces| Word::new(0..0, pieces))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_words_make_it_panic(name in program(), words in prop::collection::vec(word(), 0..8)) {
        let mut all = vec![Word::text(name, 0..0)];
        all.extend(words);
        let used = used(&all);
        for operand in &used.operands {
            prop_assert!(operand.word < all.len());
        }
        for doubt in &used.doubts {
            prop_assert!(doubt.words.end <= all.len());
        }
    }

    #[test]
    fn unknown_option_at_the_end_never_loosens_the_verdict(
        name in program(),
        words in prop::collection::vec(word(), 0..6),
    ) {
        let mut all = vec![Word::text(name, 0..0)];
        all.extend(words);
        let before = used(&all);
        all.push(Word::text("--no-such-option-anywhere", 0..0));
        let after = used(&all);
        let nothing = |used: &crate::programs::used::Used| {
            used.doubts.iter().filter(|doubt| doubt.lifts == Lifts::Nothing).count()
        };
        // Where it is read as an option: it may also be a value that was missing, or an operand like any other.
        let given = |name: &String| name == "--no-such-option-anywhere";
        if nothing(&before) > 0 && after.options.iter().any(|option| option.names.iter().any(given)) {
            let text: Vec<String> = all.iter().map(shown).collect();
            prop_assert!(nothing(&after) > 0, "{text:?}");
        }
    }
}
