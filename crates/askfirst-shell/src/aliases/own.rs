//! A program by the file that it is made of: `node …/npm-cli.js publish` is `npm publish`.

use crate::line::tree::Word;
use crate::programs::used::{Role, Used};

/// Endings of files that are run.
const SUFFIXES: [&str; 9] = [".js", ".cjs", ".mjs", ".pyz", ".phar", ".py", ".rb", ".exe", ".pex"];

/// The folders that hold other people's programs.
const HOLDERS: [&str; 5] = ["node_modules/", ".yarn/", "site-packages/", "dist-packages/", "/lib/"];

/// The command as the program would be called by its name, and by its file alone.
pub(super) fn others(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let files = used.operands.iter().filter(|operand| operand.role == Role::File).map(|operand| operand.word);
    for at in files.take(1).chain([0]) {
        let Some(file) = words.get(at).and_then(Word::literal) else { continue };
        if at > 0 {
            found.extend(words.get(at..).map(<[Word]>::to_vec));
        }
        found.extend(names(file).iter().map(|name| super::made(words, &[name], at + 1)));
    }
    found
}

/// The programs that a file may be.
fn names(file: &str) -> Vec<&str> {
    let (folder, base) = file.rsplit_once('/').unwrap_or(("", file));
    let Some(stem) = SUFFIXES.iter().find_map(|suffix| base.strip_suffix(suffix)) else { return Vec::new() };
    let packed = [".cjs", ".pyz", ".phar", ".pex", ".exe"].iter().any(|suffix| base.ends_with(suffix));
    let held = packed || HOLDERS.iter().any(|holder| file.contains(holder)) || stem.ends_with("-cli");
    let mut found = Vec::new();
    if base == "__main__.py" || base == "__pip-runner__.py" {
        found.extend(folder.rsplit('/').next());
    } else if held {
        let stem = stem.strip_suffix("-cli").unwrap_or(stem);
        // `yarn-4.0.0`
        let version = stem.match_indices('-').find(|(at, _)| {
            stem.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        found.push(version.and_then(|(at, _)| stem.get(..at)).unwrap_or(stem));
    }
    if let Some((_, package)) = file.rsplit_once("node_modules/") {
        let mut parts = package.split('/');
        let first = parts.next().unwrap_or_default();
        found.push(if first.starts_with('@') { parts.next().unwrap_or_default() } else { first });
    }
    found.retain(|name| !name.is_empty());
    found
}
