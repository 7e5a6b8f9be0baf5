//! One file, folder or link on one side of a change, as data.

use std::fmt;

use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of what `hasher` has seen.
    pub(crate) fn finish(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }

    /// Returns the bytes of the digest.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn hex(self) -> String {
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }

    fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
        let digits = digits.filter(|digits| digits.len() == 64)?;
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::try_from(pair.iter().fold(0, |value, digit| value * 16 + digit)).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| serde::de::Error::custom("not a digest"))
    }
}

/// Paths and link targets in a journal: each byte becomes the character with the same number, because a file name is
/// not always UTF-8.
pub(crate) mod raw {
    use super::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => serializer.serialize_str(text),
            _ => serializer.serialize_str(&bytes.iter().copied().map(char::from).collect::<String>()),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
        bytes.map_err(serde::de::Error::custom)
    }
}

/// The kind of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ObjectKind {
    /// A regular file.
    #[serde(rename = "f")]
    File,
    /// A folder.
    #[serde(rename = "d")]
    Folder,
    /// A symbolic link, with the bytes of its target.
    #[serde(rename = "l")]
    Link(#[serde(with = "raw")] Vec<u8>),
    /// A character or block device.
    #[serde(rename = "dev")]
    Device,
    /// A named pipe.
    #[serde(rename = "pipe")]
    Pipe,
    /// A unix socket.
    #[serde(rename = "sock")]
    Socket,
}

impl ObjectKind {
    /// Returns the kind without the target of a link.
    pub(crate) fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link(Vec::new()),
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => Self::Device,
        }
    }

    /// A number for each kind, for digests.
    fn number(&self) -> u8 {
        match self {
            Self::File => 1,
            Self::Folder => 2,
            Self::Link(_) => 3,
            Self::Device => 4,
            Self::Pipe => 5,
            Self::Socket => 6,
        }
    }
}

/// A time in seconds and nanoseconds since 1970.
pub type Timestamp = (i64, u32);

/// One object, with all that tells it apart from another object or another version of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Its kind.
    #[serde(rename = "k")]
    pub kind: ObjectKind,
    /// The permission bits, with setuid, setgid and sticky.
    #[serde(rename = "p")]
    pub mode: u32,
    /// The size in bytes; 0 for a folder.
    #[serde(rename = "s", default, skip_serializing_if = "is_zero")]
    pub size: u64,
    /// User and group.
    #[serde(rename = "o")]
    pub owner: (u32, u32),
    /// The number of names; 1 for a folder.
    #[serde(rename = "n")]
    pub links: u32,
    /// The inode number.
    #[serde(rename = "i")]
    pub inode: u64,
    /// When the content changed.
    #[serde(rename = "m")]
    pub modified: Timestamp,
    /// When anything about it changed.
    #[serde(rename = "c")]
    pub changed: Timestamp,
    /// The digest of a file's content. `None` for other kinds, and for a file that cannot be read.
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The digest of the extended attributes, without the marks of overlayfs. `None` if there are none.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Digest>,
    /// Whether the file gives capabilities to whoever runs it.
    #[serde(rename = "cap", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_capabilities: bool,
    /// Whether overlayfs left marks that a commit has to remove.
    #[serde(rename = "mark", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_marked: bool,
    /// Whether a program tried to set such marks itself. A commit removes them.
    #[serde(rename = "forged", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_forged_marks: bool,
    /// Whether it could not be read.
    #[serde(rename = "u", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unreadable: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(size: &u64) -> bool {
    *size == 0
}

impl Object {
    pub(crate) fn new(stat: &Stat) -> Self {
        let kind = ObjectKind::of(stat);
        let is_folder = kind == ObjectKind::Folder;
        let nanos = |nanos: u64| u32::try_from(nanos).unwrap_or(0);
        Self {
            size: if is_folder { 0 } else { u64::try_from(stat.st_size).unwrap_or(0) },
            links: if is_folder { 1 } else { u32::try_from(stat.st_nlink).unwrap_or(u32::MAX) },
            inode: stat.st_ino,
            modified: (stat.st_mtime, nanos(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanos(stat.st_ctime_nsec)),
            ..Self::planned(kind, stat.st_mode & 0o7777, (stat.st_uid, stat.st_gid))
        }
    }

    /// An object that does not exist yet.
    pub(crate) fn planned(kind: ObjectKind, mode: u32, owner: (u32, u32)) -> Self {
        Self {
            mode,
            size: 0,
            owner,
            links: 1,
            inode: 0,
            modified: (0, 0),
            changed: (0, 0),
            digest: None,
            attributes: None,
            has_capabilities: false,
            is_marked: false,
            has_forged_marks: false,
            is_unreadable: false,
            kind,
        }
    }

    /// Returns true for a folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.kind == ObjectKind::Folder
    }

    /// Returns true if both have the same kind and content.
    #[must_use]
    pub fn has_same_content(&self, other: &Self) -> bool {
        let known = self.kind != ObjectKind::File || self.digest.is_some();
        known && self.kind == other.kind && self.digest == other.digest && self.size == other.size
    }

    /// Returns true if both have the same owner and extended attributes.
    pub(crate) fn has_same_extras(&self, other: &Self) -> bool {
        self.owner == other.owner
            && self.attributes == other.attributes
            && self.has_capabilities == other.has_capabilities
    }

    /// Returns true if nothing has changed, whatever name the object has now. A rename sets `changed`, and marks and
    /// the number of links may be others.
    pub(crate) fn is_same_version(&self, other: &Self) -> bool {
        self.inode == other.inode && self.is_same_copy(other)
    }

    /// Returns true if one can be a copy of the other: a copy has its own inode.
    pub(crate) fn is_same_copy(&self, other: &Self) -> bool {
        let same_time = self.kind != ObjectKind::File || self.modified == other.modified;
        self.mode == other.mode
            && self.size == other.size
            && same_time
            && self.kind == other.kind
            && self.digest == other.digest
            && self.has_same_extras(other)
    }

    /// Returns true if an object that was just moved is still the one that was read before, as far as its inode tells.
    pub(crate) fn has_same_stamp(&self, other: &Self) -> bool {
        let same_time = self.kind != ObjectKind::File || self.modified == other.modified;
        self.inode == other.inode && self.size == other.size && self.kind == other.kind && same_time
    }

    /// Returns true if nothing at all has changed since `other` was read.
    pub(crate) fn is_untouched(&self, other: &Self) -> bool {
        let untouched = self.is_folder() || self.changed == other.changed;
        untouched && self.is_same_version(other)
    }

    /// Adds everything that a person can see to a digest.
    pub(crate) fn add_to(&self, hasher: &mut Sha256) {
        hasher.update([self.kind.number()]);
        hasher.update(self.mode.to_le_bytes());
        hasher.update(self.size.to_le_bytes());
        hasher.update(self.owner.0.to_le_bytes());
        hasher.update(self.owner.1.to_le_bytes());
        if let ObjectKind::Link(target) = &self.kind {
            hasher.update(target);
        }
        for digest in [&self.digest, &self.attributes] {
            hasher.update([u8::from(digest.is_some())]);
            hasher.update(digest.map_or([0; 32], |digest| digest.0));
        }
        hasher.update([u8::from(self.has_capabilities)]);
        if self.kind == ObjectKind::File {
            hasher.update(self.modified.0.to_le_bytes());
            hasher.update(self.modified.1.to_le_bytes());
        }
    }
}
