//! Protects askfirst's own files that are in a root. No config can switch this off.
//!
//! - Tools never read the state folder, which holds trust, pins, secrets and sockets.
//! - Tools never write the audit log or the config files that askfirst has read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::settings::{Config, Settings};

/// The usual file name of a config.
const USUAL_NAME: &str = "askfirst.yaml";

/// Adds `never_read` and `never_write` rules for askfirst's own files that are in a root.
pub(super) fn protect<'a>(main: &mut Settings, state: &Path, configs: impl Iterator<Item = &'a Path>) {
    if let Some(log) = main.ledger.path.clone() {
        protect_log(main, &log);
    }
    let roots = roots_of(main);
    let state = rules_for(&roots, &resolve(state));
    // The built-in list of the file tools covers the usual name.
    let unusual =
        configs.flat_map(paths_of).filter(|path| path.file_name().is_none_or(|name| name != USUAL_NAME));
    let unusual: BTreeSet<String> = unusual.flat_map(|path| rules_for(&roots, &path)).collect();
    main.sandbox.never_read.extend(state);
    main.sandbox.never_write.extend(unusual);
}

/// Adds `never_write` rules for an audit log that is in a root, and for its closed files.
fn protect_log(main: &mut Settings, log: &Path) {
    let (log, roots) = (resolve(log), roots_of(main));
    // A closed file of the audit log has numbers in its name: `log-1-90.jsonl`.
    let stem = log.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let closed = log.with_file_name(format!("{stem}-"));
    let open = rules_for(&roots, &log).into_iter().map(|path| format!("{path}*"));
    let closed = rules_for(&roots, &closed).into_iter().map(|path| format!("{path}[0-9]*"));
    main.sandbox.never_write.extend(open.chain(closed));
}

impl Config {
    /// Sets the place of the audit log instead of the config's own, and protects it.
    pub fn set_audit_log(&mut self, log: PathBuf) {
        protect_log(&mut self.main, &log);
        self.main.ledger.path = Some(log);
    }
}

fn roots_of(main: &Settings) -> Vec<PathBuf> {
    main.sandbox.paths.values().map(|path| resolve(&path.root)).collect()
}

/// Returns a rule for a path below each root that contains it.
fn rules_for(roots: &[PathBuf], path: &Path) -> Vec<String> {
    let inside = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
    let named = inside.filter_map(Path::to_str).filter(|inside| !inside.is_empty());
    named.map(|inside| format!("/{}", escape_glob(inside))).collect()
}

/// Returns the path of a config file and, if it is a link, the path of its target.
fn paths_of(config: &Path) -> Vec<PathBuf> {
    let whole = std::path::absolute(config).unwrap_or_else(|_| config.to_owned());
    let own = whole.parent().zip(whole.file_name()).map(|(folder, name)| resolve(folder).join(name));
    own.into_iter().chain([resolve(&whole)]).collect()
}

/// Resolves the links in the part of a path that exists.
fn resolve(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = existing else { return path.to_owned() };
    path.strip_prefix(above).map_or(real.clone(), |rest| real.join(rest))
}

/// Escapes a path so that, as a rule, it matches only itself.
fn escape_glob(path: &str) -> String {
    let special = |c: char| "*?[]{}\\!".contains(c);
    path.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
#[path = "own_files/tests.rs"]
mod tests;
