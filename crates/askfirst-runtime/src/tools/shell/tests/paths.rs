//! How the roots decide about the paths of a command.

use askfirst::Approval::{Deny, Human, None as Free, Required};
use serde_json::json;

use super::{approval, world, world_with};

const READS: &str = "  known_read_only: none\n";

#[test]
fn path_outside_every_root_is_asked_about_or_denied() {
    let world = world(READS);
    for command in [
        "cat /etc/passwd",
        "cat ../x",
        "cat < /etc/passwd",
        "cd / && ls",
        "ls ~",
        "cat \"$HOME/x\"",
        "cat src/../../x",
        "(cd /etc; cat passwd)",
        "cat $(echo /etc/passwd)",
        "for f in /etc/p*; do cat $f; done",
        "git -C / status",
        "cat ~root/x",
    ] {
        assert_eq!(world.says(command), Required, "{command}");
    }
    assert_eq!(world.says("cat a.txt src/main.rs"), Free);
    assert_eq!(world.says("cd src && cat ../a.txt"), Free);
    assert_eq!(approval(&world.assess(json!({"command": "ls", "cwd": "/etc"}))), Required);
    assert_eq!(approval(&world.assess(json!({"command": "ls", "cwd": "src"}))), Free);
    let strict = super::world("  known_read_only: none\n  outside_roots: deny\n");
    assert_eq!(strict.says("cat /etc/passwd"), Deny);
}

// invariant: 7
#[test]
fn link_to_outside_needs_approval_if_a_command_follows_it() {
    let world = world(READS);
    let follows = [
        "grep -R x src",
        "diff -r src .",
        "rg -L x src",
        "find src -type l -exec cat {} +",
        "find src | xargs cat",
    ];
    for command in follows {
        assert_eq!(world.says(command), Free, "{command}");
    }
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, world.folder.path().join(name)).unwrap();
    world.write("src/env/pyvenv.cfg", "").write("src/env/bin/x", "");
    link("/opt/python", "src/env/bin/python");
    link("/usr/bin/env", "src/tool");
    link("main.rs", "src/inside");
    for command in follows {
        assert_eq!(world.says(command), Free, "{command}");
    }
    link("/etc/passwd", "src/outside");
    for command in follows {
        assert_eq!(world.says(command), Required, "{command}");
    }
    assert_eq!(world.says("grep -r x src"), Free);
}

#[test]
fn never_read_file_is_denied_under_every_name() {
    let world = world_with("  never_read: [secret]\n", READS);
    world.write("secret", "x");
    std::os::unix::fs::symlink("secret", world.folder.path().join("link")).unwrap();
    for command in [
        "cat secret",
        "cat ./sub/../secret",
        "cat link",
        "cat < secret",
        "cat secr*",
        "echo \"$(<secret)\"",
        "cat /other/secret",
    ] {
        assert_eq!(world.says(command), Deny, "{command}");
    }
    assert_eq!(world.says("grep -r x ."), Human);
    assert_eq!(world.says("grep -r x src"), Free);
}

#[test]
fn files_that_usually_hold_secrets_are_asked_about() {
    let world = world(READS);
    world.write(".env", "x").write(".env.example", "x");
    std::os::unix::fs::symlink("../.env", world.folder.path().join("src/env")).unwrap();
    assert_eq!(world.says("cat .env"), Required);
    assert_eq!(world.says("cat src/env"), Required);
    assert_eq!(world.says("cat .env.example"), Free);
    assert_eq!(world.says("ls -l .env"), Free);
}

#[test]
fn deepest_root_decides_and_read_only_root_is_not_written() {
    let roots = "    sub: { root: ./sub, mode: ro }\n    build: { root: ./build, mode: rw, approval: { read: required, write: human } }\n";
    let world =
        world_with(roots, "  known_read_only: none\n  rules: [ { pattern: 'touch', approval: none } ]\n");
    assert_eq!(world.says("touch x"), Free);
    assert_eq!(world.says("touch sub/x"), Deny);
    assert_eq!(world.says("touch build/x"), Human);
    assert_eq!(world.says("cat build/x"), Required);
    assert_eq!(world.says("grep -r x ."), Required);
}

