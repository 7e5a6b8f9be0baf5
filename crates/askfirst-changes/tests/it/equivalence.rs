//! Everyday commands leave the same tree on a view, after the commit, as when they run directly; undo gives the tree
//! before.

use std::fs;
use std::path::Path;

use super::{Project, Tree, assert_same, in_namespace, tree};

/// Files with an old time, a git repository with two branches, links and folders.
const FIXTURE: &str = "
    mkdir -p src/deep/er docs 'with space' empty
    for n in 1 2 3 4 5; do seq 1 $((n * 20)) > src/f$n.txt; done
    printf 'hello\nworld\n' > a.txt; printf 'int main(void) { return 0; }\n' > main.c
    echo deep > src/deep/er/x; echo doc > docs/readme.md; echo s > 'with space/file name'
    printf '\\0\\1\\2' > binary; ln -s a.txt link; ln -s /nonexistent dangling; ln a.txt hard
    printf '#!/bin/sh\necho ran\n' > tool.sh; chmod 755 tool.sh; echo secret > private; chmod 600 private
    printf -- '--- a/docs/readme.md\n+++ b/docs/readme.md\n@@ -1 +1,2 @@\n-doc\n+changed\n+more\n' > ../change.patch
    git init -q -b main . && git config gc.auto 0 && git config pack.threads 1 && git add . && git commit -qm one
    git checkout -qb side && echo side > side.txt && sed -i s/hello/HELLO/ a.txt && git add . && git commit -qm two
    git checkout -q main && echo more >> docs/readme.md && git commit -qam three && echo dirty >> main.c
    echo untracked > junk.o; mkdir build && echo o > build/out.o
    find . -type f -exec touch -d @1000000000 {} + ; git status >/dev/null";

const COMMANDS: &[&str] = &[
    // git
    "git checkout -q side -- a.txt",
    "git stash -q && git checkout -q side",
    "git checkout -qb new",
    "git add -A && git commit -qm all",
    "git commit -qam dirty",
    "git commit -q --amend -m other --no-edit",
    "git stash -q",
    "git stash -q -u && git stash pop -q",
    "git merge -q side -m merged",
    "git mv a.txt b.txt",
    "git mv docs/readme.md src/",
    "git rm -q binary",
    "git rm -rq src",
    "git reset -q --hard HEAD~1",
    "git reset -q --soft HEAD~1",
    "git clean -fdq",
    "git gc -q --prune=now",
    "git worktree add -q wt side",
    "git worktree add -q wt side && git worktree remove wt",
    "git revert --no-edit HEAD",
    "git stash -q && git cherry-pick side",
    "git tag v1 && git branch -D side",
    "git stash -q && git rebase -q side",
    "git restore main.c",
    "git fetch -q . side:copied",
    "git config user.name someone",
    // names
    "mv a.txt renamed",
    "mv src/f1.txt docs/",
    "mv src other",
    "mv docs src/deep/",
    "mv empty full && touch full/new",
    "mv a.txt docs/readme.md",
    "mv src src2 && mkdir src && mv src2 src/inner",
    "rm a.txt",
    "rm -rf src",
    "rm -rf src && mkdir src && echo new > src/f1.txt",
    "rm -rf src docs build && git checkout -q .",
    "rm -rf -- * .git",
    "rmdir empty",
    "rm a.txt && mkdir a.txt && echo in > a.txt/inside",
    "rm -rf src && echo file > src",
    "rm link && echo no link > link",
    "rm a.txt && ln -s main.c a.txt",
    "mkdir -p n/e/w && touch n/e/w/file",
    "mkdir -p src/deep/er/more && echo x > src/deep/er/more/y",
    "ln -s src/f1.txt to-f1",
    "ln -sf main.c link",
    "echo n > new1 && ln new1 new2",
    "mkfifo pipe",
    // copies
    "cp a.txt copy",
    "cp -r src src-copy",
    "cp -a . ../elsewhere && cp -a ../elsewhere nested",
    "cp -f binary a.txt",
    "install -m 700 tool.sh installed",
    "tar cf all.tar src docs && mkdir out && tar xf all.tar -C out",
    "tar cf all.tar src && rm -rf src && tar xf all.tar && rm all.tar",
    // content
    "sed -i s/1/one/g src/f1.txt src/f2.txt",
    "sed -i s/o/0/ a.txt && sed -i s/0/o/ a.txt",
    "patch -sp1 < ../change.patch",
    "echo appended >> a.txt",
    "truncate -s 3 src/f5.txt",
    "truncate -s 100000 sparse",
    "printf x | dd of=binary bs=1 seek=1 conv=notrunc status=none",
    ": > a.txt",
    "sort -r -o src/f3.txt src/f3.txt",
    "gcc -O0 -o prog main.c && ./prog",
    "cat src/*.txt > joined",
    "split -l 10 src/f5.txt part-",
    "gzip -n docs/readme.md",
    "for i in $(seq 200); do echo $i > src/n$i; done; rm src/n1*",
    "find . -name '*.txt' -not -path './.git/*' -exec sed -i '$d' {} +",
    "dd if=/dev/zero of=zeros bs=1k count=64 status=none",
    // attributes
    "chmod +x a.txt",
    "chmod 700 src",
    "chmod 711 .",
    "chmod -R go-rwx docs src",
    "chmod 555 src && chmod 444 a.txt",
    "mkdir -m 555 closed",
    "touch -d @1234567890 a.txt src/f1.txt",
    "touch new-empty",
    "touch -r binary docs/readme.md",
    // nothing
    "true",
    "cat a.txt > /dev/null",
    "python3 -c \"open('a.txt', 'r+').close()\"",
    "cp -p a.txt t && mv t a.txt",
];

