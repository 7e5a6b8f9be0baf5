//! Where calls led when they were judged. A call that was not shown to anybody must still lead there when it runs.
//!
//! Without this, a link swapped between the judgement and the act could carry a remembered yes to another place.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

use askfirst::json::canonical;
use askfirst::{ApprovalContext, ToolError};
use serde_json::Value;

/// So many calls are kept in mind.
const MAX: usize = 10_000;

/// Where calls led when they were judged.
#[derive(Default)]
pub struct Sightings(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// The places that one exact call led to, without repeats.
    places: HashMap<u64, Vec<Vec<String>>>,
    order: VecDeque<u64>,
    /// Nobody outside knows how calls are told apart.
    secret: RandomState,
}

impl Sightings {
    /// A call was judged as leading to these places.
    pub fn saw(&self, call: &ApprovalContext, at: Vec<String>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(call, &seen.secret);
        if !seen.places.contains_key(&key) {
            seen.order.push_back(key);
            if seen.order.len() > MAX
                && let Some(oldest) = seen.order.pop_front()
            {
                seen.places.remove(&oldest);
            }
        }
        let places = seen.places.entry(key).or_default();
        if !places.contains(&at) {
            places.push(at);
        }
    }

    /// Whether a call still leads where it led, each time it was judged. If not, it is judged anew.
    ///
    /// # Errors
    /// Fails as stale if the call leads elsewhere now.
    pub fn check(&self, call: &ApprovalContext, at: &[String]) -> Result<(), ToolError> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(call, &seen.secret);
        let Some(places) = seen.places.get_mut(&key) else { return Ok(()) };
        if places.iter().all(|place| place == at) {
            return Ok(());
        }
        places.clear();
        Err(ToolError::Stale(format!("`{}` led elsewhere when it was judged", at.join("` or `"))))
    }
}

/// Arguments that say what is written, not where. They may be large, and are left aside: that more calls are taken for
/// one only makes it stricter.
const CONTENT: [&str; 4] = ["content", "old", "new", "patch"];

/// What says where a call leads: what the tool is handed, and the folder that its plain paths begin in. Two calls that
/// happen to have the same are taken for one, too.
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
