//! Everyday commands leave the same tree, modes and exit code through the shell tool as directly, as root and as an
//! ordinary user. `askfirst-changes` compares more, without the sandbox.

use super::*;

/// Files, folders, links and a git repository with two branches.
const FIXTURE: &str = r#"
    mkdir -p docs deep/er 'with space' empty out
    for n in 1 2 3; do seq 1 $((n * 20)) > src/f$n.txt; done
    printf 'int main(void) { return 0; }\n' > main.c; printf 'def f():\n    return 1\n' > mod.py
    echo deep > deep/er/x; echo doc > docs/readme.md; echo s > 'with space/file name'
    printf '\0\1\2' > binary; ln -s b link; ln -s docs to-docs
    printf 'name,n\na,1\nb,2\n' > table.csv; echo '{ "a": [1, 2] }' > data.json
    echo made > out/old
    git add . && git commit -qm two && git checkout -qb side && echo side > side.txt && git add . &&
    git commit -qm side && git checkout -q main && echo dirty >> b && echo untracked > junk.tmp"#;

const COMMANDS: &[&str] = &[
    // read
    "true",
    "false",
    "exit 7",
    "ls -la",
    "cat b src/f1.txt",
    "cat no-such-file",
    "head -3 src/f2.txt | sort -r",
    "grep -rn 1 src",
    "grep -q nothing src/f1.txt",
    "find . -name '*.txt' -not -path './.git/*'",
    "wc -l src/*.txt",
    "diff src/f1.txt src/f2.txt",
    "stat -c %a b docs",
    "test -L link && readlink link",
    "sed -n 1,3p src/f3.txt",
    "awk -F, '{ n += $2 } END { print n }' table.csv",
    "cut -d, -f1 table.csv | uniq -c",
    "sha256sum b src/f1.txt",
    "du -s src > /dev/null",
    "file_count=$(find src -type f | wc -l); [ $file_count -gt 3 ]",
    "tr a-z A-Z < b",
    "comm -12 src/f1.txt src/f2.txt",
    "xargs -n1 echo < src/f1.txt | tail -1",
    "cmp binary binary && basename docs/readme.md",
    "od -c binary",
    "env -i sh -c 'echo $HOME'",
    "git status --short",
    "git log --oneline --all",
    "git diff",
    "git show side:side.txt",
    "git blame b",
    "git branch -a",
    "git grep -n main",
    "git ls-files",
    "git rev-parse HEAD~5",
    // write
    "echo appended >> b",
    "echo new > new",
    ": > b",
    "printf 'no newline' > n",
    "cp b copy",
    "cp -r src src-copy",
    "cp -a docs deep/docs",
    "cp -p src/f1.txt docs/",
    "mv b renamed",
    "mv src/f1.txt docs/",
    "mv src other",
    "mv docs deep/er/",
    "mv empty full && touch full/new",
    "mv link link2",
    "mv -n b src/f1.txt",
    "rm b",
    "rm -f no-such-file",
    "rm no-such-file",
    "rm -rf src",
    "rm -rf src docs deep",
    "rm -r empty && mkdir empty",
    "rmdir empty",
    "rmdir src",
    "rm link && echo no link > link",
    "rm b && mkdir b && echo in > b/inside",
    "rm -rf src && echo file > src",
    "rm -rf src && mkdir src && echo new > src/f1.txt",
    "mkdir -p n/e/w && touch n/e/w/file",
    "mkdir docs",
    "mkdir -m 700 private",
    "ln -s src/f1.txt to-f1",
    "ln -sf main.c link",
    "ln -sfn src to-docs",
    "echo in > to-docs/through",
    "echo n > n1 && ln n1 n2",
    "touch fresh",
    "touch -d @1234567890 b",
    "chmod 600 b",
    "chmod 644 src/*.txt",
    "chmod 700 src",
    "chmod -R go-rwx docs src",
    "chmod 555 src && chmod 444 b",
    "chmod 755 src/.. ",
    "umask 077 && echo x > masked && mkdir masked-folder",
    "umask 002 && echo x > shared",
    "sed -i s/1/one/g src/f1.txt src/f2.txt",
    "sed -i.bak s/b/B/ b",
    "perl -pi -e 's/doc/DOC/' docs/readme.md",
    "sort -r -o src/f3.txt src/f3.txt",
    "tee t1 t2 < b",
    "truncate -s 3 src/f3.txt",
    "truncate -s 100000 sparse",
    "dd if=/dev/zero of=zeros bs=1k count=8 status=none",
    "printf x | dd of=binary bs=1 seek=1 conv=notrunc status=none",
    "split -l 10 src/f2.txt part-",
    "csplit -s src/f2.txt 10",
    "paste -d, src/f1.txt src/f1.txt > pairs.csv",
    "cat src/*.txt > joined",
    "cat > here <<'EOF'\nline\n$HOME\nEOF",
    "cat >> b <<EOF\nmore\nEOF",
    "for i in 1 2 3 4 5; do echo $i > src/n$i; done; rm src/n1",
    "for f in src/*.txt; do mv $f ${f%.txt}.md; done",
    "while read -r line; do echo \"<$line>\"; done < table.csv > rows",
    "echo a > a; echo c > c; cat a c > ac; rm a c",
    "find src -name '*.txt' -exec sed -i '$d' {} +",
    "find . -name '*.tmp' -delete",
    "find docs -type f | xargs -I{} cp {} {}.copy",
    "install -m 640 b installed",
    "tar cf all.tar src docs && mkdir x && tar xf all.tar -C x",
    "tar czf all.tgz src && rm -rf src && tar xzf all.tgz && rm all.tgz",
    "gzip -n docs/readme.md",
    "gzip -nk b && gunzip -c b.gz > b2",
    "(cd src && echo x > inside)",
    "(cd docs && mv readme.md ../README.md)",
    "pushd src > /dev/null; touch pushed; popd > /dev/null",
    "cp --parents deep/er/x docs",
    "cp -f binary b",
    "cp -s $PWD/b abs-link",
    "echo x > 'with space/other name'",
    "echo x > \"$(printf 'ünïcode')\"",
    "mkdir -p a/very/deep/folder/with/many/parts && mv deep/er/x a/very/deep/folder/with/many/parts/",
    "diff -u src/f1.txt src/f2.txt > changes.patch; patch -s src/f1.txt < changes.patch",
    "bash -c 'set -e; echo one > one; false; echo two > two'",
    "set -o pipefail; false | cat > piped",
    "echo x > nowhere/file",
    "echo x > docs",
    "exec 3> fd; echo x >&3; exec 3>&-",
    "trap 'echo trapped > trapped' EXIT; echo x > x",
    "t=$(mktemp) && echo tmp > $t && cp $t from-tmp && chmod 644 from-tmp",
    // programs
    "gcc -fsyntax-only main.c",
    "gcc -S -o main.s main.c",
    "gcc -c -o out/main.o main.c && gcc -o out/prog out/main.o && ./out/prog",
    "rm -rf out && mkdir out && echo new > out/new",
    "rm -rf out",
    "echo more > out/more && rm out/old",
    "python3 -c \"open('py', 'w').write('x')\"",
    "python3 -c \"open('b', 'r+').close()\"",
    "python3 -c 'import mod; print(mod.f())'",
    "python3 -c \"import json; d = json.load(open('data.json')); json.dump(d, open('data.json', 'w'))\"",
    "python3 -c \"import os; os.rename('b', 'src/b')\"",
    "python3 -c \"import os; os.replace('src/f1.txt', 'src/f2.txt')\"",
    "python3 -c \"import shutil; shutil.copytree('src', 'tree'); shutil.rmtree('docs')\"",
    "python3 -c \"import shutil; shutil.move('src', 'deep/src')\"",
    "python3 -c \"import pathlib; pathlib.Path('p').mkdir(); pathlib.Path('p/q').write_text('q')\"",
    "python3 -c \"import sys; sys.exit(3)\"",
    "python3 -c \"import tempfile, os; f = tempfile.NamedTemporaryFile(dir='.', delete=False); f.write(b'x'); \
     f.close(); os.chmod(f.name, 0o644); os.replace(f.name, 'b')\"",
    "python3 -m json.tool data.json > pretty.json",
    // git
    "git add -A",
    "git add b && git commit -qm b",
    "git commit -qam all",
    "git commit -qm nothing-staged",
    "git checkout -qb topic",
    "git stash -q",
    "git stash -q && git stash pop -q",
    "git stash -q && git checkout -q side",
    "git stash -q && git merge -q --no-edit side",
    "git stash -q && git rebase -q side",
    "git checkout -q -- b",
    "git restore b",
    "git reset -q --hard HEAD~1",
    "git reset -q --soft HEAD~1",
    "git rm -q src/f1.txt",
    "git rm -rq src",
    "git mv src/f1.txt src/g1.txt",
    "git clean -fdq",
    "git tag v1 && git tag -d v1",
    "git branch topic && git branch -d topic",
    "git branch -D side",
    "git cherry-pick side",
    "git revert --no-edit HEAD",
    "git diff > changes.patch && git checkout -q . && git apply changes.patch",
    "git log --format=%s > log.txt",
    "git archive -o all.tar HEAD",
    "git switch -q side",
    "git checkout -q no-such-branch",
    "git commit -q --amend -m other",
    "git notes add -m note",
];

