//! Which tools a policy offers at all. The creator of the policy decides it with a function.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Policy;
use crate::verdict::Because;

/// The function that says which tools are offered, and the rule that it comes from.
#[derive(Clone)]
pub(super) struct Offer {
    includes: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    origin: Because,
}

impl Policy {
    /// Denies every call of a tool for which `includes` returns false.
    #[must_use]
    pub fn with_offer(
        mut self,
        includes: impl Fn(&str) -> bool + Send + Sync + 'static,
        origin: Because,
    ) -> Self {
        self.offer = Some(Offer { includes: Arc::new(includes), origin });
        self
    }

    /// Sets the tools that a project's config defines, but does not offer because the user does not trust it.
    #[must_use]
    pub fn with_untrusted_tools(mut self, names: BTreeSet<String>) -> Self {
        self.untrusted_tools = Arc::new(names);
        self
    }

    /// Returns the tools that are missing because the user does not trust the project's config.
    #[must_use]
    pub fn untrusted_tools(&self) -> &BTreeSet<String> {
        &self.untrusted_tools
    }

    /// Whether an entry for tools covers a name, exactly or by a glob.
    #[must_use]
    pub fn names(&self, tool_name: &str) -> bool {
        let layers = std::iter::once(&self.main).chain(&self.floors);
        layers.into_iter().any(|rules| !rules.entries_for(tool_name).is_empty())
    }

    /// Returns the rule that leaves a tool out of the offer.
    pub(crate) fn not_offered(&self, tool_name: &str) -> Option<&Because> {
        self.offer.as_ref().filter(|offer| !(offer.includes)(tool_name)).map(|offer| &offer.origin)
    }
}
