//! The user and the place of this process, as the operating system reports them. Environment variables do not count,
//! because the parent process sets them.

use std::fs;

use askfirst::record::ProcessOrigin;
use rustix::termios::ttyname;

/// Returns the user, the host and the terminal of this process.
#[must_use]
pub fn of_this_process() -> ProcessOrigin {
    let uid = rustix::process::getuid().as_raw();
    ProcessOrigin {
        uid,
        user: fs::read("/etc/passwd").ok().and_then(|users| name_of(&users, uid)),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        terminal: terminal(),
    }
}

/// Finds the name of a user in the text of `/etc/passwd`. A user from a directory service is not in it.
fn name_of(users: &[u8], uid: u32) -> Option<String> {
    let users = String::from_utf8_lossy(users);
    users.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next().filter(|name| !name.is_empty())?;
        let found: u32 = parts.nth(1)?.parse().ok()?;
        (found == uid).then(|| name.to_owned())
    })
}

/// Returns the terminal that a standard stream is connected to, or else the one that controls the process.
fn terminal() -> Option<String> {
    let streams = [rustix::stdio::stdin(), rustix::stdio::stderr(), rustix::stdio::stdout()];
    let named = streams.into_iter().find_map(|stream| ttyname(stream, Vec::new()).ok());
    let named = named.map(|name| name.to_string_lossy().into_owned());
    named.or_else(|| controlling(&fs::read_to_string("/proc/self/stat").ok()?))
}

/// Returns the terminal that controls a process, from the text of its `/proc/PID/stat`.
fn controlling(stat: &str) -> Option<String> {
    // The name of the program is in parentheses and may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let number: u32 = rest.split_whitespace().nth(4)?.parse().ok()?;
    let (major, minor) = (number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xf_ff00);
    match major {
        4 if minor < 64 => Some(format!("/dev/tty{minor}")),
        4 => Some(format!("/dev/ttyS{}", minor - 64)),
        136..=143 => Some(format!("/dev/pts/{}", (major - 136) * 256 + minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_name_comes_from_the_line_with_the_uid() {
        let users =
            b"root:x:0:0:root:/root:/bin/sh\n:x:7::\nbad\nann\xff:x:1000:1::/home/ann:\nb:x:1000:1::/:\n";
        assert_eq!(name_of(users, 0).as_deref(), Some("root"));
        assert_eq!(name_of(users, 1000).as_deref(), Some("ann\u{fffd}"));
        assert_eq!((name_of(users, 7), name_of(users, 5)), (None, None));
    }

    #[test]
    fn controlling_terminal_is_read_from_the_process_status() {
        let stat = |tty: u32| format!("7 (a) 1 2 3 (b) S 1 7 7 {tty} 7 4194304 1");
        assert_eq!(controlling(&stat(136 << 8 | 3)).as_deref(), Some("/dev/pts/3"));
        assert_eq!(controlling(&stat(137 << 8 | 1)).as_deref(), Some("/dev/pts/257"));
        assert_eq!(controlling(&stat(136 << 8 | 5 | 1 << 20)).as_deref(), Some("/dev/pts/261"));
        assert_eq!(controlling(&stat(4 << 8 | 2)).as_deref(), Some("/dev/tty2"));
        assert_eq!((controlling(&stat(0)), controlling("7 (a) S 1")), (None, None));
    }
}
