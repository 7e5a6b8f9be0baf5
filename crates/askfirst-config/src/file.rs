//! First stage of reading a config: parses YAML text into a tree with positions.
//!
//! This module knows YAML and its dangers, but no keys.
//! It stops at a syntax error. It reports a duplicate key and continues.

use std::collections::HashMap;
use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, StructureStyle};

use super::fault::Fault;
use super::node::{Comments, Entry, Node, Position, Source, Style, Value};
use super::quote::escape;
use super::scalar;

/// The maximum size of a config in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// The maximum number of nested levels.
pub(crate) const MAX_DEPTH: usize = 32;
/// The maximum number of values in a config.
pub(crate) const MAX_VALUES: usize = 100_000;
/// The maximum number of values that aliases may repeat.
pub(crate) const MAX_REPEATED: usize = 10_000;

/// A map with more keys than this uses a hash map to find duplicates.
const FEW: usize = 8;

/// The result of parsing a text.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: Node,
    pub(crate) comments: Vec<Comment>,
    /// Whether the text uses YAML aliases.
    pub(crate) has_aliases: bool,
    /// The errors about duplicate keys.
    pub(crate) faults: Vec<Fault>,
}

/// One comment, including its `#`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) text: String,
    pub(crate) start: usize,
}

/// Decodes the bytes of a config file as UTF-8.
pub(crate) fn decode(file: &std::path::Path, bytes: &[u8]) -> Result<Source, Fault> {
    let empty = Source::new(file, "");
    if bytes.len() > MAX_BYTES {
        return Err(empty.fault(&Position::start(), TOO_LARGE));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let source = Source::new(file, &String::from_utf8_lossy(good));
            let position = Position::of_byte(&source.text, source.text.len());
            return Err(source.fault(&position, "the file is not valid UTF-8"));
        }
    };
    Ok(Source::new(file, text))
}

const TOO_LARGE: &str = "the file is larger than 1 MiB";

/// Parses a text into a tree.
pub(crate) fn parse(source: &Source) -> Result<Tree, Fault> {
    if source.text.len() > MAX_BYTES {
        return Err(source.fault(&Position::start(), TOO_LARGE));
    }
    let is_forbidden = |c: char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || c == '\u{FFFE}';
    if let Some((at, bad)) = source.text.char_indices().find(|(_, c)| is_forbidden(*c)) {
        let position = Position::of_byte(&source.text, at);
        let message = format!("the character `{}` is not allowed", bad.escape_unicode());
        return Err(source.fault(&position, message));
    }
    let mut options = Options::default();
    // The limit on the size of the text also limits the comments.
    options.max_buffered_comment_events = MAX_BYTES;
    let mut builder = TreeBuilder {
        source,
        parser: Parser::new_from_str_with_options(&source.text, options),
        anchors: HashMap::new(),
        comments: Vec::new(),
        faults: Vec::new(),
        values: 0,
        repeated: 0,
        has_aliases: false,
    };
    let root = builder.parse_document()?;
    let TreeBuilder { comments, faults, has_aliases, .. } = builder;
    Ok(Tree { root, comments, has_aliases, faults })
}

struct TreeBuilder<'a> {
    source: &'a Source,
    parser: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    comments: Vec<Comment>,
    faults: Vec<Fault>,
    values: usize,
    /// The number of values that aliases have repeated so far.
    repeated: usize,
    has_aliases: bool,
}

