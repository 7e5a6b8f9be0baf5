//! Draws frames. Every row with text that askfirst did not write starts with a gutter.

use askfirst::Timestamp;
use askfirst_display::escape::width;
use askfirst_display::page::OPTION_GAP;
use askfirst_display::time::countdown;
use askfirst_display::{Line, Piece, Tone, visible_line};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::Ui;
use super::pane::{Spot, WindowRow};
use super::scope::scope_rows;
use crate::colors;
use crate::keys::{Document, REST_KEY, Screen};
use crate::surface::{Frame, Stage};
use crate::words::short;

/// The smallest number of content rows in a frame.
const MIN_PANE: usize = 3;
/// One row of a frame.
pub(super) type StyledRow = Vec<Span<'static>>;

pub(super) fn frame(ui: &mut Ui, now: Timestamp) -> Frame {
    match ui.keys.screen().clone() {
        Screen::View(doc, find) => full_frame(ui, doc, find.as_deref()),
        Screen::Question | Screen::Rest | Screen::Scope(..) | Screen::Reason(_) | Screen::Args(_) => {
            inline_frame(ui, now)
        }
    }
}

/// Whether the screen has room for the question.
pub(crate) fn fits(ui: &Ui, now: Timestamp) -> bool {
    free_rows(ui, now).is_some_and(|free| free > MIN_PANE) && ui.size.0 >= 24
}

/// The number of rows between the headline and the choices. One row stays free below the prompt.
fn free_rows(ui: &Ui, now: Timestamp) -> Option<usize> {
    let taken = question_head(ui, now).len() + footer(ui).0.len() + 1;
    usize::from(ui.size.1).checked_sub(taken)
}

fn inline_frame(ui: &mut Ui, now: Timestamp) -> Frame {
    let free = free_rows(ui, now).unwrap_or_default();
    if !fits(ui, now) {
        let text = "the window is too small: make it larger, or press Ctrl-C to refuse";
        let rows: Vec<StyledRow> = words(text, ui.room().max(1), colors::notice());
        return frame_of(ui, rows.into_iter().take(usize::from(ui.size.1).saturating_sub(1)).collect(), None);
    }
    let mut rows = question_head(ui, now);
    rows.extend(match *ui.keys.screen() {
        Screen::Scope(lifetime, marked) => scope_rows(ui, lifetime, marked, free),
        Screen::Question | Screen::Rest | Screen::Reason(_) | Screen::Args(_) | Screen::View(..) => {
            page_rows(ui, free)
        }
    });
    let (foot, cursor) = footer(ui);
    let at = rows.len();
    rows.extend(foot);
    frame_of(ui, rows, cursor.map(|(x, y)| (x, y + at)))
}

/// The rows of the page. If they do not fit, the content scrolls, and the rest stands below it where there is room.
fn page_rows(ui: &mut Ui, free: usize) -> Vec<StyledRow> {
    let most = ui.options.preview_lines.max(MIN_PANE);
    ui.pinned = 0;
    let whole = free.min(most);
    if ui.window(Spot::default(), whole + 1).len() <= whole {
        (ui.top, ui.pane_height) = (Spot::default(), whole);
        return pane(ui);
    }
    // One row says how much there is.
    let free = free.saturating_sub(1);
    ui.pin_context(free / 2);
    let pinned: Vec<StyledRow> = ui.pinned_rows().iter().map(|line| style_line(line, None)).collect();
    ui.pane_height = free.saturating_sub(pinned.len()).min(most);
    let mut rows = pane(ui);
    rows.push(rule(ui, &position(ui), colors::frame()));
    rows.extend(pinned);
    rows
}

/// The rows of the window. The paragraphs in it count as seen.
fn pane(ui: &mut Ui) -> Vec<StyledRow> {
    let (top, height) = (ui.top, ui.pane_height);
    if ui.is_whole() {
        ui.watch(top, height);
    }
    ui.window(top, height).iter().map(|row| style_line(&row.line, None)).collect()
}

/// The headline with the risk, the place in the queue and the time left.
fn question_head(ui: &Ui, now: Timestamp) -> Vec<StyledRow> {
    let left = ui.page.deadline().map(|at| countdown(now.until(at)));
    let mut status: StyledRow = Vec::new();
    let of_risk =
        |piece: &Piece| if piece.tone == Tone::Warning { colors::notice() } else { colors::frame() };
    let pieces = ui.page.status().into_iter().map(|piece| Span::styled(piece.text.clone(), of_risk(&piece)));
    for span in pieces.chain(left.map(|left| Span::styled(left, colors::frame()))) {
        if !status.is_empty() {
            status.push(Span::styled(" · ", colors::frame()));
        }
        status.push(span);
    }
    headed(ui, status)
}

