//! Packages and the scripts of a project: `pnpm i x` is `pnpm add x`, `yarn deploy` is `npm run deploy`.

use crate::line::tree::Word;
use crate::programs;
use crate::programs::used::Used;

/// Programs that run a script of the project by its name.
const RUNNERS: [&str; 4] = ["npm", "yarn", "pnpm", "bun"];

/// Scripts that have a sub-command of their own.
const STANDING: [&str; 4] = ["test", "start", "stop", "restart"];

/// Sub-commands of the runners, which are no scripts.
const SUBS: &[&str] = &[
    "add",
    "a",
    "audit",
    "bin",
    "cache",
    "ci",
    "config",
    "create",
    "dedupe",
    "dlx",
    "doctor",
    "exec",
    "explain",
    "fetch",
    "global",
    "help",
    "i",
    "import",
    "info",
    "init",
    "install",
    "licenses",
    "link",
    "list",
    "ll",
    "login",
    "logout",
    "ls",
    "node",
    "npm",
    "outdated",
    "owner",
    "pack",
    "patch",
    "pm",
    "plugin",
    "prune",
    "publish",
    "rebuild",
    "remove",
    "rm",
    "root",
    "set",
    "setup",
    "store",
    "un",
    "uninstall",
    "unlink",
    "unplug",
    "up",
    "update",
    "upgrade",
    "version",
    "versions",
    "view",
    "why",
    "workspace",
    "workspaces",
    "x",
];

/// The same command of a program for packages in other words.
pub(super) fn others(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let name = used.program.as_str();
    let places = super::places(used);
    let text = |at: usize| words.get(at).and_then(Word::literal);
    let mut found = Vec::new();
    match name {
        "npm-run-all" | "npm-run-all2" | "run-s" | "run-p" => {
            let scripts =
                words.iter().skip(1).filter_map(Word::literal).filter(|text| !text.starts_with('-'));
            found.extend(scripts.map(|script| super::made(&[], &["npm", "run", script], 0)));
        }
        "node" | "nodejs" => {
            let run = (1..words.len()).find(|at| text(*at).is_some_and(|text| text.starts_with("--run")));
            let script = run.and_then(|at| match text(at)?.strip_prefix("--run=") {
                Some(script) => Some(super::made(words, &["npm", "run", script], at + 1)),
                None => Some(super::made(words, &["npm", "run"], at + 1)),
            });
            found.extend(script);
        }
        "turbo" | "lerna" if places.first().and_then(|at| text(*at)) == Some("run") => {
            found.extend(places.get(1).map(|at| super::made(words, &["npm", "run"], *at)));
        }
        "npm" | "yarn" | "pnpm" | "bun" => {
            let at = places.first().copied().unwrap_or(1);
            found.extend(nested(words, name, at));
            found.extend(added(words, used, at));
            found.extend(script(words, name, at));
        }
        _ => {}
    }
    found
}

/// `yarn workspace a add x`, `yarn global add x`, `yarn workspaces foreach run x`: what is done there.
fn nested(words: &[Word], program: &str, at: usize) -> Option<Vec<Word>> {
    let text = |at: usize| words.get(at).and_then(Word::literal);
    let plain =
        |from: usize| (from..words.len()).find(|at| text(*at).is_some_and(|text| !text.starts_with('-')));
    let from = match (program, text(at)?) {
        ("yarn", "global") => at + 1,
        ("yarn", "workspace") => at + 2,
        ("yarn", "workspaces") => plain(at + 1)? + 1,
        _ => return None,
    };
    Some(super::made(words, &[program], plain(from)?))
}

/// `pnpm install x` adds a package as `pnpm add x` does.
fn added(words: &[Word], used: &Used, at: usize) -> Option<Vec<Word>> {
    let name = used.program.as_str();
    let packages = words.iter().skip(at + 1).any(|word| !word.prefix().starts_with('-'));
    match (name, words.get(at).and_then(Word::literal)?) {
        ("pnpm" | "bun", "install" | "i") if packages => Some(super::made(words, &[name, "add"], at + 1)),
        ("pnpm" | "bun", "add" | "a") => Some(super::made(words, &[name, "install"], at + 1)),
        _ => None,
    }
}

/// A script of the project by its other names, also with the other programs that run it.
fn script(words: &[Word], program: &str, at: usize) -> Vec<Vec<Word>> {
    let text = |at: usize| words.get(at).and_then(Word::literal);
    let mut found = Vec::new();
    let Some(first) = text(at) else { return found };
    let runs = matches!(first, "run" | "run-script" | "rum" | "urn");
    let flags = (at + 1..words.len()).take_while(|at| text(*at).is_some_and(|text| text.starts_with('-')));
    let place = if runs { at + 1 + flags.count() } else { at };
    let name = match text(place) {
        Some("t" | "tst") if !runs => "test",
        Some(name) => name,
        None => return found,
    };
    let stands = STANDING.contains(&name);
    let tool = !stands && programs::table_of(name).is_some();
    if runs && !tool && (name == "publish" || !SUBS.contains(&name)) {
        found.push(super::made(words, &[program, name], place + 1));
    }
    // Of `npm` only some scripts go without `run`; a tool that the project has is no script.
    let is_script = runs || stands || (program != "npm" && !SUBS.contains(&name) && !name.starts_with('-'));
    if is_script {
        let runners = RUNNERS.iter().filter(|other| runs || !tool || **other == program);
        found.extend(runners.map(|other| super::made(words, &[other, "run", name], place + 1)));
    }
    if stands {
        found.extend(RUNNERS.map(|other| super::made(words, &[other, name], place + 1)));
    }
    found
}
