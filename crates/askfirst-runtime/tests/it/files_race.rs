//! An attacker swaps a folder for a link to the outside while the tools work. Nothing gets out; a twin that compares
//! paths as text does let it out.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use askfirst::{Approval, Invocation, Toolset};
use askfirst_runtime::block_on;
use askfirst_runtime::tools::filesystem::FileToolset;
use rustix::fs::{CWD, RenameFlags};
use serde_json::json;

use crate::files::config;
use crate::fixture::call;

/// Swaps `w/d`, a folder, with `w/l`, a link to the folder `out`, until told to stop.
struct Attacker {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
}

impl Attacker {
    fn start(folder: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (d, l, told) = (folder.join("w/d"), folder.join("w/l"), Arc::clone(&stop));
        let swap = move || {
            let mut swaps = 0;
            while !told.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &d, CWD, &l, RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
            }
            swaps
        };
        Self { stop, thread: Some(std::thread::spawn(swap)) }
    }

    fn stop(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for path in ["w/d", "out"] {
        std::fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    std::os::unix::fs::symlink("../out", folder.path().join("w/l")).unwrap();
    std::fs::write(folder.path().join("w/d/f"), "inside").unwrap();
    std::fs::write(folder.path().join("out/f"), "outside").unwrap();
    folder
}

fn outside(folder: &Path) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::fs::read_dir(folder.join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// The obvious but unsafe way to open a file: resolve, compare, open.
struct Naive(PathBuf);

impl Naive {
    fn allowed(&self, path: &str) -> io::Result<PathBuf> {
        let whole = self.0.join(path);
        let folder = whole.parent().unwrap().canonicalize()?;
        if folder.starts_with(&self.0) { Ok(whole) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    fn read(&self, path: &str) -> io::Result<String> {
        std::fs::read_to_string(self.allowed(path)?)
    }
}

#[test]
fn no_operation_escapes_while_folders_are_swapped_for_links() {
    let folder = scene();
    let tools = FileToolset::with_state(
        &config(folder.path(), &[("w", "w", Approval::None)]),
        &folder.path().join("state"),
    )
    .unwrap();
    let attacker = Attacker::start(folder.path());
    let (mut read, mut refused) = (0_u64, 0_u64);
    for n in 0..100_000_u32 {
        let (tool, args) = match n % 50 {
            0 => ("write_file", json!({"path": "w:d/new", "content": "evil"})),
            1 => ("edit_file", json!({"path": "w:d/f", "old": "outside", "new": "evil"})),
            2 => ("copy_file", json!({"path": "w:d/f", "to": "w:copy", "overwrite": true})),
            3 => ("move_file", json!({"path": "w:d/f", "to": "w:stolen", "overwrite": true})),
            4 => ("move_file", json!({"path": "w:stolen", "to": "w:d/f", "overwrite": true})),
            5 => ("delete_file", json!({"path": "w:d/new"})),
            6 => ("make_folder", json!({"path": "w:d/sub"})),
            7 => ("find_in_files", json!({"path": "w:d", "pattern": "outside"})),
            8 => ("list_files", json!({"path": "w:d"})),
            _ => ("read_file", json!({"path": "w:d/f"})),
        };
        match block_on(tools.call(Invocation::new(call(tool, args)))) {
            Ok(result) => {
                let text = result.to_string();
                assert!(!text.contains("outside"), "{tool}: {text}");
                read += u64::from(tool == "read_file");
            }
            Err(_) => refused += 1,
        }
    }
    let swaps = attacker.stop();
    assert_eq!(outside(folder.path()), [("f".to_owned(), "outside".to_owned())]);
    for name in ["copy", "stolen", "d/f", "l/f"] {
        let path = folder.path().join("w").join(name);
        let inside = path
            .canonicalize()
            .is_ok_and(|path| path.starts_with(folder.path().join("w").canonicalize().unwrap()));
        if let Ok(content) = std::fs::read_to_string(&path)
            && inside
        {
            assert_eq!(content, "inside", "{name}");
        }
    }
    assert!(
        read > 100 && refused > 100 && swaps > 100,
        "no race: {read} reads, {refused} refused, {swaps} swaps"
    );
}

#[test]
fn comparison_of_paths_as_text_lets_the_attack_out() {
    let folder = scene();
    let naive = Naive(folder.path().join("w").canonicalize().unwrap());
    let attacker = Attacker::start(folder.path());
    let escaped = (0..2_000_000).any(|_| naive.read("d/f").is_ok_and(|content| content == "outside"));
    attacker.stop();
    assert!(escaped, "the attack is too weak to show anything");
}
