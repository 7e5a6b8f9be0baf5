//! Tests of a network that several programs share.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::runs::sandbox;
use super::setup::{Home, home, profile, sh};
use super::{is_root, skip};
use crate::isolation::{LoopbackNetwork, Sandbox, SandboxRun, launch_in_sandbox};
use crate::profile::{Network, OSProfile, User};
use crate::spec::{RunFacts, Spec};
use crate::stop::Stop;

type SharedNetwork = Option<Arc<LoopbackNetwork>>;

fn network(sandbox: &Sandbox) -> SharedNetwork {
    Some(Arc::new(LoopbackNetwork::create(sandbox, User::Same).unwrap()))
}

fn python(home: &Home, program: &str, network: &SharedNetwork) -> Spec {
    let script = format!("exec python3 -c '{program}'");
    Spec { network: network.clone(), ..sh(&home.path.join("A"), &script) }
}

fn run(sandbox: &Sandbox, profile: &OSProfile, spec: &Spec) -> (SandboxRun, String) {
    let run = launch_in_sandbox(sandbox, profile, spec, &Stop::new()).unwrap();
    let said = String::from_utf8(run.finished.stdout.whole().unwrap()).unwrap();
    (run, said)
}

const SERVE: &str = r#"
import socket, sys
listening = socket.create_server(("127.0.0.1", 8125))
open("ready", "w").close()
while True:
    client, _ = listening.accept()
    client.sendall(b"hello"); client.close()"#;

const ASK: &str = r#"
import socket
try: print(socket.create_connection(("127.0.0.1", 8125)).recv(9))
except OSError as error: print(type(error).__name__)"#;

/// Starts a server in the network, and calls `meanwhile` when it listens.
fn while_served(sandbox: &Sandbox, home: &Home, network: &SharedNetwork, meanwhile: impl FnOnce()) {
    let (stop, server) = (Stop::new(), python(home, SERVE, network));
    thread::scope(|scope| {
        let serving = scope.spawn(|| launch_in_sandbox(sandbox, &profile(&home.path), &server, &stop));
        while !home.path.join("A/ready").exists() {
            assert!(!serving.is_finished(), "{:?}", serving.join());
            thread::sleep(Duration::from_millis(5));
        }
        meanwhile();
        stop.stop();
    });
}

#[test]
fn server_is_reached_only_by_programs_in_its_network() {
    for sandbox in [sandbox(), sandbox().with_helper_pool()] {
        let home = home();
        let (shared, other) = (network(&sandbox), network(&sandbox));
        let free = OSProfile { network: Network::Shared, ..profile(&home.path) };
        while_served(&sandbox, &home, &shared, || {
            let ask = |network: &SharedNetwork, profile: &OSProfile| {
                run(&sandbox, profile, &python(&home, ASK, network)).1
            };
            assert_eq!(ask(&shared, &profile(&home.path)), "b'hello'\n");
            for network in [&other, &None] {
                assert_eq!(ask(network, &profile(&home.path)), "ConnectionRefusedError\n");
            }
            // A program with the network of the machine is not in the shared one, even if it is offered.
            assert_eq!(ask(&shared, &free), "ConnectionRefusedError\n");
        });
    }
}

#[test]
fn facts_are_those_of_the_program_itself() {
    let (sandbox, home) = (sandbox(), home());
    let shared = network(&sandbox);
    let facts = |program: &str| run(&sandbox, &profile(&home.path), &python(&home, program, &shared)).0.facts;
    let refused = RunFacts { refused_connections: 1, ..RunFacts::default() };
    assert_eq!(facts(ASK), refused);
    assert_eq!(facts(ASK), refused);
    let serve = "import os, socket, time\ns = socket.create_server((\"127.0.0.1\", 8126))\nif os.fork() == 0: time.sleep(60)";
    while_served(&sandbox, &home, &shared, || {
        assert_eq!(facts(ASK), RunFacts::default());
        // It waits for a server that is about to listen.
        assert_eq!(facts(&ASK.replace("8125", "8127")), RunFacts::default());
        assert_eq!(facts(serve).listening, [8126]);
    });
}

#[test]
fn programs_of_another_user_share_the_network_of_that_user() {
    if !is_root() {
        return skip("programs_of_another_user_share_the_network_of_that_user", "needs root");
    }
    let (sandbox, user) = (sandbox(), User::Other { user: 65534, group: 65534 });
    let namespace_of = |network: &SharedNetwork, user| {
        let spec = Spec { network: network.clone(), ..sh("/".as_ref(), "readlink /proc/self/ns/net") };
        run(&sandbox, &OSProfile { user, ..OSProfile::nothing() }, &spec).1
    };
    let shared = Some(Arc::new(LoopbackNetwork::create(&sandbox, user).unwrap()));
    let theirs = namespace_of(&shared, user);
    assert!(theirs.starts_with("net:["), "{theirs}");
    assert_eq!(namespace_of(&shared, user), theirs);
    assert_ne!(namespace_of(&shared, User::Same), theirs);
}

#[test]
fn no_process_holds_a_network() {
    use std::os::fd::AsRawFd;
    let network = network(&sandbox()).unwrap();
    let namespace = fs::read_link(format!("/proc/self/fd/{}", network.namespace.as_raw_fd())).unwrap();
    let mut processes = fs::read_dir("/proc").unwrap().flatten();
    assert!(
        !processes
            .any(|process| fs::read_link(process.path().join("ns/net")).ok().as_ref() == Some(&namespace))
    );
}
