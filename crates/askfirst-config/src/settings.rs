//! The settings that a config file defines, after it has been read and checked.

mod caches;
mod shell;
mod tools;
mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use askfirst::{Approval, Because, Digest, Rules};
use serde::{Deserialize, Serialize};

pub use askfirst_shell::NetworkAccess;
pub use caches::DEFAULT_CACHES;
pub(crate) use caches::{default_caches, holds_tokens};
pub use shell::{LayerRole, Limits, ShellConfig};
pub use tools::{ArgKind, ArgSpec, AskBy, CommandTool, McpServer, Upstream};
pub use undo::{UndoConfig, UndoDeletes};

/// The merged config of all layers.
#[derive(Debug, Clone)]
pub struct Config {
    /// The settings that decide: the user's and the trusted project's, or those of the `--config` file.
    pub main: Settings,
    /// The layers that can only make things stricter: managed, and an untrusted project.
    pub floors: Vec<Settings>,
    /// The config files.
    pub files: Vec<ConfigFile>,
    /// Warnings, such as those about older spellings.
    pub warnings: Vec<super::fault::Fault>,
    /// The digest of all config files and their layers.
    pub digest: Digest,
    /// The working directory of a call that has no `cwd`.
    pub folder: PathBuf,
    /// Definitions of the floors that they may not grant, such as a root. Each line gives the reason.
    pub not_offered: Vec<String>,
    /// The parts that the project's config would offer if the user trusted it.
    pub untrusted: UntrustedOffer,
}

/// The names that an untrusted project config defines and does not offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UntrustedOffer {
    /// The tools.
    pub tools: BTreeSet<String>,
    /// The MCP servers.
    pub servers: BTreeSet<String>,
}

/// How long a request waits for an answer, unless the config sets `approval_timeout`.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a decision is remembered, unless the config sets `memory.expire`.
pub const DEFAULT_MEMORY_EXPIRE: Duration = Duration::from_secs(8 * 3_600);
/// How many lines a prompt shows at first, unless the config sets `prompt.preview_lines`.
pub const DEFAULT_PREVIEW_LINES: usize = 50;
/// The size in bytes at which the audit log starts a new file, unless the config sets `ledger.rotate`.
pub const DEFAULT_ROTATE: u64 = 64 << 20;

impl Config {
    /// Creates a config from the settings of one layer, without files and floors.
    #[must_use]
    pub fn alone(main: Settings, folder: impl Into<PathBuf>) -> Self {
        Self {
            main,
            floors: Vec::new(),
            files: Vec::new(),
            warnings: Vec::new(),
            digest: Digest::of_parts([]),
            folder: folder.into(),
            not_offered: Vec::new(),
            untrusted: UntrustedOffer::default(),
        }
    }

    /// Returns the floors that have a `shell` section. The strictest floor wins.
    ///
    /// A floor's value counts only if [`Settings::is_set`] returns true for its key.
    pub fn shell_floors(&self) -> impl Iterator<Item = (&Settings, &ShellConfig)> {
        self.floors.iter().filter_map(|floor| Some((floor, floor.shell.as_ref()?)))
    }
}

/// One config file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The role of the file.
    pub layer: Layer,
    /// The digest of its content.
    pub digest: Digest,
}

impl Layer {
    /// Describes the layer for a person.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::UntrustedProject => "project, not trusted: it can only make things stricter",
            Self::Flag => "flag",
        }
    }
}

/// The role of a config file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The config of the machine's administrator. It can only make things stricter.
    Managed,
    /// The user's config.
    User,
    /// The config of a project that the user trusts.
    Project,
    /// The config of a project that the user does not trust. It can only make things stricter.
    UntrustedProject,
    /// The file that `--config` names.
    Flag,
}

