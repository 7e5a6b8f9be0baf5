//! Writes a record as JSON without its secrets.
//!
//! Most records contain no secret. So the record is written as it is first. Only if it may contain a secret is it
//! parsed, redacted and written again.

use std::ops::Range;
use std::sync::Arc;

use askfirst::record::{CallRecord, Record};
use askfirst::{ApprovalContext, Args, ContentDigest};
use askfirst_display::redact::{Mark, Redaction, Redactor};
use serde::Serialize;
use serde_json::Value;

use super::error::LedgerError;
use super::long;

/// Long arguments: their position in the line, and the digest that replaces them in the hash.
#[derive(Debug)]
pub(super) struct LongArguments {
    pub(super) args: Range<usize>,
    pub(super) digest: ContentDigest,
}

/// Appends the fields of a record, each after a comma. Returns the position of the arguments if they are long.
pub(super) fn push(
    out: &mut Vec<u8>,
    record: &Record,
    redactor: &Redactor,
) -> Result<Option<LongArguments>, LedgerError> {
    let start = out.len();
    let known = match call_of(record).filter(|call| long::is_there(&call.call.args)) {
        Some(call) => with_long_args(out, record, &call.call)?,
        None => {
            fields(out, record)?;
            None
        }
    };
    let clean = redactor.is_clean(out.get(start..).unwrap_or_default()) && has_plain_names(record, redactor);
    let mut hidden = HiddenCount::default();
    if !clean {
        out.truncate(start);
        let mut value = serde_json::to_value(record)?;
        if let Value::Object(map) = &mut value {
            let args = call_of(record).map(|call| call.call.args.clone()).unwrap_or_default();
            let cleaner = Cleaner { redactor, about: &redactor.about(&args), args: &args };
            clean_up(map, &cleaner, &mut hidden);
        }
        fields(out, &value)?;
    }
    let Some(call) = call_of(record) else { return Ok(None) };
    let mut apart = None;
    if hidden.in_args == 0 && call.left_out.is_empty() {
        // The arguments are already in the output, so they need no second serialization for the hash.
        let written = out.get(start..).unwrap_or_default();
        let place = known.or_else(|| args_in(written)).filter(|_| clean);
        let digest = match place.clone().and_then(|args| written.get(args)) {
            Some(args) => ContentDigest::of(args),
            None => ContentDigest::of(&serde_json::to_vec(&call.call.args)?),
        };
        out.extend_from_slice(format!(",\"args_digest\":\"{digest}\"").as_bytes());
        let long = place.filter(|args| args.len() >= ContentDigest::LONG);
        apart = long.map(|args| LongArguments { args: start + args.start..start + args.end, digest });
    }
    if hidden.all > 0 || !call.left_out.is_empty() {
        out.extend_from_slice(format!(",\"hidden\":{}", hidden.all).as_bytes());
    }
    Ok(apart)
}

/// Appends the fields of any value that serializes to an object.
pub(super) fn fields(out: &mut Vec<u8>, object: &impl Serialize) -> Result<(), LedgerError> {
    let start = out.len();
    serde_json::to_writer(&mut *out, object)?;
    if let Some(brace) = out.get_mut(start) {
        *brace = b',';
    }
    out.pop();
    Ok(())
}

/// Appends the fields of a record like [`fields`], but inserts the long arguments last. Returns their position.
fn with_long_args(
    out: &mut Vec<u8>,
    record: &Record,
    call: &Arc<ApprovalContext>,
) -> Result<Option<Range<usize>>, LedgerError> {
    let ApprovalContext { tool_name, args, metadata, definition, resolved: _, id: _, approved: _ } = &**call;
    let bare = ApprovalContext {
        tool_name: tool_name.clone(),
        metadata: metadata.clone(),
        definition: *definition,
        ..ApprovalContext::default()
    };
    let mut without = record.clone();
    if let Some(call) = call_of_mut(&mut without) {
        call.call = Arc::new(bare);
    }
    let start = out.len();
    fields(out, &without)?;
    let Some(place) = args_in(out.get(start..).unwrap_or_default()) else {
        out.truncate(start);
        fields(out, record)?;
        return Ok(None);
    };
    let rest = out.split_off(start + place.end);
    out.truncate(start + place.start);
    long::push(out, args)?;
    let end = out.len() - start;
    out.extend_from_slice(&rest);
    Ok(Some(place.start..end))
}

