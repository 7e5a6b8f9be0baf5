//! Starts one program, with or without an OS sandbox, and returns how it ended and what it printed.
//!
//! This crate does not decide whether a program may run.
//! It knows nothing about config files, rules or approval.
//!
//! A [`Spec`] says what to run. An [`OSProfile`] says what the program may reach.
//! The two are separate values. So the same code builds a `Spec`, holds a [`Stop`] and reads a [`LaunchOutcome`], with and
//! without a sandbox.
//!
//! - [`launch()`] starts a program without a sandbox. The program gets its own session, none of our descriptors and none
//!   of our environment. No process of it is left when `launch` returns.
//! - [`launch_in_sandbox`] starts a program in a [`Sandbox`], or not at all.
//!
//! Limits of [`launch()`] that the sandbox removes:
//!
//! - It sets resource limits just after the program has started, so the first instructions run without them.
//! - It finds a process that left the session and lost its parent by its environment only. It does not find one that
//!   cleared its environment, or hides it (a set-uid or non-dumpable program).
//! - As root, a program may raise its limits again, and the number of processes is not limited.
//! - Outside Linux, only the process group is killed, and only the limits on time and output are available.
//!
//! On glibc systems, version 2.34 or newer is required.

#![allow(
    unsafe_code,
    reason = "posix_spawn and the signal mask have no safe interface; see spawn.rs and feed.rs"
)]

#[cfg(not(unix))]
compile_error!("askfirst-sandbox supports Unix systems only");

mod capture;
mod code_pages;
mod error;
mod feed;
mod free_memory;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod isolation;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "other_systems.rs"]
mod isolation;
mod launch;
mod limits;
mod marker;
mod prepare;
#[cfg(target_os = "linux")]
mod process;
mod profile;
mod reaper;
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
mod unproven;

pub use capture::{Capture, CaptureBuffer};
pub use code_pages::release_code_pages;
pub use error::{LaunchError, SpecPart};
pub use free_memory::release_free_memory;
pub use isolation::{
    Attempt, Helper, HelperError, LoopbackNetwork, NoView, ProbeError, Sandbox, SandboxRun, Tier, Violation,
    attach_in_sandbox, landlock_version, launch_in_sandbox, run_helper_if_requested,
};
pub use launch::launch;
pub use profile::{
    Denial, DeniedPath, Descriptors, Grant, Identity, KeptFolder, Network, OSProfile, SYSTEM_PATHS, User,
    View,
};
pub use spec::{End, Lasts, LaunchOutcome, Limits, Output, OutputListener, RunFacts, Spec, Stdin};
pub use stop::Stop;
pub use unproven::UnprovenSandbox;

/// Old names of public items, for code that has not been updated yet.
#[doc(hidden)]
mod old_names {
    pub use crate::capture::{Capture as Captured, CaptureBuffer as Keeper};
    pub use crate::code_pages::release_code_pages as let_go_of_code;
    pub use crate::error::SpecPart as Place;
    pub use crate::isolation::{
        Attempt as Tried, ProbeError as NoWalls, Sandbox as Walls, SandboxRun as Behind,
        attach_in_sandbox as attach_behind, launch_in_sandbox as launch_behind,
        run_helper_if_requested as main_if_helper,
    };
    pub use crate::profile::DeniedPath as Denied;
    pub use crate::spec::{LaunchOutcome as Finished, OutputListener as Heard};
}
#[doc(hidden)]
pub use old_names::*;
