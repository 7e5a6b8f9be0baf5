//! The table of all config keys: type, default and description of each.
//!
//! The checker of config files and the JSON Schema are both built from this table.

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// A map with the keys below this one in the table.
    Section,
    /// A map with names that the user chooses. The entry `….*` describes the values.
    NameMap,
    /// A list of sections. The entry `…[]` describes them.
    SectionList,
    /// One section, or a list of sections with the same keys.
    Cases,
    /// The version number of the format.
    Version,
    /// An approval value except `rehearse`.
    Approval,
    /// An approval value for commands.
    CommandApproval,
    /// An approval value or null. Only the tools in [`REHEARSING_TOOLS`] may have `rehearse`.
    OptionalApproval,
    /// Whether commands may use the network: a word of `NetworkAccess`, `true` or `false`.
    Network,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// `true` or `false`.
    Bool,
    /// A whole number greater than 0.
    Count,
    /// A duration such as `10m`.
    Duration,
    /// A size in bytes such as `64MiB`.
    Size,
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// The path of a file or folder.
    Path,
    /// A list of paths.
    Paths,
    /// `auto`, `off`, or a list of paths and `auto`.
    Toolchains,
    /// A list of globs.
    Globs,
    /// A list of gitignore rules.
    PathRules,
    /// A list of environment variable names.
    EnvNames,
    /// Conditions on arguments.
    When,
    /// A list of texts, numbers and booleans.
    Scalars,
    /// A map with any content.
    Anything,
}

/// One key of the config.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    /// The path of the key. `*` is any name, and `[]` is any item of a list.
    pub(crate) path: &'static str,
    pub(crate) kind: ValueKind,
    /// The default value, or an empty text if there is none.
    pub(crate) default: &'static str,
    /// The description, which the JSON Schema shows to the user.
    pub(crate) doc: &'static str,
}

const fn key(path: &'static str, kind: ValueKind, default: &'static str, doc: &'static str) -> Key {
    Key { path, kind, default, doc }
}

use ValueKind::{
    Anything, Approval, Bool, Cases, CommandApproval, Count, Duration, EnvNames, Globs, NameMap, Network,
    OptionalApproval, Path, PathRules, Paths, Scalars, Section, SectionList, Size, Text, Texts, Toolchains,
    Version, When, Word, Words,
};

/// The risk values.
pub(crate) const RISKS: &[&str] = &["low", "high", "irreversible"];
/// The types of a tool's arguments.
pub(crate) const ARG_TYPES: &[&str] = &["string", "integer", "number", "boolean", "array"];

/// The approval values of everything that is not a command.
pub(crate) const WITHOUT_REHEARSAL: [askfirst::Approval; 5] = {
    use askfirst::Approval::{Deny, Human, None, OncePerSession, Required};
    [None, OncePerSession, Required, Human, Deny]
};

/// The tools that can run a call on a view. An entry with the exact name may have `approval: rehearse`.
pub(crate) const REHEARSING_TOOLS: [&str; 2] = ["shell", "exec"];

/// The words that `sandbox.toolchains` may be.
pub(crate) const TOOLCHAIN_WORDS: &[&str] = &["auto", "off"];