/// Finds the arguments in the fields of a record about a call. Quotes inside a text are always escaped, so a quoted
/// key here is a key of askfirst.
/// Before the call there is no name that an agent chose.
pub(super) fn args_in(fields: &[u8]) -> Option<Range<usize>> {
    const CALL: &[u8] = b",\"call\":{\"tool_name\":\"";
    let name = fields.get(memchr::memmem::find(fields, CALL)? + CALL.len()..)?;
    let args = name.get(text_end(name)?..)?.strip_prefix(b",\"args\":")?;
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        at += memchr::memchr3(b'"', b'{', b'}', args.get(at..)?)?;
        match args.get(at)? {
            b'"' => at += 1 + text_end(args.get(at + 1..)?)?,
            b'{' => (at, depth) = (at + 1, depth + 1),
            _ => (at, depth) = (at + 1, depth.checked_sub(1)?),
        }
        if depth == 0 {
            let start = fields.len() - args.len();
            return Some(start..start + at);
        }
    }
}

/// Returns the index after the closing quote of a text. `text` starts after the opening quote.
fn text_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

#[derive(Default)]
struct HiddenCount {
    all: usize,
    in_args: usize,
}

fn call_of(record: &Record) -> Option<&CallRecord> {
    match record {
        Record::Requested(call) => Some(call),
        Record::Decided(decided) => Some(&decided.call),
        Record::Session(_)
        | Record::Executed(_)
        | Record::Rehearsed(_)
        | Record::Committed(_)
        | Record::Undone(_)
        | Record::Trusted(_)
        | Record::Revoked(_)
        | Record::RuleAdded(_)
        | Record::RuleRemoved(_) => None,
    }
}

fn call_of_mut(record: &mut Record) -> Option<&mut CallRecord> {
    match record {
        Record::Requested(call) => Some(call),
        Record::Decided(decided) => Some(&mut decided.call),
        Record::Session(_)
        | Record::Executed(_)
        | Record::Rehearsed(_)
        | Record::Committed(_)
        | Record::Undone(_)
        | Record::Trusted(_)
        | Record::Revoked(_)
        | Record::RuleAdded(_)
        | Record::RuleRemoved(_) => None,
    }
}

fn has_plain_names(record: &Record, redactor: &Redactor) -> bool {
    let edited = match record {
        Record::Decided(decided) => decided.decision.as_ref().and_then(|d| d.edited_args.as_ref()),
        Record::Session(_)
        | Record::Requested(_)
        | Record::Executed(_)
        | Record::Rehearsed(_)
        | Record::Committed(_)
        | Record::Undone(_)
        | Record::Trusted(_)
        | Record::Revoked(_)
        | Record::RuleAdded(_)
        | Record::RuleRemoved(_) => None,
    };
    let plain = |map: &Args| redactor.has_plain_names(map);
    call_of(record).is_none_or(|call| {
        let payload = call.payload.as_ref().is_none_or(|payload| redactor.is_plain(payload));
        plain(&call.call.args) && plain(&call.call.metadata) && payload
    }) && edited.is_none_or(plain)
}

/// Fields with fixed words, ids and digests. They are not redacted: a secret equal to such a word must not make the
/// entry unreadable.
const OURS: [&str; 19] = [
    "kind",
    "call_id",
    "edited_from",
    "definition",
    "policy",
    "digest",
    "shown",
    "result",
    "cause",
    "verdict",
    "approval",
    "risk",
    "mode",
    "remember",
    "ended",
    "approved",
    "seen",
    "rest_unseen",
    "stop",
];

/// Fields that the agent or the framework wrote. In these, the names of arguments matter for redaction.
const THEIRS: [&str; 4] = ["args", "payload", "metadata", "edited_args"];

/// Finds the secrets of a record, including those in the arguments of its call.
struct Cleaner<'a> {
    redactor: &'a Redactor,
    /// Finds the secrets of the arguments in all other fields.
    about: &'a Redactor,
    args: &'a Args,
}

fn clean_up(map: &mut Args, cleaner: &Cleaner<'_>, hidden: &mut HiddenCount) {
    for (key, value) in map.iter_mut() {
        if THEIRS.contains(&key.as_str()) {
            let left = match value {
                Value::Object(args) if key == "args" => {
                    let left = cleaner.redactor.args(args, Mark::Record);
                    Redaction { left: Value::Object(left.left), hidden: left.hidden }
                }
                _ => cleaner.about.value(value, Mark::Record),
            };
            hidden.all += left.hidden;
            if key == "args" {
                hidden.in_args += left.hidden;
            }
            *value = left.left;
        } else if !OURS.contains(&key.as_str()) {
            clean_text(value, cleaner, hidden);
        }
    }
}

fn clean_text(value: &mut Value, cleaner: &Cleaner<'_>, hidden: &mut HiddenCount) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            let left = cleaner.about.text_about(cleaner.args, text, Mark::Record);
            hidden.all += left.hidden;
            *text = left.left;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean_text(item, cleaner, hidden)),
        Value::Object(map) => clean_up(map, cleaner, hidden),
    }
}
