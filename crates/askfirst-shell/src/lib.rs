//! From a command line to a verdict.
//!
//! [`Script`] reads a line into every program that it would start. [`ShellPolicy::judge`] judges each program by the
//! rules, the roots and the facts in its program table; the strictest result decides ([`Judged`]). This crate never allows
//! a line that it cannot understand. It starts nothing, knows nothing of prompts or config files, and does no I/O of its
//! own: the caller passes the file system as a [`World`].

mod aliases;
mod assumptions;
mod deciding;
mod examples;
mod file_level;
mod fill;
mod filters;
mod fold;
mod glob;
mod judged;
mod line;
mod lists;
mod match_deny;
mod match_words;
mod open;
mod orders;
mod path_rules;
mod paths;
mod pattern;
mod payload;
mod programs;
mod reach;
mod real;
mod roots;
mod rules;
mod sandbox_view;
mod script;
mod secrets;
mod start;
mod touched;
mod variables;
mod verdict;
mod world;

pub use deciding::Deciding;
pub use examples::rule_matches;
pub use file_level::{FileLevel, level_of, never_below, never_in_folder, never_written, protection};
pub use fold::fold_text;
pub use judged::{Judged, Reason, Row};
pub use path_rules::{BadPathRule, Names, PathRules};
pub use payload::CommandCall;
pub use roots::{Governed, Roots};
pub use rules::{BadPattern, Layer, LayerValues, NetworkAccess, ShellRule};
pub use sandbox_view::{Masked, SandboxView};
pub use script::{Script, ShellPolicy};
pub use secrets::is_secret;
pub use start::Start;
pub use world::{Empty, FileInfo, FileKind, Link, Listing, World};

#[doc(hidden)]
#[allow(non_upper_case_globals, reason = "this constant was a variant")]
impl Masked {
    pub const ByWalls: Self = Self::BySandbox;
}
