//! Generates the macOS sandbox profile (Seatbelt) for an `OSProfile`.
//!
//! The profile denies everything that no line allows, and later lines override earlier ones.
//! Paths are parameters, so no path can be parsed as part of the profile.
//!
//! The tests check the text only. This profile has never been run on macOS.

use std::ffi::OsString;
use std::path::Path;

use crate::profile::{Denial, Descriptors, Mode, Network, OSProfile};

/// Read-only paths that programs need to start on macOS.
const SYSTEM: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/System",
    "/Library/Frameworks",
    "/Library/Developer",
    "/private/etc/ssl",
    "/private/var/db/timezone",
    "/private/var/select",
];

/// Devices that every program may use.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper"];

/// A profile and the values of its parameters, as `sandbox-exec` takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seatbelt {
    pub(crate) text: String,
    pub(crate) parameters: Vec<(String, OsString)>,
}

impl Seatbelt {
    pub(crate) fn new(profile: &OSProfile) -> Self {
        let mut made = Self { text: String::new(), parameters: Vec::new() };
        made.line("(version 1)");
        made.line("(deny default)");
        made.line("(allow process-exec process-fork signal (target same-sandbox))");
        made.line("(allow sysctl-read)");
        made.line("(allow file-read-metadata (literal \"/\"))");
        for path in SYSTEM {
            made.rule("allow file-read*", "subpath", Path::new(path));
        }
        for path in DEVICES {
            made.rule("allow file-read* file-write-data file-ioctl", "literal", Path::new(path));
        }
        for (grant, mode) in profile.grants() {
            match mode {
                Mode::Read | Mode::Scratch => {
                    made.rule("allow file-read*", "subpath", &grant.path);
                    // A readable grant inside a writable one stays read-only.
                    made.rule("deny file-write*", "subpath", &grant.path);
                }
                Mode::Write => made.rule("allow file-read* file-write*", "subpath", &grant.path),
            }
            // The root of a grant cannot be removed or replaced.
            made.rule("deny file-write-unlink file-write-create", "literal", &grant.path);
        }
        for denied in &profile.denied {
            let what = match denied.what {
                Denial::Write => "deny file-write*",
                Denial::All => "deny file-read* file-write*",
            };
            made.rule(what, "subpath", &denied.path);
            if let Some((grant, Mode::Write)) = profile.grant_of(&denied.path) {
                let above = denied.path.ancestors().skip(1).take_while(|above| *above != grant.path);
                above.for_each(|above| made.rule("deny file-write-unlink", "literal", above));
            }
        }
        made.line("(deny file-write-setugid)");
        match profile.network {
            Network::Own => {
                made.line("(allow network-inbound network-outbound (local ip \"localhost:*\"))");
                made.line("(deny network-outbound (remote unix-socket))");
                made.line("(deny network-outbound (remote ip))");
            }
            Network::Shared => {
                made.line("(allow network-inbound network-outbound (remote ip))");
                made.line("(deny network-outbound (remote unix-socket))");
            }
        }
        match profile.descriptors {
            Descriptors::Standard => {}
            Descriptors::Terminal => {
                made.rule("allow file-read* file-write-data file-ioctl", "literal", Path::new("/dev/tty"));
            }
        }
        made
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn rule(&mut self, what: &str, how: &str, path: &Path) {
        let known = self.parameters.iter().position(|(_, value)| value == path.as_os_str());
        let number = known.unwrap_or(self.parameters.len());
        if known.is_none() {
            self.parameters.push((format!("P{number}"), path.into()));
        }
        self.line(&format!("({what} ({how} (param \"P{number}\")))"));
    }
}

#[cfg(test)]
#[path = "seatbelt/tests.rs"]
mod tests;
