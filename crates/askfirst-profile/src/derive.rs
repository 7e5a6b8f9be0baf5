//! Computes what a process may reach under a config.
//!
//! Every path for which a layer of the config has a setting is a point. At each point the strictest of all layers
//! applies, as it does for the file tools.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::Approval;
use askfirst::ports::Access;
use askfirst_config::{Config, PathConfig, PathMode, Settings, ShellConfig};
use askfirst_sandbox::{Denial, DeniedPath, Grant, Limits, Network, OSProfile, SYSTEM_PATHS, User};

use super::entry::{EntryKind, ProtectedEntry};
use super::error::SandboxError;
use super::hard_links::{HardLinks, LinkedFiles};
use super::protected::{ProtectedNames, Snapshot};

/// The maximum number of denied paths. Each takes time before every command.
const MAX_DENIED: usize = 16_384;

/// A profile, and the state of the roots that it was derived from.
#[derive(Debug)]
pub struct DerivedProfile {
    /// The access of the process.
    pub profile: OSProfile,
    /// The protected names and git pointers that existed.
    pub before: Snapshot,
    /// The points that the process may write.
    pub writable: Vec<PathBuf>,
    /// The points that it may not write. Some are inside writable ones.
    pub read_only: Vec<PathBuf>,
}

/// The access that is granted at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GrantLevel {
    None,
    Read,
    Write,
}

