//! Tests of `init` without a terminal: the config with every yes, and the next steps.

use std::fs;

use serde_json::{Value, json};

use crate::commands::Place;

/// Creates a folder of a Python project with a file.
fn project() -> Place {
    let place = Place::new("version: 1");
    fs::remove_file(place.path().join("c.yaml")).unwrap();
    for (name, text) in [("pyproject.toml", ""), ("a", "x"), ("b", "y")] {
        fs::write(place.path().join(name), text).unwrap();
    }
    let made = std::process::Command::new("git").args(["init", "-q"]).arg(place.path()).status();
    assert!(made.unwrap().success());
    place
}

/// Returns the verdict of `decide` for each command, under the config of the folder.
fn verdicts(place: &Place, trusted: bool, commands: &[&str]) -> Vec<String> {
    let call = |command: &&str| json!({"tool": "shell", "args": {"command": command}}).to_string();
    let input: Vec<String> = commands.iter().map(call).collect();
    let flags: &[&str] = if trusted { &["--config", "askfirst.yaml"] } else { &[] };
    let (code, out, err) = place.feed(&[&["decide"], flags].concat(), input.join("\n").as_bytes());
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
fn every_yes_covers_changes_of_files_but_not_rm() {
    let place = project();
    assert_eq!(place.run(&["init", "--yes"]).0, 0);
    let allowed = [
        "mkdir -p x/y",
        "touch c",
        "mv a c",
        "cp -r a b x",
        "sed -i s/x/y/ a",
        "cat a b > c",
        "echo x >> c",
        "cat > c <<'E'\nx\nE",
        "git add -A",
        "python -m pytest -q",
        "python3 -m pytest -q",
        "CI=1 FORCE_COLOR=1 python3 -m pytest -q > log 2>&1",
    ];
    assert_eq!(verdicts(&place, true, &allowed), ["allow"; 12]);
    let asked = ["rm c", "mv a ../c", "git push", "git commit -m x", "echo x > AGENTS.md", "cp a .git/x"];
    assert_eq!(verdicts(&place, true, &asked), ["ask"; 6]);
    let denied =
        ["cp a askfirst.yaml", "echo x > .git/hooks/pre-commit", "sed -i s/x/y/ .envrc", "mv a .env"];
    assert_eq!(verdicts(&place, true, &denied), ["deny"; 4]);
    // The default answers change nothing without asking.
    fs::remove_file(place.path().join("askfirst.yaml")).unwrap();
    let (_, printed, _) = place.run(&["init", "--print"]);
    fs::write(place.path().join("askfirst.yaml"), printed).unwrap();
    assert_eq!(verdicts(&place, true, &allowed), ["ask"; 12]);
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
            "claude mcp add askfirst -- askfirst serve --ask-by watch",
            "gemini mcp add askfirst askfirst serve -- --ask-by watch",
            "askfirst mcp wrap ~/.cursor/mcp.json",
            "askfirst serve --ask-by watch",
        ],
        "{out}"
    );
    assert!(!out.contains("askfirst hook"), "{out}");
}

#[test]
fn init_offers_the_line_for_each_hidden_folder() {
    use std::os::unix::fs::PermissionsExt;
    let place = project();
    let home = place.path().join("home");
    let names = ["bin", "open", "wide\n  x y", ""];
    for (name, mode) in names.into_iter().zip([0o755, 0o777, 0o777]) {
        let folder = home.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("tool"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(folder.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    // No folder on `PATH` contains the project.
    let work = place.path().join("project");
    fs::create_dir(&work).unwrap();
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
