//! What is askfirst's own and lies in a root: the folder with trust, pins, secrets and sockets is never read, the record
//! and the configs that were read are never written, whatever a config says of the rest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::settings::Settings;

/// How a config is called.
const USUAL: &str = "askfirst.yaml";

/// Adds rules for what lies in the roots.
pub(super) fn protect<'a>(main: &mut Settings, state: &Path, configs: impl Iterator<Item = &'a Path>) {
    let roots: Vec<PathBuf> = main.sandbox.paths.values().map(|path| real(&path.root)).collect();
    let below = |path: &Path| {
        let inside = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        let named = inside.filter_map(Path::to_str).filter(|inside| !inside.is_empty());
        named.map(|inside| format!("/{}", plain(inside))).collect::<Vec<_>>()
    };
    let secret = below(&real(state));
    let record = main.ledger.path.as_deref().map(|path| below(&real(path))).unwrap_or_default();
    // The usual names are in the built-in list.
    let named = configs.flat_map(places).filter(|path| path.file_name().is_none_or(|name| name != USUAL));
    let named: BTreeSet<String> = named.flat_map(|path| below(&path)).collect();
    main.sandbox.never_read.extend(secret);
    // A record that is full goes on beside itself, under a longer name.
    main.sandbox.never_write.extend(record.into_iter().map(|path| format!("{path}*")));
    main.sandbox.never_write.extend(named);
}

/// Where a config lies, and where it leads if it is a link.
fn places(config: &Path) -> Vec<PathBuf> {
    let whole = std::path::absolute(config).unwrap_or_else(|_| config.to_owned());
    let own = whole.parent().zip(whole.file_name()).map(|(folder, name)| real(folder).join(name));
    own.into_iter().chain([real(&whole)]).collect()
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
