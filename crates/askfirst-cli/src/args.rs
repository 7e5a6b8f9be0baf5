//! Defines the command line. Help, shell completions and man pages are generated from it.

#![allow(rustdoc::broken_intra_doc_links, reason = "help texts contain `[default: …]`, which is not a link")]

mod hook;

use std::ffi::OsString;
use std::path::PathBuf;

use askfirst_display::redact::{Mark, Redactor};
use clap::{Args, Parser, Subcommand, ValueEnum};

use askfirst_agents::Agent;
pub use hook::{HookCommand, HookPlace};

/// Approve your AI agent's tool calls before they run.
///
/// For each tool call, askfirst checks your policy. Safe calls run at once, forbidden calls are refused, and for
/// everything else askfirst asks you. It runs exactly what it showed, and logs every decision in a tamper-evident log.
#[derive(Debug, Parser)]
#[command(name = "askfirst", version, after_help = crate::exit::HELP, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// The parser of `decide` alone. Other programs start `decide` for single calls, and it takes longer to build the parser
/// of all commands than to judge a call.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Decide {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    line: CommandLine,
}

/// The parser of the gateway alone. Clients start one gateway per server, and a small parser keeps the process small.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Mcp {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    gateway: Box<Gateway>,
}

/// Reads the command line. Prints a message and exits if the command line is invalid or asks for help.
pub fn read() -> Cli {
    let args: Vec<OsString> = std::env::args_os().collect();
    alone(&args).unwrap_or_else(|| Cli::try_parse().unwrap_or_else(|error| refused(&error)))
}

/// Prints a parse error without the secrets that it may contain, and exits.
fn refused(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    if Redactor::default().text(&text, Mark::Record).hidden == 0 {
        error.exit();
    }
    crate::print::err(text.trim_end());
    std::process::exit(error.exit_code());
}

/// Parses the commands that have their own parser. Returns `None` for everything else, which [`Cli`] then parses.
fn alone(args: &[OsString]) -> Option<Cli> {
    let first = if args.get(1)? == "--config" { 3 } else { 1 };
    let without = || {
        let others = args.iter().enumerate().filter(|(at, _)| *at != first);
        others.map(|(_, word)| word.clone())
    };
    match args.get(first)?.to_str()? {
        "decide" => {
            let Decide { common, line } = Decide::try_parse_from(without()).ok()?;
            Some(Cli { common, command: Command::Decide { line } })
        }
        "mcp" => {
            let Mcp { common, gateway } = Mcp::try_parse_from(without()).ok()?;
            Some(Cli { common, command: Command::Mcp { command: None, gateway } })
        }
        // An agent starts one process for each event.
        "hook" if args.len() == first + 2 => {
            let agent = args.last()?.to_str()?.parse().ok()?;
            Some(Cli {
                common: Common::default(),
                command: Command::Hook { command: None, agent: Some(agent) },
            })
        }
        _ => None,
    }
}

/// Flags that every command accepts.
#[derive(Debug, Clone, Default, Args)]
pub struct Common {
    /// Use this config instead of the project's and the user's, and trust it
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Print plain lines without color or redrawing, for screen readers
    #[arg(long, global = true)]
    pub plain: bool,
}

