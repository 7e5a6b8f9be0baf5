//! Listers that print paths alone, and those that can be told to print more.

use super::is_plain;
use crate::line;
use crate::programs;
use crate::world::Empty;

fn plain(text: &str) -> bool {
    let line = line::read(text);
    let words = &line.commands.first().expect("a command").words;
    is_plain(words, &programs::used(words), &[], &Empty)
}

#[test]
fn commands_that_only_list_files_are_plain() {
    for text in [
        "git ls-files",
        "git ls-files -m --exclude-standard src",
        "git diff --name-only HEAD~1",
        "git diff-tree --no-commit-id --name-only -r HEAD",
        "grep -rl 'two words' src --include='*.rs'",
        "git grep -l 'two words'",
        "git grep -il needle -- src",
        "git grep -l -e needle -- src",
        "rg -l foo src",
        "rg --files -g '*.rs'",
        "find . -name '*.rs' -type f -not -path './target/*'",
        "fd -e rs",
        "ls -1 src",
    ] {
        assert!(plain(text), "{text}");
    }
}

#[test]
fn commands_that_can_print_any_text_are_not_plain() {
    for text in [
        "git ls-files --format=--pre=x",
        "git diff --name-only --line-prefix=x",
        "git diff-tree --name-only --format=/etc/passwd HEAD",
        "git rev-parse --show-toplevel x",
        "grep -l . --label=/etc/passwd -",
        "grep -l x ' /etc/passwd '",
        "grep -l -e x ' /etc/passwd '",
        "git grep -n needle",
        "git grep needle",
        "git grep -l needle HEAD",
        "git grep -l -e needle HEAD",
        "git ls-tree -l HEAD",
        "git diff --name-only HEAD~2 HEAD~1",
        "git diff --name-only main...HEAD",
        "fd --path-separator='/etc/passwd '",
        "find . -maxdepth 0 -exec echo x ;",
        "find . -printf x",
        "find ' /etc/passwd '",
        "ls ' /etc/passwd '",
        "rg -l '( --pre=x '",
    ] {
        assert!(!plain(text), "{text}");
    }
}
