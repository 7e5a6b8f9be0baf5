//! Tests of `init` without a terminal: the config with every yes, and the next steps.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::commands::{Place, feed, told};

/// The folder of a Python project with a file, beside the folders of the user's own config and state.
struct PythonProject(Place);

fn project() -> PythonProject {
    let project = PythonProject(Place::new("version: 1"));
    fs::create_dir(project.path()).unwrap();
    for (name, text) in [("pyproject.toml", ""), ("a", "x"), ("b", "y")] {
        fs::write(project.path().join(name), text).unwrap();
    }
    let made = Command::new("git").args(["init", "-q"]).arg(project.path()).status();
    assert!(made.unwrap().success());
    project
}

impl PythonProject {
    fn path(&self) -> PathBuf {
        self.0.path().join("project")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.0.command(args);
        command.current_dir(self.path());
        command
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        told(self.command(args).output().unwrap())
    }
}

/// Returns the verdict of `decide` for each command, under the config of the folder.
fn verdicts(place: &PythonProject, trusted: bool, commands: &[&str]) -> Vec<String> {
    let call = |command: &&str| json!({"tool": "shell", "args": {"command": command}}).to_string();
    let input: Vec<String> = commands.iter().map(call).collect();
    let flags: &[&str] = if trusted { &["--config", "askfirst.yaml"] } else { &[] };
    let (code, out, err) = feed(place.command(&[&["decide"], flags].concat()), input.join("\n").as_bytes());
    assert_eq!(code, 0, "{err}");
    let verdict = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["verdict"].as_str().unwrap().to_owned()
    };
    out.lines().map(verdict).collect()
}

#[test]
fn init_without_a_terminal_needs_yes_or_print() {
    let place = project();
    let (code, _, err) = place.run(&["init"]);
    assert!(code == 5 && err.contains("--yes") && err.contains("--print"), "{err}");
    assert!(!place.path().join("askfirst.yaml").exists());
}

