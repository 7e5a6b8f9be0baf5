//! What cannot be started is refused in one line; the rest of the refusals are tested where they are made.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use askfirst_sandbox::{Spec, Stop};

use crate::{sh, try_run};

fn refused(spec: Spec) -> String {
    try_run(spec, &Stop::new()).unwrap_err().to_string()
}

#[test]
fn a_missing_program() {
    let mut spec = sh("", &[]);
    spec.program = "no-such-program".into();
    assert_eq!(refused(spec), "program `no-such-program` was not found in the PATH it is given");
    assert_eq!(refused(Spec::new("./no-such", "/")), "program `./no-such` was not found");
}

#[test]
fn a_missing_folder() {
    let error = refused(Spec::new("/bin/true", "/no/such"));
    assert_eq!(error, "the folder `/no/such` cannot be entered: No such file or directory (os error 2)");
}

#[test]
fn a_nul_byte() {
    assert_eq!(refused(sh("echo a\0b", &[])), "argument 2 holds a NUL byte");
    let mut spec = sh("", &[]);
    spec.env.push(("TOKEN".into(), "sec\0ret".into()));
    assert_eq!(refused(spec), "the variable `TOKEN` holds a NUL byte");
}

#[test]
fn a_file_that_is_no_program() {
    let home = tempfile::tempdir().unwrap();
    let tool = home.path().join("tool");
    fs::write(&tool, "no interpreter").unwrap();
    assert_eq!(refused(Spec::new("./tool", home.path())), "program `./tool` is not an executable file");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let error = refused(Spec::new("./tool", home.path()));
    assert_eq!(error, "program `./tool` could not be started: Exec format error (os error 8)");
}

#[test]
fn too_many_arguments() {
    let mut spec = sh("", &[]);
    spec.args = vec!["x".repeat(100_000).into(); 100];
    assert_eq!(refused(spec), "program `sh` could not be started: Argument list too long (os error 7)");
}

#[test]
fn secrets_are_not_in_what_is_printed_for_debugging() {
    let mut spec = sh("", &[]);
    spec.env.push(("TOKEN".into(), "hush".into()));
    spec.stdin = askfirst_sandbox::Stdin::Bytes(b"hush".to_vec());
    let printed = format!("{spec:?}");
    assert!(
        printed.contains("TOKEN") && printed.contains("4 bytes") && !printed.contains("hush"),
        "{printed}"
    );
}
