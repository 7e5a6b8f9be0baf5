//! Listing a folder: streamed, capped, with a count of what was left out.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use askfirst_config::PathMode;
use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Map, Value, json};

use super::error::Trouble;
use super::handle::Kind;
use super::place::{Ground, Spot};
use super::tree::{self, Next};

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
        let mut entry = json!({"path": format!("{}:", root.name), "mode": mode});
        if let (Some(entry), Some(suffixes)) = (entry.as_object_mut(), root.rights.suffixes.first()) {
            entry.insert("suffixes".to_owned(), json!(suffixes));
        }
        entry
    };
    json!({"roots": ground.roots.all.iter().map(root).collect::<Vec<_>>()})
}

/// Many names one after the other in one text: what is put in order is where they stand, so that each gets a place of
/// its own only then, next to its neighbours.
#[derive(Default)]
struct Names {
    text: String,
    places: Vec<Range<usize>>,
}

impl Names {
    fn add(&mut self, name: &str) {
        let start = self.text.len();
        self.text.push_str(name);
        self.places.push(start..self.text.len());
    }

    fn into_json(self) -> Value {
        let name = |place: &Range<usize>| self.text.get(place.clone()).unwrap_or_default();
        // The names of one folder often begin alike. Of what comes then, a few bytes tell most of them apart.
        let first = self.places.first().map(name).unwrap_or_default();
        let alike = self.places.iter().fold(first.len(), |alike, place| common(first, name(place), alike));
        let start = |place: Range<usize>| (key(name(&place), alike), place);
        let mut places: Vec<(u64, Range<usize>)> = self.places.iter().cloned().map(start).collect();
        places.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| name(&a.1).cmp(name(&b.1))));
        Value::Array(places.iter().map(|(_, place)| name(place).into()).collect())
    }
}

/// How many bytes two names have in common at their beginning, at most `most`.
fn common(a: &str, b: &str, most: usize) -> usize {
    a.bytes().zip(b.bytes()).take(most).take_while(|(a, b)| a == b).count()
}

/// Eight bytes of a name as a number that is in order like they are. A name that ends before is filled with zeros, so
/// that equal numbers do not mean equal names.
fn key(name: &str, from: usize) -> u64 {
    let mut bytes = name.bytes().skip(from);
    (0..8).fold(0, |key, _| key << 8 | u64::from(bytes.next().unwrap_or(0)))
}

/// The names of some entries, from the folder that is listed.
#[derive(Default)]
struct Named {
    files: Names,
    folders: Names,
    links: Names,
    others: Names,
    /// Those among them that no tool reads.
    never_read: Names,
    /// Those whose name cannot be written in JSON, and so cannot be asked for.
    not_utf8: Names,
}

impl Named {
    fn add(&mut self, entry: &tree::Entry<'_>, closed: bool) {
        let name = &entry.path.to_string_lossy();
        if closed {
            self.never_read.add(name);
        }
        if matches!(name, Cow::Owned(_)) {
            self.not_utf8.add(name);
        }
        let list = match entry.kind {
            Kind::File => &mut self.files,
            Kind::Folder => &mut self.folders,
            Kind::Link => &mut self.links,
            Kind::Other(_) => &mut self.others,
        };
        list.add(name);
    }

    /// Files and folders always, the rest where there is any.
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
            |(key, names): &(&str, Names)| !names.places.is_empty() || matches!(*key, "files" | "folders");
        lists.into_iter().filter(shown).map(|(key, names)| (key.to_owned(), names.into_json())).collect()
    }
}

/// What is in a folder, by kind.
pub(crate) fn list(
    ground: &Ground<'_>,
    spot: &Spot,
    glob: Option<&str>,
    depth: u64,
    limit: u64,
) -> Result<Value, Trouble> {
    let wanted = Wanted::new(glob)?;
    let base = ground.real(spot)?;
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    let mut named = Named::default();
    let (mut count, mut left_out) = (0_u64, 0_u64);
    let walked = tree::walk(tree::enter(ground, spot)?, &spot.label, &mut |entry| {
        let real = || base.join(entry.path);
        let closed = ground.roots.never.may_hide(entry.name)
            && ground.by_names(&real(), |names| ground.roots.never.read(names)).is_some();
        if wanted.takes(entry.path) {
            if count < limit {
                count += 1;
                named.add(entry, closed);
            } else {
                left_out += 1;
            }
        }
        Ok(if entry.depth < depth && !closed && entry.kind == Kind::Folder { Next::Into } else { Next::Past })
    })?;
    let mut result = named.into_json();
    result.insert("path".to_owned(), spot.label.clone().into());
    result.insert("left_out".to_owned(), left_out.into());
    if walked.unseen > 0 {
        result.insert("folders_not_entered".to_owned(), walked.unseen.into());
    }
    Ok(Value::Object(result))
}
