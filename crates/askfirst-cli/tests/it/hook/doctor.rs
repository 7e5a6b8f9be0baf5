//! Tests of the part of `doctor` about agents.

use super::*;

fn program(place: &Place, name: &str, script: &str) {
    let bin = place.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs `doctor` in an empty folder, with the programs of the place on the `PATH`. Returns its lines about agents.
fn about_agents(place: &Place) -> Vec<String> {
    let folder = place.path().join("elsewhere");
    fs::create_dir_all(&folder).unwrap();
    let path = std::env::join_paths([place.path().join("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
    let mut command = place.command(&["doctor", "--config", "../c.yaml"]);
    let (_, out, err) = told(command.current_dir(folder).env("PATH", path).output().unwrap());
    assert!(out.contains(" limits "), "{err}");
    out.lines().filter(|line| line.contains(" agents ")).map(str::to_owned).collect()
}

#[test]
fn doctor_reports_versions_and_hooks_of_installed_agents() {
    let place = place();
    program(
        &place,
        "claude",
        "test \"$*\" = --version && test \"$PWD\" = / && echo '2.1.325 (Claude Code)'; sleep 9 &",
    );
    program(&place, "codex", "exec sleep 60");
    program(&place, "gemini", "exit 1");
    let lines = about_agents(&place);
    let line =
        |title: &str| lines.iter().find(|line| line.contains(title)).unwrap_or_else(|| panic!("{lines:?}"));
    let wanted = "2.1.325 (Claude Code): no hook; hint: `askfirst hook install claude`";
    assert!(line("Claude Code").starts_with("note") && line("Claude Code").contains(wanted), "{lines:?}");
    assert!(line("Codex").contains("(does not print its version)"), "{lines:?}");
    assert!(line("Gemini").contains("(does not print its version)"), "{lines:?}");
}

#[test]
fn doctor_reports_whether_a_hook_is_active_and_fails_closed() {
    let place = place();
    program(&place, "claude", "echo 2.1.325");
    for agent in ["claude", "codex"] {
        assert_eq!(run(&place, "install", agent).0, 0);
    }
    let lines = about_agents(&place);
    let has =
        |start: &str, part: &str| lines.iter().any(|line| line.starts_with(start) && line.contains(part));
    assert!(has("ok", "Claude Code: hook is installed"), "{lines:?}");
    assert!(has("ok", "denies a call if askfirst gives no answer"), "{lines:?}");
    assert!(has("BAD", "Codex: hook is not trusted in Codex"), "{lines:?}");
    fs::write(
        claude(&place),
        text(claude(&place)).replace("\"model\"", "\"disableAllHooks\": true, \"model\""),
    )
    .unwrap();
    let lines = about_agents(&place);
    assert!(
        lines.iter().any(|line| line.starts_with("BAD") && line.contains("Claude Code: hook")),
        "{lines:?}"
    );
    assert!(lines.iter().any(|line| line.contains("`disableAllHooks: true`")), "{lines:?}");
}

#[test]
fn program_below_the_current_folder_is_not_started() {
    let place = place();
    program(&place, "claude", "touch ../started; echo 1");
    let path = std::env::join_paths([place.path().join("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
    let mut command = place.command(&["doctor", "--config", "c.yaml"]);
    let (_, out, _) = told(command.env("PATH", path).output().unwrap());
    assert!(!out.contains("Claude Code 1"), "{out}");
}
