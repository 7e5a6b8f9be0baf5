//! Measures starting `/bin/true` in the sandbox, with a new helper for each start and with a kept one.
//!
//! It compares with a plain spawn, bubblewrap and other installed sandboxes, from a small parent and from one of 1 GiB.
//! With the path of an `askfirst` program as its argument, it also measures that program as the helper.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use askfirst_bench::{Contestant, Failure, print_race};
use askfirst_sandbox::{
    Grant, Helper, OSProfile, Sandbox, Spec, Stop, Tier, launch, launch_in_sandbox, run_helper_if_requested,
};

fn main() -> Result<(), Failure> {
    run_helper_if_requested();
    let sandbox = Sandbox::probe(Helper::own()?, Tier::Full)?;
    let keeping = Sandbox::probe(Helper::own()?, Tier::Full)?.with_helper_pool();
    let named = std::env::args_os().nth(1).map(|path| named(path.as_ref())).transpose()?;
    println!("sandbox: {} ({})", sandbox.tier(), sandbox.backend());
    let folder = std::env::temp_dir().join(format!("askfirst-bench-sandbox-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("work"))?;
    let folder = folder.canonicalize()?;
    race_from("from a small parent", &sandbox, &keeping, named.as_ref(), &folder)?;
    let large = vec![1_u8; 1 << 30];
    race_from("from a parent of 1 GiB", &sandbox, &keeping, named.as_ref(), &folder)?;
    drop(std::hint::black_box(large));
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// A sandbox with another program as its helper.
fn named(path: &Path) -> Result<Sandbox, Failure> {
    let said = Command::new("sha256sum").arg(path).output()?;
    let digest = String::from_utf8(said.stdout)?;
    let helper = Helper::at(path, digest.split_whitespace().next().unwrap_or_default())?;
    Ok(Sandbox::probe(helper, Tier::Full)?)
}

fn race_from(
    label: &str,
    sandbox: &Sandbox,
    keeping: &Sandbox,
    named: Option<&Sandbox>,
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
        Contestant::waiting("our launcher without sandbox", |_| drop(launch(&spec, &Stop::new()))),
        Contestant::waiting("our sandbox", |_| start_in(sandbox, &profile, &spec)),
        Contestant::waiting("our sandbox, helper kept", |_| start_in(keeping, &profile, &spec)),
    ];
    if let Some(named) = named {
        contestants.push(Contestant::waiting("our sandbox, askfirst the helper", |_| {
            start_in(named, &profile, &spec)
        }));
    }
    for (name, (program, words)) in &others {
        let start = move |_| started(Command::new(program).args(words).current_dir(folder));
        contestants.push(Contestant::waiting(name, start));
    }
    print_race(label, &mut contestants);
    Ok(())
}

fn start_in(sandbox: &Sandbox, profile: &OSProfile, spec: &Spec) {
    let over = launch_in_sandbox(sandbox, profile, spec, &Stop::new());
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
