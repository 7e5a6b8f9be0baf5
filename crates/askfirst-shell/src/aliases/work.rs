//! What is done with a repository and with a crate, in other words.

use super::{has, made};
use crate::line::tree::Word;
use crate::programs::used::Used;

/// `git push origin +main` is `git push --force`, `git branch -D` is `git branch -d -f`.
pub(super) fn git(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let Some(sub) = used.subs.first() else { return found };
    let from = sub.word + 1;
    match sub.name.as_str() {
        "push" => {
            let begins = |sign: char| {
                words.iter().any(|word| word.prefix().starts_with(sign) && word.literal() != Some(":"))
            };
            found.extend(begins('+').then(|| made(words, &["git", "push", "--force"], from)));
            found.extend(begins(':').then(|| made(words, &["git", "push", "--delete"], from)));
        }
        "branch" => {
            for (small, large) in [("-d", "-D"), ("-m", "-M"), ("-c", "-C")] {
                if has(used, small) && has(used, "-f") {
                    found.push(made(words, &["git", "branch", large], from));
                }
                if has(used, large) {
                    found.push(made(words, &["git", "branch", small, "-f"], from));
                }
            }
        }
        _ => {}
    }
    found
}

/// `cargo watch -x publish` is `cargo publish`, `--profile release` is `--release`.
pub(super) fn cargo(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let text = |at: usize| words.get(at).and_then(Word::literal);
    let places = super::places(used);
    let at = places.first().copied().unwrap_or(1);
    let value = |option: &str| {
        let given = used.options.iter().filter(|given| given.names.iter().any(|name| name == option));
        given.filter_map(|given| given.value.as_ref()?.literal()).collect::<Vec<_>>()
    };
    match text(at) {
        Some("watch") => {
            for line in value("-x") {
                let line = line.split_whitespace().map(|word| Word::text(word, 0..0));
                found.push(made(&[], &["cargo"], 0).into_iter().chain(line).collect());
            }
        }
        // The first word that is no option may be a value of one: each is looked at.
        Some("hack" | "auditable" | "xwin" | "ndk" | "careful" | "so" | "lambda" | "apk") => {
            let subs =
                (at + 1..words.len()).filter(|at| text(*at).is_some_and(|text| !text.starts_with('-')));
            found.extend(subs.map(|at| made(words, &["cargo"], at)));
        }
        Some("zigbuild") => found.push(made(words, &["cargo", "build"], at + 1)),
        Some(sub) => {
            if value("--profile").contains(&"release") {
                found.push(made(words, &["cargo", sub, "--release"], at + 1));
            }
            if has(used, "--release") {
                found.push(made(words, &["cargo", sub, "--profile", "release"], at + 1));
            }
        }
        None => {}
    }
    found
}
