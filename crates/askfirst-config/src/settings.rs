//! The shape of the program: what a config means once it has been read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use askfirst::{Approval, Args, Because, Digest, Rules};
use askfirst_shell::{LayerValues, ShellRule};

/// Everything that is in force.
#[derive(Debug, Clone)]
pub struct Config {
    /// The layer that speaks: user and trusted project joined, or the file given by a flag.
    pub main: Settings,
    /// Layers that can only make it stricter: managed, and a project that is not trusted.
    pub floors: Vec<Settings>,
    /// The files it was made from.
    pub files: Vec<ConfigFile>,
    /// Older spellings and other things to say once.
    pub warnings: Vec<super::fault::Fault>,
    /// The digest of all of it.
    pub digest: Digest,
    /// The folder that a call without a folder of its own runs in.
    pub folder: PathBuf,
    /// What a floor would have granted but does not, with the reason.
    pub not_offered: Vec<String>,
}

/// How long a question waits where no config says it.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a decision is remembered where no config says it.
pub const DEFAULT_MEMORY_EXPIRE: Duration = Duration::from_secs(8 * 3_600);
/// How many lines are shown where no config says it.
pub const DEFAULT_PREVIEW_LINES: usize = 50;
/// At what size a ledger file ends where no config says it.
pub const DEFAULT_ROTATE: u64 = 64 << 20;

impl Config {
    /// The config of one layer, without files and floors.
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
        }
    }

    /// The floors that speak about commands, strictest of all wins. Their defaults count only where
    /// [`Settings::says`] so.
    pub fn shell_floors(&self) -> impl Iterator<Item = (&Settings, &ShellConfig)> {
        self.floors.iter().filter_map(|floor| Some((floor, floor.shell.as_ref()?)))
    }
}

/// One file of the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it counts as.
    pub layer: Layer,
    /// The digest of its bytes.
    pub digest: Digest,
}

impl Layer {
    /// The layer in words.
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

/// What a file counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The system's: a floor under everything.
    Managed,
    /// The user's own.
    User,
    /// A project's, trusted.
    Project,
    /// A project's, not trusted: it can only make things stricter.
    UntrustedProject,
    /// Given by a flag.
    Flag,
}

/// The settings of one layer.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// What a person's no does to the run.
    pub on_denial: OnDenial,
    /// How long a question waits; nothing means the default.
    pub approval_timeout: Option<Duration>,
    /// How long a decision is remembered.
    pub memory_expire: Option<Duration>,
    /// How many lines are shown before the rest scrolls.
    pub preview_lines: Option<usize>,
    /// The record.
    pub ledger: LedgerConfig,
    /// What counts as secret besides what is found by its shape.
    pub secrets: SecretsConfig,
    /// Roots and walls.
    pub sandbox: SandboxConfig,
    /// The shell tool; without it, the tool is not offered.
    pub shell: Option<ShellConfig>,
    /// Rules about tools by name.
    pub rules: Rules,
    /// Programs as tools.
    pub commands: BTreeMap<String, CommandTool>,
    /// If set, only these custom tools are offered.
    pub only_tools: Option<Vec<String>>,
    /// MCP servers.
    pub mcp: BTreeMap<String, McpServer>,
    /// Which plain keys (`shell.network`, not those under a name) are given, with what and where.
    pub origins: BTreeMap<String, Origin>,
}

impl Settings {
    /// Whether a plain key such as `shell.default.approval` is given, and not left to its default.
    #[must_use]
    pub fn says(&self, key: &str) -> bool {
        self.origins.contains_key(key)
    }

