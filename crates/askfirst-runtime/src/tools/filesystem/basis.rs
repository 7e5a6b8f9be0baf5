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
use super::read;
use super::tree;
use super::wish::Wish;
use crate::present::Rule;

/// Files up to this size are told by their content, larger ones by what the system says about them.
pub(crate) const MAX_SHOWN: u64 = 16 << 20;

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

/// Whether the content that was looked at is wanted too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Content,
    Nothing,
}

/// What a question about a call rests on.
pub(crate) fn of(ground: &Ground<'_>, wish: &Wish, plan: &Plan) -> Result<Value, Trouble> {
    Ok(looked(ground, wish, plan, Keep::Nothing)?.0)
}

/// The same, with the very bytes that were digested, where the call is about the content of a file.
pub(crate) fn with_content(
    ground: &Ground<'_>,
    wish: &Wish,
    plan: &Plan,
) -> Result<(Value, Option<Vec<u8>>), Trouble> {
    looked(ground, wish, plan, Keep::Content)
}

fn looked(
    ground: &Ground<'_>,
    wish: &Wish,
    plan: &Plan,
    keep: Keep,
) -> Result<(Value, Option<Vec<u8>>), Trouble> {
    let (mut was, mut content) = (Vec::new(), None);
    if let Some(look) = look(wish) {
        for spot in &plan.spots {
            let (print, read) = print(ground, spot, look, keep)?;
            was.push(print);
            content = read.or(content);
        }
    }
    Ok((json!({"at": plan.at(), "was": was}), content))
}

/// Whether everything is as it was.
pub(crate) fn check(ground: &Ground<'_>, wish: &Wish, plan: &Plan, basis: &Value) -> Result<(), Trouble> {
    let now = of(ground, wish, plan)?;
    if now == *basis || !Rule::Stale.holds() {
        return Ok(());
    }
    let what = if now.get("at") == basis.get("at") { "changed" } else { "leads elsewhere" };
    Err(Trouble::Stale(format!("`{}` {what} since it was shown", plan.at().join("` or `"))))
}

fn print(
    ground: &Ground<'_>,
    spot: &Spot,
    look: Look,
    keep: Keep,
) -> Result<(Value, Option<Vec<u8>>), Trouble> {
    let Some(thing) = &spot.thing else { return Ok(("absent".into(), None)) };
    let stat = &thing.stat;
    let print = match thing.kind {
        Kind::File if look == Look::Content && size_of(stat) <= MAX_SHOWN => {
            let (mut file, stat) = ground.open(spot)?;
            let (digest, content) = match keep {
                Keep::Nothing => (digest(&mut file).map_err(|e| Trouble::failed(&spot.label, e))?, None),
                Keep::Content => {
                    let content = read::bytes(&mut file, &spot.label, 0, MAX_SHOWN)?;
                    (askfirst::Digest::of(&content).to_string(), Some(content))
                }
            };
            // What was read may be less or more than was there when it was opened; then it was written to.
            let size = content.as_ref().map_or(size_of(&stat), |content| content.len() as u64);
            let print = json!({"ino": stat.st_ino, "size": size, "mtime": mtime(&stat), "digest": digest});
            return Ok((print, content));
        }
        Kind::Folder => {
            let sum = tree::sum(ground, spot)?;
            json!({"ino": stat.st_ino, "mtime": mtime(stat), "sum": [sum.0, sum.1, sum.2]})
        }
        Kind::File | Kind::Link | Kind::Other(_) => json!({
            "ino": stat.st_ino, "size": stat.st_size, "mtime": mtime(stat),
            "ctime": format!("{}.{:09}", stat.st_ctime, stat.st_ctime_nsec),
        }),
    };
    Ok((print, None))
}

/// Whether everything is as it was a moment ago. A content that was read needs no second reading for that: it is what
/// was digested, and the system says whether somebody wrote to the file meanwhile.
pub(crate) fn still(ground: &Ground<'_>, wish: &Wish, plan: &Plan, was: &Value) -> Result<bool, Trouble> {
    match look(wish) {
        Some(Look::Content) => {}
        Some(Look::Outside) | None => return Ok(of(ground, wish, plan)? == *was),
    }
    let prints = was.get("was").and_then(Value::as_array);
    for (spot, print) in plan.spots.iter().zip(prints.into_iter().flatten()) {
        let Some(stat) = spot.thing.as_ref().map(|_| ground.open(spot)).transpose()?.map(|(_, stat)| stat)
        else {
            continue;
        };
        let now = json!([stat.st_ino, size_of(&stat), mtime(&stat)]);
        let was = json!([print.get("ino"), print.get("size"), print.get("mtime")]);
        if now != was {
            return Ok(false);
        }
    }
    Ok(true)
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
