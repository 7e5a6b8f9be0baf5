//! The three outcomes.

use super::*;

#[test]
fn what_is_not_there_what_can_be_read_and_what_cannot_are_told_apart() {
    let held = tempfile::tempdir().unwrap();
    let at = |name: &str| held.path().join(name);
    std::fs::write(at("plain"), b"\xff").unwrap();
    std::fs::write(at("large"), vec![b' '; LARGEST as usize + 1]).unwrap();
    std::os::unix::fs::symlink("loop", at("loop")).unwrap();
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), FileType::Fifo, mode, 0).unwrap();
    assert_eq!(read(&at("plain")).unwrap(), Some(b"\xff".to_vec()));
    assert_eq!(read(&at("none")).unwrap(), None);
    assert_eq!(read(&at("plain/none")).unwrap(), None);
    assert_eq!(read(held.path()).unwrap(), None);
    assert!(read(&at("large")).is_err() && read(&at("pipe")).is_err());
    assert_eq!(real(&at("loop")).unwrap(), None);
    assert_eq!(real(&at("none")).unwrap(), None);
    assert!(real(&at(&"x".repeat(300))).is_err());
}

#[test]
fn nobody_who_waits_at_a_pipe_is_let_in() {
    let held = tempfile::tempdir().unwrap();
    let pipe = held.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(read(&pipe).is_err());
    // Whoever opens it for writing without waiting is told that nobody reads.
    let writer = rustix::fs::open(&pipe, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
    assert_eq!(writer.unwrap_err(), Errno::NXIO);
}
