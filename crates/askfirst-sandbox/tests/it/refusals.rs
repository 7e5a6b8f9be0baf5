//! Tests the error for a program that cannot be started. Unit tests cover the other errors.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use askfirst_sandbox::{Spec, Stop};

use crate::{sh, try_run};

fn refusal(spec: Spec) -> String {
    try_run(spec, &Stop::new()).unwrap_err().to_string()
}

#[test]
fn missing_program_is_refused() {
    let mut spec = sh("", &[]);
    spec.program = "no-such-program".into();
    assert_eq!(refusal(spec), "program `no-such-program` was not found in the PATH of its environment");
    assert_eq!(refusal(Spec::new("./no-such", "/")), "program `./no-such` was not found");
}

#[test]
fn missing_folder_is_refused() {
    let error = refusal(Spec::new("/bin/true", "/no/such"));
    assert_eq!(error, "cannot enter the folder `/no/such`: No such file or directory (os error 2)");
}

#[test]
fn nul_byte_is_refused() {
    assert_eq!(refusal(sh("echo a\0b", &[])), "argument 2 contains a NUL byte");
    let mut spec = sh("", &[]);
    spec.env.push(("TOKEN".into(), "sec\0ret".into()));
    assert_eq!(refusal(spec), "the variable `TOKEN` contains a NUL byte");
}

#[test]
fn file_that_is_no_program_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let tool = home.path().join("tool");
    fs::write(&tool, "no interpreter").unwrap();
    assert_eq!(refusal(Spec::new("./tool", home.path())), "program `./tool` is not an executable file");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let error = refusal(Spec::new("./tool", home.path()));
    assert_eq!(error, "cannot start program `./tool`: Exec format error (os error 8)");
}

#[test]
fn too_long_argument_list_is_refused() {
    let mut spec = sh("", &[]);
    spec.args = vec!["x".repeat(100_000).into(); 100];
    assert_eq!(refusal(spec), "cannot start program `sh`: Argument list too long (os error 7)");
}

#[test]
fn debug_output_contains_no_secrets() {
    let mut spec = sh("", &[]);
    spec.env.push(("TOKEN".into(), "hush".into()));
    spec.stdin = askfirst_sandbox::Stdin::Bytes(b"hush".to_vec());
    let printed = format!("{spec:?}");
    assert!(
        printed.contains("TOKEN") && printed.contains("4 bytes") && !printed.contains("hush"),
        "{printed}"
    );
}
