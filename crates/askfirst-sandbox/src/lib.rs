//! Starts one program and brings back how it ended and what it printed; refuses to know why it may run.
//!
//! A [`Spec`] says what to run, never behind which walls: walls are a value of their own, handed in beside the
//! `Spec`, so that whoever builds a `Spec`, holds a [`Stop`] or reads a [`Finished`] does not change with them.
//! [`launch`] is the plain launcher: a session of its own, no inherited descriptor, no inherited environment, and
//! no process left when it returns. It walls nothing off.
//!
//! What the plain launcher cannot promise, and the walls must:
//!
//! - limits are set on the program just after it has started, so its first instructions run without them;
//! - a process that leaves the session and loses its parent is only found by its environment, so not if it has
//!   cleared that or hides it (a set-uid or non-dumpable program);
//! - as root, a program may raise its limits again, and the number of processes is not limited at all;
//! - outside Linux only the process group is ended, and limits other than time and output are refused.
//!
//! With glibc it takes 2.34 or newer.

#![allow(
    unsafe_code,
    reason = "posix_spawn and the signal mask have no safe interface; see spawn.rs and feed.rs"
)]

#[cfg(not(unix))]
compile_error!("processes can only be started behind walls on Unix systems");

mod capture;
mod code;
mod collect;
mod error;
mod feed;
mod launch;
mod limits;
mod marker;
mod prepare;
#[cfg(target_os = "linux")]
mod process;
mod profile;
#[cfg(target_os = "linux")]
mod search;
#[cfg(any(test, target_os = "macos"))]
mod seatbelt;
mod spawn;
mod spec;
mod stop;
#[cfg(target_os = "linux")]
mod terminal;
mod tree;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod walls;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "elsewhere.rs"]
mod walls;

pub use capture::{Captured, Keeper};
pub use code::let_go_of_code;
pub use error::{LaunchError, Place};
pub use launch::launch;
pub use profile::{Denial, Denied, Descriptors, Grant, Identity, Network, OSProfile, SYSTEM_PATHS, User};
pub use spec::{End, Finished, Heard, Limits, Output, Spec, Stdin};
pub use stop::Stop;
pub use walls::{
    Behind, Helper, HelperError, NoWalls, Tier, Tried, Violation, Walls, attach_behind, landlock_version,
    launch_behind, main_if_helper,
};
