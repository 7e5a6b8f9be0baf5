//! What may be done at one place: a root's own settings, made stricter by whatever else speaks about the place.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use askfirst_config::{PathApproval, PathConfig, PathMode};

/// What may be done at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rights {
    pub(crate) mode: PathMode,
    /// A name must end as each of the lists allows. An empty list allows every name.
    pub(crate) suffixes: Vec<Vec<String>>,
    pub(crate) max_file_bytes: Option<u64>,
    pub(crate) approval: PathApproval,
}

impl Rights {
    pub(crate) fn of(config: &PathConfig) -> Self {
        Self {
            mode: config.mode,
            suffixes: if config.suffixes.is_empty() { Vec::new() } else { vec![config.suffixes.clone()] },
            max_file_bytes: config.max_file_bytes,
            approval: config.approval,
        }
    }

    /// The strictest of both.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.mode = self.mode.min(other.mode);
        for list in &other.suffixes {
            if !self.suffixes.contains(list) {
                self.suffixes.push(list.clone());
            }
        }
        self.max_file_bytes = match (self.max_file_bytes, other.max_file_bytes) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.approval = PathApproval {
            read: self.approval.read.max(other.approval.read),
            write: self.approval.write.max(other.approval.write),
            attach: self.approval.attach.max(other.approval.attach),
        };
        self
    }

    /// Whether files of this name are touched.
    pub(crate) fn takes(&self, name: &OsStr) -> bool {
        let ends = |suffix: &String| name.as_bytes().ends_with(suffix.as_bytes());
        self.suffixes.iter().all(|list| list.iter().any(ends))
    }

    /// Whether files of this size are touched.
    pub(crate) fn holds(&self, bytes: u64) -> bool {
        self.max_file_bytes.is_none_or(|max| bytes <= max)
    }

    /// The suffixes in words.
    pub(crate) fn suffixes_text(&self) -> String {
        self.suffixes.iter().map(|list| list.join(", ")).collect::<Vec<_>>().join("; and of these: ")
    }
}
