//! Where calls led when they were judged. A call that was not shown to anybody must still lead there when it runs.
//!
//! Without this, a link swapped between the judgement and the act could carry a remembered yes to another place.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use askfirst::json::canonical;
use askfirst::{ApprovalContext, Digest};

use super::error::Trouble;

/// So many calls are kept in mind.
const MAX: usize = 10_000;

#[derive(Default)]
pub(crate) struct Sightings(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// The places that one exact call led to, without repeats.
    places: HashMap<Digest, Vec<Vec<String>>>,
    order: VecDeque<Digest>,
}

impl Sightings {
    /// A call was judged as leading to these places.
    pub(crate) fn saw(&self, call: &ApprovalContext, at: Vec<String>) {
        let key = key(call);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
    pub(crate) fn check(&self, call: &ApprovalContext, at: &[String]) -> Result<(), Trouble> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(places) = seen.places.get_mut(&key(call)) else { return Ok(()) };
        if places.iter().all(|place| place == at) {
            return Ok(());
        }
        places.clear();
        Err(Trouble::Stale(format!("`{}` led elsewhere when it was judged", at.join("` or `"))))
    }
}

/// Arguments that say what is written, not where. They may be large, and are left aside: that more calls are taken for
/// one only makes it stricter.
const CONTENT: [&str; 4] = ["content", "old", "new", "patch"];

/// What says where a call leads: what the tool is handed, and the folder that its plain paths begin in.
fn key(call: &ApprovalContext) -> Digest {
    let folder = call.metadata.get("cwd").map(canonical).unwrap_or_default();
    let definition = call.definition.map(|definition| definition.to_string()).unwrap_or_default();
    let mut parts = vec![call.tool_name.clone(), definition, folder];
    for (name, value) in call.args.iter().filter(|(name, _)| !CONTENT.contains(&name.as_str())) {
        parts.extend([name.clone(), canonical(value)]);
    }
    Digest::of_parts(parts.iter().map(String::as_bytes))
}
