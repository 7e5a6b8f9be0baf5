//! Tests that everyday commands work in the sandbox.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::runs::sandbox;
use super::setup::{home, profile, sh};
use super::skip;
use crate::isolation::launch_in_sandbox;
use crate::profile::Grant;
use crate::spec::End;
use crate::stop::Stop;

/// Runs a script in the writable root, with its own home folder and more readable folders.
fn works(script: &str, reads: &[PathBuf]) {
    let home = home();
    let mut profile = profile(&home.path);
    profile.private.push("/home/somebody".into());
    profile.readable.extend(reads.iter().map(|path| Grant::of(path).unwrap()));
    let mut spec = sh(&home.path.join("A"), &format!("set -e\n{script}"));
    let paths = reads.iter().map(|path| format!("{}/bin:", path.display())).collect::<String>();
    spec.env = vec![
        ("PATH".into(), format!("{paths}/usr/bin:/bin").into()),
        ("HOME".into(), "/home/somebody".into()),
    ];
    let over = launch_in_sandbox(&sandbox(), &profile, &spec, &Stop::new()).unwrap();
    let said = |captured: &crate::Capture| String::from_utf8_lossy(&captured.whole().unwrap()).into_owned();
    assert_eq!(
        over.finished.end,
        End::Exited(0),
        "{}{}{:?}",
        said(&over.finished.stdout),
        said(&over.finished.stderr),
        over.violations
    );
}

fn python(script: &str) {
    works(&format!("/usr/bin/python3 - <<'END'\n{script}\nEND"), &[]);
}

#[test]
fn git_creates_a_repository_and_commits() {
    works(
        "git init -q . && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | grep x",
        &[],
    );
}

#[test]
fn cargo_builds_and_runs_a_crate() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let Ok(sysroot) = sysroot else { return skip("cargo_builds_and_runs_a_crate", "Rust is not installed") };
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout).unwrap().trim());
    works(
        "cargo new -q --vcs none x && cd x && cargo build -q --offline && cargo run -q --offline | grep Hello",
        &[sysroot.canonicalize().unwrap()],
    );
}

#[test]
fn c_program_compiles_and_runs() {
    works("echo 'int main(void){return 0;}' > x.c && cc -o x x.c && ./x", &[]);
}

#[test]
fn python_tests_run() {
    works(
        "printf 'import unittest\\nclass T(unittest.TestCase):\\n def test(self): self.assertEqual(1, 1)\\n' > test_x.py && { /usr/bin/python3 -m pytest -q 2>/dev/null || /usr/bin/python3 -m unittest -q test_x; }",
        &[],
    );
}

#[test]
fn node_runs_and_starts_children() {
    if !Path::new("/usr/bin/node").exists() {
        return skip("node_runs_and_starts_children", "Node is not installed");
    }
    works(
        "node -e \"const c=require('child_process');if(c.execSync('echo x').toString()!=='x\\n')process.exit(1);const f=c.fork('-e',[],{execArgv:['-e','process.send(1)']});f.on('message',()=>process.exit(0))\"",
        &[],
    );
}

#[test]
fn pipes_and_here_documents_work() {
    works("test $(seq 1000 | sort -rn | head -1) = 1000; cat <<X | grep -q y\ny\nX\n", &[]);
}

#[test]
fn signals_and_jobs_work() {
    works("trap 'echo got > f' USR1; kill -USR1 $$; test -s f; sleep 30 & kill $!; ! wait $!", &[]);
}

#[test]
fn threads_work() {
    python(
        "import threading\nr=[]\nt=[threading.Thread(target=r.append,args=(i,)) for i in range(20)]\n[x.start() for x in t];[x.join() for x in t]\nassert len(r)==20",
    );
}

#[test]
fn program_reaches_itself_over_loopback() {
    python(
        "import socket\nfor f,a in ((socket.AF_INET,'127.0.0.1'),(socket.AF_INET6,'::1')):\n s=socket.socket(f);s.bind((a,0));s.listen()\n c=socket.create_connection(s.getsockname()[:2]);c.send(b'x');assert s.accept()[0].recv(1)==b'x'",
    );
}

#[test]
fn event_loop_is_woken_by_another_thread() {
    python(
        "import asyncio,threading\nasync def m():\n l=asyncio.get_running_loop();f=l.create_future()\n threading.Timer(.05,lambda:l.call_soon_threadsafe(f.set_result,1)).start()\n assert await f==1\n p=await asyncio.create_subprocess_exec('true');assert await p.wait()==0\nasyncio.run(m())",
    );
}

#[test]
fn process_pool_works() {
    python(
        "import multiprocessing as m\nif __name__=='__main__':\n with m.get_context('fork').Pool(2) as p: assert p.map(abs,[-1,-2])==[1,2]",
    );
}

#[test]
fn temporary_files_work() {
    works(
        "f=$(mktemp) && echo x > $f && test -s $f && d=$(mktemp -d -p /var/tmp) && touch $d/x && touch /dev/shm/x && touch ~/x",
        &[],
    );
}

#[test]
fn program_opens_its_own_terminal() {
    python(
        "import pty,os\np,f=pty.fork()\nif p==0: os.write(1,b'hi');os._exit(0)\nassert b'hi' in os.read(f,9)",
    );
}

#[test]
fn devices_are_readable_and_writable() {
    works(
        "echo x > /dev/null; echo y >> /dev/null; test $(head -c 4 /dev/zero | wc -c) = 4; test $(head -c 4 /dev/urandom | wc -c) = 4; \
         ! echo x > /dev/full; test $(wc -c < /dev/null) = 0; test $(cat | wc -c) = 0; dd if=/dev/zero of=/dev/null count=2; test -c /dev/stdin",
        &[],
    );
}

#[test]
fn sqlite_database_with_locks_works() {
    python(
        "import sqlite3\nd=sqlite3.connect('x.db');d.execute('pragma journal_mode=wal');d.execute('create table t(a)');d.execute('insert into t values(1)');d.commit();assert d.execute('select a from t').fetchone()==(1,)",
    );
}

#[test]
fn files_are_created_moved_linked_and_packed() {
    works(
        "mkdir -p d/e && echo x > d/e/f && chmod 755 d/e/f && mv d/e/f d/g && ln d/g d/h && ln -s g d/i && tar czf x.tgz d && rm -r d && tar xzf x.tgz && test -s d/i",
        &[],
    );
}

#[test]
fn program_sees_itself_and_the_machine() {
    works(
        "test -r /proc/self/status && grep -q MemTotal /proc/meminfo && test $(nproc) -ge 1 && id -u && test -c /dev/null && echo x > /dev/stderr",
        &[],
    );
}

#[test]
fn program_starts_without_ignored_or_blocked_signals() {
    works(
        "while read name set; do case $name in SigBlk:|SigIgn:) test $((0x$set & 0x7fffffff)) = 0 || { echo $name $set; exit 1; };; esac; done < /proc/self/status",
        &[],
    );
}

#[test]
fn program_may_use_all_processors_of_its_launcher() {
    let all = std::thread::available_parallelism().unwrap();
    works(&format!("test $(nproc) = {all}"), &[]);
}
