//! Measures the time until the first frame of a large request, and compares its diff with `git diff --no-index`.
//!
//! The path is the real one: a call of the file tools passes the judge and the controller to an approver. The time
//! until the first frame is processor time; the comparison with git uses elapsed time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Durability, RecordFailed, Recorder, Reply};
use askfirst::record::Record;
use askfirst::{ApprovalContext, Cause, Mode, Timestamp};
use askfirst_bench::{Failure, in_words, median};
use askfirst_config::{LoadOptions, Places, from_json};
use askfirst_display::diff::unified;
use askfirst_display::redact::Redactor;
use askfirst_display::{Page, PageOptions};
use askfirst_runtime::tools::catalog::Catalog;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

const TURNS: usize = 15;
/// The size of each side.
const SIZE: usize = 10_000_000;
const COLUMNS: usize = 100;
/// The variable with the size from which the allocator maps a block of memory separately.
const THRESHOLD: &str = "MALLOC_MMAP_THRESHOLD_";

/// An approver that refuses every question.
struct ChannelApprover(Sender<(Question, Duration)>);

impl Approver for ChannelApprover {
    fn ask(&self, question: Question, reply: Reply) {
        let _ = self.0.send((question, worked()));
        reply.send(Answer::failed(Cause::Person, "measured"));
    }

    fn withdraw(&self, _: QuestionId, _: Cause) {}
}

/// A recorder that keeps nothing: another benchmark measures the audit log.
struct Nowhere;

impl Recorder for Nowhere {
    fn record(&self, _: &Record, _: Durability) -> Result<(), RecordFailed> {
        Ok(())
    }
}

fn main() -> Result<(), Failure> {
    if std::env::var_os(THRESHOLD).is_none() {
        // The allocator frees large blocks at once, so that reused memory counts as used.
        let status = Command::new(std::env::current_exe()?).env(THRESHOLD, "65536").status()?;
        return if status.success() { Ok(()) } else { Err("it failed".into()) };
    }
    let root = std::env::temp_dir().canonicalize()?.join(format!("askfirst-bench-{}", std::process::id()));
    fs::create_dir(&root)?;
    let measured = measure(&root);
    fs::remove_dir_all(&root)?;
    measured
}

fn measure(root: &Path) -> Result<(), Failure> {
    let every = |n: usize| {
        let (before, mut after) = (text(SIZE), String::new());
        for (at, line) in before.lines().enumerate() {
            after.push_str(line);
            after.push_str(if at % n == 0 { " changed\n" } else { "\n" });
        }
        after.truncate(SIZE);
        (before, after)
    };
    let code: String =
        (0..).map(|n| format!("fn f{n}() -> usize {{ \"{n}\".len() }}\n")).take(26_000).collect();
    let mixed = || {
        let line =
            |n: usize| ["}\n", "\n", "    return None\n", "    x += 1\n"].get(n % 4).copied().unwrap_or("");
        let side = |salt: usize| -> String {
            (0..400_000)
                .map(|n: usize| {
                    if n % 5 == 0 {
                        format!("line {}\n", n / 5 * salt % 99_991)
                    } else {
                        line(n * salt / 3).to_owned()
                    }
                })
                .collect()
        };
        (side(1), side(3))
    };
    let rows = [
        ("10 MB, every line changed", every(1)),
        ("10 MB, every 9th changed", every(9)),
        ("10 MB, every 1,000th changed", every(1_000)),
        ("4 MB, moved and repeated", mixed()),
    ];
    // Data that is loaded once and stays, such as the languages, does not count for any content.
    quietly(root, &code)?;
    for (label, (before, after)) in rows {
        row(root, label, Some(&before), &after)?;
    }
    row(root, "1 MB, a new file", None, &code)
}

/// Draws the page of a small file once.
fn quietly(root: &Path, code: &str) -> Result<(), Failure> {
    let (sender, questions) = channel();
    let tools = tools(root, sender)?;
    let args = json!({"path": "w:warm.rs", "content": code.lines().next()});
    let call = ApprovalContext::new("write_file", args.as_object().cloned().unwrap_or_default());
    drop(tools.call_many_sync(vec![call]));
    let redactor = Redactor::default();
    let options = PageOptions { preview_lines: 50, redactor: &redactor, now: Timestamp(0), withheld: &[] };
    let page = Page::of(&questions.recv()?.0, &options);
    (0..page.len(COLUMNS)).for_each(|at| drop(page.rows(at, COLUMNS)));
    Ok(())
}

