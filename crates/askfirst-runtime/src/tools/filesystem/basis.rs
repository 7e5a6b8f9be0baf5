//! What a question rested on, and whether it still holds when the call runs.

use std::fs::File;
use std::io::Read;

use rustix::fs::Stat;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::error::Trouble;
use super::handle::{Kind, size_of};
use super::place::{Ground, Spot};
use super::plan::Plan;
use super::tree;
use super::wish::Wish;

/// Files up to this size are told by their content, larger ones by what the system says about them.
pub(crate) const MAX_SHOWN: u64 = 8 << 20;

/// How closely a place is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Content,
    Outside,
}

fn look(wish: &Wish) -> Option<Look> {
    match wish {
        Wish::Write { .. } | Wish::Edit { .. } => Some(Look::Content),
        Wish::Make { .. }
        | Wish::Move { .. }
        | Wish::Copy { .. }
        | Wish::Delete { .. }
        | Wish::Attach { .. } => Some(Look::Outside),
        Wish::Read { .. } | Wish::List { .. } | Wish::Find { .. } | Wish::Stat { .. } => None,
    }
}

/// What a question about a call rests on.
pub(crate) fn of(ground: &Ground<'_>, wish: &Wish, plan: &Plan) -> Result<Value, Trouble> {
    let mut was = Vec::new();
    if let Some(look) = look(wish) {
        for spot in &plan.spots {
            was.push(print(ground, spot, look)?);
        }
    }
    Ok(json!({"at": plan.at(), "was": was}))
}

/// Whether everything is as it was.
pub(crate) fn check(ground: &Ground<'_>, wish: &Wish, plan: &Plan, basis: &Value) -> Result<(), Trouble> {
    let now = of(ground, wish, plan)?;
    if now == *basis {
        return Ok(());
    }
    let what = if now.get("at") == basis.get("at") { "changed" } else { "leads elsewhere" };
    Err(Trouble::Stale(format!("`{}` {what} since it was shown", plan.at().join("` or `"))))
}

fn print(ground: &Ground<'_>, spot: &Spot, look: Look) -> Result<Value, Trouble> {
    let Some(thing) = &spot.thing else { return Ok("absent".into()) };
    let stat = &thing.stat;
    match thing.kind {
        Kind::File if look == Look::Content && size_of(stat) <= MAX_SHOWN => {
            let (mut file, stat) = ground.open(spot)?;
            let digest = digest(&mut file).map_err(|e| Trouble::failed(&spot.label, e))?;
            Ok(json!({"ino": stat.st_ino, "size": stat.st_size, "mtime": mtime(&stat), "digest": digest}))
        }
        Kind::Folder => {
            let sum = tree::sum(ground, spot)?;
            Ok(json!({"ino": stat.st_ino, "mtime": mtime(stat), "sum": [sum.0, sum.1, sum.2]}))
        }
        Kind::File | Kind::Link | Kind::Other(_) => Ok(json!({
            "ino": stat.st_ino, "size": stat.st_size, "mtime": mtime(stat),
            "ctime": format!("{}.{:09}", stat.st_ctime, stat.st_ctime_nsec),
        })),
    }
}

fn mtime(stat: &Stat) -> String {
    format!("{}.{:09}", stat.st_mtime, stat.st_mtime_nsec)
}

/// The digest of what is in a file, read piece by piece.
pub(crate) fn digest(file: &mut File) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            let bytes: [u8; 32] = hasher.finalize().into();
            return Ok(bytes.iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}")));
        }
        hasher.update(piece.get(..read).unwrap_or_default());
    }
}
