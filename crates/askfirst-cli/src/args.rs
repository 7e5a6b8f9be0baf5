//! The command line: written once, and help, completions and the man page come from it.

use std::ffi::OsString;
use std::path::PathBuf;

use askfirst_display::redact::{Mark, Redactor};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// A person between an AI agent and the tools it calls.
///
/// Before a tool call runs, askfirst decides whether it may run at once, must be asked about, or may never run. It asks
/// at the terminal, runs exactly what was shown, and keeps a record that can be checked.
#[derive(Debug, Parser)]
#[command(name = "askfirst", version, after_help = crate::exit::HELP, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// `decide` by itself. Other programs start it for single calls, and the other commands take longer to describe than
/// a call takes to judge.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Decide {
    #[command(flatten)]
    common: Common,
}

/// The gateway by itself: clients start one for each of their servers, and it stays as large as it was at the start.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Mcp {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    gateway: Box<Gateway>,
}

/// Reads the command line. What is not understood, and what asks for help, ends the process with an answer.
pub fn read() -> Cli {
    let args: Vec<OsString> = std::env::args_os().collect();
    alone(&args).unwrap_or_else(|| Cli::try_parse().unwrap_or_else(|error| refused(&error)))
}

/// What cannot be read is said without the secrets that may stand in it.
fn refused(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    if Redactor::default().text(&text, Mark::Record).hidden == 0 {
        error.exit();
    }
    crate::print::err(text.trim_end());
    std::process::exit(error.exit_code());
}

/// The same for two commands that are described without the others; whatever they do not understand is left to those.
fn alone(args: &[OsString]) -> Option<Cli> {
    let first = if args.get(1)? == "--config" { 3 } else { 1 };
    let without = || {
        let others = args.iter().enumerate().filter(|(at, _)| *at != first);
        others.map(|(_, word)| word.clone())
    };
    match args.get(first)?.to_str()? {
        "decide" => {
            let Decide { common } = Decide::try_parse_from(without()).ok()?;
            Some(Cli { common, command: Command::Decide })
        }
        "mcp" => {
            let Mcp { common, gateway } = Mcp::try_parse_from(without()).ok()?;
            Some(Cli { common, command: Command::Mcp { command: None, gateway } })
        }
        _ => None,
    }
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Use this config instead of the project's and the user's; it counts as trusted
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Print plain lines: no colour, nothing redrawn, fit for a screen reader
    #[arg(long, global = true)]
    pub plain: bool,
}

