//! Measures `askfirst sandbox -- true`, a process that starts one program, against a plain spawn and bubblewrap: in an empty
//! root, and in one of 50,000 files.
//!
//! The only argument is the path of the program. Bubblewrap takes part if it is on `PATH`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use askfirst_bench::{Contestant, Failure, print_race};

const FOLDERS: usize = 1_000;
const FILES: usize = 50;

fn main() -> Result<(), Failure> {
    let program = std::env::args().nth(1).ok_or("name the program: one_shot <path of askfirst>")?;
    let program = std::path::absolute(program)?;
    let folder = std::env::temp_dir().join(format!("askfirst-bench-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let done = measure(&program, &folder);
    fs::remove_dir_all(&folder)?;
    done
}

fn measure(program: &Path, folder: &Path) -> Result<(), Failure> {
    race("an empty root", program, &folder.join("empty"), |_| Ok(()))?;
    race("a root of 50,000 files", program, &folder.join("large"), |root| {
        for number in 0..FOLDERS {
            let inner = root.join(format!("{}/{number}", number % 20));
            fs::create_dir_all(&inner)?;
            (0..FILES).try_for_each(|file| fs::write(inner.join(file.to_string()), ""))?;
        }
        Ok(())
    })
}

fn race(
    label: &str,
    program: &Path,
    folder: &Path,
    fill: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let (root, home) = (folder.join("root"), folder.join("home"));
    fs::create_dir_all(&root)?;
    fs::create_dir_all(home.join(".config/askfirst"))?;
    let config = format!(
        "version: 1\nsandbox:\n  paths:\n    project: {{ root: {}, mode: rw, approval: {{ read: none, write: none }} }}\n",
        root.display()
    );
    fs::write(home.join(".config/askfirst/askfirst.yaml"), config)?;
    fill(&root)?;
    // A folder that has just changed is read again, since it could change once more within the same clock tick.
    std::thread::sleep(std::time::Duration::from_secs(4));
    let command = |program: &Path, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(&root).env_clear();
        command.env("HOME", &home).env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        command
    };
    let start = |mut command: Command| {
        let status = command.status().expect("it starts");
        assert!(status.success(), "{command:?}: {status}");
    };
    // The first command reads every folder, and leaves a cache.
    start(command(program, &["sandbox", "--", "true"]));
    let at = root.to_str().ok_or("the folder is no text")?;
    let bubblewrap =
        ["/usr/bin/bwrap", "/bin/bwrap"].map(PathBuf::from).into_iter().find(|path| path.exists());
    let mut contestants =
        vec![Contestant::waiting("plain spawn", |_| start(command(Path::new("/bin/true"), &[])))];
    if let Some(bubblewrap) = bubblewrap {
        contestants
            .push(Contestant::waiting("bubblewrap", move |_| start(command(&bubblewrap, &bwrap_words(at)))));
    }
    contestants
        .push(Contestant::waiting("askfirst", |_| start(command(program, &["sandbox", "--", "true"]))));
    print_race(label, &mut contestants);
    Ok(())
}

/// The usual arguments of bubblewrap.
fn bwrap_words(root: &str) -> Vec<&str> {
    let words = "--unshare-all --die-with-parent --new-session --ro-bind /usr /usr --ro-bind /etc /etc \
                 --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
                 --proc /proc --dev /dev --tmpfs /tmp --bind";
    words.split_whitespace().chain([root, root, "--chdir", root, "--", "/bin/true"]).collect()
}
