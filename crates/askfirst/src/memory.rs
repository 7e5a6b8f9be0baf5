//! The memory: the decisions that a session remembers, by tool and payload or by a pattern that the tool offered.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::decision::ApprovalDecision;
use crate::digest::Digest;
use crate::json::{Args, hash_object, hash_value, is_same, is_same_object};
use crate::pattern::{OfferedPattern, Shape, generalizations};
use crate::request::ApprovalRequest;
use crate::words::{Approval, Cause, Risk, Timestamp};

mod entry;

#[doc(hidden)]
pub use self::RememberedDecision as Remembered;
pub(crate) use entry::entries_of;
pub use entry::{MemoryId, RememberedDecision};

/// A query for a remembered approval, made without building a request.
pub(crate) struct MemoryQuery<'a> {
    pub(crate) tool_name: &'a str,
    pub(crate) payload: PayloadRef<'a>,
    pub(crate) definition: Option<Digest>,
    pub(crate) risk: Risk,
    pub(crate) approval: Approval,
}

/// The payload that the request of a query would have.
pub(crate) enum PayloadRef<'a> {
    Args(&'a Args),
    Value(&'a Value),
}

impl PartialEq<Value> for PayloadRef<'_> {
    fn eq(&self, payload: &Value) -> bool {
        match self {
            Self::Args(args) => payload.as_object().is_some_and(|payload| is_same_object(payload, args)),
            Self::Value(value) => is_same(payload, value),
        }
    }
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemoryMatch {
    Decision(MemoryId),
    /// A denial may cover the payload, but this is unknown.
    Doubt,
    Nothing,
}

impl MemoryMatch {
    fn decision(self) -> Option<MemoryId> {
        match self {
            Self::Decision(id) => Some(id),
            Self::Doubt | Self::Nothing => None,
        }
    }
}

/// The remembered decisions of a session.
#[derive(Debug)]
pub struct ApprovalMemory {
    entries: HashMap<MemoryId, RememberedDecision>,
    /// The ids of the entries, the oldest first.
    ages: BTreeSet<MemoryId>,
    index: HashMap<u64, Vec<MemoryId>>,
    shapes: HashMap<String, Vec<(Shape, usize)>>,
    state: RandomState,
    expire: Option<Duration>,
    next: u64,
}

impl Default for ApprovalMemory {
    fn default() -> Self {
        Self::new(None)
    }
}

impl ApprovalMemory {
    /// Creates an empty memory. Its decisions expire after `expire`, or never.
    #[must_use]
    pub fn new(expire: Option<Duration>) -> Self {
        Self {
            entries: HashMap::new(),
            ages: BTreeSet::new(),
            index: HashMap::new(),
            shapes: HashMap::new(),
            state: RandomState::new(),
            expire,
            next: 1,
        }
    }

    /// Returns when a decision made now would expire.
    #[must_use]
    pub fn until(&self, now: Timestamp) -> Option<Timestamp> {
        self.expire.map(|time| now.after(time))
    }

    /// Returns the decision that is remembered for a tool and a payload, and counts the hit.
    pub fn lookup(&mut self, tool_name: &str, payload: &Value, now: Timestamp) -> Option<ApprovalDecision> {
        let id = self.find(tool_name, payload, now, |_| true).decision()?;
        self.hit(id)
    }

    /// Returns the decision that is remembered for a request, and counts the hit.
    ///
    /// A tool with a changed definition is another tool. An approval does not cover a call with a higher risk.
    pub fn recall(&mut self, request: &ApprovalRequest, now: Timestamp) -> Option<ApprovalDecision> {
        let id = self.find_for(request, now).decision()?;
        self.hit(id)
    }

    /// Whether a remembered denial may cover a request, although none certainly does.
    pub(crate) fn is_in_doubt(&self, request: &ApprovalRequest, now: Timestamp) -> bool {
        self.find_for(request, now) == MemoryMatch::Doubt
    }

    /// Whether a remembered approval covers a request. This does not count as a hit.
    #[must_use]
    pub fn approves(&self, request: &ApprovalRequest, now: Timestamp) -> bool {
        let found = self.find_for(request, now).decision().and_then(|id| self.entries.get(&id));
        request.approval != Approval::Human && found.is_some_and(|found| found.decision.approved)
    }

    fn find_for(&self, request: &ApprovalRequest, now: Timestamp) -> MemoryMatch {
        let fits = |found: &RememberedDecision| found.covers(request.definition, request.risk);
        self.find(&request.tool_name, &request.payload, now, fits)
    }

    fn hit(&mut self, id: MemoryId) -> Option<ApprovalDecision> {
        let entry = self.entries.get_mut(&id)?;
        entry.hits += 1;
        Some(entry.decision.clone())
    }

    /// Returns the cause of the approval that is remembered for a query, and counts the hit.
    ///
    /// It returns `None` and counts nothing if there is no approval, if there is a denial, or if the tool has
    /// remembered patterns.
    pub(crate) fn recall_approval(&mut self, query: &MemoryQuery<'_>, now: Timestamp) -> Option<Cause> {
        let tool_name = query.tool_name;
        if self.entries.is_empty() || self.shapes.get(tool_name).is_some_and(|shapes| !shapes.is_empty()) {
            return None;
        }
        let hash = self.hash_with(tool_name, false, |hasher| match query.payload {
            PayloadRef::Args(args) => hash_object(args, hasher),
            PayloadRef::Value(value) => hash_value(value, hasher),
        });
        let fits = |found: &RememberedDecision| {
            found.pattern.is_none()
                && found.covers(query.definition, query.risk)
                && query.payload == found.payload
        };
        let mut approval = None;
        for id in self.at(hash, tool_name, now, fits) {
            let decision = self.entries.get(&id).map(|found| &found.decision)?;
            if !decision.approved {
                return None;
            }
            approval = approval.or(Some((id, decision.cause)));
        }
        let (id, cause) = approval?;
        self.entries.get_mut(&id)?.hits += 1;
        Some(cause)
    }

    /// Stores a decision for equal payloads, for every definition of the tool and every risk.
    ///
    /// It stores nothing if the decision says that it is not to be remembered.
    pub fn store(
        &mut self,
        tool_name: &str,
        payload: &Value,
        decision: ApprovalDecision,
        now: Timestamp,
    ) -> Option<MemoryId> {
        let risk = Risk::Irreversible;
        self.settle(
            &ApprovalRequest { risk, ..ApprovalRequest::new(tool_name, "", payload.clone()) },
            decision,
            now,
        )
    }

    /// Stores a decision about a request. A request without a definition covers every definition of the tool.
    pub fn settle(
        &mut self,
        request: &ApprovalRequest,
        decision: ApprovalDecision,
        now: Timestamp,
    ) -> Option<MemoryId> {
        let id = self.remember(request, decision, now)?;
        self.entries.get_mut(&id)?.any_definition = request.definition.is_none();
        Some(id)
    }

    /// Stores a decision about a request, exactly or by the pattern that the decision names.
    ///
    /// The request must offer the pattern, and the pattern must cover the request itself.
    pub fn remember(
        &mut self,
        request: &ApprovalRequest,
        decision: ApprovalDecision,
        now: Timestamp,
    ) -> Option<MemoryId> {
        let entries = entries_of(request, &decision, now, self.until(now));
        if entries.is_empty() {
            return None;
        }
        self.forget_expired(now);
        let ids: Vec<MemoryId> = entries.into_iter().map(|entry| self.add(entry)).collect();
        ids.first().copied()
    }

    fn add(&mut self, entry: RememberedDecision) -> MemoryId {
        let id = MemoryId(self.next);
        self.insert(RememberedDecision { id, ..entry });
        id
    }

    /// Adds a decision under its own id, instead of an equal one. The caller keeps the ids apart.
    pub fn insert(&mut self, entry: RememberedDecision) {
        let id = entry.id;
        self.next = self.next.max(id.0.saturating_add(1));
        let hash = self.hash(&entry.tool_name, entry.pattern.is_some(), &entry.key());
        self.forget_equal(hash, &entry);
        if let Some(pattern) = &entry.pattern {
            let shapes = self.shapes.entry(entry.tool_name.clone()).or_default();
            let shape = pattern.shape();
            match shapes.iter_mut().find(|(known, _)| *known == shape) {
                Some((_, count)) => *count += 1,
                None => shapes.push((shape, 1)),
            }
        }
        self.index.entry(hash).or_default().push(id);
        self.entries.insert(id, entry);
        self.ages.insert(id);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.ages.clear();
        self.index.clear();
        self.shapes.clear();
    }

    /// Returns the decisions that have not expired, the oldest first.
    #[must_use]
    pub fn list(&self, now: Timestamp) -> Vec<&RememberedDecision> {
        let mut list: Vec<&RememberedDecision> =
            self.entries.values().filter(|found| !found.is_expired(now)).collect();
        list.sort_by_key(|found| found.id);
        list
    }

    /// Forgets one decision. Returns whether it existed.
    pub fn revoke(&mut self, id: MemoryId) -> bool {
        let Some(entry) = self.entries.remove(&id) else { return false };
        self.ages.remove(&id);
        let hash = self.hash(&entry.tool_name, entry.pattern.is_some(), &entry.key());
        if let Some(ids) = self.index.get_mut(&hash) {
            ids.retain(|known| *known != id);
            if ids.is_empty() {
                self.index.remove(&hash);
            }
        }
        if let (Some(pattern), Some(shapes)) = (&entry.pattern, self.shapes.get_mut(&entry.tool_name)) {
            let shape = pattern.shape();
            shapes.iter_mut().filter(|(known, _)| *known == shape).for_each(|(_, count)| *count -= 1);
            shapes.retain(|(_, count)| *count > 0);
        }
        true
    }

    /// Finds the decision for a payload: a denial first, then an exact approval, then an approval by pattern.
    ///
    /// If it is unknown whether a pattern covers the payload, only a denial is returned.
    fn find(
        &self,
        tool_name: &str,
        payload: &Value,
        now: Timestamp,
        fits: impl Fn(&RememberedDecision) -> bool,
    ) -> MemoryMatch {
        if self.entries.is_empty() {
            return MemoryMatch::Nothing;
        }
        let mut found: Vec<MemoryId> = Vec::new();
        let exact = self.hash(tool_name, false, payload);
        let same = |entry: &RememberedDecision| entry.pattern.is_none() && is_same(&entry.payload, payload);
        found.extend(self.at(exact, tool_name, now, |entry| fits(entry) && same(entry)));
        let mut in_doubt = false;
        for (shape, _) in self.shapes.get(tool_name).map_or(&[][..], Vec::as_slice) {
            let keys = generalizations(payload, shape);
            in_doubt |= keys.is_none();
            for key in keys.unwrap_or_default() {
                let hash = self.hash(tool_name, true, &key);
                let covers = |entry: &RememberedDecision| {
                    entry
                        .pattern
                        .as_ref()
                        .is_some_and(|pattern| pattern.shape() == *shape && pattern.key() == key)
                };
                found.extend(self.at(hash, tool_name, now, |entry| fits(entry) && covers(entry)));
            }
        }
        let is_denial = |id: &&MemoryId| self.entries.get(id).is_some_and(|entry| !entry.decision.approved);
        match (found.iter().find(is_denial), found.first()) {
            (Some(denial), _) => MemoryMatch::Decision(*denial),
            (None, _) if in_doubt => MemoryMatch::Doubt,
            (None, Some(approval)) => MemoryMatch::Decision(*approval),
            (None, None) => MemoryMatch::Nothing,
        }
    }

    /// Removes the expired decisions. All decisions live equally long, so the expired ones are the oldest.
    fn forget_expired(&mut self, now: Timestamp) {
        while let Some(oldest) = self.ages.first().copied()
            && self.entries.get(&oldest).is_none_or(|entry| entry.is_expired(now))
        {
            self.ages.remove(&oldest);
            self.revoke(oldest);
        }
    }

    fn at<'a>(
        &'a self,
        hash: u64,
        tool_name: &'a str,
        now: Timestamp,
        fits: impl Fn(&RememberedDecision) -> bool + 'a,
    ) -> impl Iterator<Item = MemoryId> + 'a {
        let ids = self.index.get(&hash).into_iter().flatten();
        let entries = ids.filter_map(|id| self.entries.get(id));
        entries
            .filter(move |entry| entry.tool_name == tool_name && !entry.is_expired(now) && fits(entry))
            .map(|entry| entry.id)
    }

    fn forget_equal(&mut self, hash: u64, new: &RememberedDecision) {
        let equal = |entry: &&RememberedDecision| {
            let key = |pattern: &OfferedPattern| (pattern.shape(), pattern.key());
            entry.tool_name == new.tool_name
                && entry.definition == new.definition
                && match (&entry.pattern, &new.pattern) {
                    (None, None) => is_same(&entry.payload, &new.payload),
                    (Some(known), Some(new)) => key(known) == key(new),
                    (Some(_), None) | (None, Some(_)) => false,
                }
        };
        let ids = self.index.get(&hash).map_or(&[][..], Vec::as_slice);
        let old: Vec<MemoryId> =
            ids.iter().filter_map(|id| self.entries.get(id)).filter(equal).map(|entry| entry.id).collect();
        for id in old {
            self.revoke(id);
        }
    }

    fn hash(&self, tool_name: &str, by_pattern: bool, key: &Value) -> u64 {
        self.hash_with(tool_name, by_pattern, |hasher| hash_value(key, hasher))
    }

    fn hash_with(&self, tool_name: &str, by_pattern: bool, key: impl FnOnce(&mut DefaultHasher)) -> u64 {
        let mut hasher = self.state.build_hasher();
        hasher.write(tool_name.as_bytes());
        hasher.write_u8(if by_pattern { 0xFE } else { 0xFF });
        key(&mut hasher);
        hasher.finish()
    }
}

/// A memory that several controllers can share. Clones refer to the same memory.
#[derive(Debug, Clone, Default)]
pub struct SharedMemory(Arc<Mutex<ApprovalMemory>>);

impl SharedMemory {
    /// Locks and returns the memory.
    pub fn lock(&self) -> MutexGuard<'_, ApprovalMemory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<ApprovalMemory> for SharedMemory {
    fn from(memory: ApprovalMemory) -> Self {
        Self(Arc::new(Mutex::new(memory)))
    }
}

#[cfg(test)]
#[path = "memory/tests.rs"]
mod tests;
