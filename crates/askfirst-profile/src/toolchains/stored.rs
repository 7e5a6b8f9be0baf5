//! Stores found toolchains for later processes.
//!
//! They hold until a folder that was listed changes, and for at most ten minutes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use askfirst_config::Config;

use super::fence::{HiddenReason, named_places};
use super::listing::Folders;
use super::{StartEnvironment, Toolchains};
use crate::folder_cache::{PrivateFile, Reader, Writer, now};

/// How long a result counts, in seconds. A link may lead elsewhere although no listed folder has changed.
const MAX_AGE: i64 = 600;

/// The reasons without more facts, in the order of their numbers.
const REASONS: [HiddenReason; 12] = [
    HiddenReason::Relative,
    HiddenReason::Circle,
    HiddenReason::Home,
    HiddenReason::OwnFiles,
    HiddenReason::Collection,
    HiddenReason::Secrets,
    HiddenReason::OpenToEveryone,
    HiddenReason::NoProgram,
    HiddenReason::Unsearchable,
    HiddenReason::TooMany,
    HiddenReason::Gone,
    HiddenReason::NotIncluded,
];
const ROOT: u64 = 100;
const NEVER_READ: u64 = 101;

impl Toolchains {
    /// Version of [`find`](Self::find) that uses what an earlier process found, if nothing has changed since.
    #[must_use]
    pub fn find_again(config: &Config, start: &StartEnvironment) -> Self {
        let layers = std::iter::once(&config.main).chain(&config.floors);
        let access = layers.map(|layer| {
            let is_set = layer.is_set("sandbox.toolchains");
            format!("{:?} {is_set} {:?}", layer.sandbox.toolchains, layer.ledger.path)
        });
        let more = format!("toolchains {:?} {start:?}", access.collect::<Vec<_>>());
        let Some(file) = PrivateFile::new(&start.places.state, config, &more) else {
            return Self::find(config, start);
        };
        let known = file.read().and_then(|bytes| Self::decode(&bytes, config, start));
        if let Some(known) = known.filter(Self::is_current) {
            return known;
        }
        let found = Self::find(config, start);
        if found.folders.are_settled() {
            file.write(&found.encode());
        }
        found
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Writer(Vec::new());
        out.number(now() as u64);
        out.list(&self.shown, |out, path| out.path(path));
        out.list(&self.denied, |out, path| out.path(path));
        out.list(&self.links, |out, (link, to)| {
            out.path(link);
            out.path(to);
        });
        out.list(&Vec::from_iter(&self.hidden), |out, (path, reason)| {
            out.path(path);
            match reason {
                HiddenReason::Root(root) => {
                    out.number(ROOT);
                    out.path(root);
                }
                HiddenReason::NeverRead(rule) => {
                    out.number(NEVER_READ);
                    out.text(rule.as_bytes());
                }
                reason => out.number(REASONS.iter().position(|known| known == *reason).unwrap_or(99) as u64),
            }
        });
        out.list(&self.variables, |out, (name, value)| {
            out.text(name.as_bytes());
            out.text(value.as_bytes());
        });
        self.folders.encode(&mut out);
        out.0
    }

    pub(super) fn decode(bytes: &[u8], config: &Config, start: &StartEnvironment) -> Option<Self> {
        let mut from = Reader(bytes);
        if !(0..MAX_AGE).contains(&now().saturating_sub(from.number()? as i64)) {
            return None;
        }
        let mut shown: Vec<PathBuf> = from.list(Reader::path)?;
        let mut denied: Vec<PathBuf> = from.list(Reader::path)?;
        let links = from.list(|from| Some((from.path()?, from.path()?)))?;
        let hidden: BTreeMap<PathBuf, HiddenReason> = from.list(|from| {
            let path = from.path()?;
            let reason = match from.number()? {
                ROOT => HiddenReason::Root(from.path()?),
                NEVER_READ => HiddenReason::NeverRead(String::from_utf8(from.text()?.to_vec()).ok()?),
                number => REASONS.get(usize::try_from(number).ok()?)?.clone(),
            };
            Some((path, reason))
        })?;
        let variables: Vec<(OsString, OsString)> =
            from.list(|from| Some((from.name()?, OsString::from_vec(from.text()?.to_vec()))))?;
        let folders = Folders::decode(&mut from)?;
        // A place that a rule names may exist only since then.
        let home = start.places.home.as_deref().and_then(|home| home.canonicalize().ok());
        let named: Vec<PathBuf> = named_places(config, home.as_deref());
        shown.retain(|path| !named.contains(path));
        let is_in = |path: &Path| path.ancestors().any(|above| shown.iter().any(|shown| shown == above));
        denied.extend(named);
        denied.retain(|path| is_in(path));
        denied.sort();
        denied.dedup();
        let (start, access) = (Some(start.clone()), config.main.sandbox.toolchains.clone());
        let found = Self { shown, denied, links, hidden, variables, folders, start, access };
        from.0.is_empty().then_some(found)
    }
}
