//! What is refused before anything starts, word for word, and how programs are found.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn refused(change: impl FnOnce(&mut Spec)) -> String {
    let mut spec = Spec::new("/bin/true", "/");
    change(&mut spec);
    match Prepared::new(&spec) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    }
}

fn pair(name: &str, value: &str) -> (OsString, OsString) {
    (name.into(), value.into())
}

#[test]
fn refusals_say_what_is_wrong_and_show_no_value() {
    assert_eq!(refused(|spec| spec.program = "".into()), "the program name is empty");
    assert_eq!(refused(|spec| spec.program = "a\0b".into()), "the program name holds a NUL byte");
    assert_eq!(refused(|spec| spec.args = vec!["a".into(), "k\0".into()]), "argument 2 holds a NUL byte");
    assert_eq!(refused(|spec| spec.env = vec![pair("KEY", "s\0t")]), "the variable `KEY` holds a NUL byte");
    assert_eq!(refused(|spec| spec.env = vec![pair("K\0", "s")]), r"the variable `K\0` holds a NUL byte");
    assert_eq!(refused(|spec| spec.env = vec![pair("", "s")]), "the variable name `` is empty or holds `=`");
    assert_eq!(
        refused(|spec| spec.env = vec![pair("A=B", "s")]),
        "the variable name `A=B` is empty or holds `=`"
    );
    assert_eq!(
        refused(|spec| spec.env = vec![pair("A", "s"), pair("A", "t")]),
        "the variable `A` is given twice"
    );
    assert_eq!(refused(|spec| spec.folder = "/a\0".into()), "the folder holds a NUL byte");
    assert_eq!(refused(|spec| spec.folder = "a/b".into()), "the folder `a/b` is not an absolute path");
    assert_eq!(
        refused(|spec| spec.folder = "/no/such/folder".into()),
        "the folder `/no/such/folder` cannot be entered: No such file or directory (os error 2)"
    );
    assert_eq!(
        refused(|spec| spec.folder = "/dev/null".into()),
        "the folder `/dev/null` cannot be entered: Not a directory (os error 20)"
    );
    assert_eq!(refused(|spec| spec.program = "/no\n/such".into()), r"program `/no\n/such` was not found");
    assert_eq!(refused(|spec| spec.program = "/usr".into()), "program `/usr` is not an executable file");
    assert_eq!(
        refused(|spec| spec.program = "true".into()),
        "program `true` was not found in the PATH it is given"
    );
}

#[test]
fn the_first_executable_in_an_absolute_path_folder_is_taken() {
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

    // A way from where the test runs, so that it would be found if it were tried.
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
fn a_mark_from_the_caller_is_replaced() {
    let mut spec = Spec::new("/bin/true", "/");
    spec.env = vec![pair("ASKFIRST_LAUNCH", "forged"), pair("A", "1")];
    let prepared = Prepared::new(&spec).unwrap();
    let mark = format!("ASKFIRST_LAUNCH={}", prepared.marker.value());
    assert_eq!(prepared.envp, [CString::new("A=1").unwrap(), CString::new(mark).unwrap()]);
}
