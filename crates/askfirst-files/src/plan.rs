//! What a call would touch and whether it may: the same look before a question, for the question, and before the act.

use std::path::Path;

use askfirst::{Approval, Fact, Risk};
use askfirst_config::PathMode;
use serde_json::{Map, Value};

use super::error::Trouble;
use super::handle::{Kind, Links};
use super::place::{Grip, Ground, Spot};
use super::tree;
use super::wish::{Change, Depth, Wish};

/// What is done at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its name and size are looked at.
    Look,
    Read,
    Attach,
    Write,
}

/// What a call would touch.
pub(crate) struct Plan {
    /// One place, or source and target. None for the list of roots.
    pub(crate) spots: Vec<Spot>,
    pub(crate) approval: Approval,
    pub(crate) risk: Risk,
    verb: &'static str,
    /// Who is handed the file.
    receiver: Option<String>,
}

impl Plan {
    /// In words, for a person.
    pub(crate) fn description(&self) -> String {
        let labels: Vec<&str> = self.spots.iter().map(|spot| spot.label.as_str()).collect();
        let what = format!("{} {}", self.verb, labels.join(" to "));
        match &self.receiver {
            Some(receiver) => format!("{what} for {receiver}"),
            None => what.trim_end().to_owned(),
        }
    }

    /// What an answer is remembered by.
    pub(crate) fn payload(&self, ground: &Ground<'_>) -> Map<String, Value> {
        let mut payload = Map::new();
        for (spot, [root, path]) in self.spots.iter().zip([["root", "path"], ["to_root", "to"]]) {
            payload.insert(root.to_owned(), ground.name(spot).into());
            payload.insert(path.to_owned(), spot.path.to_string_lossy().into());
        }
        if let Some(receiver) = &self.receiver {
            payload.insert("receiver".to_owned(), receiver.clone().into());
        }
        payload
    }

    /// Which calls have the same payload, in words.
    pub(crate) fn same(&self, tool: &str) -> String {
        let receiver = self.receiver.iter().map(|receiver| format!(" for {receiver}"));
        format!("any `{tool}` of {}", self.at().join(" to ")) + &receiver.collect::<String>()
    }

    /// What a person should know about the places.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let mut facts: Vec<Fact> = self.spots.iter().flat_map(facts).collect();
        if let Some(to) = self.spots.get(1).filter(|to| to.thing.is_some()) {
            facts.push(Fact::new("in the way", format!("{}, {} bytes", to.label, to.size())));
        }
        facts.extend(self.receiver.iter().map(|receiver| Fact::new("receiver", receiver.clone())));
        facts
    }

    /// The places as they are called, to tell whether a later look saw the same.
    pub(crate) fn at(&self) -> Vec<String> {
        self.spots.iter().map(|spot| spot.label.clone()).collect()
    }

    pub(crate) fn first(&self) -> Result<&Spot, Trouble> {
        self.spots.first().ok_or_else(|| Trouble::Failed("there is no path".to_owned()))
    }

    pub(crate) fn two(&self) -> Result<(&Spot, &Spot), Trouble> {
        let target = self.spots.get(1).ok_or_else(|| Trouble::Failed("there is no target".to_owned()))?;
        Ok((self.first()?, target))
    }
}

