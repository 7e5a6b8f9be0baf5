//! Tests of the file tools on real folders.

mod between;
mod changes;
mod confined;
mod cwd;
mod each_check;
mod forbidden;
mod hostile;
mod reading;
mod rules;
mod shown;
mod writing;

use std::collections::BTreeMap;
use std::path::PathBuf;

use askfirst::record::CommitRecord;
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, Assessment, Because, ChangedPath, Digest, Effects,
    EffectsPolicy, PathChange, PathLevel, RunBasis, Shown, ToolError, View,
};
use askfirst_config::{Config, PathApproval, PathConfig, PathMode, Settings};
use serde_json::Value;
use tempfile::TempDir;

use super::{ChangeGuard, FileTools, KeptChanges, PlannedChange, RootView};

/// Knows the files that are always shown by their names.
struct ByName;

impl ChangeGuard for ByName {
    fn effects(
        &self,
        _: &RootView<'_>,
        changes: &[PlannedChange<'_>],
    ) -> Result<(Effects, EffectsPolicy), String> {
        let changed = changes.iter().map(|change| ChangedPath {
            path: change.path.display().to_string(),
            change: PathChange::Changed,
            level: askfirst_shell::protection(&change.path)
                .map_or(PathLevel::Ordinary, |(_, why)| PathLevel::Shown(why.into())),
            write: Approval::None,
            because: None,
            is_in_git: false,
        });
        let effects = Effects { digest: Digest::of(""), changes: changed.collect(), facts: Vec::new() };
        let policy = EffectsPolicy {
            basis: RunBasis::Approval,
            asks_about_removals: false,
            undo_obstacle: None,
            accepted: Vec::new(),
        };
        Ok((effects, policy))
    }

    fn keep(&self, _: &[PlannedChange<'_>], _: &str, _: &str) -> Result<Box<dyn KeptChanges>, String> {
        Ok(Box::new(Nothing))
    }

    fn mark_logged(&self, _: &[CommitRecord]) {}
}

struct Nothing;

impl KeptChanges for Nothing {
    fn settle(self: Box<Self>) -> Vec<CommitRecord> {
        Vec::new()
    }
}

pub(super) fn open(config: &Config) -> Result<FileTools, super::FilesError> {
    FileTools::new(config, std::sync::Arc::new(ByName))
}

/// A temporary folder with roots and floors.
pub(super) struct World {
    pub(super) folder: TempDir,
    pub(super) main: Settings,
    pub(super) floors: Vec<Settings>,
}

/// A writable root whose calls need no approval.
pub(super) fn free() -> PathConfig {
    PathConfig {
        root: PathBuf::new(),
        mode: PathMode::Rw,
        suffixes: Vec::new(),
        max_file_bytes: None,
        products: Vec::new(),
        approval: PathApproval { read: Approval::None, write: Approval::None, attach: Approval::None },
        origin: Because::built_in("sandbox.paths", "a root"),
    }
}

/// A writable root whose writes need approval.
pub(super) fn asking() -> PathConfig {
    PathConfig { approval: PathApproval::default(), ..free() }
}

pub(super) fn read_only() -> PathConfig {
    PathConfig { mode: PathMode::Ro, ..free() }
}

impl World {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), main: Settings::default(), floors: Vec::new() }
    }

    /// Creates a folder with one free root `w` in the folder `w`.
    pub(super) fn with_w() -> Self {
        Self::new().root("w", "w", free())
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    pub(super) fn root(mut self, name: &str, folder: &str, config: PathConfig) -> Self {
        std::fs::create_dir_all(self.path(folder)).unwrap();
        let config = PathConfig { root: self.path(folder), ..config };
        self.main.sandbox.paths.insert(name.to_owned(), config);
        self
    }

    pub(super) fn floor(mut self, folder: &str, config: PathConfig) -> Self {
        let config = PathConfig { root: self.path(folder), ..config };
        let mut floor = Settings::default();
        floor.sandbox.paths.insert("floor".to_owned(), config);
        self.floors.push(floor);
        self
    }

    pub(super) fn never_read(mut self, rule: &str) -> Self {
        self.main.sandbox.never_read.push(rule.to_owned());
        self
    }

    pub(super) fn put(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(super) fn link(self, target: &str, path: &str) -> Self {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
        self
    }

    pub(super) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    pub(super) fn tools(&self) -> FileTools {
        let mut config = Config::alone(self.main.clone(), self.path(""));
        config.floors = self.floors.clone();
        open(&config).unwrap()
    }

    pub(super) fn call(&self, tool: &str, args: Value) -> Result<Value, ToolError> {
        call(&self.tools(), tool, args)
    }

    pub(super) fn check(&self, tool: &str, args: Value) -> Assessment {
        self.tools().check_approval(&context(tool, args))
    }

    /// Returns the approval that a call needs, or `Deny` if it is blocked.
    pub(super) fn needs(&self, tool: &str, args: Value) -> Approval {
        needs(&self.tools(), tool, args)
    }

    /// Returns the reason why a call is blocked.
    pub(super) fn blocked(&self, tool: &str, args: Value) -> String {
        match self.check(tool, args.clone()).view {
            View::Blocked(why) => {
                // A blocked call does not run even if it was never assessed.
                self.call(tool, args).unwrap_err();
                assert!(!why.contains(&*self.path("").to_string_lossy()), "a host path leaks: {why}");
                why
            }
            other => panic!("not blocked: {other:?}"),
        }
    }

    pub(super) fn shown(&self, tool: &str, args: Value) -> (Assessment, Shown) {
        let tools = self.tools();
        let call = context(tool, args);
        let assessment = tools.check_approval(&call);
        let View::NeedsApproval(request) = &assessment.view else {
            panic!("needs no approval: {assessment:?}")
        };
        let shown = tools.present(&call, request);
        (assessment, shown)
    }

    /// Returns the content of every file below the folder, by path.
    pub(super) fn all(&self) -> BTreeMap<String, Option<String>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.path("")).unwrap().to_str().unwrap().to_owned();
                let content = std::fs::read_to_string(&path).ok();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                }
                found.insert(name, content);
            }
        }
        found
    }
}

pub(super) fn context(tool: &str, args: Value) -> ApprovalContext {
    ApprovalContext::new(tool, args.as_object().unwrap().clone())
}

pub(super) fn call(tools: &FileTools, tool: &str, args: Value) -> Result<Value, ToolError> {
    tools.run(&context(tool, args), None, "").result
}

pub(super) fn call_with(
    tools: &FileTools,
    tool: &str,
    args: Value,
    basis: Option<Value>,
) -> Result<Value, ToolError> {
    tools.run(&context(tool, args), basis.as_ref(), "").result
}

pub(super) fn needs(tools: &FileTools, tool: &str, args: Value) -> Approval {
    match tools.check_approval(&context(tool, args)).view {
        View::Harmless => Approval::None,
        View::NeedsApproval(request) => request.approval,
        View::Blocked(_) => Approval::Deny,
        View::Silent => panic!("the file tools must assess their own calls"),
    }
}
