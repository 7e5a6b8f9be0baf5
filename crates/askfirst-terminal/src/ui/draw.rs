//! Draws frames. Every row with text that askfirst did not write starts with a gutter.

use askfirst::Timestamp;
use askfirst_display::escape::width;
use askfirst_display::time::span;
use askfirst_display::{Line, Part, Piece, Row, visible_line};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::pane::WindowRow;
use super::{EarlierRequest, Ui};
use crate::colors;
use crate::keys::{Document, Screen};
use crate::surface::{Frame, Stage};
use crate::words::short;

/// The smallest number of content rows in a frame.
const MIN_PANE: usize = 3;
/// The number of earlier requests that are listed.
const MAX_PAST: usize = 5;

/// The text above the scopes.
const SCOPES: &str = "choose which calls a yes for the session covers:";

/// One row of a frame.
type StyledRow = Vec<Span<'static>>;

pub(super) fn frame(ui: &mut Ui, now: Timestamp) -> Frame {
    match ui.keys.screen().clone() {
        Screen::View(doc, find) => full_frame(ui, doc, find.as_deref()),
        Screen::Question | Screen::Scope(_) | Screen::Reason(_) | Screen::Args(_) => inline_frame(ui, now),
    }
}

/// Whether the screen has room for the question.
pub(crate) fn fits(ui: &Ui, now: Timestamp) -> bool {
    footer(ui, now).0.len() + MIN_PANE + 2 <= usize::from(ui.size.1) && ui.size.0 >= 24
}

fn inline_frame(ui: &mut Ui, now: Timestamp) -> Frame {
    if !fits(ui, now) {
        let text = "the window is too small: make it larger, or press Ctrl-C to refuse";
        let rows: Vec<StyledRow> = words(text, ui.room().max(1), colors::notice());
        return frame_of(ui, rows.into_iter().take(usize::from(ui.size.1).saturating_sub(1)).collect(), None);
    }
    let foot = footer(ui, now).0.len();
    let room = usize::from(ui.size.1).saturating_sub(foot + 2);
    let most = room.min(ui.options.preview_lines.max(MIN_PANE));
    ui.pane_height = most;
    let (foot, cursor) = footer(ui, now);
    let shown = if let Screen::Scope(marked) = *ui.keys.screen() {
        let lines = scope_lines(ui, marked);
        let from = ui.view.row.min(lines.len().saturating_sub(most));
        lines.into_iter().skip(from).take(most).collect()
    } else {
        let top = ui.top;
        let shown = ui.window(top, most);
        if ui.is_whole() {
            ui.watch(top, most);
        }
        shown.iter().map(|row| style_line(&row.line, None)).collect::<Vec<_>>()
    };
    let mut rows = vec![rule(ui, &title(ui, now), colors::title())];
    rows.extend(shown);
    let at = rows.len();
    rows.extend(foot);
    frame_of(ui, rows, cursor.map(|(x, y)| (x, y + at)))
}

fn title(ui: &Ui, now: Timestamp) -> String {
    let (title, left) = (ui.page.title(), ui.page.deadline().map(|at| span(now.until(at))));
    let bare = title.strip_prefix("approval needed").unwrap_or(title);
    let bare = bare.strip_prefix(": ").or(bare.strip_prefix(" for ")).unwrap_or(title);
    let Some(left) = left else {
        let last = title.rsplit(": ").next().unwrap_or(title);
        return first_that_fits(ui, [title.to_owned(), bare.to_owned(), last.to_owned()]);
    };
    let ways =
        [format!("{title}, refused in {left}"), format!("{bare}, {left} left"), format!("{left} left")];
    first_that_fits(ui, ways)
}

/// The first text that fits in the line of a frame, or the last one.
fn first_that_fits<const N: usize>(ui: &Ui, ways: [String; N]) -> String {
    let room = ui.room().saturating_sub(7);
    let fits = ways.iter().position(|way| width(way) <= room).unwrap_or(N - 1);
    ways.into_iter().nth(fits).unwrap_or_default()
}

