//! The window on a page: its position, scrolling, search, folding, and the paragraphs that were in it.

use askfirst_display::{Lifetime, Line};

use super::Ui;
use super::draw::document_head;
use super::scope::scope_len;
use crate::decode::Key;
use crate::keys::Screen;

/// The top of a window: a paragraph of the page, and a row of that paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Spot {
    pub(super) at: usize,
    pub(super) row: usize,
}

/// The direction of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// The paragraphs that were on screen to their end.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenParagraphs {
    seen: Vec<bool>,
    count: usize,
    len: usize,
}

impl SeenParagraphs {
    /// Starts again if the layout of the page changed.
    pub(super) fn fit(&mut self, len: usize) {
        if self.len != len {
            *self = Self { seen: vec![false; len], count: 0, len };
        }
    }

    pub(super) fn mark(&mut self, at: usize) {
        if let Some(seen) = self.seen.get_mut(at).filter(|seen| !**seen) {
            *seen = true;
            self.count += 1;
        }
    }

    pub(super) fn contains(&self, at: usize) -> bool {
        self.seen.get(at).copied().unwrap_or(false)
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }
}

/// One row in a window.
pub(super) struct WindowRow {
    pub(super) at: usize,
    pub(super) line: Line,
    /// The number of paragraphs that are folded into it.
    pub(super) folded: usize,
}

impl Ui {
    /// The number of paragraphs that scroll: all in the full view, and at the question those above the pinned ones.
    pub(super) fn len(&self) -> usize {
        let all = self.page.len(self.room());
        match self.keys.screen() {
            Screen::View(..) => all,
            Screen::Question | Screen::Rest | Screen::Scope(..) | Screen::Reason(_) | Screen::Args(_) => {
                all.saturating_sub(self.pinned)
            }
        }
    }

    /// The number of paragraphs after this one that are folded into it.
    fn hidden_behind(&self, at: usize) -> usize {
        if !self.folded.contains(&at) {
            return 0;
        }
        let room = self.room();
        let Some(depth) = self.page.depth(at, room) else { return 0 };
        (at + 1..self.len())
            .take_while(|next| self.page.depth(*next, room).is_some_and(|other| other > depth))
            .count()
    }

    fn after(&self, at: usize) -> usize {
        at + 1 + self.hidden_behind(at)
    }

    fn before(&self, at: usize) -> Option<usize> {
        let before = at.checked_sub(1)?;
        let covers = |fold: &&usize| **fold < before && self.after(**fold) > before;
        Some(self.folded.range(..at).find(covers).copied().unwrap_or(before))
    }

    /// The rows of a window.
    pub(super) fn window(&self, top: Spot, height: usize) -> Vec<WindowRow> {
        let (mut found, mut at, mut skip) = (Vec::new(), top.at, top.row);
        while found.len() < height && at < self.len() {
            let folded = self.hidden_behind(at);
            let rows = self.page.rows(at, self.room());
            for line in rows.into_iter().skip(skip).take(height - found.len()) {
                found.push(WindowRow { at, line, folded });
            }
            (at, skip) = (at + 1 + folded, 0);
        }
        found
    }

    /// Pins the context below the window, if it takes at most this many rows.
    pub(super) fn pin_context(&mut self, most: usize) {
        let room = self.room();
        let (all, context) = (self.page.len(room), self.page.context_len(room));
        let rows = (all.saturating_sub(context)..all).map(|at| self.page.rows(at, room).len());
        self.pinned = if rows.sum::<usize>() <= most { context } else { 0 };
    }

    /// The rows of the pinned paragraphs. They count as seen.
    pub(super) fn pinned_rows(&mut self) -> Vec<Line> {
        let room = self.room();
        let all = self.page.len(room);
        let pinned = all.saturating_sub(self.pinned)..all;
        if self.is_whole() {
            self.watched.fit(all);
            pinned.clone().for_each(|at| self.watched.mark(at));
        }
        pinned.flat_map(|at| self.page.rows(at, room)).collect()
    }

    /// Marks the paragraphs that a window shows to their end.
    pub(super) fn watch(&mut self, top: Spot, height: usize) {
        let len = self.len();
        self.watched.fit(self.page.len(self.room()));
        let (mut left, mut at, mut skip) = (height, top.at, top.row);
        while left > 0 && at < len {
            let rows = self.page.rows(at, self.room()).len().saturating_sub(skip);
            if rows > left {
                return;
            }
            self.watched.mark(at);
            left -= rows;
            (at, skip) = (self.after(at), 0);
        }
    }

    fn down(&self, from: Spot, rows: usize) -> Spot {
        let (mut spot, mut left) = (from, rows);
        loop {
            let height = self.page.rows(spot.at, self.room()).len();
            if spot.row + left < height {
                return Spot { row: spot.row + left, ..spot };
            }
            left -= height.saturating_sub(spot.row).min(left);
            let next = self.after(spot.at);
            if next >= self.len() {
                return Spot { row: height.saturating_sub(1), ..spot };
            }
            spot = Spot { at: next, row: 0 };
        }
    }