fn row(root: &Path, label: &str, before: Option<&str>, after: &str) -> Result<(), Failure> {
    let (old, new) = (root.join("a.rs"), root.join("new.rs"));
    let _ = fs::remove_file(&old);
    if let Some(before) = before {
        fs::write(&old, before)?;
    }
    fs::write(&new, after)?;
    let (sender, questions) = channel();
    let tools = tools(root, sender)?;
    let redactor = Redactor::default();
    let options = PageOptions { preview_lines: 50, redactor: &redactor, now: Timestamp(0), withheld: &[] };
    let mut times: [Vec<f64>; 5] = Default::default();
    let [to_ask, first, diff, whole, git] = &mut times;
    let mut grown = 0;
    let nanos = |time: Duration| time.as_secs_f64() * 1e9;
    for _ in 0..TURNS {
        let args = json!({"path": "w:a.rs", "content": after});
        let call = ApprovalContext::new("write_file", args.as_object().cloned().unwrap_or_default());
        drop(args);
        let start = worked();
        drop(tools.call_many_sync(vec![call]));
        let (question, asked) = questions.recv()?;
        to_ask.push(nanos(asked - start));
        let start = worked();
        let head = Page::head(&question, &options);
        let drawn: usize = (0..head.len(COLUMNS)).map(|at| head.rows(at, COLUMNS).len()).sum();
        assert!(drawn > 0);
        first.push(nanos(worked() - start) + to_ask.last().copied().unwrap_or(f64::NAN));
        if let Some(before) = before {
            let start = Instant::now();
            let made = unified("w:a.rs", before, after);
            diff.push(nanos(start.elapsed()));
            assert!(made.len() > 100);
            let start = Instant::now();
            let mut command = Command::new("git");
            command.args(["diff", "--no-index", "--no-color"]).args([&old, &new]).stdout(Stdio::null());
            command.status()?;
            git.push(nanos(start.elapsed()));
        }
        let start = Instant::now();
        let resident = reset_peak()?;
        let page = Page::of(&question, &options);
        (0..page.len(COLUMNS).min(60)).for_each(|at| drop(page.rows(at, COLUMNS)));
        whole.push(nanos(start.elapsed()));
        grown = grown.max(peak()?.saturating_sub(resident));
    }
    let content = before.map_or(0, str::len) + after.len();
    let [to_ask, first, diff, whole, git] = times.map(|mut times| median(&mut times));
    print!("{label:<28} asked {} | first frame {} | ", in_words(to_ask), in_words(first));
    if before.is_some() {
        print!("git {} | diff {} ({:.2} ×) | ", in_words(git), in_words(diff), diff / git);
        print!("whole page {} ({:.2} ×)", in_words(whole), whole / git);
    } else {
        print!("whole page {}", in_words(whole));
    }
    println!(" | memory {:.2} × the content", (grown * 1024) as f64 / content as f64);
    Ok(())
}

fn tools(root: &Path, asked: Sender<(Question, Duration)>) -> Result<ApprovalToolset, Failure> {
    let places = Places {
        managed: root.join("none"),
        user: root.join("none"),
        state: root.join("none"),
        home: std::env::var_os("HOME").map(PathBuf::from),
    };
    let config = json!({"version": 1, "sandbox": {"paths": {"w": {"root": root, "mode": "rw"}}}});
    let loading = LoadOptions { explicit: None, folder: root.to_owned(), places };
    let Catalog { policy, toolset, .. } = Catalog::new(from_json(&config, &loading)?)?;
    let controller = ApprovalController::setup(Mode::Interactive).approver(Arc::new(ChannelApprover(asked))).build();
    Ok(ApprovalToolset::new(toolset, controller, policy).recorder(Arc::new(Nowhere)))
}

/// Returns the processor time of all threads of this program, which other processes disturb little.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Restarts the measurement of peak memory. Returns the memory in use now, in KiB.
fn reset_peak() -> Result<usize, Failure> {
    fs::write("/proc/self/clear_refs", "5")?;
    status("VmRSS:")
}

fn peak() -> Result<usize, Failure> {
    status("VmHWM:")
}

fn status(field: &str) -> Result<usize, Failure> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)).ok_or("no such field")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn text(size: usize) -> String {
    let mut text = String::with_capacity(size + 64);
    for n in 0.. {
        if text.len() >= size {
            break;
        }
        text.push_str(&format!("a line number {n} of a text that is some lines long\n"));
    }
    text.truncate(size);
    text
}
