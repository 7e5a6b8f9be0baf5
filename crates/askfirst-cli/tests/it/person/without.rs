//! Each story stands on rules: with them it goes as it should, and in a build without any one of them it does not.
//!
//! That build is made here, with `--cfg askfirst_rules_off`; the ordinary one does not heed the switch.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use askfirst_display::Rule;

const WHOLE: &str = env!("CARGO_BIN_EXE_askfirst");

thread_local! {
    /// What is left out of the program that this thread starts; nothing for the ordinary program.
    static LEFT_OUT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A story that goes well, and goes wrong without any of these rules.
pub(crate) fn story(rules: &[Rule], tell: impl Fn()) {
    tell();
    for rule in rules {
        assert!(!goes_well(&format!("{rule:?}"), &tell), "without {rule:?} it goes just as well");
    }
}

/// Whether a story goes well in the other build with that left out.
fn goes_well(left_out: &str, tell: impl Fn()) -> bool {
    // A build that cannot be made is no story that went wrong.
    built(Path::new(WHOLE));
    LEFT_OUT.set(Some(left_out.to_owned()));
    let told = catch_unwind(AssertUnwindSafe(tell));
    LEFT_OUT.set(None);
    told.is_ok()
}

/// That the other build is wrong only where a rule is left out.
#[test]
fn in_the_build_with_switches_stories_go_well_while_none_is_used() {
    assert!(goes_well("nothing", super::stories::pauses));
    assert!(goes_well("nothing", super::stories::shares));
    assert!(goes_well("nothing", super::together::one_at_a_time));
}

/// What the environment names.
pub(crate) fn left_out() -> String {
    LEFT_OUT.with_borrow(|left_out| left_out.clone().unwrap_or_default())
}

/// Whether it is the ordinary program.
pub(crate) fn is_whole() -> bool {
    LEFT_OUT.with_borrow(Option::is_none)
}

/// How many hundredths of a second something is waited for.
pub(crate) fn patience() -> usize {
    if is_whole() || left_out() == "nothing" { 3_000 } else { 1_000 }
}

/// The program that this thread starts.
pub(crate) fn program() -> PathBuf {
    let whole = Path::new(WHOLE);
    if is_whole() { whole.to_owned() } else { built(whole) }
}

/// The program in a build whose rules can be left out. What it leans on is not built again.
fn built(whole: &Path) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let target = whole.ancestors().nth(2).unwrap().to_owned();
        let wrapper = target.join("rules-off/rustc");
        let script = "#!/bin/sh\nrustc=$1\nshift\nexec \"$rustc\" --cfg askfirst_rules_off \"$@\"\n";
        if !std::fs::read_to_string(&wrapper).is_ok_and(|there| there == script) {
            std::fs::create_dir_all(wrapper.parent().unwrap()).unwrap();
            std::fs::write(&wrapper, script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
            std::fs::set_permissions(&wrapper, mode).unwrap();
        }
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--locked", "--example", "askfirst_without"])
            .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
            .arg("--target-dir")
            .arg(&target)
            .env("RUSTC_WORKSPACE_WRAPPER", &wrapper)
            .status()
            .unwrap();
        assert!(status.success(), "the build without rules cannot be made");
        target.join("debug/examples/askfirst_without")
    };
    BUILT.get_or_init(build).clone()
}