    fn up(&self, from: Spot, rows: usize) -> Spot {
        let (mut spot, mut left) = (from, rows);
        loop {
            if spot.row >= left {
                return Spot { row: spot.row - left, ..spot };
            }
            left -= spot.row + 1;
            let Some(before) = self.before(spot.at) else { return Spot::default() };
            spot = Spot { at: before, row: self.page.rows(before, self.room()).len().saturating_sub(1) };
        }
    }

    /// The last position from which the window is full.
    fn last(&self, height: usize) -> Spot {
        let Some(at) = self.before(self.len()) else { return Spot::default() };
        let row = self.page.rows(at, self.room()).len().saturating_sub(1);
        self.up(Spot { at, row }, height.saturating_sub(1))
    }

    fn step(&self, from: Spot, key: Key, height: usize) -> Option<Spot> {
        let page = height.saturating_sub(1).max(1);
        let to = match key {
            Key::Down | Key::Char('j') | Key::Enter => self.down(from, 1),
            Key::Up | Key::Char('k') => self.up(from, 1),
            Key::PageDown | Key::Char(' ' | 'f') => self.down(from, page),
            Key::PageUp | Key::Char('b') => self.up(from, page),
            Key::Home | Key::Char('g') => Spot::default(),
            Key::End | Key::Char('G') => self.last(height),
            Key::Tab => {
                let next = self.page.starts(self.room()).into_iter().find(|start| *start > from.at);
                Spot { at: next.unwrap_or(0), row: 0 }
            }
            _ => return None,
        };
        Some(to.min(self.last(height)))
    }

    pub(super) fn scroll_pane(&mut self, key: Key) {
        if let Some(to) = self.step(self.top, key, self.pane_height) {
            self.top = to;
        }
    }

    pub(super) fn scroll_view(&mut self, key: Key) {
        let height = self.view_height();
        match key {
            Key::Char('n') => self.find(Direction::Down, 1),
            Key::Char('N') => self.find(Direction::Up, 1),
            Key::Char('-') => self.fold(),
            Key::Char('+') => self.folded.clear(),
            Key::Char('q') => {
                self.notice = Some("go back with v or Esc: q works only at the request".to_owned());
            }
            _ => {
                if let Some(to) = self.step(self.view, key, height) {
                    self.view = to;
                }
            }
        }
    }

    pub(super) fn scroll_facts(&mut self, key: Key) {
        self.scroll_rows(key, self.view_height(), self.more.len());
    }

    pub(super) fn scroll_scopes(&mut self, key: Key, lifetime: Lifetime, marked: Option<usize>) {
        self.scroll_rows(key, self.pane_height, scope_len(self, lifetime, marked));
    }

    /// Scrolls rows that are not part of the page.
    fn scroll_rows(&mut self, key: Key, height: usize, len: usize) {
        let most = len.saturating_sub(height);
        let here = self.view.row.min(most);
        let row = match key {
            Key::Down | Key::Char('j') | Key::Enter => here + 1,
            Key::Up | Key::Char('k') => here.saturating_sub(1),
            Key::PageDown | Key::Char(' ') => here + height,
            Key::PageUp | Key::Char('b') => here.saturating_sub(height),
            Key::Home => 0,
            Key::End => most,
            _ => here,
        };
        self.view = Spot { at: 0, row: row.min(most) };
    }

    /// The rows of a document, between its title and its keys.
    pub(super) fn view_height(&self) -> usize {
        usize::from(self.size.1).saturating_sub(document_head(self).len() + 2).max(1)
    }

    /// Folds every outermost paragraph that has nested ones.
    fn fold(&mut self) {
        let room = self.room();
        let depths: Vec<Option<usize>> = (0..self.len()).map(|at| self.page.depth(at, room)).collect();
        for (at, pair) in depths.windows(2).enumerate() {
            if let [Some(depth), Some(next)] = pair
                && next > depth
                && *depth == 0
            {
                self.folded.insert(at);
            }
        }
        self.view = Spot::default();
    }

    /// Moves to the next paragraph that contains the searched text, starting `skip` paragraphs further.
    pub(super) fn find(&mut self, direction: Direction, skip: usize) {
        let Some(text) = self.search.as_ref().map(|text| text.to_lowercase()) else { return };
        let holds = |at: &usize| {
            let rows = self.page.rows(*at, self.room());
            rows.iter().map(Line::text).collect::<String>().to_lowercase().contains(&text)
        };
        let (here, len) = (self.view.at, self.len());
        let found = match direction {
            Direction::Down => (here + skip..len).chain(0..here.min(len)).find(holds),
            Direction::Up => (0..here).rev().chain((here..len).rev()).find(holds),
        };
        match found {
            Some(at) => {
                self.folded.clear();
                self.view = Spot { at, row: 0 };
            }
            None => self.notice = Some("not found".to_owned()),
        }
    }
}
