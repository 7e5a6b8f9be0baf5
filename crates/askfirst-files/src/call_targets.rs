//! Remembers the paths that each call resolved to when it was judged.
//!
//! A call that was not shown to a person must still resolve to the same paths when it runs.
//! Otherwise a swapped link could apply a remembered approval to another file.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

use askfirst::json::canonical;
use askfirst::{ApprovalContext, ToolError};
use serde_json::Value;

/// The maximum number of remembered calls. The oldest is forgotten first.
const MAX: usize = 10_000;

/// The paths that each call resolved to when it was judged.
#[derive(Default)]
pub struct CallTargets(Mutex<TargetTable>);

#[derive(Default)]
struct TargetTable {
    /// The different paths that one exact call resolved to, by the hash of the call.
    paths: HashMap<u64, Vec<Vec<String>>>,
    order: VecDeque<u64>,
    /// The random key of the hash, so that an agent cannot choose two calls with the same hash.
    secret: RandomState,
}

impl CallTargets {
    /// Remembers that a call resolved to these paths when it was judged.
    pub fn remember(&self, call: &ApprovalContext, paths: Vec<String>) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(call, &table.secret);
        if !table.paths.contains_key(&key) {
            table.order.push_back(key);
            if table.order.len() > MAX
                && let Some(oldest) = table.order.pop_front()
            {
                table.paths.remove(&oldest);
            }
        }
        let known = table.paths.entry(key).or_default();
        if !known.contains(&paths) {
            known.push(paths);
        }
    }

    /// Calls [`CallTargets::remember`]; kept for callers that use the earlier name.
    pub fn saw(&self, call: &ApprovalContext, paths: Vec<String>) {
        self.remember(call, paths);
    }

    /// Checks that a call still resolves to the same paths as each time it was judged.
    ///
    /// # Errors
    /// Fails as stale if the call now resolves to other paths. The call must then be judged again.
    pub fn check(&self, call: &ApprovalContext, paths: &[String]) -> Result<(), ToolError> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(call, &table.secret);
        let Some(known) = table.paths.get_mut(&key) else { return Ok(()) };
        if known.iter().all(|judged| judged == paths) {
            return Ok(());
        }
        known.clear();
        let paths = paths.join("` or `");
        Err(ToolError::Stale(format!("this call led to another path than `{paths}` when it was judged")))
    }
}

/// The arguments that hold content instead of a path. They may be large, so the hash omits them.
///
/// More calls then have the same hash, which only makes the check stricter.
const CONTENT: [&str; 4] = ["content", "old", "new", "patch"];

/// Hashes everything that decides which paths a call resolves to: tool, arguments and `cwd`.
///
/// Two calls with the same hash count as one, which only makes the check stricter.
fn key(call: &ApprovalContext, secret: &RandomState) -> u64 {
    let mut hasher = secret.build_hasher();
    (&call.tool_name, call.definition.map(|definition| definition.to_string())).hash(&mut hasher);
    hash(call.metadata.get("cwd").unwrap_or(&Value::Null), &mut hasher);
    for (name, argument) in call.args.iter().filter(|(name, _)| !CONTENT.contains(&name.as_str())) {
        name.hash(&mut hasher);
        hash(argument, &mut hasher);
    }
    hasher.finish()
}

fn hash(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::String(text) => (0_u8, text).hash(hasher),
        Value::Null => 1_u8.hash(hasher),
        other => (2_u8, canonical(other)).hash(hasher),
    }
}
