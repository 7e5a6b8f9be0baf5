//! Input, rules 1 to 4 and 6. That tools have no terminal (5) is shown with the whole program.

use std::time::{Duration, Instant};

use askfirst::{Approval, ApprovalPresentation, Cause, PresentationKind, Risk};
use askfirst_display::Rule;
use rustix::process::Signal;

use super::{Office, only};
use crate::desk::{Asking, Desk, Seat, args, email};

#[test]
fn what_was_typed_before_the_question_is_thrown_away() {
    only(Rule::Flush, |office| {
        let ended = office.mail().left_raw().typed_ahead(b"\x03").start().refuse();
        ended.decision().stop
    });
}

#[test]
fn a_yes_before_ready_is_discarded() {
    only(Rule::Arming, |office| {
        let mut asking = office.mail().start();
        asking.wait_for("[not yet]").send(b"y").refuse().decision().approved
    });
}

#[test]
fn a_yes_to_one_question_is_none_to_the_next() {
    only(Rule::Arming, |office| {
        let mut asking = office.mail().and_then(email()).start();
        asking.ready().send(b"y").wait_for("approved once").wait_for("[not yet]").send(b"y");
        asking.refuse().answers[1].decisions[0].approved
    });
}

#[test]
fn keys_that_keep_coming_keep_it_from_being_ready() {
    only(Rule::Quiet, |office| {
        let mut asking = office.mail().start();
        asking.wait_for("[not yet]");
        // A key that is late makes it quiet: then it may be ready, and another try is made.
        let quiet = Duration::from_millis(200);
        let mut tries = 0..20;
        while tries.next().is_some() {
            let from = Instant::now();
            let mut last = from;
            let mut longest = Duration::ZERO;
            while from.elapsed() < Duration::from_secs(1) {
                asking.send(b"x");
                longest = longest.max(last.elapsed());
                last = Instant::now();
                std::thread::sleep(Duration::from_millis(40));
            }
            if longest < quiet {
                break;
            }
        }
        let ready = asking.screen().contains("ready:");
        asking.send(b"\x03").end();
        ready
    });
}

#[test]
fn what_is_risky_stands_for_longer() {
    only(Rule::Longer, |office| {
        let mut request = email();
        request.risk = Risk::High;
        // A machine that is slow makes it late, never early.
        (0..8).any(|_| {
            let start = Instant::now();
            let mut asking = office.asks(request.clone()).start();
            asking.ready();
            let early = start.elapsed() < Duration::from_millis(1_000);
            asking.send(b"\x03").end();
            early
        })
    });
}

#[test]
fn whether_keys_count_stands_on_screen() {
    only(Rule::Mark, |office| {
        let mut asking = office.mail().start();
        let first = asking.which(&["[not yet]", "ready:"]);
        asking.send(b"\x03").end();
        first == Some(1)
    });
}

#[test]
fn a_key_that_was_meant_for_another_size_is_discarded() {
    only(Rule::Repaint, |office| {
        let mut asking = office.mail().start();
        asking.ready().resize(60).send(b"y");
        asking.refuse().decision().approved
    });
}

#[test]
fn what_was_pasted_approves_nothing() {
    for keys in [&b"\x1b[200~y\x1b[201~"[..], b"y\r"] {
        only(Rule::Several, |office| {
            let mut asking = office.mail().start();
            asking.ready().send(keys);
            asking.refuse().decision().approved
        });
    }
}

/// Presses a key twice, as a held key would: two reads, close together.
fn hold(asking: &mut Asking) -> bool {
    for _ in 0..20 {
        asking.ready();
        let start = Instant::now();
        asking.send(b"y");
        std::thread::sleep(Duration::from_millis(20));
        asking.send(b"y");
        if start.elapsed() < Duration::from_millis(90) {
            return true;
        }
        // Too slow to be a held key; had it approved, this would end below.
        if asking.which(&["[not yet]"]).is_none() {
            return false;
        }
    }
    false
}

#[test]
fn a_held_key_approves_nothing() {
    only(Rule::Alone, |office| {
        loop {
            let mut asking = office.mail().start();
            if hold(&mut asking) {
                return asking.refuse().decision().approved;
            }
        }
    });
}

#[test]
fn enter_and_space_are_no_yes() {
    for key in [b"\r", b" "] {
        only(Rule::Enter, |office| {
            let mut asking = office.mail().start();
            asking.ready().send(key);
            asking.refuse().decision().approved
        });
    }
}

#[test]
fn a_key_that_is_not_offered_does_nothing() {
    only(Rule::Meaning, |office| {
        let mut request = email();
        request.approval = Approval::Human;
        let mut asking = office.asks(request).start();
        asking.ready().send(b"s");
        asking.refuse().decision().approved
    });
}