/// All keys. Each key follows the section that contains it.
#[rustfmt::skip]
pub(crate) const KEYS: &[Key] = &[
    key("", Section, "", "The policy for an agent's tools: which calls may run, and which need a person's approval."),
    key("version", Version, "", "The version of this format: `1`."),
    key("default_approval", Approval, "required", "The approval for calls that neither the config nor the tool covers."),
    key("on_denial", Word(&["return", "stop"]), "return", "The effect of a person's refusal: `return` it to the agent, or `stop` the run."),
    key("approval_timeout", Duration, "10m", "How long a request waits for an answer before the call is refused."),
    key("memory", Section, "", "The decisions that a session remembers."),
    key("memory.expire", Duration, "8h", "How long a decision is remembered."),
    key("prompt", Section, "", "The prompt on a terminal."),
    key("prompt.preview_lines", Count, "50", "How many lines the prompt shows at first. The rest scrolls."),
    key("prompt.notify", Word(&["auto", "bell", "off"]), "auto", "How the prompt calls you when its terminal is not focused: by bell and notification (`auto`), by `bell`, or not at all (`off`)."),
    key("undo", Section, "", "Undoing what commands and tools changed."),
    key("undo.keep", Count, "50", "How many changes can be undone."),
    key("undo.days", Count, "7", "For how many days content is kept that git cannot restore."),
    key("undo.size", Size, "1GiB", "How much replaced content is kept. When it is full, a change that could not be undone needs approval."),
    key("undo.deletes", Word(&["commit", "ask"]), "commit", "Whether a deletion that undo can restore is an ordinary change (`commit`) or needs approval (`ask`)."),
    key("ledger", Section, "", "The audit log of requested, decided and executed calls."),
    key("ledger.sync", Word(&["asked", "always"]), "asked", "Which entries are synced to disk: those of calls that needed approval or were denied (`asked`), or all (`always`)."),
    key("ledger.rotate", Size, "64MiB", "The size at which the audit log starts a new file."),
    key("ledger.path", Path, "", "The path of the audit log, if not the default path."),
    key("secrets", Section, "", "Secret values, in addition to those that askfirst detects by their shape."),
    key("secrets.args", Globs, "[]", "Globs for the names of arguments with secret values."),
    key("secrets.env", Globs, "[]", "Globs for the names of environment variables with secret values."),
    key("sandbox", Section, "", "The folders that tools may use, and the OS sandbox around processes."),
    key("sandbox.paths", NameMap, "", "The roots by name. The deepest root that contains a path governs it."),
    key("sandbox.paths.*", Section, "", "One root."),
    key("sandbox.paths.*.root", Path, "", "The path of the folder, relative to this file."),
    key("sandbox.paths.*.mode", Word(&["ro", "rw"]), "ro", "Whether tools may only read in the folder (`ro`) or also write (`rw`)."),
    key("sandbox.paths.*.suffixes", Texts, "", "The file suffixes that the file tools accept. If omitted, they accept all."),
    key("sandbox.paths.*.max_file_bytes", Size, "", "The size of the largest file that the file tools accept."),
    key("sandbox.paths.*.products", Texts, "", "Folders of build output, relative to the root, such as `target`. Commands write them directly, and undo does not cover them."),
    key("sandbox.paths.*.approval", Section, "", "The approvals of this root."),
    key("sandbox.paths.*.approval.read", Approval, "none", "The approval for reading a file."),
    key("sandbox.paths.*.approval.write", Approval, "required", "The approval for every operation that changes something."),
    key("sandbox.paths.*.approval.attach", Approval, "", "The approval for passing a file to another worker or model. If omitted, the same as `read`."),
    key("sandbox.never_read", PathRules, "[]", "Gitignore rules for paths that are never read and never written."),
    key("sandbox.never_write", PathRules, "[]", "Gitignore rules for paths that are never written, in addition to the built-in list."),
    key("sandbox.require_os_sandbox", Bool, "", "Whether the OS sandbox is required. If omitted, it is used where it works."),
    key("sandbox.os_sandbox_fallback", Word(&["fail_fast", "refuse_tools"]), "fail_fast", "The effect of a required OS sandbox that does not work: nothing starts (`fail_fast`), or tools that start processes are refused (`refuse_tools`)."),
    key("sandbox.os_sandbox_min", Word(&["full", "content-only"]), "full", "The weakest accepted tier of the OS sandbox."),
    key("sandbox.toolchains", Toolchains, "auto", "Folders that processes may read besides the roots and the system's folders: those that the programs on `PATH` need to start (`auto`), none (`off`), or a list of paths. `auto` in the list adds to it."),
    key("sandbox.caches", Paths, "[~/.cargo/registry, ~/.cargo/git, ~/.npm/_cacache, ~/.cache/pip, ~/.cache/uv, ~/.cache/go-build, ~/go/pkg/mod, ~/.gradle/caches, ~/.m2/repository, ~/.nuget/packages]", "Package caches that processes may read, if they exist. askfirst throws away the files that a process writes there."),
    key("sandbox.os_profile", Section, "", "Removes access that the roots grant to processes. An omitted key restricts nothing."),
    key("sandbox.os_profile.read", Paths, "", "The only paths that processes may read."),
    key("sandbox.os_profile.write", Paths, "", "The only paths that processes may write."),
    key("sandbox.os_profile.network", Bool, "", "Whether processes may use the network."),
    key("shell", Section, "", "The shell tool. Without this section the tool is not offered."),
    key("shell.default", Section, "", "The default for commands that no rule covers."),
    key("shell.default.approval", CommandApproval, "required", "The approval for commands that no rule covers."),
    key("shell.known_read_only", Approval, "required", "The approval for commands that are proven to only read readable roots."),
    key("shell.outside_roots", Word(&["required", "human", "deny"]), "required", "The approval for commands that use a path outside every root."),
    key("shell.network", Network, "deny", "Whether commands may use the network: never (`deny` or `false`), if a person approves (`required`), or without asking (`none` or `true`)."),
    key("shell.limits", Section, "", "The limits of a process."),
    key("shell.limits.wall", Duration, "10m", "How long it may run."),
    key("shell.limits.cpu", Duration, "5m", "How much CPU time it may use."),
    key("shell.limits.memory", Size, "4GiB", "How much memory it may use."),
    key("shell.limits.processes", Count, "256", "How many processes it may start."),
    key("shell.limits.file", Size, "256MiB", "The size of the largest file it may write."),
    key("shell.limits.output", Size, "1MiB", "How much of each output stream is kept."),
    key("shell.env", Section, "", "The environment of commands."),
    key("shell.env.pass", EnvNames, "[PATH, HOME, LANG, TERM, CI]", "The environment variables that commands get."),
    key("shell.rules", SectionList, "", "Rules for commands. A matching `deny` decides, otherwise the first matching rule."),
    key("shell.rules[]", Section, "", "One rule."),
    key("shell.rules[].pattern", Text, "", "The words that a command starts with, quoted as in the shell. A word may be a glob."),
    key("shell.rules[].exact", Bool, "false", "Whether the command must have no further words."),
    key("shell.rules[].approval", CommandApproval, "required", "The approval for commands that match."),
    key("shell.rules[].description", Text, "", "The description that a request shows."),
    key("shell.rules[].risk", Word(RISKS), "", "The minimum risk of commands that match."),
    key("shell.rules[].sandbox_paths", Texts, "", "The rule applies only if the working directory and every path are in these roots."),
    key("shell.rules[].network", Network, "", "Whether commands that match may use the network. If omitted, the same as `shell.network`."),
    key("shell.rules[].examples", Section, "", "Commands that test the rule when the file is read."),
    key("shell.rules[].examples.match", Texts, "", "Commands that the rule must match."),
    key("shell.rules[].examples.not_match", Texts, "", "Commands that the rule must not match."),
    key("shell.dangerous_patterns", Texts, "", "Regular expressions. A command that matches one needs approval even if a rule allows it."),
    key("only_tools", Texts, "", "If set, the only custom tools that are offered."),
    key("tools", NameMap, "", "Custom, worker and MCP tools, by name or glob."),
    key("tools.*", Cases, "", "The rules for a tool. A list is tried in order."),
    key("tools.*.approval", OptionalApproval, "", "The approval. If omitted, the tool's own assessment applies."),
    key("tools.*.risk", Word(RISKS), "", "The minimum risk."),
    key("tools.*.description", Text, "", "The description that a request shows. `{name}` is replaced by an argument."),
    key("tools.*.exclude_keys", Texts, "", "Arguments that are shown, but neither remembered nor written to the audit log."),
    key("tools.*.when", When, "", "Conditions on arguments. All of them must match."),
    key("tools.*.options", Anything, "", "Options that are passed to an override."),
    key("tools.*.command", Texts, "", "The program and its arguments, started without a shell. `{name}` is replaced by an argument of the call."),
    key("tools.*.args", NameMap, "", "The arguments of the tool."),
    key("tools.*.args.*", Section, "", "One argument."),
    key("tools.*.args.*.type", Word(ARG_TYPES), "string", "The type of the argument."),
    key("tools.*.args.*.items", Section, "", "The items of an array."),
    key("tools.*.args.*.items.type", Word(&["string"]), "string", "The type of the items."),
    key("tools.*.args.*.optional", Bool, "false", "Whether a call may omit it."),
    key("tools.*.args.*.enum", Scalars, "", "The allowed values."),
    key("tools.*.args.*.description", Text, "", "The description of the argument for the model."),
    key("tools.*.about", Text, "", "The description of the tool for the model."),
    key("mcp", NameMap, "", "MCP servers by name."),
    key("mcp.*", Section, "", "One server, with either `command` or `url`."),
    key("mcp.*.command", Texts, "", "The program that runs the server, and its arguments."),
    key("mcp.*.url", Text, "", "The URL of the server."),
    key("mcp.*.token_file", Path, "", "The file with the token that the server at `url` expects."),
    key("mcp.*.env", Section, "", "The environment of the program."),
    key("mcp.*.env.pass", EnvNames, "[]", "The environment variables that the program gets, besides `PATH`, `HOME`, `LANG` and `TERM`. If empty, it gets all."),
    key("mcp.*.hide_denied", Bool, "false", "Whether the list of tools omits those that are denied."),
    key("mcp.*.ask_by", Words(&["terminal", "watch", "elicitation"]), "[terminal]", "The approvers, tried in order: the `terminal` (or `askfirst watch` if there is none), only `askfirst watch`, or the MCP client by `elicitation`."),
];

/// Finds the key with this path.
pub(crate) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// Finds the key `name` directly below a path.
pub(crate) fn child(path: &str, name: &str) -> Option<&'static Key> {
    let dot = usize::from(!path.is_empty());
    let length = path.len() + dot + name.len();
    let fits = |key: &&Key| {
        let rest = (key.path.len() == length).then(|| key.path.strip_prefix(path)).flatten();
        rest.and_then(|rest| if dot == 1 { rest.strip_prefix('.') } else { Some(rest) }) == Some(name)
    };
    KEYS.iter().find(fits).filter(|_| !name.is_empty() && !name.contains(['.', '[']) && name != "*")
}

/// Returns the keys directly below a path, each with its last name.
pub(crate) fn below(path: &str) -> impl Iterator<Item = (&'static str, &'static Key)> {
    KEYS.iter().filter_map(move |key| {
        let rest = match path {
            "" => Some(key.path),
            _ => key.path.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')),
        };
        let name = rest.filter(|name| !name.is_empty() && !name.contains(['.', '[']) && *name != "*")?;
        Some((name, key))
    })
}
