//! Decides which paths a toolchain may not show, whatever leads to them.

use std::fmt;
use std::path::{Path, PathBuf};

use askfirst_config::{Config, Settings};
use askfirst_files::never::Never;
use askfirst_sandbox::SYSTEM_PATHS;
use askfirst_shell::Names;
use askfirst_shell::is_secret;

use crate::error::show;

/// Folders of the system that contain no toolchain.
const NO_TOOLCHAINS: [&str; 6] = ["/proc", "/sys", "/dev", "/run", "/etc", "/boot"];

/// Folders in a home folder that collect the files of many programs. A folder inside one may be shown.
const COLLECTIONS: [&str; 6] = [".local", ".local/share", ".local/state", ".local/lib", ".config", ".cache"];

/// Why the sandbox does not show a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HiddenReason {
    /// The `PATH` entry depends on the working folder.
    Relative,
    /// The links on the path lead in a circle, or through too many links.
    Circle,
    /// It is the home folder, or contains it.
    Home,
    /// It contains this root, or a link in this root is on the way to it.
    Root(PathBuf),
    /// A rule of `sandbox.never_read` covers it.
    NeverRead(String),
    /// It contains askfirst's own state or audit log.
    OwnFiles,
    /// It is a folder of the system or of the home folder with other content than programs.
    Collection,
    /// Its name is one of those under which secrets usually are.
    Secrets,
    /// Everyone can write in it.
    OpenToEveryone,
    /// It contains no program.
    NoProgram,
    /// It cannot be searched for names that stay hidden: it is too large, or it cannot be read.
    Unsearchable,
    /// There are too many folders to show.
    TooMany,
    /// The config names it, and it does not exist or has become a link.
    Gone,
    /// `sandbox.toolchains` does not include it.
    NotIncluded,
}

impl HiddenReason {
    /// Whether a config may show the path anyway, by naming it.
    #[must_use]
    pub fn can_be_named(&self) -> bool {
        match self {
            Self::Collection
            | Self::Secrets
            | Self::OpenToEveryone
            | Self::NoProgram
            | Self::Unsearchable
            | Self::TooMany => true,
            Self::Relative
            | Self::Circle
            | Self::Home
            | Self::Root(_)
            | Self::NeverRead(_)
            | Self::OwnFiles
            | Self::Gone
            | Self::NotIncluded => false,
        }
    }
}

impl fmt::Display for HiddenReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative => f.write_str("it is not an absolute path without `..`"),
            Self::Circle => f.write_str("its links lead in a circle"),
            Self::Home => f.write_str("it is your home folder, or contains it"),
            Self::Root(root) => write!(f, "the root `{}` is inside it or on the way to it", show(root)),
            Self::NeverRead(rule) => f.write_str(rule),
            Self::OwnFiles => f.write_str("it contains askfirst's own files"),
            Self::Collection => f.write_str("it contains more than programs"),
            Self::Secrets => f.write_str("its name says that it holds secrets"),
            Self::OpenToEveryone => f.write_str("everyone can write in it"),
            Self::NoProgram => f.write_str("it contains no program"),
            Self::Unsearchable => {
                f.write_str("it is too large to search for names that stay hidden, or unreadable")
            }
            Self::TooMany => f.write_str("too many folders are on `PATH`"),
            Self::Gone => f.write_str("it does not exist, or has become a link"),
            Self::NotIncluded => f.write_str("`sandbox.toolchains` does not include it"),
        }
    }
}

/// The paths that stay hidden under a config.
pub(super) struct Fence {
    pub(super) home: Option<PathBuf>,
    roots: Vec<PathBuf>,
    own: Vec<PathBuf>,
    never: Never,
    /// The existing parts, up to the first wildcard, of the `never_read` rules that name a place.
    pub(super) named: Vec<PathBuf>,
}

