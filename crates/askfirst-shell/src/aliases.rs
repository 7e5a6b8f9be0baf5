//! Other ways to write the same command, for denials: `git-push` is `git push`, `docker ps` is `docker container ls`,
//! `python3 -m pip` is `pip`. Nothing here grants.

mod docker;
mod own;
mod packages;
mod requests;
mod spelled;
mod twins;
mod work;

use super::line::tree::{Piece, Word};
use super::match_deny::modes;
use super::programs;
use super::programs::used::Used;

/// So many ways to write a command are looked at.
pub(super) const MOST: usize = 512;

/// So often another way is looked for to write what was found: `yarn workspace a deploy` is `yarn deploy`, and that is
/// `npm run deploy`.
const ROUNDS: usize = 3;

/// Programs whose sub-commands are programs of their own: `git-push`.
const HYPHENED: [&str; 4] = ["git", "cargo", "docker", "kubectl"];

/// Programs that are installed with a `g` before their names too.
const CORE: [&str; 26] = [
    "base64", "cat", "chgrp", "chmod", "chown", "cp", "cut", "dd", "env", "head", "install", "kill", "ln",
    "mkdir", "mv", "nohup", "rm", "rmdir", "shred", "sort", "split", "tail", "tee", "touch", "truncate",
    "unlink",
];

/// The same command in other words.
pub(super) fn others(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = near(words, used);
    let mut from = 0;
    for _ in 1..ROUNDS {
        let upto = found.len();
        for at in from..upto {
            let further = found.get(at).map(|other| near(other, &programs::used(other))).unwrap_or_default();
            for other in further {
                if found.len() < MOST
                    && !same(words, &other)
                    && !found.iter().any(|known| same(known, &other))
                {
                    found.push(other);
                }
            }
        }
        from = upto;
    }
    found
}

/// The same command in other words, each one step away.
fn near(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = twins::others(words, used);
    let name = used.program.as_str();
    // On some disks a name in capitals is the same file; `mkfs.ext4` is `mkfs`.
    let lower = name.to_lowercase();
    let head = name.split_once('.').map(|(head, _)| head).filter(|head| *head == "mkfs");
    for other in [(lower != name).then_some(lower.as_str()), head].into_iter().flatten() {
        found.push(made(words, &[other], 1));
    }
    let own = name.strip_prefix('g').filter(|own| CORE.contains(own));
    found.extend(own.map(|own| made(words, &[own], 1)));
    for program in HYPHENED {
        let sub = name.strip_prefix(program).and_then(|rest| rest.strip_prefix('-'));
        if let Some(sub) = sub.filter(|sub| !sub.is_empty()) {
            found.push(made(words, &[program, sub], 1));
        }
    }
    found.extend(own::others(words, used));
    found.extend(packages::others(words, used));
    match name {
        "docker" | "podman" | "nerdctl" => found.extend(docker::others(words, used)),
        "git" => found.extend(work::git(words, used)),
        "cargo" => found.extend(work::cargo(words, used)),
        "ssh" => found.extend(sent_away(words, used)),
        "kubectl" | "oc" => found.extend(spelled::kinds(words, used)),
        "kill" | "pkill" | "killall" => found.extend(spelled::signals(words, used)),
        "systemctl" | "service" | "rc-service" | "invoke-rc.d" => {
            found.extend(spelled::services(words, used))
        }
        "rm" if words.iter().any(|word| word.literal().is_some_and(never_asks)) => {
            let plain = words.iter().filter(|word| !word.literal().is_some_and(never_asks)).cloned();
            let mut other: Vec<Word> = plain.collect();
            other.insert(1.min(other.len()), Word::text("-f", 0..0));
            found.push(other);
        }
        "grep" => found.extend(spelled::greps(words, used)),
        "curl" | "wget" | "wget2" => found.extend(requests::others(words, used)),
        "chmod" => {
            // In two parts it is not looked for by its letters: each mode that is denied is held against it.
            let at = used.operands.first().map(|operand| operand.word);
            let mode = at.and_then(|at| Some((at, in_two(words.get(at)?)?)));
            found.extend(mode.map(|(at, mode)| replaced(words, at, mode)));
        }
        "install" | "mkdir" => {
            let mode = used.options.iter().find(|given| given.names.iter().any(|name| name == "-m"));
            let mode = mode.and_then(|given| given.value.as_ref()?.literal());
            // A folder is always made so that it can be entered.
            let mode = mode.filter(|mode| name == "install" || modes::opens(mode));
            let file = used.operands.last().map_or(words.len(), |operand| operand.word);
            found.extend(mode.map(|mode| made(words, &["chmod", mode], file)));
        }
        _ => {}
    }
    // `python3 -mpip` in one word.
    let module =
        |word: &Word| word.literal()?.strip_prefix("-m").filter(|name| !name.is_empty()).map(str::to_owned);
    let glued = words.iter().enumerate().skip(1).find_map(|(at, word)| Some((at, module(word)?)));
    if let Some((at, module)) = glued.filter(|_| name.starts_with("py")) {
        found.push(made(words, &[&module], at + 1));
    }
    // A tool that is started by its name: `python3 -m pip`, `npx eslint`, `uv run pytest`.
    let tools = used.subs.iter().filter(|sub| is_starter(name) && programs::table_of(&sub.name).is_some());
    found.extend(tools.filter_map(|tool| words.get(tool.word..)).map(<[Word]>::to_vec));
    found
}

