//! Stage one: the text of a config becomes a tree with places. It knows YAML and its dangers, and no keys.
//!
//! A syntax error ends it, for there is no tree then. A duplicate key does not: it is noted, and the rest is read.

use std::collections::HashMap;
use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, StructureStyle};

use super::fault::Fault;
use super::node::{Entry, Node, Notes, Place, Source, Style, Value};
use super::quote::quoted;
use super::scalar;

/// The largest text that is read.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting that is read.
pub(crate) const MAX_DEPTH: usize = 32;
/// The most values that are read.
pub(crate) const MAX_VALUES: usize = 100_000;
/// The most values that aliases may repeat.
pub(crate) const MAX_REPEATED: usize = 10_000;

/// Up to so many keys of one map are looked through one by one.
const FEW: usize = 8;

/// What a text is made of.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: Node,
    pub(crate) comments: Vec<Comment>,
    /// Whether something is written once and meant twice.
    pub(crate) aliases: bool,
    /// Duplicate keys.
    pub(crate) faults: Vec<Fault>,
}

/// One comment, with its `#`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) text: String,
    pub(crate) start: usize,
}

/// Takes bytes as text.
pub(crate) fn decode(file: &std::path::Path, bytes: &[u8]) -> Result<Source, Fault> {
    let empty = Source::new(file, "");
    if bytes.len() > MAX_BYTES {
        return Err(empty.fault(&Place::start(), "the file is larger than 1 MiB"));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let source = Source::new(file, &String::from_utf8_lossy(good));
            let place = Place::of_byte(&source.text, source.text.len());
            return Err(source.fault(&place, "the file is not UTF-8"));
        }
    };
    Ok(Source::new(file, text))
}

/// Reads a text into a tree.
pub(crate) fn parse(source: &Source) -> Result<Tree, Fault> {
    if source.text.len() > MAX_BYTES {
        return Err(source.fault(&Place::start(), "the file is larger than 1 MiB"));
    }
    let refused = |c: char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || c == '\u{FFFE}';
    if let Some((at, bad)) = source.text.char_indices().find(|(_, c)| refused(*c)) {
        let place = Place::of_byte(&source.text, at);
        return Err(source.fault(&place, format!("`{}` is not allowed here", bad.escape_unicode())));
    }
    let mut options = Options::default();
    // A long comment is no danger in a text of this size.
    options.max_buffered_comment_events = MAX_BYTES;
    let mut reading = Reading {
        source,
        parser: Parser::new_from_str_with_options(&source.text, options),
        anchors: HashMap::new(),
        comments: Vec::new(),
        faults: Vec::new(),
        values: 0,
        repeated: 0,
        aliases: false,
    };
    let root = reading.document()?;
    let Reading { comments, faults, aliases, .. } = reading;
    Ok(Tree { root, comments, aliases, faults })
}

struct Reading<'a> {
    source: &'a Source,
    parser: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    comments: Vec<Comment>,
    faults: Vec<Fault>,
    values: usize,
    repeated: usize,
    aliases: bool,
}

