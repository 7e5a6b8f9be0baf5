//! Keeps the helper, PID 1 and the start of the program on one processor.
//!
//! They take cpu_pin, and waking another processor takes longer than most of their work. This is an optimization only, so
//! errors are ignored. The program gets back the processors that the helper had.

use std::mem;

use libc::cpu_set_t;

/// The processors that this process may use, or `None` if it could not be pinned.
#[derive(Clone, Copy)]
pub(super) struct CpuPin(Option<cpu_set_t>);

impl CpuPin {
    /// Pins this thread, and what it starts, to its current processor.
    pub(super) fn start() -> Self {
        // SAFETY: all zero is a valid value of this plain structure, which has the given size.
        let all = unsafe {
            let mut all: cpu_set_t = mem::zeroed();
            (libc::sched_getaffinity(0, size_of::<cpu_set_t>(), &mut all) == 0).then_some(all)
        };
        let cpu_pin = Self(all);
        cpu_pin.pin();
        cpu_pin
    }

    /// Pins this thread to its current processor.
    pub(super) fn pin(&self) {
        // SAFETY: no memory is passed.
        let Ok(here) = usize::try_from(unsafe { libc::sched_getcpu() }) else { return };
        if self.0.is_none() || here >= 8 * size_of::<cpu_set_t>() {
            return;
        }
        // SAFETY: all zero is a valid value of this plain structure, and the number is within its range.
        let one = unsafe {
            let mut one: cpu_set_t = mem::zeroed();
            libc::CPU_SET(here, &mut one);
            one
        };
        set(&one);
    }

    /// Allows this thread, and what it starts, to use all processors again.
    pub(super) fn release(&self) {
        if let Some(all) = &self.0 {
            set(all);
        }
    }
}

fn set(cpus: &cpu_set_t) {
    // SAFETY: the structure lives and has the given size.
    unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), cpus) };
}
