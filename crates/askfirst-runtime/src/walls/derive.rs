//! What a process may reach under a config. Every path at which a layer says something is a point; at each point the
//! strictest of all layers holds, as it does for the file tools.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use askfirst::Approval;
use askfirst::ports::Access;
use askfirst_sandbox::{Denial, Denied, Grant, Limits, Network, OSProfile, SYSTEM_PATHS, User};

use super::error::WallsError;
use super::found::{Found, Sort};
use super::links::Links;
use super::protected::{Known, Protected};
use askfirst_config::{Config, PathConfig, PathMode, Settings, ShellConfig};

/// So many places are covered one by one; each takes time before every command.
const MOST_COVERS: usize = 16_384;

/// A profile, and what it was made from.
#[derive(Debug)]
pub struct Derived {
    /// What a process may reach.
    pub profile: OSProfile,
    /// The protected names that were there, and what led git somewhere.
    pub before: Known,
    /// The roots that it can write in.
    pub writable: Vec<PathBuf>,
    /// The places that it cannot: some lie in those.
    pub held: Vec<PathBuf>,
}

/// How much of a place is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Given {
    Nothing,
    Read,
    Write,
}

/// What a process gets that runs under a config: unasked only that whose approval is `none`, asked what the modes of
/// the roots say. `os_profile` only takes away.
///
/// # Errors
/// Fails if a root is not there, or something cannot be looked up: then nothing can be said.
pub fn derive_os_sandbox_profile(
    config: &Config,
    access: Access,
    protected: &Protected,
    links: &Links,
) -> Result<Derived, WallsError> {
    let layers = Layers::new(config)?;
    let roots: Vec<PathBuf> = config.main.sandbox.paths.values().map(|path| path.root.clone()).collect();
    let mut profile = OSProfile::nothing();
    let known = protected.search(&roots)?;
    let before = &known.found;
    let links = links.names(&known.linked)?;
    // From the outside in, so that what contains a point is known before it.
    let mut given: Vec<(PathBuf, Given)> = Vec::new();
    let mut by_roots: Vec<(PathBuf, Given)> = Vec::new();
    // A place that is closed inside of an open one stays closed with all that lies in it, whatever a profile takes away
    // around it.
    let mut closed: Vec<PathBuf> = Vec::new();
    for point in layers.points(&roots) {
        let of_roots = layers.given(&point, access);
        if of_roots == Given::Nothing && around(&by_roots, &point) > Given::Nothing {
            closed.push(point.clone());
        }
        by_roots.push((point.clone(), of_roots));
        let here = match closed.iter().any(|closed| point.starts_with(closed)) {
            true => Given::Nothing,
            false => layers.narrowed(&point, of_roots).min(left_by(before, &point)),
        };
        let around = around(&given, &point);
        let grant = || Grant::of(&point).map_err(|cause| WallsError::Root { path: point.clone(), cause });
        match here {
            _ if point.parent().is_none() => return Err(WallsError::Everything),
            Given::Nothing if around > Given::Nothing => {
                profile.denied.push(Denied { path: point.clone(), what: Denial::All });
            }
            Given::Nothing => {}
            Given::Read => profile.readable.push(grant()?),
            Given::Write => profile.writable.push(grant()?),
        }
        given.push((point, here));
    }
    let of = |path: &Path| around(&given, path);
    let is_covered = |path: &Path, found: &Found| match found.sort {
        Sort::Name | Sort::Aside | Sort::Closed => of(path) > Given::Nothing && !found.is_link(),
        Sort::Pipe => of(path) == Given::Read,
        Sort::Repository | Sort::Link => false,
    };
    for (path, found) in before.iter().filter(|(path, found)| is_covered(path, found)) {
        let covered = |above: &Path| {
            let denied = before.get(above).filter(|found| is_covered(above, found));
            denied.is_some_and(|above| above.what >= found.what)
        };
        if !path.ancestors().skip(1).any(covered) {
            profile.denied.push(Denied { path: path.clone(), what: found.what });
        }
    }
    let mut covers: BTreeMap<&Path, Denial> = BTreeMap::new();
    let covered = before.iter().filter(|(path, found)| is_covered(path, found));
    let covered = covered.map(|(path, found)| (path.as_path(), found.what));
    for (path, what) in
        covered.chain(profile.denied.iter().map(|denied| (denied.path.as_path(), denied.what)))
    {
        let cover = covers.entry(path).or_insert(what);
        *cover = what.max(*cover);
    }
    let cover = |path: &Path| path.ancestors().filter_map(|above| covers.get(above)).max().copied();
    // Every other name of what is covered, or lies in something that is.
    let mut others: Vec<Denied> = Vec::new();
    for names in links.of_one_file() {
        let Some(what) = names.iter().filter_map(|name| cover(name)).max() else { continue };
        let open = names.iter().filter(|name| of(name) > Given::Nothing && cover(name) < Some(what));
        others.extend(open.map(|path| Denied { path: path.clone(), what }));
    }
    let is_done = |path: &Path| cover(path).is_some() || others.iter().any(|other| other.path == path);
    let foreign = links.foreign(|path| of(path) == Given::Write, is_done)?;
    others.extend(foreign.into_iter().map(|path| Denied { path, what: Denial::Write }));
    profile.denied.append(&mut others);
    // What was closed while links were looked for stays so, or their other names would not be known.
    let closed = links.closed().filter(|path| of(path) > Given::Nothing && !before.contains_key(*path));
    profile.denied.extend(closed.map(|path| Denied { path: path.clone(), what: Denial::All }));
    if let Some(example) = profile.denied.get(MOST_COVERS) {
        let (count, example) = (profile.denied.len(), example.path.clone());
        return Err(WallsError::Covers { count, most: MOST_COVERS, example });
    }
    profile.network = layers.network();
    profile.environment = layers.environment();
    profile.limits = limits(config.main.shell.as_ref());
    profile.user = user(&given);
    private(&mut profile);
    let (writable, held): (Vec<_>, Vec<_>) = given.into_iter().partition(|(_, it)| *it == Given::Write);
    let paths = |points: Vec<(PathBuf, Given)>| points.into_iter().map(|(path, _)| path).collect();
    Ok(Derived { profile, before: known, writable: paths(writable), held: paths(held) })
}