/// A command line that is judged as a call of `shell`.
#[derive(Debug, Clone, Args)]
pub struct CommandLine {
    /// Command line for the `shell` tool: one word is the whole line, several words are quoted and joined
    #[arg(last = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}

/// Flags that limit the sandbox more than the config does.
#[derive(Debug, Clone, Args)]
pub struct SandboxFlags {
    /// Let the program read only this path (repeatable)
    #[arg(long, value_name = "PATH")]
    pub read: Vec<PathBuf>,
    /// Let the program write only this path (repeatable)
    #[arg(long, value_name = "PATH")]
    pub write: Vec<PathBuf>,
    /// Turn network access on or off
    #[arg(long, value_name = "on|off")]
    pub network: Option<Switch>,
    /// Keep the terminal, for programs that draw on it or read keys
    #[arg(long)]
    pub tty: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

/// The flags of a gateway, and the server behind it.
#[derive(Debug, Clone, Args)]
pub struct Gateway {
    /// Name of the server in the config; its tools are mcp__NAME__TOOL [default: name of the program]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub flags: McpFlags,
    /// Same as `-- SERVER`, for clients that do not accept `--` among the arguments; must be the last flag
    #[arg(long, value_name = "SERVER", num_args = 1.., allow_hyphen_values = true, conflicts_with = "server")]
    pub command: Vec<String>,
    /// Server program and its arguments [default: the server NAME of the config, or all servers]
    #[arg(last = true, value_name = "SERVER")]
    pub server: Vec<String>,
}

/// Flags for the connections and the mode of a gateway.
#[derive(Debug, Clone, Args)]
pub struct McpFlags {
    #[command(flatten)]
    pub http: HttpFlags,
    #[command(flatten)]
    pub mode: ModeFlags,
}

/// Flags for HTTP, with clients and with servers.
#[derive(Debug, Clone, Args)]
pub struct HttpFlags {
    #[command(flatten)]
    pub listen: ListenFlags,
    /// Connect to the server at this URL
    #[arg(long, value_name = "URL", conflicts_with_all = ["server", "command"])]
    pub url: Option<String>,
    /// Serve all servers of the config, with tools named SERVER__TOOL [default if no server is named]
    #[arg(long, conflicts_with_all = ["url", "name", "server", "command"])]
    pub all: bool,
    /// File with the token for the server [default: $ASKFIRST_UPSTREAM_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub upstream_token_file: Option<PathBuf>,
    /// Trust only the certificate authorities in this file for https servers
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

/// Flags for clients that connect over HTTP.
#[derive(Debug, Clone, Args)]
pub struct ListenFlags {
    /// Serve HTTP clients on this address, such as 127.0.0.1:8700, instead of standard input and output
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<std::net::SocketAddr>,
    /// File with the token clients must send [default: $ASKFIRST_TOKEN, or a new token printed at start]
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub token_file: Option<PathBuf>,
    /// UNSAFE: accept every program on this machine without a token
    #[arg(long, requires = "listen", conflicts_with_all = ["token_file", "remote"])]
    pub no_token: bool,
    /// Allow an address that other machines can reach
    #[arg(long, requires = "listen")]
    pub remote: bool,
    /// Accept requests for this host name too, besides this machine's own (repeatable)
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub allow_host: Vec<String>,
    /// Accept web pages from this origin too, besides this machine (repeatable)
    #[arg(long, value_name = "ORIGIN", requires = "listen")]
    pub allow_origin: Vec<String>,
}

/// Flags for the mode: how askfirst treats calls that need approval.
#[derive(Debug, Clone, Copy, Args)]
pub struct ModeFlags {
    /// UNSAFE: approve every request without asking, except tools set to `human`
    #[arg(long, conflicts_with = "strict")]
    pub approve_all: bool,
    /// Refuse every request without asking; calls that the config allows still run
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch a scripted agent work in a scratch folder: needs no setup, touches none of your files
    Demo {
        #[command(flatten)]
        mode: ModeFlags,
    },
    /// Write a commented config for this folder, show what it allows, and ask whether to trust it
    Init {
        /// Only print the config, with the default answers unless --yes is given
        #[arg(long)]
        print: bool,
        /// Answer every question with yes, except the one about trust
        #[arg(long)]
        yes: bool,
    },
    /// Run one tool call: check it, ask if needed, run it, log it
    Call {
        /// Name of the tool
        #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
        tool: String,
        /// Arguments as a JSON object; `-` reads them from standard input
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
        #[command(flatten)]
        mode: ModeFlags,
    },
    /// Run a list of tool calls in one session
    Run {
        /// File of JSON Lines `{"tool": …, "args": {…}, "metadata": {…}}`; `-` for standard input
        file: PathBuf,
        #[command(flatten)]
        mode: ModeFlags,
    },
    /// Judge calls without asking or running them: JSON Lines in, JSON Lines out
    ///
    /// Input: {"id": …, "tool": …, "args": {…}, "metadata": {…}}. Output, in the same order: {"id": …, "verdict":
    /// "allow"|"rehearse"|"ask"|"deny", "because": […], "request": {…}}. An invalid line gets the verdict "deny".
    ///
    /// `askfirst decide -- git status` judges one command line and reads no input.
    Decide {
        #[command(flatten)]
        line: CommandLine,
    },
    /// Explain why a call would run, need approval or be refused
    ///
    /// `askfirst explain -- git status` explains a command line.
    Explain {
        /// Name of the tool
        #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
        #[arg(required_unless_present = "words", conflicts_with = "words")]
        tool: Option<String>,
        /// Arguments as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}", conflicts_with = "words")]
        args: String,
        #[command(flatten)]
        line: CommandLine,
    },
    /// List the tools of the config, each with the verdict for its calls
    Tools,
    /// Run a gateway to an MCP server: check every tool call, forward everything else unchanged
    ///
    /// Put `askfirst mcp --command` in front of the server's command in the client's config. `askfirst mcp --` does the same,
    /// but some clients do not accept `--` there.
    #[command(args_conflicts_with_subcommands = true)]
    Mcp {
        #[command(subcommand)]
        command: Option<McpCommand>,
        #[command(flatten)]
        gateway: Box<Gateway>,
    },
    /// Offer the config's file, shell and command tools as an MCP server, on standard input and output or HTTP
    Serve {
        #[command(flatten)]
        listen: Box<ListenFlags>,
        #[command(flatten)]
        mode: ModeFlags,
        /// Ask these approvers, in this order
        #[arg(long, value_name = "APPROVER", value_delimiter = ',', default_value = "terminal")]
        ask_by: Vec<ApproverChoice>,
    },
    /// Answer the requests of gateways and servers that have no terminal
    Watch,
    /// Run a program in the OS sandbox of the config: each root with its mode, and nothing else
    ///
    /// The flags only remove access, for this run. It is an error to request access that the config does not grant.
    Sandbox {
        #[command(flatten)]
        flags: SandboxFlags,
        /// Program and its arguments
        #[arg(last = true, required = true, value_name = "CMD")]
        command: Vec<OsString>,
    },
    /// Show the merged config and the source of each value
    Effective,
    /// Show the audit log: each call, who decided, and how it ended
    Log {
        #[command(subcommand)]
        command: Option<LogCommand>,
        #[command(flatten)]
        flags: LogFlags,
    },
    /// Show your rules for this project, and the decisions that running sessions remember
    Memory {
        #[command(subcommand)]
        command: Option<MemoryCommand>,
    },
    /// Restore what a command changed
    Undo {
        /// IDs of changes, as `undo --list` prints them [default: the last change]
        #[arg(conflicts_with_all = ["list", "show"])]
        ids: Vec<String>,
        /// List the changes that can be undone
        #[arg(long, conflicts_with = "show")]
        list: bool,
        /// Show the paths of one change
        #[arg(long, value_name = "ID")]
        show: Option<String>,
    },
    /// Show what commands changed here, and how to undo each change
    Review {
        /// Show all changes that are kept, not only those of the last 24 hours
        #[arg(long)]
        all: bool,
    },
    /// Show what a project's config would loosen and how it changed, and ask whether to trust it
    Trust,
    /// Rewrite older spellings in a config
    Migrate {
        /// Config file [default: the config in force here]
        file: Option<PathBuf>,
        /// Write the file instead of printing the new text
        #[arg(long)]
        write: bool,
    },
    /// Connect a coding agent: every tool call of it then goes through askfirst
    #[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Hook {
        #[command(subcommand)]
        command: Option<HookCommand>,
        /// Answer an event of this agent, read from standard input; the agent starts this
        #[arg(value_name = "AGENT", value_parser = hook::agent_names())]
        agent: Option<Agent>,
    },
    /// Report what this machine can enforce, what is missing, and what no kernel can enforce
    Doctor,
    /// Print shell completions
    Completions {
        /// Name of the shell
        shell: Shell,
    },
    /// Print the man page, or write one page per command into a folder
    Man {
        /// Create this folder if it does not exist, and write the pages there
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
    /// Print the JSON Schema of the config, for editors
    Schema,
}

/// Flags that select calls of the audit log, and say how to print them.
#[derive(Debug, Clone, PartialEq, Default, Args)]
pub struct LogFlags {
    /// Show only the N newest calls, or the N newest entries with --json [default: 20; all with --since or --csv]
    #[arg(long, short = 'n', value_name = "N")]
    pub last: Option<usize>,
    /// Show only what happened since this time: `2h` or `3d` ago, a date, or a date and a time in UTC
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Show only calls of this tool: a name, or a glob such as `mcp__*`
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Show only calls that were refused
    #[arg(long)]
    pub refused: bool,
    /// Show only this session; the end of its ID is enough
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Print CSV for spreadsheets: one row for each call
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Keep running, and print each call when it ends
    #[arg(long, short = 'f')]
    pub follow: bool,
}

#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// Verify the audit log, and report exactly what the check covers
    Verify {
        /// Require that this hash, noted earlier, is still in the chain
        #[arg(long, value_name = "HASH")]
        expect: Option<String>,
    },
    /// Summarize one call: its arguments, its origin, the verdict, the answer and the end
    Show {
        /// ID of the call, as `log` prints it
        id: String,
        /// Show every field of its entries too; --json always does
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Put the gateway in front of every server in a client's config; print the change unless --write is given
    Wrap(Rewrite),
    /// Remove the gateway from a client's config
    Unwrap(Rewrite),
}

/// A client's config to rewrite.
#[derive(Debug, Args)]
pub struct Rewrite {
    /// Client config: JSON with `mcpServers` (Claude Desktop, Cursor) or `servers` (VS Code)
    pub file: PathBuf,
    /// Write the file instead of printing the change
    #[arg(long)]
    pub write: bool,
}

#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Revoke one decision in a running session, or one rule of yours for this project
    Revoke {
        /// ID of the decision, as `memory` prints it
        id: String,
    },
}

/// An approver that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApproverChoice {
    /// This terminal, or `askfirst watch` if there is none
    Terminal,
    /// A running `askfirst watch`
    Watch,
    /// The MCP client, which could answer without a person
    Elicitation,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}
