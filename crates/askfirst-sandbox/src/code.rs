//! The code of the program itself, as far as the system has it at hand for this process.

use std::fs;
use std::ops::Range;

/// Lets go of the code that has been used so far. What is used again comes back from the system's cache, page by page: for
/// whoever starts once and then does little for long, most of it never does.
pub fn let_go_of_code() {
    let here = let_go_of_code as *const () as usize;
    let Some(code) = fs::read_to_string("/proc/self/maps").ok().and_then(|maps| code_at(&maps, here)) else {
        return;
    };
    // SAFETY: these pages hold a file's bytes, cannot be written and never could, so that nothing is in them but what
    // the next look brings back. It is advice: whether it is taken does not matter.
    unsafe {
        libc::madvise(code.start as *mut libc::c_void, code.len(), libc::MADV_DONTNEED);
    }
}

/// Where the code lies that `here` is part of: pages of a file that can be run and neither written nor shared.
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

    /// How many pages of the program's code are at hand, in kB.
    fn at_hand() -> usize {
        let here = let_go_of_code as *const () as usize;
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let start = format!("{:x}-", code_at(&maps, here).unwrap().start);
        let mut lines = maps.lines().skip_while(|line| !line.starts_with(&start));
        let line = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    #[test]
    fn what_is_let_go_comes_back_as_it_was() {
        let sorted = || {
            let mut words: Vec<String> = (0..1000).map(|n| format!("{:?}", n * 7919 % 1000)).collect();
            words.sort();
            words
        };
        let (before, had) = (sorted(), at_hand());
        let_go_of_code();
        let has = at_hand();
        assert!(has < had, "{has} of {had} kB");
        assert_eq!(sorted(), before);
    }

    #[test]
    fn only_code_of_a_file_that_nobody_can_write_is_let_go() {
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
