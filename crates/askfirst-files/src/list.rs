//! Lists a folder up to a limit, and counts the entries beyond the limit.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use askfirst_config::PathMode;
use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Map, Value, json};

use super::error::CallError;
use super::handle::ObjectKind;
use super::location::Location;
use super::place::RootView;
use super::tree::{self, WalkStep};

/// An optional glob that selects files and folders.
pub(crate) struct GlobFilter(Option<(GlobMatcher, GlobTarget)>);

/// The text that a glob is compared with.
enum GlobTarget {
    Name,
    Path,
}

impl GlobFilter {
    /// Creates a filter. A glob without a slash matches names at any depth, and one with a slash matches paths.
    pub(crate) fn new(glob: Option<&str>) -> Result<Self, CallError> {
        let Some(glob) = glob else { return Ok(Self(None)) };
        let target = if glob.contains('/') { GlobTarget::Path } else { GlobTarget::Name };
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        let built = built.map_err(|e| CallError::BadArgs(format!("invalid glob `{glob}`: {}", e.kind())))?;
        Ok(Self(Some((built.compile_matcher(), target))))
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        match &self.0 {
            None => true,
            Some((glob, GlobTarget::Path)) => glob.is_match(path),
            Some((glob, GlobTarget::Name)) => path.file_name().is_some_and(|name| glob.is_match(name)),
        }
    }
}

/// Lists the roots for the agent.
pub(crate) fn list_roots(view: &RootView<'_>) -> Value {
    let root = |root: &super::roots::Root| {
        let mode = match root.rights.mode {
            PathMode::Ro => "ro",
            PathMode::Rw => "rw",
        };
        let mut entry = json!({"path": format!("{}:", root.name), "mode": mode});
        if let (Some(entry), Some(suffixes)) = (entry.as_object_mut(), root.rights.suffixes.first()) {
            entry.insert("suffixes".to_owned(), json!(suffixes));
        }
        entry
    };
    json!({"roots": view.roots.all.iter().map(root).collect::<Vec<_>>()})
}

/// A list of names in one buffer.
///
/// Sorting moves only the ranges. Each name is allocated after sorting, next to its neighbors.
#[derive(Default)]
struct NameList {
    text: String,
    ranges: Vec<Range<usize>>,
}

impl NameList {
    fn add(&mut self, name: &str) {
        let start = self.text.len();
        self.text.push_str(name);
        self.ranges.push(start..self.text.len());
    }

    fn into_json(self) -> Value {
        let name = |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
        // Names in one folder often have a common prefix. The few bytes after it order most of them.
        let first = self.ranges.first().map(name).unwrap_or_default();
        let prefix = self.ranges.iter().fold(first.len(), |prefix, range| common(first, name(range), prefix));
        let keyed = |range: Range<usize>| (sort_key(name(&range), prefix), range);
        let mut ranges: Vec<(u64, Range<usize>)> = self.ranges.iter().cloned().map(keyed).collect();
        ranges.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| name(&a.1).cmp(name(&b.1))));
        Value::Array(ranges.iter().map(|(_, range)| name(range).into()).collect())
    }
}

/// Returns the length of the common prefix of two names in bytes, at most `max`.
fn common(a: &str, b: &str, max: usize) -> usize {
    a.bytes().zip(b.bytes()).take(max).take_while(|(a, b)| a == b).count()
}

/// Returns eight bytes of a name as a number with the same order.
///
/// A shorter name is padded with zeros, so two different names may have the same key.
fn sort_key(name: &str, from: usize) -> u64 {
    let mut bytes = name.bytes().skip(from);
    (0..8).fold(0, |key, _| key << 8 | u64::from(bytes.next().unwrap_or(0)))
}

/// The listed names by kind, relative to the listed folder.
#[derive(Default)]
struct Listing {
    files: NameList,
    folders: NameList,
    links: NameList,
    others: NameList,
    /// The listed names that a `never_read` rule covers.
    never_read: NameList,
    /// The listed names that are not valid UTF-8. No call can use them, because JSON cannot represent them.
    not_utf8: NameList,
}

impl Listing {
    fn add(&mut self, entry: &tree::WalkEntry<'_>, is_protected: bool) {
        let name = &entry.path.to_string_lossy();
        if is_protected {
            self.never_read.add(name);
        }
        if matches!(name, Cow::Owned(_)) {
            self.not_utf8.add(name);
        }
        let list = match entry.kind {
            ObjectKind::File => &mut self.files,
            ObjectKind::Folder => &mut self.folders,
            ObjectKind::Link => &mut self.links,
            ObjectKind::Other(_) => &mut self.others,
        };
        list.add(name);
    }

    /// Converts the listing to JSON. Always includes `files` and `folders`, and each other list unless it is empty.
    fn into_json(self) -> Map<String, Value> {
        let lists = [
            ("files", self.files),
            ("folders", self.folders),
            ("links", self.links),
            ("others", self.others),
            ("never_read", self.never_read),
            ("not_utf8", self.not_utf8),
        ];
        let shown =
            |(key, names): &(&str, NameList)| !names.ranges.is_empty() || matches!(*key, "files" | "folders");
        lists.into_iter().filter(shown).map(|(key, names)| (key.to_owned(), names.into_json())).collect()
    }
}

/// Lists the content of a folder by kind.
pub(crate) fn list(
    view: &RootView<'_>,
    location: &Location,
    glob: Option<&str>,
    depth: u64,
    limit: u64,
) -> Result<Value, CallError> {
    let filter = GlobFilter::new(glob)?;
    let base = view.real_path(location)?;
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    let mut listing = Listing::default();
    let (mut count, mut left_out) = (0_u64, 0_u64);
    let summary = tree::walk(tree::open_folder(view, location)?, &location.label, &mut |entry| {
        let real = || base.join(entry.path);
        let is_protected = view.roots.never.may_hide(entry.name)
            && view.by_names(&real(), |names| view.roots.never.read(names)).is_some();
        if filter.matches(entry.path) {
            if count < limit {
                count += 1;
                listing.add(entry, is_protected);
            } else {
                left_out += 1;
            }
        }
        let can_enter = entry.depth < depth && !is_protected && entry.kind == ObjectKind::Folder;
        Ok(if can_enter { WalkStep::Enter } else { WalkStep::Skip })
    })?;
    let mut result = listing.into_json();
    result.insert("path".to_owned(), location.label.clone().into());
    result.insert("left_out".to_owned(), left_out.into());
    if summary.skipped_folders > 0 {
        result.insert("folders_not_entered".to_owned(), summary.skipped_folders.into());
    }
    Ok(Value::Object(result))
}
