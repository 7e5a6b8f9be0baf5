//! Programs that list files: whether what one prints is paths and nothing else. Some can be told to print any text.

use std::path::PathBuf;

use super::line::tree::{Piece, Word};
use super::paths::{self, Repository, word_text};
use super::programs::used::{Given, Operand, Used};
use super::world::World;

/// Options with which nothing but paths is printed, by program.
const PLAIN: &[(&[&str], &[&str])] = &[
    (
        &["git"],
        &[
            "-C",
            "-c",
            "-m",
            "-o",
            "-r",
            "-t",
            "-z",
            "--cached",
            "--diff-filter",
            "--exclude-standard",
            "--merge-base",
            "--modified",
            "--name-only",
            "--no-commit-id",
            "--no-renames",
            "--others",
            "--recurse-submodules",
            "--relative",
            "--staged",
            "--unmerged",
        ],
    ),
    (
        &["grep", "egrep", "fgrep"],
        &[
            "-E",
            "-F",
            "-G",
            "-I",
            "-L",
            "-P",
            "-R",
            "-Z",
            "-e",
            "-i",
            "-l",
            "-r",
            "-s",
            "-v",
            "-w",
            "-x",
            "--exclude",
            "--exclude-dir",
            "--include",
        ],
    ),
    (
        &["rg"],
        &[
            "-0",
            "-F",
            "-L",
            "-S",
            "-T",
            "-U",
            "-e",
            "-g",
            "-i",
            "-l",
            "-t",
            "-u",
            "-v",
            "-w",
            "--files",
            "--glob",
            "--hidden",
            "--iglob",
            "--no-ignore",
            "--sort",
        ],
    ),
    (&["fd", "fdfind"], &["-0", "-E", "-F", "-H", "-I", "-a", "-d", "-e", "-g", "-i", "-s", "-t", "-u"]),
    (&["ls", "dir", "vdir"], &["-1", "-A", "-S", "-a", "-d", "-r", "-t"]),
];
/// The same for `git grep`, whose letters mean other things.
const SEARCHED: [&str; 11] = ["-C", "-E", "-F", "-G", "-I", "-P", "-e", "-i", "-l", "-w", "-z"];
/// The sub-commands of git that list files.
const LISTING: [&str; 4] = ["diff", "diff-tree", "ls-files", "ls-tree"];
/// Words of `find` that print something else.
const PRINTING: [&str; 8] = ["-exec", "-fls", "-fprint", "-files0", "-ls", "-ok", "-printf", "-D"];

/// Whether a program prints paths, and nothing else whatever happens.
pub(super) fn is_plain(words: &[Word], used: &Used, folders: &[PathBuf], world: &dyn World) -> bool {
    if !used.nested.is_empty() || words.iter().any(Word::is_unknown) {
        return false;
    }
    // Names that git prints begin in another folder, or at the top of the repository.
    let below = |sub: &str| used.subs.iter().any(|it| it.name == sub) && !words.iter().any(is_relative);
    let top = |folder: &PathBuf| paths::repository(folder, world) == Repository::At(folder.clone());
    let elsewhere = (below("diff") || below("diff-tree")) && !folders.iter().all(top);
    if used.program == "git" && (!used.folders.is_empty() || elsewhere) {
        return false;
    }
    let program = used.program.as_str();
    // The names that `ls *.md` is given lie in its own folder, which is looked at for such that begin with a dash.
    let own = |word: &Word| matches!(program, "ls" | "dir" | "vdir") && lists_own(word);
    let odd = |operand: &Operand| words.get(operand.word).is_none_or(|word| is_odd(word) && !own(word));
    if program == "find" {
        let prints = |word: &Word| PRINTING.iter().any(|head| word.prefix().starts_with(head));
        return !words.iter().skip(1).any(prints) && !used.operands.iter().any(odd);
    }
    let Some((_, plain)) = PLAIN.iter().find(|(names, _)| names.contains(&program)) else { return false };
    let subs: Vec<&str> = used.subs.iter().map(|sub| sub.name.as_str()).collect();
    let listing = match subs.as_slice() {
        [] => program != "git",
        ["grep"] => used.options.iter().any(|given| given.names.iter().any(|name| name == "-l")),
        // Without this a commit's own text is printed too.
        ["diff-tree"] => words.iter().any(|word| word.literal() == Some("--no-commit-id")),
        [sub] => LISTING.contains(sub),
        [_, _, ..] => false,
    };
    let searched = program == "git" && subs.as_slice() == ["grep"];
    let plain = if searched { &SEARCHED } else { *plain };
    // What stands before `--` may be a revision.
    let dashes = words.iter().position(|word| word.literal() == Some("--"));
    let revision = |it: &Operand| dashes.is_none_or(|dashes| it.word < dashes);
    // Names that only two commits know are on no disk to be looked at.
    let commits = used.operands.iter().filter(|it| revision(it)).filter_map(|it| words.get(it.word));
    let commits: Vec<String> = commits.map(|word| word_text(word).into_owned()).collect();
    let past =
        subs.as_slice() == ["diff"] && (commits.len() > 1 || commits.iter().any(|it| it.contains("..")));
    if program == "git" && past {
        return false;
    }
    let known =
        used.options.iter().all(|given| given.names.iter().any(|name| plain.contains(&name.as_str())));
    // What is looked for may hold blanks where it is never printed.
    let named = |given: &Given| given.names.iter().any(|name| matches!(name.as_str(), "-e" | "-f"));
    let seeks = searched || matches!(program, "grep" | "egrep" | "fgrep");
    let pattern = used.operands.first().filter(|_| seeks && !used.options.iter().any(named));
    // A revision is printed before each name.
    if searched && used.operands.iter().skip(usize::from(pattern.is_some())).any(revision) {
        return false;
    }
    let mut operands =
        used.operands.iter().filter(|it| pattern.is_none_or(|pattern| pattern.word != it.word));
    listing && known && !operands.any(odd)
}

/// Whether names are told apart by NUL, in what a program prints or reads.
pub(super) fn parts_by_nul(words: &[Word], used: &Used) -> bool {
    const NUL: [&str; 7] = ["-0", "-z", "-Z", "--null", "--print0", "--zero", "--null-data"];
    let given = |given: &Given| given.names.iter().any(|name| NUL.contains(&name.as_str()));
    used.options.iter().any(given) || words.iter().any(|word| word.literal() == Some("-print0"))
}

fn is_relative(word: &Word) -> bool {
    word.literal() == Some("--relative")
}

/// `*.md`: a wildcard in the folder itself.
fn lists_own(word: &Word) -> bool {
    let text = word_text(word);
    matches!(word.pieces.first(), Some(Piece::Glob(_)))
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/')
}

/// A word that would not stay one, or be an option, where it is printed.
fn is_odd(word: &Word) -> bool {
    let text = word_text(word);
    let blank = |c: char| c.is_whitespace() || c.is_control();
    text.starts_with('-') || text.contains(blank) || matches!(word.pieces.first(), Some(Piece::Glob(_)))
}

#[cfg(test)]
#[path = "lists/tests.rs"]
mod tests;
