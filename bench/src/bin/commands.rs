//! Measures the real program: how many calls `decide` answers per second, and the time of the first verdict.
//!
//! It compares that time with `/bin/true`. The only argument is the path of the program.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use askfirst_bench::{Failure, in_words, median};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

const CALLS: usize = 100_000;
const RULES: usize = 100;
const STARTS: usize = 101;
const RUNS: usize = 5;

fn main() -> Result<(), Failure> {
    let program = std::env::args().nth(1).ok_or("name the program: commands <path of askfirst>")?;
    let program = std::path::absolute(program)?;
    let folder = std::env::temp_dir().join(format!("askfirst-bench-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let done = measure(&program, &folder);
    std::fs::remove_dir_all(&folder)?;
    done
}

fn measure(program: &Path, folder: &Path) -> Result<(), Failure> {
    let config = folder.join("askfirst.yaml");
    std::fs::write(&config, rules())?;
    // Rule `i` says `none`, `required` or `deny` in turn.
    let kinds = [("a third each", 1, 0), ("all allowed", 3, 0), ("all asked", 3, 1), ("all denied", 3, 2)];
    for (label, step, first) in kinds {
        let calls = folder.join("calls.jsonl");
        std::fs::write(
            &calls,
            (0..CALLS).map(|i| call(i, (i * step + first) % (RULES - 1))).collect::<String>(),
        )?;
        let (passed, used) = decide(program, &config, &calls, &folder.join("verdicts.jsonl"))?;
        println!(
            "decide, {label:<14} {:>9.0} calls/s by the clock, {:>9.0} calls/s by processor time",
            CALLS as f64 / passed,
            CALLS as f64 / used
        );
    }
    let one = folder.join("one.jsonl");
    std::fs::write(&one, call(0, 0))?;
    start("start", program, &config, &one)?;
    let roots = "sandbox: { paths: { project: { root: ., mode: rw } } }\n";
    std::fs::write(&config, rules() + roots)?;
    start("start with file roots", program, &config, &one)
}

/// Returns the median elapsed time and processor time of all calls, in seconds.
fn decide(program: &Path, config: &Path, calls: &Path, out: &Path) -> Result<(f64, f64), Failure> {
    let (mut passed, mut used) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let before = children()?;
        let start = Instant::now();
        let status =
            command(program, config).stdin(File::open(calls)?).stdout(File::create(out)?).status()?;
        passed.push(start.elapsed().as_secs_f64());
        used.push(children()?.saturating_sub(before).as_secs_f64());
        let lines = std::fs::read(out)?.iter().filter(|byte| **byte == b'\n').count();
        if !status.success() || lines != CALLS {
            return Err(format!("{lines} verdicts on {CALLS} calls, and {status}").into());
        }
    }
    Ok((median(&mut passed), median(&mut used)))
}

/// Compares the time of one call with the time of a program that does nothing, in turns.
fn start(title: &str, program: &Path, config: &Path, one: &Path) -> Result<(), Failure> {
    let nothing =
        [PathBuf::from("/bin/true"), PathBuf::from("/usr/bin/true")].into_iter().find(|path| path.exists());
    let nothing = nothing.ok_or("there is no `true` here")?;
    let mut times = [Vec::new(), Vec::new()];
    let mut used = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (at, mut command) in [Command::new(&nothing), command(program, config)].into_iter().enumerate() {
            command.stdin(File::open(one)?).stdout(Stdio::null());
            let before = children()?;
            let start = Instant::now();
            let status = command.status()?;
            times[at].push(start.elapsed().as_secs_f64() * 1e9);
            used[at].push(children()?.saturating_sub(before).as_secs_f64() * 1e9);
            if !status.success() {
                return Err(format!("{status}").into());
            }
        }
    }
    for (label, [nothing, ours]) in [("by the clock", &mut times), ("by processor time", &mut used)] {
        let (nothing, ours) = (median(nothing), median(ours));
        let ratio = ours / nothing;
        println!("{title}, {label}: true {}, askfirst {} ({ratio:.2} ×)", in_words(nothing), in_words(ours));
    }
    Ok(())
}

/// Returns the processor time of all child processes that have ended.
fn children() -> Result<Duration, Failure> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = [usage.user_time(), usage.system_time()].map(|time| time.num_microseconds());
    Ok(Duration::from_micros(u64::try_from(micros.iter().sum::<i64>())?))
}

fn command(program: &Path, config: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("decide").arg("--config").arg(config);
    command
}

fn rules() -> String {
    let mut text = "version: 1\ndefault_approval: required\ntools:\n".to_owned();
    for i in 0..RULES {
        let approval = ["none", "required", "deny"][i % 3];
        let _ = writeln!(text, "  tool_{i}: {{ approval: {approval} }}");
    }
    text
}

fn call(id: usize, rule: usize) -> String {
    format!(
        "{{\"id\":{id},\"tool\":\"tool_{rule}\",\"args\":{{\"table\":\"users\",\"limit\":100,\"where\":\"created_at > '2026-01-01'\"}}}}\n"
    )
}
