//! Every row of every table: understood, listed, right in its examples, and needed by one of them.

use super::splitter::split;
use super::{reading, verdict};
use crate::programs::files::FILES;
use crate::programs::read;
use crate::programs::table::{Example, Table, examples, tables};
use crate::programs::used::Used;

/// One program of a file, with its line numbers kept.
struct Block<'f> {
    lines: Vec<(usize, &'f str)>,
}

/// The file cut at each `program`.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().starts_with("program ") {
            blocks.push(Block { lines: Vec::new() });
        }
        if let Some(block) = blocks.last_mut() {
            block.lines.push((number + 1, line));
        }
    }
    blocks
}

fn read_by(tables: &[Table], command: &str) -> Used {
    let words = split(command);
    let name = words.first().and_then(|word| word.literal()).unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    match tables.iter().find(|table| table.names.iter().any(|known| known == name)) {
        Some(table) => read::read(table, name.to_owned(), &words),
        None => crate::programs::without_table(name, &words),
    }
}

#[test]
fn every_row_is_understood() {
    let faults: Vec<String> = FILES
        .iter()
        .flat_map(|file| {
            let tables = tables(file.text).into_iter();
            tables.flat_map(move |table| {
                let name = table.names.first().cloned().unwrap_or_default();
                table
                    .faults
                    .into_iter()
                    .map(move |(line, fault)| format!("{}:{line}: {name}: {fault}", file.name))
            })
        })
        .collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn list_of_table_files_matches_the_folder() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/programs/tables");
    let mut there: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of tables") {
        there.push(entry.expect("an entry").file_name().to_string_lossy().into_owned());
    }
    there.sort();
    let listed: Vec<&str> = FILES.iter().map(|file| file.name).collect();
    assert_eq!(listed, there, "the list in `files.rs`");
    let mut wrong = String::new();
    let mut seen: Vec<&str> = Vec::new();
    for file in &FILES {
        let tables = tables(file.text);
        let names: Vec<&str> =
            tables.iter().flat_map(|table| table.names.iter().map(String::as_str)).collect();
        if names != file.programs {
            wrong.push_str(&format!("\"{}\": {names:?}\n", file.name));
        }
        for name in file.programs {
            if seen.contains(name) {
                wrong.push_str(&format!("`{name}` of {} stands twice\n", file.name));
            }
            seen.push(name);
        }
    }
    assert!(wrong.is_empty(), "the list in `files.rs` should say\n{wrong}");
}

#[test]
fn every_example_is_read_as_it_says() {
    let mut wrong: Vec<String> = Vec::new();
    for file in &FILES {
        let tables = tables(file.text);
        for Example { line, verdict: said, command } in examples(file.text) {
            let used = read_by(&tables, &command);
            if verdict(&used) != said {
                wrong.push(format!("{}:{line}: {said:?}: {command}\n    {}", file.name, reading(&used)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} examples\n{}", wrong.len(), wrong.join("\n"));
}

// invariant: 7
#[test]
fn every_row_is_needed_by_an_example() {
    let mut idle: Vec<String> = Vec::new();
    for file in &FILES {
        for block in blocks(file.text) {
            let text = |without: usize| -> String {
                let lines = block.lines.iter();
                lines.filter(|(number, _)| *number != without).map(|(_, line)| format!("{line}\n")).collect()
            };
            let whole = text(0);
            let examples = examples(&whole);
            let before = readings(&tables(&whole), &examples);
            for (number, line) in &block.lines {
                let row = line.trim();
                if row.is_empty() || row.starts_with('#') || row.starts_with("example ") {
                    continue;
                }
                if row.starts_with("program ") {
                    continue;
                }
                // The examples of a section follow its rows: look at those first.
                let (line, first) = (*number, block.lines.first().map_or(0, |(line, _)| *line));
                let after =
                    examples.iter().zip(&before).skip_while(|(example, _)| example.line + first <= line);
                let changed = tables(&text(line));
                let differs = |(example, reading): (&Example, &String)| {
                    super::reading(&read_by(&changed, &example.command)) != *reading
                };
                if !after.chain(examples.iter().zip(&before)).any(differs) {
                    idle.push(format!("{}:{number}: {row}", file.name));
                }
            }
        }
    }
    assert!(idle.is_empty(), "{} rows that nothing needs\n{}", idle.len(), idle.join("\n"));
}

fn readings(tables: &[Table], examples: &[Example]) -> Vec<String> {
    examples.iter().map(|example| reading(&read_by(tables, &example.command))).collect()
}

#[test]
fn examples_keep_their_reading() {
    for file in &FILES {
        let tables = tables(file.text);
        let lines: Vec<String> = examples(file.text)
            .iter()
            .map(|example| {
                format!("{}\n    {}", example.command, reading(&read_by(&tables, &example.command)))
            })
            .collect();
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "readings", omit_expression => true }, {
            insta::assert_snapshot!(file.name.trim_end_matches(".txt"), lines.join("\n"));
        });
    }
}
