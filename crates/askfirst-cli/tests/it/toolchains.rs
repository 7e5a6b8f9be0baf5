//! Tests that the programs on `PATH` start in the real sandbox, with layouts as pyenv, rustup, nvm and uv create them.
//!
//! If the tests run as root, each runs once as root and once as an ordinary user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CONFIG: &str = r#"
version: 1
sandbox:
  paths: { work: { root: ./work, mode: rw, approval: { write: none } } }
  never_read: [".env", "~/vault"]
ledger: { path: ./record.jsonl }
shell: { default: { approval: none } }
tools:
  free: { command: [bash, -c, "{script}"], args: { script: { type: string } }, approval: none }
"#;

/// The uid of the ordinary user.
const USER: u32 = 60001;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum As {
    Self_,
    User,
    /// As root, with roots that the ordinary user owns, and a home folder that only root can open.
    RootForUser,
}

/// A folder with a home folder, a root `work`, and a config.
struct Machine {
    held: tempfile::TempDir,
    who: As,
    path: Vec<PathBuf>,
}

impl Machine {
    fn new(who: As) -> Self {
        let held = tempfile::tempdir().unwrap();
        let machine = Self { held, who, path: Vec::new() };
        for folder in ["home", "work"] {
            fs::create_dir(machine.at(folder)).unwrap();
        }
        fs::write(machine.at("c.yaml"), CONFIG).unwrap();
        machine
    }

    fn at(&self, name: &str) -> PathBuf {
        self.held.path().canonicalize().unwrap().join(name.trim_start_matches('/'))
    }

