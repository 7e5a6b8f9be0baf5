//! Lists every effective value of a config and its origin.

mod named;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use askfirst::Because;

use super::keys::{KEYS, ValueKind};
use super::quote::escape;
use super::settings::{
    Config, Fallback, Layer, OnDenial, PathConfig, PathMode, Settings, SyncRule, Tier, ToolchainAccess,
};

/// One effective value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveLine {
    /// The key, such as `shell.network` or `tools.send_email`.
    pub key: String,
    /// The value, on one line.
    pub value: String,
    /// `FILE:LINE`, or `default`.
    pub from: String,
}

/// Lists every effective value, in the order of the table of keys.
#[must_use]
pub fn effective(config: &Config) -> Vec<EffectiveLine> {
    let main = &config.main;
    let mut lines = Vec::new();
    for key in KEYS {
        match key.path {
            "version" => {}
            "sandbox.paths" => {
                lines.extend(main.sandbox.paths.iter().map(|(name, root)| root_line(name, root)))
            }
            "shell" if main.shell.is_none() => lines.push(line("shell", "not offered", "default".to_owned())),
            "shell.rules" => {
                lines.extend(main.shell.iter().flat_map(|shell| named::rules(&shell.rules)));
            }
            "tools" => lines.extend(named::tools(main)),
            "mcp" => lines.extend(named::servers(main.mcp.values())),
            path => {
                let is_named = path.contains(['*', '[']);
                let is_group = matches!(
                    key.kind,
                    ValueKind::Section | ValueKind::NameMap | ValueKind::SectionList | ValueKind::Cases
                );
                if !is_named && !is_group {
                    lines.extend(plain_line(main, path, key.default));
                }
            }
        }
    }
    let layers = config.files.iter().filter_map(|file| match file.layer {
        Layer::Managed => Some("managed"),
        Layer::UntrustedProject => Some("project"),
        Layer::User | Layer::Project | Layer::Flag => None,
    });
    for (floor, layer) in config.floors.iter().zip(layers) {
        lines.extend(floor_lines(floor, layer));
    }
    lines
}

fn line(key: &str, value: impl Into<String>, from: String) -> EffectiveLine {
    EffectiveLine { key: key.to_owned(), value: value.into(), from }
}

fn plain_line(main: &Settings, key: &str, default: &str) -> Option<EffectiveLine> {
    if key.starts_with("shell.") && main.shell.is_none() {
        return None;
    }
    let value = plain_value(main, key).or_else(|| (!default.is_empty()).then(|| default.to_owned()))?;
    let from = main.origins.get(key).map_or_else(|| "default".to_owned(), |origin| origin.from.clone());
    Some(line(key, value, from))
}

fn location(origin: &Because) -> String {
    match (&origin.file, origin.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_string(),
        (None, _) => "given by the program".to_owned(),
    }
}

fn root_line(name: &str, root: &PathConfig) -> EffectiveLine {
    let mode = match root.mode {
        PathMode::Ro => "ro",
        PathMode::Rw => "rw",
    };
    let approval = &root.approval;
    let mut value = format!(
        "{}, {mode}, read: {}, write: {}, attach: {}",
        escape(&root.root.display().to_string()),
        approval.read,
        approval.write,
        approval.attach
    );
    if !root.suffixes.is_empty() {
        let _ = write!(value, ", suffixes: {}", list(&root.suffixes));
    }
    if let Some(bytes) = root.max_file_bytes {
        let _ = write!(value, ", max_file_bytes: {}", format_size(bytes));
    }
    if !root.products.is_empty() {
        let _ = write!(value, ", products: {}", paths(&root.products));
    }
    line(&format!("sandbox.paths.{name}"), value, location(&root.origin))
}

/// Lists the rules of a floor. Each key starts with the name of the layer, because main may have the same key.
fn floor_lines(floor: &Settings, layer: &str) -> Vec<EffectiveLine> {
    let mut lines = Vec::new();
    if let Some((approval, Some(origin))) = floor.rules.default_approval() {
        lines.push(line("default_approval", approval.as_str(), location(origin)));
    }
    lines.extend(floor.shell.iter().flat_map(|shell| named::rules(&shell.rules)));
    lines.extend(named::tools(floor));
    for line in &mut lines {
        line.key = format!("{layer}.{}", line.key);
        line.value = format!("at least: {}", line.value);
    }
    let access = &floor.sandbox.toolchains;
    if let Some(origin) = floor.origins.get("sandbox.toolchains").filter(|_| !access.paths.is_empty()) {
        let (key, value) =
            (format!("{layer}.sandbox.toolchains"), format!("at most: {}", toolchains(access)));
        lines.push(line(&key, value, origin.from.clone()));
    }
    lines
}

