//! Redacts every text of a page and counts the secrets that it replaced.

use std::collections::BTreeSet;

use askfirst::{Args, Fact};
use serde_json::Value;

use super::PageBuilder;
use crate::redact::{Mark, MaskedText, digests};

impl PageBuilder<'_> {
    /// Redacts a text.
    pub(super) fn clean(&mut self, text: &str) -> String {
        let clean = self.about.text(text, Mark::Screen);
        self.count_secrets(clean.hidden, text, &clean.left);
        clean.left
    }

    /// Redacts a text about a call, including the values of its secret arguments.
    pub(super) fn clean_about(&mut self, args: &Args, text: &str) -> String {
        let clean = self.about.text_about(args, text, Mark::Screen);
        self.count_secrets(clean.hidden, text, &clean.left);
        clean.left
    }

    /// Redacts a command that a call would run. The result also maps positions in the command.
    pub(super) fn clean_command(&mut self, args: &Args, text: &str) -> MaskedText {
        let clean = self.about.command(args, text, Mark::Screen);
        self.count_secrets(clean.hidden(), text, &clean.left);
        clean
    }

    /// Redacts a fact.
    pub(super) fn clean_fact(&mut self, args: &Args, fact: &Fact) -> String {
        let clean = self.about.fact(args, fact, Mark::Screen);
        self.count_secrets(clean.hidden, &fact.text, &clean.left);
        clean.left
    }

    /// Redacts askfirst's own text. Guesses hide nothing in it.
    pub(super) fn clean_ours(&mut self, text: &str) -> String {
        let clean = self.about.ours(text, Mark::Screen);
        self.count_secrets(clean.hidden, text, &clean.left);
        clean.left
    }

    /// Redacts an owned text. A text without secrets is returned without a copy.
    pub(super) fn clean_text(&mut self, text: String) -> String {
        if self.about.is_clean(text.as_bytes()) { text } else { self.clean(&text) }
    }

    /// Redacts arguments.
    pub(super) fn clean_args(&mut self, args: &Args) -> Args {
        let clean = self.options.redactor.args(args, Mark::Screen);
        if clean.hidden > 0 {
            let [before, after] = [args, &clean.left].map(|args| Value::Object(args.clone()).to_string());
            self.count_secrets(clean.hidden, &before, &after);
        }
        clean.left
    }

    /// Redacts a value that is about a call.
    pub(super) fn clean_value(&mut self, value: &Value) -> Value {
        let clean = self.about.value(value, Mark::Screen);
        if clean.hidden > 0 {
            self.count_secrets(clean.hidden, &value.to_string(), &clean.left.to_string());
        }
        clean.left
    }

    /// Counts the secrets that were replaced in a text. Marks that were already in it do not count.
    fn count_secrets(&mut self, hidden: usize, before: &str, after: &str) {
        if hidden > 0 {
            let old: BTreeSet<&str> = digests(before).collect();
            self.secrets.extend(digests(after).filter(|digest| !old.contains(digest)).map(str::to_owned));
        }
    }
}
