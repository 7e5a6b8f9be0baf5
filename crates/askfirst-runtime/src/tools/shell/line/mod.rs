//! From the text of a command line to a [`tree::Line`]: never guesses; what is not surely understood is a gap.

pub(crate) mod tree;
