//! A second parser with an eye of its own: it must find the same simple commands, word by word.

use std::borrow::Cow;

use rable::{Node, NodeKind};

use super::guard::depth;
use super::quiet::quietly;
use super::tree::Line;

/// How deep brackets may nest before it.
const DEPTH: usize = 8;
/// How many substitutions it is given.
const SUBSTITUTIONS: usize = 64;

/// How many texts of here-documents and defaults it is given by themselves.
const TEXTS: usize = 32;

/// How much it is given: bytes by levels of brackets, squared.
const WORK: usize = 100_000;

/// What stands for a whole `[[ … ]]`: both see one, and its parts start nothing.
const TEST: &str = "[[";

/// Whether it finds the same.
pub(super) fn agrees(text: &str, line: &Line) -> bool {
    let begins = |two: &&[u8]| matches!(two, [b'$' | b'<' | b'>', b'('] | [_, b'`']);
    // A backquote that stands first has nothing before it.
    let opened = text.as_bytes().windows(2).filter(begins).count() + usize::from(text.starts_with('`'));
    let levels = depth(text);
    if levels > DEPTH || opened > SUBSTITUTIONS || text.contains('\0') || text.len() > 8192 {
        return false;
    }
    // It reads what is nested again at each level.
    let levels = levels.max(1);
    if text.len() * levels * levels > WORK {
        return false;
    }
    let parsed = quietly(|| rable::parse(text, false));
    let Some(Ok(nodes)) = parsed else { return false };
    let mut seen = Seen::default();
    for node in &nodes {
        seen.node(node, 0);
    }
    if seen.lost {
        return false;
    }
    let mut ours = ours(text, line);
    seen.commands.sort();
    seen.commands.dedup();
    ours.sort();
    ours.dedup();
    // A call of a function of the line is a command to the parser, but none that starts a program.
    seen.commands.retain(|words| !matches!(words.as_slice(), [name, ..] if seen.functions.contains(name)));
    let function = |name: &str| seen.functions.iter().any(|own| own == name);
    ours.retain(|words| !matches!(words.as_slice(), [name, ..] if function(name)));
    seen.commands == ours
}

/// The words of our commands as they are written, once per place.
fn ours<'t>(text: &'t str, line: &Line) -> Vec<Vec<Cow<'t, str>>> {
    line.commands
        .iter()
        .filter_map(|command| {
            let mut spans: Vec<_> = command.words.iter().map(|word| &word.span).collect();
            spans.dedup();
            let words = spans.into_iter().map(|span| tidy(text.get(span.clone()).unwrap_or("\u{0}")));
            let mut words: Vec<_> = words.collect();
            if words.first().is_some_and(|first| first == TEST) {
                words.truncate(1);
            }
            (!words.is_empty()).then_some(words)
        })
        .collect()
}

fn tidy(word: &str) -> Cow<'_, str> {
    if word.contains("\\\n") { Cow::Owned(word.replace("\\\n", "")) } else { Cow::Borrowed(word) }
}

/// A text without what a backslash takes its meaning from.
fn unescaped(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else {
            bare.push(letter);
        }
    }
    bare
}

#[derive(Default)]
struct Seen {
    commands: Vec<Vec<String>>,
    functions: Vec<String>,
    /// How many texts were read by themselves.
    texts: usize,
    /// Whether such a text is being read.
    inside: bool,
    lost: bool,
}

