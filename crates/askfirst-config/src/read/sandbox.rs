//! The section `sandbox`: roots, what is never touched, and the walls.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::{Reader, approval, size, text, texts};
use crate::node::{Entry, Node};
use crate::quote::quoted;
use crate::settings::{Fallback, OSProfile, PathApproval, PathConfig, PathMode, SandboxConfig, Tier};

impl Reader<'_> {
    pub(super) fn sandbox(&mut self, node: Option<&Node>) -> SandboxConfig {
        let Some(node) = node else { return SandboxConfig::default() };
        let paths = self.roots(node.get("paths"));
        let profile = node.get("os_profile").filter(|profile| profile.is_map());
        let os_profile = profile.map(|profile| OSProfile {
            read: self.profile_paths(profile.get("read"), &paths),
            write: self.profile_paths(profile.get("write"), &paths),
            network: profile.get("network").and_then(Node::as_bool),
        });
        SandboxConfig {
            paths,
            never_read: node.get("never_read").map(texts).unwrap_or_default(),
            never_write: node.get("never_write").map(texts).unwrap_or_default(),
            require_os_sandbox: node.get("require_os_sandbox").and_then(Node::as_bool),
            os_sandbox_fallback: match text(node.get("os_sandbox_fallback")) {
                Some("refuse_tools") => Fallback::RefuseTools,
                _ => Fallback::FailFast,
            },
            os_sandbox_min: match text(node.get("os_sandbox_min")) {
                Some("content-only") => Tier::ContentOnly,
                _ => Tier::Full,
            },
            os_profile,
        }
    }

    fn profile_paths(
        &mut self,
        node: Option<&Node>,
        roots: &BTreeMap<String, PathConfig>,
    ) -> Option<Vec<PathBuf>> {
        let writable: Vec<&PathConfig> = roots.values().filter(|root| root.mode == PathMode::Rw).collect();
        let mut paths = Vec::new();
        for item in node?.items() {
            let Some(path) = self.path(item) else { continue };
            self.check_link("the path", item, &path, &writable);
            paths.push(super::paths::follow(&path));
        }
        Some(paths)
    }

    fn roots(&mut self, node: Option<&Node>) -> BTreeMap<String, PathConfig> {
        let mut roots: BTreeMap<String, PathConfig> = BTreeMap::new();
        let mut names: HashMap<PathBuf, String> = HashMap::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
            let Some(root) = self.root(entry) else { continue };
            if let Some(other) = names.insert(root.root.clone(), entry.key.clone()) {
                let message = format!("`{}` is the same folder as `{}`", quoted(&entry.key), quoted(&other));
                self.fault_with_hint(&entry.at, message, "a folder is one root, so join the two");
            }
            roots.insert(entry.key.clone(), root);
        }
        for entry in node.map(Node::entries).unwrap_or_default() {
            self.check_way(entry, &roots);
        }
        roots
    }

    /// A root must not be reached by a link that lies in a root which can be written: whoever writes there would choose
    /// what the root is.
    fn check_way(&mut self, entry: &Entry, roots: &BTreeMap<String, PathConfig>) {
        let Some(root) = entry.value.get("root").filter(|_| roots.contains_key(&entry.key)) else { return };
        let Some(path) = self.path(root) else { return };
        let others = roots.iter().filter(|(name, other)| **name != entry.key && other.mode == PathMode::Rw);
        let others: Vec<&PathConfig> = others.map(|(_, other)| other).collect();
        self.check_link("the root", root, &path, &others);
    }

    /// What a link leads to that lies in one of these is up to whoever writes there.
    fn check_link(&mut self, what: &str, node: &Node, path: &Path, writable: &[&PathConfig]) {
        let found = super::paths::link_on_the_way(path, |folder| {
            writable.iter().any(|root| folder.starts_with(&root.root))
        });
        if let Some(link) = found {
            let message = format!(
                "{what} `{}` is reached by the link `{}`, which lies in a root that can be written",
                node.brief(),
                quoted(&link.display().to_string())
            );
            self.fault_with_hint(&node.place, message, "name the folder itself");
        }
    }

    fn root(&mut self, entry: &Entry) -> Option<PathConfig> {
        let node = &entry.value;
        if !node.is_map() && !node.is_null() {
            return None;
        }
        let Some(root) = node.get("root") else {
            self.fault_with_hint(
                &entry.at,
                format!("the root `{}` has no `root`", quoted(&entry.key)),
                "name its folder",
            );
            return None;
        };
        let path = self.path(root)?;
        let shown = root.brief();
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(error) => {
                let message = format!("the root `{shown}` does not exist: {}", reason(&error));
                self.fault_with_hint(&root.place, message, "make the folder, or name another");
                return None;
            }
        };
        if !path.is_dir() {
            self.fault(&root.place, format!("the root `{shown}` is not a folder"));
            return None;
        }
        let mode = match text(node.get("mode")) {
            Some("rw") => PathMode::Rw,
            _ => PathMode::Ro,
        };
        let word = if mode == PathMode::Rw { "rw" } else { "ro" };
        let rule = format!("sandbox.paths.{}", quoted(&entry.key));
        Some(PathConfig {
            root: path,
            mode,
            suffixes: self.suffixes(node.get("suffixes")),
            max_file_bytes: size(node.get("max_file_bytes")),
            approval: path_approval(node.get("approval")),
            origin: self.because(&rule, &entry.at, format!("root: {shown}, mode: {word}")),
        })
    }

    fn suffixes(&mut self, node: Option<&Node>) -> Vec<String> {
        let Some(node) = node else { return Vec::new() };
        if matches!(&node.value, crate::node::Value::List(items) if items.is_empty()) {
            self.fault_with_hint(
                &node.place,
                "the list of suffixes is empty",
                "leave `suffixes` out for all files",
            );
        }
        for item in node.items() {
            let bad =
                item.as_text().filter(|text| !text.starts_with('.') || text.len() < 2 || text.contains('/'));
            if let Some(text) = bad {
                let message = format!("`{}` is not a suffix", quoted(text));
                self.fault_with_hint(&item.place, message, "a suffix begins with a dot, such as `.md`");
            }
        }
        texts(node)
    }
}

fn path_approval(node: Option<&Node>) -> PathApproval {
    let default = PathApproval::default();
    let Some(node) = node else { return default };
    let read = approval(node.get("read")).unwrap_or(default.read);
    PathApproval {
        read,
        write: approval(node.get("write")).unwrap_or(default.write),
        attach: approval(node.get("attach")).unwrap_or(read),
    }
}

/// The cause of an error without the number of the system.
pub(super) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such folder".to_owned(),
        kind => kind.to_string(),
    }
}
