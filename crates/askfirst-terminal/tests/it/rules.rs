//! What each rule of the prompt is for: with it a bad thing does not happen, and in a build without it, it does.
//!
//! That build is made here, with `--cfg askfirst_rules_off`; the ordinary one does not heed the switch.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use askfirst::ApprovalRequest;
use askfirst_display::Rule;

use crate::desk::{Desk, email, program};

mod content;
mod input;
mod looks;

/// Makes desks with a program that has all rules, or all but one.
#[derive(Clone, Copy)]
pub(crate) struct Office {
    rule: Rule,
    program: fn() -> PathBuf,
}

impl Office {
    fn asks(self, request: ApprovalRequest) -> Desk {
        self.set_up(Desk::new(request))
    }

    fn set_up(self, desk: Desk) -> Desk {
        desk.program((self.program)()).env("ASKFIRST_RULE_OFF", &format!("{:?}", self.rule))
    }

    fn mail(self) -> Desk {
        self.asks(email())
    }
}

/// The bad thing never happens with the rule, and does without it.
fn only(rule: Rule, keeps_from: impl Fn(Office) -> bool) {
    assert!(!keeps_from(Office { rule, program }), "{rule:?} does not hold");
    assert!(keeps_from(Office { rule, program: without }), "without {rule:?} nothing is different");
}

/// The program in a build whose rules can be left out. What it leans on is not built again.
pub(crate) fn without() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let target = program().ancestors().nth(3).unwrap().to_owned();
        // Always the same one, so that what was built once is not built again.
        let wrapper = target.join("rules-off/rustc");
        let script = "#!/bin/sh\nrustc=$1\nshift\nexec \"$rustc\" --cfg askfirst_rules_off \"$@\"\n";
        if !std::fs::read_to_string(&wrapper).is_ok_and(|there| there == script) {
            std::fs::create_dir_all(wrapper.parent().unwrap()).unwrap();
            std::fs::write(&wrapper, script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
            std::fs::set_permissions(&wrapper, mode).unwrap();
        }
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--locked", "--example", "ask_without"])
            .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
            .arg("--target-dir")
            .arg(&target)
            .env("RUSTC_WORKSPACE_WRAPPER", &wrapper)
            .status()
            .unwrap();
        assert!(status.success(), "the build without rules cannot be made");
        target.join("debug/examples/ask_without")
    };
    BUILT.get_or_init(build).clone()
}
