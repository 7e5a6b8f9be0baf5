//! Releases the memory pages that hold the code of this program.

use std::fs;
use std::ops::Range;

/// Releases the code pages that this process has used so far. Pages that are used again come back from the page cache.
///
/// This saves memory in a process that does much at its start and little afterwards.
pub fn release_code_pages() {
    let here = release_code_pages as *const () as usize;
    let Some(code) = fs::read_to_string("/proc/self/maps").ok().and_then(|maps| code_at(&maps, here)) else {
        return;
    };
    // SAFETY: these pages map a file, are not writable and never were, so the next access loads the same bytes again.
    // The call is a hint: nothing depends on its result.
    unsafe {
        libc::madvise(code.start as *mut libc::c_void, code.len(), libc::MADV_DONTNEED);
    }
}

/// Returns the mapping that contains `here`, if it is file-backed, executable, private and not writable.
fn code_at(maps: &str, here: usize) -> Option<Range<usize>> {
    maps.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let place = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        let code = fields.next()? == "r-xp" && fields.nth(3)?.starts_with('/');
        (code && place.contains(&here)).then_some(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size of the program's resident code pages, in kB.
    fn resident_size() -> usize {
        let here = release_code_pages as *const () as usize;
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let start = format!("{:x}-", code_at(&maps, here).unwrap().start);
        let mut lines = maps.lines().skip_while(|line| !line.starts_with(&start));
        let line = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    #[test]
    fn released_code_pages_still_run_the_same_code() {
        let sorted = || {
            let mut words: Vec<String> = (0..1000).map(|n| format!("{:?}", n * 7919 % 1000)).collect();
            words.sort();
            words
        };
        let (before, had) = (sorted(), resident_size());
        release_code_pages();
        let has = resident_size();
        assert!(has < had, "{has} of {had} kB");
        assert_eq!(sorted(), before);
    }

    #[test]
    fn only_private_read_only_file_mappings_are_released() {
        let found = |line: &str| code_at(line, 0x5500);
        assert_eq!(found("5000-6000 r-xp 00001000 fe:00 12 /usr/bin/x"), Some(0x5000..0x6000));
        assert_eq!(found("5000-6000 rwxp 00001000 fe:00 12 /usr/bin/x"), None);
        assert_eq!(found("5000-6000 r--p 00001000 fe:00 12 /usr/bin/x"), None);
        assert_eq!(found("5000-6000 r-xs 00001000 fe:00 12 /usr/bin/x"), None);
        assert_eq!(found("5000-6000 r-xp 00000000 00:00 0 [vdso]"), None);
        assert_eq!(found("5000-6000 r-xp 00000000 00:00 0"), None);
        assert_eq!(found("6000-7000 r-xp 00001000 fe:00 12 /usr/bin/x"), None);
        assert_eq!(found("5-6"), None);
    }
}