/// These words, and then those of a command from one on.
fn made(words: &[Word], head: &[&str], from: usize) -> Vec<Word> {
    let span = words.first().map_or(0..0, |first| first.span.clone());
    let head = head.iter().map(|text| Word::text(*text, span.clone()));
    head.chain(words.iter().skip(from).cloned()).collect()
}

/// The words with another one in a place.
fn replaced(words: &[Word], at: usize, word: Word) -> Vec<Word> {
    let mut words = words.to_vec();
    if let Some(old) = words.get_mut(at) {
        *old = word;
    }
    words
}

/// A plain word in two parts, so that it is read like one that is not known by its letters.
fn in_two(word: &Word) -> Option<Word> {
    let text = word.literal()?;
    Some(Word::new(word.span.clone(), vec![Piece::Text(text.to_owned()), Piece::Text(String::new())]))
}

fn same(one: &[Word], other: &[Word]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.pieces == other.pieces)
}

/// Whether an option is given, by any of its names.
fn has(used: &Used, option: &str) -> bool {
    used.options.iter().any(|given| given.names.iter().any(|name| name == option))
}

/// Where words stand that are neither options nor their values.
fn places(used: &Used) -> Vec<usize> {
    let operands = used.operands.iter().map(|operand| operand.word);
    let mut places: Vec<usize> = used.subs.iter().map(|sub| sub.word).chain(operands).collect();
    places.sort_unstable();
    places
}

/// What `ssh` has the other machine run: its words, and the commands that stand in one of them.
fn sent_away(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let sent = used.operands.get(1).and_then(|operand| words.get(operand.word..)).unwrap_or_default();
    let text = sent.iter().filter_map(Word::literal).collect::<Vec<_>>().join(" ");
    let commands = text.split([';', '&', '|', '\n', '(', ')', '`']);
    let plain = |word: &str| Word::text(word.trim_matches(['"', '\'', '$', '{', '}']), 0..0);
    let commands = commands.map(|command| command.split_whitespace().map(plain).collect::<Vec<_>>());
    commands.filter(|command| !command.is_empty()).collect()
}

/// Programs that start others which the project has.
fn is_starter(name: &str) -> bool {
    let version = |c: char| c.is_ascii_digit() || c == '.';
    matches!(
        name.trim_end_matches(version),
        "python"
            | "py"
            | "pypy"
            | "npx"
            | "bunx"
            | "pnpx"
            | "npm"
            | "pnpm"
            | "yarn"
            | "bun"
            | "uv"
            | "uvx"
            | "poetry"
            | "pipenv"
            | "pipx"
            | "hatch"
            | "pdm"
            | "rye"
            | "bundle"
            | "mise"
            | "nix"
    )
}

/// `--interactive=never`, in all its spellings.
fn never_asks(text: &str) -> bool {
    let value = text.strip_prefix("--i").and_then(|rest| rest.split_once('='));
    value.is_some_and(|(_, value)| matches!(value, "never" | "no" | "none"))
}
