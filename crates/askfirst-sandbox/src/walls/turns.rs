//! Keeps what takes turns, the helper, PID 1 and the start of the program, on one processor: to wake another takes longer
//! than most of what they do. Only a matter of speed, so what does not work is passed over; the program gets back what
//! the helper had.

use std::mem;

use libc::cpu_set_t;

/// The processors that this process may use, if it has been kept on one of them.
#[derive(Clone, Copy)]
pub(super) struct Turns(Option<cpu_set_t>);

impl Turns {
    /// Keeps this thread, and what it starts, where it is.
    pub(super) fn begin() -> Self {
        // SAFETY: all zero is a valid value of this plain structure, which is as large as is said.
        let all = unsafe {
            let mut all: cpu_set_t = mem::zeroed();
            (libc::sched_getaffinity(0, size_of::<cpu_set_t>(), &mut all) == 0).then_some(all)
        };
        let turns = Self(all);
        turns.keep();
        turns
    }

    /// Keeps this thread where it is now.
    pub(super) fn keep(&self) {
        // SAFETY: no memory is passed.
        let Ok(here) = usize::try_from(unsafe { libc::sched_getcpu() }) else { return };
        if self.0.is_none() || here >= 8 * size_of::<cpu_set_t>() {
            return;
        }
        // SAFETY: all zero is a valid value of this plain structure, and the number lies in it.
        let one = unsafe {
            let mut one: cpu_set_t = mem::zeroed();
            libc::CPU_SET(here, &mut one);
            one
        };
        set(&one);
    }

    /// Lets this thread, and what it starts, use all that it had.
    pub(super) fn free(&self) {
        if let Some(all) = &self.0 {
            set(all);
        }
    }
}

fn set(cpus: &cpu_set_t) {
    // SAFETY: the structure lives, and is as large as is said.
    unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), cpus) };
}
