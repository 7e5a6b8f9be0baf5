//! What a yes for the session would cover, in words and until when.

use askfirst::ApprovalRequest;
use askfirst::machine::Member;
use serde_json::Value;

use super::super::line::{Entry, Part};
use super::super::offer::{Choice, Offers};
use super::super::time::later;
use super::super::tree::Tree;
use super::body::owned;
use super::lines::Body;
use super::{Maker, Place, Stand};

impl Maker<'_> {
    pub(super) fn scope(&mut self, member: &Member, offers: &Offers) {
        let any = offers.has(Choice::Session) || offers.has(Choice::NoSession);
        if !any || self.stand == Stand::Head {
            return;
        }
        let request = &member.request;
        let mut exact = self.exact(request);
        if let Some(at) = member.remembered_until {
            let text = format!("forgotten {}, or when the session ends", later(self.options.now, at));
            exact.push(Entry::ours(Part::Scope, text));
        } else {
            exact.push(Entry::ours(Part::Scope, "forgotten when the session ends"));
        }
        let labels = offers.patterns.iter().filter_map(|at| request.patterns.get(*at));
        let labels: Vec<String> = labels.map(|pattern| pattern.label.clone()).collect();
        let wider: Vec<Entry> =
            labels.iter().map(|label| self.field(Part::Scope, "or wider", label)).collect();
        if self.member == 0 {
            self.scopes =
                std::iter::once(exact.clone()).chain(wider.iter().map(|entry| vec![entry.clone()])).collect();
        }
        exact.extend(wider);
        self.section(Place::Facts, "for the session means:", Body::Entries(exact));
    }

    /// What counts as the same call.
    fn exact(&mut self, request: &ApprovalRequest) -> Vec<Entry> {
        if let Some(same) = &request.same {
            return vec![self.field(Part::Scope, "only", same)];
        }
        if matches!(&request.payload, Value::Object(fields) if *fields == request.args) {
            return vec![Entry::ours(Part::Scope, "this tool with the same arguments")];
        }
        let mut entries =
            vec![Entry::ours(Part::Scope, "this tool with the same of these, whatever else differs:")];
        let payload = self.clean_value(&request.payload);
        let mut tree = Tree::new(Part::Scope, &mut self.counted);
        let drawn = tree.value(&payload);
        let long = std::mem::take(&mut tree.long);
        entries.extend(drawn.into_iter().map(|mut entry| {
            entry.indent += 2;
            entry
        }));
        self.apart(owned(long));
        entries
    }
}