    /// Where the config gives a plain value, or that it is a default.
    fn because(&self, key: &'static str, value: Approval) -> Because {
        let given = self.origins.get(key).and_then(|origin| {
            let (file, line) = origin.from.rsplit_once(':')?;
            Some((file.to_owned(), line.parse().ok()?))
        });
        match given {
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

/// What is given for a key, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The value as it is written, on one line.
    pub value: String,
    /// File and line, or files and lines.
    pub from: String,
}

/// What a person's no does to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum OnDenial {
    /// The agent is told and goes on.
    #[default]
    Return,
    /// The run ends.
    Stop,
}

/// How the record is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerConfig {
    /// What is synced to the disk.
    pub sync: SyncRule,
    /// At what size a new file is begun.
    pub rotate: Option<u64>,
    /// Where, if not in the usual place.
    pub path: Option<PathBuf>,
}

/// What is synced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum SyncRule {
    /// What was asked or denied.
    #[default]
    Asked,
    /// Everything.
    Always,
}

/// What counts as secret.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretsConfig {
    /// Globs of argument names.
    pub args: Vec<String>,
    /// Globs of environment variables whose values are secret.
    pub env: Vec<String>,
}

/// Roots, what is never touched in them, and the walls.
#[derive(Debug, Clone, Default)]
pub struct SandboxConfig {
    /// The roots by name.
    pub paths: BTreeMap<String, PathConfig>,
    /// Never read, and so never written: gitignore rules.
    pub never_read: Vec<String>,
    /// Never written: gitignore rules.
    pub never_write: Vec<String>,
    /// Whether walls are demanded; nothing means that they are used where they hold.
    pub require_os_sandbox: Option<bool>,
    /// What happens where demanded walls do not hold.
    pub os_sandbox_fallback: Fallback,
    /// The weakest tier that counts as walls.
    pub os_sandbox_min: Tier,
    /// Takes away from what the roots grant.
    pub os_profile: Option<OSProfile>,
}

/// One root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathConfig {
    /// The folder, absolute.
    pub root: PathBuf,
    /// Whether it can be written.
    pub mode: PathMode,
    /// The suffixes of files that the file tools touch; none means all.
    pub suffixes: Vec<String>,
    /// The size of files that the file tools touch.
    pub max_file_bytes: Option<u64>,
    /// What is asked about.
    pub approval: PathApproval,
    /// Where it stands.
    pub origin: Because,
}

/// Whether a root can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PathMode {
    /// Read only.
    #[default]
    Ro,
    /// Read and write.
    Rw,
}

/// What is asked about in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathApproval {
    /// Reading.
    pub read: Approval,
    /// Everything that changes something.
    pub write: Approval,
    /// Handing a file to somebody else.
    pub attach: Approval,
}

impl Default for PathApproval {
    fn default() -> Self {
        Self { read: Approval::None, write: Approval::Required, attach: Approval::None }
    }
}

/// What happens where demanded walls do not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// Nothing starts.
    #[default]
    FailFast,
    /// Tools that start processes refuse.
    RefuseTools,
}

/// How much walls hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Tier {
    /// Landlock and seccomp alone.
    ContentOnly,
    /// Everything.
    #[default]
    Full,
}

/// What a process may touch; a key left out restricts nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OSProfile {
    /// Readable paths.
    pub read: Option<Vec<PathBuf>>,
    /// Writable paths.
    pub write: Option<Vec<PathBuf>>,
    /// Whether the network is there.
    pub network: Option<bool>,
}

/// The shell tool.
#[derive(Debug, Clone)]
pub struct ShellConfig {
    /// What no rule speaks for.
    pub default: Approval,
    /// Commands proven only to read readable roots.
    pub known_read_only: Approval,
    /// A path outside every root.
    pub outside_roots: Approval,
    /// Whether the network is there.
    pub network: bool,
    /// Limits of a process.
    pub limits: Limits,
    /// Environment variables that are passed on.
    pub env_pass: Vec<String>,
    /// The rules, in order.
    pub rules: Vec<ShellRule>,
    /// Regular expressions that force `required` even over a rule (an older spelling).
    pub dangerous_patterns: Vec<(String, Because)>,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self {
            default: Approval::Required,
            known_read_only: Approval::Required,
            outside_roots: Approval::Required,
            network: false,
            limits: Limits::default(),
            env_pass: ["PATH", "HOME", "LANG", "TERM", "CI"].map(str::to_owned).to_vec(),
            rules: Vec::new(),
            dangerous_patterns: Vec::new(),
        }
    }
}

