//! Builds the form that a client shows for an approval request, and reads the client's answer. Any answer that the
//! form did not offer is a refusal.

use askfirst::machine::{Answer, Question};
use askfirst::{ApprovalDecision, ApprovalScope, Args, Cause, Timestamp};
use askfirst_display::offer::Choice;
use askfirst_display::page::{Page, PageOptions};
use askfirst_display::redact::Redactor;
use serde_json::{Value, json};

/// The longest text of a form, in characters. A client is not asked about a longer one.
const MAX_TEXT: usize = 20_000;
/// The width of the text, in columns.
const COLUMNS: usize = 100;
/// The longest reason that is accepted, in characters.
const MAX_REASON: usize = 2_000;

const ANSWER: &str = "answer";
const REASON: &str = "reason";
const CONFIRM: &str = "confirm";

/// The error for an approval request that is too long for a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request is too long for a form")]
pub(crate) struct TooLong;

/// An answer that the form offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormAnswer {
    Once,
    Session,
    No,
}

impl FormAnswer {
    const ALL: [Self; 3] = [Self::Once, Self::Session, Self::No];

    fn word(self) -> &'static str {
        match self {
            Self::Once => "approve once",
            Self::Session => "approve for the session",
            Self::No => "deny",
        }
    }

    fn choice(self) -> Choice {
        match self {
            Self::Once => Choice::Once,
            Self::Session => Choice::Session,
            Self::No => Choice::No,
        }
    }
}

/// The form for one approval request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Form {
    text: String,
    offered: Vec<FormAnswer>,
    /// The words that the person must type to approve an action that cannot be undone.
    confirm: Option<String>,
}

impl Form {
    /// Builds the form of an approval request: the page that a terminal would show, escaped and redacted.
    pub(crate) fn of(question: &Question, redactor: &Redactor, now: Timestamp) -> Result<Self, TooLong> {
        let page =
            Page::of(question, &PageOptions { preview_lines: usize::MAX, redactor, now, withheld: &[] });
        let options = page.options(COLUMNS).len();
        let mut lines = page.lines(COLUMNS);
        // The keys of a terminal have no effect in a form.
        lines.truncate(lines.len().saturating_sub(options));
        let lines: Vec<String> =
            lines.iter().map(|line| format!("{}{}", line.gutter(), line.text())).collect();
        let text = lines.join("\n");
        if text.chars().count() > MAX_TEXT {
            return Err(TooLong);
        }
        let words: Vec<&str> = page.offers.words.iter().flatten().map(String::as_str).collect();
        let confirm = (!words.is_empty()).then(|| words.join(" "));
        let offered = match &confirm {
            None => FormAnswer::ALL.into_iter().filter(|says| page.offers.has(says.choice())).collect(),
            // If the person must type a word, the word is the approval, and it approves this call only.
            Some(_) => vec![FormAnswer::Once, FormAnswer::No],
        };
        Ok(Self { text, offered, confirm })
    }

    /// The parameters of `elicitation/create`.
    pub(crate) fn params(&self) -> Value {
        let words: Vec<&str> = self.offered.iter().map(|says| says.word()).collect();
        let mut fields = json!({
            ANSWER: {"type": "string", "title": "Answer", "enum": words},
            REASON: {"type": "string", "title": "Reason (optional)", "maxLength": MAX_REASON},
        });
        if let (Some(word), Some(fields)) = (&self.confirm, fields.as_object_mut()) {
            let title = format!("This cannot be undone. To approve it, type: {word}");
            fields.insert(CONFIRM.to_owned(), json!({"type": "string", "title": title}));
        }
        let schema = json!({"type": "object", "properties": fields, "required": [ANSWER]});
        json!({"message": self.text, "requestedSchema": schema})
    }

    /// Reads the answer from a client's result.
    pub(crate) fn read(&self, result: &Args) -> Answer {
        let known = |key: &String| ["action", "content", "_meta", "resultType"].contains(&key.as_str());
        if !result.keys().all(known) {
            return not_an_answer("unknown key");
        }
        match (result.get("action").and_then(Value::as_str), result.get("content")) {
            (Some("decline"), _) => Answer::all(ApprovalDecision::no(Cause::Person)),
            (Some("cancel"), _) => {
                Answer::all(ApprovalDecision::no(Cause::Person).with_note("the person closed the form"))
            }
            (Some("accept"), Some(Value::Object(content))) => self.accepted(content),
            (Some("accept"), _) => not_an_answer("the form is empty"),
            (Some(_) | None, _) => not_an_answer("unknown action"),
        }
    }

    fn accepted(&self, content: &Args) -> Answer {
        let known = |key: &String| {
            [ANSWER, REASON].contains(&key.as_str()) || (key == CONFIRM && self.confirm.is_some())
        };
        if !content.keys().all(known) {
            return not_an_answer("unknown field");
        }
        let said = content.get(ANSWER).and_then(Value::as_str);
        let Some(says) = self.offered.iter().find(|says| Some(says.word()) == said) else {
            return not_an_answer("the form did not offer this answer");
        };
        let reason = match content.get(REASON) {
            None | Some(Value::Null) => None,
            Some(Value::String(reason)) if reason.chars().count() <= MAX_REASON => {
                Some(reason.trim()).filter(|reason| !reason.is_empty())
            }
            Some(_) => return not_an_answer("invalid reason"),
        };
        let decision = match says {
            FormAnswer::No => ApprovalDecision::no(Cause::Person),
            FormAnswer::Once | FormAnswer::Session => {
                let typed = content.get(CONFIRM).and_then(Value::as_str);
                if self.confirm.as_deref() != typed {
                    return not_an_answer("the confirmation text is missing or wrong");
                }
                let yes = ApprovalDecision::yes(Cause::Person);
                if *says == FormAnswer::Session { yes.remembered(ApprovalScope::Session) } else { yes }
            }
        };
        Answer::all(match reason {
            Some(reason) => decision.with_note(reason),
            None => decision,
        })
    }
}

fn not_an_answer(why: &str) -> Answer {
    Answer::failed(Cause::ApproverFailed, format!("invalid answer from the client: {why}"))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
