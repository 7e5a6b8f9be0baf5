//! What a person is shown, as data: one tree that every door renders.
//!
//! Everything that a tool or an agent wrote is escaped here, visibly and counted, and carries a gutter in every
//! line. No renderer gets raw text, so none can forget to escape it.

mod command;
pub mod diff;
pub mod escape;
mod highlight;
pub mod line;
pub mod offer;
pub mod page;
pub mod target;
mod text;
pub mod time;
pub mod tone;
mod tree;

pub use escape::{Piece, PieceKind, Visible, odd_letters, visible, visible_bytes, visible_line};
pub use line::{Change, Line, Part, Row};
pub use offer::{Choice, Offer, Offers};
pub use page::{Hidden, Page, PageOptions, Preview, Stand};
pub use tone::{Token, Tone};
