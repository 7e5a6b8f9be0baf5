//! What the kernel counted in a network of its own: packets and connections for addresses that it has no way to.

use std::fs::File;
use std::io::Read;

/// The files in which it is counted, opened while there is time.
pub(super) struct Counters {
    old: Option<File>,
    new: Option<File>,
}

impl Counters {
    pub(super) fn open() -> Self {
        let open = |name: &str| File::open(format!("/proc/self/net/{name}")).ok();
        Self { old: open("snmp"), new: open("snmp6") }
    }

    /// How often an address outside was tried until now, of either version. The files stay open, since to close them
    /// takes time in which somebody waits.
    pub(super) fn missed(&self) -> i32 {
        in_old(&read(self.old.as_ref())).saturating_add(in_new(&read(self.new.as_ref())))
    }
}

fn read(file: Option<&File>) -> String {
    // As large as they are, or they would be read in many small pieces.
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

/// The file for version 4: a line of names, then one of numbers.
fn in_old(text: &str) -> i32 {
    let mut lines = text.lines().filter(|line| line.starts_with("Ip: "));
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else { return 0 };
    let column = names.split(' ').position(|name| name == "OutNoRoutes");
    column.and_then(|column| numbers.split(' ').nth(column)).map_or(0, number)
}

/// The file for version 6: a name and its number on each line.
fn in_new(text: &str) -> i32 {
    let line = text.lines().find_map(|line| line.strip_prefix("Ip6OutNoRoutes"));
    line.map_or(0, |rest| number(rest.trim()))
}

fn number(text: &str) -> i32 {
    text.parse::<u64>().map_or(0, |count| i32::try_from(count).unwrap_or(i32::MAX))
}

#[cfg(test)]
#[path = "routes/tests.rs"]
mod tests;
