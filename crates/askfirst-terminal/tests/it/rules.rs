//! Rules of the prompt, each as a thing that must not happen.
//!
//! `./test guards` takes each rule out of a copy of the sources and expects its test to fail.

mod content;
mod input;
mod looks;
