//! Returns memory that this program has freed to the system.

/// Returns the memory that the allocator keeps for later use to the system.
///
/// The allocator of glibc keeps freed memory below a block that is still in use, in each thread's own heap.
pub fn release_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes the locks of the allocator and changes only memory that no one uses.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::release_free_memory;

    /// Returns the size of the memory of this process, in kB.
    fn resident_size() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    #[test]
    fn freed_memory_below_used_blocks_is_released() {
        let mut blocks: Vec<Vec<u8>> = (0..2_000).map(|_| vec![1; 100 << 10]).collect();
        // Used blocks between the free ones keep the allocator from returning any of them.
        for block in &mut blocks {
            *block = vec![1; 100];
        }
        let kept = resident_size();
        release_free_memory();
        let left = resident_size();
        assert!(left + 100_000 < kept, "{left} of {kept} kB");
        assert!(blocks.iter().all(|block| block.iter().all(|byte| *byte == 1)));
    }
}