/// The settings of one layer.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The effect of a refusal by a person on the run.
    pub on_denial: OnDenial,
    /// How long a request waits for an answer, or `None` for the default.
    pub approval_timeout: Option<Duration>,
    /// How long a decision is remembered, or `None` for the default.
    pub memory_expire: Option<Duration>,
    /// How many lines a prompt shows at first, or `None` for the default.
    pub preview_lines: Option<usize>,
    /// How a prompt calls a person who looks at another window.
    pub notify: Notify,
    /// The audit log.
    pub ledger: LedgerConfig,
    /// How much askfirst keeps to undo committed changes.
    pub undo: UndoConfig,
    /// Which values are secret, in addition to those that askfirst detects by their shape.
    pub secrets: SecretsConfig,
    /// The roots and the OS sandbox.
    pub sandbox: SandboxConfig,
    /// The shell tool. Without this section the tool is not offered.
    pub shell: Option<ShellConfig>,
    /// The rules for tools, by tool name.
    pub rules: Rules,
    /// The tools that run a program, by tool name.
    pub commands: BTreeMap<String, CommandTool>,
    /// If set, the only custom tools that are offered.
    pub only_tools: Option<Vec<String>>,
    /// The MCP servers, by name.
    pub mcp: BTreeMap<String, McpServer>,
    /// Unknown keys of tools in a config that a program passed. They are errors unless an override uses them.
    pub override_keys: Vec<super::fault::Fault>,
    /// The keys that the config sets, with value and origin. Contains no keys below a user-defined name.
    pub origins: BTreeMap<String, Origin>,
}

impl Settings {
    /// Returns true if the config sets a key such as `shell.default.approval` instead of leaving it out.
    #[must_use]
    pub fn is_set(&self, key: &str) -> bool {
        self.origins.contains_key(key)
    }

    /// Calls [`Settings::is_set`]; kept for callers that use the earlier name.
    #[must_use]
    pub fn says(&self, key: &str) -> bool {
        self.is_set(key)
    }

    /// Returns the origin of a value: a line of a config file, or the default.
    fn because(&self, key: &'static str, value: Approval) -> Because {
        let line = self.origins.get(key).and_then(|origin| {
            let (file, line) = origin.from.rsplit_once(':')?;
            Some((file.to_owned(), line.parse().ok()?))
        });
        match line {
            Some((file, line)) => Because {
                rule: key.into(),
                file: Some(file.into()),
                line: Some(line),
                text: value.as_str().into(),
            },
            None => Because::built_in(key, value.as_str()),
        }
    }
}

/// The value of a key and the line that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The value as the config writes it, on one line.
    pub value: String,
    /// `FILE:LINE`. For a merged list, the lines of all files, separated by commas.
    pub from: String,
}

/// The effect of a refusal by a person on the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum OnDenial {
    /// The agent gets the refusal and continues.
    #[default]
    Return,
    /// The run ends.
    Stop,
}

/// The settings of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerConfig {
    /// Whether the config has a section `ledger`. A library session then keeps an audit log.
    pub is_set: bool,
    /// Which entries are synced to disk.
    pub sync: SyncRule,
    /// The size in bytes at which a new file starts, or `None` for the default.
    pub rotate: Option<u64>,
    /// The path of the log, or `None` for the default path.
    pub path: Option<PathBuf>,
}

/// Which entries of the audit log are synced to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum SyncRule {
    /// Entries about calls that needed approval or were denied.
    #[default]
    Asked,
    /// All entries.
    Always,
}

/// How a prompt calls a person who looks at another window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    /// By the bell and by a notification of the terminal.
    #[default]
    Auto,
    /// By the bell.
    Bell,
    /// Not at all.
    Off,
}

impl Notify {
    /// Returns the word in the config.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bell => "bell",
            Self::Off => "off",
        }
    }
}

/// Which values are secret.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretsConfig {
    /// Globs for the names of arguments with secret values.
    pub args: Vec<String>,
    /// Globs for the names of environment variables with secret values.
    pub env: Vec<String>,
}