/// Derives the profile of a process that runs under a config.
///
/// A process that runs without asking gets only the access whose approval is `none`. A process that was approved gets the
/// access that the modes of the roots allow. `os_profile` only removes access.
///
/// # Errors
///
/// Fails if a root does not exist, or if a path cannot be looked up.
pub fn derive_os_sandbox_profile(
    config: &Config,
    access: Access,
    protected: &ProtectedNames,
    links: &HardLinks,
) -> Result<DerivedProfile, SandboxError> {
    let layers = Layers::new(config)?;
    let roots: Vec<PathBuf> = config.main.sandbox.paths.values().map(|path| path.root.clone()).collect();
    let mut profile = OSProfile::nothing();
    let (known, links) = search_both(protected, links, &roots)?;
    let before = &known.found;
    // Outer points come first, so that each point is decided before the points inside it.
    let mut given: Vec<(PathBuf, GrantLevel)> = Vec::new();
    let mut by_roots: Vec<(PathBuf, GrantLevel)> = Vec::new();
    // A closed point inside an open one stays closed with everything in it, even if a profile removes access around it.
    let mut closed: Vec<PathBuf> = Vec::new();
    for point in layers.points(&roots) {
        let of_roots = layers.granted_by_roots(&point, access);
        if of_roots == GrantLevel::None && around(&by_roots, &point) > GrantLevel::None {
            closed.push(point.clone());
        }
        by_roots.push((point.clone(), of_roots));
        let here = match closed.iter().any(|closed| point.starts_with(closed)) {
            true => GrantLevel::None,
            false => layers.narrow(&point, of_roots).min(remaining_access(before, &point)),
        };
        let around = around(&given, &point);
        let grant = || Grant::of(&point).map_err(|cause| SandboxError::Root { path: point.clone(), cause });
        match here {
            _ if point.parent().is_none() => return Err(SandboxError::WholeSystem),
            GrantLevel::None if around > GrantLevel::None => {
                profile.denied.push(DeniedPath { path: point.clone(), what: Denial::All });
            }
            GrantLevel::None => {}
            GrantLevel::Read => profile.readable.push(grant()?),
            GrantLevel::Write => profile.writable.push(grant()?),
        }
        given.push((point, here));
    }
    let of = |path: &Path| around(&given, path);
    let is_covered = |path: &Path, found: &ProtectedEntry| match found.kind {
        EntryKind::Name | EntryKind::Quarantined | EntryKind::Closed => {
            of(path) > GrantLevel::None && !found.is_link()
        }
        EntryKind::Pipe => of(path) == GrantLevel::Read,
        EntryKind::Repository | EntryKind::Link => false,
    };
    for (path, found) in before.iter().filter(|(path, found)| is_covered(path, found)) {
        let covered = |above: &Path| {
            let denied = before.get(above).filter(|found| is_covered(above, found));
            denied.is_some_and(|above| above.denial >= found.denial)
        };
        if !path.ancestors().skip(1).any(covered) {
            profile.denied.push(DeniedPath { path: path.clone(), what: found.denial });
        }
    }
    let mut covers: BTreeMap<&Path, Denial> = BTreeMap::new();
    let covered = before.iter().filter(|(path, found)| is_covered(path, found));
    let covered = covered.map(|(path, found)| (path.as_path(), found.denial));
    for (path, what) in
        covered.chain(profile.denied.iter().map(|denied| (denied.path.as_path(), denied.what)))
    {
        let cover = covers.entry(path).or_insert(what);
        *cover = what.max(*cover);
    }
    let cover = |path: &Path| path.ancestors().filter_map(|above| covers.get(above)).max().copied();
    // Deny every other hard link of a denied file, and of each file inside a denied folder.
    let mut others: Vec<DeniedPath> = Vec::new();
    for names in links.of_one_file() {
        let Some(what) = names.iter().filter_map(|name| cover(name)).max() else { continue };
        let open = names.iter().filter(|name| of(name) > GrantLevel::None && cover(name) < Some(what));
        others.extend(open.map(|path| DeniedPath { path: path.clone(), what }));
    }
    let is_done = |path: &Path| cover(path).is_some() || others.iter().any(|other| other.path == path);
    let foreign = links.foreign(|path| of(path) == GrantLevel::Write, is_done)?;
    others.extend(foreign.into_iter().map(|path| DeniedPath { path, what: Denial::Write }));
    profile.denied.append(&mut others);
    // Deny folders that could not be searched for hard links, since they may contain other names of denied files.
    let closed = links.closed().filter(|path| of(path) > GrantLevel::None && !before.contains_key(*path));
    profile.denied.extend(closed.map(|path| DeniedPath { path: path.clone(), what: Denial::All }));
    if let Some(example) = profile.denied.get(MAX_DENIED) {
        let (count, example) = (profile.denied.len(), example.path.clone());
        return Err(SandboxError::TooManyProtected { count, most: MAX_DENIED, example });
    }
    profile.network = layers.network();
    profile.environment = layers.environment();
    profile.limits = limits(config.main.shell.as_ref());
    profile.user = choose_user(&given);
    add_private_home(&mut profile);
    let (writable, read_only): (Vec<_>, Vec<_>) =
        given.into_iter().partition(|(_, it)| *it == GrantLevel::Write);
    let paths = |points: Vec<(PathBuf, GrantLevel)>| points.into_iter().map(|(path, _)| path).collect();
    Ok(DerivedProfile { profile, before: known, writable: paths(writable), read_only: paths(read_only) })
}

/// Searches for protected names and for hard links. In large roots, a second thread looks for the links meanwhile.
fn search_both(
    protected: &ProtectedNames,
    links: &HardLinks,
    roots: &[PathBuf],
) -> Result<(Snapshot, Arc<LinkedFiles>), SandboxError> {
    let known = std::thread::scope(|scope| {
        if links.is_worth_a_thread() {
            // Without the thread, the next step searches. That step also reports its error.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || drop(links.names(&[])));
        }
        protected.search(roots)
    })?;
    let links = links.names(&known.linked)?;
    Ok((known, links))
}

