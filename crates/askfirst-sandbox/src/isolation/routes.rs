//! Reads what processes in the separate network tried: to reach an address outside it, or a program that is not in it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::leftovers::listening_ports;
use super::order::OwnNetwork;

/// The kernel's counter files, opened early.
pub(super) struct Counters {
    ipv4: Option<File>,
    ipv6: Option<File>,
    /// The attempts and ports of other programs in the network before this one started, if there may be others.
    others: Option<Others>,
}

struct Others {
    attempts: Attempts,
    ports: Vec<u16>,
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
    /// Opens the files, before the program starts if there may be other programs in its network.
    pub(super) fn open(network: OwnNetwork) -> Self {
        let open = |name: &str| File::open(format!("/proc/self/net/{name}")).ok();
        let counters = Self { ipv4: open("snmp"), ipv6: open("snmp6"), others: None };
        let others = match network {
            OwnNetwork::New => None,
            OwnNetwork::Passed => Some(Others { attempts: counters.total(), ports: listening_ports() }),
        };
        Self { others, ..counters }
    }

    /// All attempts in the network so far. The files stay open, since closing them takes time for which the launcher would
    /// wait.
    fn total(&self) -> Attempts {
        parse(&read(self.ipv4.as_ref()), &read(self.ipv6.as_ref()))
    }

    /// The attempts since the start.
    pub(super) fn attempts(&self) -> Attempts {
        let Attempts { outside, connections, datagrams } = self.total();
        let Some(Others { attempts: before, .. }) = &self.others else {
            return Attempts { outside, connections, datagrams };
        };
        // While another program serves, these may be tries to reach it before it listened.
        let is_served = !listening_ports().is_empty();
        let local = |now: u32, before| if is_served { 0 } else { now.saturating_sub(before) };
        Attempts {
            outside: outside.saturating_sub(before.outside),
            connections: local(connections, before.connections),
            datagrams: local(datagrams, before.datagrams),
        }
    }

    /// The TCP ports on which a process in the network has begun to listen since the start.
    pub(super) fn new_ports(&self) -> Vec<u16> {
        let mut ports = listening_ports();
        ports.retain(|port| self.others.as_ref().is_none_or(|others| !others.ports.contains(port)));
        ports
    }
}

fn read(file: Option<&File>) -> String {
    // The buffer is as large as the files. Otherwise they would be read in many small pieces.
    let mut text = vec![0; 8192];
    let mut length = 0;
    while let (Some(file), Some(room @ [_, ..])) = (file, text.get_mut(length..)) {
        match file.read_at(room, length as u64) {
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
