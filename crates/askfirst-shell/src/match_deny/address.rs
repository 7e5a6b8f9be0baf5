//! Addresses: whether one lies below another, however its host, port and path are spelled.

use super::Denied;
use crate::glob::{Glob, Reach};

/// An address in its parts, each in its plainest spelling.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    scheme: Option<String>,
    host: String,
    /// Nothing where it is the usual one.
    port: Option<String>,
    /// With what follows it, and a slash before it.
    path: String,
}

/// Whether an address lies below the one that a denial names.
pub(super) fn hears(denied: &Glob, given: &str) -> Denied {
    let Some(given) = read(given) else { return Denied::No };
    let Some(plain) = denied.plain() else { return wildly(denied, &given) };
    let Some(wanted) = read(plain) else { return Denied::No };
    if !is_below(&wanted.path, &given.path) {
        return Denied::No;
    }
    if wanted.host != given.host {
        // `curl` itself makes several hosts of `{a,b}.example` and `[a-c].example`.
        let several = given.host.contains(['{', '}']) || given.host.trim_start_matches('[').contains('[');
        return if several || !given.host.is_ascii() { Denied::Perhaps } else { Denied::No };
    }
    let same_way = match (&wanted.scheme, &given.scheme) {
        (Some(wanted), Some(given)) => wanted == given,
        (None, _) | (_, None) => true,
    };
    match (wanted.port == given.port, &wanted.port) {
        (true, _) if same_way => Denied::Yes,
        (true, _) | (false, None) => Denied::Perhaps,
        (false, Some(_)) => Denied::No,
    }
}

/// Whether wildcards match an address or a folder that it lies in.
fn wildly(denied: &Glob, given: &Address) -> Denied {
    let schemes: Vec<&str> = given.scheme.as_deref().map_or(vec!["http", "https"], |own| vec![own]);
    let port = given.port.as_ref().map(|port| format!(":{port}")).unwrap_or_default();
    let bare = format!("{}{port}{}", given.host, given.path);
    let texts = schemes.iter().map(|scheme| format!("{scheme}://{bare}")).chain([bare.clone()]);
    let fits = |text: &str| denied.matches(text, Reach::Anything);
    let found = texts.into_iter().any(|text| {
        let cuts = text.match_indices('/').flat_map(|(at, _)| [text.get(..at), text.get(..=at)]);
        fits(&text) || cuts.flatten().any(fits)
    });
    if found { Denied::Yes } else { Denied::No }
}

fn is_below(folder: &str, path: &str) -> bool {
    let folder = folder.strip_suffix(".git").unwrap_or(folder);
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| {
        folder.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?', '#', '&']) || rest == ".git"
    }) || folder.strip_suffix('/') == Some(path)
}

fn read(text: &str) -> Option<Address> {
    let text = text.trim();
    let (scheme, rest) = match text.split_once(":/") {
        Some((scheme, rest)) if scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+') => {
            (Some(scheme.to_ascii_lowercase()), rest.trim_start_matches('/'))
        }
        Some(_) | None => (None, text.trim_start_matches('/')),
    };
    let (whole, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = whole.rsplit_once('@').map_or(whole, |(_, host)| host);
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, Some(port)),
        // `git@host:path`
        Some((host, first)) if scheme.is_none() && !host.contains(['[', ':']) => {
            let scheme = Some("ssh".to_owned());
            return Some(Address {
                scheme,
                host: named(host)?,
                port: None,
                path: plain(&format!("/{first}{path}")),
            });
        }
        Some(_) | None => (host, None),
    };
    let port = port.map(|port| port.trim_start_matches('0')).filter(|port| !port.is_empty());
    let usual = |port: &&str| match scheme.as_deref() {
        Some("http") => *port == "80",
        Some("https") => *port == "443",
        Some(_) => false,
        None => matches!(*port, "80" | "443"),
    };
    let port = port.filter(|port| !usual(port)).map(str::to_owned);
    Some(Address { host: named(host)?, port, path: plain(path), scheme })
}

/// A host by its plainest name. Numbers have many spellings.
fn named(host: &str) -> Option<String> {
    let host = decoded(host, |_| true).to_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let six = inner.and_then(|inner| inner.parse::<core::net::Ipv6Addr>().ok());
    let four = six.map_or_else(|| number(host), |six| six.to_ipv4_mapped());
    let own = six.is_some_and(|six| six.is_loopback())
        || four.is_some_and(|four| four.is_loopback() || four.is_unspecified());
    match (own, four, six) {
        (true, _, _) => Some("localhost".to_owned()),
        (false, Some(four), _) => Some(four.to_string()),
        (false, None, Some(six)) => Some(six.to_string()),
        (false, None, None) => Some(host.to_owned()).filter(|host| !host.is_empty()),
    }
}

/// `0x7f.1`, `2130706433`: an address as old programs read it.
fn number(host: &str) -> Option<core::net::Ipv4Addr> {
    let part = |text: &str| match (text.strip_prefix("0x"), text.strip_prefix('0')) {
        (Some(hex), _) => u32::from_str_radix(hex, 16).ok(),
        (None, Some(octal)) if !octal.is_empty() => u32::from_str_radix(octal, 8).ok(),
        (None, _) => text.parse().ok(),
    };
    let parts = host.split('.').map(part).collect::<Option<Vec<u32>>>()?;
    let (last, heads) = parts.split_last().filter(|(_, heads)| heads.len() < 4)?;
    let mut value = 0_u32;
    for (at, head) in heads.iter().enumerate() {
        value |= u32::from(u8::try_from(*head).ok()?) << (24 - 8 * at);
    }
    Some(core::net::Ipv4Addr::from(value | last))
}

/// A path without `.`, `..` and doubled slashes, and with plain letters where they are written as numbers.
fn plain(path: &str) -> String {
    let (path, rest) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    let path = decoded(path, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let end = if !parts.is_empty() && path.ends_with('/') { "/" } else { "" };
    format!("/{}{end}{rest}", parts.join("/"))
}

fn decoded(text: &str, meant: impl Fn(u8) -> bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        let byte = behind.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|byte| byte.is_ascii() && meant(*byte)) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                out.push('%');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}