/// The access that the protected names around a point leave.
fn remaining_access(before: &BTreeMap<PathBuf, ProtectedEntry>, point: &Path) -> GrantLevel {
    let around = point.ancestors().filter_map(|above| before.get(above));
    let around = around
        .filter(|found| matches!(found.kind, EntryKind::Name | EntryKind::Quarantined | EntryKind::Closed));
    match around.map(|found| found.denial).max() {
        None => GrantLevel::Write,
        Some(Denial::Write) => GrantLevel::Read,
        Some(Denial::All) => GrantLevel::None,
    }
}

/// The access at the innermost point around a path.
fn around(given: &[(PathBuf, GrantLevel)], path: &Path) -> GrantLevel {
    given.iter().rfind(|(point, _)| path.starts_with(point)).map_or(GrantLevel::None, |(_, given)| *given)
}

/// All layers of the config, with the resolved paths of their `os_profile`.
struct Layers<'a> {
    main: &'a Settings,
    floors: &'a [Settings],
    profiles: Vec<ExplicitProfile>,
}

/// The `os_profile` of one layer.
struct ExplicitProfile {
    read: Option<Vec<PathBuf>>,
    write: Option<Vec<PathBuf>>,
    network: Option<bool>,
}

impl<'a> Layers<'a> {
    fn new(config: &'a Config) -> Result<Self, SandboxError> {
        let layers = std::iter::once(&config.main).chain(&config.floors);
        let profiles = layers.filter_map(|layer| layer.sandbox.os_profile.as_ref()).map(|profile| {
            Ok(ExplicitProfile {
                read: profile.read.as_deref().map(resolved_paths).transpose()?,
                write: profile.write.as_deref().map(resolved_paths).transpose()?,
                network: profile.network,
            })
        });
        Ok(Self { main: &config.main, floors: &config.floors, profiles: profiles.collect::<Result<_, _>>()? })
    }

    /// Returns every path where the access may change, outer paths first.
    fn points(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let floors = self.floors.iter().flat_map(|floor| floor.sandbox.paths.values()).map(|path| &path.root);
        let explicit =
            self.profiles.iter().flat_map(|profile| [&profile.read, &profile.write]).flatten().flatten();
        let inside = |path: &&PathBuf| roots.iter().any(|root| path.starts_with(root));
        let there = |path: &&PathBuf| std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink());
        let more = floors.chain(explicit).filter(inside).filter(there);
        let points: BTreeSet<(usize, &PathBuf)> =
            roots.iter().chain(more).map(|path| (path.components().count(), path)).collect();
        points.into_iter().map(|(_, path)| path.clone()).collect()
    }

    /// The access that the roots of all layers grant at a point.
    fn granted_by_roots(&self, point: &Path, access: Access) -> GrantLevel {
        let Some(own) = deepest(self.main, point) else { return GrantLevel::None };
        let floors = self.floors.iter().filter_map(|floor| deepest(floor, point));
        let speaking: Vec<&PathConfig> = std::iter::once(own).chain(floors).collect();
        let free = |approval: Approval| match access {
            Access::WithoutAsking | Access::Rehearsal => approval == Approval::None,
            Access::Standing | Access::Remembered => approval < Approval::Human,
            Access::Approved => approval != Approval::Deny,
        };
        let read = speaking.iter().all(|path| free(path.approval.read));
        // On a view, a write changes nothing yet. The effects are decided about later.
        let write_is_free = |approval: Approval| match access {
            Access::Rehearsal => approval != Approval::Deny,
            Access::WithoutAsking | Access::Standing | Access::Remembered | Access::Approved => {
                free(approval)
            }
        };
        let write =
            speaking.iter().all(|path| path.mode == PathMode::Rw && write_is_free(path.approval.write));
        match (read, write) {
            (false, _) => GrantLevel::None,
            (true, false) => GrantLevel::Read,
            (true, true) => GrantLevel::Write,
        }
    }

    /// The access that remains after every `os_profile` has removed its part.
    fn narrow(&self, point: &Path, given: GrantLevel) -> GrantLevel {
        let within = |paths: &Option<Vec<PathBuf>>| {
            paths.as_ref().is_none_or(|paths| paths.iter().any(|path| point.starts_with(path)))
        };
        let read = self.profiles.iter().all(|profile| within(&profile.read));
        let write = self.profiles.iter().all(|profile| within(&profile.write));
        match (read, write) {
            (false, _) => GrantLevel::None,
            (true, false) => given.min(GrantLevel::Read),
            (true, true) => given,
        }
    }

    fn network(&self) -> Network {
        let own = self.main.shell.as_ref().is_some_and(|shell| shell.network.is_free());
        let floors = self.floors.iter().filter(|floor| floor.says("shell.network"));
        let floors = floors.filter_map(|floor| floor.shell.as_ref()).all(|shell| shell.network.is_free());
        let explicit = self.profiles.iter().all(|profile| profile.network != Some(false));
        if own && floors && explicit { Network::Shared } else { Network::Own }
    }

    fn environment(&self) -> Vec<OsString> {
        let passed = self.main.shell.clone().unwrap_or_default().env_pass;
        let floors = self.floors.iter().filter(|floor| floor.says("shell.env.pass"));
        let floors: Vec<&ShellConfig> = floors.filter_map(|floor| floor.shell.as_ref()).collect();
        let passed =
            passed.into_iter().filter(|name| floors.iter().all(|floor| floor.env_pass.contains(name)));
        passed.map(OsString::from).collect()
    }
}