const IDENTITY: &str = "GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'";

/// Returns git's report. It stands for git's own files, whose content depends on the time.
fn git_state(project: &Project) -> String {
    let script = "git ls-files -s; git status --porcelain; git log --all --format='%H %D'; git stash list; \
                  git fsck 2>&1";
    let done = std::process::Command::new("sh").args(["-c", script]).current_dir(project.path("")).output();
    String::from_utf8_lossy(&done.unwrap().stdout).into_owned()
}

/// The tree without git's own files, relative to the root.
fn comparable(project: &Project) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let (root, git) = (project.path(""), project.path(".git"));
    let is_compared =
        |path: &Path| !path.starts_with(&git) && !path.components().any(|c| c.as_os_str() == "__pycache__");
    let tree = project.tree().into_iter().filter(|(path, _)| is_compared(path));
    let relative = |(path, (mode, content)): (PathBuf, (u32, Vec<u8>))| {
        // A link or a message of a compiler may contain the path of the project.
        let text = String::from_utf8_lossy(&content).replace(&root.display().to_string(), "ROOT");
        (path.strip_prefix(&root).unwrap().to_owned(), (mode, text.into_bytes()))
    };
    tree.map(relative).collect()
}

fn bash(project: &Project, line: &str) -> std::process::Output {
    std::process::Command::new("bash")
        .args(["--noprofile", "--norc", "-c", line])
        .current_dir(project.path(""))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap()
}

