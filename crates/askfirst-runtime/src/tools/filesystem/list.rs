//! Listing a folder: streamed, capped, with a count of what was left out.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Value, json};

use super::error::Trouble;
use super::handle::Kind;
use super::place::{Ground, Spot};
use super::tree::{self, Next};
use crate::config::PathMode;

/// What is looked for by name.
pub(crate) struct Wanted(Option<(GlobMatcher, Against)>);

enum Against {
    Name,
    Path,
}

impl Wanted {
    /// A glob without a slash is for names at any depth, one with a slash for the way from the start.
    pub(crate) fn new(glob: Option<&str>) -> Result<Self, Trouble> {
        let Some(glob) = glob else { return Ok(Self(None)) };
        let against = if glob.contains('/') { Against::Path } else { Against::Name };
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        let built = built.map_err(|e| Trouble::BadArgs(format!("`{glob}` is no glob: {}", e.kind())))?;
        Ok(Self(Some((built.compile_matcher(), against))))
    }

    pub(crate) fn takes(&self, path: &Path) -> bool {
        match &self.0 {
            None => true,
            Some((glob, Against::Path)) => glob.is_match(path),
            Some((glob, Against::Name)) => path.file_name().is_some_and(|name| glob.is_match(name)),
        }
    }
}

/// The roots, as an agent may know them.
pub(crate) fn roots(ground: &Ground<'_>) -> Value {
    let root = |root: &super::roots::Root| {
        let mode = match root.rights.mode {
            PathMode::Ro => "ro",
            PathMode::Rw => "rw",
        };
        let mut entry = json!({"path": format!("{}:", root.name), "kind": "root", "mode": mode});
        if let (Some(entry), Some(suffixes)) = (entry.as_object_mut(), root.rights.suffixes.first()) {
            entry.insert("suffixes".to_owned(), json!(suffixes));
        }
        entry
    };
    json!({"entries": ground.roots.all.iter().map(root).collect::<Vec<_>>()})
}

/// A folder's entries.
pub(crate) fn list(
    ground: &Ground<'_>,
    spot: &Spot,
    glob: Option<&str>,
    depth: u64,
    limit: u64,
) -> Result<Value, Trouble> {
    let wanted = Wanted::new(glob)?;
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut entries: Vec<(String, Value)> = Vec::new();
    let mut left_out = 0_u64;
    let walked = tree::walk(tree::enter(ground, spot)?, &spot.label, &mut |entry| {
        let real = || spot.real.join(entry.path);
        let closed = !ground.roots.never.reads_all()
            && ground.by_names(&real(), |names| ground.roots.never.read(names)).is_some();
        if wanted.takes(entry.path) {
            if entries.len() < limit {
                let path = ground.label(spot.root, &spot.path.join(entry.path));
                let mut line = json!({"path": path, "kind": entry.kind.as_str()});
                if let Some(line) = line.as_object_mut().filter(|_| closed) {
                    line.insert("never_read".to_owned(), true.into());
                }
                if let (Some(line), None) = (line.as_object_mut(), entry.name.to_str()) {
                    line.insert("not_utf8".to_owned(), true.into());
                }
                entries.push((path, line));
            } else {
                left_out += 1;
            }
        }
        Ok(if entry.depth < depth && !closed && entry.kind == Kind::Folder { Next::Into } else { Next::Past })
    })?;
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    let entries: Vec<Value> = entries.into_iter().map(|(_, line)| line).collect();
    let mut result = json!({"entries": entries, "left_out": left_out});
    if let Some(result) = result.as_object_mut().filter(|_| walked.unseen > 0) {
        result.insert("folders_not_entered".to_owned(), walked.unseen.into());
    }
    Ok(result)
}
