//! What a page says has no secrets in it, and each that was taken out is counted.

use std::collections::BTreeSet;

use askfirst::{Args, Fact};
use serde_json::Value;

use super::Maker;
use crate::redact::{Mark, Masked, digests};

impl Maker<'_> {
    /// A text without its secrets.
    pub(super) fn clean(&mut self, text: &str) -> String {
        let clean = self.about.text(text, Mark::Screen);
        self.took_out(clean.hidden, text, &clean.left);
        clean.left
    }

    /// The same of a text about a call.
    pub(super) fn clean_about(&mut self, args: &Args, text: &str) -> String {
        let clean = self.about.text_about(args, text, Mark::Screen);
        self.took_out(clean.hidden, text, &clean.left);
        clean.left
    }

    /// The same of a command that a call would run, with the places of what is left.
    pub(super) fn clean_command(&mut self, args: &Args, text: &str) -> Masked {
        let clean = self.about.command(args, text, Mark::Screen);
        self.took_out(clean.hidden(), text, &clean.left);
        clean
    }

    /// The same of a fact.
    pub(super) fn clean_fact(&mut self, args: &Args, fact: &Fact) -> String {
        let clean = self.about.fact(args, fact, Mark::Screen);
        self.took_out(clean.hidden, &fact.text, &clean.left);
        clean.left
    }

    /// The same of a text of ours.
    pub(super) fn clean_ours(&mut self, text: &str) -> String {
        let clean = self.about.ours(text, Mark::Screen);
        self.took_out(clean.hidden, text, &clean.left);
        clean.left
    }

    /// The same of a text that is not needed any more.
    pub(super) fn clean_text(&mut self, text: String) -> String {
        if self.about.is_clean(text.as_bytes()) { text } else { self.clean(&text) }
    }

    /// Arguments without their secrets.
    pub(super) fn clean_args(&mut self, args: &Args) -> Args {
        let clean = self.options.redactor.args(args, Mark::Screen);
        if clean.hidden > 0 {
            let [before, after] = [args, &clean.left].map(|args| Value::Object(args.clone()).to_string());
            self.took_out(clean.hidden, &before, &after);
        }
        clean.left
    }

    /// A value that is about a call, without its secrets.
    pub(super) fn clean_value(&mut self, value: &Value) -> Value {
        let clean = self.about.value(value, Mark::Screen);
        if clean.hidden > 0 {
            self.took_out(clean.hidden, &value.to_string(), &clean.left.to_string());
        }
        clean.left
    }

    /// Counts what was taken out of a text. A mark that stood in it before is none of ours.
    fn took_out(&mut self, hidden: usize, before: &str, after: &str) {
        if hidden > 0 {
            let old: BTreeSet<&str> = digests(before).collect();
            self.secrets.extend(digests(after).filter(|digest| !old.contains(digest)).map(str::to_owned));
        }
    }
}
