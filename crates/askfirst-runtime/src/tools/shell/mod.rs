//! The shell tools: commands understood, not guessed.

pub(crate) mod line;
pub(crate) mod programs;
