//! Encodes an order as bytes for the helper. Both sides are the same program, and a helper refuses any other bytes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::order::{Backend, Order, OwnNetwork, Task};
use crate::profile::{
    Denial, DeniedPath, Descriptors, Grant, Identity, KeptFolder, Network, OSProfile, User, View,
};
use crate::spec::{Lasts, Limits};
use crate::terminal::TerminalAccess;

/// The program name and version. A helper of another version refuses the order.
const HEAD: &str = concat!("askfirst sandbox ", env!("CARGO_PKG_VERSION"));

pub(super) fn encode(order: &Order) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(4096));
    out.text(OsStr::new(HEAD));
    out.number(match order.backend {
        Backend::Namespaces => 0,
        Backend::Bubblewrap => 1,
        Backend::ContentOnly => 2,
    });
    out.number(match order.task {
        Task::Program => 0,
        Task::SelfTest => 1,
        Task::Network => 2,
    });
    out.text(&order.program);
    out.list(&order.args, |out, arg| out.text(arg));
    out.list(&order.env, |out, (name, value)| {
        out.text(name);
        out.text(value);
    });
    out.text(order.folder.as_os_str());
    out.number(match order.terminal {
        TerminalAccess::Detached => 0,
        TerminalAccess::Foreground => 1,
        TerminalAccess::Background => 2,
    });
    out.number(match order.own_network {
        OwnNetwork::New => 0,
        OwnNetwork::Passed => 1,
    });
    out.number(match order.lasts {
        Lasts::Program => 0,
        Lasts::AllProcesses => 1,
    });
    profile(&mut out, &order.profile);
    out.0
}

fn profile(out: &mut Writer, profile: &OSProfile) {
    let grant = |out: &mut Writer, grant: &Grant| {
        out.text(grant.path.as_os_str());
        out.number(grant.identity.device);
        out.number(grant.identity.inode);
    };
    out.list(&profile.readable, grant);
    out.list(&profile.writable, grant);
    out.list(&profile.scratch, grant);
    out.list(&profile.views, |out, view| {
        out.text(view.root.as_os_str());
        grant(out, &view.upper);
        grant(out, &view.work);
    });
    out.list(&profile.denied, |out, denied| {
        out.text(denied.path.as_os_str());
        out.number(match denied.what {
            Denial::Write => 0,
            Denial::All => 1,
        });
    });
    out.list(&profile.system, |out, path| out.text(path.as_os_str()));
    out.list(&profile.links, |out, (path, to)| {
        out.text(path.as_os_str());
        out.text(to.as_os_str());
    });
    out.list(&profile.private, |out, path| out.text(path.as_os_str()));
    out.list(&profile.kept, |out, kept| {
        out.text(kept.at.as_os_str());
        grant(out, &kept.folder);
    });
    out.number(match profile.network {
        Network::Own => 0,
        Network::Shared => 1,
    });
    let Limits { wall, cpu, memory, processes, file, output: _ } = &profile.limits;
    let millis = |wall: Duration| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
    let seconds = |cpu: Duration| cpu.as_secs().saturating_add(u64::from(cpu.subsec_nanos() > 0)).max(1);
    for limit in [wall.map(millis), cpu.map(seconds), *memory, *processes, *file] {
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

/// Decodes an order; `None` if the bytes are not exactly one order.
pub(super) fn decode(bytes: &[u8]) -> Option<Order> {
    let mut from = WireReader(bytes);
    if from.text()? != HEAD {
        return None;
    }
    let backend = match from.number()? {
        0 => Backend::Namespaces,
        1 => Backend::Bubblewrap,
        2 => Backend::ContentOnly,
        _ => return None,
    };
    let task = match from.number()? {
        0 => Task::Program,
        1 => Task::SelfTest,
        2 => Task::Network,
        _ => return None,
    };
    let order = Order {
        backend,
        task,
        program: from.text()?,
        args: from.list(WireReader::text)?,
        env: from.list(|from| Some((from.text()?, from.text()?)))?,
        folder: from.path()?,
        terminal: match from.number()? {
            0 => TerminalAccess::Detached,
            1 => TerminalAccess::Foreground,
            2 => TerminalAccess::Background,
            _ => return None,
        },
        own_network: match from.number()? {
            0 => OwnNetwork::New,
            1 => OwnNetwork::Passed,
            _ => return None,
        },
        lasts: match from.number()? {
            0 => Lasts::Program,
            1 => Lasts::AllProcesses,
            _ => return None,
        },
        profile: read_profile(&mut from)?,
    };
    from.0.is_empty().then_some(order)
}

fn read_profile(from: &mut WireReader<'_>) -> Option<OSProfile> {
    let grant = |from: &mut WireReader<'_>| {
        Some(Grant {
            path: from.path()?,
            identity: Identity { device: from.number()?, inode: from.number()? },
        })
    };
    let denied = |from: &mut WireReader<'_>| {
        let path = from.path()?;
        let what = match from.number()? {
            0 => Denial::Write,
            1 => Denial::All,
            _ => return None,
        };
        Some(DeniedPath { path, what })
    };
    let (readable, writable, scratch) = (from.list(grant)?, from.list(grant)?, from.list(grant)?);
    let views =
        from.list(|from| Some(View { root: from.path()?, upper: grant(from)?, work: grant(from)? }))?;
    let denied = from.list(denied)?;
    let system = from.list(WireReader::path)?;
    let links = from.list(|from| Some((from.path()?, from.path()?)))?;
    let private = from.list(WireReader::path)?;
    let kept = from.list(|from| Some(KeptFolder { at: from.path()?, folder: grant(from)? }))?;
    let network = match from.number()? {
        0 => Network::Own,
        1 => Network::Shared,
        _ => return None,
    };
    let mut limit = || match from.list(WireReader::number)?.as_slice() {
        [] => Some(None),
        [limit] => Some(Some(*limit)),
        _ => None,
    };
    let (wall, cpu, memory, processes, file) = (limit()?, limit()?, limit()?, limit()?, limit()?);
    let (wall, cpu) = (wall.map(Duration::from_millis), cpu.map(Duration::from_secs));
    let limits = Limits { wall, cpu, memory, processes, file, ..Limits::default() };
    let environment = from.list(WireReader::text)?;
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
        scratch,
        views,
        denied,
        system,
        links,
        private,
        kept,
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

struct WireReader<'a>(&'a [u8]);

impl WireReader<'_> {
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

    /// Reads a path. Relative paths are invalid, since none is ever sent.
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
