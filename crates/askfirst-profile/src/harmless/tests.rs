//! Tests which git settings start no program.

use super::*;

#[test]
fn settings_written_by_git_itself_are_harmless() {
    assert!(settings_are_harmless("[core]\n\tbare = false\n# x\n[remote \"origin\"]\n\turl = https://x/y\n"));
    assert!(settings_are_harmless(""));
}

#[test]
fn settings_that_start_programs_are_not_harmless() {
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
