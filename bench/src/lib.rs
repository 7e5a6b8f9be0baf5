//! Shared code of the benchmarks: timing in turns, and tables. It measures ratios within one run; it does not compare
//! runs.

pub mod engines;
pub mod rules;

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Any error: a benchmark that cannot run says why and ends.
pub type Failure = Box<dyn std::error::Error>;

/// The intended duration of one turn of a contestant.
const TURN: Duration = Duration::from_millis(2);
/// The largest number of turns of each contestant.
const TURNS: usize = 101;
/// After this time a row is done, as soon as each contestant had [`LEAST_TURNS`].
const ENOUGH: Duration = Duration::from_secs(6);
const LEAST_TURNS: usize = 5;

/// One contestant: work that can be repeated many times.
pub struct Contestant<'a> {
    name: &'a str,
    clock: ClockId,
    work: Box<dyn FnMut(usize) + 'a>,
    times: Vec<f64>,
    batch: usize,
}

impl<'a> Contestant<'a> {
    /// Creates a contestant whose `work` gets the number of the repetition. Its processor time counts, so that other
    /// processes on the machine disturb little.
    pub fn new(name: &'a str, work: impl FnMut(usize) + 'a) -> Self {
        Self { name, clock: ClockId::ThreadCPUTime, work: Box::new(work), times: Vec::new(), batch: 1 }
    }

    /// Creates a contestant that waits for something other than the processor: elapsed time counts.
    pub fn waiting(name: &'a str, work: impl FnMut(usize) + 'a) -> Self {
        Self { clock: ClockId::Monotonic, ..Self::new(name, work) }
    }

    fn turn(&mut self, batch: usize) -> Duration {
        let start = now(self.clock);
        for at in 0..batch {
            (self.work)(at);
        }
        now(self.clock).saturating_sub(start)
    }

    /// Finds how many repetitions fill a turn; this warms up too.
    fn warm_up(&mut self) {
        loop {
            let took = self.turn(self.batch);
            if took >= TURN / 2 || self.batch >= 1 << 24 {
                return;
            }
            self.batch *= 2;
        }
    }
}

/// Returns the median time of each contestant in nanoseconds, in order. They take turns, so that a disturbance of the
/// machine affects all of them.
pub fn race(contestants: &mut [Contestant<'_>]) -> Vec<f64> {
    contestants.iter_mut().for_each(Contestant::warm_up);
    let start = Instant::now();
    for turn in 0..TURNS {
        if turn >= LEAST_TURNS && start.elapsed() > ENOUGH {
            break;
        }
        for contestant in contestants.iter_mut() {
            let batch = contestant.batch;
            let took = contestant.turn(batch);
            contestant.times.push(took.as_secs_f64() * 1e9 / batch as f64);
        }
    }
    contestants.iter_mut().map(|contestant| median(&mut contestant.times)).collect()
}

/// Runs a race and prints one line: times, and ratios against the first contestant.
pub fn print_race(label: &str, contestants: &mut [Contestant<'_>]) -> Vec<f64> {
    let names: Vec<String> = contestants.iter().map(|contestant| contestant.name.to_owned()).collect();
    let times = race(contestants);
    let first = times.first().copied().unwrap_or(f64::NAN);
    let cells: Vec<String> = names
        .iter()
        .zip(&times)
        .map(|(name, time)| format!("{name} {} ({:.2} ×)", in_words(*time), time / first))
        .collect();
    println!("{label:<28} {}", cells.join(" | "));
    times
}

fn now(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the median of some times.
pub fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Formats nanoseconds for people.
pub fn in_words(nanos: f64) -> String {
    match nanos {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.2} µs", n / 1e3),
        n => format!("{:.2} ms", n / 1e6),
    }
}