/// Everything below the content, and the position of the cursor in it.
fn footer(ui: &Ui, _now: Timestamp) -> (Vec<StyledRow>, Option<(usize, usize)>) {
    let room = ui.room();
    let mut rows = Vec::new();
    match ui.keys.screen() {
        Screen::Scope(marked) => {
            rows.push(rule(ui, &scope_position(ui, scope_lines(ui, *marked).len()), colors::frame()));
            let keys =
                format!("[1-{}] choose  [s] yes to the chosen calls  [Esc] back", ui.page.scopes(room).len());
            rows.extend(options(&keys, room));
        }
        Screen::Reason(_) | Screen::Args(_) => {
            rows.push(rule(ui, &position(ui), colors::frame()));
        }
        Screen::Question | Screen::View(..) => {
            rows.push(rule(ui, &position(ui), colors::frame()));
            let counts = ui.page.counts().join(" · ");
            if !counts.is_empty() {
                rows.extend(words(&counts, room, colors::dim()));
            }
            let mut keys = false;
            for line in ui.page.options(room) {
                let text = line.text();
                keys |= text.starts_with('[');
                // The word to type comes first, in the style of a key.
                rows.extend(if keys { options(&text, room) } else { words(&text, room, colors::key()) });
            }
        }
    }
    if let Some(notice) = &ui.notice {
        rows.extend(words(&visible_line(notice).text(), room, colors::notice()));
    }
    let cursor = match ui.keys.screen() {
        Screen::Reason(field) => {
            draw_field(&mut rows, "reason (Enter refuses, Esc goes back): ", field, room)
        }
        Screen::Args(field) => draw_field(
            &mut rows,
            "arguments (Enter sends them to be checked again, Esc goes back): ",
            field,
            room,
        ),
        Screen::Question | Screen::Scope(_) | Screen::View(..) => {
            let (mark, style) = if ui.keys.is_armed() {
                ("ready: ", colors::ready())
            } else if ui.is_whole() {
                ("[not yet] ", colors::dim())
            } else {
                ("[preparing] ", colors::dim())
            };
            let text = visible_line(&ui.keys.typed()).text();
            let place = (width(mark) + width(&text), rows.len());
            let mut row = vec![Span::styled(mark, style), Span::raw(text)];
            if !ui.keys.is_armed() {
                row.push(Span::styled("keys are ignored", colors::dim()));
            }
            rows.push(row);
            Some(place)
        }
    };
    (rows, cursor)
}

/// Draws a field in as many rows as it needs.
fn draw_field(
    rows: &mut Vec<StyledRow>,
    label: &'static str,
    field: &crate::keys::Field,
    room: usize,
) -> Option<(usize, usize)> {
    rows.extend(words(label, room, colors::key()));
    let text = visible_line(&field.text()).text();
    let before = width(&visible_line(&field.before()).text());
    let (mut row, mut used, mut all) = (String::new(), 0, Vec::new());
    for c in text.chars() {
        let wide = width(c.encode_utf8(&mut [0; 4]));
        if used + wide > room.saturating_sub(2) {
            all.push(std::mem::take(&mut row));
            used = 0;
        }
        used += wide;
        row.push(c);
    }
    all.push(row);
    // Of a very long text, only the rows around the cursor are shown.
    let per = room.saturating_sub(2).max(1);
    let line = (before / per).min(all.len().saturating_sub(1));
    let from = line.saturating_sub(4);
    let begin = rows.len();
    let shown = all.into_iter().skip(from).take(6);
    rows.extend(shown.map(|text| vec![Span::styled("│ ", colors::dim()), Span::raw(text)]));
    Some((2 + before % per, begin + line - from))
}

/// The part of the page in the window, in words.
fn position(ui: &Ui) -> String {
    let len = ui.page.len(ui.room());
    let shown = ui.window(ui.top, ui.pane_height.max(1));
    let (first, last) = (ui.top.at + 1, shown.last().map_or(0, |row| row.at + 1));
    if first == 1
        && last == len
        && ui.top.row == 0
        && shown.len() < ui.pane_height.max(1) + 1
        && reaches_end(ui, &shown, len)
    {
        return if ui.is_whole() { format!("all {len} lines") } else { format!("{len} lines so far") };
    }
    let (more, key) = if last < len || !reaches_end(ui, &shown, len) {
        ("more below", "PgDn")
    } else {
        ("the end", "PgUp")
    };
    let ways = [
        format!("lines {first} to {last} of {len}: {more}, {key}"),
        format!("{first} to {last} of {len}: {more}"),
        format!("{first}-{last}/{len}, {key}"),
    ];
    first_that_fits(ui, ways)
}

/// The part of the scopes in the window, in words.
fn scope_position(ui: &Ui, len: usize) -> String {
    let height = ui.pane_height.max(1);
    let from = ui.view.row.min(len.saturating_sub(height));
    let last = (from + height).min(len);
    if last - from == len {
        return "which calls?".to_owned();
    }
    let (more, key) = if last < len { ("more below", "PgDn") } else { ("the end", "PgUp") };
    let from = from + 1;
    let ways = [
        format!("which calls? lines {from} to {last} of {len}: {more}, {key}"),
        format!("which calls? {from}-{last} of {len}, {key}"),
        format!("{from}-{last}/{len}, {key}"),
    ];
    first_that_fits(ui, ways)
}

