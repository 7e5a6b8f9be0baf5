//! The one table of keys. What is known, its type, its default and its sentence stand here and nowhere else; the
//! check of a file and the schema for editors are made from it.

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A map of the keys below it.
    Section,
    /// A map of names of the user's choice; what stands under each is at `….*`.
    Named,
    /// A list of sections, which are at `…[]`.
    Sections,
    /// A section or a list of them; what stands in one is below it.
    Cases,
    /// The number of the format.
    Version,
    /// An approval value.
    Approval,
    /// An approval value, or nothing.
    OptionalApproval,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A list of some words.
    Words(&'static [&'static str]),
    /// `true` or `false`.
    Bool,
    /// A whole number above nothing.
    Count,
    /// A time such as `10m`.
    Duration,
    /// A number of bytes such as `64MiB`.
    Size,
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// A path of a file or folder.
    Path,
    /// A list of paths.
    Paths,
    /// A list of globs.
    Globs,
    /// A list of gitignore rules.
    Ignores,
    /// A list of names of environment variables.
    EnvNames,
    /// Conditions on arguments.
    When,
    /// A list of texts, numbers and booleans.
    Scalars,
    /// A map of anything.
    Anything,
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    /// Where it stands: `*` is any name, `[]` any item of a list.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    /// What holds where it is left out; empty where nothing does.
    pub(crate) default: &'static str,
    pub(crate) doc: &'static str,
}

const fn key(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { path, kind, default, doc }
}

use Kind::{
    Anything, Approval, Bool, Cases, Count, Duration, EnvNames, Globs, Ignores, Named, OptionalApproval,
    Path, Paths, Scalars, Section, Sections, Size, Text, Texts, Version, When, Word, Words,
};

/// The words for a risk.
pub(crate) const RISKS: &[&str] = &["low", "high", "irreversible"];
/// The types of a program's arguments.
pub(crate) const ARG_TYPES: &[&str] = &["string", "integer", "number", "boolean", "array"];

