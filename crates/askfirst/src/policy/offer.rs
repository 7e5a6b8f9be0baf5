//! Which tools are on offer at all. Whoever makes the policy knows; here it is only asked.

use std::sync::Arc;

use super::Policy;
use crate::verdict::Because;

/// What is on offer, and the rule that says so.
#[derive(Clone)]
pub(super) struct Offer {
    includes: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    origin: Because,
}

impl Policy {
    /// The same, but that every call of a tool is denied that is not on offer.
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
        layers.into_iter().any(|rules| !rules.naming(tool_name).is_empty())
    }

    /// The rule that keeps a tool from being offered.
    pub(crate) fn not_offered(&self, tool_name: &str) -> Option<&Because> {
        self.offer.as_ref().filter(|offer| !(offer.includes)(tool_name)).map(|offer| &offer.origin)
    }
}