/// The roots, the paths in them that are never read or written, and the OS sandbox.
#[derive(Debug, Clone, Default)]
pub struct SandboxConfig {
    /// The roots by name.
    pub paths: BTreeMap<String, PathConfig>,
    /// Gitignore rules for paths that are never read and never written.
    pub never_read: Vec<String>,
    /// Gitignore rules for paths that are never written.
    pub never_write: Vec<String>,
    /// Whether the OS sandbox is required. `None` means that it is used where it works.
    pub require_os_sandbox: Option<bool>,
    /// The behavior if the OS sandbox is required but does not work.
    pub os_sandbox_fallback: Fallback,
    /// The weakest accepted tier of the OS sandbox.
    pub os_sandbox_min: Tier,
    /// Files that processes may read besides the roots and the system's folders.
    pub toolchains: ToolchainAccess,
    /// Package caches that processes may read, with a throw-away layer over them. They need not exist.
    /// Use [`SandboxConfig::cache_folders`] to get those that askfirst may show.
    pub caches: Vec<PathBuf>,
    /// Removes access that the roots grant to processes.
    pub os_profile: Option<OSProfile>,
}

impl SandboxConfig {
    /// Returns the root that governs a path: the deepest root that contains it.
    #[must_use]
    pub fn governing_root(&self, path: &Path) -> Option<&PathConfig> {
        let around = self.paths.values().filter(|root| path.starts_with(&root.root));
        around.max_by_key(|root| root.root.components().count())
    }
}

/// Files that processes may read besides the roots and the system's folders. Without `auto` and paths, there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolchainAccess {
    /// Whether they may read what the programs on `PATH` need to start.
    pub auto: bool,
    /// More files and folders that they may read.
    pub paths: Vec<PathBuf>,
}

impl ToolchainAccess {
    /// Access to nothing.
    pub const OFF: Self = Self { auto: false, paths: Vec::new() };
}

impl Default for ToolchainAccess {
    fn default() -> Self {
        Self { auto: true, paths: Vec::new() }
    }
}

/// The settings of one root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathConfig {
    /// The absolute path of the folder.
    pub root: PathBuf,
    /// Whether tools may write in the folder.
    pub mode: PathMode,
    /// The file suffixes that the file tools accept. An empty list accepts all.
    pub suffixes: Vec<String>,
    /// The size in bytes of the largest file that the file tools accept.
    pub max_file_bytes: Option<u64>,
    /// Folders of build output, relative to the root. Commands write them directly, and undo does not cover them.
    ///
    /// A name in one of these paths may be a link that the agent created, so open them without following links.
    pub products: Vec<PathBuf>,
    /// The approval values of the root.
    pub approval: PathApproval,
    /// The line of the config that defines the root.
    pub origin: Because,
}

/// Whether tools may write in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PathMode {
    /// Read only.
    #[default]
    Ro,
    /// Read and write.
    Rw,
}

/// The approval values of a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathApproval {
    /// The approval for reading a file.
    pub read: Approval,
    /// The approval for every operation that changes something.
    pub write: Approval,
    /// The approval for passing a file to another worker or model.
    pub attach: Approval,
}

impl Default for PathApproval {
    fn default() -> Self {
        Self { read: Approval::None, write: Approval::Required, attach: Approval::None }
    }
}

/// The behavior if the OS sandbox is required but does not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// askfirst does not start.
    #[default]
    FailFast,
    /// askfirst starts, and refuses calls to tools that start processes.
    RefuseTools,
}

/// How much the OS sandbox enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Tier {
    /// Landlock and seccomp only.
    ContentOnly,
    /// All mechanisms.
    #[default]
    Full,
}

/// The only access that processes may have. A key that is `None` restricts nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OSProfile {
    /// The only paths that processes may read.
    pub read: Option<Vec<PathBuf>>,
    /// The only paths that processes may write.
    pub write: Option<Vec<PathBuf>>,
    /// Whether processes may use the network.
    pub network: Option<bool>,
}
