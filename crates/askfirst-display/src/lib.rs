//! Builds the content that a person sees, as data, so that every front end can draw it.
//!
//! Text that a tool or an agent wrote is escaped here.
//! The escapes are visible and counted, and every line of such text has a gutter.
//! Front ends never get raw text, so none of them can forget to escape it.

mod command;
pub mod diff;
pub mod escape;
mod highlight;
pub mod line;
pub mod offer;
pub mod page;
pub mod redact;
pub mod target;
mod text;
pub mod time;
pub mod tone;
mod tree;

pub use escape::{Piece, PieceKind, VisibleText, non_ascii_letters, visible, visible_bytes, visible_line};
pub use line::{Change, Line, Part, Row};
pub use offer::{Choice, Lifetime, Offer, Offers};
pub use page::{Extent, HiddenCounts, Page, PageOptions, Preview};
pub use tone::{Token, Tone};
