//! Reads how often processes in the separate network tried to reach an address outside it.

use std::fs::File;
use std::io::Read;

/// The kernel's counter files, opened early.
pub(super) struct Counters {
    ipv4: Option<File>,
    ipv6: Option<File>,
}

impl Counters {
    pub(super) fn open() -> Self {
        let open = |name: &str| File::open(format!("/proc/self/net/{name}")).ok();
        Self { ipv4: open("snmp"), ipv6: open("snmp6") }
    }

    /// The number of attempts so far, for IPv4 and IPv6 together. The files stay open, since closing them takes time for
    /// which the launcher would wait.
    pub(super) fn attempts(&self) -> i32 {
        parse_ipv4(&read(self.ipv4.as_ref())).saturating_add(parse_ipv6(&read(self.ipv6.as_ref())))
    }
}

fn read(file: Option<&File>) -> String {
    // The buffer is as large as the files. Otherwise they would be read in many small pieces.
    let mut text = vec![0; 8192];
    let mut length = 0;
    while let (Some(mut file), Some(room @ [_, ..])) = (file, text.get_mut(length..)) {
        match file.read(room) {
            Ok(0) | Err(_) => break,
            Ok(count) => length += count,
        }
    }
    text.truncate(length);
    String::from_utf8(text).unwrap_or_default()
}

/// Parses the IPv4 file: a line of names, then a line of numbers.
fn parse_ipv4(text: &str) -> i32 {
    let mut lines = text.lines().filter(|line| line.starts_with("Ip: "));
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else { return 0 };
    let column = names.split(' ').position(|name| name == "OutNoRoutes");
    column.and_then(|column| numbers.split(' ').nth(column)).map_or(0, number)
}

/// Parses the IPv6 file: a name and its number on each line.
fn parse_ipv6(text: &str) -> i32 {
    let line = text.lines().find_map(|line| line.strip_prefix("Ip6OutNoRoutes"));
    line.map_or(0, |rest| number(rest.trim()))
}

fn number(text: &str) -> i32 {
    text.parse::<u64>().map_or(0, |count| i32::try_from(count).unwrap_or(i32::MAX))
}

#[cfg(test)]
#[path = "routes/tests.rs"]
mod tests;
