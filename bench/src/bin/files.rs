//! Compares the file tools with the same steps in std, on files of 4 KB and 10 MB, without judge and audit log.
//!
//! The optional argument is the folder to work in, because the time of a sync depends on the disk.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use askfirst::toolset::CallerThread;
use askfirst::{ApprovalContext, Invocation, Toolset};
use askfirst_bench::{Failure, in_words, median};
use askfirst_config::{LoadOptions, Places, from_json};
use askfirst_runtime::block_on;
use askfirst_runtime::tools::filesystem::FileToolset;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const SIZES: [(&str, usize, usize); 2] = [("4 KB", 4 << 10, 201), ("10 MB", 10 << 20, 41)];
const LISTED: usize = 100_000;
const SEARCHED: usize = 1_000;

fn main() -> Result<(), Failure> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let apart = args.iter().any(|arg| arg == "--apart");
    args.retain(|arg| arg != "--apart");
    let within = args.first().map_or_else(std::env::temp_dir, PathBuf::from);
    let bench = Bench::new(&within, if apart { From::Other } else { From::Blocking })?;
    for (label, size, turns) in SIZES {
        println!("{label}");
        bench.reading(size, turns)?;
        bench.writing(size, turns.min(101))?;
    }
    bench.folders()?;
    Ok(())
}

/// The caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// A thread that waits for the call and does nothing else, as std's caller does.
    Blocking,
    /// A thread that may have other work, so the tools wait for the disk on another thread.
    Other,
}

struct Bench {
    from: From,
    root: PathBuf,
    tools: FileToolset,
    elsewhere: Elsewhere,
}

type Work = Box<dyn FnOnce() + Send>;

/// A thread that works while another waits for it. The tools wait for the disk on such a thread, because their caller
/// may have other work. A program with std alone would do the same.
struct Elsewhere {
    hand: Sender<Work>,
    done: Receiver<()>,
}

impl Elsewhere {
    fn new() -> Self {
        let (hand, work) = channel::<Work>();
        let (tell, done) = channel();
        std::thread::spawn(move || {
            for work in work {
                work();
                tell.send(()).expect("somebody waits");
            }
        });
        Self { hand, done }
    }

    fn run(&self, work: impl FnOnce() + Send + 'static) {
        self.hand.send(Box::new(work)).expect("the thread works");
        self.done.recv().expect("it is done");
    }
}

type Step<'a> = Box<dyn Fn() + 'a>;

/// One operation of a contestant. The clock does not include its preparation.
struct Way<'a> {
    name: &'static str,
    before: Step<'a>,
    /// Gets the call for the tools; std ignores it.
    work: Box<dyn Fn(Option<Invocation>) + 'a>,
    call: Option<Box<dyn Fn() -> Invocation + 'a>>,
}

/// The state folder for a root, beside it.
fn state_of(root: &Path) -> PathBuf {
    root.with_extension("state")
}

