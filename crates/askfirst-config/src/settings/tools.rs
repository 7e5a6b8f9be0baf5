//! The settings of tools that run a program and of MCP servers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use askfirst::{Args, Because};

/// A tool that runs a program.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandTool {
    /// The name of the tool.
    pub name: String,
    /// The program and its arguments. `{name}` is replaced by an argument of the call.
    pub command: Vec<String>,
    /// The description that the model gets.
    pub description: String,
    /// The arguments by name.
    pub args: BTreeMap<String, ArgSpec>,
    /// The JSON Schema of each argument, as written in the config.
    pub schema: Args,
    /// The folder of the config file that defines the tool.
    pub folder: PathBuf,
    /// The line of the config that defines the tool.
    pub origin: Because,
}

impl CommandTool {
    /// Returns the JSON Schema of the arguments, which the model gets.
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

/// One argument of a tool that runs a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgSpec {
    /// The type of the argument.
    pub kind: ArgKind,
    /// Whether a call may omit it.
    pub optional: bool,
    /// The allowed values. An empty list allows all.
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
    /// True or false.
    Boolean,
    /// A list of texts. Each becomes one word of the command.
    Strings,
}

/// The settings of an MCP server behind the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// The name of the server.
    pub name: String,
    /// How the gateway connects to the server.
    pub upstream: Upstream,
    /// The environment variables that the server gets.
    pub env_pass: Vec<String>,
    /// Whether the list of tools omits those that are denied.
    pub hide_denied: bool,
    /// The approvers, in the order in which they are tried.
    pub ask_by: Vec<AskBy>,
    /// The line of the config that defines the server.
    pub origin: Because,
}

/// How the gateway connects to an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// It starts this program with these arguments.
    Command(Vec<String>),
    /// It connects over HTTP.
    Url {
        /// The URL of the server.
        url: String,
        /// The file with the token that the server expects.
        token_file: Option<PathBuf>,
    },
}

/// The approver of calls through the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskBy {
    /// The terminal of this process or, if it has none, a running `askfirst watch`.
    Terminal,
    /// A running `askfirst watch`.
    Watch,
    /// The MCP client, by elicitation.
    Elicitation,
}

impl AskBy {
    /// Returns the word that the config uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Watch => "watch",
            Self::Elicitation => "elicitation",
        }
    }
}
