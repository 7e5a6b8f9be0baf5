//! Tests of the OS sandbox as users see it: tools that start programs, `sandbox` and `doctor`.

use std::fs;

use crate::commands::{Place, feed, told};

const CONFIG: &str = r#"
version: 1
sandbox:
  paths:
    work: { root: ./work, mode: rw, approval: { write: none } }
    asked: { root: ./asked, mode: rw }
    fixed: { root: ./fixed }
  never_read: [".env"]
ledger: { path: ./record.jsonl }
tools:
  free: { command: [sh, -c, "{script}"], args: { script: { type: string } }, approval: none }
  asks: { command: [sh, -c, "{script}"], args: { script: { type: string } } }
"#;

fn place() -> Place {
    let place = Place::new(CONFIG);
    for folder in ["work", "asked", "fixed"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    fs::write(place.path().join("work/.env"), "secret").unwrap();
    fs::write(place.path().join("beside"), "secret").unwrap();
    place
}

fn call(place: &Place, tool: &str, script: &str, flags: &[&str]) -> (i32, String, String) {
    let args = serde_json::json!({ "script": script }).to_string();
    place.run(&[&["call", "--config", "c.yaml", tool, "--args", &args], flags].concat())
}

// invariant: 4
#[test]
fn call_without_asking_reaches_only_paths_that_need_no_asking() {
    let place = place();
    let script = "cat beside work/.env; for root in work asked fixed; do touch $root/new && echo $root; done";
    let (_, out, err) = call(&place, "free", script, &[]);
    assert!(out.contains("work") && !out.contains("asked") && !out.contains("fixed"), "{out}{err}");
    assert!(!out.contains("secret"));
    assert!(place.path().join("work/new").exists() && !place.path().join("asked/new").exists());
    let record = fs::read_to_string(place.path().join("record.jsonl")).unwrap();
    assert!(record.contains(r#""walled":{"tier":"full""#), "{record}");
}

#[test]
fn approved_call_reaches_paths_by_their_modes() {
    let place = place();
    let script = "for root in work asked fixed; do touch $root/new && echo $root; done; cat work/.env beside";
    let (_, out, err) = call(&place, "asks", script, &["--approve-all"]);
    assert!(out.contains("work") && out.contains("asked") && !out.contains("fixed"), "{out}{err}");
    assert!(!out.contains("secret"));
}

#[test]
fn new_protected_name_is_discarded_reported_and_logged() {
    let place = place();
    let (_, _, err) = call(&place, "free", "echo x > work/.bashrc", &[]);
    assert!(err.contains("`work/.bashrc`: the built-in list has `.bashrc`"), "{err}");
    assert!(!place.path().join("work/.bashrc").exists());
    let record = fs::read_to_string(place.path().join("record.jsonl")).unwrap();
    assert!(record.contains("`work/.bashrc`: the built-in list has `.bashrc`"), "{record}");
}

#[test]
fn sandbox_runs_a_program_and_returns_its_exit_code() {
    let place = place();
    let run = |words: &[&str]| place.run(&[&["--config", "c.yaml", "sandbox"], words].concat());
    let (code, out, err) = run(&["--", "sh", "-c", "cat beside; touch asked/x fixed/x; ls asked; exit 7"]);
    assert_eq!((code, out.as_str()), (7, "x\n"), "{err}");
    assert_eq!(run(&["--", "sh", "-c", "kill -TERM $$"]).0, 128 + 15);
    let (code, _, err) = run(&["--", "there-is-no-such-program"]);
    assert_eq!(
        (code, err.as_str()),
        (125, "error: program `there-is-no-such-program` does not exist inside the sandbox\n")
    );
}

#[test]
fn sandbox_flags_cannot_exceed_the_config() {
    let place = place();
    let run = |words: &[&str]| place.run(&[&["--config", "c.yaml", "sandbox"], words].concat());
    let (code, out, err) =
        run(&["--write", "work", "--", "sh", "-c", "touch work/y && touch asked/y; ls work asked"]);
    assert_eq!((code, out.contains('y'), place.path().join("asked/y").exists()), (0, true, false), "{err}");
    for flags in [["--write", "fixed"], ["--write", "."], ["--read", "/etc"], ["--network", "on"]] {
        let (code, _, err) = run(&[&flags[..], &["--", "touch", "work/ran"]].concat());
        assert_eq!(code, 2, "{flags:?} {err}");
        assert!(!place.path().join("work/ran").exists());
    }
    fs::create_dir_all(place.path().join("work/.git/hooks")).unwrap();
    for (flags, why) in [
        (["--write", "work/.env"], "no program may write it"),
        (["--write", "work/.git/hooks"], "no program may write it"),
        (["--read", "work/.env"], "no program may read it"),
    ] {
        let (code, _, err) = run(&[&flags[..], &["--", "true"]].concat());
        assert!(code == 2 && err.contains("is protected") && err.contains(why), "{flags:?} {err}");
    }
}

#[test]
fn doctor_reports_what_this_machine_enforces() {
    let place = place();
    let (code, out, err) = place.run(&["--config", "c.yaml", "doctor"]);
    assert_eq!(code, 0, "{err}");
    for text in [
        "sandbox   full, verified by running a program",
        "every program can also read, besides the roots: /usr",
    ] {
        assert!(out.contains(text), "{out}");
    }
}

/// Creates a project with a file that is never read, and these lines under `sandbox:`.
fn searched(sandbox: &str) -> Place {
    let config = CONFIG.replace("sandbox:\n", &format!("sandbox:\n{sandbox}"));
    let rules = "{ pattern: grep, approval: none }, { pattern: git add, approval: none }";
    let place = Place::new(&format!("{config}shell: {{ known_read_only: none, rules: [{rules}] }}\n"));
    for folder in ["work", "asked", "fixed"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    fs::write(place.path().join("work/.env"), "secret").unwrap();
    fs::write(place.path().join("work/open"), "not secret").unwrap();
    place
}

/// Commands that only the sandbox makes harmless.
const SEARCHES: &str = r#"
{"tool":"shell","args":{"command":"rg secret","cwd":"work"}}
{"tool":"shell","args":{"command":"grep -rn secret .","cwd":"work"}}
{"tool":"shell","args":{"command":"git add -A","cwd":"work"}}
{"tool":"shell","args":{"command":"cat /etc/hosts","cwd":"work"}}
"#;

const SEARCH: &str = r#"{"command":"grep -rh secret .","cwd":"work"}"#;

// invariant: 4
#[test]
fn search_needs_no_yes_where_the_sandbox_hides_the_file() {
    for sandbox in ["", "  require_os_sandbox: false\n"] {
        let place = searched(sandbox);
        let call =
            |args: &str| place.run(&["call", "--config", "c.yaml", "shell", "--args", args, "--strict"]);
        let (code, out, err) = call(SEARCH);
        assert!(
            code == 1 && out.contains("not secret"),
            "grep reports a file that it cannot open: {out}{err}"
        );
        assert!(!out.lines().any(|line| line == "secret"), "{out}");
        assert_eq!(call(r#"{"command":"cat .env","cwd":"work"}"#).0, 3);
        let (_, out, err) = place.feed(&["decide", "--config", "c.yaml"], SEARCHES.as_bytes());
        assert_eq!(out.matches(r#""verdict":"allow""#).count(), 4, "{out}{err}");
    }
}

// invariant: 4
#[test]
fn search_needs_a_person_where_no_sandbox_hides_the_file() {
    for sandbox in ["", "  require_os_sandbox: false\n"] {
        let place = searched(sandbox);
        let args = ["call", "--config", "c.yaml", "shell", "--args", SEARCH, "--approve-all"];
        let output = place.without_namespaces(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "`{sandbox}`: {}", String::from_utf8_lossy(&output.stderr));
        let decide = place.without_namespaces(&["decide", "--config", "c.yaml"]);
        let (_, out, err) = feed(decide, SEARCHES.as_bytes());
        assert_eq!(out.matches(r#""approval":"human""#).count(), 3, "{out}{err}");
        assert_eq!(out.matches(r#""verdict":"ask""#).count(), 4, "{out}{err}");
    }
}

#[test]
fn git_add_takes_no_hidden_file_into_the_index() {
    let place = searched("");
    let work = place.path().join("work");
    let git = |args: &[&str]| {
        let output = std::process::Command::new("git").args(args).current_dir(&work).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    let args = r#"{"command":"git add -A; git add .; git add -A --ignore-errors","cwd":"work"}"#;
    let add = || place.run(&["call", "--config", "c.yaml", "shell", "--args", args, "--strict"]);
    let (_, out, err) = add();
    assert!(format!("{out}{err}").contains("Permission denied"), "git says why it stops: {out}{err}");
    assert!(!git(&["ls-files"]).contains(".env"));
    fs::write(work.join(".gitignore"), ".env\n").unwrap();
    let (code, out, err) = add();
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(git(&["ls-files"]), ".gitignore\nopen\n");
}

#[test]
fn git_settings_in_the_null_device_are_no_settings() {
    let place = searched("");
    let args = r#"{"command":"ls >/dev/null && cat open","cwd":"work"}"#;
    let mut call = place.command(&["call", "--config", "c.yaml", "shell", "--args", args, "--approve-all"]);
    let (code, out, err) = told(call.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap());
    assert!(code == 0 && out.contains("not secret"), "{out}{err}");
}

#[test]
fn root_set_to_human_is_closed_to_calls_the_mode_approved() {
    let config = CONFIG.replace(
        "asked: { root: ./asked, mode: rw }",
        "asked: { root: ./asked, mode: rw, approval: { write: human } }",
    );
    let place = Place::new(&config);
    for folder in ["work", "asked", "fixed"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    let script = "for root in work asked; do touch $root/new && echo $root; done";
    let (_, out, err) = call(&place, "asks", script, &["--approve-all"]);
    assert!(out.contains("work") && !out.contains("asked"), "{out}{err}");
    assert!(!place.path().join("asked/new").exists());
}

/// Runs `sandbox` as an unprivileged user if the tests run as root, because no folder is closed for root.
struct Nobody {
    held: tempfile::TempDir,
}

impl Nobody {
    fn new() -> Self {
        let held = tempfile::tempdir().unwrap();
        let base = held.path();
        for folder in ["work/.git/hooks", "work/sub", "home"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::write(base.join("work/sub/.env"), "secret").unwrap();
        fs::write(base.join("beside"), "untouched").unwrap();
        fs::write(
            base.join("c.yaml"),
            CONFIG.replace("    asked: { root: ./asked, mode: rw }\n    fixed: { root: ./fixed }\n", ""),
        )
        .unwrap();
        // Another process copies the file: otherwise a process from another thread could hold the copy open.
        let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_askfirst")).arg(base).status();
        assert!(copied.unwrap().success());
        if rustix::process::geteuid().is_root() {
            let owned = std::process::Command::new("chown").args(["-R", "60001:60001"]).arg(base).status();
            assert!(owned.unwrap().success());
        }
        Self { held }
    }

    fn run(&self, words: &[&str]) -> (String, String) {
        let base = self.held.path();
        let mut command = if rustix::process::geteuid().is_root() {
            let mut other = std::process::Command::new("setpriv");
            other.args(["--reuid=60001", "--regid=60001", "--clear-groups"]).arg(base.join("askfirst"));
            other
        } else {
            std::process::Command::new(base.join("askfirst"))
        };
        let output = command
            .args(words)
            .current_dir(base)
            .env("HOME", base.join("home"))
            .env("XDG_STATE_HOME", base.join("home/state"))
            .env("XDG_CONFIG_HOME", base.join("home/config"))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    }

    fn sandbox(&self, script: &str) -> (String, String) {
        self.run(&["--config", "c.yaml", "sandbox", "--", "sh", "-c", script])
    }
}

// invariant: 4
#[test]
fn closed_folder_hides_no_protected_name() {
    let nobody = Nobody::new();
    let base = nobody.held.path();
    let (_, err) = nobody.sandbox("chmod 311 work/sub work/.git");
    assert!(err.contains("work/sub`; askfirst opened it again to search it"), "{err}");
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(base.join(name)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("work/sub"), mode("work/.git")), (0o711, 0o711));
    let (out, err) = nobody.sandbox("cat work/sub/.env; echo evil > work/.git/hooks/pre-commit");
    assert!(!out.contains("secret") && !base.join("work/.git/hooks/pre-commit").exists(), "{out}{err}");
    // askfirst also finds a new name in a folder that the same command closes.
    let (_, err) = nobody.sandbox("mkdir work/n; echo evil > work/n/.bashrc; chmod 111 work/n");
    assert!(err.contains("work/n/.bashrc` appeared") && !base.join("work/n/.bashrc").exists(), "{err}");
    // A read-only folder hides nothing either.
    let (_, err) = nobody.sandbox("mkdir work/m; echo evil > work/m/.bashrc; chmod 555 work/m");
    assert!(err.contains("work/m/.bashrc` appeared") && !base.join("work/m/.bashrc").exists(), "{err}");
}

#[test]
fn nested_closed_folders_hide_no_protected_name() {
    let nobody = Nobody::new();
    let base = nobody.held.path();
    let many = "d/".repeat(80);
    let script = format!(
        "echo evil > work/.bashrc; mkdir -p work/{many}; echo evil > work/{many}.bashrc; \
         cd work/{many}; for n in $(seq 80); do cd ..; chmod 0 d; done; echo done"
    );
    let (out, err) = nobody.sandbox(&script);
    assert!(out.contains("done"), "{out}{err}");
    assert!(!base.join("work/.bashrc").exists(), "{err}");
    assert!(base.join(format!("work/{many}.bashrc.quarantined-by-askfirst")).exists(), "{err}");
}

// invariant: 4
#[test]
fn folder_closed_before_the_start_stays_closed() {
    use std::os::unix::fs::PermissionsExt;
    let nobody = Nobody::new();
    let base = nobody.held.path();
    fs::hard_link(base.join("beside"), base.join("work/sub/link")).unwrap();
    fs::set_permissions(base.join("work/sub"), PermissionsExt::from_mode(0o311)).unwrap();
    let (out, err) =
        nobody.sandbox("chmod 755 work/sub; cat work/sub/.env work/sub/link; echo evil > work/sub/link");
    assert!(!out.contains("secret") && !out.contains("untouched"), "{out}{err}");
    assert_eq!(fs::read_to_string(base.join("beside")).unwrap(), "untouched");
}

#[test]
fn folder_as_standard_stream_is_refused_in_the_sandbox() {
    let place = place();
    let folder = fs::File::open("/").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_askfirst"))
        .args(["--config", "c.yaml", "sandbox", "--", "true"])
        .current_dir(place.path())
        .stdin(folder)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", String::from_utf8_lossy(&output.stderr));
}

// invariant: 4
#[test]
fn parent_folders_of_a_nested_root_cannot_be_moved() {
    let config = CONFIG.replace("fixed: { root: ./fixed }", "fixed: { root: work/a/b/fixed }");
    let place = Place::new(&config);
    for folder in ["work/a/b/fixed", "asked"] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    fs::write(place.path().join("work/a/b/fixed/file"), "untouched").unwrap();
    let script = "for folder in a a/b a/b/fixed; do mv work/$folder work/moved && echo moved; done; \
                  echo changed > work/a/b/fixed/file; touch work/a/b/free && echo free";
    let (_, out, err) = call(&place, "free", script, &[]);
    assert!(!out.contains("moved") && out.contains("free"), "{out}{err}");
    let (_, out, err) =
        call(&place, "free", "echo changed > work/moved/b/fixed/file; cat work/a/b/fixed/file", &[]);
    assert!(out.contains("untouched"), "{out}{err}");
    assert_eq!(fs::read_to_string(place.path().join("work/a/b/fixed/file")).unwrap(), "untouched");
}