impl Ground<'_> {
    /// Looks at everything that a call would touch. It changes nothing.
    pub(crate) fn plan(&self, wish: &Wish) -> Result<Plan, Trouble> {
        match wish {
            Wish::Read { path, .. } => self.one(path, Access::Read, Kind::File, "Read"),
            Wish::Find { path, .. } => self.one(path, Access::Read, Kind::File, "Search"),
            Wish::Stat { path } => self.one(path, Access::Look, Kind::File, "Look at"),
            Wish::List { path: Some(path), .. } => self.one(path, Access::Look, Kind::File, "List"),
            Wish::List { path: None, .. } => Ok(Plan {
                spots: Vec::new(),
                approval: Approval::None,
                risk: Risk::Low,
                verb: "List the roots",
                receiver: None,
            }),
            Wish::Attach { path, receiver } => {
                let plan = self.one(path, Access::Attach, Kind::File, "Attach")?;
                Ok(Plan { receiver: Some(receiver.clone()), ..plan })
            }
            Wish::Write { path, content } => {
                let plan = self.one(path, Access::Write, Kind::File, "Write")?;
                let spot = plan.first()?;
                self.refuse_folder(spot)?;
                self.refuse_size(spot, content.len() as u64)?;
                let verb = if spot.thing.is_none() { "Write the new file" } else { "Overwrite" };
                Ok(Plan { verb, ..plan })
            }
            Wish::Edit { path, change } => {
                let plan = self.one(path, Access::Write, Kind::File, "Edit")?;
                let spot = plan.first()?;
                self.refuse_folder(spot)?;
                self.refuse_size(spot, spot.size())?;
                let verb = match change {
                    Change::Replace { .. } => "Edit",
                    Change::Patch(_) => "Patch",
                };
                Ok(Plan { verb, ..plan })
            }
            Wish::Make { path } => self.one(path, Access::Write, Kind::Folder, "Make the folder"),
            Wish::Delete { path, depth } => self.deletion(path, *depth),
            Wish::Move { path, to, .. } => self.moving(path, to),
            Wish::Copy { path, to, .. } => self.copying(path, to),
        }
    }

    fn one(&self, path: &str, access: Access, kind: Kind, verb: &'static str) -> Result<Plan, Trouble> {
        let grip = match access {
            Access::Look | Access::Read => Grip::Loose,
            Access::Attach | Access::Write => Grip::Firm,
        };
        let spot = self.find(path, Links::Follow, grip)?;
        self.check(&spot, access, kind)?;
        let approval = need(&spot, access);
        Ok(Plan { spots: vec![spot], approval, risk: Risk::Low, verb, receiver: None })
    }

    fn deletion(&self, path: &str, depth: Depth) -> Result<Plan, Trouble> {
        let spot = self.find(path, Links::KeepLast, Grip::Firm)?;
        self.check(&spot, Access::Write, Kind::File)?;
        self.refuse_root(&spot)?;
        if spot.kind() == Some(Kind::Folder) && depth == Depth::Everything {
            tree::check(self, &spot, None)?;
        }
        let approval = need(&spot, Access::Write);
        Ok(Plan { spots: vec![spot], approval, risk: Risk::Irreversible, verb: "Delete", receiver: None })
    }

    fn moving(&self, path: &str, to: &str) -> Result<Plan, Trouble> {
        let from = self.find(path, Links::KeepLast, Grip::Firm)?;
        let to = self.find(to, Links::KeepLast, Grip::Firm)?;
        let kind = from.kind().unwrap_or(Kind::File);
        self.check(&from, Access::Write, kind)?;
        self.check(&to, Access::Write, kind)?;
        self.refuse_root(&from)?;
        self.refuse_root(&to)?;
        self.refuse_size(&to, if kind == Kind::File { from.size() } else { 0 })?;
        if kind == Kind::Folder {
            if self.real(&to)?.starts_with(self.real(&from)?) {
                return Err(Trouble::Failed(format!("`{}` lies in `{}`", to.label, from.label)));
            }
            tree::check(self, &from, Some(&to))?;
        }
        let mut approval = need(&from, Access::Write).max(need(&to, Access::Write));
        // What must be asked before it is read does not become free to read by moving.
        if from.rights.approval.read > to.rights.approval.read {
            approval = approval.max(need(&from, Access::Read));
        }
        self.refuse_denied(approval, &from)?;
        Ok(pair(from, to, approval, "Move"))
    }

    fn copying(&self, path: &str, to: &str) -> Result<Plan, Trouble> {
        let from = self.find(path, Links::Follow, Grip::Firm)?;
        let to = self.find(to, Links::Follow, Grip::Firm)?;
        self.check(&from, Access::Read, Kind::File)?;
        self.check(&to, Access::Write, Kind::File)?;
        if from.kind() == Some(Kind::Folder) {
            let hint = "list it with list_files and copy its files one by one, so that each is judged by its own rules";
            let text = format!("`{}` is a folder, and copy_file copies one file; hint: {hint}", from.label);
            return Err(Trouble::Blocked(text));
        }
        self.refuse_folder(&to)?;
        self.refuse_size(&to, from.size())?;
        let approval = need(&from, Access::Read).max(need(&to, Access::Write));
        Ok(pair(from, to, approval, "Copy"))
    }

    pub(crate) fn name(&self, spot: &Spot) -> &str {
        self.roots.all.get(spot.root).map_or("", |root| root.name.as_str())
    }

    /// Whether a place may be touched at all. `kind` is what would come to be where nothing is.
    fn check(&self, spot: &Spot, access: Access, kind: Kind) -> Result<(), Trouble> {
        let blocked = |text: String| Err(Trouble::Blocked(text));
        let label = &spot.label;
        if access == Access::Write || !self.roots.never.reads_all() {
            self.refuse_never(&self.real(spot)?, label, access)?;
            if let Some(plain) = &spot.asked {
                self.refuse_never(plain, label, access)?;
            }
        }
        if let Some(Kind::Other(kind)) = spot.kind().filter(|_| access != Access::Look) {
            return blocked(format!("`{label}` is a {kind}, not a file"));
        }
        if access == Access::Write && spot.rights.mode == PathMode::Ro {
            return blocked(format!("`{label}` is read only; {}", self.roots.text()));
        }
        let name = spot.path.file_name().unwrap_or_default();
        let file = spot.kind().unwrap_or(kind) != Kind::Folder && access != Access::Look;
        if file && !spot.rights.takes(name) {
            let wanted = spot.rights.suffixes_text();
            return blocked(format!("`{label}` has no suffix that is allowed there; allowed: {wanted}"));
        }
        match access {
            Access::Read | Access::Attach => self.refuse_size(spot, spot.size())?,
            Access::Look | Access::Write => {}
        }
        self.refuse_denied(need(spot, access), spot)
    }

    fn refuse_denied(&self, approval: Approval, spot: &Spot) -> Result<(), Trouble> {
        match approval {
            Approval::Deny => {
                Err(Trouble::Blocked(format!("the approval of the root `{}` is `deny`", self.name(spot))))
            }
            Approval::None | Approval::OncePerSession | Approval::Required | Approval::Human => Ok(()),
        }
    }

    /// Refuses what a rule says is never touched.
    pub(crate) fn refuse_never(&self, real: &Path, label: &str, access: Access) -> Result<(), Trouble> {
        let never = &self.roots.never;
        let (why, verb) = match access {
            Access::Look | Access::Read | Access::Attach if never.reads_all() => return Ok(()),
            Access::Look | Access::Read | Access::Attach => {
                (self.by_names(real, |names| never.read(names)), "read")
            }
            Access::Write => (self.by_names(real, |names| never.write(names)), "written"),
        };
        match why {
            Some(why) => Err(Trouble::Blocked(format!("`{label}` is never {verb}: {why}"))),
            None => Ok(()),
        }
    }

    pub(crate) fn refuse_size(&self, spot: &Spot, bytes: u64) -> Result<(), Trouble> {
        if spot.kind() == Some(Kind::Folder) || spot.rights.holds(bytes) {
            return Ok(());
        }
        let max = spot.rights.max_file_bytes.unwrap_or_default();
        Err(Trouble::Blocked(format!(
            "`{}`: {bytes} bytes are more than the {max} allowed there",
            spot.label
        )))
    }

    fn refuse_folder(&self, spot: &Spot) -> Result<(), Trouble> {
        match spot.kind() {
            Some(Kind::Folder) => Err(Trouble::Blocked(format!("`{}` is a folder, not a file", spot.label))),
            Some(Kind::File | Kind::Link | Kind::Other(_)) | None => Ok(()),
        }
    }

    fn refuse_root(&self, spot: &Spot) -> Result<(), Trouble> {
        if spot.thing.is_some() && self.has_root(&self.real(spot)?) {
            return Err(Trouble::Blocked(format!("`{}` is a root, or has one in it", spot.label)));
        }
        Ok(())
    }
}

fn pair(from: Spot, to: Spot, approval: Approval, verb: &'static str) -> Plan {
    let risk = if to.thing.is_some() { Risk::High } else { Risk::Low };
    Plan { spots: vec![from, to], approval, risk, verb, receiver: None }
}

/// What a place asks for.
pub(crate) fn need(spot: &Spot, access: Access) -> Approval {
    let approval = spot.rights.approval;
    let own = match access {
        Access::Look => return Approval::None,
        Access::Read => approval.read,
        Access::Attach => approval.attach,
        Access::Write => approval.write,
    };
    // A second name may have been made for something that lies elsewhere or is never touched.
    let hard_link = spot.names() > 1 && spot.rights.mode == PathMode::Rw;
    if hard_link { own.max(Approval::Required) } else { own }
}

fn facts(spot: &Spot) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(through) = &spot.through {
        facts.push(Fact::new("link", format!("{through} leads to {}", spot.label)));
    }
    if spot.names() > 1 {
        let text = format!("{} has {} names, and the others may lie anywhere", spot.label, spot.names());
        facts.push(Fact::new("hard link", text));
    }
    facts
}
