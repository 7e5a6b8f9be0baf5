//! Servers in the background: other commands of the session reach them, and nothing else does.

use super::*;

const SERVE: &str = "python3 -m http.server 8131 --bind 127.0.0.1";

/// Prints what the server answers, once it listens.
/// Prints what the server answers, once it listens.
const ASK: &str = "
import sys, time, urllib.request
for _ in range(int(sys.argv[1])):
    try: answer = urllib.request.urlopen('http://127.0.0.1:8131/b').read().decode(); break
    except OSError as error: answer = str(error); time.sleep(0.05)
print(answer)";

fn serve(project: &Project, session: &ApprovalToolset) {
    fs::write(project.path("job"), ASK).unwrap();
    let started = run_with(session, json!({"command": SERVE, "cwd": "root", "background": true}));
    assert_eq!(done(started)["state"], "running");
}

// invariant: 4
#[test]
fn server_in_the_background_is_reached_by_its_session_only() {
    needs_views!("server_in_the_background_is_reached_by_its_session_only");
    let project = Project::new().yes();
    let session = project.session();
    serve(&project, &session);
    let asked = project.asked().len();
    assert_eq!(done(run_in(&session, "python3 job 200"))["stdout"], "b\n\n");
    assert_eq!(project.asked().len(), asked, "{:?}", project.asked());
    let other = format!("{:?}", run_in(&project.session(), "python3 job 2"));
    assert!(other.contains("refused"), "{other}");
}

// invariant: 4
#[test]
fn command_with_the_network_does_not_reach_the_server() {
    needs_views!("command_with_the_network_does_not_reach_the_server");
    let more = "  rules: [{ pattern: \"python3 job *\", approval: rehearse, network: none }]\n";
    let project = Project::with(FREE, "products: [out]", more).yes();
    let session = project.session();
    serve(&project, &session);
    assert_eq!(done(run_in(&session, "python3 ./job 200"))["stdout"], "b\n\n");
    let outcome = format!("{:?}", run_in(&session, "python3 job 2"));
    assert!(outcome.contains("refused"), "{outcome}");
}

// invariant: 4
#[test]
fn command_that_reads_more_does_not_reach_the_server() {
    needs_views!("command_that_reads_more_does_not_reach_the_server");
    let project = Project::new().yes();
    let config = project.base().join("askfirst.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::create_dir(project.base().join("closed")).unwrap();
    let closed = "paths:\n    closed: { root: ./closed, mode: ro, approval: { read: required } }\n";
    fs::write(config, text.replace("paths:\n", closed)).unwrap();
    let session = project.session();
    serve(&project, &session);
    std::thread::sleep(Duration::from_secs(1));
    let outcome = format!("{:?}", run_in(&session, "python3 job 2"));
    assert!(outcome.contains("refused"), "{outcome}");
}

/// Waits until a file of the root has this content.
fn wait_for(project: &Project, name: &str, content: &str) {
    for _ in 0..400 {
        if project.read(name) == content {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{name}: {:?}", project.read(name));
}

#[test]
fn listening_command_is_asked_about_once_and_then_serves() {
    needs_views!("listening_command_is_asked_about_once_and_then_serves");
    let project = Project::new().yes();
    let session = project.session();
    project.write("out/old", "").write("ask", ASK);
    let command = project.hide(&format!("{SERVE} > out/log 2>&1 & sleep 1"));
    let started = done(run_in(&session, &command));
    assert_eq!((&started["id"], &started["state"]), (&json!("job-1"), &json!("running")));
    assert_eq!(project.asked().len(), 1);
    assert!(project.asked()[0].contains("writing only: root/out"), "{:?}", project.asked());
    // It serves the real files, and only their session reaches it.
    project.write("b", "edited\n");
    assert_eq!(done(run_in(&session, "python3 ask 200"))["stdout"], "edited\n\n");
    let stopped = session.call_sync("shell_stop", json!({"id": "job-1"}).as_object().unwrap().clone());
    assert!(matches!(stopped, Outcome::Failed(ToolError::Ended { .. })), "{stopped:?}");
    assert_eq!(done(run_in(&session, &command))["id"], "job-2");
    assert_eq!(project.asked().len(), 1, "{:?}", project.asked());
    // Another session asks again.
    done(run_in(&project.session(), &command));
    assert_eq!(project.asked().len(), 2, "{:?}", project.asked());
}

/// Writes the name of each file that another process puts into the folder to `out/seen`.
const WATCH: &str = "
import ctypes, os, struct
c = ctypes.CDLL(None)
watch = c.inotify_init()
assert c.inotify_add_watch(watch, b'.', 0x80 | 0x100) >= 0
try: open('new', 'w').close()
except OSError as error: open('out/refused', 'w').write(os.strerror(error.errno))
open('out/ready', 'w').write('x')
while True:
    event = os.read(watch, 4096)
    open('out/seen', 'w').write(event[16:].split(b'\\0')[0].decode())";

// invariant: 11
#[test]
fn watcher_sees_changes_and_writes_only_build_output() {
    needs_views!("watcher_sees_changes_and_writes_only_build_output");
    let project = Project::new().yes();
    let session = project.session();
    project.write("out/old", "").write("watch.py", WATCH);
    let started = run_with(&session, json!({"command": "python3 watch.py", "cwd": "root", "timeout": 1}));
    assert_eq!(done(started)["state"], "running", "{:?}", project.asked());
    wait_for(&project, "out/refused", "Read-only file system");
    wait_for(&project, "out/ready", "x");
    done(run_in(&session, "sh -c 'echo x > c.txt'"));
    wait_for(&project, "out/seen", "c.txt");
    assert!(!project.path("new").exists());
}
