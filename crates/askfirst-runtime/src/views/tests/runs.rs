//! Runs that meet a limit of the view: the network, leftover processes, the time limit.

use std::io::Write;
use std::net::TcpListener;

use super::*;

/// Sends a line to a port of this machine. On a view, nothing listens there.
fn phone(port: u16) -> String {
    format!("exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3 > heard")
}

fn answering_port() -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"hello\n").unwrap();
    });
    (port, serving)
}

// invariant: 11
#[test]
fn network_try_is_asked_about_and_yes_runs_with_the_network() {
    needs_views!("network_try_is_asked_about_and_yes_runs_with_the_network");
    let (port, serving) = answering_port();
    let project = Project::new();
    fs::write(project.path("job"), phone(port)).unwrap();
    let refused = project.run("bash job");
    let Outcome::Denied(refusal) = &refused else { panic!("{refused:?}") };
    assert!(refusal.reason.contains("tried to reach the network") && refusal.output.is_none(), "{refusal:?}");
    assert!(!project.path("heard").exists());
    let project = project.yes();
    done(project.run("bash job"));
    assert_eq!(project.read("heard"), "hello\n");
    assert_eq!(project.asked().len(), 2);
    serving.join().unwrap();
}

#[test]
fn network_that_the_config_denies_is_never_granted() {
    needs_views!("network_that_the_config_denies_is_never_granted");
    let project = Project::new().yes();
    let config = project.base().join("askfirst.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(config, text.replace("network: required", "network: deny")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    fs::write(project.path("job"), phone(listener.local_addr().unwrap().port())).unwrap();
    let told = format!("{:?}", project.run("bash job"));
    assert!(told.contains("tried to reach the network, which the config denies"), "{told}");
    assert!(told.contains("Ended"), "{told}");
    fs::write(project.path("job"), "exec 3<>/dev/tcp/192.0.2.1/80").unwrap();
    let told = format!("{:?}", project.run("bash job"));
    assert!(told.contains("blocked 1 attempt to reach an outside address"), "{told}");
    assert!(!told.contains("which the config denies"), "{told}");
    assert!(listener.accept().is_err());
    assert_eq!(project.asked(), [""; 0]);
}

// invariant: 11
#[test]
fn second_run_is_judged_by_its_own_changes() {
    needs_views!("second_run_is_judged_by_its_own_changes");
    let (port, serving) = answering_port();
    let project = Project::new().answering(|_, request| match request.description.starts_with("run ") {
        true => ApprovalDecision::yes(Cause::Person),
        false => ApprovalDecision::no(Cause::Person),
    });
    // It behaves until it has the network.
    let script = format!("{} && echo x > Makefile; true", phone(port));
    fs::write(project.path("job"), script).unwrap();
    let before = project.tree();
    let outcome = project.run("bash job");
    assert!(matches!(outcome, Outcome::Denied(_)), "{outcome:?}");
    assert_eq!(project.asked().len(), 2, "{:?}", project.asked());
    assert!(project.shown().contains("Makefile"));
    assert_eq!(project.tree(), before);
    serving.join().unwrap();
}

// invariant: 11
#[test]
fn run_with_the_network_is_not_repeated_after_an_edit() {
    needs_views!("run_with_the_network_is_not_repeated_after_an_edit");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let project = Project::with("{ read: none }", "", "").answering(|project, request| {
        if request.description.starts_with("keep ") {
            project.write("b", "edited\n");
        }
        ApprovalDecision::yes(Cause::Person)
    });
    let port = listener.local_addr().unwrap().port();
    fs::write(project.path("job"), format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo new > b")).unwrap();
    let outcome = project.run("bash job");
    let said = format!("{outcome:?}");
    assert!(said.contains("does not run it again on its own"), "{said}");
    assert_eq!(project.read("b"), "edited\n");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_ok() && listener.accept().is_err(), "it ran once with the network");
}

// invariant: 11
#[test]
fn leftover_process_is_asked_about_and_ended() {
    needs_views!("leftover_process_is_asked_about_and_ended");
    let project = Project::new();
    let script = "(sleep 2; echo late > b; echo late > src/late) > /dev/null 2>&1 & echo early > early";
    project.asks_about(script, "left 2 processes running");
    let project = project.yes();
    done(project.script(script));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!((project.read("early"), project.read("b")), ("early\n".into(), "b\n".into()));
    assert!(!project.path("src/late").exists());
}

// invariant: 11
#[test]
fn time_limit_is_asked_about() {
    needs_views!("time_limit_is_asked_about");
    let project = Project::new();
    let before = project.tree();
    fs::write(project.path("job"), "echo x > b; sleep 60").unwrap();
    let args = json!({"command": "sh job", "cwd": "root", "timeout": 1});
    let outcome = run_with(&project.session(), args);
    let Outcome::Denied(refusal) = &outcome else { panic!("{outcome:?}") };
    assert!(refusal.reason.contains("did not end within its time limit"), "{refusal:?}");
    assert!(refusal.output.is_none());
    assert_eq!(project.tree(), before);
}

// invariant: 11
#[test]
fn yes_to_another_run_is_never_remembered() {
    needs_views!("yes_to_another_run_is_never_remembered");
    let project = Project::with("{ read: none }", "", "").answering(|_, request| {
        match request.description.starts_with("run ") {
            true => ApprovalDecision::yes(Cause::Person).remembered(askfirst::ApprovalScope::Session),
            false => ApprovalDecision::no(Cause::Person),
        }
    });
    let before = project.tree();
    let session = project.session();
    fs::write(project.path("job"), "sleep 60 > /dev/null 2>&1 & echo x > b").unwrap();
    for asked in [2, 4] {
        let outcome = run_in(&session, "sh job");
        assert!(matches!(outcome, Outcome::Denied(_)), "{outcome:?}");
        assert_eq!(project.asked().len(), asked, "{:?}", project.asked());
    }
    fs::remove_file(project.path("job")).unwrap();
    assert_eq!(project.tree(), before);
}

// invariant: 11
#[test]
fn remembered_yes_to_changes_is_no_yes_to_another_run() {
    needs_views!("remembered_yes_to_changes_is_no_yes_to_another_run");
    let project = Project::with("{ read: none }", "", "")
        .answering(|_, _| ApprovalDecision::yes(Cause::Person).remembered(askfirst::ApprovalScope::Session));
    let session = project.session();
    fs::write(project.path("job"), "sleep 60 > /dev/null 2>&1 & echo x >> b").unwrap();
    // The changes are remembered, so only the second run is asked about again.
    for asked in [2, 3] {
        let outcome = run_in(&session, "sh job");
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
        assert_eq!(project.asked().len(), asked, "{:?}", project.asked());
    }
}

#[test]
fn session_keeps_its_tmp_and_another_session_has_its_own() {
    needs_views!("session_keeps_its_tmp_and_another_session_has_its_own");
    let project = Project::new();
    let session = project.session();
    fs::write(project.path("job"), "echo x >> /tmp/n; wc -l < /tmp/n").unwrap();
    let count =
        |session: &ApprovalToolset| done(run_in(session, "sh job"))["stdout"].as_str().unwrap().to_owned();
    assert_eq!([count(&session), count(&session)], ["1\n", "2\n"]);
    assert_eq!(count(&project.session()), "1\n");
}

// invariant: 11
#[test]
fn datagram_is_a_try_to_reach_the_network() {
    needs_views!("datagram_is_a_try_to_reach_the_network");
    let project = Project::new();
    fs::write(project.path("job"), "echo x > /dev/udp/192.0.2.1/53; echo new > b").unwrap();
    let outcome = project.run("bash job");
    assert!(matches!(outcome, Outcome::Denied(_)), "{outcome:?}");
    assert!(project.shown().contains("tried to reach the network"), "{}", project.shown());
    assert_eq!(project.read("b"), "b\n");
}

#[test]
fn renamed_folder_is_asked_about_and_yes_runs_on_the_real_files() {
    needs_views!("renamed_folder_is_asked_about_and_yes_runs_on_the_real_files");
    let project = Project::new();
    project.write("d/f", "f\n");
    project.asks_about("git add d && git mv d e", "it could not rename a folder");
    let project = Project::new().yes();
    project.write("d/f", "f\n");
    done(project.script("git add d && git mv d e"));
    assert_eq!(project.read("e/f"), "f\n");
    assert!(!project.path("d").exists());
    assert_eq!(project.asked().len(), 1, "{:?}", project.asked());
}

#[test]
fn write_to_a_package_cache_is_reported_and_gone() {
    needs_views!("write_to_a_package_cache_is_reported_and_gone");
    let project = Project::new();
    let cache = project.base().join("home/.npm/_cacache");
    fs::create_dir_all(&cache).unwrap();
    let said = |script: &str| done(project.script(script)).to_string();
    assert!(!said("ls \"$HOME/.npm/_cacache\"; true").contains("package caches"));
    let said = said(&format!("touch {}/new", cache.display()));
    assert!(said.contains("it wrote to package caches, on a layer that is thrown away"), "{said}");
    assert!(!cache.join("new").exists());
}
