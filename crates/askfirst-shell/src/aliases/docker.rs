//! Containers: what stands alone, below a noun and in `docker compose`.

use crate::line::tree::Word;
use crate::programs::used::Used;

/// Sub-commands of docker that stand alone and below a noun: the short way, then the long one.
const DOCKER: [(&[&str], &[&str]); 38] = [
    (&["attach"], &["container", "attach"]),
    (&["commit"], &["container", "commit"]),
    (&["cp"], &["container", "cp"]),
    (&["create"], &["container", "create"]),
    (&["diff"], &["container", "diff"]),
    (&["exec"], &["container", "exec"]),
    (&["export"], &["container", "export"]),
    (&["kill"], &["container", "kill"]),
    (&["logs"], &["container", "logs"]),
    (&["ps"], &["container", "ls"]),
    (&["ps"], &["container", "ps"]),
    (&["ps"], &["container", "list"]),
    (&["pause"], &["container", "pause"]),
    (&["port"], &["container", "port"]),
    (&["rename"], &["container", "rename"]),
    (&["restart"], &["container", "restart"]),
    (&["rm"], &["container", "rm"]),
    (&["rm"], &["container", "remove"]),
    (&["run"], &["container", "run"]),
    (&["start"], &["container", "start"]),
    (&["stats"], &["container", "stats"]),
    (&["stop"], &["container", "stop"]),
    (&["top"], &["container", "top"]),
    (&["update"], &["container", "update"]),
    (&["wait"], &["container", "wait"]),
    (&["build"], &["image", "build"]),
    (&["build"], &["builder", "build"]),
    (&["build"], &["buildx", "build"]),
    (&["history"], &["image", "history"]),
    (&["images"], &["image", "ls"]),
    (&["images"], &["image", "list"]),
    (&["load"], &["image", "load"]),
    (&["pull"], &["image", "pull"]),
    (&["push"], &["image", "push"]),
    (&["rmi"], &["image", "rm"]),
    (&["rmi"], &["image", "remove"]),
    (&["save"], &["image", "save"]),
    (&["tag"], &["image", "tag"]),
];

/// What `docker compose` does with containers and images as docker itself does.
const COMPOSE: [&str; 11] =
    ["exec", "run", "push", "pull", "build", "rm", "kill", "stop", "restart", "start", "cp"];

/// The same command of docker by its other names.
pub(super) fn others(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    // The noun is the first word that is no option; what stands before it belongs to docker itself.
    let places = super::places(used);
    let text = |at: usize| places.get(at).and_then(|at| words.get(*at)).and_then(Word::literal);
    let given = |given: &[&str]| given.iter().enumerate().all(|(at, word)| text(at) == Some(word));
    let made = |given: usize, meant: &[&str]| {
        let (from, last) = (places.first()?, places.get(given.saturating_sub(1))?);
        let mut other: Vec<Word> = words.get(..*from)?.to_vec();
        other.extend(meant.iter().map(|text| Word::text(*text, 0..0)));
        other.extend(words.iter().skip(last + 1).cloned());
        Some(other)
    };
    let mut found = Vec::new();
    for (short, long) in DOCKER {
        found.extend(given(short).then(|| made(short.len(), long)).flatten());
        found.extend(given(long).then(|| made(long.len(), short)).flatten());
    }
    let composed = COMPOSE.iter().find(|sub| given(&["compose", sub]));
    found.extend(composed.and_then(|sub| made(2, &[sub])));
    found.extend(given(&["buildx", "bake"]).then(|| made(2, &["build"])).flatten());
    found
}
