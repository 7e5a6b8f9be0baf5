//! Sentences that both fronts say.

use std::time::SystemTime;

use askfirst::machine::Question;
use askfirst::{ApprovalDecision, ApprovalScope, Cause, Timestamp};
use askfirst_runtime::present::escape::width;
use askfirst_runtime::present::page::summary;
use askfirst_runtime::present::time::time_of_day;
use askfirst_runtime::present::visible_line;
use askfirst_runtime::redact::{Mark, Redactor};

use crate::keys::Notice;

/// What was decided, about what, and when: a line for each request.
pub(crate) fn echo(
    question: &Question,
    decisions: &[ApprovalDecision],
    redactor: &Redactor,
    columns: usize,
) -> Vec<String> {
    let at = time_of_day(now());
    let line = |(member, decision): (&askfirst::machine::Member, &ApprovalDecision)| {
        let words = decision_words(decision);
        let room = columns.saturating_sub(width(words) + width(&at) + 6).max(10);
        let tool = short(&redactor.text(&member.request.tool_name, Mark::Screen).left, room);
        let args = redactor.args(&member.request.args, Mark::Screen).left;
        let left = room.saturating_sub(width(&tool) + 3);
        let args = if args.is_empty() || left < 12 {
            String::new()
        } else {
            format!(" ({})", short(&summary(&args), left))
        };
        format!("{words}: {tool}{args}, {at}")
    };
    question.members.iter().zip(decisions).map(line).collect()
}

/// A text that was on the page already, cut so that it stays within its line.
pub(crate) fn short(text: &str, room: usize) -> String {
    let mut used = 0;
    let mut short = String::new();
    for c in visible_line(text).text().chars() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used >= room {
            short.push('…');
            break;
        }
        short.push(c);
    }
    short
}

/// The line that says that a question was taken back, and what it was about.
pub(crate) fn taken_back(question: &Question, cause: Cause, redactor: &Redactor) -> String {
    let words = match cause {
        Cause::TimeOut => "refused: nobody answered in time".to_owned(),
        Cause::Cancelled => "taken back: the call was given up".to_owned(),
        Cause::Person => "taken back: it was answered elsewhere".to_owned(),
        Cause::Policy
        | Cause::Mode
        | Cause::Memory
        | Cause::NobodyToAsk
        | Cause::EndOfInput
        | Cause::TerminalLost
        | Cause::ApproverFailed
        | Cause::RecordFailed
        | Cause::NoWalls => format!("taken back: {cause}"),
    };
    let tool = |name: &str| short(&redactor.text(name, Mark::Screen).left, 40);
    let tools: Vec<String> =
        question.members.iter().take(3).map(|member| tool(&member.request.tool_name)).collect();
    let more = if question.members.len() > tools.len() { ", …" } else { "" };
    format!("{words}: {}{more}, {}", tools.join(", "), time_of_day(now()))
}

fn decision_words(decision: &ApprovalDecision) -> &'static str {
    match (decision.approved, decision.remember, decision.stop) {
        (true, _, _) if decision.edited_args.is_some() => "edited, to be judged again",
        (true, ApprovalScope::None, _) => "approved once",
        (true, ApprovalScope::Session, _) => "approved for the session",
        (true, ApprovalScope::Pattern, _) => "approved for the session, widened",
        (false, _, true) => "refused, and the run stops",
        (false, ApprovalScope::None, false) => match decision.cause {
            Cause::EndOfInput => "refused, as the input ended",
            Cause::TerminalLost => "refused, as the terminal went away",
            Cause::Person
            | Cause::Policy
            | Cause::Mode
            | Cause::Memory
            | Cause::TimeOut
            | Cause::NobodyToAsk
            | Cause::ApproverFailed
            | Cause::Cancelled
            | Cause::RecordFailed
            | Cause::NoWalls => "refused",
        },
        (false, ApprovalScope::Session | ApprovalScope::Pattern, false) => "refused for the session",
    }
}

pub(crate) fn notice_words(notice: Notice) -> &'static str {
    match notice {
        Notice::Several => "several keys at once, or pasted text, decide nothing",
        Notice::SeeTheEnd => "not all of it was on screen: view it with [v] first",
        Notice::SeeAllParts => {
            "a part that must be seen was not on screen: go down, or view it with [v] first"
        }
        Notice::NotTheWord => "that is not the word: begin again",
        Notice::NoSuchNumber => "there is no request with that number",
        Notice::ChooseFirst => "nothing is chosen yet: a number chooses how far it reaches",
    }
}

/// The time on the wall.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::default().after(since)
}
