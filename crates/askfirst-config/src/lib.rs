//! Reads `askfirst.yaml`: checks a config file, reports all of its errors at once, and merges the layers.

mod backups;
mod check;
mod comments;
mod disk;
mod effective;
mod emit;
pub mod fault;
mod file;
mod floors;
mod keys;
mod layers;
mod loosens;
mod merge;
mod migrate;
mod node;
mod offer;
mod older;
mod own_files;
mod places;
mod project_rules;
#[cfg(test)]
mod properties;
mod quote;
mod read;
mod scalar;
mod schema;
pub mod settings;
pub mod state_file;
#[cfg(test)]
pub(crate) mod testing;
mod text;
pub mod trust;
pub mod words;

pub use askfirst_shell::ShellRule;
pub use backups::{Backup, Backups};
pub use disk::Disk;
pub use effective::{EffectiveLine, effective};
pub use fault::{Fault, Faults};
pub use layers::{LoadOptions, PROJECT_FILE, ProjectTrust, find_project, from_json, load, load_with};
pub use migrate::{Migration, Migration as Migrated, migrate};
pub use offer::section_that_offers;
pub use places::Places;
pub use project_rules::{MainRules, Project, ProjectRule, RuleScope, RulesInForce};
pub use quote::find_closest;
pub use scalar::parse_duration;
pub use schema::schema;
pub use settings::*;
pub use state_file::StateFileError;