fn deepest<'a>(layer: &'a Settings, point: &Path) -> Option<&'a PathConfig> {
    let around = layer.sandbox.paths.values().filter(|path| point.starts_with(&path.root));
    around.max_by_key(|path| path.root.components().count())
}

/// Returns the paths of a profile that exist and are not links.
///
/// The config reader already resolved them. If one resolves differently now, someone has replaced it with a link, and it
/// grants nothing.
fn resolved_paths(paths: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
    let there = paths.iter().filter_map(|path| match path.canonicalize() {
        Ok(real) => (real == *path).then_some(Ok(real)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
        Err(cause) => Some(Err(SandboxError::Profile { path: path.clone(), cause })),
    });
    there.collect()
}

fn limits(shell: Option<&ShellConfig>) -> Limits {
    let limits = shell.map(|shell| shell.limits.clone()).unwrap_or_default();
    Limits {
        wall: Some(limits.wall),
        cpu: Some(limits.cpu),
        memory: Some(limits.memory),
        processes: Some(limits.processes),
        file: Some(limits.file),
        output: usize::try_from(limits.output).unwrap_or(usize::MAX),
    }
}

/// Returns the owner of the roots if this process is root and one ordinary user owns them all.
fn choose_user(given: &[(PathBuf, GrantLevel)]) -> User {
    if !rustix::process::geteuid().is_root() {
        return User::Same;
    }
    let granted = given.iter().filter(|(_, given)| *given > GrantLevel::None);
    let owner = |(path, _): &(PathBuf, GrantLevel)| {
        path.symlink_metadata().ok().map(|found| (found.uid(), found.gid()))
    };
    let owners: BTreeSet<Option<(u32, u32)>> = granted.map(owner).collect();
    match owners.into_iter().collect::<Vec<_>>().as_slice() {
        [Some((user @ 1.., group))] => User::Other { user: *user, group: *group },
        _ => User::Same,
    }
}

/// Adds a private home folder, unless the real one is granted or belongs to the system.
fn add_private_home(profile: &mut OSProfile) {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else { return };
    let Ok(home) = home.canonicalize() else { return };
    let grants = profile.readable.iter().chain(&profile.writable).map(|grant| grant.path.clone());
    let taken = grants.chain(SYSTEM_PATHS.map(PathBuf::from)).any(|path| home.starts_with(&path));
    let inside = profile.private.iter().any(|path| home.starts_with(path));
    if !taken && !inside && home.parent().is_some() {
        profile.private.push(home);
    }
}