impl Bench {
    fn new(within: &Path, from: From) -> Result<Self, Failure> {
        let root = within.canonicalize()?.join(format!("askfirst-bench-{}", std::process::id()));
        fs::create_dir(&root)?;
        let places = Places {
            managed: within.join("none"),
            user: within.join("none"),
            state: within.join("none"),
            home: std::env::var_os("HOME").map(PathBuf::from),
        };
        let config = json!({
            "sandbox": {"paths": {"w": {"root": root, "mode": "rw", "approval": {"write": "none"}}}}
        });
        let options = LoadOptions { explicit: None, folder: root.clone(), places };
        let tools = FileToolset::with_state(&from_json(&config, &options)?, &state_of(&root))?;
        Ok(Self { from, root, tools, elsewhere: Elsewhere::new() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Creates a contestant that uses std.
    fn std<'a>(&self, name: &'static str, work: impl Fn() + 'a) -> Way<'a> {
        Way { name, before: Box::new(|| ()), work: Box::new(move |_| work()), call: None }
    }

    /// Creates a contestant that calls a tool with `args`.
    fn tool<'a>(&'a self, tool: &'static str, args: impl Fn() -> Value + 'a) -> Way<'a> {
        let call = move || {
            let args = args().as_object().cloned().unwrap_or_default();
            Invocation::new(ApprovalContext::new(tool, args))
        };
        let work = |call: Option<Invocation>| {
            let thread = match self.from {
                From::Blocking => CallerThread::Waiting,
                From::Other => CallerThread::Busy,
            };
            let done = block_on(self.tools.call(call.expect("a call").on_thread(thread)));
            done.expect("it works");
        };
        Way { name: tool, before: Box::new(|| ()), work: Box::new(work), call: Some(Box::new(call)) }
    }

    /// Resolves a path and checks that it is in the root, as a program with std alone would do first.
    fn confined(&self, path: &Path) -> PathBuf {
        let real = path.canonicalize().expect("it is there");
        assert!(real.starts_with(&self.root));
        real
    }

    fn reading(&self, size: usize, turns: usize) -> Result<(), Failure> {
        fs::create_dir_all(self.path("one/two/three"))?;
        for (name, deep) in [("read.txt", ""), ("one/two/three/read.txt", ", deep")] {
            let path = self.path(name);
            let called = format!("w:{name}");
            fs::write(&path, text(size))?;
            // A call without a limit reads at most one megabyte.
            let args = || match size {
                0..=0xfffff => json!({"path": called}),
                _ => json!({"path": called, "limit": 16 << 20}),
            };
            race(
                &format!("  read{deep}"),
                turns,
                &[
                    self.std("std", || drop(read(&path))),
                    self.std("std, confined", || drop(read(&self.confined(&path)))),
                    self.tool("read_file", args),
                ],
            );
            if size > 1 << 20 {
                return Ok(());
            }
            race(
                &format!("  stat{deep}"),
                turns,
                &[
                    self.std("std", || drop(stat(&path))),
                    self.std("std, confined", || drop(stat(&self.confined(&path)))),
                    self.tool("stat_file", || json!({"path": called})),
                ],
            );
        }
        Ok(())
    }

    fn writing(&self, size: usize, turns: usize) -> Result<(), Failure> {
        let content = text(size);
        let path = self.path("write.txt");
        fs::write(&path, &content)?;
        let copy = self.path("copy.txt");
        fs::write(&copy, &content)?;
        let args = || json!({"path": "w:write.txt", "content": content});
        let own = Cell::new(String::new());
        race(
            "  write",
            turns,
            &[
                self.std("std", || replace(&self.root, &path, |file| file.write_all(content.as_bytes()))),
                self.std("std, confined", || {
                    replace(&self.root, &self.confined(&path), |file| file.write_all(content.as_bytes()))
                }),
                // Gets its own content, like the tool.
                self.std("std, elsewhere", || {
                    let (root, path) = (self.root.clone(), path.clone());
                    let content = own.take();
                    self.elsewhere
                        .run(move || replace(&root, &path, |file| file.write_all(content.as_bytes())));
                })
                .after(|| own.set(content.clone())),
                self.tool("write_file", args),
            ],
        );
        // Larger files are not edited.
        if size <= 8 << 20 {
            let whole = || fs::write(&path, format!("{content}# end\n")).expect("a file");
            race(
                "  edit",
                turns,
                &[
                    self.std("std", || {
                        let old = fs::read_to_string(&path).expect("text");
                        assert_eq!(old.matches("# end").count(), 1);
                        let new = old.replace("# end", "# the end");
                        replace(&self.root, &path, |file| file.write_all(new.as_bytes()));
                    })
                    .after(whole),
                    self.tool(
                        "edit_file",
                        || json!({"path": "w:write.txt", "old": "# end", "new": "# the end"}),
                    )
                    .after(whole),
                ],
            );
        }
        fs::write(&path, &content)?;
        race(
            "  copy",
            turns,
            &[
                self.std("std", || {
                    let mut source = File::open(&path).expect("a source");
                    replace(&self.root, &copy, |file| std::io::copy(&mut source, file).map(drop));
                }),
                self.tool(
                    "copy_file",
                    || json!({"path": "w:write.txt", "to": "w:copy.txt", "overwrite": true}),
                ),
            ],
        );
        let there = Cell::new(false);
        let ends = || {
            if there.replace(!there.get()) { ["there.txt", "write.txt"] } else { ["write.txt", "there.txt"] }
        };
        race(
            "  move",
            turns,
            &[
                self.std("std", || {
                    let [from, to] = ends();
                    fs::rename(self.path(from), self.path(to)).expect("a rename");
                    sync(&self.root);
                    sync(&self.root);
                }),
                self.std("std, elsewhere", || {
                    let [from, to] = ends().map(|name| self.path(name));
                    let root = self.root.clone();
                    self.elsewhere.run(move || {
                        fs::rename(from, to).expect("a rename");
                        sync(&root);
                        sync(&root);
                    });
                }),
                self.tool("move_file", || {
                    let [from, to] = ends();
                    json!({"path": format!("w:{from}"), "to": format!("w:{to}")})
                }),
            ],
        );
        let make = || fs::write(self.path("gone.txt"), &content).expect("a file");
        race(
            "  delete",
            turns,
            &[
                self.std("std", || {
                    fs::remove_file(self.path("gone.txt")).expect("it was there");
                    sync(&self.root);
                })
                .after(make),
                self.std("std, elsewhere", || {
                    let (root, path) = (self.root.clone(), self.path("gone.txt"));
                    self.elsewhere.run(move || {
                        fs::remove_file(path).expect("it was there");
                        sync(&root);
                    });
                })
                .after(make),
                self.tool("delete_file", || json!({"path": "w:gone.txt"})).after(make),
            ],
        );
        let unmake = || drop(fs::remove_dir(self.path("folder")));
        race(
            "  make_folder",
            turns,
            &[
                self.std("std", || {
                    fs::create_dir(self.path("folder")).expect("a folder");
                    sync(&self.root);
                })
                .after(unmake),
                self.std("std, elsewhere", || {
                    let (root, path) = (self.root.clone(), self.path("folder"));
                    self.elsewhere.run(move || {
                        fs::create_dir(path).expect("a folder");
                        sync(&root);
                    });
                })
                .after(unmake),
                self.tool("make_folder", || json!({"path": "w:folder"})).after(unmake),
            ],
        );
        Ok(())
    }

    fn folders(&self) -> Result<(), Failure> {
        let many = self.path("many");
        fs::create_dir(&many)?;
        for n in 0..LISTED {
            File::create(many.join(format!("file-number-{n}.txt")))?;
        }
        println!("a folder of {LISTED} files");
        race(
            "  list",
            11,
            &[
                self.std("walkdir", || {
                    let count = walkdir::WalkDir::new(&many).min_depth(1).into_iter().count();
                    assert_eq!(count, LISTED);
                }),
                self.std("walkdir, paths and kinds, sorted", || {
                    let walk = walkdir::WalkDir::new(&many).min_depth(1).into_iter();
                    let mut all: Vec<(String, bool)> = walk
                        .map(|entry| {
                            let entry = entry.expect("an entry");
                            let path = entry.path().strip_prefix(&self.root).expect("beneath");
                            (format!("w:{}", path.display()), entry.file_type().is_file())
                        })
                        .collect();
                    all.sort();
                    assert_eq!(all.len(), LISTED);
                }),
                self.tool("list_files", || json!({"path": "w:many", "limit": LISTED})),
            ],
        );
        let texts = self.path("texts");
        fs::create_dir(&texts)?;
        for n in 0..SEARCHED {
            fs::write(texts.join(format!("{n}.txt")), text(4 << 10))?;
        }
        println!("{SEARCHED} files of 4 KB");
        race(
            "  find",
            11,
            &[
                self.std("std, lines one by one", || {
                    let mut found = Vec::new();
                    for entry in fs::read_dir(&texts).expect("a folder") {
                        let path = entry.expect("an entry").path();
                        let content = fs::read_to_string(&path).expect("text");
                        let lines =
                            content.lines().enumerate().filter(|(_, line)| line.contains("number 17 "));
                        found.extend(lines.map(|(n, line)| (path.clone(), n, line.to_owned())));
                    }
                    found.sort();
                    assert_eq!(found.len(), SEARCHED);
                }),
                self.tool(
                    "find_in_files",
                    || json!({"path": "w:texts", "pattern": "number 17 ", "limit": 10_000}),
                ),
            ],
        );
        Ok(())
    }
}

impl<'a> Way<'a> {
    fn after(mut self, before: impl Fn() + 'a) -> Self {
        self.before = Box::new(before);
        self
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Prints the median of each contestant and its ratio to the first and the second, in elapsed time and in processor
/// time of all threads. They take turns.
fn race(label: &str, turns: usize, ways: &[Way<'_>]) {
    let mut times: Vec<(Vec<f64>, Vec<f64>)> = ways.iter().map(|_| (Vec::new(), Vec::new())).collect();
    for turn in 0..turns + ways.len() {
        // Each contestant is first equally often, because it may have to wait for writes of the one before it.
        for at in (0..ways.len()).map(|n| (n + turn) % ways.len()) {
            let way = &ways[at];
            (way.before)();
            let call = way.call.as_ref().map(|call| call());
            let (start, worked) = (Instant::now(), processor_time());
            (way.work)(call);
            let (took, worked) = (start.elapsed().as_secs_f64() * 1e9, processor_time() - worked);
            // The first turns are a warm-up.
            if turn >= ways.len() {
                times[at].0.push(took);
                times[at].1.push(worked);
            }
        }
    }
    let medians: Vec<(f64, f64)> =
        times.iter_mut().map(|(took, worked)| (median(took), median(worked))).collect();
    let ours = medians.last().copied().unwrap_or((f64::NAN, f64::NAN));
    let cells: Vec<String> = ways
        .iter()
        .zip(&medians)
        .map(|(way, (took, worked))| {
            let (by_clock, by_work) = (ours.0 / took, ours.1 / worked);
            format!("{} {} ({by_clock:.2} ×, {by_work:.2} × of processor time)", way.name, in_words(*took))
        })
        .collect();
    println!("{label:<14} {}", cells.join(" | "));
}

/// Returns the processor time of all threads of this process, in nanoseconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
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

/// Opens a file, stats it, reads it, checks that it is text, and returns the result as JSON.
fn read(path: &Path) -> Value {
    let mut file = File::open(path).expect("it opens");
    let size = file.metadata().expect("a size").len();
    let mut content = Vec::with_capacity(usize::try_from(size).expect("a size"));
    file.read_to_end(&mut content).expect("it can be read");
    let content = String::from_utf8(content).expect("text");
    // `json!` would copy the content.
    let mut result = json!({"path": "w:read.txt", "offset": 0, "size": size});
    result["content"] = Value::String(content);
    result
}

fn stat(path: &Path) -> Value {
    let meta = fs::symlink_metadata(path).expect("it is there");
    let modified = meta.modified().expect("a time").elapsed().expect("past").as_secs();
    json!({"path": "w:read.txt", "kind": "file", "size": meta.len(), "modified": modified, "mode": "644"})
}

/// Writes a temporary file next to the target, with the mode of the old file. Syncs and renames it, then syncs the
/// folder.
fn replace(folder: &Path, path: &Path, fill: impl FnOnce(&mut File) -> std::io::Result<()>) {
    let beside = folder.join("beside.tmp");
    let mode = path.metadata().expect("the old one").permissions();
    let mut file = OpenOptions::new().write(true).create_new(true).open(&beside).expect("a file");
    fill(&mut file).expect("it fits");
    file.set_permissions(mode).expect("a mode");
    file.sync_all().expect("a sync");
    fs::rename(&beside, path).expect("a rename");
    sync(folder);
}

fn sync(folder: &Path) {
    File::open(folder).expect("a folder").sync_all().expect("a sync");
}