#[test]
fn git_in_a_repository_of_its_own_is_asked_about() {
    let world = world("  rules: [ { pattern: 'git status', approval: none } ]\n");
    std::fs::create_dir_all(world.folder.path().join(".git/worktrees/t")).unwrap();
    std::fs::create_dir_all(world.folder.path().join("sub/.git")).unwrap();
    std::fs::create_dir_all(world.folder.path().join("tree")).unwrap();
    world.write("tree/.git", "gitdir: ../.git/worktrees/t\n");
    assert_eq!(world.says("git status"), Free);
    assert_eq!(world.says("cd src && git status"), Free);
    assert_eq!(world.says("cd tree && git status"), Free);
    assert_eq!(world.says("cd sub && git status"), Required);
    assert_eq!(world.says("git -C sub status"), Required);
    for name in ["bare/objects", "bare/refs"] {
        std::fs::create_dir_all(world.folder.path().join(name)).unwrap();
    }
    world.write("bare/HEAD", "x");
    assert_eq!(world.says("cd bare && git status"), Required);
}

#[test]
fn names_from_a_command_are_followed_inside_the_roots() {
    let world = world(READS);
    assert_eq!(world.says("find src -name '*.rs' | xargs grep -n x"), Free);
    assert_eq!(world.says("cat $(find src -name '*.rs')"), Free);
    assert_eq!(world.says("find /etc -name x | xargs cat"), Required);
    assert_eq!(world.says("echo /etc/passwd | xargs cat"), Required);
    assert_eq!(world.says("find src | xargs rm"), Required);
    world.write("src/-rf", "");
    assert_eq!(world.says("ls src | xargs cat"), Required);
    world.write("sub/a b", "");
    assert_eq!(world.says("cat $(find sub -type f)"), Required);
}

#[test]
fn folder_change_runs_without_asking_if_all_files_may_change() {
    let world = world("  known_read_only: none\n  rules: [ { pattern: 'sed -i', approval: none } ]\n");
    let line = "find src -name '*.rs' | xargs sed -i 1d";
    assert_eq!(world.says(line), Free);
    assert_eq!(world.says("find . -name '*.rs' | xargs sed -i 1d"), Required);
    let place = |name: &str| world.folder.path().join(name);
    std::os::unix::fs::symlink("../a.txt", place("src/near")).unwrap();
    assert_eq!(world.says(line), Free);
    for (target, name) in [("/etc/passwd", "away"), ("../build", "folder"), ("../askfirst.yaml", "config")] {
        std::os::unix::fs::symlink(target, place("src").join(name)).unwrap();
        assert_eq!(world.says(line), Required, "{name}");
        std::fs::remove_file(place("src").join(name)).unwrap();
    }
    assert_eq!(world.says(line), Free);
    world.write("src/askfirst.yaml", "x");
    assert_eq!(world.says(line), Required);
}

#[test]
fn link_inside_a_value_is_followed() {
    let world = world("  rules: [ { pattern: 'pytest', approval: none } ]\n");
    std::os::unix::fs::symlink("/etc", world.folder.path().join("build/out")).unwrap();
    assert_eq!(world.says("pytest --cov-report html:build/html"), Free);
    assert_eq!(world.says("pytest --cov-report html:build/out"), Required);
    assert_eq!(world.says("pytest --cov-report=xml:build/out/x"), Required);
}

#[test]
fn queries_of_a_file_are_looked_into() {
    let world = world("  rules: [ { pattern: 'sqlite3', approval: none } ]\n");
    world.write("a.sql", "create table t (x);\n").write("b.sql", "select 1;\n.shell id\n");
    assert_eq!(world.says("sqlite3 db < a.sql"), Free);
    assert_eq!(world.says("sqlite3 db < b.sql"), Required);
}

#[test]
fn folder_with_secrets_is_not_sent_without_asking() {
    let world = world("  network: true\n  rules: [ { pattern: 'rsync', approval: none } ]\n");
    assert_eq!(world.says("rsync -a src/ host:x"), Free);
    world.write("src/.env", "x");
    assert_eq!(world.says("rsync -a src/ host:x"), Required);
    assert_eq!(world.says("rsync -a src/ build/"), Free);
}

#[test]
fn look_alikes_of_a_path_are_asked_about() {
    let world = world("  default: { approval: none }\n  known_read_only: none\n");
    for command in ["cat а.txt", "l\u{200b}s", "ls \u{a0}", "echo \u{202e}x", "ｌｓ"] {
        assert_eq!(world.says(command), Required, "{command:?}");
    }
    assert_eq!(world.says("echo 'Grüße'"), Free);
}

