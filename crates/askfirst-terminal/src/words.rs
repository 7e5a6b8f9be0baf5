//! Sentences that both renderers print.

use std::time::SystemTime;

use askfirst::machine::Question;
use askfirst::{ApprovalDecision, ApprovalScope, Cause, Timestamp};
use askfirst_display::escape::width;
use askfirst_display::page::summary;
use askfirst_display::redact::{Mark, Redactor};
use askfirst_display::time::time_of_day;
use askfirst_display::visible_line;

use crate::keys::Notice;

/// One line for each request: the decision, the call and the time.
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

/// Shortens a text to one line. The page already showed it in full.
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

/// The line about a question that was withdrawn: the cause, the tools and the time.
pub(crate) fn withdrawal_line(question: &Question, cause: Cause, redactor: &Redactor) -> String {
    let words = match cause {
        Cause::TimeOut => "refused, no answer in time".to_owned(),
        Cause::Cancelled => "withdrawn, the call was canceled".to_owned(),
        Cause::Person => "withdrawn, answered elsewhere".to_owned(),
        Cause::Policy
        | Cause::Mode
        | Cause::Memory
        | Cause::NoOneToAsk
        | Cause::EndOfInput
        | Cause::TerminalLost
        | Cause::ApproverFailed
        | Cause::RecordFailed
        | Cause::NoSandbox
        | Cause::AgentPrompt => format!("withdrawn, {cause}"),
    };
    let tool = |name: &str| short(&redactor.text(name, Mark::Screen).left, 40);
    let tools: Vec<String> =
        question.members.iter().take(3).map(|member| tool(&member.request.tool_name)).collect();
    let more = if question.members.len() > tools.len() { ", …" } else { "" };
    format!("{words}: {}{more}, {}", tools.join(", "), time_of_day(now()))
}

fn decision_words(decision: &ApprovalDecision) -> &'static str {
    match (decision.approved, decision.remember, decision.stop) {
        (true, _, _) if decision.edited_args.is_some() => "edited, to be checked again",
        (true, ApprovalScope::None, _) if decision.rest_unseen => "approved once, without seeing the rest",
        (true, ApprovalScope::None, _) => "approved once",
        (true, ApprovalScope::Session, _) if decision.always => "approved, always in this project",
        (true, ApprovalScope::Pattern, _) if decision.always => {
            "approved, always in this project, wider scope"
        }
        (true, ApprovalScope::Session, _) => "approved for the session",
        (true, ApprovalScope::Pattern, _) => "approved for the session, wider scope",
        (false, _, true) => "refused, and the run stops",
        (false, ApprovalScope::None, false) => match decision.cause {
            Cause::EndOfInput => "refused, end of input",
            Cause::TerminalLost => "refused, the terminal was lost",
            Cause::Person
            | Cause::Policy
            | Cause::Mode
            | Cause::Memory
            | Cause::TimeOut
            | Cause::NoOneToAsk
            | Cause::ApproverFailed
            | Cause::Cancelled
            | Cause::RecordFailed
            | Cause::NoSandbox
            | Cause::AgentPrompt => "refused",
        },
        (false, ApprovalScope::Session | ApprovalScope::Pattern, false) => "refused for the session",
    }
}

pub(crate) fn notice_words(notice: Notice) -> &'static str {
    match notice {
        Notice::Several => "several keys at once or pasted text decide nothing",
        Notice::SeeAll => "a part was not on screen yet: scroll down, or view all with v first",
        Notice::SeeAllParts => {
            "a part that you must see was not on screen yet: scroll down, or view all with v first"
        }
        Notice::NotTheWord => "wrong word: type it again from the start",
        Notice::NoSuchNumber => "no request has that number",
        Notice::SeeScope => "a part of these calls was not on screen yet: scroll down first",
        Notice::ChooseFirst => "nothing is chosen yet: choose the calls with a number first",
    }
}

/// The current time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::default().after(since)
}
