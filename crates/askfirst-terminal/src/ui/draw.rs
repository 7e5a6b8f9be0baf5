//! Puts frames together. Everything that is not ours stands behind a gutter, in every row.

use askfirst::Timestamp;
use askfirst_runtime::present::escape::width;
use askfirst_runtime::present::time::span;
use askfirst_runtime::present::{Line, Part, Piece, Row, visible_line};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::pane::Shown;
use super::{Past, Ui};
use crate::colours;
use crate::keys::{Doc, Screen};
use crate::surface::{Frame, Stage};
use crate::words::short;

/// A frame with fewer rows of content is not drawn.
const MIN_PANE: usize = 3;
/// So many calls from before are named.
const MAX_PAST: usize = 5;

/// What stands above the scopes.
const SCOPES: &str = "a yes for the session covers calls like this, as far as you choose:";

/// One row of a frame.
type Drawn = Vec<Span<'static>>;

pub(super) fn frame(ui: &mut Ui, now: Timestamp) -> Frame {
    match ui.keys.screen().clone() {
        Screen::View(doc, find) => full(ui, doc, find.as_deref()),
        Screen::Question | Screen::Scope(_) | Screen::Reason(_) | Screen::Args(_) => inline(ui, now),
    }
}

/// Whether a screen of that size has room for the question.
pub(crate) fn fits(ui: &Ui, now: Timestamp) -> bool {
    below(ui, now).0.len() + MIN_PANE + 2 <= usize::from(ui.size.1) && ui.size.0 >= 24
}

fn inline(ui: &mut Ui, now: Timestamp) -> Frame {
    if !fits(ui, now) {
        let text = "the window is too small: make it larger, or press Ctrl-C to refuse";
        let rows: Vec<Drawn> = words(text, ui.room().max(1), colours::notice());
        return placed(ui, rows.into_iter().take(usize::from(ui.size.1).saturating_sub(1)).collect(), None);
    }
    let foot = below(ui, now).0.len();
    let room = usize::from(ui.size.1).saturating_sub(foot + 2);
    let most = room.min(ui.options.preview_lines.max(MIN_PANE));
    ui.pane_height = most;
    let (foot, cursor) = below(ui, now);
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
        shown.iter().map(|row| drawn(&row.line, None)).collect::<Vec<_>>()
    };
    let mut rows = vec![rule(ui, &title(ui, now), colours::title())];
    rows.extend(shown);
    let at = rows.len();
    rows.extend(foot);
    placed(ui, rows, cursor.map(|(x, y)| (x, y + at)))
}

fn title(ui: &Ui, now: Timestamp) -> String {
    let (title, left) = (ui.page.title(), ui.page.deadline().map(|at| span(now.until(at))));
    let bare = title.strip_prefix("approval needed").unwrap_or(title);
    let bare = bare.strip_prefix(": ").or(bare.strip_prefix(" for ")).unwrap_or(title);
    let Some(left) = left else {
        let last = title.rsplit(": ").next().unwrap_or(title);
        return roomiest(ui, [title.to_owned(), bare.to_owned(), last.to_owned()]);
    };
    let ways =
        [format!("{title}, refused in {left}"), format!("{bare}, {left} left"), format!("{left} left")];
    roomiest(ui, ways)
}

/// The first that fits on a frame's line, or the last.
fn roomiest<const N: usize>(ui: &Ui, ways: [String; N]) -> String {
    let room = ui.room().saturating_sub(7);
    let fits = ways.iter().position(|way| width(way) <= room).unwrap_or(N - 1);
    ways.into_iter().nth(fits).unwrap_or_default()
}

