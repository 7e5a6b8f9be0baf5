//! A process that is not a real session or watcher gets nothing: no question, no answer, no screen.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

use super::super::frame::{Patience, read, write};
use super::super::hands::greet_watcher;
use super::super::place::{MissingFolder, Secret, WatcherFolder};
use super::super::{FromAsker, FromWatcher, VERSION};
use super::*;
use crate::random::hex;

fn connect(state: &Path) -> UnixStream {
    UnixStream::connect(state.join("watch/socket")).unwrap()
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

/// Returns a connection that passed the handshake, which only a process with the secret can do.
fn proven(state: &Path) -> UnixStream {
    let stream = connect(state);
    greet_watcher(&stream, &WatcherFolder::open(state, MissingFolder::Fail).unwrap().secret().unwrap())
        .unwrap();
    stream
}

fn asked_frame() -> Vec<u8> {
    let ask = FromAsker::Ask {
        asker: asker("x"),
        look: DisplaySettings::default(),
        takes: Default::default(),
        question: Box::new(question(1)),
    };
    serde_json::to_vec(&ask).unwrap()
}

/// Waits until the other side has closed the connection.
fn closed(mut stream: &UnixStream) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(e) => assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset),
    }
    let said = String::from_utf8_lossy(&rest).into_owned();
    assert!(!said.contains("answer"), "{said}");
}

/// Checks that an honest session is still served, and that the person saw nothing else.
fn still_serves(watched: &WatchSession, state: &Path) {
    let before = watched.person.count();
    let session = session(state, "honest");
    let answers = ask(&session, question(99));
    assert_eq!(watched.person.question(before + 1).members[0].request.description, "question 99");
    watched.person.answer(before + 1, yes());
    assert_eq!(answers.recv().unwrap(), yes());
}

#[test]
fn unproven_process_shows_nothing() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let hello = |proof: &str, version: &str| {
        let said =
            FromAsker::Hello { version: version.to_owned(), nonce: hex(&[1; 32]), proof: proof.to_owned() };
        framed(&serde_json::to_vec(&said).unwrap())
    };
    let lines: [Vec<u8>; 9] = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0xff; 64],
        vec![0; 64],
        framed(b"null"),
        framed(&asked_frame()),
        framed(&vec![b' '; 1024]),
        hello(&hex(&[0; 32]), VERSION),
        hello("", VERSION),
        hello(&hex(&[0; 32]), "0.0.0"),
    ];
    for line in lines {
        let mut stream = connect(state.path());
        stream.write_all(&line).unwrap();
        // The client sends a question too, in case the watcher accepts it.
        drop(stream.write_all(&framed(&asked_frame())));
        closed(&stream);
    }
    let half = connect(state.path());
    (&half).write_all(&[0, 0]).unwrap();
    closed(&half);
    assert_eq!(watched.person.count(), 0);
    still_serves(&watched, state.path());
}

#[test]
fn wrong_secret_and_replayed_proof_are_refused() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    assert!(greet_watcher(&connect(state.path()), &Secret([9; 32])).is_err());
    // The recorded messages of a session, sent again.
    let place = WatcherFolder::open(state.path(), MissingFolder::Fail).unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let secret = place.secret().unwrap();
    let overheard = std::thread::spawn(move || greet_watcher(&ours, &secret).is_ok());
    let first = connect(state.path());
    let challenge: FromWatcher = read(&first, 1024, Patience::Person).unwrap();
    write(&theirs, &challenge, 1024).unwrap();
    let words: FromAsker = read(&theirs, 1024, Patience::Person).unwrap();
    drop(theirs);
    assert!(!overheard.join().unwrap());
    let again = connect(state.path());
    let _: FromWatcher = read(&again, 1024, Patience::Person).unwrap();
    write(&again, &words, 1024).unwrap();
    closed(&again);
    assert_eq!(watched.person.count(), 0);
    still_serves(&watched, state.path());
}

#[test]
fn invalid_message_of_a_session_ends_its_connection() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let ask = String::from_utf8(asked_frame()).unwrap();
    let lines = [
        ask.replacen("{\"ask\":{", "{\"ask\":{\"more\":1,", 1),
        ask.replacen("\"position\":1", "\"position\":1,\"position\":1", 1),
        ask.replacen("\"payload\":null", "\"payload\":{\"a\":1,\"a\":2}", 1),
        ask.replacen("\"tool_name\"", "\"hidden\":1,\"tool_name\"", 1),
        format!("{ask} "),
        ask.replacen("\"calls\":1", "\"calls\":1.0", 1),
        r#"{"withdraw":{"cause":"person"}}"#.to_owned(),
    ];
    for line in lines {
        let stream = proven(state.path());
        (&stream).write_all(&framed(line.as_bytes())).unwrap();
        closed(&stream);
        assert_eq!(watched.person.count(), 0, "{line}");
    }
    let mut huge = proven(state.path());
    huge.write_all(&u32::MAX.to_be_bytes()).unwrap();
    closed(&huge);
    let empty = FromAsker::Ask {
        asker: asker("x"),
        look: DisplaySettings::default(),
        takes: Default::default(),
        question: Box::new(Question { members: Vec::new(), ..question(1) }),
    };
    let stream = proven(state.path());
    write(&stream, &empty, 1 << 20).unwrap();
    closed(&stream);
    assert_eq!(watched.person.count(), 0);
    still_serves(&watched, state.path());
}

