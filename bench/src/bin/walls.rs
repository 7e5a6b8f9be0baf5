//! What it costs to start `/bin/true` behind the walls, with a helper for each start and with one that is kept: beside a
//! plain spawn, bubblewrap and what else is installed, from a small parent and from one of 1 GiB. Of an `askfirst` program
//! that is named, also with that as the helper.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use askfirst_bench::{Contestant, Failure, print_race};
use askfirst_sandbox::{
    Grant, Helper, OSProfile, Spec, Stop, Tier, Walls, launch, launch_behind, main_if_helper,
};

fn main() -> Result<(), Failure> {
    main_if_helper();
    let walls = Walls::probe(Helper::own()?, Tier::Full)?;
    let keeping = Walls::probe(Helper::own()?, Tier::Full)?.keeping_helpers();
    let named = std::env::args_os().nth(1).map(|path| named(path.as_ref())).transpose()?;
    println!("walls: {} ({})", walls.tier(), walls.way());
    let folder = std::env::temp_dir().join(format!("askfirst-bench-walls-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("work"))?;
    let folder = folder.canonicalize()?;
    race_from("from a small parent", &walls, &keeping, named.as_ref(), &folder)?;
    let large = vec![1_u8; 1 << 30];
    race_from("from a parent of 1 GiB", &walls, &keeping, named.as_ref(), &folder)?;
    drop(std::hint::black_box(large));
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// Walls that another program makes.
fn named(path: &Path) -> Result<Walls, Failure> {
    let said = Command::new("sha256sum").arg(path).output()?;
    let digest = String::from_utf8(said.stdout)?;
    let helper = Helper::at(path, digest.split_whitespace().next().unwrap_or_default())?;
    Ok(Walls::probe(helper, Tier::Full)?)
}

fn race_from(
    label: &str,
    walls: &Walls,
    keeping: &Walls,
    named: Option<&Walls>,
    folder: &Path,
) -> Result<(), Failure> {
    let work = folder.join("work");
    let profile = OSProfile { writable: vec![Grant::of(&work)?], ..OSProfile::nothing() };
    let spec = Spec::new("/bin/true", &work);
    let plain = || started(Command::new("/bin/true").current_dir(&work));
    let mut others = Vec::new();
    if let Some(path) = found("bwrap") {
        others.push(("bubblewrap", bubblewrap(&path, &work)));
    }
    if let Some(path) = found("codex") {
        let words = ["sandbox", "--", "/bin/true"].map(String::from).to_vec();
        others.push(("Codex", (path, words)));
    }
    if let Some(path) = found("srt") {
        others.push(("Anthropic sandbox-runtime", (path, vec!["/bin/true".to_owned()])));
    }
    let mut contestants = vec![
        Contestant::waiting("plain spawn", |_| plain()),
        Contestant::waiting("our launcher without walls", |_| drop(launch(&spec, &Stop::new()))),
        Contestant::waiting("our walls", |_| behind(walls, &profile, &spec)),
        Contestant::waiting("our walls, helper kept", |_| behind(keeping, &profile, &spec)),
    ];
    if let Some(named) = named {
        contestants
            .push(Contestant::waiting("our walls, askfirst the helper", |_| behind(named, &profile, &spec)));
    }
    for (name, (program, words)) in &others {
        let start = move |_| started(Command::new(program).args(words).current_dir(folder));
        contestants.push(Contestant::waiting(name, start));
    }
    print_race(label, &mut contestants);
    Ok(())
}

fn behind(walls: &Walls, profile: &OSProfile, spec: &Spec) {
    let over = launch_behind(walls, profile, spec, &Stop::new());
    assert!(over.is_ok_and(|over| over.finished.end == askfirst_sandbox::End::Exited(0)));
}

fn started(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()));
}

fn found(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// As people call it: all namespaces, the system to read, one folder to write.
fn bubblewrap(path: &Path, work: &Path) -> (PathBuf, Vec<String>) {
    let work = work.display().to_string();
    let words = [
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--ro-bind",
        "/usr",
        "/usr",
        "--ro-bind-try",
        "/etc",
        "/etc",
        "--symlink",
        "usr/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
        "--symlink",
        "usr/lib64",
        "/lib64",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--bind",
        &work,
        &work,
        "--chdir",
        &work,
        "/bin/true",
    ];
    (path.to_owned(), words.map(str::to_owned).to_vec())
}
