//! Reports tests that cannot run on this machine, so that `./test` can list them.

use std::io::Write;

/// Reports that a test was skipped, and why. `tests/expected-skips` lists the tests that may be skipped.
pub(crate) fn skip(name: &str, why: &str) {
    let Some(file) = std::env::var_os("ASKFIRST_SKIPS") else { return };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    writeln!(file, "{name}: {why}").unwrap();
}