/// The headline above a document, with the part of it that is in the window.
pub(super) fn document_head(ui: &Ui) -> Vec<StyledRow> {
    let Screen::View(doc, _) = ui.keys.screen() else { return Vec::new() };
    let from = match doc {
        Document::All => ui.view.at + 1,
        Document::Facts => ui.view.row + 1,
    };
    let (name, len) = match doc {
        Document::All => ("full view", ui.len()),
        Document::Facts => ("more", ui.more.len()),
    };
    let text = format!("{name}, line {from} of {len}");
    headed(ui, vec![Span::styled(text, colors::frame())])
}

/// The headline in a rule, with a status at its right end. If they do not fit in one row, the status is below it.
fn headed(ui: &Ui, status: StyledRow) -> Vec<StyledRow> {
    let line = |text: String| Span::styled(text, colors::frame());
    let used = |row: &StyledRow| row.iter().map(|span| width(&span.content)).sum::<usize>();
    let room = ui.room();
    let headline: Vec<StyledRow> =
        ui.page.headline(room.saturating_sub(1)).iter().map(style_pieces).collect();
    let wide = if status.is_empty() { 0 } else { used(&status) + 4 };
    let end = |mut row: StyledRow, status: StyledRow| {
        let free = room.saturating_sub(used(&row) + wide);
        row.push(line("━".repeat(free)));
        if !status.is_empty() {
            row.push(line(" ".to_owned()));
            row.extend(status);
            row.push(line(" ━━".to_owned()));
        }
        row
    };
    let begin = |row: &StyledRow| -> StyledRow {
        std::iter::once(line("━━ ".to_owned())).chain(row.iter().cloned()).collect()
    };
    if let [only] = headline.as_slice()
        && used(only) + 6 + wide <= room
    {
        let mut row = begin(only);
        row.push(line(" ".to_owned()));
        return vec![end(row, status)];
    }
    let mut rows: Vec<StyledRow> = headline.iter().map(begin).collect();
    if wide > room {
        let text: String = status.iter().map(|span| span.content.as_ref()).collect();
        rows.extend(words(&text, room.saturating_sub(3), colors::notice()).iter().map(begin));
    } else if !status.is_empty() {
        rows.push(end(Vec::new(), status));
    }
    rows
}

/// The first text that fits in the line of a frame, or the last one.
pub(super) fn first_that_fits<const N: usize>(ui: &Ui, ways: [String; N]) -> String {
    let room = ui.room().saturating_sub(7);
    let fits = ways.iter().position(|way| width(way) <= room).unwrap_or(N - 1);
    ways.into_iter().nth(fits).unwrap_or_default()
}

