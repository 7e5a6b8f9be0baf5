//! The scope of an answer that is remembered: the calls that it covers, where, and until when.

use askfirst::ApprovalRequest;
use askfirst::machine::Member;
use serde_json::Value;

use super::super::line::{Paragraph, Part};
use super::super::offer::{Choice, Offers};
use super::super::time::later;
use super::super::tree::Tree;
use super::body::owned;
use super::lines::Body;
use super::{Extent, PageBuilder, SectionRole};

/// How long a yes holds that is for always.
const UNTIL_REVOKED: &str = "until you revoke it with `askfirst memory`";

impl PageBuilder<'_> {
    pub(super) fn add_scope(&mut self, member: &Member, offers: &Offers) {
        let for_session = offers.has(Choice::Session) || offers.has(Choice::NoSession);
        if !(for_session || offers.has(Choice::Always)) || self.extent == Extent::Head {
            return;
        }
        let request = &member.request;
        let same = self.same_call(request);
        let mut exact = same.clone();
        if let Some(at) = member.remembered_until {
            let text = format!("forgotten {}, or when the session ends", later(self.options.now, at));
            exact.push(Paragraph::ours(Part::Scope, text));
        } else {
            exact.push(Paragraph::ours(Part::Scope, "forgotten when the session ends"));
        }
        let labels = offers.patterns.iter().filter_map(|at| request.patterns.get(*at));
        let labels: Vec<String> = labels.map(|pattern| pattern.label.clone()).collect();
        let wider: Vec<Paragraph> =
            labels.iter().map(|label| self.field(Part::Scope, "or wider", label)).collect();
        if let Some(project) = member.project.as_deref().filter(|_| offers.has(Choice::Always)) {
            let place = self.field(Part::Scope, "in the project", project);
            self.lasting_place = vec![place, Paragraph::ours(Part::Scope, UNTIL_REVOKED)];
            self.lasting_scopes.push(same.clone());
            self.lasting_scopes.extend(wider.iter().map(|paragraph| vec![paragraph.clone()]));
            if !for_session {
                let lasting = [same, wider, self.lasting_place.clone()].concat();
                let heading = "a yes, always in this project, covers:";
                return self.add_section(SectionRole::Content, heading, Body::Paragraphs(lasting));
            }
        }
        let is_group = offers.words.len() > 1;
        let number = Paragraph::ours(Part::Count, format!("call {}:", self.member + 1));
        let shown = is_group.then_some(number).into_iter().chain(exact.clone());
        match self.scopes.first_mut() {
            // One yes covers all members of a group.
            Some(all) => all.extend(shown),
            None => self.scopes.push(shown.collect()),
        }
        self.scopes.extend(wider.iter().map(|paragraph| vec![paragraph.clone()]));
        exact.extend(wider);
        self.add_section(SectionRole::Content, "an answer for the session covers:", Body::Paragraphs(exact));
    }

    /// The calls that count as the same call.
    fn same_call(&mut self, request: &ApprovalRequest) -> Vec<Paragraph> {
        if let Some(same) = &request.same {
            return vec![self.field(Part::Scope, "only", same)];
        }
        if matches!(&request.payload, Value::Object(fields) if *fields == request.args) {
            return vec![Paragraph::ours(Part::Scope, "this tool with the same arguments")];
        }
        let mut paragraphs = vec![Paragraph::ours(
            Part::Scope,
            "this tool with these values, whatever its other arguments are:",
        )];
        let payload = self.clean_value(&request.payload);
        let mut tree = Tree::new(Part::Scope, &mut self.counter);
        let drawn = tree.value(&payload);
        let long = std::mem::take(&mut tree.long);
        paragraphs.extend(drawn.into_iter().map(|mut paragraph| {
            paragraph.indent += 2;
            paragraph
        }));
        self.add_long_texts(owned(long));
        paragraphs
    }
}
