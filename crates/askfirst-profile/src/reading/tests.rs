//! Tests that the three results are distinguished.

use super::*;

#[test]
fn missing_readable_and_unreadable_files_are_distinguished() {
    let held = tempfile::tempdir().unwrap();
    let at = |name: &str| held.path().join(name);
    std::fs::write(at("plain"), b"\xff").unwrap();
    std::fs::write(at("large"), vec![b' '; MAX_SIZE as usize + 1]).unwrap();
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
fn reading_a_pipe_does_not_open_it() {
    let held = tempfile::tempdir().unwrap();
    let pipe = held.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(read(&pipe).is_err());
    // A writer that opens the pipe without blocking gets an error, since there is no reader.
    let writer = rustix::fs::open(&pipe, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
    assert_eq!(writer.unwrap_err(), Errno::NXIO);
}
