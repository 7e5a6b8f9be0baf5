//! Where calls led when they were judged. A call that was not shown to anybody must still lead there when it runs.
//!
//! Without this, a link swapped between the judgement and the act could carry a remembered yes to another place.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

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

/// What says where a call leads: all that the tool is handed, and the folder that its plain paths begin in.
fn key(call: &ApprovalContext) -> Digest {
    let folder = call.metadata.get("cwd").map(askfirst::json::canonical).unwrap_or_default();
    Digest::of_parts([call.digest().as_bytes().as_slice(), folder.as_bytes()])
}