/// Whether a window reaches the last row of the page.
fn reaches_end(ui: &Ui, shown: &[WindowRow], len: usize) -> bool {
    let Some(last) = len.checked_sub(1) else { return true };
    let rows = ui.page.rows(last, ui.room()).len();
    let from = if ui.top.at == last { ui.top.row } else { 0 };
    shown.iter().filter(|row| row.at == last).count() + from >= rows
}

fn rule(ui: &Ui, text: &str, style: Style) -> StyledRow {
    let room = ui.room();
    if text.is_empty() {
        return vec![Span::styled("━".repeat(room), colors::frame())];
    }
    let text = short(text, room.saturating_sub(6));
    let rest = room.saturating_sub(width(&text) + 4);
    vec![
        Span::styled("━━ ", colors::frame()),
        Span::styled(text, style),
        Span::styled(format!(" {}", "━".repeat(rest)), colors::frame()),
    ]
}

/// Wraps askfirst's own words.
fn words(text: &str, room: usize, style: Style) -> Vec<StyledRow> {
    let mut rows: Vec<String> = vec![String::new()];
    for word in text.split_inclusive(' ') {
        match rows.last_mut() {
            Some(row) if width(row) + width(word.trim_end()) <= room => row.push_str(word),
            Some(_) | None => rows.push(word.trim_start().to_owned()),
        }
    }
    rows.into_iter().map(|row| vec![Span::styled(row, style)]).collect()
}

/// Wraps options and emphasizes their keys.
fn options(text: &str, room: usize) -> Vec<StyledRow> {
    let row = |row: &str| -> StyledRow {
        let mut spans = Vec::new();
        for (at, part) in row.split('[').enumerate() {
            match part.split_once(']') {
                Some((key, rest)) if at > 0 => {
                    spans.push(Span::styled(format!("[{key}]"), colors::key()));
                    spans.push(Span::raw(rest.to_owned()));
                }
                Some(_) | None => {
                    let text = if at > 0 { format!("[{part}") } else { part.to_owned() };
                    spans.push(Span::raw(text));
                }
            }
        }
        spans
    };
    words(text, room, Style::new())
        .into_iter()
        .map(|spans| row(&spans.iter().map(|span| span.content.as_ref()).collect::<String>()))
        .collect()
}

fn full_frame(ui: &mut Ui, doc: Document, find: Option<&str>) -> Frame {
    let height = ui.view_height();
    let (title, body, status) = match doc {
        Document::All => {
            let top = ui.view;
            let shown = ui.window(top, height);
            if ui.is_whole() {
                ui.watch(top, height);
            }
            let (first, last) = (top.at + 1, shown.last().map_or(0, |row| row.at + 1));
            let len = ui.page.len(ui.room());
            let body: Vec<StyledRow> = shown.iter().map(|row| style_row(ui, row)).collect();
            let foldable =
                (0..len.min(2_000)).any(|at| ui.page.depth(at, ui.room()).is_some_and(|depth| depth > 0));
            let fold = if foldable { "  [-] [+] fold" } else { "" };
            let keys = first_that_fits(
                ui,
                [
                    format!("[v] [Esc] back  [/] find  [n] [N] next  [Space] [b] page{fold}"),
                    format!("[v] back  [/] find  [n] next{fold}"),
                    format!("[v] back  [/] find{fold}"),
                    "[v] back  [/] find".to_owned(),
                ],
            );
            let ways = [
                format!("full view, lines {first} to {last} of {len}"),
                format!("full view, {first}-{last} of {len}"),
                format!("{first}-{last} of {len}"),
            ];
            (first_that_fits(ui, ways), body, keys)
        }
        Document::Facts => {
            let from = ui.view.row;
            let body = ui.facts.iter().skip(from).take(height).map(|line| style_line(line, None)).collect();
            let last = (from + height).min(ui.facts.len());
            let (from, len) = (from + 1, ui.facts.len());
            let ways = [
                format!("facts and keys, lines {from} to {last} of {len}"),
                format!("facts and keys, {from}-{last} of {len}"),
                format!("{from}-{last} of {len}"),
            ];
            let title = first_that_fits(ui, ways);
            (title, body, "[?] [Esc] back  [Space] [b] page".to_owned())
        }
    };
    let mut rows = vec![rule(ui, &title, colors::title())];
    rows.extend(body);
    rows.resize_with(height + 1, Vec::new);
    rows.push(rule(ui, "", colors::frame()));
    let room = ui.room();
    let (last, cursor) = match (find, &ui.notice) {
        (Some(text), _) => {
            let text = visible_line(text).text();
            let column = 7 + width(&text);
            (vec![Span::styled("find: ", colors::key()), Span::raw(text)], column.min(room))
        }
        (None, Some(notice)) => (vec![Span::styled(short(notice, room), colors::notice())], 0),
        (None, None) => (options(&short(&status, room), room).into_iter().next().unwrap_or_default(), 0),
    };
    let cursor = (cursor.saturating_sub(1), rows.len());
    rows.push(last);
    Frame { stage: Stage::Full, ..frame_of(ui, rows, Some(cursor)) }
}