/// Without what no two runs have in common: times of the present, and the stat data in git's index.
fn comparable(tree: Tree) -> Tree {
    let past = 1_500_000_000;
    let keep = |(path, (kind, mode, content, time)): (std::path::PathBuf, (String, u32, Vec<u8>, i64))| {
        let is_index = path.ends_with("index") && path.starts_with(".git");
        let content = if is_index { Vec::new() } else { content };
        let time = if time < past && !path.starts_with(".git") { time } else { 0 };
        (path, (kind, mode, content, time))
    };
    tree.into_iter().map(keep).collect()
}

/// Runs a command directly in a copy of the root that is mounted at the path of the root.
fn directly(project: &Project, command: &str) -> (Tree, Option<i32>, String) {
    let (root, copy) = (project.root(), project.path("copy"));
    copy_tree(&root, &copy);
    let script = format!(
        "mount --bind '{copy}' '{root}' && cd '{root}' && {command}",
        copy = copy.display(),
        root = root.display()
    );
    let output = in_namespace(&script);
    let staged = git(project, &copy);
    (comparable(tree(&copy)), output.status.code(), staged)
}

fn copy_tree(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

/// Returns git's report about a tree. It stands for git's index, whose bytes depend on the time.
fn git(project: &Project, folder: &Path) -> String {
    let script = format!(
        "mount --bind '{}' '{root}' && cd '{root}' && git ls-files -s && git status --porcelain && git fsck",
        folder.display(),
        root = project.root().display()
    );
    String::from_utf8_lossy(&in_namespace(&script).stdout).into_owned()
}

fn check(project: &Project, command: &str) {
    let before = project.tree();
    let (expected, code, staged) = directly(project, command);
    let _ = fs::remove_dir_all(project.path("elsewhere"));
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    let output = project.try_rehearse(&pending, command);
    assert_eq!(output.status.code(), code, "{command}: {}", String::from_utf8_lossy(&output.stderr));
    let _ = fs::remove_dir_all(project.path("elsewhere"));
    assert_same(&format!("before the commit of `{command}`"), &project.tree(), &before);
    let changes = project.collect(&pending);
    project.try_commit(&pending, &changes).unwrap_or_else(|error| panic!("{command}: {error}"));
    assert_same(&format!("`{command}`"), &comparable(project.tree()), &expected);
    assert_eq!(git(project, &project.root()), staged, "{command}");
    project.undo(pending.id());
    assert_same(&format!("undo of `{command}`"), &project.tree(), &before);
    store.redo(pending.id(), project.open_root()).unwrap();
    assert_same(&format!("redo of `{command}`"), &comparable(project.tree()), &expected);
}

/// Runs every `count`th command, beginning with `first`.
pub(crate) fn check_some(first: usize, count: usize) {
    let fixture = Project::new(FIXTURE);
    for command in COMMANDS.iter().skip(first).step_by(count) {
        let project = Project::new("true");
        fs::remove_dir(project.root()).unwrap();
        copy_tree(&fixture.root(), &project.root());
        fs::copy(fixture.path("change.patch"), project.path("change.patch")).unwrap();
        check(&project, command);
    }
}

#[test]
fn command_on_view_leaves_the_tree_of_a_direct_run_1() {
    check_some(0, 2);
}

#[test]
fn command_on_view_leaves_the_tree_of_a_direct_run_2() {
    check_some(1, 2);
}

#[test]
fn at_least_eighty_commands_are_compared() {
    assert!(COMMANDS.len() >= 80, "{}", COMMANDS.len());
}