#[test]
fn network_is_asked_about_unless_it_is_granted() {
    assert_eq!(world("  rules: [ { pattern: 'curl', approval: none } ]\n").says("curl http://x"), Required);
    assert_eq!(
        world("  network: true\n  rules: [ { pattern: 'curl', approval: none } ]\n").says("curl http://x"),
        Free
    );
}

#[test]
fn printing_command_needs_approval_if_project_picks_its_code() {
    let world = world(READS);
    let steered = [
        ("cargo --version", "rust-toolchain.toml", "[toolchain]\npath = \"/x\"\n"),
        ("yarn --version", ".yarnrc.yml", "yarnPath: x.cjs\n"),
        ("pnpm ls", ".pnpmfile.cjs", ""),
        ("mvn --version", ".mvn/jvm.config", "-Xlog\n"),
    ];
    world.write("rust-toolchain.toml", "[toolchain]\nchannel = \"stable\"\n");
    for (command, _, _) in steered {
        assert_eq!(world.says(command), Free, "{command}");
    }
    let spelled = [
        ("rustc --version", "rust-toolchain.toml", "[toolchain]\n\"p\\u0061th\" = 'x'\n"),
        ("cargo locate-project", "rust-toolchain", "/opt/tc\n"),
    ];
    for (command, file, text) in spelled {
        world.write(file, text);
        assert_eq!(world.says(command), Required, "{command}");
        std::fs::remove_file(world.folder.path().join(file)).unwrap();
    }
    for (command, file, text) in steered {
        world.write(file, text);
        assert_eq!(world.says(command), Required, "{command}");
        assert_eq!(approval(&world.assess(json!({"command": command, "cwd": "src"}))), Required, "{command}");
    }
}

#[test]
fn git_needs_approval_where_it_would_enter_a_repository() {
    let world = world(READS);
    let git = |folder: &str, words: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(world.folder.path().join(folder)).args([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x",
        ]);
        let done = command.args(words).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    git(".", &["init", "-q"]);
    git("sub", &["init", "-q"]);
    git("sub", &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(".", &["add", "a.txt"]);
    assert_eq!(world.says("git status"), Free);
    git(".", &["add", "sub"]);
    for version in ["2", "4"] {
        git(".", &["update-index", "--index-version", version]);
        for command in
            ["git status", "git diff", "cd src && git status --short", "git log -p --submodule=diff"]
        {
            assert_eq!(world.says(command), Required, "{command}, version {version}");
        }
        assert_eq!(world.says("git log -1"), Free);
    }
    git(".", &["update-index", "--index-version", "2"]);
    // As git sets up a submodule: its config is inside the `.git` folder of the outer repository.
    std::fs::rename(world.folder.path().join("sub/.git"), world.folder.path().join(".git/inside")).unwrap();
    world.write("sub/.git", "gitdir: ../.git/inside\n");
    assert_eq!(world.says("git status"), Free);
    std::fs::rename(world.folder.path().join(".git/inside"), world.folder.path().join("build/inside"))
        .unwrap();
    world.write("sub/.git", "gitdir: ../build/inside\n");
    assert_eq!(world.says("git status"), Required);
}

#[test]
fn branch_named_like_an_option_is_asked_about() {
    let world = world(READS);
    let head = |name: &str| world.write(".git/HEAD", &format!("ref: refs/heads/{name}\n"));
    head("main");
    let command = "git log \"$(git branch --show-current)\"";
    assert_eq!(world.says(command), Free);
    head("--output=x");
    assert_eq!(world.says(command), Required);
}

/// The disk decides: a name that a stand-in does not have may be a link, a repository or another list.
#[test]
fn name_from_an_expansion_is_resolved() {
    let world = world(READS);
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, world.folder.path().join(name)).unwrap();
    let harmless = [
        "cat link$((1<2))",
        "cat \"link$(date +%Y)\"",
        "head link$(seq 1 1)",
        "for i in $(seq 7 7); do cat w$i; done",
        "zcat -f q",
        "zgrep root q",
        "gzip -cdf q",
    ];
    for command in harmless {
        assert_eq!(world.says(command), Free, "{command}");
    }
    let year = std::process::Command::new("date").arg("+%Y").output().unwrap().stdout;
    let year = String::from_utf8(year).unwrap();
    for name in ["link1", &format!("link{}", year.trim()), "w7", "1", "q.gz"] {
        link("/etc/passwd", name);
    }
    for command in harmless {
        assert_eq!(world.says(command), Required, "{command}");
    }
}