/// What protected names around a point leave of it.
fn left_by(before: &BTreeMap<PathBuf, Found>, point: &Path) -> Given {
    let around = point.ancestors().filter_map(|above| before.get(above));
    let around = around.filter(|found| matches!(found.sort, Sort::Name | Sort::Aside | Sort::Closed));
    match around.map(|found| found.what).max() {
        None => Given::Write,
        Some(Denial::Write) => Given::Read,
        Some(Denial::All) => Given::Nothing,
    }
}

/// What is given at the innermost point around a path.
fn around(given: &[(PathBuf, Given)], path: &Path) -> Given {
    given.iter().rfind(|(point, _)| path.starts_with(point)).map_or(Given::Nothing, |(_, given)| *given)
}

/// All layers, with the paths of their `os_profile` as they lie.
struct Layers<'a> {
    main: &'a Settings,
    floors: &'a [Settings],
    profiles: Vec<Explicit>,
}

struct Explicit {
    read: Option<Vec<PathBuf>>,
    write: Option<Vec<PathBuf>>,
    network: Option<bool>,
}

impl<'a> Layers<'a> {
    fn new(config: &'a Config) -> Result<Self, WallsError> {
        let layers = std::iter::once(&config.main).chain(&config.floors);
        let profiles = layers.filter_map(|layer| layer.sandbox.os_profile.as_ref()).map(|profile| {
            Ok(Explicit {
                read: profile.read.as_deref().map(as_they_lie).transpose()?,
                write: profile.write.as_deref().map(as_they_lie).transpose()?,
                network: profile.network,
            })
        });
        Ok(Self { main: &config.main, floors: &config.floors, profiles: profiles.collect::<Result<_, _>>()? })
    }

    /// Every path at which something may change, the outer ones first.
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

    fn given(&self, point: &Path, access: Access) -> Given {
        let Some(own) = deepest(self.main, point) else { return Given::Nothing };
        let floors = self.floors.iter().filter_map(|floor| deepest(floor, point));
        let speaking: Vec<&PathConfig> = std::iter::once(own).chain(floors).collect();
        let free = |approval: Approval| match access {
            Access::Unasked => approval == Approval::None,
            Access::Standing => approval < Approval::Human,
            Access::Approved => approval != Approval::Deny,
        };
        let read = speaking.iter().all(|path| free(path.approval.read));
        let write = speaking.iter().all(|path| path.mode == PathMode::Rw && free(path.approval.write));
        match (read, write) {
            (false, _) => Given::Nothing,
            (true, false) => Given::Read,
            (true, true) => Given::Write,
        }
    }

    /// The same, less what the profiles take away.
    fn narrowed(&self, point: &Path, given: Given) -> Given {
        let within = |paths: &Option<Vec<PathBuf>>| {
            paths.as_ref().is_none_or(|paths| paths.iter().any(|path| point.starts_with(path)))
        };
        let read = self.profiles.iter().all(|profile| within(&profile.read));
        let write = self.profiles.iter().all(|profile| within(&profile.write));
        match (read, write) {
            (false, _) => Given::Nothing,
            (true, false) => given.min(Given::Read),
            (true, true) => given,
        }
    }

    fn network(&self) -> Network {
        let own = self.main.shell.as_ref().is_some_and(|shell| shell.network);
        let floors = self.floors.iter().filter(|floor| floor.says("shell.network"));
        let floors = floors.filter_map(|floor| floor.shell.as_ref()).all(|shell| shell.network);
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

/// Those paths of a profile that are there. They were followed when the config was read: one that leads elsewhere since
/// then, by a link that somebody made, grants nothing.
fn as_they_lie(paths: &[PathBuf]) -> Result<Vec<PathBuf>, WallsError> {
    let there = paths.iter().filter_map(|path| match path.canonicalize() {
        Ok(real) => (real == *path).then_some(Ok(real)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
        Err(cause) => Some(Err(WallsError::Profile { path: path.clone(), cause })),
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

/// Root becomes the owner of the roots, if they are one ordinary user's.
fn user(given: &[(PathBuf, Given)]) -> User {
    if !rustix::process::geteuid().is_root() {
        return User::Same;
    }
    let granted = given.iter().filter(|(_, given)| *given > Given::Nothing);
    let owner =
        |(path, _): &(PathBuf, Given)| path.symlink_metadata().ok().map(|found| (found.uid(), found.gid()));
    let owners: BTreeSet<Option<(u32, u32)>> = granted.map(owner).collect();
    match owners.into_iter().collect::<Vec<_>>().as_slice() {
        [Some((user @ 1.., group))] => User::Other { user: *user, group: *group },
        _ => User::Same,
    }
}

/// A home of its own, unless the real one is granted or belongs to the system.
fn private(profile: &mut OSProfile) {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else { return };
    let Ok(home) = home.canonicalize() else { return };
    let grants = profile.readable.iter().chain(&profile.writable).map(|grant| grant.path.clone());
    let taken = grants.chain(SYSTEM_PATHS.map(PathBuf::from)).any(|path| home.starts_with(&path));
    let inside = profile.private.iter().any(|path| home.starts_with(path));
    if !taken && !inside && home.parent().is_some() {
        profile.private.push(home);
    }
}
