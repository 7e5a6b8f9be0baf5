//! The random environment variable by which a launch recognizes its own processes. It is no security boundary.

use std::io;

/// The name of the variable.
pub(crate) const VARIABLE: &str = "ASKFIRST_LAUNCH";

/// How many nested launches are distinguished.
const MAX_DEPTH: usize = 16;

/// The mark of one launch.
///
/// If this process itself runs inside a launch, the value also contains the outer marks. So the outer launch still finds
/// the processes that the inner one starts.
pub(crate) struct Marker {
    id: String,
    value: String,
}

impl Marker {
    pub(crate) fn fresh() -> io::Result<Self> {
        let random = random()?;
        let outer = std::env::var_os(VARIABLE).and_then(|value| value.into_string().ok());
        Ok(Self::inside(outer.as_deref().unwrap_or_default(), u128::from_ne_bytes(random)))
    }

    fn inside(outer: &str, random: u128) -> Self {
        let id = format!("{random:032x}");
        let deep = outer.split(':').count() < MAX_DEPTH && outer.split(':').all(is_id);
        let value = if deep { format!("{outer}:{id}") } else { id.clone() };
        Self { id, value }
    }

    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// Whether an environment contains this mark. The environment is a list of NUL-terminated `name=value` entries.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "marks are searched on Linux only"))]
    pub(crate) fn is_in(&self, environ: &[u8]) -> bool {
        environ
            .split(|byte| *byte == 0)
            .filter_map(|entry| entry.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="))
            .any(|value| value.split(|byte| *byte == b':').any(|id| id == self.id.as_bytes()))
    }
}

#[cfg(target_os = "linux")]
fn random() -> io::Result<[u8; 16]> {
    let mut random = [0; 16];
    // The kernel returns so few bytes in one piece.
    let flags = rustix::rand::GetRandomFlags::empty();
    match rustix::io::retry_on_intr(|| rustix::rand::getrandom(&mut random, flags))? {
        16 => Ok(random),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn random() -> io::Result<[u8; 16]> {
    use std::io::Read;
    let mut random = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random)
}

fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests;
