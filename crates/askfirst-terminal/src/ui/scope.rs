//! Draws the scopes of a yes that is remembered, before it counts.

use askfirst_display::{Lifetime, Line, Part, Piece, Row};
use ratatui::style::Style;
use ratatui::text::Span;

use super::draw::{StyledRow, first_that_fits, rule, style_line, words};
use super::{EarlierRequest, Ui};
use crate::colors;
use crate::keys::{Reach, Screen};
use crate::words::short;

/// The number of earlier requests that are listed.
const MAX_PAST: usize = 5;

/// The first row of one of the scopes.
pub(super) fn scope_start(ui: &Ui, lifetime: Lifetime, at: usize) -> usize {
    let room = ui.room();
    let heading = heading_rows(ui, lifetime).len();
    let scopes = ui.page.scopes(lifetime, room.saturating_sub(4));
    heading + scopes.iter().take(at).map(Vec::len).sum::<usize>()
}

/// The extent to which the chosen scope was on screen.
pub(super) fn reach(ui: &Ui) -> Reach {
    let Screen::Scope(lifetime, Some(at)) = *ui.keys.screen() else { return Reach::Part };
    let mut rows = scope_start(ui, lifetime, at)..scope_start(ui, lifetime, at + 1);
    if rows.all(|row| ui.scope_rows_seen.contains(&row)) { Reach::Whole } else { Reach::Part }
}

/// The number of rows of the scopes.
pub(super) fn scope_len(ui: &Ui, lifetime: Lifetime, marked: Option<usize>) -> usize {
    scope_lines(ui, lifetime, marked).len()
}

/// The scopes of a yes that is remembered, and the earlier requests that the chosen one would have covered.
fn scope_lines(ui: &Ui, lifetime: Lifetime, marked: Option<usize>) -> Vec<StyledRow> {
    let room = ui.room();
    let Some(member) = ui.question.members.first() else { return Vec::new() };
    let mut rows = heading_rows(ui, lifetime);
    let is_choice = ui.page.scopes(lifetime, room).len() > 1;
    for (at, lines) in ui.page.scopes(lifetime, room.saturating_sub(4)).into_iter().enumerate() {
        let (mark, style) = if marked == Some(at) { ("▶", colors::ready()) } else { (" ", Style::new()) };
        for (row, line) in lines.iter().enumerate() {
            let label = match (is_choice, row) {
                (true, 0) => format!("{mark}{} ", at + 1),
                (true, _) => "   ".to_owned(),
                (false, _) => String::new(),
            };
            let mut spans = vec![Span::styled(label, style)];
            spans.extend(style_line(line, None));
            rows.push(spans);
        }
    }
    let Some(at) = marked else { return rows };
    let request = &member.request;
    let pattern = at
        .checked_sub(1)
        .and_then(|at| ui.page.offers.patterns.get(at))
        .and_then(|at| request.patterns.get(*at));
    let alike: Vec<&EarlierRequest> =
        ui.history.iter().filter(|past| past.tool == request.tool_name).collect();
    let matches = |past: &&&EarlierRequest| {
        pattern.map_or(past.payload == request.payload, |pattern| pattern.matches(&past.payload))
    };
    let found: Vec<&&EarlierRequest> = alike.iter().filter(matches).collect();
    let text = match (alike.len(), found.len()) {
        (0, _) => "there are no earlier requests for this tool".to_owned(),
        (1, 0) => "your choice would not have covered the earlier request for this tool".to_owned(),
        (1, _) => "your choice would have covered the earlier request for this tool:".to_owned(),
        (all, 0) => format!("your choice would have covered none of {all} earlier requests for this tool"),
        (all, some) => {
            format!("your choice would have covered {some} of {all} earlier requests for this tool:")
        }
    };
    rows.extend(words(&text, room, colors::dim()));
    for past in found.iter().rev().take(MAX_PAST) {
        let pieces = vec![Piece::ours(short(&past.summary, room.saturating_sub(4)))];
        rows.push(style_line(&Line { part: Part::Scope, row: Row::First, pieces }, None));
    }
    rows
}

/// The rows above the scopes: what is asked, where the yes holds, and how long.
fn heading_rows(ui: &Ui, lifetime: Lifetime) -> Vec<StyledRow> {
    let end = if ui.page.offers.patterns.is_empty() { ":" } else { " which calls?" };
    let mut rows = words(&format!("{}{end}", lifetime.heading()), ui.room(), colors::key());
    let place = ui.page.scope_place(lifetime, ui.room());
    rows.extend(place.iter().map(|line| style_line(line, None)));
    rows
}

/// The rows of the scopes, of which as many are in the window as fit.
pub(super) fn scope_rows(
    ui: &mut Ui,
    lifetime: Lifetime,
    marked: Option<usize>,
    free: usize,
) -> Vec<StyledRow> {
    let lines = scope_lines(ui, lifetime, marked);
    let is_all = lines.len() <= free;
    ui.pane_height = if is_all { free } else { free.saturating_sub(1) };
    let height = ui.pane_height;
    let from = ui.view.row.min(lines.len().saturating_sub(height));
    ui.scope_rows_seen.extend((from..lines.len()).take(height));
    let position = (!is_all).then(|| rule(ui, &scope_position(ui, lines.len()), colors::frame()));
    lines.into_iter().skip(from).take(height).chain(position).collect()
}

/// The part of the scopes in the window, in words.
fn scope_position(ui: &Ui, len: usize) -> String {
    let height = ui.pane_height.max(1);
    let from = ui.view.row.min(len.saturating_sub(height));
    let last = (from + height).min(len);
    let (more, key) = if last < len { ("more below", "PgDn") } else { ("the end", "PgUp") };
    let from = from + 1;
    let ways = [
        format!("lines {from} to {last} of {len}: {more}, {key}"),
        format!("{from} to {last} of {len}, {key}"),
        format!("{from}-{last}/{len}, {key}"),
    ];
    first_that_fits(ui, ways)
}
