//! Tests the exact text of every refusal before a start, and the search for programs.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn refusal(change: impl FnOnce(&mut Spec)) -> String {
    let mut spec = Spec::new("/bin/true", "/");
    change(&mut spec);
    match SpawnArgs::new(&spec) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    }
}

fn pair(name: &str, value: &str) -> (OsString, OsString) {
    (name.into(), value.into())
}

#[test]
fn invalid_spec_is_refused_without_showing_values() {
    assert_eq!(refusal(|spec| spec.program = "".into()), "the program name is empty");
    assert_eq!(refusal(|spec| spec.program = "a\0b".into()), "the program name contains a NUL byte");
    assert_eq!(refusal(|spec| spec.args = vec!["a".into(), "k\0".into()]), "argument 2 contains a NUL byte");
    assert_eq!(
        refusal(|spec| spec.env = vec![pair("KEY", "s\0t")]),
        "the variable `KEY` contains a NUL byte"
    );
    assert_eq!(refusal(|spec| spec.env = vec![pair("K\0", "s")]), r"the variable `K\0` contains a NUL byte");
    assert_eq!(
        refusal(|spec| spec.env = vec![pair("", "s")]),
        "the variable name `` is empty or contains `=`"
    );
    assert_eq!(
        refusal(|spec| spec.env = vec![pair("A=B", "s")]),
        "the variable name `A=B` is empty or contains `=`"
    );
    assert_eq!(
        refusal(|spec| spec.env = vec![pair("A", "s"), pair("A", "t")]),
        "the variable `A` is set twice"
    );
    assert_eq!(refusal(|spec| spec.folder = "/a\0".into()), "the folder contains a NUL byte");
    assert_eq!(refusal(|spec| spec.folder = "a/b".into()), "the folder `a/b` is not an absolute path");
    assert_eq!(
        refusal(|spec| spec.folder = "/no/such/folder".into()),
        "cannot enter the folder `/no/such/folder`: No such file or directory (os error 2)"
    );
    assert_eq!(
        refusal(|spec| spec.folder = "/dev/null".into()),
        "cannot enter the folder `/dev/null`: Not a directory (os error 20)"
    );
    assert_eq!(refusal(|spec| spec.program = "/no\n/such".into()), r"program `/no\n/such` was not found");
    assert_eq!(refusal(|spec| spec.program = "/usr".into()), "program `/usr` is not an executable file");
    assert_eq!(
        refusal(|spec| spec.program = "true".into()),
        "program `true` was not found in the PATH of its environment"
    );
}

#[test]
fn first_executable_in_absolute_path_folder_is_used() {
    let home = tempfile::tempdir().unwrap();
    for (folder, mode) in [("plain", 0o644), ("first", 0o755), ("second", 0o755), ("relative", 0o755)] {
        let folder = home.path().join(folder);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("tool"), "").unwrap();
        fs::set_permissions(folder.join("tool"), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir_all(home.path().join("folder/tool")).unwrap();

    let mut spec = Spec::new("tool", home.path());
    let at = |name: &str| home.path().join(name);
    let path = |folders: &[PathBuf]| vec![("PATH".into(), std::env::join_paths(folders).unwrap())];

    // A path relative to the test's working folder, so that the program would be found if this folder were searched.
    let up: PathBuf = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
    let relative = up.join(at("relative").strip_prefix("/").unwrap());
    assert!(relative.join("tool").exists());
    spec.env = path(&[relative.clone(), "".into(), at("folder"), at("plain"), at("first"), at("second")]);
    assert_eq!(find(&spec).unwrap(), at("first/tool"));

    spec.env = path(&[relative, at("missing")]);
    assert!(matches!(find(&spec), Err(LaunchError::NotInPath(_))));

    spec.env = path(&[at("plain"), at("missing")]);
    assert!(matches!(find(&spec), Err(LaunchError::NotExecutable(_))));

    spec.program = "relative/tool".into();
    assert_eq!(find(&spec).unwrap(), at("relative/tool"));
}

#[test]
fn mark_set_by_the_caller_is_replaced() {
    let mut spec = Spec::new("/bin/true", "/");
    spec.env = vec![pair("ASKFIRST_LAUNCH", "forged"), pair("A", "1")];
    let prepared = SpawnArgs::new(&spec).unwrap();
    let mark = format!("ASKFIRST_LAUNCH={}", prepared.marker.value());
    assert_eq!(prepared.envp, [CString::new("A=1").unwrap(), CString::new(mark).unwrap()]);
}