/// Everything below the content, and the position of the cursor in it.
fn footer(ui: &Ui) -> (Vec<StyledRow>, Option<(usize, usize)>) {
    let room = ui.room();
    let mut rows = Vec::new();
    if let Some(notice) = &ui.notice {
        rows.extend(words(&visible_line(notice).text(), room, colors::notice()));
    }
    match ui.keys.screen() {
        Screen::Scope(lifetime, _) => {
            let (scopes, key) = (ui.page.scopes(*lifetime, room).len(), lifetime.choice().key());
            let keys = match scopes {
                0 | 1 => format!("{key} yes, to these calls   Esc back"),
                _ => format!("1-{scopes} choose   {key} yes, to the chosen calls   Esc back"),
            };
            rows.extend(options(&keys, room));
        }
        Screen::Rest => {
            let keys = format!("{REST_KEY} yes, without seeing the rest   PgDn see more   Esc back");
            rows.extend(options(&keys, room));
        }
        Screen::Reason(_) | Screen::Args(_) => {}
        Screen::Question | Screen::View(..) => {
            let counts = ui.page.counts().join(" · ");
            if !counts.is_empty() {
                rows.extend(words(&counts, room, colors::dim()));
            }
            for line in ui.page.options(room.saturating_sub(1)) {
                let text = line.text();
                // The word to type comes first, in the style of a key.
                let is_word = text.starts_with("to approve");
                rows.extend(if is_word { words(&text, room, colors::key()) } else { options(&text, room) });
            }
        }
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
        Screen::Question | Screen::Scope(..) | Screen::Rest | Screen::View(..) => {
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

/// The part of the content in the window, in words.
fn position(ui: &Ui) -> String {
    let len = ui.len();
    let shown = ui.window(ui.top, ui.pane_height.max(1));
    let (first, last) = (ui.top.at + 1, shown.last().map_or(0, |row| row.at + 1));
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

/// Whether a window reaches the last row of the page.
fn reaches_end(ui: &Ui, shown: &[WindowRow], len: usize) -> bool {
    let Some(last) = len.checked_sub(1) else { return true };
    let rows = ui.page.rows(last, ui.room()).len();
    let from = if ui.top.at == last { ui.top.row } else { 0 };
    shown.iter().filter(|row| row.at == last).count() + from >= rows
}

pub(super) fn rule(ui: &Ui, text: &str, style: Style) -> StyledRow {
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
pub(super) fn words(text: &str, room: usize, style: Style) -> Vec<StyledRow> {
    let mut rows: Vec<String> = vec![String::new()];
    for word in text.split_inclusive(' ') {
        match rows.last_mut() {
            Some(row) if width(row) + width(word.trim_end()) <= room => row.push_str(word),
            Some(_) | None => rows.push(word.trim_start().to_owned()),
        }
    }
    rows.into_iter().map(|row| vec![Span::styled(row, style)]).collect()
}

/// Wraps choices and emphasizes their keys: the first word of each. A choice stays in one row.
fn options(text: &str, room: usize) -> Vec<StyledRow> {
    let mut rows: Vec<(usize, StyledRow)> = Vec::new();
    for choice in text.split(OPTION_GAP).map(str::trim).filter(|choice| !choice.is_empty()) {
        let (key, rest) = choice.split_once(' ').unwrap_or((choice, ""));
        let spans = [Span::styled(key.to_owned(), colors::key()), Span::raw(format!(" {rest}"))];
        let needs = width(choice) + OPTION_GAP.len();
        match rows.last_mut() {
            Some((used, row)) if *used + needs <= room => {
                row.push(Span::raw(OPTION_GAP));
                row.extend(spans);
                *used += needs;
            }
            Some(_) | None => {
                let indent = Span::raw(" ");
                rows.push((1 + width(choice), std::iter::once(indent).chain(spans).collect()));
            }
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

fn full_frame(ui: &mut Ui, doc: Document, find: Option<&str>) -> Frame {
    let height = ui.view_height();
    let (body, status): (Vec<StyledRow>, String) = match doc {
        Document::All => {
            let top = ui.view;
            if ui.is_whole() {
                ui.watch(top, height);
            }
            let body = ui.window(top, height).iter().map(|row| style_row(ui, row)).collect();
            let room = ui.room();
            let foldable =
                (0..ui.len().min(2_000)).any(|at| ui.page.depth(at, room).is_some_and(|depth| depth > 0));
            let fold = if foldable { "   - fold   + unfold" } else { "" };
            let keys = first_that_fits(
                ui,
                [
                    format!("v back   / find   n next   N previous   Space page{fold}"),
                    format!("v back   / find   n next{fold}"),
                    format!("v back   / find{fold}"),
                    "v back   / find".to_owned(),
                ],
            );
            (body, keys)
        }
        Document::Facts => {
            let shown = ui.more.iter().skip(ui.view.row).take(height);
            (shown.map(|line| style_line(line, None)).collect(), "? back   Space page".to_owned())
        }
    };
    let mut rows = document_head(ui);
    let head = rows.len();
    rows.extend(body);
    rows.resize_with(height + head, Vec::new);
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
pub(super) fn style_line(line: &Line, search: Option<&str>) -> StyledRow {
    let mut spans = Vec::new();
    if !line.gutter().is_empty() {
        spans.push(Span::styled(line.gutter(), colors::dim()));
    }
    let found = search.is_some_and(|text| line.text().to_lowercase().contains(&text.to_lowercase()));
    let pieces = style_pieces(line).into_iter();
    spans.extend(pieces.map(|span| if found { span.patch_style(colors::found()) } else { span }));
    spans
}

/// Draws a line without its gutter.
fn style_pieces(line: &Line) -> StyledRow {
    line.pieces.iter().map(|piece| Span::styled(piece.text.clone(), colors::of(line, piece))).collect()
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
