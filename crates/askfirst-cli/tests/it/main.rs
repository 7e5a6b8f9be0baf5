//! The project as a whole: its rooms, and the command line as its users meet it.

mod commands;
mod guide;
mod spec;
mod tidy;
