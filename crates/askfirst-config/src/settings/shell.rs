//! The settings of the shell tool.

use std::time::Duration;

use askfirst::{Approval, Because};
use askfirst_shell::{LayerValues, NetworkAccess, ShellRule};

use super::Settings;

/// The settings of the shell tool.
#[derive(Debug, Clone)]
pub struct ShellConfig {
    /// The approval for commands that no rule covers.
    pub default: Approval,
    /// The approval for commands that are proven to only read readable roots.
    pub known_read_only: Approval,
    /// The approval for commands that use a path outside every root.
    pub outside_roots: Approval,
    /// Whether commands may use the network.
    pub network: NetworkAccess,
    /// The limits of a process.
    pub limits: Limits,
    /// The environment variables that commands get.
    pub env_pass: Vec<String>,
    /// The rules, in order.
    pub rules: Vec<ShellRule>,
    /// Regular expressions. A command that matches one needs at least `required`, even if a rule allows it.
    pub dangerous_patterns: Vec<(String, Because)>,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self {
            default: Approval::Required,
            known_read_only: Approval::Required,
            outside_roots: Approval::Required,
            network: NetworkAccess::Deny,
            limits: Limits::default(),
            env_pass: ["PATH", "HOME", "LANG", "TERM", "CI"].map(str::to_owned).to_vec(),
            rules: Vec::new(),
            dangerous_patterns: Vec::new(),
        }
    }
}

/// The role of a layer, which decides whether its defaults count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerRole {
    /// The layer that decides. Its defaults count.
    Main,
    /// A layer that can only make things stricter. Only the values in its file count.
    Floor,
}

impl ShellConfig {
    /// Returns the values of a layer in the form that the shell analysis needs.
    #[must_use]
    pub fn layer(&self, settings: &Settings, role: LayerRole) -> LayerValues {
        // An unset `known_read_only` is never stricter than the default for commands.
        let is_set = settings.is_set("shell.known_read_only");
        let reading = if is_set { self.known_read_only } else { self.known_read_only.min(self.default) };
        let value =
            |key: &str, value: Approval| (role == LayerRole::Main || settings.is_set(key)).then_some(value);
        let network = match self.network {
            NetworkAccess::None => Approval::None,
            NetworkAccess::Required => Approval::Required,
            NetworkAccess::Deny => Approval::Deny,
        };
        let values = [
            ("shell.default.approval", self.default),
            ("shell.known_read_only", reading),
            ("shell.outside_roots", self.outside_roots),
            ("shell.network", network),
        ];
        LayerValues {
            default: value("shell.default.approval", self.default),
            known_read_only: value("shell.known_read_only", reading),
            outside_roots: value("shell.outside_roots", self.outside_roots),
            network: (role == LayerRole::Main || settings.is_set("shell.network")).then_some(self.network),
            origins: values.map(|(key, value)| (key, settings.because(key, value))).into(),
            rules: self.rules.clone(),
            dangerous_patterns: self.dangerous_patterns.clone(),
        }
    }
}

/// The limits of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub wall: Duration,
    /// How much CPU time it may use.
    pub cpu: Duration,
    /// How many bytes of memory it may use.
    pub memory: u64,
    /// How many processes it may start.
    pub processes: u64,
    /// The size in bytes of the largest file it may write.
    pub file: u64,
    /// How many bytes of each output stream askfirst keeps.
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
