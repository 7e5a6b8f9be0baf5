//! Reads the section `sandbox`: the roots, the paths that are never read or written, and the OS sandbox.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::{ConfigReader, approval, size, text, texts};
use crate::node::{Entry, Node, Value};
use crate::quote::escape;
use crate::settings::{
    Fallback, OSProfile, PathApproval, PathConfig, PathMode, SandboxConfig, Tier, ToolchainAccess,
    default_caches, holds_tokens,
};

impl ConfigReader<'_> {
    pub(super) fn read_sandbox(&mut self, node: Option<&Node>) -> SandboxConfig {
        let Some(node) = node else {
            let caches = default_caches(self.base.home.as_deref());
            return SandboxConfig { caches, ..SandboxConfig::default() };
        };
        let paths = self.read_roots(node.get("paths"));
        let profile = node.get("os_profile").filter(|profile| profile.is_map());
        let os_profile = profile.map(|profile| OSProfile {
            read: profile.get("read").map(|node| self.read_process_paths(node.items(), &paths)),
            write: profile.get("write").map(|node| self.read_process_paths(node.items(), &paths)),
            network: profile.get("network").and_then(Node::as_bool),
        });
        let toolchains = self.read_toolchains(node.get("toolchains"), &paths);
        let caches = self.read_caches(node.get("caches"), &paths);
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
            toolchains,
            caches,
            os_profile,
        }
    }

    fn read_toolchains(
        &mut self,
        node: Option<&Node>,
        roots: &BTreeMap<String, PathConfig>,
    ) -> ToolchainAccess {
        let Some(node) = node else { return ToolchainAccess::default() };
        let is_auto = |node: &&Node| node.as_text() == Some("auto");
        let Value::List(items) = &node.value else {
            return ToolchainAccess { auto: is_auto(&node), paths: Vec::new() };
        };
        let home = self.base.home.as_deref().map(super::paths::follow);
        for item in items.iter().filter(|item| !is_auto(item)) {
            let path = item.as_text().and_then(|text| self.expand_path(text).ok());
            let path = path.map(|path| super::paths::follow(&path));
            if path.is_some_and(|path| home.as_ref().is_some_and(|home| home.starts_with(path))) {
                let message = format!(
                    "`toolchains` cannot show `{}`: it is your home folder, or contains it",
                    item.brief()
                );
                self.fault_with_hint(&item.position, message, "write the folder of the program");
            }
        }
        let paths = items.iter().filter(|item| !is_auto(item));
        ToolchainAccess {
            auto: items.iter().any(|item| is_auto(&item)),
            paths: self.read_process_paths(paths, roots),
        }
    }

    fn read_caches(&mut self, node: Option<&Node>, roots: &BTreeMap<String, PathConfig>) -> Vec<PathBuf> {
        let home = self.base.home.clone();
        let Some(node) = node else { return default_caches(home.as_deref()) };
        for item in node.items() {
            let Some(path) = item.as_text().and_then(|text| self.expand_path(text).ok()) else { continue };
            let places = [super::paths::follow(&path), path];
            let is_around = |inner: &Path| places.iter().any(|place| inner.starts_with(place));
            let has_tokens = |home: &Path| places.iter().any(|place| holds_tokens(place, home));
            let root = roots.iter().find(|(_, root)| is_around(&root.root));
            let cause = match (home.as_deref(), root) {
                (Some(home), _) if is_around(home) || is_around(&super::paths::follow(home)) => {
                    "it is your home folder, or contains it".to_owned()
                }
                (Some(home), _) if has_tokens(home) => "it also contains tokens".to_owned(),
                (_, Some((name, _))) => format!("it contains the root `{}`", escape(name)),
                (_, None) => continue,
            };
            let message = format!("`caches` cannot show `{}`: {cause}", item.brief());
            let hint = "write a folder that contains only packages, such as `~/.cargo/registry`";
            self.fault_with_hint(&item.position, message, hint);
        }
        self.read_process_paths(node.items(), roots)
    }

    fn read_process_paths<'n>(
        &mut self,
        items: impl IntoIterator<Item = &'n Node>,
        roots: &BTreeMap<String, PathConfig>,
    ) -> Vec<PathBuf> {
        let writable: Vec<&PathConfig> = roots.values().filter(|root| root.mode == PathMode::Rw).collect();
        let mut paths = Vec::new();
        for item in items {
            let Some(path) = self.read_path(item) else { continue };
            self.refuse_link("the path", item, &path, &writable);
            paths.push(super::paths::follow(&path));
        }
        paths
    }

    fn read_roots(&mut self, node: Option<&Node>) -> BTreeMap<String, PathConfig> {
        let mut roots: BTreeMap<String, PathConfig> = BTreeMap::new();
        let mut names: HashMap<PathBuf, String> = HashMap::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
            let Some(root) = self.read_root(entry) else { continue };
            if let Some(other) = names.insert(root.root.clone(), entry.key.clone()) {
                let (name, other) = (escape(&entry.key), escape(&other));
                let message = format!("the roots `{other}` and `{name}` are the same folder");
                self.fault_with_hint(&entry.at, message, "merge the two into one root");
            }
            roots.insert(entry.key.clone(), root);
        }
        for entry in node.map(Node::entries).unwrap_or_default() {
            self.refuse_linked_root(entry, &roots);
            self.refuse_shared_products(entry, &roots);
        }
        roots
    }

    /// Reports a root that is reached through a link in a writable root.
    ///
    /// A tool that can write there could replace the link and so choose another folder as the root.
    fn refuse_linked_root(&mut self, entry: &Entry, roots: &BTreeMap<String, PathConfig>) {
        let Some(root) = entry.value.get("root").filter(|_| roots.contains_key(&entry.key)) else { return };
        let Some(path) = self.read_path(root) else { return };
        let others = roots.iter().filter(|(name, other)| **name != entry.key && other.mode == PathMode::Rw);
        let others: Vec<&PathConfig> = others.map(|(_, other)| other).collect();
        self.refuse_link("the root", root, &path, &others);
    }

    /// Reports a product folder that lies in a deeper root or contains one.
    fn refuse_shared_products(&mut self, entry: &Entry, roots: &BTreeMap<String, PathConfig>) {
        let Some(own) = roots.get(&entry.key) else { return };
        for item in entry.value.get("products").map(Node::items).unwrap_or_default() {
            let Some(Ok(product)) = item.as_text().map(product_folder) else { continue };
            let path = own.root.join(product);
            for (name, other) in roots.iter().filter(|(name, _)| **name != entry.key) {
                let (shown, name) = (item.brief(), escape(name));
                if other.root.starts_with(&path) {
                    let message = format!("the product folder `{shown}` contains the root `{name}`");
                    self.fault_with_hint(&item.position, message, "remove the product folder or the root");
                } else if path.starts_with(&other.root) && other.root.starts_with(&own.root) {
                    let message = format!("the product folder `{shown}` is in the root `{name}`");
                    let hint = format!("write it under `sandbox.paths.{name}.products`");
                    self.fault_with_hint(&item.position, message, hint);
                }
            }
        }
    }

    /// Reports a path that is reached through a link in one of the writable roots.
    fn refuse_link(&mut self, what: &str, node: &Node, path: &Path, writable: &[&PathConfig]) {
        let link = super::paths::find_link(path, |folder| {
            writable.iter().any(|root| folder.starts_with(&root.root))
        });
        if let Some(link) = link {
            let message = format!(
                "{what} `{}` is reached through the link `{}`, which is in a writable root",
                node.brief(),
                escape(&link.display().to_string())
            );
            self.fault_with_hint(&node.position, message, "write the path without the link");
        }
    }

    fn read_root(&mut self, entry: &Entry) -> Option<PathConfig> {
        let node = &entry.value;
        if !node.is_map() && !node.is_null() {
            return None;
        }
        let Some(root) = node.get("root") else {
            self.fault_with_hint(
                &entry.at,
                format!("the root `{}` has no key `root`", escape(&entry.key)),
                "add `root:` with the path of its folder",
            );
            return None;
        };
        let path = self.read_path(root)?;
        let shown = root.brief();
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(error) => {
                let message = format!("cannot open the root `{shown}`: {}", cause(&error));
                self.fault_with_hint(&root.position, message, "create the folder, or correct the path");
                return None;
            }
        };
        if !path.is_dir() {
            self.fault(&root.position, format!("the root `{shown}` is not a folder"));
            return None;
        }
        let mode = match text(node.get("mode")) {
            Some("rw") => PathMode::Rw,
            _ => PathMode::Ro,
        };
        let word = if mode == PathMode::Rw { "rw" } else { "ro" };
        let rule = format!("sandbox.paths.{}", escape(&entry.key));
        Some(PathConfig {
            root: path,
            mode,
            suffixes: self.read_suffixes(node.get("suffixes")),
            max_file_bytes: size(node.get("max_file_bytes")),
            products: self.read_products(node.get("products")),
            approval: path_approval(node.get("approval")),
            origin: self.because(&rule, &entry.at, format!("root: {shown}, mode: {word}")),
        })
    }

    fn read_products(&mut self, node: Option<&Node>) -> Vec<PathBuf> {
        let mut products = Vec::new();
        for item in node.map(Node::items).unwrap_or_default() {
            let Some(text) = item.as_text() else { continue };
            match product_folder(text) {
                Ok(path) if products.contains(&path) => {}
                Ok(path) => products.push(path),
                Err(cause) => {
                    let message = format!("invalid product folder `{}`: {cause}", escape(text));
                    let hint = "write a folder in the root, such as `target`";
                    self.fault_with_hint(&item.position, message, hint);
                }
            }
        }
        products
    }

    fn read_suffixes(&mut self, node: Option<&Node>) -> Vec<String> {
        let Some(node) = node else { return Vec::new() };
        if matches!(&node.value, crate::node::Value::List(items) if items.is_empty()) {
            self.fault_with_hint(
                &node.position,
                "`suffixes` is empty",
                "remove `suffixes` to allow all files",
            );
        }
        for item in node.items() {
            let bad =
                item.as_text().filter(|text| !text.starts_with('.') || text.len() < 2 || text.contains('/'));
            if let Some(text) = bad {
                let message = format!("invalid suffix `{}`", escape(text));
                let hint = "write a suffix with its dot, such as `.md`";
                self.fault_with_hint(&item.position, message, hint);
            }
        }
        texts(node)
    }
}

/// Returns the path of a product folder, relative to its root.
fn product_folder(text: &str) -> Result<PathBuf, &'static str> {
    if text.is_empty() {
        return Err("the path is empty");
    }
    if text.starts_with(['/', '~']) {
        return Err("the path must be relative to the root");
    }
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    match names.as_slice() {
        [] => Err("it is the root itself"),
        names if names.contains(&"..") => Err("`..` is not allowed"),
        names if names.iter().any(|name| name.eq_ignore_ascii_case(".git")) => {
            Err("commands never write git's own files directly")
        }
        _ if text.contains('*') => Err("wildcards are not supported"),
        names => Ok(names.iter().collect()),
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

/// Describes the cause of an I/O error without its number.
pub(super) fn cause(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such folder".to_owned(),
        kind => kind.to_string(),
    }
}
