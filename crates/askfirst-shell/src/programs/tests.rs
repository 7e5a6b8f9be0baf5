//! What the tables say, what the engine makes of hostile words, and that nothing in a table is idle.

mod codes;
mod hostile;
mod nested;
mod python;
mod rows;
mod splitter;
mod styles;

use super::table::{Table, Verdict, tables};
use super::used::{Class, Fed, Held, Lifts, Nested, PathUse, Used, Yields};
use super::words::{may_leave, shown};
use super::{read, used};
use splitter::split;

/// What the engine makes of a command line of plain words.
fn of(command: &str) -> Used {
    used(&split(command))
}

/// The same by a table of the test's own.
fn by(table: &str, command: &str) -> Used {
    let tables = tables(table);
    let words = split(command);
    let name = words.first().and_then(|word| word.literal()).unwrap_or_default().to_owned();
    let table: &Table = tables.iter().find(|table| table.names.contains(&name)).expect("a table");
    assert_eq!(table.faults, [], "the test's own table");
    read::read(table, name, &words)
}

/// Whether a path lies outside the workspace of the examples.
fn is_outside(path: &PathUse) -> bool {
    let text = shown(&path.word);
    let inside =
        matches!(text.as_str(), "/repo" | "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr");
    !inside && !text.starts_with("/repo/") && may_leave(&path.word)
}

fn verdict(used: &Used) -> Verdict {
    if !used.doubts.is_empty() || used.class == Class::Asks || used.paths.iter().any(is_outside) {
        Verdict::Asks
    } else if used.class == Class::Reads {
        Verdict::Reads
    } else {
        Verdict::Covered
    }
}

/// What was read, in one line for people.
fn reading(used: &Used) -> String {
    let mut parts = vec![format!("{:?}", used.class).to_lowercase()];
    if used.risk != askfirst::Risk::Low {
        parts.push(format!("risk {:?}", used.risk).to_lowercase());
    }
    if !used.subs.is_empty() {
        let names: Vec<&str> = used.subs.iter().map(|sub| sub.name.as_str()).collect();
        parts.push(format!("sub {}", names.join(" ")));
    }
    for given in &used.options {
        let value = given.value.as_ref().map(|value| format!("={}", shown(value))).unwrap_or_default();
        let effect = format!("{:?}", given.effect).to_lowercase();
        parts.push(format!("{}{value} {effect}", given.names.join(",")));
    }
    for operand in &used.operands {
        parts.push(format!("{}:{:?}", operand.word, operand.role).to_lowercase());
    }
    for path in &used.paths {
        parts.push(format!("{} `{}`", format!("{:?}", path.role).to_lowercase(), shown(&path.word)));
    }
    for nested in &used.nested {
        parts.push(match nested {
            Nested::Words { via, words, assignments, fed } => {
                let words: Vec<String> = words.iter().map(shown).collect();
                let set: Vec<String> =
                    assignments.iter().map(|(name, value)| format!("{name}={} ", shown(value))).collect();
                let fed = if *fed == Fed::FromInput { " <fed>" } else { "" };
                format!("{via} -> {}{}{fed}", set.concat(), words.join(" "))
            }
            Nested::Script { via, text } => format!("{via} -> script `{}`", shown(text)),
            Nested::Stdin { via } => format!("{via} -> standard input"),
        });
    }
    if used.network {
        parts.push("network".to_owned());
    }
    if used.held != Held::Inside {
        parts.push(format!("{:?}", used.held).to_lowercase());
    }
    if used.yields != Yields::Text {
        parts.push(format!("yields {:?}", used.yields).to_lowercase());
    }
    for doubt in &used.doubts {
        let lifts = if doubt.lifts == Lifts::Named { "doubt" } else { "DOUBT" };
        parts.push(format!("{lifts}: {}", doubt.why));
    }
    parts.join("; ")
}

/// Every nested command as text.
fn started(used: &Used) -> Vec<String> {
    let nested = used.nested.iter().map(|nested| match nested {
        Nested::Words { words, .. } => words.iter().map(shown).collect::<Vec<_>>().join(" "),
        Nested::Script { text, .. } => format!("script: {}", shown(text)),
        Nested::Stdin { .. } => "standard input".to_owned(),
    });
    nested.collect()
}

#[track_caller]
fn asks(command: &str) {
    let used = of(command);
    assert_eq!(verdict(&used), Verdict::Asks, "{command}: {}", reading(&used));
}

/// It only reads, whatever its paths turn out to be.
#[track_caller]
fn reads(command: &str) {
    let used = of(command);
    assert!(used.doubts.is_empty() && used.class == Class::Reads, "{command}: {}", reading(&used));
}
