//! Files that usually hold secrets. Reading one by its name is asked about, also where the root reads without asking.
//!
//! This is a net, not a wall: `sandbox.never_read` is how an owner says what must not be read.

use std::path::Path;

/// Names, in lower case. A star stands for anything within a name.
const NAMES: [&str; 30] = [
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*key.pem",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.kdbx",
    "credentials.json",
    "service-account*.json",
    "shadow",
];

/// Folders whose content counts, too.
const FOLDERS: [&str; 6] = [".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"];

/// Endings of names that hold no secret though they look like it.
const SAMPLES: [&str; 7] = [".example", ".sample", ".template", ".dist", ".defaults", ".test", ".ci"];

/// Whether a place usually holds secrets.
pub(super) fn is_secret(path: &Path) -> bool {
    let lower = |name: &std::ffi::OsStr| name.to_string_lossy().to_lowercase();
    let Some(name) = path.file_name().map(lower) else { return false };
    if SAMPLES.iter().any(|sample| name.ends_with(sample)) {
        return false;
    }
    let in_folder = path.iter().map(lower).any(|part| FOLDERS.contains(&part.as_str()));
    in_folder || NAMES.iter().any(|known| matches(known, &name))
}

fn matches(known: &str, name: &str) -> bool {
    match known.split_once('*') {
        None => known == name,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

#[cfg(test)]
#[path = "secrets/tests.rs"]
mod tests;