#[test]
fn folder_behind_a_link_is_checked_under_both_names() {
    let world = world(READS);
    world.write("d/e/f/x", "");
    std::os::unix::fs::symlink("d/e/f", world.folder.path().join("l")).unwrap();
    for command in [
        "cd l && cd .. && cat ../x",
        "cd l && cd \"$PWD/..\" && cat ../x",
        "cd l && cat \"$(dirname \"$PWD\")/../x\"",
        "cd l && cat \"$(pwd)/../../../../a.txt\"",
        "pushd l && cd .. && cat ../x",
        "cd l && bash -c 'cd .. && cat ../x'",
    ] {
        assert_eq!(world.says(command), Required, "{command}");
    }
    for command in ["cd l && cat x", "cd d/e && cd .. && cat e/f/x", "cd d && cat \"$PWD/e/f/x\""] {
        assert_eq!(world.says(command), Free, "{command}");
    }
}

#[test]
fn list_split_at_another_separator_is_asked_about() {
    let world = world(READS);
    world.write("p/a.txt", "").write("p\\p2/a.txt", "");
    std::fs::create_dir(world.folder.path().join(".git")).unwrap();
    for command in [
        "cat $(find p -print0)",
        "cat \"$(find p)\"",
        "find p | xargs -0 cat",
        "find p -print0 | xargs cat",
        "find p | xargs -d '\\0' cat",
        "x=$(find p); cat \"$x\"",
        "find p | while read -r -d '' f; do cat \"$f\"; done",
        "find p -print0 | while read -r f; do cat \"$f\"; done",
        "find p 2>&1 | xargs cat",
        "find p |& xargs cat",
        "find p 2<&1 | xargs cat",
        "find 'p\\p2' -type f | xargs cat",
        "find 'p\\p2' -type f | while read f; do cat \"$f\"; done",
        "git -C p ls-files -o | xargs cat",
        "cat $(git -C p ls-files -o)",
        "cd p && git diff --name-only | xargs cat",
    ] {
        assert_eq!(world.says(command), Required, "{command}");
    }
    for command in [
        "cat $(find p -type f)",
        "find p | xargs cat",
        "find p -print0 | xargs -0 cat",
        "find p | xargs -d '\\n' cat",
        "cat \"$(find p -name a.txt | head -1)\"",
        "find p -print0 | while read -r -d '' f; do cat \"$f\"; done",
        "find p 2>/dev/null | xargs cat",
    ] {
        assert_eq!(world.says(command), Free, "{command}");
    }
}

#[test]
fn names_with_blanks_are_split_outside_quotes() {
    let world = world(READS);
    world.write("g/k .x", "").write("g/l *", "").write(".x", "");
    std::os::unix::fs::symlink("/etc", world.folder.path().join("sub/out")).unwrap();
    for command in [
        "for f in g/k*; do cat $f; done",
        "for f in g/l*; do cat ${f}; done",
        "for f in g/*; do x=$f; wc $x; done",
        "for f in g/k*; do cat \"\"$f; done",
        "for f in g/k*; do cat $f\"\"; done",
        "for f in g/k*; do cat \\\"$f; done",
        "for f in g/k*; do cat '\"'$f; done",
        "for f in g/k*; do cat ./$f.bak; done",
        "for f in g/k*; do for g in \\\"$f; do cat \"$g\"; done; done",
        "for f in g/k*; do for g in $f; do cat \"$g\"; done; done",
        "for f in g/k*; do for g in ./$f; do cat \"$g\"; done; done",
        "bash -c 'for f in g/k*; do cat $f; done'",
        "for f in *.txt; do x=\".x $f\"; cat $x; done",
        "echo sub/out/*",
        "for f in sub/out/*; do echo \"$f\"; done",
    ] {
        assert_eq!(world.says(command), Required, "{command}");
    }
    for command in [
        "for f in g/k*; do cat \"$f\"; done",
        "for f in src/*.rs; do cat $f; done",
        "for f in g/*; do echo $f; done",
        "cat g/k*",
        "echo g/*",
    ] {
        assert_eq!(world.says(command), Free, "{command}");
    }
}
