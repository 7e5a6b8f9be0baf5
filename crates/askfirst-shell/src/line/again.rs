//! Blocks that run more than once: what one of them may change is not known where it begins.

use super::state::{State, squeezed};
use super::syntax::{Kind, Node, Span, Stmt};
use super::walk::Walker;

impl Walker<'_> {
    /// Whether one of these words stands in a block.
    pub(super) fn mentions(&self, block: &[Stmt], words: &[&str]) -> bool {
        let (Some(first), Some(last)) = (block.first(), block.last()) else { return false };
        let text = self.slice(&(first.span.start.min(last.span.end)..last.span.end));
        words.iter().any(|word| text.contains(word))
    }

    /// Forgets what these blocks may change, since they run more than once.
    pub(super) fn weaken(&mut self, blocks: &[&[Stmt]], state: &mut State) {
        let mut parts = Vec::new();
        for block in blocks {
            if let (Some(first), Some(last)) = (block.first(), block.last()) {
                parts.push(first.span.start.min(last.span.end)..last.span.end);
            }
            block.iter().for_each(|stmt| streams(stmt, &mut parts));
        }
        let raw = parts.iter().map(|part| self.slice(part)).collect::<Vec<_>>().join("\n");
        let text = squeezed(&raw);
        for word in ["cd", "pushd", "popd", "eval"] {
            if text.contains(word) || !self.functions.is_empty() {
                state.lose_folders();
            }
        }
        if !self.functions.is_empty() || super::special::assigns(&text) {
            state.forget();
        }
        state.loosen(&raw, &text);
    }
}

/// Where streams of a statement stand: some behind its end, as what is read from the text does.
fn streams(stmt: &Stmt, parts: &mut Vec<Span>) {
    for redirect in &stmt.redirects {
        parts.push(redirect.span.clone());
        if let Kind::Doc { body, .. } = &redirect.kind {
            parts.push(body.clone());
        }
    }
    match &stmt.node {
        Node::Simple(..) | Node::Arithmetic(_) | Node::Test(_) | Node::Time(None) => {}
        Node::And(left, right) | Node::Or(left, right) => {
            streams(left, parts);
            streams(right, parts);
        }
        Node::If(arms, other) => {
            let arms = arms.iter().flat_map(|(condition, body)| condition.iter().chain(body));
            arms.chain(other.iter().flatten()).for_each(|stmt| streams(stmt, parts));
        }
        Node::While(_, condition, body) => {
            condition.iter().chain(body).for_each(|stmt| streams(stmt, parts));
        }
        Node::Case(_, arms) => {
            arms.iter().flat_map(|(_, body)| body).for_each(|stmt| streams(stmt, parts));
        }
        Node::Pipe(body)
        | Node::For(_, _, _, body)
        | Node::Count(_, body)
        | Node::Subshell(body)
        | Node::Group(body) => body.iter().for_each(|stmt| streams(stmt, parts)),
        Node::Time(Some(inner)) => streams(inner, parts),
        Node::Function(_, body) => streams(body, parts),
    }
}
