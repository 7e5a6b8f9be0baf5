//! Reads what processes in the separate network tried: to reach an address outside it, or a program that is not in it.

use std::fs::File;
use std::io::Read;

/// The kernel's counter files, opened early.
pub(super) struct Counters {
    ipv4: Option<File>,
    ipv6: Option<File>,
}

/// How often something was tried in vain so far, for IPv4 and IPv6 together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attempts {
    /// Reaching an address outside.
    pub(super) outside: u32,
    /// Connecting to a local port on which no program listens.
    pub(super) connections: u32,
    /// Sending a datagram to such a port.
    pub(super) datagrams: u32,
}

impl Counters {
    pub(super) fn open() -> Self {
        let open = |name: &str| File::open(format!("/proc/self/net/{name}")).ok();
        Self { ipv4: open("snmp"), ipv6: open("snmp6") }
    }

    /// The attempts so far. The files stay open, since closing them takes time for which the launcher would wait.
    pub(super) fn attempts(&self) -> Attempts {
        parse(&read(self.ipv4.as_ref()), &read(self.ipv6.as_ref()))
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

/// Parses both files. The counters of TCP in the first are for both versions.
fn parse(ipv4: &str, ipv6: &str) -> Attempts {
    Attempts {
        outside: in_table(ipv4, "Ip: ", "OutNoRoutes").saturating_add(in_list(ipv6, "Ip6OutNoRoutes")),
        connections: in_table(ipv4, "Tcp: ", "AttemptFails"),
        datagrams: in_table(ipv4, "Udp: ", "NoPorts").saturating_add(in_list(ipv6, "Udp6NoPorts")),
    }
}

/// Finds a counter in the IPv4 file: for each protocol a line of names, then a line of numbers.
fn in_table(text: &str, protocol: &str, name: &str) -> u32 {
    let mut lines = text.lines().filter(|line| line.starts_with(protocol));
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else { return 0 };
    let column = names.split(' ').position(|found| found == name);
    column.and_then(|column| numbers.split(' ').nth(column)).map_or(0, number)
}

/// Finds a counter in the IPv6 file: a name and its number on each line.
fn in_list(text: &str, name: &str) -> u32 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', '\t']));
    line.map_or(0, |rest| number(rest.trim()))
}

fn number(text: &str) -> u32 {
    text.parse::<u64>().map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
#[path = "routes/tests.rs"]
mod tests;
