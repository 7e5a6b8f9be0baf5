//! Which settings of a repository start no program.

use super::*;

#[test]
fn what_git_writes_by_itself_is_harmless() {
    assert!(settings_are_harmless("[core]\n\tbare = false\n# x\n[remote \"origin\"]\n\turl = https://x/y\n"));
    assert!(settings_are_harmless(""));
}

#[test]
fn what_starts_programs_or_is_not_understood_is_not() {
    for text in [
        "[core]\n\tfsmonitor = x\n",
        "[core]\n\thooksPath = x\n",
        "[core] sshCommand = x\n",
        "[alias]\n\tx = !sh\n",
        "[include]\n\tpath = x\n",
        "[remote \"origin\"]\n\turl = ext::sh -c x\n",
        "[remote \"origin\"]\n\turl = --upload-pack=x\n",
        "[core]\n\tbare = false \\\n\tfsmonitor = x\n",
        "[core]\n\tbare\n",
        "[user]\n\tname = a\n[core \"x]\"]\n\tpager = sh\n",
    ] {
        assert!(!settings_are_harmless(text), "{text}");
    }
}
