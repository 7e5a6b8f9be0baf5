//! Faults around an agent's config: links, owners, full and read-only disks, other processes, and kills.

use super::*;

#[test]
fn malformed_config_is_an_error_with_its_line() {
    let place = place();
    for (broken, wanted) in
        [("{\n  \"a\": 1,\n}\n", "line 2: trailing commas"), ("{\n\n  x", "line 3: "), ("[]", "line 1: ")]
    {
        fs::write(claude(&place), broken).unwrap();
        for command in ["install", "uninstall"] {
            let (code, _, err) = run(&place, command, "claude");
            assert!(code == 2 && err.contains(wanted) && err.contains("settings.json"), "{command}: {err}");
            assert_eq!(text(claude(&place)), broken);
        }
        assert_eq!(state(&place, "claude")["state"], "unreadable");
    }
}

#[test]
fn link_is_named_and_only_its_target_changes() {
    let place = place();
    let target = place.path().join("dotfiles.json");
    fs::rename(claude(&place), &target).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("../dotfiles.json", claude(&place)).unwrap();
    let (code, out, err) = run(&place, "install", "claude");
    assert_eq!(code, 0, "{err}");
    assert!(out.contains(&format!("leads to {}, which changes", target.display())), "{out}");
    assert!(fs::symlink_metadata(claude(&place)).unwrap().is_symlink());
    assert!(text(&target).contains("\"hook\", \"claude\""));
    assert_eq!(fs::metadata(&target).unwrap().mode() & 0o7777, 0o640);
    assert_eq!(run(&place, "uninstall", "claude").0, 0);
    assert_eq!(text(&target), CLAUDE);
    fs::remove_file(&target).unwrap();
    let (code, _, err) = run(&place, "install", "claude");
    assert!(code == 2 && err.contains("is a broken link"), "{err}");
    assert!(!target.exists());
}

#[test]
fn folder_behind_a_link_is_named_too() {
    let place = place();
    fs::rename(place.path().join(".claude"), place.path().join("dotfiles")).unwrap();
    symlink("dotfiles", place.path().join(".claude")).unwrap();
    let (code, out, err) = run(&place, "install", "claude");
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("dotfiles/settings.json, which changes"), "{out}");
}

#[test]
fn config_of_another_user_is_refused() {
    let place = place();
    let path = claude(&place);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    } else {
        fs::remove_file(&path).unwrap();
        symlink("/etc/passwd", &path).unwrap();
    }
    let before = text(&path);
    let (code, _, err) = run(&place, "install", "claude");
    assert!(code == 2 && err.contains("belongs to another user"), "{code}: {err}");
    assert_eq!(text(&path), before);
}

#[test]
fn pipe_instead_of_a_config_is_refused() {
    let place = place();
    fs::remove_file(claude(&place)).unwrap();
    assert!(Command::new("mkfifo").arg(claude(&place)).status().unwrap().success());
    let (code, _, err) = run(&place, "install", "claude");
    assert!(code == 2 && err.contains("is not a regular file"), "{code}: {err}");
    assert_eq!(place.run(&["hook", "status", "claude", "--config", "c.yaml"]).0, 0);
}

