//! Runs the real program on a real terminal in a storm of keys, pastes, cut sequences, resizes, signals and content.
//!
//! The program may only refuse, it must end, and it must restore the terminal.
//!
//! The storm never sends a single `y` or `s` while the screen says ready, so every approval is a failure.
//! Before it sends such a key, it stops the program, so that the screen cannot change at that moment.
//!
//! Each storm follows from a seed, and a failure names it. `ASKFIRST_STORM_SEED=17` starts at a seed.
//! With `ASKFIRST_STORM_SECONDS=0`, only that seed runs. `ASKFIRST_STORM_SECONDS=3600` runs for an hour:
//! `ASKFIRST_STORM_SECONDS=3600 cargo test -p askfirst-terminal --test it storm::storm -- --nocapture`.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

mod actions;
mod contents;
mod mark;
mod run;

use actions::{SeededRandom, plan};
use run::StormRun;

/// The number of programs at the same time. Most of the time they wait.
const PARALLEL: usize = 12;
/// A time limit that is longer than one storm.
const LONG: Duration = Duration::from_secs(3_600);

/// The outcome of one program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Each question was answered. The text describes the last answer.
    Answered(String),
    /// A signal ended the program.
    Ended(i32),
    /// The program approved a call without a yes.
    Approved(String),
    /// The program broke another rule.
    Broken(String),
}

/// Runs one program through one storm.
fn run_storm(seed: u64, until: Instant) -> (Outcome, String) {
    let mut random = SeededRandom::new(seed);
    let mut run = StormRun::new(contents::desk(&mut random));
    for action in plan(&mut random) {
        run.apply(&action);
        if run.has_ended() || Instant::now() > until {
            break;
        }
    }
    let last = actions::last(&mut random);
    let outcome = run.end(last);
    (outcome, run.report())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

// invariant: 6
#[test]
fn storm_of_keys_and_signals_approves_nothing() {
    let first = number("ASKFIRST_STORM_SEED").unwrap_or(1);
    let time = Duration::from_secs(number("ASKFIRST_STORM_SECONDS").unwrap_or(8));
    let (next, until) = (AtomicU64::new(first), Instant::now() + time);
    let outcomes = Mutex::new(BTreeMap::<Outcome, u64>::new());
    let storm = || {
        loop {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed > first && Instant::now() > until {
                return;
            }
            let (outcome, report) =
                run_storm(seed, if time.is_zero() { Instant::now() + LONG } else { until });
            if let Outcome::Approved(what) | Outcome::Broken(what) = &outcome {
                panic!("{what}\n{report}\nhint: ASKFIRST_STORM_SEED={seed} ASKFIRST_STORM_SECONDS=0");
            }
            let mut outcomes = outcomes.lock().unwrap();
            *outcomes.entry(outcome).or_default() += 1;
            let rounds: u64 = outcomes.values().sum();
            if rounds.is_multiple_of(200) {
                println!("{rounds} programs, up to seed {seed}: {outcomes:?}");
            }
        }
    };
    std::thread::scope(|scope| {
        (0..if time.is_zero() { 1 } else { PARALLEL }).for_each(|_| drop(scope.spawn(storm)));
    });
    let outcomes = outcomes.into_inner().unwrap();
    println!("{} programs: {outcomes:?}", outcomes.values().sum::<u64>());
}
