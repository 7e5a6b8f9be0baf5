//! Small parts alone: paths, digests and states as text.

use sha2::{Digest as _, Sha256};

use crate::beneath::split;
use crate::journal::CommitState;
use crate::object::{Digest, ObjectKind};
use crate::operation::Direction;

#[test]
fn path_is_split_at_its_last_slash() {
    assert_eq!(split(b"a/b/c"), (&b"a/b"[..], &b"c"[..]));
    assert_eq!(split(b"c"), (&b""[..], &b"c"[..]));
}

#[test]
fn digest_and_bytes_survive_the_journal() {
    let digest = Digest::finish(Sha256::new_with_prefix(b"text"));
    let text = serde_json::to_string(&digest).unwrap();
    assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
    assert!(serde_json::from_str::<Digest>("\"00\"").is_err());
    let all: Vec<u8> = (1..=255).collect();
    let link = ObjectKind::Link(all);
    let text = serde_json::to_string(&link).unwrap();
    assert_eq!(serde_json::from_str::<ObjectKind>(&text).unwrap(), link);
}

#[test]
fn every_state_with_work_left_ends_in_one_without() {
    use CommitState as State;
    for state in [State::Sealed, State::Redoing, State::Undoing, State::TakingBack] {
        assert!(state.direction().is_some());
        assert!(state.next().is_none_or(|next| next.direction().is_none()), "{state:?}");
    }
    assert_eq!(State::Sealed.reversed().direction(), Some(Direction::Backward));
    assert_eq!(State::Undoing.reversed().next(), Some(State::Done));
    assert_eq!(State::Redoing.reversed().next(), Some(State::Undone));
}
