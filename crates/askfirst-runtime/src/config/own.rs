//! What is askfirst's own and lies in a root: the folder with trust, pins, secrets and sockets is never read, the record
//! is never written, whatever a config says of the rest.

use std::path::{Path, PathBuf};

use super::settings::Settings;

/// Adds rules for what lies in the roots.
pub(super) fn protect(main: &mut Settings, state: &Path) {
    let roots: Vec<PathBuf> = main.sandbox.paths.values().map(|path| real(&path.root)).collect();
    let below = |path: &Path| {
        let path = real(path);
        let inside = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        let named = inside.filter_map(Path::to_str).filter(|inside| !inside.is_empty());
        named.map(|inside| format!("/{}", plain(inside))).collect::<Vec<_>>()
    };
    let secret = below(state);
    let record = main.ledger.path.as_deref().map(below).unwrap_or_default();
    main.sandbox.never_read.extend(secret);
    // A record that is full goes on beside itself, under a longer name.
    main.sandbox.never_write.extend(record.into_iter().map(|path| format!("{path}*")));
}

/// Where a path leads, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = there else { return path.to_owned() };
    path.strip_prefix(above).map_or(real.clone(), |rest| real.join(rest))
}

/// A path as a rule that means itself.
fn plain(path: &str) -> String {
    let special = |c: char| "*?[]{}\\!".contains(c);
    path.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
#[path = "own/tests.rs"]
mod tests;
