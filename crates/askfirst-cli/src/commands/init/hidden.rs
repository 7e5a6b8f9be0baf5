//! Finds the folders of `PATH` that the sandbox would hide under the new config, and that a config may show.

use std::path::Path;

use askfirst_display::escape::escaped_line;
use askfirst_runtime::sandbox::{StartEnvironment, Toolchains};
use serde_json::json;

use super::{NEVER_READ, with_sandbox};

/// How many folders are listed. `askfirst doctor` lists the others.
const MAX: usize = 8;

/// A folder of `PATH` that the sandbox hides. All texts are one escaped line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenFolder {
    /// The folder, with `~` for the home folder.
    pub name: String,
    /// Why the sandbox hides it.
    pub reason: String,
    /// The line below `sandbox:` that would show it.
    pub line: String,
}

/// Finds the folders as `doctor` does, under the sandbox settings that `init` writes.
pub fn folders(project: &Path) -> Vec<HiddenFolder> {
    let start = StartEnvironment::read();
    let sandbox = json!({ "paths": { "project": { "root": "." } }, "never_read": NEVER_READ });
    let Some(config) = with_sandbox(project, &sandbox) else { return Vec::new() };
    let found = Toolchains::find(&config, &start);
    let entries = found.hidden().filter(|(path, _)| start.path.iter().any(|entry| entry == path));
    let folders = entries.filter_map(|(path, reason)| {
        let line = found.config_line(path)?;
        Some(HiddenFolder {
            name: escaped_line(&found.shorten(path)),
            reason: escaped_line(&reason.to_string()),
            line: escaped_line(line.strip_prefix("sandbox.")?),
        })
    });
    folders.take(MAX).collect()
}