    fn file(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    fn program(&self, name: &str, text: &str) {
        self.file(name, text);
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn link(&self, name: &str, to: impl AsRef<Path>) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        symlink(to, self.at(name)).unwrap();
    }

    fn on_path(&mut self, name: &str) {
        self.path.push(self.at(name));
    }

    /// A program as installed by a version manager: it prints its name and reads a file of its own installation.
    fn installed(&self, root: &str, name: &str, library: &str) {
        let text =
            format!("#!/bin/sh\ncat \"{0}/{library}\" && echo {name} \"$@\"\n", self.at(root).display());
        self.program(&format!("{root}/bin/{name}"), &text);
        self.file(&format!("{root}/{library}"), "");
    }

    /// Everything that follows belongs to the user that runs askfirst.
    fn give_away(&self) {
        let (who, folders): (_, &[&str]) = match self.who {
            As::Self_ => return,
            As::User => (self.held.path().to_owned(), &[""]),
            As::RootForUser => (self.at("work"), &["", "home"]),
        };
        let owner = format!("{USER}:{USER}");
        assert!(Command::new("chown").args(["-hR", &owner]).arg(who).status().unwrap().success());
        for folder in folders {
            let mode = if *folder == "home" { 0o700 } else { 0o755 };
            fs::set_permissions(self.at(folder), fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        // Another process copies the file: otherwise a process from another thread could hold the copy open.
        let copy = self.at("askfirst");
        if !copy.exists() {
            assert!(
                Command::new("cp").arg(env!("CARGO_BIN_EXE_askfirst")).arg(&copy).status().unwrap().success()
            );
            self.give_away();
        }
        let mut command = match self.who {
            As::Self_ | As::RootForUser => Command::new(copy),
            As::User => {
                let mut command = Command::new("setpriv");
                let user = USER.to_string();
                command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(copy);
                command
            }
        };
        let path = self.path.iter().cloned().chain(["/usr/bin", "/bin"].map(PathBuf::from));
        let output = command
            .args(["--config", "c.yaml"])
            .args(words)
            .current_dir(self.at(""))
            .env_clear()
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", self.at("home"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&self.at("").display().to_string(), "[machine]/")
        };
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    fn sandbox(&self, script: &str) -> (i32, String, String) {
        self.run(&["sandbox", "--", "bash", "-c", script])
    }

    fn call(&self, script: &str) -> (i32, String, String) {
        self.run(&["call", "free", "--args", &serde_json::json!({ "script": script }).to_string()])
    }

    fn make_pyenv(&mut self) {
        self.installed("home/.pyenv/versions/3.11.7", "python3", "lib/python3.11/os.py");
        self.file("home/.pyenv/version", "3.11.7\n");
        let libexec = "#!/usr/bin/env bash\nversion=$(cat .python-version 2>/dev/null || cat \"$PYENV_ROOT/version\")\n\
                       shift; exec \"$PYENV_ROOT/versions/$version/bin/$1\" \"${@:2}\"\n";
        self.program("home/.pyenv/libexec/pyenv", libexec);
        let root = self.at("home/.pyenv");
        let shim = "#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\nexport PYENV_ROOT=\"<root>\"\n\
                    exec \"<root>/libexec/pyenv\" exec \"$program\" \"$@\"\n";
        self.program("home/.pyenv/shims/python3", &shim.replace("<root>", root.to_str().unwrap()));
        self.on_path("home/.pyenv/shims");
    }

    fn make_rustup(&mut self, cargo: &str, rustup: &str) {
        self.installed(&format!("{rustup}/toolchains/stable"), "cargo", "lib/rustlib/components");
        self.file(&format!("{rustup}/settings.toml"), "default_toolchain = \"stable\"\n");
        let proxy = "#!/bin/bash\nroot=${RUSTUP_HOME:-$HOME/.rustup}\n\
                     name=$(sed -n 's/default_toolchain = \"\\(.*\\)\"/\\1/p' \"$root/settings.toml\")\n\
                     exec \"$root/toolchains/$name/bin/${0##*/}\" \"$@\"\n";
        self.program(&format!("{cargo}/bin/rustup"), proxy);
        self.link(&format!("{cargo}/bin/cargo"), "rustup");
        self.file(&format!("{cargo}/credentials.toml"), "secret");
        self.on_path(&format!("{cargo}/bin"));
    }

    fn make_uv(&mut self) {
        let base = "home/.local/share/uv/python";
        self.installed(&format!("{base}/cpython-3.12.4"), "python3.12", "lib/python3.12/os.py");
        self.link(&format!("{base}/cpython-3.12"), "cpython-3.12.4");
        self.program("home/.local/bin/uv", "#!/bin/sh\necho uv\n");
        let base = self.at(base).join("cpython-3.12/bin");
        let tool = "home/.local/share/uv/tools/ruff";
        self.file(&format!("{tool}/pyvenv.cfg"), &format!("home = {}\n", base.display()));
        self.link(&format!("{tool}/bin/python"), base.join("python3.12"));
        self.program(&format!("{tool}/bin/ruff"), &format!("#!{}/bin/python\n", self.at(tool).display()));
        self.link("home/.local/bin/ruff", "../share/uv/tools/ruff/bin/ruff");
        self.link("work/.venv/bin/python", base.join("python3.12"));
        self.file("work/.venv/pyvenv.cfg", &format!("home = {}\n", base.display()));
        self.on_path("home/.local/bin");
    }
}

/// The users that the tests can run as.
fn everyone() -> Vec<As> {
    if rustix::process::geteuid().is_root() { vec![As::Self_, As::User] } else { vec![As::Self_] }
}

#[test]
fn toolchains_of_version_managers_start_in_the_sandbox() {
    for who in everyone() {
        let mut machine = Machine::new(who);
        machine.make_pyenv();
        machine.make_rustup("home/.cargo", "home/.rustup");
        machine.make_uv();
        machine.installed("home/.nvm/versions/node/v22.1.0", "node", "lib/node_modules/npm/package.json");
        machine.link("home/.nvm/versions/node/v22.1.0/bin/npm", "../lib/node_modules/npm/cli.js");
        machine
            .program("home/.nvm/versions/node/v22.1.0/lib/node_modules/npm/cli.js", "#!/usr/bin/env node\n");
        machine.on_path("home/.nvm/versions/node/v22.1.0/bin");
        let script = "cd work && python3 -m pytest && cargo test && node x && npm x && uv && ruff check && .venv/bin/python y";
        let node = "home/.nvm/versions/node/v22.1.0/bin/npm";
        let ruff = "home/.local/bin/ruff";
        let expected = format!(
            "python3 -m pytest\ncargo test\nnode x\nnode [machine]/{node} x\nuv\npython3.12 [machine]/{ruff} check\n\
             python3.12 y\n"
        );
        let (code, out, err) = machine.sandbox(script);
        assert_eq!((code, out.as_str()), (0, expected.as_str()), "{who:?}: {err}");
        let (code, out, err) = machine.call(script);
        assert!(code == 0 && out.contains("python3.12 y"), "{who:?}: {out}{err}");
    }
}

// invariant: 4
#[test]
fn toolchains_are_read_only_and_show_nothing_else() {
    for who in everyone() {
        let mut machine = Machine::new(who);
        machine.make_pyenv();
        machine.make_rustup("home/.cargo", "home/.rustup");
        machine.program("home/bin/tool", "#!/bin/sh\necho tool\n");
        machine.on_path("home/bin");
        for name in ["home/bin/.env", "home/vault/x", "home/.ssh/id", "home/.pyenv/.git/config", "home/note"]
        {
            machine.file(name, "secret");
        }
        machine.link("home/.pyenv/shims/evil", machine.at("home/vault/x"));
        let script = "tool; for name in bin/.env vault/x .ssh/id .pyenv/.git/config .pyenv/shims/evil note \
                      .cargo/credentials.toml; do cat ~/$name; done; cat ~/bin/.env ~/.cargo/bin/../credentials.toml; \
                      for name in bin .pyenv/shims .pyenv/versions/3.11.7/bin .cargo/bin .rustup/toolchains; do \
                      touch ~/$name/new && echo wrote $name; done; \
                      echo x >> ~/.rustup/settings.toml && echo wrote settings; rm -f ~/bin/tool && echo removed; \
                      mkdir -p ~/.cargo/registry && echo private";
        let (_, out, err) = machine.sandbox(script);
        assert_eq!(out, "tool\nprivate\n", "{who:?}: {err}");
        assert!(!machine.at("home/.cargo/registry").exists() && machine.at("home/bin/tool").exists());
    }
}

/// A folder on `PATH` in which a person also works.
// invariant: 4
#[test]
fn projects_beside_a_program_on_path_are_unreadable() {
    for who in everyone() {
        let mut machine = Machine::new(who);
        machine.program("home/src/tool-1.0", "#!/bin/sh\necho \"tool $0\"\n");
        machine.link("home/src/tool", "tool-1.0");
        machine.program("home/src/app/bin/build", "#!/bin/sh\necho build\n");
        machine.link("home/src/build", "app/bin/build");
        for name in ["home/src/app/.env", "home/src/app/src/main.rs", "home/src/notes/plan.md"] {
            machine.file(name, "secret");
        }
        machine.program("home/npm/node_modules/lint/cli", "#!/bin/sh\ncat \"$(dirname \"$0\")/rules\"\n");
        machine.file("home/npm/node_modules/lint/rules", "rules\n");
        machine.file("home/npm/node_modules/lint/.env", "secret");
        machine.program("home/bin/x", "");
        machine.link("home/bin/lint", machine.at("home/npm/node_modules/lint/cli"));
        machine.on_path("home/src");
        machine.on_path("home/bin");
        let script = "tool; build; sh \"$(readlink -f ~/bin/lint)\"; cat ~/src/app/.env ~/src/app/src/main.rs \
                      ~/src/notes/plan.md ~/npm/node_modules/lint/.env; ls ~/src/app ~/src/notes; \
                      echo x >> ~/src/tool-1.0 && echo wrote";
        let (_, out, err) = machine.sandbox(script);
        let start = "tool [machine]/home/src/tool\nbuild\nrules\n";
        assert!(
            out.starts_with(start) && !out.contains("secret") && !out.contains("wrote"),
            "{who:?}: {out}{err}"
        );
        assert!(!out.contains("main.rs") && !out.contains("plan.md"), "{who:?}: {out}{err}");
    }
}

#[test]
fn toolchain_of_another_folder_gets_its_variable() {
    for who in everyone() {
        let mut machine = Machine::new(who);
        machine.make_rustup("opt/cargo", "opt/rustup");
        let (code, out, err) = machine.sandbox("cargo build");
        assert_eq!((code, out.as_str()), (0, "cargo build\n"), "{who:?}: {err}");
    }
}

#[test]
fn toolchain_behind_links_starts_as_it_is_spelled() {
    for who in everyone() {
        let mut machine = Machine::new(who);
        machine.installed("data/node/v22", "node", "lib/node_modules/x");
        machine.link("home/current", machine.at("data/node/v22"));
        machine.link("alias", "home");
        machine.on_path("alias/current/bin");
        let (code, out, err) = machine.sandbox("node; command -v node");
        assert_eq!((code, out.as_str()), (0, "node\n[machine]/alias/current/bin/node\n"), "{who:?}: {err}");
    }
}

// invariant: 4
#[test]
fn files_in_a_root_only_select_among_toolchains() {
    for who in everyone() {
        let mut machine = Machine::new(who);
        machine.make_pyenv();
        machine.installed("home/private/py", "python3", "lib/python3.9/os.py");
        machine.file("home/.ssh/id", "secret");
        machine.file("work/pyvenv.cfg", &format!("home = {}\n", machine.at("home/private/py/bin").display()));
        machine
            .program("work/bin/x", &format!("#!{}\n", machine.at("home/private/py/bin/python3").display()));
        machine.link("work/bin/python", machine.at("home/private/py/bin/python3"));
        machine.link("work/keys", machine.at("home/.ssh"));
        machine.file("work/.python-version", "../../../private/py\n");
        machine.on_path("work/bin");
        machine.on_path("work/keys");
        let (_, out, err) = machine.sandbox("cd work; x; python; python3; cat keys/id; ls ~/private ~/.ssh");
        assert_eq!(out, "", "{who:?}: {err}");
    }
}

/// Another process swaps the folder for a link all the time, as if between the search and the mount.
// invariant: 4
#[test]
fn folder_swapped_for_a_link_shows_nothing_new() {
    use std::sync::atomic::{AtomicBool, Ordering};
    for who in everyone() {
        let mut machine = Machine::new(who);
        for name in ["home/bin/tool", "home/vault/tool"] {
            machine.program(name, "#!/bin/sh\n");
        }
        machine.file("home/vault/note", "secret");
        machine.link("home/swap", machine.at("home/vault"));
        machine.on_path("home/bin");
        machine.run(&["doctor"]);
        let (one, other, over) = (machine.at("home/bin"), machine.at("home/swap"), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let (at, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
                    rustix::fs::renameat_with(at, &one, at, &other, flags).unwrap();
                }
            });
            for _ in 0..20 {
                let (_, out, err) = machine.sandbox("cat ~/bin/note ~/vault/note ~/swap/note");
                assert!(!out.contains("secret"), "{who:?}: {out}{err}");
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}

/// The analysis of a command and the sandbox agree about what is readable.
#[test]
fn reading_a_toolchain_needs_no_answer_unless_it_is_hidden() {
    let mut machine = Machine::new(As::Self_);
    machine.make_pyenv();
    machine.file("home/note", "secret");
    machine.file("home/.pyenv/versions/3.11.7/pip.conf", "secret");
    let python = machine.at("home/.pyenv/versions/3.11.7");
    let read = |config: &str, name: &str| {
        fs::write(machine.at("c.yaml"), config).unwrap();
        let command = format!("cat {}/{name}", python.display());
        let args = serde_json::json!({ "command": command, "cwd": "work" }).to_string();
        machine.run(&["call", "shell", "--strict", "--args", &args]).0
    };
    let asks = CONFIG.replace("default: { approval: none }", "known_read_only: none");
    assert_eq!(read(&asks, "lib/python3.11/os.py"), 0);
    for hidden in ["pip.conf", "../../../note"] {
        assert_eq!(read(&asks, hidden), 3, "{hidden}");
    }
    assert_eq!(read(&asks.replace("sandbox:", "sandbox:\n  toolchains: off"), "lib/python3.11/os.py"), 3);
}

#[test]
fn off_hides_toolchains_and_the_result_names_the_folder() {
    for who in everyone() {
        let mut machine = Machine::new(who);
        machine.make_rustup("home/.cargo", "home/.rustup");
        fs::write(machine.at("c.yaml"), CONFIG.replace("sandbox:", "sandbox:\n  toolchains: off")).unwrap();
        let line = "`cargo` is in `~/.cargo/bin`, which is hidden in the sandbox: `sandbox.toolchains` does not include it; \
                    hint: `sandbox.toolchains: auto` would show it";
        let (code, _, err) = machine.run(&["sandbox", "--", "cargo", "build"]);
        let start = "error: program `cargo` does not exist inside the sandbox; ";
        assert_eq!((code, err.as_str()), (125, format!("{start}{line}\n").as_str()), "{who:?}");
        let (code, _, err) = machine.sandbox("cargo build");
        assert_eq!(code, 127);
        assert!(
            err.contains("sandbox: these folders of `PATH` are hidden in the sandbox: `~/.cargo/bin`"),
            "{err}"
        );
        let (code, out, err) = machine.call("cargo build");
        assert!(code != 0 && (out.clone() + &err).contains(line), "{who:?}: {out}{err}");
        let record = fs::read_to_string(machine.at("record.jsonl")).unwrap();
        assert!(record.contains("is hidden in the sandbox"), "{record}");
        // The exit code of the line is that of another program.
        for script in ["cargo test 2>&1 | tail -20", "cargo build || true", "cargo check; echo done"] {
            let (code, out, err) = machine.call(script);
            let both = out + &err;
            assert_eq!((code, both.matches("[sandbox: ").count()), (0, 1), "{script}: {both}");
            assert!(both.contains(line), "{script}: {both}");
        }
        let (_, out, err) = machine.call("no-such-program || true; cat cargo 2>&1 | head");
        assert!(!(out.clone() + &err).contains("[sandbox: "), "{out}{err}");
    }
}

#[test]
fn doctor_lists_what_is_shown_and_hidden() {
    let mut machine = Machine::new(As::Self_);
    machine.make_rustup("home/.cargo", "home/.rustup");
    machine.program("open/x", "");
    fs::set_permissions(machine.at("open"), fs::Permissions::from_mode(0o777)).unwrap();
    machine.file("home/.ssh/id", "");
    for name in ["open", "home", "home/.ssh"] {
        machine.on_path(name);
    }
    let (_, out, err) = machine.run(&["doctor"]);
    for line in [
        "ok    toolchain every program can also read, to start: ~/.cargo/bin ~/.rustup/settings.toml ~/.rustup/toolchains\n",
        "note  toolchain ~ is hidden: it is your home folder, or contains it\n",
        "note  toolchain ~/.ssh is hidden: its name says that it holds secrets; \
         hint: `sandbox.toolchains: [auto, ~/.ssh]` would show it\n",
        "note  toolchain [machine]/open is hidden: everyone can write in it; \
         hint: `sandbox.toolchains: [auto, \"[machine]/open\"]` would show it\n",
    ] {
        let out = out.replace("[auto, [machine]/open]", "[auto, \"[machine]/open\"]");
        assert!(out.contains(line), "{line}{out}{err}");
    }
    let (_, out, _) = machine.run(&["effective"]);
    assert!(
        out.contains("sandbox.toolchains: auto") && out.contains("need to start: [machine]/home/.cargo/bin"),
        "{out}"
    );
}

/// The ordinary user that programs run as cannot open root's home folder. That must not stop the command.
#[test]
fn toolchains_closed_to_the_program_user_are_left_out() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut machine = Machine::new(As::RootForUser);
    machine.make_rustup("home/.cargo", "home/.rustup");
    machine.installed("opt/node", "node", "lib/node_modules/x");
    machine.on_path("opt/node/bin");
    let (code, out, err) = machine.sandbox("id -u; node; ls ~/.cargo/bin");
    assert_eq!((code, out.as_str()), (2, "60001\nnode\n"), "{err}");
}

/// The toolchains of this machine, with its own `PATH` and home folder.
#[test]
fn programs_of_this_machine_start_as_outside() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("work")).unwrap();
    fs::write(place.path().join("c.yaml"), CONFIG).unwrap();
    let mut started = 0;
    for script in
        ["cargo --version", "python3 -c 'import sys, json; print(sys.prefix, sys.version)'", "node --version"]
    {
        let inside = ["--config", "c.yaml", "sandbox", "--", "sh", "-c", script];
        let in_work = |program: &str| {
            let mut command = Command::new(program);
            command.current_dir(place.path()).env_remove("PYENV_VERSION").env_remove("RUSTUP_TOOLCHAIN");
            command
        };
        let outside = in_work("sh").args(["-c", script]).output().unwrap();
        if outside.status.success() {
            let inside = in_work(env!("CARGO_BIN_EXE_askfirst")).args(inside).output().unwrap();
            let (inside, err) =
                (String::from_utf8_lossy(&inside.stdout), String::from_utf8_lossy(&inside.stderr));
            assert_eq!(inside, String::from_utf8_lossy(&outside.stdout), "{script}: {err}");
            started += 1;
        }
    }
    assert!(started > 0, "no program of this machine starts outside the sandbox");
}