/// Runs a script in a mount namespace of its own, with the binary as `$1`.
fn in_namespace(place: &Place, script: &str) -> (i32, String) {
    let mut command = Command::new("setsid");
    command.args(["--wait", "unshare", "-Urm", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_askfirst")]);
    command.current_dir(place.path()).stdin(Stdio::null());
    place.alone(&mut command);
    let (code, out, err) = told(command.output().unwrap());
    (code, format!("{out}{err}"))
}

const INSTALL: &str = "\"$1\" hook install claude --yes --config c.yaml; code=$?";

#[test]
fn full_disk_leaves_the_old_config() {
    let place = place();
    let script = format!(
        "set -e; cp .claude/settings.json old; mount -t tmpfs -o size=8k none .claude; cp old .claude/settings.json; \
         head -c 8192 /dev/zero > .claude/fill || true; set +e; {INSTALL}; \
         cmp old .claude/settings.json && ls -A .claude && exit $code"
    );
    let (code, out) = in_namespace(&place, &script);
    assert!(code == 2 && out.contains("cannot write") && out.contains("No space left"), "{code}: {out}");
    assert!(out.ends_with("fill\nsettings.json\n") || out.contains("\nfill\nsettings.json\n"), "{out}");
    // Without room for the backup, nothing is written either.
    let script = format!(
        "set -e; cp .claude/settings.json old; mkdir -p state; mount -t tmpfs -o size=4k none state; \
         head -c 4096 /dev/zero > state/fill || true; set +e; {INSTALL}; cmp old .claude/settings.json && exit $code"
    );
    let (code, out) = in_namespace(&place, &script);
    assert!(code == 2 && out.contains("error: cannot write"), "{code}: {out}");
}

#[test]
fn read_only_home_leaves_the_old_config() {
    let place = place();
    let script = format!(
        "set -e; cp .claude/settings.json old; mount -t tmpfs none .claude; cp old .claude/settings.json; \
         mount -o remount,ro .claude; set +e; {INSTALL}; cmp old .claude/settings.json && exit $code"
    );
    let (code, out) = in_namespace(&place, &script);
    assert!(code == 2 && out.contains("cannot write") && out.contains("Read-only"), "{code}: {out}");
    let script = "mount --bind . . && mount -o remount,bind,ro . && cd . && \"$1\" hook install gemini --yes; code=$?; \
                  test ! -e .gemini && exit $code";
    let (code, out) = in_namespace(&place, script);
    assert!(code == 2 && out.contains("error: cannot write"), "{code}: {out}");
}

#[test]
fn installs_at_once_leave_one_hook_and_one_backup() {
    let place = place();
    let install = || {
        let mut command = place.command(&["hook", "install", "claude", "--yes", "--config", "c.yaml"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let started: Vec<_> = (0..6).map(|_| install()).collect();
    let ended: Vec<_> = started.into_iter().map(|child| told(child.wait_with_output().unwrap())).collect();
    for (code, out, err) in &ended {
        let is_late = *code == 2 && err.contains("changed in the meantime");
        assert!(*code == 0 || is_late, "{code}: {out}{err}");
    }
    assert!(ended.iter().any(|(code, out, _)| *code == 0 && out.contains("written")));
    let hooks = text(claude(&place)).matches("\"hook\", \"claude\"").count();
    assert_eq!((hooks, &state(&place, "claude")["state"]), (4, &Value::from("active")));
    assert_eq!(run(&place, "uninstall", "claude").0, 0);
    assert_eq!(text(claude(&place)), CLAUDE);
}

#[test]
fn killed_install_leaves_the_old_or_the_new_config() {
    let place = place();
    assert_eq!(run(&place, "install", "claude").0, 0);
    let new = text(claude(&place));
    assert_eq!(run(&place, "uninstall", "claude").0, 0);
    for round in 0..40 {
        // Without `setsid`, so that the kill hits the program itself.
        let mut command = Command::new(env!("CARGO_BIN_EXE_askfirst"));
        command.args(["hook", "install", "claude", "--yes", "--config", "c.yaml"]).current_dir(place.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        place.alone(&mut command);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = text(claude(&place));
        assert!(found == CLAUDE || found == new, "{found}");
        let (code, _, err) = run(&place, "install", "claude");
        assert_eq!((code, text(claude(&place))), (0, new.clone()), "{err}");
        assert_eq!(run(&place, "uninstall", "claude").0, 0);
        assert_eq!(text(claude(&place)), CLAUDE);
        assert_eq!(fs::read_dir(place.path().join(".claude")).unwrap().count(), 1, "no part is left");
    }
}