impl Fence {
    /// Combines all layers. `home` has no links. Without valid rules there is no fence, and nothing may be shown.
    pub(super) fn new(config: &Config, home: Option<PathBuf>, own: Vec<PathBuf>) -> Option<Self> {
        let layers = || std::iter::once(&config.main).chain(&config.floors);
        let rules = || layers().flat_map(|layer: &Settings| &layer.sandbox.never_read);
        let roots = layers().flat_map(|layer| layer.sandbox.paths.values()).map(|path| path.root.clone());
        let (roots, never) = (roots.collect(), Never::new(rules(), []).ok()?);
        let named = named_places(config, home.as_deref());
        Some(Self { home, roots, own, never, named })
    }

    /// The root that contains a path. The settings of that root decide about it.
    pub(super) fn root_around(&self, path: &Path) -> Option<&PathBuf> {
        self.roots.iter().find(|root| path.starts_with(root))
    }

    /// Why a path without links stays hidden even if a config names it.
    pub(super) fn forbids(&self, path: &Path) -> Option<HiddenReason> {
        if path.parent().is_none() || self.home.as_ref().is_some_and(|home| home.starts_with(path)) {
            return Some(HiddenReason::Home);
        }
        let meets = |other: &&PathBuf| other.starts_with(path) || path.starts_with(other);
        if let Some(root) = self.roots.iter().find(meets) {
            return Some(HiddenReason::Root(root.clone()));
        }
        if self.own.iter().any(|own| meets(&own)) {
            return Some(HiddenReason::OwnFiles);
        }
        self.never_reads(path).map(HiddenReason::NeverRead)
    }

    /// Why a path without links stays hidden unless a config names it.
    pub(super) fn refuses(&self, path: &Path) -> Option<HiddenReason> {
        self.forbids(path).or_else(|| {
            let in_home = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
            let is_collection = NO_TOOLCHAINS.iter().any(|system| path.starts_with(system))
                || is_on_windows_drive(path)
                || in_home.is_some_and(|path| COLLECTIONS.iter().any(|name| path == Path::new(name)));
            match is_collection {
                true => Some(HiddenReason::Collection),
                false => is_secret(path).then_some(HiddenReason::Secrets),
            }
        })
    }

    /// Why a name in a shown folder stays hidden.
    pub(super) fn hides(&self, path: &Path) -> bool {
        is_secret(path) || self.never_reads(path).is_some()
    }

    fn never_reads(&self, path: &Path) -> Option<String> {
        let whole = path.strip_prefix("/").unwrap_or(path);
        let in_home = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        self.never.read_by_rule(Names { whole, in_root: whole, in_home })
    }
}

/// Whether every process can read a path anyway.
pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM_PATHS.iter().any(|system| path.starts_with(system))
}

/// Whether a path is on a drive of Windows, as the Windows Subsystem for Linux shows it. Its programs need Windows.
fn is_on_windows_drive(path: &Path) -> bool {
    let drive = path.strip_prefix("/mnt").ok().and_then(|inside| inside.iter().next());
    drive.is_some_and(|drive| drive.len() == 1)
}

/// The existing parts, up to the first wildcard, of the `never_read` rules that name a place.
pub(super) fn named_places(config: &Config, home: Option<&Path>) -> Vec<PathBuf> {
    let layers = std::iter::once(&config.main).chain(&config.floors);
    let rules = layers.flat_map(|layer: &Settings| &layer.sandbox.never_read);
    rules.filter_map(|rule| named_place(rule, home)).collect()
}

/// The place that a rule names, up to the first wildcard.
fn named_place(rule: &str, home: Option<&Path>) -> Option<PathBuf> {
    let (base, rest) = match rule.strip_prefix("~/") {
        Some(rest) => (home?, rest),
        None => (Path::new("/"), rule.strip_prefix('/')?),
    };
    let is_plain = |part: &&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
    let place = base.join(rest.split('/').take_while(is_plain).collect::<PathBuf>());
    place.canonicalize().ok()
}