/// How much of what the config grants a program gets.
#[derive(Debug, Clone, Args)]
pub struct SandboxFlags {
    /// Only this can be read; may be given several times
    #[arg(long, value_name = "PATH")]
    pub read: Vec<PathBuf>,
    /// Only this can be written; may be given several times
    #[arg(long, value_name = "PATH")]
    pub write: Vec<PathBuf>,
    /// Whether the network is there
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

/// A gateway and what it stands before.
#[derive(Debug, Clone, Args)]
pub struct Gateway {
    /// The server's name in the config: its tools are mcp__NAME__TOOL. Without it, the program's own name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub flags: McpFlags,
    /// The server's program and its arguments; without them, the server of that name in the config, or all of them
    #[arg(last = true, value_name = "SERVER")]
    pub server: Vec<String>,
}

/// How a gateway is reached and reaches its servers, and what happens to calls that would be asked about.
#[derive(Debug, Clone, Args)]
pub struct McpFlags {
    #[command(flatten)]
    pub http: HttpFlags,
    #[command(flatten)]
    pub mode: ModeFlags,
}

/// A gateway over HTTP, on either side.
#[derive(Debug, Clone, Args)]
pub struct HttpFlags {
    #[command(flatten)]
    pub listen: ListenFlags,
    /// The server is behind this address
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub url: Option<String>,
    /// All servers of the config behind one gateway, their tools as SERVER__TOOL; so it is too where none is named
    #[arg(long, conflicts_with_all = ["url", "name", "server"])]
    pub all: bool,
    /// A file with the token that the server wants; or the variable ASKFIRST_UPSTREAM_TOKEN
    #[arg(long, value_name = "FILE")]
    pub upstream_token_file: Option<PathBuf>,
    /// Trust a server behind https by the authorities in this file, and by no others
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

/// How clients come in over HTTP.
#[derive(Debug, Clone, Args)]
pub struct ListenFlags {
    /// Let clients come in over HTTP at this address instead of standard streams, such as 127.0.0.1:8700
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<std::net::SocketAddr>,
    /// A file with the token that clients must show; or the variable ASKFIRST_TOKEN. Else one is made and shown
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub token_file: Option<PathBuf>,
    /// UNSAFE: let every program on this machine in without a token
    #[arg(long, requires = "listen", conflicts_with_all = ["token_file", "remote"])]
    pub no_token: bool,
    /// Listen at an address that other machines can reach
    #[arg(long, requires = "listen")]
    pub remote: bool,
    /// A name under which clients may call this machine, besides its own
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub allow_host: Vec<String>,
    /// Where a web page may come from, besides this machine
    #[arg(long, value_name = "ORIGIN", requires = "listen")]
    pub allow_origin: Vec<String>,
}

/// What happens to calls that would be asked about.
#[derive(Debug, Clone, Copy, Args)]
pub struct ModeFlags {
    /// UNSAFE: approve whatever would be asked, but for `human`; nobody looks at it
    #[arg(long, conflicts_with = "strict")]
    pub approve_all: bool,
    /// Refuse whatever would be asked; what the config allows still runs
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch a scripted agent on a scratch folder: no set-up, nothing of yours is touched
    Demo {
        #[command(flatten)]
        mode: ModeFlags,
    },
    /// Write a commented config for this folder, show what it allows, and trust it if a person says so
    Init {
        /// Only print the config with the usual answers
        #[arg(long)]
        print: bool,
    },
    /// Make one call through the whole pipeline
    Call {
        /// The tool
        #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
        tool: String,
        /// Its arguments, a JSON object; `-` reads them from standard input
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
        #[command(flatten)]
        mode: ModeFlags,
    },
    /// Make a list of calls in one session
    Run {
        /// JSON Lines of `{"tool": …, "args": {…}, "metadata": {…}}`; `-` for standard input
        file: PathBuf,
        #[command(flatten)]
        mode: ModeFlags,
    },
    /// Judge calls without running or asking: JSON Lines in, JSON Lines out
    ///
    /// In: {"id": …, "tool": …, "args": {…}, "metadata": {…}}. Out, in the same order: {"id": …, "verdict":
    /// "allow"|"ask"|"deny", "because": […], "request": {…}}. A line that cannot be read is denied.
    Decide,
    /// Say why a call would run, be asked about or be refused
    Explain {
        /// The tool
        #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
        tool: String,
        /// Its arguments, a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
    },
    /// Stand in front of an MCP server: every tool call is judged, all else passes as it came
    ///
    /// Put `askfirst mcp --` in front of the server's command in the client's config.
    #[command(args_conflicts_with_subcommands = true)]
    Mcp {
        #[command(subcommand)]
        command: Option<McpCommand>,
        #[command(flatten)]
        gateway: Box<Gateway>,
    },
    /// Offer the config's file, shell and command tools as an MCP server, on standard streams or over HTTP
    Serve {
        #[command(flatten)]
        listen: Box<ListenFlags>,
        #[command(flatten)]
        mode: ModeFlags,
        /// Who is asked, in turn
        #[arg(long, value_name = "WAY", value_delimiter = ',', default_value = "terminal")]
        ask_by: Vec<Way>,
    },
    /// Answer for gateways and servers that have no terminal of their own
    Watch,
    /// Run a program behind the walls that the config sets up: all roots as their modes say, nothing else
    ///
    /// The flags take away from what the config grants, for this run; what it does not grant is an error.
    Sandbox {
        #[command(flatten)]
        flags: SandboxFlags,
        /// The program and its arguments
        #[arg(last = true, required = true, value_name = "CMD")]
        command: Vec<OsString>,
    },
    /// Show the config in force and where each value comes from
    Effective,
    /// Show the record
    Log {
        #[command(subcommand)]
        command: Option<LogCommand>,
        /// The newest entries only
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        last: usize,
    },
    /// Show what running sessions remember
    Memory {
        #[command(subcommand)]
        command: Option<MemoryCommand>,
    },
    /// Show what a project's config would loosen, and trust it if a person says so
    Trust,
    /// Rewrite older spellings in a config
    Migrate {
        /// The config; without it, the one in force here
        file: Option<PathBuf>,
        /// Write the file instead of showing the new text
        #[arg(long)]
        write: bool,
    },
    /// Say what this machine can enforce, what is missing, and what no kernel can enforce
    Doctor,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page
    Man,
    /// Print the JSON Schema of the config, for editors
    Schema,
}

#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// Check the record and say exactly what that covers
    Verify {
        /// A hash noted earlier that must still be in the chain
        #[arg(long, value_name = "HASH")]
        expect: Option<String>,
    },
    /// Show everything about one call
    Show {
        /// The call, as `log` names it
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Put the gateway in front of every server in a client's config: shows the change, writes it with --write
    Wrap(Rewrite),
    /// Take the gateway away again
    Unwrap(Rewrite),
}

/// A client's config to rewrite.
#[derive(Debug, Args)]
pub struct Rewrite {
    /// The client's config: JSON with `mcpServers` (Claude Desktop, Cursor) or `servers` (VS Code)
    pub file: PathBuf,
    /// Write the file instead of showing the change
    #[arg(long)]
    pub write: bool,
}

#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Forget one decision in a running session
    Revoke {
        /// The decision, as `memory` names it
        id: String,
    },
}

/// A way to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// The own terminal, or else whoever runs `askfirst watch`
    Terminal,
    /// Whoever runs `askfirst watch`
    Watch,
    /// The client, which could answer by itself
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
