//! What is known about programs: tables as data, and what they make of a command's words. See `README.md` here.

pub(crate) mod used;
