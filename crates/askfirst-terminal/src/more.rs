//! The page behind `?`: all keys with their effects, and the details of the question.

use askfirst_display::escape::width;
use askfirst_display::{Line, Page, Part, Piece, Row};

use crate::keys::Renderer;

/// The keys and the details.
pub(crate) fn more_lines(page: &Page, front: Renderer, columns: usize) -> Vec<Line> {
    let mut texts: Vec<(Part, String)> = vec![(Part::Heading, "keys:".to_owned())];
    let mut key = |key: &str, words: &str| texts.push((Part::Option, format!("{key:<6} {words}")));
    for offer in &page.offers.list {
        key(&offer.choice.key().to_string(), &offer.words);
    }
    key("Esc", "no");
    key("Ctrl-C", "no, and stop the run");
    if page.offers.words.len() > 1 {
        key(&format!("1-{}", page.offers.words.len()), "leave one out, or include it again");
    }
    if front == Renderer::Screen {
        key("arrows", "scroll, as PgUp, PgDn, Home and End do; Tab jumps to the next part");
    }
    let rules = [
        "keys count once the prompt says ready; earlier keys are discarded",
        "Enter, Space, pasted text and several keys at once approve nothing",
    ];
    texts.extend(rules.map(|rule| (Part::Count, rule.to_owned())));
    let wrapped = texts.into_iter().flat_map(|(part, text)| {
        let indent = if part == Part::Option { 7 } else { 0 };
        wrap(&text, columns, indent).into_iter().map(move |text| ours(part, text))
    });
    wrapped.chain(page.details(columns)).collect()
}

fn ours(part: Part, text: String) -> Line {
    Line { part, row: Row::First, pieces: vec![Piece::ours(text)] }
}

/// Wraps askfirst's own words. Later rows are indented.
fn wrap(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in text.split_inclusive(' ') {
        match rows.last_mut() {
            Some(row) if width(row) + width(word.trim_end()) <= columns => row.push_str(word),
            Some(_) | None => rows.push(format!("{}{}", " ".repeat(indent), word)),
        }
    }
    rows
}
