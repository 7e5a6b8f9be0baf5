//! The real program on a real terminal in a storm of keys, pastes, cut sequences, resizes, signals and contents. Nothing
//! may come of it but refusals; the terminal must be as before, and the program must end.
//!
//! No lone `y` or `s` is ever sent while the screen says ready, so every approval is a failure. When such a key is sent,
//! the program is stopped first, so that it is certain what stands on screen at that moment.
//!
//! What happens follows from a seed, which a failure names: `ASKFIRST_STORM_SEED=17` begins there, and with
//! `ASKFIRST_STORM_SECONDS=0` it is the only one. `ASKFIRST_STORM_SECONDS=3600` goes on for an hour, always to new seeds:
//! `ASKFIRST_STORM_SECONDS=3600 cargo test -p askfirst-terminal --test it storm::storm -- --nocapture`.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

mod contents;
mod doings;
mod mark;
mod sea;

use doings::{Chance, plan};
use sea::Sea;

/// So many programs are in the storm at once: most of the time they wait.
const AT_ONCE: usize = 12;
/// Longer than one storm.
const LONG: Duration = Duration::from_secs(3_600);

/// What became of one program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Each question was answered, and this is how the last one was.
    Answered(String),
    /// A signal ended it.
    Ended(i32),
    /// Something was approved that nobody said yes to.
    Approved(String),
    /// It broke another promise.
    Broken(String),
}

/// One program through one storm.
fn weather(seed: u64, until: Instant) -> (Outcome, String) {
    let mut chance = Chance::new(seed);
    let mut sea = Sea::new(contents::desk(&mut chance));
    for doing in plan(&mut chance) {
        sea.go_through(&doing);
        if sea.is_over() || Instant::now() > until {
            break;
        }
    }
    let last = doings::last(&mut chance);
    let outcome = sea.end(last);
    (outcome, sea.told())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

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
            let (outcome, told) = weather(seed, if time.is_zero() { Instant::now() + LONG } else { until });
            if let Outcome::Approved(what) | Outcome::Broken(what) = &outcome {
                panic!("{what}\n{told}\nhint: ASKFIRST_STORM_SEED={seed} ASKFIRST_STORM_SECONDS=0");
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
        (0..if time.is_zero() { 1 } else { AT_ONCE }).for_each(|_| drop(scope.spawn(storm)));
    });
    let outcomes = outcomes.into_inner().unwrap();
    println!("{} programs: {outcomes:?}", outcomes.values().sum::<u64>());
}
