//! From the text of a command line to a [`tree::Line`]: never guesses; what is not surely understood is a gap.

mod again;
mod atoms;
mod calls;
mod close;
mod cover;
mod evaluates;
mod expand;
mod flow;
mod guard;
mod names;
mod number;
mod plain;
mod quiet;
mod second;
mod shuck;
mod simple;
mod special;
mod state;
mod syntax;
pub(crate) mod tree;
mod walk;
mod wild;
mod word;

pub(crate) use close::arithmetic;
pub(crate) use names::recodes;

use std::ops::Range;

use tree::{Command, Folder, Gap, Line, Shape, Stdin, Word};

/// Every simple command that bash would start for this text, and what is not surely understood.
pub(crate) fn read(text: &str) -> Line {
    if let Some(line) = plain::read(text) {
        return line;
    }
    let mut line = Line { shape: Shape::Parsed, ..Line::default() };
    if let Some(gap) = guard::limits(text) {
        line.gaps.push(gap);
        return line;
    }
    guard::characters(text, &mut line.gaps);
    guard::elements(text, &mut line.gaps);
    match quiet::quietly(|| walk::walk(text, &shuck::Shuck)) {
        Some((commands, gaps)) => {
            line.commands = commands;
            line.gaps.extend(gaps);
        }
        None => line.gaps.push(gap(0..text.len(), "askfirst failed to read this text")),
    }
    line
}

/// Whether a second parser, which shares no code with the first, finds the same simple commands.
pub(crate) fn confirm(text: &str, line: &Line) -> bool {
    match line.shape {
        Shape::Plain => true,
        Shape::Parsed => second::agrees(text, line),
    }
}

/// A command of literal words that no shell reads.
pub(crate) fn argv(words: &[String]) -> Command {
    let mut at = 0;
    let words: Vec<Word> = words
        .iter()
        .map(|word| {
            let span = at..at + word.len();
            at = span.end + 1;
            Word::text(word.as_str(), span)
        })
        .collect();
    Command {
        span: 0..at.saturating_sub(1),
        words,
        assignments: Vec::new(),
        redirections: Vec::new(),
        folders: Some(vec![Folder::default()]),
        stdin: Stdin::Inherited,
        mixes: false,
        loose: Vec::new(),
        reached: Vec::new(),
    }
}

fn gap(span: Range<usize>, why: impl Into<String>) -> Gap {
    Gap { span, why: why.into() }
}

#[cfg(test)]
mod tests;
