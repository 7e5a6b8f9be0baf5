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