fn style_row(ui: &Ui, row: &WindowRow) -> StyledRow {
    let mut spans = style_line(&row.line, ui.search.as_deref());
    if row.folded > 0 {
        spans.push(Span::styled(format!(" … {} lines folded", row.folded), colors::notice()));
    }
    spans
}

/// Draws a line with its gutter.
fn style_line(line: &Line, search: Option<&str>) -> StyledRow {
    let mut spans = Vec::new();
    if !line.gutter().is_empty() {
        spans.push(Span::styled(line.gutter(), colors::dim()));
    }
    let found = search.is_some_and(|text| line.text().to_lowercase().contains(&text.to_lowercase()));
    for piece in &line.pieces {
        let style = colors::of(line, piece);
        let style = if found { style.patch(colors::found()) } else { style };
        spans.push(Span::styled(piece.text.clone(), style));
    }
    spans
}

fn frame_of(ui: &Ui, rows: Vec<StyledRow>, cursor: Option<(usize, usize)>) -> Frame {
    let cell = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    let area = Rect::new(0, 0, ui.size.0, cell(rows.len()));
    let mut buffer = Buffer::empty(area);
    for (y, spans) in (0_u16..).zip(rows) {
        buffer.set_line(0, y, &ratatui::text::Line::from(spans), ui.size.0);
    }
    let (x, y) = cursor.unwrap_or((0, usize::from(area.height).saturating_sub(1)));
    let cursor = (cell(x).min(ui.size.0.saturating_sub(1)), cell(y).min(area.height.saturating_sub(1)));
    Frame { stage: Stage::Inline, buffer, cursor }
}

/// The first row of one of the scopes.
pub(super) fn scope_start(ui: &Ui, at: usize) -> usize {
    let room = ui.room();
    let heading = words(SCOPES, room, colors::key()).len();
    let scopes = ui.page.scopes(room.saturating_sub(4));
    heading + scopes.iter().take(at).map(Vec::len).sum::<usize>()
}

/// The number of rows of the scopes.
pub(super) fn scope_len(ui: &Ui, marked: Option<usize>) -> usize {
    scope_lines(ui, marked).len()
}

/// The scopes of a yes for the session, and the earlier requests that the chosen one would have covered.
fn scope_lines(ui: &Ui, marked: Option<usize>) -> Vec<StyledRow> {
    let room = ui.room();
    let Some(member) = ui.question.members.first() else { return Vec::new() };
    let mut rows = words(SCOPES, room, colors::key());
    for (at, lines) in ui.page.scopes(room.saturating_sub(4)).into_iter().enumerate() {
        let (mark, style) = if marked == Some(at) { ("▶", colors::ready()) } else { (" ", Style::new()) };
        for (row, line) in lines.iter().enumerate() {
            let label = if row == 0 { format!("{mark}{} ", at + 1) } else { "   ".to_owned() };
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

impl Ui {
    /// The facts in full, followed by the effects of the keys.
    pub(super) fn facts_and_keys(&self) -> Vec<Line> {
        let mut lines = self.page.facts(self.room());
        let ours = |part: Part, text: &str| Line { part, row: Row::First, pieces: vec![Piece::ours(text)] };
        lines.push(ours(Part::Count, ""));
        lines.push(ours(Part::Heading, "keys:"));
        for offer in &self.page.offers.list {
            lines.push(ours(Part::Option, &format!("  [{}] {}", offer.choice.key(), offer.words)));
        }
        let more = [
            "  [Esc] no",
            "  [Ctrl-C] no, and stop the run",
            "  [Up] [Down] [PgUp] [PgDn] [Home] [End] scroll, [Tab] jumps to the next part",
            "",
            "  keys count once the prompt says ready; earlier keys are discarded",
            "  Enter, Space, pasted text and several keys at once approve nothing",
        ];
        for text in more {
            let rows = words(text.trim_start(), self.room().saturating_sub(2), Style::new());
            let texts =
                rows.iter().map(|row| row.iter().map(|span| span.content.as_ref()).collect::<String>());
            let indented = |text: String| if text.is_empty() { text } else { format!("  {text}") };
            lines.extend(texts.map(|text| ours(Part::Option, &indented(text))));
        }
        lines
    }
}