#[test]
fn init_yes_writes_every_yes_and_trusts_nothing() {
    let place = project();
    let (_, printed, _) = place.run(&["init", "--print", "--yes"]);
    let (code, out, err) = place.run(&["init", "--yes"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(fs::read_to_string(place.path().join("askfirst.yaml")).unwrap(), printed);
    assert!(out.contains("not trusted") && out.contains("\n  askfirst trust\n"), "{out}");
    assert_ne!(verdicts(&place, false, &["touch c"]), ["allow"], "an untrusted config allows nothing");
    let (code, out, _) = place.run(&["trust"]);
    assert!(code == 5 && !out.contains("already trusted"), "{out}");
    assert_eq!(place.run(&["init", "--yes"]).0, 2, "a config is never replaced");
}

#[test]
fn every_yes_rehearses_commands_that_change_files() {
    let place = project();
    assert_eq!(place.run(&["init", "--yes"]).0, 0);
    let rehearsed = [
        "mkdir -p x/y",
        "mv a c",
        "sed -i s/x/y/ a",
        "ls | tee c",
        "rm c",
        "git add -A",
        "git commit -m x",
        "python3 -m pytest -q",
        "make",
    ];
    assert_eq!(verdicts(&place, true, &rehearsed), ["rehearse"; 9]);
    assert_eq!(verdicts(&place, true, &["ls", "cat a | wc -l", "git status", "cat a b > c"]), ["allow"; 4]);
    assert_eq!(verdicts(&place, true, &["git push", "make && git push"]), ["ask"; 2]);
    assert_eq!(verdicts(&place, true, &["sudo ls", "cat .env"]), ["deny"; 2]);
    // The answers of Enter differ only in the network.
    fs::remove_file(place.path().join("askfirst.yaml")).unwrap();
    let (_, printed, _) = place.run(&["init", "--print"]);
    fs::write(place.path().join("askfirst.yaml"), printed).unwrap();
    assert_eq!(verdicts(&place, true, &rehearsed), ["rehearse"; 9]);
    assert_eq!(verdicts(&place, true, &["curl https://example.com"]), ["ask"]);
    let (_, out, _) = place.run(&["explain", "--config", "askfirst.yaml", "--", "curl https://example.com"]);
    assert!(out.contains("shell.network (askfirst.yaml:"), "the reason names its line: {out}");
}

#[test]
fn untracked_build_folders_become_products() {
    let place = project();
    fs::create_dir(place.path().join("build")).unwrap();
    fs::write(place.path().join("build/own.py"), "").unwrap();
    let products = || {
        let (_, printed, _) = place.run(&["init", "--print"]);
        printed.lines().find(|line| line.contains("products: [")).unwrap().trim().to_owned()
    };
    let general = "products: [.pytest_cache, .mypy_cache, .ruff_cache, dist]";
    assert_eq!(products(), general, "git tracks nothing yet");
    let add = |name: &str| {
        let added = Command::new("git").args(["add", name]).current_dir(place.path()).status();
        assert!(added.unwrap().success());
    };
    add("pyproject.toml");
    assert_eq!(products(), "products: [.pytest_cache, .mypy_cache, .ruff_cache, build, dist]");
    add("build");
    assert_eq!(products(), general, "a tracked folder is never a product");
}

#[test]
fn init_says_why_commands_cannot_be_rehearsed() {
    let place = project();
    let run = |words: &[&str]| {
        let output = place.0.without_namespaces(words).current_dir(place.path()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, out) = run(&["init", "--yes"]);
    assert_eq!(code, 0, "{out}");
    let why = "no command can run on a copy here, so askfirst asks about each that no rule allows: the sandbox does not work";
    assert!(out.contains(why), "{out}");
    let config = fs::read_to_string(place.path().join("askfirst.yaml")).unwrap();
    assert!(config.contains("default: { approval: rehearse }"), "{config}");
    assert!(config.contains("{ pattern: \"mkdir\", approval: none }"), "{config}");
    let (_, out) = run(&["doctor", "--config", "askfirst.yaml"]);
    assert!(
        out.contains("no command can run on a copy, so `rehearse` means `required`: the sandbox"),
        "{out}"
    );
}

#[test]
fn init_says_how_to_review_and_undo_what_the_agent_writes() {
    let place = project();
    let (_, out, _) = place.run(&["init", "--yes"]);
    let wanted = "Code that the agent writes here runs as you when you run it. `askfirst review` lists it.\n\
                  `askfirst undo` restores what the last command replaced.\n\nnext steps:\n";
    assert!(out.contains(wanted), "{out}");
}

#[test]
fn init_ends_with_the_steps_for_each_installed_agent() {
    let place = project();
    let (bin, home) = (place.path().join("bin"), place.path().join("home"));
    for folder in [&bin, &home.join(".cursor"), &home.join(".gemini")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(bin.join("claude"), "").unwrap();
    let servers = r#"{"mcpServers": {"files": {"command": "npx"}}}"#;
    fs::write(home.join(".cursor/mcp.json"), servers).unwrap();
    let path = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
    let mut command = place.command(&["init", "--yes"]);
    let output = command.env("HOME", &home).env("PATH", path).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let (_, steps) = out.split_once("next steps:\n").unwrap();
    let commands: Vec<&str> = steps.lines().step_by(2).map(str::trim).collect();
    assert_eq!(
        commands,
        [
            "askfirst trust",
            "askfirst doctor",
            "askfirst watch",
            "askfirst hook install claude",
            "askfirst hook install gemini",
            "askfirst mcp wrap ~/.cursor/mcp.json",
            "askfirst hook install cursor",
        ],
        "{out}"
    );
}

#[test]
fn init_offers_the_line_for_each_hidden_folder() {
    use std::os::unix::fs::PermissionsExt;
    let place = project();
    let home = place.0.path().join("home");
    let names = ["bin", "open", "wide\n  x y", ""];
    for (name, mode) in names.into_iter().zip([0o755, 0o777, 0o777]) {
        let folder = home.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("tool"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(folder.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    // No folder on `PATH` contains the project.
    let work = place.path();
    let entries = names.map(|name| home.join(name)).into_iter().chain(["/usr/bin".into()]);
    let path = std::env::join_paths(entries).unwrap();
    let run = |words: &[&str]| {
        let mut command = place.command(words);
        let output = command.current_dir(&work).env("HOME", &home).env("PATH", &path).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let printed = run(&["init", "--print"]);
    let out = run(&["init", "--yes"]);
    let config = fs::read_to_string(work.join("askfirst.yaml")).unwrap();
    let line = "  # toolchains: [auto, ~/open]\n";
    let sentence = "  # Programs in ~/open do not start in the sandbox: everyone can write in it. To show it, replace `toolchains: auto` with:\n";
    for text in [&printed, &config] {
        assert!(text.contains(&[sentence, line].concat()), "{text}");
        assert_eq!(text.matches("# toolchains: ").count(), 2, "{text}");
        assert!(!text.contains("~/bin") && !text.contains("\n  x y"), "{text}");
    }
    assert!(out.contains("edit askfirst.yaml\n    programs in ~/open, "), "{out}");
    let of_doctor = |text: &str| {
        fs::write(work.join("askfirst.yaml"), text).unwrap();
        run(&["doctor", "--config", "askfirst.yaml"])
    };
    assert!(of_doctor(&config).contains("~/open is hidden"));
    // The line does what its comment says.
    let changed = config.replace("  toolchains: auto ", "  # ").replace(line, &line.replace("# ", ""));
    let doctor = of_doctor(&changed);
    assert!(doctor.contains("~/open") && !doctor.contains("~/open is hidden"), "{doctor}");
}