#[test]
fn what_is_risky_is_approved_once_its_end_was_on_screen() {
    only(Rule::End, |office| {
        let mut request = email();
        request.risk = Risk::High;
        request.args = args(serde_json::json!({"body": "line\n".repeat(60)}));
        let mut asking = office.asks(request).start();
        asking.ready().send(b"y");
        asking.refuse().decision().approved
    });
}

#[test]
fn nothing_is_armed_before_the_content_is_there() {
    let lines = |count: usize, word: &str| {
        (0..count).map(|n| format!("line {n} of a file, {word} {}\n", n % 9)).collect::<String>()
    };
    let ready_first = |office: Office, count: usize| {
        let mut request = email();
        let mut shown = ApprovalPresentation::new(PresentationKind::Diff, "notes:a.txt");
        shown.metadata.insert("before".into(), lines(count, "old").into());
        shown.metadata.insert("after".into(), lines(count, "new").into());
        request.presentation = Some(shown);
        let mut asking = office.asks(request).start();
        let first = asking.wait_for("being prepared").which(&["the tool shows this diff", "ready:"]);
        asking.send(b"\x03").end();
        first == Some(1)
    };
    // How long a diff takes depends on the machine: one of these takes longer than keys must wait.
    only(Rule::Content, |office| [60_000, 240_000].into_iter().any(|count| ready_first(office, count)));
}

#[test]
fn escape_refuses() {
    only(Rule::Escape, |office| {
        let mut asking = office.mail().start();
        let goes_on = asking.ready().send(b"\x1b").which(&["[not yet]"]).is_some();
        asking.send(b"\x03").end();
        goes_on
    });
}

#[test]
fn ctrl_c_stops_the_run() {
    only(Rule::Stop, |office| !office.mail().start().ready().send(b"\x03").end().decision().stop);
}

#[test]
fn the_end_of_input_and_a_hang_up_are_no_persons_no() {
    only(Rule::Cause, |office| {
        let ended = office.mail().start().ready().send(b"\x04").end();
        ended.decision().cause != Cause::EndOfInput
    });
    only(Rule::Cause, |office| {
        let mut asking = office.mail().seat(Seat::OutlivesHangUp).start();
        asking.ready().hang_up().end().decision().cause != Cause::TerminalLost
    });
}

#[test]
fn what_cannot_be_undone_is_approved_by_its_word_alone() {
    only(Rule::Word, |office| {
        let mut request = email();
        request.risk = Risk::Irreversible;
        let mut asking = office.asks(request).start();
        asking.ready().send(b"y");
        asking.refuse().decision().approved
    });
}

#[test]
fn keys_are_read_one_by_one_also_in_lines() {
    for flags in [&[][..], &["--plain"]] {
        only(Rule::Singly, |office| {
            let mut asking = office.mail().flags(flags).start();
            let reads_lines = asking.ready().is_put_back();
            asking.signal(Signal::TERM);
            assert!(asking.ended().is_err());
            reads_lines
        });
    }
}

#[test]
fn what_was_typed_while_the_program_was_stopped_counts_for_nothing() {
    only(Rule::Pause, |office| {
        // A machine that is slow may draw in between, which makes it wait without the rule as well.
        (0..3).any(|_| {
            let mut asking = office.mail().start();
            asking.ready().signal(Signal::STOP);
            std::thread::sleep(Duration::from_millis(1_500));
            asking.send(b"y").signal(Signal::CONT);
            asking.refuse().decision().approved
        })
    });
}

#[test]
fn a_signal_finds_the_terminal_put_back() {
    only(Rule::PutBack, |office| {
        let mut asking = office.mail().start();
        asking.ready().signal(Signal::TERM);
        assert!(asking.ended().is_err());
        !asking.is_put_back()
    });
}

#[test]
fn the_controlling_terminal_is_asked_where_standard_input_is_none() {
    only(Rule::Controlling, |office| {
        let ended = office.mail().seat(Seat::Controlling).start().refuse();
        ended.decision().cause == Cause::NobodyToAsk
    });
}

#[test]
fn where_nobody_can_be_asked_both_flags_are_named() {
    only(Rule::Flags, |office| {
        let ended = office.mail().seat(Seat::None).start().end();
        let note = ended.decision().note.clone().unwrap_or_default();
        assert!(!ended.decision().approved);
        !(note.contains("--approve-all") && note.contains("--strict"))
    });
}

#[test]
fn the_ordinary_build_heeds_no_switch() {
    let desk = Desk::new(email()).env("ASKFIRST_RULE_OFF", "Enter");
    let mut asking = desk.start();
    asking.ready().send(b"\r");
    assert!(!asking.refuse().decision().approved);
}