/// Everything below the content, and where the cursor stands in it.
fn below(ui: &Ui, _now: Timestamp) -> (Vec<Drawn>, Option<(usize, usize)>) {
    let room = ui.room();
    let mut rows = Vec::new();
    match ui.keys.screen() {
        Screen::Scope(marked) => {
            rows.push(rule(ui, &scope_position(ui, scope_lines(ui, *marked).len()), colours::frame()));
            let keys =
                format!("[1-{}] choose  [s] yes, as far as chosen  [Esc] back", ui.page.scopes(room).len());
            rows.extend(options(&keys, room));
        }
        Screen::Reason(_) | Screen::Args(_) => {
            rows.push(rule(ui, &position(ui), colours::frame()));
        }
        Screen::Question | Screen::View(..) => {
            rows.push(rule(ui, &position(ui), colours::frame()));
            let counts = ui.page.counts().join(" · ");
            if !counts.is_empty() {
                rows.extend(words(&counts, room, colours::dim()));
            }
            let mut keys = false;
            for line in ui.page.options(room) {
                let text = line.text();
                keys |= text.starts_with('[');
                // The word to type comes first, and stands out as a key would.
                rows.extend(if keys { options(&text, room) } else { words(&text, room, colours::key()) });
            }
        }
    }
    if let Some(notice) = &ui.notice {
        rows.extend(words(&visible_line(notice).text(), room, colours::notice()));
    }
    let cursor = match ui.keys.screen() {
        Screen::Reason(field) => typed(&mut rows, "reason (Enter refuses, Esc goes back): ", field, room),
        Screen::Args(field) => {
            typed(&mut rows, "arguments (Enter sends them to be judged, Esc goes back): ", field, room)
        }
        Screen::Question | Screen::Scope(_) | Screen::View(..) => {
            let (mark, style) = if ui.keys.is_armed() {
                ("ready: ", colours::ready())
            } else if ui.is_whole() {
                ("[not yet] ", colours::dim())
            } else {
                ("[preparing] ", colours::dim())
            };
            let text = visible_line(&ui.keys.typed()).text();
            let place = (width(mark) + width(&text), rows.len());
            let mut row = vec![Span::styled(mark, style), Span::raw(text)];
            if !ui.keys.is_armed() {
                row.push(Span::styled("keys do not count", colours::dim()));
            }
            rows.push(row);
            Some(place)
        }
    };
    (rows, cursor)
}

/// A line that is typed, in as many rows as it needs.
fn typed(
    rows: &mut Vec<Drawn>,
    label: &'static str,
    field: &crate::keys::Field,
    room: usize,
) -> Option<(usize, usize)> {
    rows.extend(words(label, room, colours::key()));
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
    // Of a very long text, what stands around the cursor.
    let per = room.saturating_sub(2).max(1);
    let line = (before / per).min(all.len().saturating_sub(1));
    let from = line.saturating_sub(4);
    let begin = rows.len();
    let shown = all.into_iter().skip(from).take(6);
    rows.extend(shown.map(|text| vec![Span::styled("│ ", colours::dim()), Span::raw(text)]));
    Some((2 + before % per, begin + line - from))
}

/// Which part of the page is in the window.
fn position(ui: &Ui) -> String {
    let len = ui.page.len(ui.room());
    let shown = ui.window(ui.top, ui.pane_height.max(1));
    let (first, last) = (ui.top.at + 1, shown.last().map_or(0, |row| row.at + 1));
    if first == 1
        && last == len
        && ui.top.row == 0
        && shown.len() < ui.pane_height.max(1) + 1
        && whole(ui, &shown, len)
    {
        return if ui.is_whole() { format!("all {len} lines") } else { format!("{len} lines so far") };
    }
    let (more, key) =
        if last < len || !whole(ui, &shown, len) { ("more below", "PgDn") } else { ("the end", "PgUp") };
    let ways = [
        format!("lines {first} to {last} of {len}: {more}, {key}"),
        format!("{first} to {last} of {len}: {more}"),
        format!("{first}-{last}/{len}, {key}"),
    ];
    roomiest(ui, ways)
}

/// Which part of the scopes is in the window.
fn scope_position(ui: &Ui, len: usize) -> String {
    let height = ui.pane_height.max(1);
    let from = ui.view.row.min(len.saturating_sub(height));
    let last = (from + height).min(len);
    if last - from == len {
        return "how far?".to_owned();
    }
    let (more, key) = if last < len { ("more below", "PgDn") } else { ("the end", "PgUp") };
    let from = from + 1;
    let ways = [
        format!("how far? lines {from} to {last} of {len}: {more}, {key}"),
        format!("how far? {from}-{last} of {len}, {key}"),
        format!("{from}-{last}/{len}, {key}"),
    ];
    roomiest(ui, ways)
}

