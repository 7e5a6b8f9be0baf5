//! Looking at a running session from outside.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use askfirst::{ApprovalRequest, MemoryId};
use askfirst_display::redact::Redactor;
use askfirst_runtime::{ApprovalController, sessions};
use serde_json::json;

#[test]
fn a_running_session_is_listed_and_made_to_forget() {
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

#[test]
fn a_session_hands_over_no_secret_that_its_config_knows() {
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
fn a_socket_left_behind_by_a_killed_session_is_cleared_away() {
    let state = tempfile::tempdir().unwrap();
    sessions::list(state.path()).unwrap();
    let left = state.path().join("sessions/dead.sock");
    drop(UnixListener::bind(&left).unwrap());
    assert!(sessions::list(state.path()).unwrap().is_empty());
    assert!(!left.exists());
}

#[test]
fn a_folder_that_others_can_write_is_not_used() {
    let state = tempfile::tempdir().unwrap();
    sessions::list(state.path()).unwrap();
    std::fs::set_permissions(state.path().join("sessions"), PermissionsExt::from_mode(0o777)).unwrap();
    assert!(sessions::list(state.path()).is_err());
    assert!(
        sessions::listen(state.path(), "s", &ApprovalController::strict(), &Redactor::default()).is_err()
    );
}