impl Seen {
    fn all<'a>(&mut self, nodes: impl IntoIterator<Item = &'a Node>, depth: usize) {
        for node in nodes {
            self.node(node, depth);
        }
    }

    /// A text that the parser hands on as it stands: what runs in it is looked for as if it stood in double quotes.
    fn hides(&mut self, text: &str, depth: usize) {
        // Each of the signs has one of these in it.
        if !text.contains(['`', '(']) {
            return;
        }
        let bare = unescaped(text);
        let odd = ["`", "<(", ">("].iter().any(|sign| bare.contains(sign));
        if (!odd && !bare.contains("$(")) || self.lost {
            return;
        }
        self.texts += 1;
        // What is handed on a second time is not read at all.
        if odd || self.inside || self.texts > TEXTS {
            self.lost = true;
            return;
        }
        let quoted = format!(": \"{text}\"");
        match quietly(|| rable::parse(&quoted, false)) {
            Some(Ok(nodes)) => match nodes.as_slice() {
                [Node { kind: NodeKind::Command { assignments, words, redirects }, .. }]
                    if assignments.is_empty() && redirects.is_empty() && words.len() == 2 =>
                {
                    self.inside = true;
                    self.all(words, depth);
                    self.inside = false;
                }
                _ => self.lost = true,
            },
            Some(Err(_)) | None => self.lost = true,
        }
    }

    fn node(&mut self, node: &Node, depth: usize) {
        use NodeKind as K;
        if depth > 200 {
            self.lost = true;
            return;
        }
        let depth = depth + 1;
        match &node.kind {
            K::Command { assignments, words, redirects } => {
                let list: Vec<String> = words
                    .iter()
                    .map(|word| match &word.kind {
                        K::Word { value, .. } => tidy(value).into_owned(),
                        _ => {
                            self.lost = true;
                            String::new()
                        }
                    })
                    .collect();
                if !list.is_empty() {
                    self.commands.push(list);
                }
                self.all(assignments, depth);
                self.all(words, depth);
                self.all(redirects, depth);
            }
            K::Word { parts, value, .. } => {
                if parts.is_empty() {
                    self.hides(value, depth);
                }
                // Arithmetic that is more than numbers and names is left as it stands in the word.
                if parts.iter().any(|part| matches!(part.kind, K::ArithmeticExpansion { expression: None })) {
                    let from = value.find("$((").map(|at| at + "$((".len());
                    let inner = from.zip(value.rfind("))")).and_then(|(from, to)| value.get(from..to));
                    self.hides(inner.unwrap_or(value), depth);
                }
                self.all(parts, depth);
            }
            K::WordLiteral { value } => {
                // Quoted text is one literal part; what could run in it is counted against it unless single-quoted.
                if !value.starts_with('\'') {
                    self.hides(value, depth);
                }
            }
            K::Pipeline { commands, .. } => self.all(commands, depth),
            K::List { items } => self.all(items.iter().map(|item| &item.command), depth),
            K::If { condition, then_body, else_body, redirects } => {
                self.all([condition.as_ref(), then_body.as_ref()], depth);
                self.all(else_body.as_deref(), depth);
                self.all(redirects, depth);
            }
            K::While { condition, body, redirects } | K::Until { condition, body, redirects } => {
                self.all([condition.as_ref(), body.as_ref()], depth);
                self.all(redirects, depth);
            }
            K::For { words, body, redirects, .. } | K::Select { words, body, redirects, .. } => {
                self.all(words.iter().flatten(), depth);
                self.node(body, depth);
                self.all(redirects, depth);
            }
            K::ForArith { init, cond, incr, body, redirects } => {
                for text in [init, cond, incr] {
                    self.hides(text, depth);
                }
                self.node(body, depth);
                self.all(redirects, depth);
            }
            K::Case { word, patterns, redirects } => {
                self.node(word, depth);
                for pattern in patterns {
                    self.all(&pattern.patterns, depth);
                    self.all(&pattern.body, depth);
                }
                self.all(redirects, depth);
            }
            K::Function { name, body } => {
                self.functions.push(name.clone());
                self.node(body, depth);
            }
            K::Subshell { body, redirects } | K::BraceGroup { body, redirects } => {
                self.node(body, depth);
                self.all(redirects, depth);
            }
            K::Coproc { command, .. } => self.node(command, depth),
            K::Redirect { target, .. } => self.node(target, depth),
            K::HereDoc { content, quoted, complete, .. } => {
                self.lost |= !complete;
                if !quoted {
                    self.hides(content, depth);
                }
            }
            K::ParamExpansion { param, op, arg } | K::ParamIndirect { param, op, arg } => {
                self.hides(param, depth);
                op.iter().chain(arg).for_each(|text| self.hides(text, depth));
            }
            K::ParamLength { param } => self.hides(param, depth),
            K::CommandSubstitution { command, .. } | K::ProcessSubstitution { command, .. } => {
                self.node(command, depth)
            }
            K::AnsiCQuote { .. } | K::BraceExpansion { .. } | K::Empty | K::Comment { .. } => {}
            K::LocaleString { inner, .. } => self.hides(inner, depth),
            K::ArithmeticExpansion { expression } => self.all(expression.as_deref(), depth),
            K::ArithmeticCommand { raw_content, redirects, .. } => {
                self.hides(raw_content, depth);
                self.all(redirects, depth);
            }
            K::ArithNumber { .. } | K::ArithVar { .. } | K::ArithEmpty | K::ArithEscape { .. } => {}
            K::ArithBinaryOp { left, right, .. } | K::ArithComma { left, right } => {
                self.all([left.as_ref(), right.as_ref()], depth);
            }
            K::ArithUnaryOp { operand, .. }
            | K::ArithPreIncr { operand }
            | K::ArithPostIncr { operand }
            | K::ArithPreDecr { operand }
            | K::ArithPostDecr { operand } => self.node(operand, depth),
            K::ArithAssign { target, value, .. } => self.all([target.as_ref(), value.as_ref()], depth),
            K::ArithTernary { condition, if_true, if_false } => {
                self.node(condition, depth);
                self.all(if_true.as_deref(), depth);
                self.all(if_false.as_deref(), depth);
            }
            K::ArithSubscript { index, .. } => self.node(index, depth),
            K::ArithDeprecated { expression } => self.hides(expression, depth),
            K::ArithConcat { parts } => self.all(parts, depth),
            K::ConditionalExpr { body, redirects } => {
                self.commands.push(vec![TEST.to_owned()]);
                self.node(body, depth);
                self.all(redirects, depth);
            }
            K::UnaryTest { operand, .. } => self.node(operand, depth),
            K::BinaryTest { left, right, .. } | K::CondAnd { left, right } | K::CondOr { left, right } => {
                self.all([left.as_ref(), right.as_ref()], depth);
            }
            K::CondNot { operand } => self.node(operand, depth),
            K::CondParen { inner } => self.node(inner, depth),
            K::CondTerm { value, .. } => self.hides(value, depth),
            K::Negation { pipeline } | K::Time { pipeline, .. } => self.node(pipeline, depth),
            K::Array { elements } => self.all(elements, depth),
        }
    }
}