/// Formats the value of a key, or returns `None` if the key has its default.
pub(crate) fn plain_value(settings: &Settings, key: &str) -> Option<String> {
    let (sandbox, shell) = (&settings.sandbox, settings.shell.as_ref());
    let limits = shell.map(|shell| &shell.limits);
    let profile = sandbox.os_profile.as_ref();
    let words = |list_of: &[String]| (!list_of.is_empty()).then(|| list(list_of));
    match key {
        "default_approval" => settings.rules.default_approval().map(|(approval, _)| approval.to_string()),
        "on_denial" => Some(match settings.on_denial {
            OnDenial::Return => "return".to_owned(),
            OnDenial::Stop => "stop".to_owned(),
        }),
        "approval_timeout" => settings.approval_timeout.map(format_duration),
        "memory.expire" => settings.memory_expire.map(format_duration),
        "prompt.preview_lines" => settings.preview_lines.map(|lines| lines.to_string()),
        "prompt.notify" => Some(settings.notify.as_str().to_owned()),
        "ledger.sync" => Some(match settings.ledger.sync {
            SyncRule::Asked => "asked".to_owned(),
            SyncRule::Always => "always".to_owned(),
        }),
        "ledger.rotate" => settings.ledger.rotate.map(format_size),
        "ledger.path" => settings.ledger.path.as_ref().map(|path| escape(&path.display().to_string())),
        "undo.keep" => Some(settings.undo.keep.to_string()),
        "undo.days" => Some(settings.undo.days.to_string()),
        "undo.size" => Some(format_size(settings.undo.size)),
        "undo.deletes" => Some(settings.undo.deletes.as_str().to_owned()),
        "secrets.args" => words(&settings.secrets.args),
        "secrets.env" => words(&settings.secrets.env),
        "sandbox.never_read" => words(&sandbox.never_read),
        "sandbox.never_write" => words(&sandbox.never_write),
        "sandbox.require_os_sandbox" => sandbox.require_os_sandbox.map(|yes| yes.to_string()),
        "sandbox.os_sandbox_fallback" => Some(match sandbox.os_sandbox_fallback {
            Fallback::FailFast => "fail_fast".to_owned(),
            Fallback::RefuseTools => "refuse_tools".to_owned(),
        }),
        "sandbox.os_sandbox_min" => Some(match sandbox.os_sandbox_min {
            Tier::Full => "full".to_owned(),
            Tier::ContentOnly => "content-only".to_owned(),
        }),
        "sandbox.toolchains" => Some(toolchains(&sandbox.toolchains)),
        "sandbox.caches" => Some(paths(&sandbox.caches)),
        "sandbox.os_profile.read" => profile.and_then(|profile| profile.read.as_deref().map(paths)),
        "sandbox.os_profile.write" => profile.and_then(|profile| profile.write.as_deref().map(paths)),
        "sandbox.os_profile.network" => {
            profile.and_then(|profile| profile.network.map(|yes| yes.to_string()))
        }
        "shell.default.approval" => shell.map(|shell| shell.default.to_string()),
        "shell.known_read_only" => shell.map(|shell| shell.known_read_only.to_string()),
        "shell.outside_roots" => shell.map(|shell| shell.outside_roots.to_string()),
        "shell.network" => shell.map(|shell| shell.network.to_string()),
        "shell.limits.wall" => limits.map(|limits| format_duration(limits.wall)),
        "shell.limits.cpu" => limits.map(|limits| format_duration(limits.cpu)),
        "shell.limits.memory" => limits.map(|limits| format_size(limits.memory)),
        "shell.limits.processes" => limits.map(|limits| limits.processes.to_string()),
        "shell.limits.file" => limits.map(|limits| format_size(limits.file)),
        "shell.limits.output" => limits.map(|limits| format_size(limits.output)),
        "shell.env.pass" => shell.map(|shell| list(&shell.env_pass)),
        "shell.dangerous_patterns" => {
            let patterns =
                shell.map(|shell| &shell.dangerous_patterns).filter(|patterns| !patterns.is_empty())?;
            Some(list(&patterns.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>()))
        }
        "only_tools" => settings.only_tools.as_deref().map(list),
        _ => None,
    }
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| escape(text)).collect::<Vec<_>>().join(", "))
}

fn toolchains(access: &ToolchainAccess) -> String {
    match (access.auto, access.paths.as_slice()) {
        (true, []) => "auto".to_owned(),
        (false, []) => "off".to_owned(),
        (true, more) => paths(&[&[PathBuf::from("auto")], more].concat()),
        (false, all) => paths(all),
    }
}

fn paths(paths: &[PathBuf]) -> String {
    list(&paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>())
}

/// Formats a duration in the largest unit that represents it exactly.
pub(crate) fn format_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    match units.into_iter().find(|(_, unit)| millis >= *unit && millis.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{}{name}", millis / unit),
        None => format!("{millis}ms"),
    }
}

/// Formats a size in the largest unit that represents it exactly.
pub(crate) fn format_size(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0 && bytes.trailing_zeros() >= *shift) {
        Some((name, shift)) => format!("{}{name}", bytes >> shift),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
#[path = "effective/tests.rs"]
mod tests;