impl<'a> Reading<'a> {
    fn document(&mut self) -> Result<Node, Fault> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) => {
                    if root.is_some() {
                        let fault = self.source.fault(&self.place(&span), "a second document begins here");
                        return Err(with_hint(fault, "a config is one document, so remove `---`"));
                    }
                }
                event => root = Some(self.node(event, &span, 0)?),
            }
        }
        Ok(root.unwrap_or_else(|| Node::made(Value::Null, &Place::start())))
    }

    /// The next event that is not a comment.
    fn next(&mut self) -> Result<(Event<'a>, Span), Fault> {
        loop {
            match self.parser.next_event() {
                None => return Ok((Event::StreamEnd, Span::default())),
                Some(Ok((Event::Comment(..), span))) => {
                    if let Some(range) = span.byte_range() {
                        let text = self.source.text.get(range.clone()).unwrap_or_default().to_owned();
                        self.comments.push(Comment { text, start: range.start });
                    }
                }
                Some(Ok(found)) => return Ok(found),
                Some(Err(error)) => {
                    let marker = error.marker();
                    let place = Place {
                        span: range_at(&self.source.text, marker.byte_offset().unwrap_or_default()),
                        line: fit(marker.line()),
                        column: fit(marker.col() + 1),
                    };
                    let message = format!("this is not YAML: {}", quoted(&error.info()));
                    return Err(self.source.fault(&place, message));
                }
            }
        }
    }

    fn place(&self, span: &Span) -> Place {
        let span_bytes = span.byte_range().unwrap_or_default();
        let line = fit(span.start.line().max(1));
        Place { span: span_bytes, line, column: fit(span.start.col() + 1) }
    }

    fn node(&mut self, event: Event<'a>, span: &Span, depth: usize) -> Result<Node, Fault> {
        let place = self.place(span);
        if depth > MAX_DEPTH {
            return Err(self.source.fault(&place, format!("nested deeper than {MAX_DEPTH}")));
        }
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.source.fault(&place, format!("there are more than {MAX_VALUES} values")));
        }
        let (anchor, tagged, node) = match event {
            Event::Alias(anchor) => return self.repeat(anchor, place, depth),
            Event::Scalar(text, style, anchor, tag) => {
                let node = match style {
                    ScalarStyle::Plain => self.made(scalar::plain(&text), place, Style::Flow),
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                        self.made(Value::Text(text.into_owned()), place, Style::Flow)
                    }
                    ScalarStyle::Literal | ScalarStyle::Folded => self.lines(text.into_owned(), place),
                };
                (anchor, tag.is_some(), node)
            }
            Event::SequenceStart(style, anchor, tag) => {
                let node = self.list(place, style, depth)?;
                (anchor, tag.is_some(), node)
            }
            Event::MappingStart(style, anchor, tag) => {
                let node = self.map(place, style, depth)?;
                (anchor, tag.is_some(), node)
            }
            _ => return Err(self.source.fault(&place, "this is not YAML")),
        };
        if tagged {
            return Err(self.source.fault(&node.place, "tags are not read here"));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn made(&self, value: Value, mut place: Place, style: Style) -> Node {
        // Some spans run on over the line break behind them.
        let text = self.source.text.get(place.span.clone()).unwrap_or_default();
        place.span.end = place.span.start + text.trim_end().len();
        let source = Some(place.span.clone());
        Node { value, place, style, source, notes: Notes::default() }
    }

    /// A text of lines. The parser says where they are, and not where the sign before them is.
    fn lines(&self, text: String, mut place: Place) -> Node {
        let end = self.source.text.get(place.span.clone()).unwrap_or_default().trim_end().len();
        place.span.end = place.span.start + end;
        // Blanks at the end of a line belong to it.
        let behind = self.source.text.get(place.span.end..).unwrap_or_default();
        let line_end = behind.find('\n');
        let blanks = behind.get(..line_end.unwrap_or(behind.len())).unwrap_or_default();
        if blanks.trim().is_empty() {
            place.span.end += blanks.len();
        }
        let sign = sign_before(&self.source.text, place.span.start);
        if let Some(sign) = &sign {
            let between = self.source.text.get(sign.start..place.span.start).unwrap_or_default();
            place.line = place.line.saturating_sub(fit(between.matches('\n').count()));
            place.column = fit(column_of(&self.source.text, sign.start));
            place.span.start = sign.start;
        }
        // Where lines are kept that are not there to be seen, or the last one has no end, a copy would not be the same.
        let keeps = |sign: &&Range<usize>| {
            let sign = self.source.text.get((*sign).clone()).unwrap_or_default();
            !sign.contains('+') && line_end.is_some()
        };
        let source = sign.as_ref().filter(keeps).map(|_| place.span.clone());
        Node { value: Value::Text(text), place, style: Style::Lines, source, notes: Notes::default() }
    }

    fn list(&mut self, place: Place, style: StructureStyle, depth: usize) -> Result<Node, Fault> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                let end = items.last().map_or(place.span.end, |item: &Node| item.place.span.end);
                return Ok(self.collection(Value::List(items), place, style, &span, end));
            }
            items.push(self.node(event, &span, depth + 1)?);
        }
    }

    fn map(&mut self, place: Place, style: StructureStyle, depth: usize) -> Result<Node, Fault> {
        let mut entries: Vec<Entry> = Vec::with_capacity(1);
        let mut lines: HashMap<String, u32> = HashMap::new();
        let mut end = place.span.end;
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(self.collection(Value::Map(entries), place, style, &span, end));
            }
            let at = self.place(&span);
            let Event::Scalar(key, _, 0, None) = event else {
                let fault = self.source.fault(&at, "a key must be a plain word");
                return Err(with_hint(fault, "lists, maps, aliases and tags cannot be keys"));
            };
            let key = key.into_owned();
            if key == "<<" {
                let fault = self.source.fault(&at, "the merge key `<<` is not read");
                return Err(with_hint(fault, "write the keys out"));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, &span, depth + 1)?;
            end = value.place.span.end.max(at.span.end);
            let first = match entries.len() {
                0..=FEW => entries.iter().find(|entry| entry.key == key).map(|entry| entry.at.line),
                _ => lines.get(&key).copied(),
            };
            if let Some(first) = first {
                let message = format!("the key `{}` stands twice", quoted(&key));
                let fault = self.source.fault(&at, message);
                self.faults.push(with_hint(fault, format!("it stands first in line {first}")));
                continue;
            }
            if entries.len() == FEW {
                lines.extend(entries.iter().map(|entry| (entry.key.clone(), entry.at.line)));
            }
            if entries.len() >= FEW {
                lines.insert(key.clone(), at.line);
            }
            let source = Some(at.span.clone());
            entries.push(Entry { key, at, source, value });
        }
    }

    fn collection(
        &self,
        value: Value,
        place: Place,
        style: StructureStyle,
        close: &Span,
        last: usize,
    ) -> Node {
        let (style, end) = match style {
            StructureStyle::Flow => (Style::Flow, close.byte_range().map_or(last, |range| range.end)),
            StructureStyle::Block => (Style::Block, last),
        };
        let end = end.max(place.span.start);
        let mut node = self.made(value, Place { span: place.span.start..end, ..place }, style);
        // Blanks at the end of the last line may belong to a text.
        let cut = self.source.text.get(node.place.span.end..end).unwrap_or_default();
        node.place.span.end += cut.len() - cut.trim_start_matches([' ', '\t']).len();
        node.source = Some(node.place.span.clone());
        node
    }

    fn repeat(&mut self, anchor: usize, place: Place, depth: usize) -> Result<Node, Fault> {
        self.aliases = true;
        let Some(found) = self.anchors.get(&anchor) else {
            return Err(self.source.fault(&place, "the alias stands inside of what it names"));
        };
        self.repeated = self.repeated.saturating_add(found.size());
        if self.repeated > MAX_REPEATED || depth + found.height() > MAX_DEPTH {
            return Err(self.source.fault(&place, "aliases repeat too much"));
        }
        Ok(Node { place, source: None, ..found.clone() })
    }
}

/// The `|` or `>` before a text of lines, with what belongs to it. A comment may follow it on its line.
fn sign_before(text: &str, lines: usize) -> Option<Range<usize>> {
    let before = text.get(..lines)?.trim_end();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.get(start..)?;
    line.match_indices(['|', '>']).find_map(|(at, _)| {
        let rest = line.get(at + 1..)?;
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
        let ends =
            behind.trim().is_empty() || behind.starts_with([' ', '\t']) && behind.trim().starts_with('#');
        let begins = line.get(..at)?.ends_with([' ', '\t']);
        (begins && ends).then(|| start + at..start + at + 1 + rest.len() - behind.len())
    })
}

fn column_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.rsplit('\n').next().unwrap_or_default().chars().count() + 1
}

fn with_hint(mut fault: Fault, hint: impl Into<String>) -> Fault {
    fault.hint = Some(hint.into());
    fault
}

fn range_at(text: &str, at: usize) -> Range<usize> {
    Place::of_byte(text, at).span
}

fn fit(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "file/tests.rs"]
mod tests;
