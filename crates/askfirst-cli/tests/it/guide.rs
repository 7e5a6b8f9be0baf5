//! Runs every console block of the guide and the README, and compares the output.

use std::path::Path;
use std::process::Command;

/// A fenced block: its language, its file name and its text.
struct Block<'a> {
    language: &'a str,
    file: Option<&'a str>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let (language, file) =
                info.split_once(' ').map_or((info, None), |(language, file)| (language, Some(file)));
            found.push(Block { language, file, text: format!("{}\n", text.join("\n")) });
        }
    }
    found
}

/// Returns the commands with their expected output. A line `…` matches any lines, `…` at an end any rest of a line.
fn commands(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command, Vec::new())),
            (None, Some((_, output))) => output.push(line),
            (None, None) => panic!("a console block begins with `$ `: {line}"),
        }
    }
    found
}

fn agrees(wanted: &[&str], printed: &[&str]) -> bool {
    match (wanted.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => (0..=printed.len()).any(|at| agrees(rest, &printed[at..])),
        (Some((wanted, wanted_rest)), Some((printed, printed_rest))) => {
            let same = match wanted.strip_suffix('…') {
                Some(head) => printed.starts_with(head),
                None => wanted == printed,
            };
            same && agrees(wanted_rest, printed_rest)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

#[test]
fn console_blocks_of_the_guide_print_what_they_show() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut pages: Vec<_> =
        std::fs::read_dir(root.join("docs/guide")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.push(root.join("README.md"));
    let bin = Path::new(env!("CARGO_BIN_EXE_askfirst")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(bin.to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let mut ran = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for block in blocks(&text) {
            if let Some(file) = block.file {
                std::fs::write(folder.path().join(file), &block.text).unwrap();
            }
            if block.language != "console" {
                continue;
            }
            for (command, wanted) in commands(&block.text) {
                let output = Command::new("setsid")
                    .args(["--wait", "sh", "-c", command])
                    .current_dir(folder.path())
                    .env("PATH", &path)
                    .env("HOME", folder.path())
                    .env("XDG_STATE_HOME", folder.path().join("state"))
                    .env("XDG_CONFIG_HOME", folder.path().join("config"))
                    .output()
                    .unwrap();
                let printed = String::from_utf8(output.stdout).unwrap();
                let lines: Vec<&str> = printed.lines().collect();
                let complaint = String::from_utf8_lossy(&output.stderr);
                assert!(
                    agrees(&wanted, &lines),
                    "{}: `{command}` printed\n{printed}\nand complained\n{complaint}\ninstead of\n{}",
                    page.display(),
                    wanted.join("\n")
                );
                ran += 1;
            }
        }
    }
    assert!(ran >= 15, "only {ran} commands were run");
}