impl<'a> TreeBuilder<'a> {
    fn parse_document(&mut self) -> Result<Node, Fault> {
        let mut root = None;
        loop {
            let (event, span) = self.next_event()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) => {
                    if root.is_some() {
                        let message = "a second YAML document starts here";
                        let fault = self.source.fault(&self.position_of(&span), message);
                        return Err(with_hint(fault, "remove the `---` line: a config is a single document"));
                    }
                }
                event => root = Some(self.parse_node(event, &span, 0)?),
            }
        }
        Ok(root.unwrap_or_else(|| Node::generated(Value::Null, &Position::start())))
    }

    /// Returns the next event that is not a comment, and collects the comments before it.
    fn next_event(&mut self) -> Result<(Event<'a>, Span), Fault> {
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
                    let position = Position {
                        span: range_at(&self.source.text, marker.byte_offset().unwrap_or_default()),
                        line: fit(marker.line()),
                        column: fit(marker.col() + 1),
                    };
                    let message = format!("invalid YAML: {}", escape(&error.info()));
                    return Err(self.source.fault(&position, message));
                }
            }
        }
    }

    fn position_of(&self, span: &Span) -> Position {
        let span_bytes = span.byte_range().unwrap_or_default();
        let line = fit(span.start.line().max(1));
        Position { span: span_bytes, line, column: fit(span.start.col() + 1) }
    }

    fn parse_node(&mut self, event: Event<'a>, span: &Span, depth: usize) -> Result<Node, Fault> {
        let position = self.position_of(span);
        if depth > MAX_DEPTH {
            return Err(self.source.fault(&position, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.source.fault(&position, format!("the file has more than {MAX_VALUES} values")));
        }
        let (anchor, tagged, node) = match event {
            Event::Alias(anchor) => return self.repeat_anchor(anchor, position, depth),
            Event::Scalar(text, style, anchor, tag) => {
                let node = match style {
                    ScalarStyle::Plain => self.build_node(scalar::parse_plain(&text), position, Style::Flow),
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                        self.build_node(Value::Text(text.into_owned()), position, Style::Flow)
                    }
                    ScalarStyle::Literal | ScalarStyle::Folded => {
                        self.build_block_scalar(text.into_owned(), position)
                    }
                };
                (anchor, tag.is_some(), node)
            }
            Event::SequenceStart(style, anchor, tag) => {
                let node = self.parse_list(position, style, depth)?;
                (anchor, tag.is_some(), node)
            }
            Event::MappingStart(style, anchor, tag) => {
                let node = self.parse_map(position, style, depth)?;
                (anchor, tag.is_some(), node)
            }
            _ => return Err(self.source.fault(&position, "invalid YAML")),
        };
        if tagged {
            return Err(self.source.fault(&node.position, "YAML tags are not supported"));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn build_node(&self, value: Value, mut position: Position, style: Style) -> Node {
        // The parser's span may include the line break after the value.
        let text = self.source.text.get(position.span.clone()).unwrap_or_default();
        position.span.end = position.span.start + text.trim_end().len();
        let source = Some(position.span.clone());
        Node { value, position, style, source, comments: Comments::default() }
    }

    /// Builds the node of a block scalar. The parser's span omits the `|` or `>` before the lines.
    fn build_block_scalar(&self, text: String, mut position: Position) -> Node {
        let end = self.source.text.get(position.span.clone()).unwrap_or_default().trim_end().len();
        position.span.end = position.span.start + end;
        // Spaces at the end of the last line belong to the text.
        let behind = self.source.text.get(position.span.end..).unwrap_or_default();
        let line_end = behind.find('\n');
        let blanks = behind.get(..line_end.unwrap_or(behind.len())).unwrap_or_default();
        if blanks.trim().is_empty() {
            position.span.end += blanks.len();
        }
        let header = block_header_before(&self.source.text, position.span.start);
        if let Some(header) = &header {
            let between = self.source.text.get(header.start..position.span.start).unwrap_or_default();
            position.line = position.line.saturating_sub(fit(between.matches('\n').count()));
            position.column = fit(column_of(&self.source.text, header.start));
            position.span.start = header.start;
        }
        // A copy could differ if `+` keeps the blank lines at the end, or if the last line has no line break.
        let can_copy = |header: &&Range<usize>| {
            let header = self.source.text.get((*header).clone()).unwrap_or_default();
            !header.contains('+') && line_end.is_some()
        };
        let source = header.as_ref().filter(can_copy).map(|_| position.span.clone());
        Node {
            value: Value::Text(text),
            position,
            style: Style::BlockScalar,
            source,
            comments: Comments::default(),
        }
    }

    fn parse_list(&mut self, position: Position, style: StructureStyle, depth: usize) -> Result<Node, Fault> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next_event()?;
            if event == Event::SequenceEnd {
                let end = items.last().map_or(position.span.end, |item: &Node| item.position.span.end);
                return Ok(self.build_collection(Value::List(items), position, style, &span, end));
            }
            items.push(self.parse_node(event, &span, depth + 1)?);
        }
    }

    fn parse_map(&mut self, position: Position, style: StructureStyle, depth: usize) -> Result<Node, Fault> {
        let mut entries: Vec<Entry> = Vec::with_capacity(1);
        let mut lines: HashMap<String, u32> = HashMap::new();
        let mut end = position.span.end;
        loop {
            let (event, span) = self.next_event()?;
            if event == Event::MappingEnd {
                return Ok(self.build_collection(Value::Map(entries), position, style, &span, end));
            }
            let at = self.position_of(&span);
            let Event::Scalar(key, _, 0, None) = event else {
                let fault = self.source.fault(&at, "a key must be plain text");
                return Err(with_hint(fault, "lists, maps, aliases and tags cannot be keys"));
            };
            let key = key.into_owned();
            if key == "<<" {
                let fault = self.source.fault(&at, "the merge key `<<` is not supported");
                return Err(with_hint(fault, "copy the keys into this map"));
            }
            let (event, span) = self.next_event()?;
            let value = self.parse_node(event, &span, depth + 1)?;
            end = value.position.span.end.max(at.span.end);
            let first = match entries.len() {
                0..=FEW => entries.iter().find(|entry| entry.key == key).map(|entry| entry.at.line),
                _ => lines.get(&key).copied(),
            };
            if let Some(first) = first {
                let message = format!("duplicate key `{}`", escape(&key));
                let fault = self.source.fault(&at, message);
                self.faults
                    .push(with_hint(fault, format!("remove one of the two; the first is on line {first}")));
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

    fn build_collection(
        &self,
        value: Value,
        position: Position,
        style: StructureStyle,
        close: &Span,
        last: usize,
    ) -> Node {
        let (style, end) = match style {
            StructureStyle::Flow => (Style::Flow, close.byte_range().map_or(last, |range| range.end)),
            StructureStyle::Block => (Style::Block, last),
        };
        let end = end.max(position.span.start);
        let mut node = self.build_node(value, Position { span: position.span.start..end, ..position }, style);
        // Spaces at the end of the last line may belong to a block scalar.
        let cut = self.source.text.get(node.position.span.end..end).unwrap_or_default();
        node.position.span.end += cut.len() - cut.trim_start_matches([' ', '\t']).len();
        node.source = Some(node.position.span.clone());
        node
    }

    fn repeat_anchor(&mut self, anchor: usize, position: Position, depth: usize) -> Result<Node, Fault> {
        self.has_aliases = true;
        let Some(found) = self.anchors.get(&anchor) else {
            return Err(self.source.fault(&position, "the alias refers to a value that contains it"));
        };
        self.repeated = self.repeated.saturating_add(found.size());
        if self.repeated > MAX_REPEATED || depth + found.height() > MAX_DEPTH {
            return Err(self.source.fault(&position, "the aliases expand to too much data"));
        }
        Ok(Node { position, source: None, ..found.clone() })
    }
}

/// Finds the header of a block scalar: the `|` or `>` with its indicators. A comment may follow the header.
fn block_header_before(text: &str, lines: usize) -> Option<Range<usize>> {
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
    Position::of_byte(text, at).span
}

fn fit(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "file/tests.rs"]
mod tests;