#[test]
fn request_of_a_dead_or_broken_session_is_withdrawn() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    for (number, (last_words, cause)) in
        [(Vec::new(), Cause::Cancelled), (b"babble babble".to_vec(), Cause::ApproverFailed)]
            .into_iter()
            .enumerate()
    {
        let mut stream = proven(state.path());
        stream.write_all(&framed(&asked_frame())).unwrap();
        let id = watched.person.question(number + 1).id;
        stream.write_all(&last_words).unwrap();
        drop(stream);
        wait_for(|| watched.person.withdrawn.lock().unwrap().contains(&(id, cause)).then_some(()));
    }
    still_serves(&watched, state.path());
}

#[test]
fn watcher_serves_sessions_after_a_flood_of_connections() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let flood: Vec<UnixStream> =
        (0..300).filter_map(|_| UnixStream::connect(state.path().join("watch/socket")).ok()).collect();
    drop(flood);
    wait_for(|| {
        let answers = ask(&session(state.path(), "honest"), question(1));
        wait_for(|| {
            let served = watched.person.count() > 0;
            let refused = answers.try_recv().is_ok();
            (served || refused).then_some(served)
        })
        .then_some(())
    });
    assert_eq!(watched.person.question(1).members[0].request.description, "question 1");
}

#[test]
fn foreign_socket_gets_no_request_and_cannot_answer() {
    let state = tempfile::tempdir().unwrap();
    drop(Desk::open(state.path()).unwrap());
    let listener = UnixListener::bind(state.path().join("watch/socket")).unwrap();
    let planted = std::thread::spawn(move || {
        let mut heard = Vec::new();
        let (mut stream, _) = listener.accept().unwrap();
        let hello = FromWatcher::Hello { version: VERSION.to_owned(), nonce: hex(&[1; 32]) };
        write(&stream, &hello, 1024).unwrap();
        // The session may have closed the connection before this.
        drop(write(&stream, &FromWatcher::Proof { proof: hex(&[2; 32]) }, 1024));
        drop(write(&stream, &FromWatcher::Answer { answer: yes() }, 1024));
        drop(stream.read_to_end(&mut heard));
        String::from_utf8_lossy(&heard).into_owned()
    });
    let answers = ask(&session(state.path(), "s1"), question(1));
    assert_eq!(cause(&answers), Cause::NoOneToAsk);
    let heard = planted.join().unwrap();
    assert!(heard.contains("hello") && !heard.contains("question 1"), "{heard}");
}

/// A script that relays and notes the messages of two sides.
const BETWEEN: &str = r#"
import os, socket, sys, threading
folder = sys.argv[1]
os.rename(folder + "/socket", folder + "/real")
server = socket.socket(socket.AF_UNIX); server.bind(folder + "/socket"); server.listen()
print("ready", flush=True)
near, _ = server.accept()
far = socket.socket(socket.AF_UNIX); far.connect(folder + "/real")
def pass_on(a, b):
    while data := a.recv(65536):
        sys.stdout.write(repr(data)); sys.stdout.flush()
        b.sendall(data)
    for s in (a, b):
        try: s.shutdown(socket.SHUT_RDWR)
        except OSError: pass
threads = [threading.Thread(target=pass_on, args=pair) for pair in ((near, far), (far, near))]
[t.start() for t in threads]; [t.join() for t in threads]
"#;

#[test]
fn relay_between_session_and_watcher_is_detected() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let mut between = Command::new("python3")
        .args(["-c", BETWEEN])
        .arg(state.path().join("watch"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut heard = between.stdout.take().unwrap();
    heard.read_exact(&mut [0; 6]).unwrap();
    let answers = ask(&session(state.path(), "s1"), question(1));
    assert_eq!(cause(&answers), Cause::NoOneToAsk);
    let mut words = String::new();
    heard.read_to_string(&mut words).unwrap();
    between.wait().unwrap();
    assert!(words.contains("hello") && !words.contains("question 1"), "{words}");
    assert_eq!(watched.person.count(), 0);
    wait_for(|| {
        watched.told.lock().unwrap().iter().any(|text| text.contains("proof is wrong")).then_some(())
    });
}

#[test]
fn process_of_another_user_gets_no_greeting() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        return crate::skip::skip(
            "process_of_another_user_gets_no_greeting",
            "only root can become another user",
        );
    }
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let watch = state.path().join("watch");
    for path in [state.path(), &watch, &watch.join("socket")] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let look = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(60); print(len(s.recv(9999)))";
    let other =
        Command::new("python3").args(["-c", look]).arg(watch.join("socket")).uid(65534).gid(65534).output();
    let other = other.unwrap();
    assert_eq!(String::from_utf8_lossy(&other.stdout).trim(), "0", "{other:?}");
    wait_for(|| watched.told.lock().unwrap().iter().any(|text| text.contains("another user")).then_some(()));
}

#[test]
fn warnings_wait_for_the_answer_and_many_are_counted() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let session = session(state.path(), "honest");
    let answers = ask(&session, question(1));
    watched.person.question(1);
    for _ in 0..20 {
        let mut stream = connect(state.path());
        stream.write_all(&framed(b"null")).unwrap();
        closed(&stream);
    }
    std::thread::sleep(Duration::from_millis(100));
    assert!(watched.told.lock().unwrap().is_empty(), "the screen is the question's");
    watched.person.answer(1, yes());
    assert_eq!(answers.recv().unwrap(), yes());
    let told = wait_for(|| Some(watched.told.lock().unwrap().clone()).filter(|told| told.len() > 8));
    assert!(told.last().unwrap().contains("more processes were refused"), "{told:?}");
}
