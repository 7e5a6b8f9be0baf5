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
use super::tree::{self, Sum};
use super::wish::Wish;

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

/// What was seen of the places of a call.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The file that the call is about: the very bytes that were digested, where they are wanted.
    pub(crate) content: Option<Vec<u8>>,
    /// Its digest.
    pub(crate) digest: Option<String>,
    /// What is in each place that is a folder.
    pub(crate) sums: Vec<Option<Sum>>,
}

/// What a question about a call rests on, and what was seen for it.
pub(crate) fn of(ground: &Ground<'_>, wish: &Wish, plan: &Plan) -> Result<(Value, Seen), Trouble> {
    looked(ground, wish, plan, Keep::Content)
}

fn looked(ground: &Ground<'_>, wish: &Wish, plan: &Plan, keep: Keep) -> Result<(Value, Seen), Trouble> {
    let (mut was, mut seen) = (Vec::new(), Seen::default());
    if let Some(look) = look(wish) {
        for spot in &plan.spots {
            was.push(print(ground, spot, (look, keep), &mut seen)?);
        }
    }
    Ok((json!({"at": plan.at(), "was": was}), seen))
}

/// Whether everything is as it was, and what was seen. An edit is made in the very bytes that were compared.
pub(crate) fn check(ground: &Ground<'_>, wish: &Wish, plan: &Plan, basis: &Value) -> Result<Seen, Trouble> {
    let keep = if matches!(wish, Wish::Edit { .. }) { Keep::Content } else { Keep::Nothing };
    let (now, seen) = looked(ground, wish, plan, keep)?;
    if now == *basis {
        return Ok(seen);
    }
    let what = if now.get("at") == basis.get("at") { "changed" } else { "leads elsewhere" };
    Err(Trouble::Stale(format!("`{}` {what} since it was shown", plan.at().join("` or `"))))
}

fn print(ground: &Ground<'_>, spot: &Spot, how: (Look, Keep), seen: &mut Seen) -> Result<Value, Trouble> {
    let Some(thing) = &spot.thing else {
        seen.sums.push(None);
        return Ok("absent".into());
    };
    let stat = &thing.stat;
    let (print, sum) = match thing.kind {
        Kind::File if how.0 == Look::Content && size_of(stat) <= MAX_SHOWN => {
            let (mut file, stat) = ground.open(spot)?;
            let (digest, size) = match how.1 {
                Keep::Nothing => {
                    (digest(&mut file).map_err(|e| Trouble::failed(&spot.label, e))?, size_of(&stat))
                }
                // What was read may be less or more than was there when it was opened; then it was written to.
                Keep::Content => {
                    let content = read::bytes(&file, &spot.label, 0, MAX_SHOWN)?;
                    let known = (askfirst::Digest::of(&content).to_string(), content.len() as u64);
                    seen.content = Some(content);
                    known
                }
            };
            seen.digest = Some(digest.clone());
            (json!({"ino": stat.st_ino, "size": size, "mtime": mtime(&stat), "digest": digest}), None)
        }
        Kind::Folder => {
            let sum = tree::sum(ground, spot)?;
            (json!({"ino": stat.st_ino, "mtime": mtime(stat), "sum": [sum.0, sum.1, sum.2]}), Some(sum))
        }
        Kind::File | Kind::Link | Kind::Other(_) => {
            let ctime = format!("{}.{:09}", stat.st_ctime, stat.st_ctime_nsec);
            let size = stat.st_size;
            (json!({"ino": stat.st_ino, "size": size, "mtime": mtime(stat), "ctime": ctime}), None)
        }
    };
    seen.sums.push(sum);
    Ok(print)
}

/// Whether everything is as it was a moment ago. A content that was read needs no second reading for that: it is what
/// was digested, and the system says whether somebody wrote to the file meanwhile.
pub(crate) fn still(ground: &Ground<'_>, wish: &Wish, plan: &Plan, was: &Value) -> Result<bool, Trouble> {
    match look(wish) {
        Some(Look::Content) => {}
        Some(Look::Outside) | None => return Ok(looked(ground, wish, plan, Keep::Nothing)?.0 == *was),
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
