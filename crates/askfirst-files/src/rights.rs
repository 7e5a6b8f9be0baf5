//! The rights at a location: the settings of its root, made stricter by the floors.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use askfirst_config::{PathApproval, PathConfig, PathMode};

/// The rights at a location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rights {
    pub(crate) mode: PathMode,
    /// Lists of allowed suffixes. A file name must match each list.
    pub(crate) suffixes: Vec<Vec<String>>,
    pub(crate) max_file_bytes: Option<u64>,
    pub(crate) approval: PathApproval,
}

impl Rights {
    pub(crate) fn from_config(config: &PathConfig) -> Self {
        Self {
            mode: config.mode,
            suffixes: if config.suffixes.is_empty() { Vec::new() } else { vec![config.suffixes.clone()] },
            max_file_bytes: config.max_file_bytes,
            approval: config.approval,
        }
    }

    /// Combines two sets of rights. Each value of the result is the stricter one.
    pub(crate) fn strictest(mut self, other: &Self) -> Self {
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

    /// Returns true if the suffix of a file name is allowed.
    pub(crate) fn allows_name(&self, name: &OsStr) -> bool {
        let ends = |suffix: &String| name.as_bytes().ends_with(suffix.as_bytes());
        self.suffixes.iter().all(|list| list.iter().any(ends))
    }

    /// Returns true if a file of this size is allowed.
    pub(crate) fn allows_size(&self, bytes: u64) -> bool {
        self.max_file_bytes.is_none_or(|max| bytes <= max)
    }

    /// Describes the allowed suffixes for a message.
    pub(crate) fn describe_suffixes(&self) -> String {
        self.suffixes.iter().map(|list| list.join(", ")).collect::<Vec<_>>().join("; and of these only: ")
    }
}
