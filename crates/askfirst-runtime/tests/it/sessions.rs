//! Another process lists a running session and revokes its approvals.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use askfirst::ports::{Durability, RecordFailed, Recorder};
use askfirst::record::Record;
use askfirst::{ApprovalRequest, MemoryId};
use askfirst_display::redact::Redactor;
use askfirst_runtime::sessions::SessionsError;
use askfirst_runtime::{ApprovalController, sessions};
use serde_json::json;

#[test]
fn running_session_is_listed_and_can_be_revoked() {
    let state = tempfile::tempdir().unwrap();
    let controller = ApprovalController::strict();
    let request = ApprovalRequest::new("t", "does it", json!({"n": 1}));
    controller.add_session_approval(&request);
    let listening = sessions::listen(state.path(), "s1", &controller, &Redactor::default()).unwrap();
    let found = sessions::list(state.path()).unwrap();
    assert_eq!((found[0].session.as_str(), found[0].remembered[0].payload.clone()), ("s1", json!({"n": 1})));
    let id = found[0].remembered[0].id;
    assert!(!sessions::revoke(state.path(), "s1", MemoryId(id.0 + 1)).unwrap());
    assert!(!sessions::revoke(state.path(), "other", id).unwrap());
    assert!(sessions::revoke(state.path(), "s1", id).unwrap());
    assert!(!controller.is_session_approved(&request));
    drop(listening);
    assert!(sessions::list(state.path()).unwrap().is_empty());
}

/// A recorder that keeps entries, or fails.
#[derive(Default)]
struct KeptEntries {
    entries: Mutex<Vec<Record>>,
    fails: AtomicBool,
}

impl Recorder for KeptEntries {
    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed> {
        assert_eq!(durability, Durability::Synced);
        if self.fails.load(Ordering::Relaxed) {
            return Err(RecordFailed("the disk is full".to_owned()));
        }
        self.entries.lock().unwrap().push(record.clone());
        Ok(())
    }
}

#[test]
fn revocation_is_logged_before_the_decision_is_forgotten() {
    let state = tempfile::tempdir().unwrap();
    let controller = ApprovalController::strict();
    let request = ApprovalRequest::new("t", "logs in with hunter2xyzzy", json!({"password": "hunter2xyzzy"}));
    controller.add_session_approval(&request);
    let kept = Arc::new(KeptEntries::default());
    let (redactor, recorder) = (Redactor::default(), Some(Arc::clone(&kept) as _));
    let _listening = sessions::listen_and_log(state.path(), "s1", &controller, &redactor, recorder).unwrap();
    let id = sessions::list(state.path()).unwrap()[0].remembered[0].id;
    kept.fails.store(true, Ordering::Relaxed);
    let failed = sessions::revoke(state.path(), "s1", id).unwrap_err();
    assert!(matches!(&failed, SessionsError::NotLogged(why) if why == "the disk is full"), "{failed}");
    assert!(controller.is_session_approved(&request), "what is not logged does not happen");
    kept.fails.store(false, Ordering::Relaxed);
    assert!(sessions::revoke(state.path(), "s1", id).unwrap());
    assert!(!sessions::revoke(state.path(), "s1", id).unwrap());
    let entries = kept.entries.lock().unwrap();
    let [Record::Revoked(entry)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((entry.tool_name.as_str(), entry.approved, entry.memory_id), ("t", true, id.0));
    assert_eq!(entry.by.uid, rustix::process::getuid().as_raw());
    assert!(!entry.description.contains("hunter2"), "{entry:?}");
}

#[test]
fn session_sends_no_secret_of_its_config() {
    let state = tempfile::tempdir().unwrap();
    let controller = ApprovalController::strict();
    let payload = json!({"pin": 13371337, "phrase": "correct horse", "user": "ada"});
    let description = "numlogin(phrase=\"correct horse\", pin=13371337, user=\"ada\")";
    controller.add_session_approval(&ApprovalRequest::new("numlogin", description, payload));
    let command = json!({"words": ["mysql", "-phunter2xyzzy"]});
    controller.add_session_approval(&ApprovalRequest::new("shell", "run: mysql -phunter2xyzzy", command));
    let redactor = Redactor::new(&["pin".to_owned(), "phrase".to_owned()], Vec::new()).unwrap();
    let _listening = sessions::listen(state.path(), "s1", &controller, &redactor).unwrap();
    let found = serde_json::to_string(&sessions::list(state.path()).unwrap()).unwrap();
    for secret in ["13371337", "correct", "hunter2"] {
        assert!(!found.contains(secret), "{found}");
    }
    assert!(found.contains("ada") && found.contains("mysql"), "{found}");
}

#[test]
fn socket_of_a_killed_session_is_removed() {
    let state = tempfile::tempdir().unwrap();
    sessions::list(state.path()).unwrap();
    let left = state.path().join("sessions/dead.sock");
    drop(UnixListener::bind(&left).unwrap());
    assert!(sessions::list(state.path()).unwrap().is_empty());
    assert!(!left.exists());
}

#[test]
fn session_folder_that_others_can_write_is_not_used() {
    let state = tempfile::tempdir().unwrap();
    sessions::list(state.path()).unwrap();
    std::fs::set_permissions(state.path().join("sessions"), PermissionsExt::from_mode(0o777)).unwrap();
    assert!(sessions::list(state.path()).is_err());
    assert!(
        sessions::listen(state.path(), "s", &ApprovalController::strict(), &Redactor::default()).is_err()
    );
}
