//! The order to the helper as bytes: both sides are this same program, and what does not read back exactly is refused.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::order::{Inside, Order, Way};
use crate::profile::{Denial, Denied, Descriptors, Grant, Identity, Network, OSProfile, User};
use crate::spec::Limits;
use crate::terminal::Place;

/// Names the program and its version: a helper of another version does not understand the order.
const HEAD: &str = concat!("askfirst walls ", env!("CARGO_PKG_VERSION"));

pub(super) fn encode(order: &Order) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(4096));
    out.text(OsStr::new(HEAD));
    out.number(match order.way {
        Way::Own => 0,
        Way::Bubblewrap => 1,
        Way::ContentOnly => 2,
    });
    out.number(match order.inside {
        Inside::Program => 0,
        Inside::Check => 1,
    });
    out.text(&order.program);
    out.list(&order.args, |out, arg| out.text(arg));
    out.list(&order.env, |out, (name, value)| {
        out.text(name);
        out.text(value);
    });
    out.text(order.folder.as_os_str());
    out.number(match order.place {
        Place::Apart => 0,
        Place::Front => 1,
        Place::Behind => 2,
    });
    profile(&mut out, &order.profile);
    #[cfg(test)]
    out.list(&order.off, |out, off| out.number(*off as u64));
    out.0
}

fn profile(out: &mut Writer, profile: &OSProfile) {
    let grant = |out: &mut Writer, grant: &Grant| {
        out.text(grant.path.as_os_str());
        out.number(grant.is.device);
        out.number(grant.is.inode);
    };
    out.list(&profile.readable, grant);
    out.list(&profile.writable, grant);
    out.list(&profile.denied, |out, denied| {
        out.text(denied.path.as_os_str());
        out.number(match denied.what {
            Denial::Write => 0,
            Denial::All => 1,
        });
    });
    out.list(&profile.system, |out, path| out.text(path.as_os_str()));
    out.list(&profile.private, |out, path| out.text(path.as_os_str()));
    out.number(match profile.network {
        Network::Own => 0,
        Network::Shared => 1,
    });
    let Limits { wall: _, cpu, memory, processes, file, output: _ } = &profile.limits;
    let seconds = |cpu: Duration| cpu.as_secs().saturating_add(u64::from(cpu.subsec_nanos() > 0)).max(1);
    for limit in [cpu.map(seconds), *memory, *processes, *file] {
        out.list(limit.as_slice(), |out, limit| out.number(*limit));
    }
    out.list(&profile.environment, |out, name| out.text(name));
    out.number(match profile.descriptors {
        Descriptors::Standard => 0,
        Descriptors::Terminal => 1,
    });
    match profile.user {
        User::Same => out.number(0),
        User::Other { user, group } => {
            out.number(1);
            out.number(user.into());
            out.number(group.into());
        }
    }
}

/// Nothing if the bytes are not exactly one order.
pub(super) fn decode(bytes: &[u8]) -> Option<Order> {
    let mut from = Reader(bytes);
    if from.text()? != HEAD {
        return None;
    }
    let way = match from.number()? {
        0 => Way::Own,
        1 => Way::Bubblewrap,
        2 => Way::ContentOnly,
        _ => return None,
    };
    let inside = match from.number()? {
        0 => Inside::Program,
        1 => Inside::Check,
        _ => return None,
    };
    let order = Order {
        way,
        inside,
        program: from.text()?,
        args: from.list(Reader::text)?,
        env: from.list(|from| Some((from.text()?, from.text()?)))?,
        folder: from.path()?,
        place: match from.number()? {
            0 => Place::Apart,
            1 => Place::Front,
            2 => Place::Behind,
            _ => return None,
        },
        profile: read_profile(&mut from)?,
        #[cfg(test)]
        off: from.list(|from| super::mechanism::ALL.get(usize::try_from(from.number()?).ok()?).copied())?,
    };
    from.0.is_empty().then_some(order)
}

fn read_profile(from: &mut Reader<'_>) -> Option<OSProfile> {
    let grant = |from: &mut Reader<'_>| {
        Some(Grant { path: from.path()?, is: Identity { device: from.number()?, inode: from.number()? } })
    };
    let denied = |from: &mut Reader<'_>| {
        let path = from.path()?;
        let what = match from.number()? {
            0 => Denial::Write,
            1 => Denial::All,
            _ => return None,
        };
        Some(Denied { path, what })
    };
    let (readable, writable) = (from.list(grant)?, from.list(grant)?);
    let denied = from.list(denied)?;
    let (system, private) = (from.list(Reader::path)?, from.list(Reader::path)?);
    let network = match from.number()? {
        0 => Network::Own,
        1 => Network::Shared,
        _ => return None,
    };
    let mut limit = || match from.list(Reader::number)?.as_slice() {
        [] => Some(None),
        [limit] => Some(Some(*limit)),
        _ => None,
    };
    let (cpu, memory, processes, file) = (limit()?, limit()?, limit()?, limit()?);
    let limits = Limits { cpu: cpu.map(Duration::from_secs), memory, processes, file, ..Limits::default() };
    let environment = from.list(Reader::text)?;
    let descriptors = match from.number()? {
        0 => Descriptors::Standard,
        1 => Descriptors::Terminal,
        _ => return None,
    };
    let user = match from.number()? {
        0 => User::Same,
        1 => {
            let mut number = || u32::try_from(from.number()?).ok();
            User::Other { user: number()?, group: number()? }
        }
        _ => return None,
    };
    Some(OSProfile {
        readable,
        writable,
        denied,
        system,
        private,
        network,
        limits,
        environment,
        descriptors,
        user,
    })
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &OsStr) {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], item: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|one| item(self, one));
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(text.to_vec()))
    }

    /// Only absolute ones are sent.
    fn path(&mut self) -> Option<PathBuf> {
        let text = self.text()?;
        Path::new(&text).is_absolute().then(|| text.into())
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
#[path = "wire/tests.rs"]
mod tests;