/// Whether the defaults of a layer count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerRole {
    /// The layer that decides: its defaults count.
    Main,
    /// A layer that can only make things stricter: only the values in its file count.
    Floor,
}

impl ShellConfig {
    /// The values of a layer in the form that the shell analysis takes.
    #[must_use]
    pub fn layer(&self, settings: &Settings, role: LayerRole) -> LayerValues {
        // Without a value of its own, reading is never treated more strictly than commands that no rule covers.
        let given = settings.says("shell.known_read_only");
        let reading = if given { self.known_read_only } else { self.known_read_only.min(self.default) };
        let said =
            |key: &str, value: Approval| (role == LayerRole::Main || settings.says(key)).then_some(value);
        let values = [
            ("shell.default.approval", self.default),
            ("shell.known_read_only", reading),
            ("shell.outside_roots", self.outside_roots),
        ];
        LayerValues {
            default: said("shell.default.approval", self.default),
            known_read_only: said("shell.known_read_only", reading),
            outside_roots: said("shell.outside_roots", self.outside_roots),
            origins: values.map(|(key, value)| (key, settings.because(key, value))).into(),
            rules: self.rules.clone(),
            dangerous_patterns: self.dangerous_patterns.clone(),
        }
    }
}

/// Limits of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub wall: Duration,
    /// How much processor time it may use.
    pub cpu: Duration,
    /// Memory in bytes.
    pub memory: u64,
    /// Processes.
    pub processes: u64,
    /// The largest file in bytes.
    pub file: u64,
    /// How much of each output stream is kept, in bytes.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(600),
            cpu: Duration::from_secs(300),
            memory: 4 << 30,
            processes: 256,
            file: 256 << 20,
            output: 1 << 20,
        }
    }
}

/// A program as a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandTool {
    /// Its name.
    pub name: String,
    /// Program and arguments; `{name}` stands for an argument of the call.
    pub command: Vec<String>,
    /// What the model is told.
    pub description: String,
    /// The arguments.
    pub args: BTreeMap<String, ArgSpec>,
    /// The schemas as they are written, for the model.
    pub schema: Args,
    /// The folder of the file that it stands in.
    pub folder: PathBuf,
    /// Where it stands.
    pub origin: Because,
}

impl CommandTool {
    /// The JSON Schema of its arguments, for the model.
    #[must_use]
    pub fn input_schema(&self) -> serde_json::Value {
        let required = self.args.iter().filter(|(_, arg)| !arg.optional).map(|(name, _)| name.as_str());
        let required: Vec<&str> = required.collect();
        serde_json::json!({
            "type": "object",
            "properties": self.schema,
            "required": required,
            "additionalProperties": false,
        })
    }
}

/// One argument of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgSpec {
    /// Its type.
    pub kind: ArgKind,
    /// Whether it may be left out.
    pub optional: bool,
    /// The values that it may have; none means any.
    pub one_of: Vec<String>,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// A list of texts, which become one word each.
    Strings,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub upstream: Upstream,
    /// Environment variables that are passed on.
    pub env_pass: Vec<String>,
    /// Whether tools that are denied are left out of lists.
    pub hide_denied: bool,
    /// Who is asked.
    pub ask_by: Vec<AskBy>,
    /// Where it stands.
    pub origin: Because,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// By starting it.
    Command(Vec<String>),
    /// Over HTTP, with a token from a file.
    Url {
        /// The address.
        url: String,
        /// The file with the token.
        token_file: Option<PathBuf>,
    },
}

/// Who is asked about calls through the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskBy {
    /// The process's own terminal; if it has none, whoever runs `askfirst watch`.
    Terminal,
    /// Whoever runs `askfirst watch`.
    Watch,
    /// The client, by elicitation.
    Elicitation,
}