/// Whether a window reaches the last row of the page.
fn whole(ui: &Ui, shown: &[Shown], len: usize) -> bool {
    let Some(last) = len.checked_sub(1) else { return true };
    let rows = ui.page.rows(last, ui.room()).len();
    let from = if ui.top.at == last { ui.top.row } else { 0 };
    shown.iter().filter(|row| row.at == last).count() + from >= rows
}

fn rule(ui: &Ui, text: &str, style: Style) -> Drawn {
    let room = ui.room();
    if text.is_empty() {
        return vec![Span::styled("━".repeat(room), colours::frame())];
    }
    let text = short(text, room.saturating_sub(6));
    let rest = room.saturating_sub(width(&text) + 4);
    vec![
        Span::styled("━━ ", colours::frame()),
        Span::styled(text, style),
        Span::styled(format!(" {}", "━".repeat(rest)), colours::frame()),
    ]
}

/// Our words, in as many rows as they need.
fn words(text: &str, room: usize, style: Style) -> Vec<Drawn> {
    let mut rows: Vec<String> = vec![String::new()];
    for word in text.split_inclusive(' ') {
        match rows.last_mut() {
            Some(row) if width(row) + width(word.trim_end()) <= room => row.push_str(word),
            Some(_) | None => rows.push(word.trim_start().to_owned()),
        }
    }
    rows.into_iter().map(|row| vec![Span::styled(row, style)]).collect()
}

