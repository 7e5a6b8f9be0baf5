//! Which tools a policy offers at all. The creator of the policy decides it with a function.

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
