//! Reads the section `mcp`: the servers behind the gateway.

use std::collections::BTreeMap;

use super::{ConfigReader, text, texts};
use crate::node::{Entry, Node, Value};
use crate::quote::escape;
use crate::settings::{AskBy, McpServer, Upstream};

impl ConfigReader<'_> {
    pub(super) fn read_servers(&mut self, node: Option<&Node>) -> BTreeMap<String, McpServer> {
        let entries = node.map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|entry| Some((entry.key.clone(), self.read_server(entry)?))).collect()
    }

    fn read_server(&mut self, entry: &Entry) -> Option<McpServer> {
        let (name, node) = (escape(&entry.key), &entry.value);
        if !node.is_map() && !node.is_null() {
            return None;
        }
        if entry.key.contains("__") {
            let message = format!("invalid server name `{name}`: it contains `__`");
            let hint = "choose another name; `__` separates server and tool in `mcp__SERVER__TOOL`";
            self.fault_with_hint(&entry.at, message, hint);
        } else if !entry.key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')) {
            let message = format!("invalid server name `{name}`");
            self.fault_with_hint(&entry.at, message, "use only letters, digits, `_`, `-` and `.`");
        }
        let upstream = match (node.entry("command"), node.entry("url")) {
            (Some(command), None) => self.read_command_server(node, command)?,
            (None, Some(url)) => self.read_url_server(node, url)?,
            (Some(_), Some(url)) => {
                self.fault(&url.at, format!("the server `{name}` has both `command` and `url`"));
                return None;
            }
            (None, None) => {
                let message = format!("the server `{name}` has neither `command` nor `url`");
                self.fault(&entry.at, message);
                return None;
            }
        };
        let ask_by = node.get("ask_by").map_or_else(|| vec![AskBy::Terminal], ask_by);
        if node.get("ask_by").is_some_and(|list| list.value == Value::List(Vec::new())) {
            let message = format!("no one can approve calls to the server `{name}`: `ask_by` is empty");
            self.fault(&entry.at, message);
        }
        let text = match &upstream {
            Upstream::Command(words) => format!("command: {}", escape(&words.join(" "))),
            Upstream::Url { url, .. } => format!("url: {}", escape(url)),
        };
        Some(McpServer {
            name: entry.key.clone(),
            upstream,
            env_pass: node.at(&["env", "pass"]).map(texts).unwrap_or_default(),
            hide_denied: node.get("hide_denied").and_then(Node::as_bool).unwrap_or(false),
            ask_by,
            origin: self.because(&format!("mcp.{name}"), &entry.at, text),
        })
    }

    fn read_command_server(&mut self, node: &Node, command: &Entry) -> Option<Upstream> {
        if let Some(token) = node.entry("token_file") {
            self.fault(&token.at, "`token_file` is valid only for a server with `url`");
        }
        let words = texts(&command.value);
        if words.first().is_none_or(String::is_empty) {
            if matches!(command.value.value, Value::List(_)) {
                self.fault(&command.value.position, super::NO_PROGRAM);
            }
            return None;
        }
        Some(Upstream::Command(words))
    }

    fn read_url_server(&mut self, node: &Node, url: &Entry) -> Option<Upstream> {
        if let Some(env) = node.entry("env") {
            self.fault(&env.at, "`env` is valid only for a server with `command`");
        }
        let address = url.value.as_text()?;
        let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
        let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        if host.is_some_and(|host| host.contains('@')) {
            // The message does not repeat the URL, because the part before the `@` may be a secret.
            self.fault_with_hint(
                &url.value.position,
                "the URL contains a user name or password",
                "put the secret in a file and set `token_file` to its path",
            );
            return None;
        }
        if host.is_none_or(str::is_empty) || address.chars().any(|c| c.is_whitespace() || c.is_control()) {
            let message = format!("invalid URL `{}`", escape(address));
            let hint = "write a URL that starts with `http://` or `https://`";
            self.fault_with_hint(&url.value.position, message, hint);
        }
        let token_file = node.get("token_file").and_then(|node| self.read_path(node));
        Some(Upstream::Url { url: address.to_owned(), token_file })
    }
}

fn ask_by(node: &Node) -> Vec<AskBy> {
    let word = |item: &Node| match text(Some(item)) {
        Some("terminal") => Some(AskBy::Terminal),
        Some("watch") => Some(AskBy::Watch),
        Some("elicitation") => Some(AskBy::Elicitation),
        Some(_) | None => None,
    };
    node.items().iter().filter_map(word).collect()
}