/// Options with their keys standing out. A key stays with what it does as far as there is room.
fn options(text: &str, room: usize) -> Vec<Drawn> {
    let row = |row: &str| -> Drawn {
        let mut spans = Vec::new();
        for (at, part) in row.split('[').enumerate() {
            match part.split_once(']') {
                Some((key, rest)) if at > 0 => {
                    spans.push(Span::styled(format!("[{key}]"), colours::key()));
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

fn full(ui: &mut Ui, doc: Doc, find: Option<&str>) -> Frame {
    let height = ui.view_height();
    let (title, body, status) = match doc {
        Doc::All => {
            let top = ui.view;
            let shown = ui.window(top, height);
            if ui.is_whole() {
                ui.watch(top, height);
            }
            let (first, last) = (top.at + 1, shown.last().map_or(0, |row| row.at + 1));
            let len = ui.page.len(ui.room());
            let body: Vec<Drawn> = shown.iter().map(|row| folded(ui, row)).collect();
            let foldable =
                (0..len.min(2_000)).any(|at| ui.page.depth(at, ui.room()).is_some_and(|depth| depth > 0));
            let fold = if foldable { "  [-] [+] fold" } else { "" };
            let keys = roomiest(
                ui,
                [
                    format!("[v] [Esc] back  [/] find  [n] [N] next  [Space] [b] page{fold}"),
                    format!("[v] back  [/] find  [n] next{fold}"),
                    format!("[v] back  [/] find{fold}"),
                    "[v] back  [/] find".to_owned(),
                ],
            );
            let ways = [
                format!("all of it, lines {first} to {last} of {len}"),
                format!("all of it, {first}-{last} of {len}"),
                format!("{first}-{last} of {len}"),
            ];
            (roomiest(ui, ways), body, keys)
        }
        Doc::Facts => {
            let from = ui.view.row;
            let body = ui.facts.iter().skip(from).take(height).map(|line| drawn(line, None)).collect();
            let last = (from + height).min(ui.facts.len());
            let (from, len) = (from + 1, ui.facts.len());
            let ways = [
                format!("facts and keys, lines {from} to {last} of {len}"),
                format!("facts and keys, {from}-{last} of {len}"),
                format!("{from}-{last} of {len}"),
            ];
            let title = roomiest(ui, ways);
            (title, body, "[?] [Esc] back  [Space] [b] page".to_owned())
        }
    };
    let mut rows = vec![rule(ui, &title, colours::title())];
    rows.extend(body);
    rows.resize_with(height + 1, Vec::new);
    rows.push(rule(ui, "", colours::frame()));
    let room = ui.room();
    let (last, cursor) = match (find, &ui.notice) {
        (Some(text), _) => {
            let text = visible_line(text).text();
            let column = 7 + width(&text);
            (vec![Span::styled("find: ", colours::key()), Span::raw(text)], column.min(room))
        }
        (None, Some(notice)) => (vec![Span::styled(short(notice, room), colours::notice())], 0),
        (None, None) => (options(&short(&status, room), room).into_iter().next().unwrap_or_default(), 0),
    };
    let cursor = (cursor.saturating_sub(1), rows.len());
    rows.push(last);
    Frame { stage: Stage::Full, ..placed(ui, rows, Some(cursor)) }
}

fn folded(ui: &Ui, row: &Shown) -> Drawn {
    let mut spans = drawn(&row.line, ui.sought.as_deref());
    if row.folded > 0 {
        spans.push(Span::styled(format!(" … {} lines folded", row.folded), colours::notice()));
    }
    spans
}

/// A line behind its gutter.
fn drawn(line: &Line, sought: Option<&str>) -> Drawn {
    let mut spans = Vec::new();
    if !line.gutter().is_empty() {
        spans.push(Span::styled(line.gutter(), colours::dim()));
    }
    let found = sought.is_some_and(|text| line.text().to_lowercase().contains(&text.to_lowercase()));
    for piece in &line.pieces {
        let style = colours::of(line, piece);
        let style = if found { style.patch(colours::found()) } else { style };
        spans.push(Span::styled(piece.text.clone(), style));
    }
    spans
}

fn placed(ui: &Ui, rows: Vec<Drawn>, cursor: Option<(usize, usize)>) -> Frame {
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

/// The row at which one of the scopes begins.
pub(super) fn scope_start(ui: &Ui, at: usize) -> usize {
    let room = ui.room();
    let heading = words(SCOPES, room, colours::key()).len();
    let scopes = ui.page.scopes(room.saturating_sub(4));
    heading + scopes.iter().take(at).map(Vec::len).sum::<usize>()
}

/// How many rows the scopes take.
pub(super) fn scope_len(ui: &Ui, marked: Option<usize>) -> usize {
    scope_lines(ui, marked).len()
}

/// How far a yes for the session may reach, and what it would have covered before.
fn scope_lines(ui: &Ui, marked: Option<usize>) -> Vec<Drawn> {
    let room = ui.room();
    let Some(member) = ui.question.members.first() else { return Vec::new() };
    let mut rows = words(SCOPES, room, colours::key());
    for (at, lines) in ui.page.scopes(room.saturating_sub(4)).into_iter().enumerate() {
        let (mark, style) = if marked == Some(at) { ("▶", colours::ready()) } else { (" ", Style::new()) };
        for (row, line) in lines.iter().enumerate() {
            let label = if row == 0 { format!("{mark}{} ", at + 1) } else { "   ".to_owned() };
            let mut spans = vec![Span::styled(label, style)];
            spans.extend(drawn(line, None));
            rows.push(spans);
        }
    }
    let Some(at) = marked else { return rows };
    let request = &member.request;
    let pattern = at
        .checked_sub(1)
        .and_then(|at| ui.page.offers.patterns.get(at))
        .and_then(|at| request.patterns.get(*at));
    let alike: Vec<&Past> = ui.history.iter().filter(|past| past.tool == request.tool_name).collect();
    let matches = |past: &&&Past| {
        pattern.map_or(past.payload == request.payload, |pattern| pattern.matches(&past.payload))
    };
    let found: Vec<&&Past> = alike.iter().filter(matches).collect();
    let text = match (alike.len(), found.len()) {
        (0, _) => "no call of this tool was asked about before: it would have covered none".to_owned(),
        (1, 0) => "1 call of this tool was asked about before: it would not have covered it".to_owned(),
        (1, _) => "1 call of this tool was asked about before: it would have covered it:".to_owned(),
        (all, 0) => format!("of {all} calls of this tool asked about before it would have covered none"),
        (all, some) => {
            format!("of {all} calls of this tool asked about before it would have covered {some}:")
        }
    };
    rows.extend(words(&text, room, colours::dim()));
    for past in found.iter().rev().take(MAX_PAST) {
        let pieces = vec![Piece::ours(short(&past.summary, room.saturating_sub(4)))];
        rows.push(drawn(&Line { part: Part::Scope, row: Row::First, pieces }, None));
    }
    rows
}

impl Ui {
    /// The facts whole, then what the keys do.
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
            "  [Up] [Down] [PgUp] [PgDn] [Home] [End] move, [Tab] to the next part",
            "",
            "  keys count once it says ready; what is typed before is thrown away",
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