/// Runs every `count`th command both ways, beginning with `first`. Returns the differences.
fn differences(first: usize, count: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let fixture = Project::new();
    let script = format!("export {IDENTITY}; {FIXTURE}");
    let made = bash(&fixture, &script);
    assert!(made.status.success(), "{made:?}");
    let prepared = || {
        let folder = tempfile::tempdir().unwrap();
        let from = fixture.base().join(".");
        let copied = std::process::Command::new("cp").arg("-a").arg(from).arg(folder.path()).status();
        assert!(copied.unwrap().success());
        Project { folder: Arc::new(folder), log: MemoryLog::new(), ..fixture.clone() }.mode(Mode::ApproveAll)
    };
    for command in COMMANDS.iter().skip(first).step_by(count) {
        let line = format!("export {IDENTITY}; {command}");
        let (rehearsed, direct) = (prepared(), prepared());
        let outcome = rehearsed.run(&line);
        let status = bash(&direct, &line).status;
        if exit_code(&outcome) != status.code().map(i64::from) {
            wrong.push(format!("{command}: {outcome:?}, directly {status}"));
        }
        let (found, expected) = (comparable(&rehearsed), comparable(&direct));
        for path in found.keys().chain(expected.keys()).collect::<std::collections::BTreeSet<_>>() {
            if found.get(path) != expected.get(path) {
                let (found, expected) = (brief(found.get(path)), brief(expected.get(path)));
                wrong.push(format!("{command}: {}: {found}, directly {expected}", path.display()));
            }
        }
        if !command.contains("git ") {
            continue;
        }
        let (found, expected) = (git_state(&rehearsed), git_state(&direct));
        if found != expected {
            let is_new = |line: &&str| !expected.lines().any(|other| other == *line);
            let lines: Vec<&str> = found.lines().filter(is_new).collect();
            wrong.push(format!("{command}: git says {lines:?}, which it does not say directly"));
        }
    }
    wrong
}

fn brief(entry: Option<&(u32, Vec<u8>)>) -> String {
    entry.map_or("nothing".to_owned(), |(mode, content)| {
        let text: String = String::from_utf8_lossy(content).chars().take(60).collect();
        format!("{mode:o} {text:?}")
    })
}

#[test]
fn commands_leave_the_tree_of_a_direct_run_1() {
    needs_views!("commands_leave_the_tree_of_a_direct_run_1");
    assert_eq!(differences(0, 2), [""; 0]);
}

#[test]
fn commands_leave_the_tree_of_a_direct_run_2() {
    needs_views!("commands_leave_the_tree_of_a_direct_run_2");
    assert_eq!(differences(1, 2), [""; 0]);
}

#[test]
#[ignore = "started by other tests as a process of its own"]
fn child_process_compares_commands() {
    needs_views!("child_process_compares_commands");
    assert_eq!(differences(0, 1), [""; 0]);
    println!("said: done");
}

#[test]
fn commands_of_an_ordinary_user_leave_the_tree_of_a_direct_run() {
    const NAME: &str = "commands_of_an_ordinary_user_leave_the_tree_of_a_direct_run";
    needs_views!(NAME);
    if !rustix::process::geteuid().is_root() {
        return crate::skip::skip(NAME, "only root can become another user");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = folder.path().join("test");
    // Copied by another process: a child of another thread could hold the copy open, and it could not be run.
    let copied =
        std::process::Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=60001", "--regid=60001", "--clear-groups"])
        .arg(&program)
        .args(["--exact", "--ignored", "--nocapture"])
        .arg("views::tests::equivalence::child_process_compares_commands")
        .env("TMPDIR", "/tmp")
        .env("HOME", "/nonexistent")
        .env_remove("ASKFIRST_SKIPS")
        .current_dir("/")
        .output()
        .unwrap();
    let text = format!("{output:?}");
    assert!(output.status.success() && text.contains("said: done"), "{text}");
}

#[test]
fn at_least_150_commands_are_compared() {
    assert!(COMMANDS.len() >= 150, "{}", COMMANDS.len());
}