/// Every key, the outer before the inner.
#[rustfmt::skip]
pub(crate) const KEYS: &[Key] = &[
    key("", Section, "", "What an agent's tools may do, and who is asked."),
    key("version", Version, "", "The version of this format: `1`."),
    key("default_approval", Approval, "required", "What holds for tools that nobody speaks for."),
    key("on_denial", Word(&["return", "stop"]), "return", "What a person's no does to the run."),
    key("approval_timeout", Duration, "10m", "How long a question waits before it is refused as timed out."),
    key("memory", Section, "", "Remembered decisions."),
    key("memory.expire", Duration, "8h", "How long a decision is remembered."),
    key("prompt", Section, "", "The prompt on a terminal."),
    key("prompt.preview_lines", Count, "50", "How many lines are shown before the rest scrolls."),
    key("ledger", Section, "", "The record of what was requested, decided and executed."),
    key("ledger.sync", Word(&["asked", "always"]), "asked", "What is synced to the disk: what was asked or denied, or everything."),
    key("ledger.rotate", Size, "64MiB", "The size at which a new file is begun."),
    key("ledger.path", Path, "", "Where the record is kept, if not in the usual place."),
    key("secrets", Section, "", "What counts as secret besides what is found by its shape."),
    key("secrets.args", Globs, "[]", "Globs of argument names whose values are secret."),
    key("secrets.env", Globs, "[]", "Globs of environment variables whose values are secret."),
    key("sandbox", Section, "", "The folders that tools may touch, and the walls around processes."),
    key("sandbox.paths", Named, "", "The roots by name; the deepest root that contains a path speaks for it."),
    key("sandbox.paths.*", Section, "", "One root."),
    key("sandbox.paths.*.root", Path, "", "The folder, relative to this file."),
    key("sandbox.paths.*.mode", Word(&["ro", "rw"]), "ro", "Whether it can be written."),
    key("sandbox.paths.*.suffixes", Texts, "", "The suffixes of files that the file tools touch; left out, all."),
    key("sandbox.paths.*.max_file_bytes", Size, "", "The largest file that the file tools touch."),
    key("sandbox.paths.*.approval", Section, "", "What is asked about in this root."),
    key("sandbox.paths.*.approval.read", Approval, "none", "Reading a file."),
    key("sandbox.paths.*.approval.write", Approval, "required", "Everything that changes something."),
    key("sandbox.paths.*.approval.attach", Approval, "", "Handing a file to somebody else; left out, as `read`."),
    key("sandbox.never_read", Ignores, "[]", "Gitignore rules for what is never read, and so never written."),
    key("sandbox.never_write", Ignores, "[]", "Gitignore rules for what is never written, added to the built-in list."),
    key("sandbox.require_os_sandbox", Bool, "", "Whether walls are demanded; left out, they are used where they hold."),
    key("sandbox.os_sandbox_fallback", Word(&["fail_fast", "refuse_tools"]), "fail_fast", "What happens where demanded walls do not hold."),
    key("sandbox.os_sandbox_min", Word(&["full", "content-only"]), "full", "The weakest tier that counts as walls."),
    key("sandbox.os_profile", Section, "", "Takes away from what the roots grant; a key left out restricts nothing."),
    key("sandbox.os_profile.read", Paths, "", "The only paths that processes may read."),
    key("sandbox.os_profile.write", Paths, "", "The only paths that processes may write."),
    key("sandbox.os_profile.network", Bool, "", "Whether processes have a network."),
    key("shell", Section, "", "The shell tool; left out, it is not offered."),
    key("shell.default", Section, "", "What no rule speaks for."),
    key("shell.default.approval", Approval, "required", "The approval of commands that no rule speaks for."),
    key("shell.known_read_only", Approval, "required", "Commands proven only to read readable roots."),
    key("shell.outside_roots", Word(&["required", "human", "deny"]), "required", "A path outside every root."),
    key("shell.network", Bool, "false", "Whether commands have a network."),
    key("shell.limits", Section, "", "The limits of a process."),
    key("shell.limits.wall", Duration, "10m", "How long it may run."),
    key("shell.limits.cpu", Duration, "5m", "How much processor time it may use."),
    key("shell.limits.memory", Size, "4GiB", "How much memory it may use."),
    key("shell.limits.processes", Count, "256", "How many processes it may start."),
    key("shell.limits.file", Size, "256MiB", "The largest file it may write."),
    key("shell.limits.output", Size, "1MiB", "How much of each output stream is kept."),
    key("shell.env", Section, "", "The environment of commands."),
    key("shell.env.pass", EnvNames, "[PATH, HOME, LANG, TERM, CI]", "The environment variables that are passed on."),
    key("shell.rules", Sections, "", "Rules about commands: a matching `deny` decides, else the first that matches."),
    key("shell.rules[]", Section, "", "One rule."),
    key("shell.rules[].pattern", Text, "", "The words that a command begins with, quoted as in the shell; a word may be a glob."),
    key("shell.rules[].exact", Bool, "false", "Whether nothing may follow."),
    key("shell.rules[].approval", Approval, "required", "The approval of commands that match."),
    key("shell.rules[].description", Text, "", "The description of requests."),
    key("shell.rules[].risk", Word(RISKS), "", "The least risk."),
    key("shell.rules[].sandbox_paths", Texts, "", "The rule speaks only where the folder and every path lie in these roots."),
    key("shell.rules[].examples", Section, "", "Commands that are checked against the rule when the file is read."),
    key("shell.rules[].examples.match", Texts, "", "Commands that the rule must match."),
    key("shell.rules[].examples.not_match", Texts, "", "Commands that the rule must not match."),
    key("shell.dangerous_patterns", Texts, "", "Regular expressions; a command that one matches is asked about even if a rule allows it."),
    key("only_tools", Texts, "", "If given, only these custom tools are offered."),
    key("tools", Named, "", "Custom, worker and MCP tools, by name or glob."),
    key("tools.*", Cases, "", "What holds for a tool; a list is tried in order."),
    key("tools.*.approval", OptionalApproval, "", "The approval; left out, the tool's own view."),
    key("tools.*.risk", Word(RISKS), "", "The least risk."),
    key("tools.*.description", Text, "", "The description of requests; `{name}` stands for an argument."),
    key("tools.*.exclude_keys", Texts, "", "Arguments that are shown but neither remembered nor recorded."),
    key("tools.*.when", When, "", "Conditions on arguments, all of which must hold."),
    key("tools.*.options", Anything, "", "Handed to an override."),
    key("tools.*.command", Texts, "", "Program and arguments, started without a shell; `{name}` stands for an argument."),
    key("tools.*.args", Named, "", "The arguments of the program."),
    key("tools.*.args.*", Section, "", "One argument."),
    key("tools.*.args.*.type", Word(ARG_TYPES), "string", "Its type."),
    key("tools.*.args.*.items", Section, "", "What an array holds."),
    key("tools.*.args.*.items.type", Word(&["string"]), "string", "The type of its items."),
    key("tools.*.args.*.optional", Bool, "false", "Whether it may be left out."),
    key("tools.*.args.*.enum", Scalars, "", "The values that it may have."),
    key("tools.*.args.*.description", Text, "", "What the model is told about it."),
    key("tools.*.about", Text, "", "What the model is told about the program."),
    key("mcp", Named, "", "MCP servers by name."),
    key("mcp.*", Section, "", "One server, with either `command` or `url`."),
    key("mcp.*.command", Texts, "", "Program and arguments that start it."),
    key("mcp.*.url", Text, "", "Its address."),
    key("mcp.*.token_file", Path, "", "The file with the token for its address."),
    key("mcp.*.env", Section, "", "The environment of the program."),
    key("mcp.*.env.pass", EnvNames, "[]", "The environment variables that are passed on."),
    key("mcp.*.hide_denied", Bool, "false", "Whether tools that are denied are left out of lists."),
    key("mcp.*.ask_by", Words(&["terminal", "watch", "elicitation"]), "[terminal]", "Who is asked, in turn: the terminal, or else whoever watches; only whoever watches; the client."),
];

/// The key at a path of the table.
pub(crate) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The key of a name directly below a path of the table.
pub(crate) fn child(path: &str, name: &str) -> Option<&'static Key> {
    let dot = usize::from(!path.is_empty());
    let length = path.len() + dot + name.len();
    let fits = |key: &&Key| {
        let rest = (key.path.len() == length).then(|| key.path.strip_prefix(path)).flatten();
        rest.and_then(|rest| if dot == 1 { rest.strip_prefix('.') } else { Some(rest) }) == Some(name)
    };
    KEYS.iter().find(fits).filter(|_| !name.is_empty() && !name.contains(['.', '[']) && name != "*")
}

/// The keys directly below a path of the table, with their own names.
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
