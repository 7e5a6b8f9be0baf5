//! The handshake: handshake sides prove that they hold the user's secret, each for this one connection.
//!
//! A proof covers two new random numbers and the ids of handshake processes as the kernel reports them. So a proof is
//! worthless on another connection.
//! A process that relays the messages of two sides is detected: each side sees its process id, which the other side
//! did not put into the proof.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::frame::{FrameError, Patience, read, write};
use super::place::{SIZE, Secret, random};
use super::{FromAsker, FromWatcher, VERSION, WatchError};
use crate::random::hex;

/// The maximum size of a handshake message, in bytes.
const LIMIT: usize = 1 << 10;
/// The time limit of a handshake message. No person is involved.
const SOON: Patience = Patience::Within(Duration::from_secs(2));

/// The side that a proof comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Watcher,
    Asker,
}

/// The data that a proof covers: random number and process id of each side.
struct Handshake {
    watcher: ([u8; SIZE], u32),
    asker: ([u8; SIZE], u32),
}

impl Handshake {
    fn mac(&self, secret: &Secret, side: Side) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).ok()?;
        let side: &[u8] = match side {
            Side::Watcher => b"askfirst watch, the watcher\0",
            Side::Asker => b"askfirst watch, who asks\0\0\0\0",
        };
        mac.update(side);
        for (nonce, process) in [&self.watcher, &self.asker] {
            mac.update(nonce);
            mac.update(&process.to_be_bytes());
        }
        Some(mac)
    }

    fn proof(&self, secret: &Secret, side: Side) -> Result<String, WatchError> {
        let mac = self.mac(secret, side).ok_or(WatchError::Unproven("askfirst could not compute a proof"))?;
        Ok(hex(&mac.finalize().into_bytes()))
    }

    fn check(&self, secret: &Secret, side: Side, proof: &str) -> Result<(), WatchError> {
        let held = self.mac(secret, side).zip(unhex(proof));
        let holds = held.is_some_and(|(mac, proof)| mac.verify_slice(&proof).is_ok());
        if holds { Ok(()) } else { Err(WatchError::Unproven("its proof is wrong")) }
    }
}

/// Returns the process id of the other end, which must belong to the same user.
pub(super) fn peer(stream: &UnixStream) -> Result<u32, WatchError> {
    let unknown = |_| WatchError::Unproven("the system did not report its user");
    let found = rustix::net::sockopt::socket_peercred(stream).map_err(unknown)?;
    if found.uid != rustix::process::geteuid() {
        return Err(WatchError::Unproven("it belongs to another user"));
    }
    u32::try_from(found.pid.as_raw_nonzero().get())
        .map_err(|_| WatchError::Unproven("the system did not report its user"))
}

/// The watcher's side of the handshake. Returns the process id of the session.
pub(super) fn greet_asker(stream: &UnixStream, secret: &Secret) -> Result<u32, WatchError> {
    let process = peer(stream)?;
    let nonce = random()?;
    let hello = FromWatcher::Hello { version: VERSION.to_owned(), nonce: hex(&nonce) };
    write(stream, &hello, LIMIT)?;
    let FromAsker::Hello { version, nonce: theirs, proof } = read(stream, LIMIT, SOON)? else {
        return Err(FrameError::Garbled.into());
    };
    if version != VERSION {
        return Err(WatchError::Version(version));
    }
    let handshake = Handshake { watcher: (nonce, std::process::id()), asker: (number(&theirs)?, process) };
    handshake.check(secret, Side::Asker, &proof)?;
    write(stream, &FromWatcher::Proof { proof: handshake.proof(secret, Side::Watcher)? }, LIMIT)?;
    Ok(process)
}

/// The session's side of the handshake. If it succeeds, the other side is a watcher of the same user.
pub(super) fn greet_watcher(stream: &UnixStream, secret: &Secret) -> Result<(), WatchError> {
    let process = peer(stream)?;
    let FromWatcher::Hello { version, nonce: theirs } = read(stream, LIMIT, SOON)? else {
        return Err(FrameError::Garbled.into());
    };
    if version != VERSION {
        return Err(WatchError::Version(version));
    }
    let nonce = random()?;
    let handshake = Handshake { watcher: (number(&theirs)?, process), asker: (nonce, std::process::id()) };
    let proof = handshake.proof(secret, Side::Asker)?;
    write(stream, &FromAsker::Hello { version: VERSION.to_owned(), nonce: hex(&nonce), proof }, LIMIT)?;
    let FromWatcher::Proof { proof } = read(stream, LIMIT, SOON)? else {
        return Err(FrameError::Garbled.into());
    };
    handshake.check(secret, Side::Watcher, &proof)
}

fn number(text: &str) -> Result<[u8; SIZE], WatchError> {
    unhex(text).and_then(|bytes| bytes.try_into().ok()).ok_or(FrameError::Garbled.into())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: &u8| char::from(*c).to_digit(16).filter(|_| !c.is_ascii_uppercase());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(high)? * 16 + digit(low)?).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}
