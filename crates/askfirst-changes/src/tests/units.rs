//! Small parts alone.
