//! Plans a call: finds the files that it would use, checks whether it may use them, and which approval it needs.
//!
//! The same code plans a call when it is assessed, when it is shown, and again before it runs.

use std::path::Path;

use askfirst::{
    Action, Approval, Effects, EffectsPolicy, EffectsVerdict, Fact, PathLevel, Risk, judge_effects,
};
use askfirst_config::PathMode;
use serde_json::{Map, Value};

use super::error::CallError;
use super::file_call::{DeleteScope, FileCall, TextEdit};
use super::handle::{LinkPolicy, ObjectKind};
use super::location::{HandlePolicy, Location};
use super::place::RootView;
use super::tree;

/// How a call uses a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It reads name, kind and size only.
    Inspect,
    Read,
    Attach,
    Write,
}

/// The files that a call would use, and the approval that it needs.
pub(crate) struct Plan {
    /// One location, or source and target. Empty if the call lists the roots.
    pub(crate) locations: Vec<Location>,
    pub(crate) approval: Approval,
    /// Why askfirst shows this change each time, whatever the approval of the root is.
    shown: Option<String>,
    /// Whether undo can restore what the call replaces.
    pub(crate) has_undo: bool,
    pub(crate) risk: Risk,
    /// The location and the access that need the approval.
    asks: Option<(usize, Access)>,
    verb: &'static str,
    /// The worker or model that gets the file.
    receiver: Option<String>,
}

impl Plan {
    /// Describes the call for a person.
    pub(crate) fn description(&self) -> String {
        let labels: Vec<&str> = self.locations.iter().map(|location| location.label.as_str()).collect();
        let what = format!("{} {}", self.verb, labels.join(" to "));
        match &self.receiver {
            Some(receiver) => format!("{what} for {receiver}"),
            None => what.trim_end().to_owned(),
        }
    }

    /// Says what the call does, with paths as the person knows them: relative to the folder of the config.
    pub(crate) fn action(&self, view: &RootView<'_>) -> Action {
        let names = self.locations.iter().map(|location| view.path_for_person(location));
        let verb = Action::new(self.verb.to_lowercase());
        let action = names
            .enumerate()
            .fold(verb, |action, (at, name)| action.words(if at == 0 { " " } else { " to " }).value(name));
        match &self.receiver {
            Some(receiver) => action.words(" for ").value(receiver),
            None => action,
        }
    }

    /// Says in one sentence why the call needs approval.
    pub(crate) fn why(&self, view: &RootView<'_>) -> Option<Fact> {
        let (at, access) = self.asks?;
        let location = self.locations.get(at)?;
        let root = view.roots.all.get(location.root)?;
        let name = &root.name;
        let needs = match self.approval {
            Approval::None | Approval::Rehearse | Approval::Deny | Approval::Required => "approval",
            Approval::OncePerSession => "approval once per session",
            Approval::Human => "a person's approval each time",
        };
        let text = match access {
            _ if let Some(why) = &self.shown => {
                let labels = self.labels().join(" to ");
                return Some(Fact::new(
                    "why",
                    format!("a change of `{labels}` always needs approval: {why}"),
                ));
            }
            _ if own_approval(location, access) < self.approval => {
                format!("a file with several names needs {needs}")
            }
            Access::Inspect | Access::Read => format!("reading in `{name}` needs {needs}"),
            Access::Attach => format!("attaching from `{name}` needs {needs}"),
            Access::Write => format!("a change in `{name}` needs {needs}"),
        };
        // The line of the root is the reason only if no other layer is stricter.
        let is_own = root.rights.approval == location.rights.approval;
        Some(Fact::new("why", if is_own { root.origin.after(&text) } else { text }))
    }

    /// Returns the payload, which decides which later calls count as the same call.
    pub(crate) fn payload(&self, view: &RootView<'_>) -> Map<String, Value> {
        let mut payload = Map::new();
        for (location, [root, path]) in self.locations.iter().zip([["root", "path"], ["to_root", "to"]]) {
            payload.insert(root.to_owned(), view.name(location).into());
            payload.insert(path.to_owned(), location.path.to_string_lossy().into());
        }
        if let Some(receiver) = &self.receiver {
            payload.insert("receiver".to_owned(), receiver.clone().into());
        }
        payload
    }

    /// Applies the decision about what the call would change.
    pub(crate) fn apply(&mut self, effects: &Effects, policy: &EffectsPolicy) -> Result<(), CallError> {
        let judgement = judge_effects(effects, policy);
        self.has_undo = policy.undo_obstacle.is_none();
        let level = effects.changes.iter().find_map(|change| match &change.level {
            PathLevel::Shown(why) | PathLevel::Never(why) => Some(why.to_string()),
            PathLevel::Ordinary => None,
        });
        let why = || level.or_else(|| judgement.reasons().first().cloned()).unwrap_or_default();
        match judgement.verdict() {
            EffectsVerdict::Commit => {}
            EffectsVerdict::Ask | EffectsVerdict::AskToRunAgain => {
                self.approval = self.approval.max(judgement.approval());
                self.shown = Some(why());
            }
            EffectsVerdict::Discard => {
                return Err(CallError::Blocked(format!("`{}`: {}", self.labels().join("` to `"), why())));
            }
        }
        Ok(())
    }

    /// Returns true if askfirst shows this change each time.
    pub(crate) fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Describes the calls that have the same payload.
    pub(crate) fn describe_same_calls(&self, tool: &str) -> String {
        if self.is_shown() {
            return format!("exactly this `{tool}` of {}", self.labels().join(" to "));
        }
        let receiver = self.receiver.iter().map(|receiver| format!(" for {receiver}"));
        format!("any `{tool}` of {}", self.labels().join(" to ")) + &receiver.collect::<String>()
    }

    /// Returns the facts about the locations that a person should know.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        self.locations.iter().flat_map(facts).collect()
    }

    /// Returns the labels of the locations, to compare them with those of a later plan.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.locations.iter().map(|location| location.label.clone()).collect()
    }

    /// Returns what must still be the same when a call runs that no person saw: the paths, and why it was asked about.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.labels().into_iter().chain(self.shown.clone()).collect()
    }

    pub(crate) fn first(&self) -> Result<&Location, CallError> {
        self.locations.first().ok_or_else(|| CallError::Failed("the call has no path".to_owned()))
    }

    pub(crate) fn source_and_target(&self) -> Result<(&Location, &Location), CallError> {
        let no_target = || CallError::Failed("the call has no target".to_owned());
        let target = self.locations.get(1).ok_or_else(no_target)?;
        Ok((self.first()?, target))
    }
}

impl RootView<'_> {
    /// Plans a call by the approvals of the roots alone. Changes nothing.
    pub(crate) fn plan(&self, call: &FileCall) -> Result<Plan, CallError> {
        match call {
            FileCall::Read { path, .. } => self.plan_one(path, Access::Read, ObjectKind::File, "Read"),
            FileCall::Find { path, .. } => self.plan_one(path, Access::Read, ObjectKind::File, "Search"),
            FileCall::Stat { path } => self.plan_one(path, Access::Inspect, ObjectKind::File, "Inspect"),
            FileCall::List { path: Some(path), .. } => {
                self.plan_one(path, Access::Inspect, ObjectKind::File, "List")
            }
            FileCall::List { path: None, .. } => Ok(Plan {
                locations: Vec::new(),
                approval: Approval::None,
                shown: None,
                has_undo: false,
                risk: Risk::Low,
                asks: None,
                verb: "List the roots",
                receiver: None,
            }),
            FileCall::Attach { path, receiver } => {
                let plan = self.plan_one(path, Access::Attach, ObjectKind::File, "Attach")?;
                Ok(Plan { receiver: Some(receiver.clone()), ..plan })
            }
            FileCall::Write { path, content } => {
                let plan = self.plan_one(path, Access::Write, ObjectKind::File, "Write")?;
                let location = plan.first()?;
                self.refuse_folder(location)?;
                self.refuse_size(location, content.len() as u64)?;
                let verb = if location.object.is_none() { "Create" } else { "Overwrite" };
                Ok(Plan { verb, ..plan })
            }
            FileCall::Edit { path, edit } => {
                let plan = self.plan_one(path, Access::Write, ObjectKind::File, "Edit")?;
                let location = plan.first()?;
                self.refuse_folder(location)?;
                self.refuse_size(location, location.size())?;
                let verb = match edit {
                    TextEdit::Replace { .. } => "Edit",
                    TextEdit::Patch(_) => "Patch",
                };
                Ok(Plan { verb, ..plan })
            }
            FileCall::Make { path } => {
                self.plan_one(path, Access::Write, ObjectKind::Folder, "Create the folder")
            }
            FileCall::Delete { path, scope } => self.plan_delete(path, *scope),
            FileCall::Move { path, to, .. } => self.plan_move(path, to),
            FileCall::Copy { path, to, .. } => self.plan_copy(path, to),
        }
    }

    fn plan_one(
        &self,
        path: &str,
        access: Access,
        kind: ObjectKind,
        verb: &'static str,
    ) -> Result<Plan, CallError> {
        let policy = match access {
            Access::Inspect | Access::Read => HandlePolicy::OpenIfNeeded,
            Access::Attach | Access::Write => HandlePolicy::KeepOpen,
        };
        let location = self.locate(path, LinkPolicy::Follow, policy)?;
        self.check_access(&location, access, kind)?;
        let approval = required_approval(&location, access);
        let (locations, asks) = (vec![location], Some((0, access)));
        Ok(Plan {
            locations,
            approval,
            shown: None,
            has_undo: false,
            risk: Risk::Low,
            asks,
            verb,
            receiver: None,
        })
    }

    fn plan_delete(&self, path: &str, scope: DeleteScope) -> Result<Plan, CallError> {
        let location = self.locate(path, LinkPolicy::KeepLast, HandlePolicy::KeepOpen)?;
        self.check_access(&location, Access::Write, ObjectKind::File)?;
        self.refuse_root(&location)?;
        if location.kind() == Some(ObjectKind::Folder) && scope == DeleteScope::Recursive {
            tree::check_content(self, &location, None)?;
        }
        let approval = required_approval(&location, Access::Write);
        Ok(Plan {
            locations: vec![location],
            approval,
            shown: None,
            has_undo: false,
            risk: Risk::Irreversible,
            asks: Some((0, Access::Write)),
            verb: "Delete",
            receiver: None,
        })
    }

    fn plan_move(&self, path: &str, to: &str) -> Result<Plan, CallError> {
        let from = self.locate(path, LinkPolicy::KeepLast, HandlePolicy::KeepOpen)?;
        let to = self.locate(to, LinkPolicy::KeepLast, HandlePolicy::KeepOpen)?;
        let kind = from.kind().unwrap_or(ObjectKind::File);
        self.check_access(&from, Access::Write, kind)?;
        self.check_access(&to, Access::Write, kind)?;
        self.refuse_root(&from)?;
        self.refuse_root(&to)?;
        self.refuse_size(&to, if kind == ObjectKind::File { from.size() } else { 0 })?;
        if kind == ObjectKind::Folder {
            if self.real_path(&to)?.starts_with(self.real_path(&from)?) {
                return Err(CallError::Failed(format!("`{}` is inside `{}`", to.label, from.label)));
            }
            tree::check_content(self, &from, Some(&to))?;
        }
        let mut approval = required_approval(&from, Access::Write).max(required_approval(&to, Access::Write));
        // A move must not make a file readable without asking that needed approval before.
        if from.rights.approval.read > to.rights.approval.read {
            approval = approval.max(required_approval(&from, Access::Read));
        }
        self.refuse_denied(approval, &from)?;
        let accesses = [(0, Access::Write), (1, Access::Write), (0, Access::Read)];
        Ok(pair(from, to, approval, &accesses, "Move"))
    }

    fn plan_copy(&self, path: &str, to: &str) -> Result<Plan, CallError> {
        let from = self.locate(path, LinkPolicy::Follow, HandlePolicy::KeepOpen)?;
        let to = self.locate(to, LinkPolicy::Follow, HandlePolicy::KeepOpen)?;
        self.check_access(&from, Access::Read, ObjectKind::File)?;
        self.check_access(&to, Access::Write, ObjectKind::File)?;
        if from.kind() == Some(ObjectKind::Folder) {
            let hint = "list it with list_files, then copy its files one by one";
            let text =
                format!("`{}` is a folder, but copy_file copies a single file; hint: {hint}", from.label);
            return Err(CallError::Blocked(text));
        }
        self.refuse_folder(&to)?;
        self.refuse_size(&to, from.size())?;
        let approval = required_approval(&from, Access::Read).max(required_approval(&to, Access::Write));
        let accesses = [(0, Access::Read), (1, Access::Write)];
        Ok(pair(from, to, approval, &accesses, "Copy"))
    }

    pub(crate) fn name(&self, location: &Location) -> &str {
        self.roots.all.get(location.root).map_or("", |root| root.name.as_str())
    }

    /// Checks whether a call may use a location at all. `kind` is the kind of the object that it would create.
    fn check_access(&self, location: &Location, access: Access, kind: ObjectKind) -> Result<(), CallError> {
        let blocked = |text: String| Err(CallError::Blocked(text));
        let label = &location.label;
        if access == Access::Write || !self.roots.never.reads_all() {
            self.refuse_never(&self.real_path(location)?, label, access)?;
            if let Some(requested) = &location.requested {
                self.refuse_never(requested, label, access)?;
            }
        }
        if let Some(ObjectKind::Other(kind)) = location.kind().filter(|_| access != Access::Inspect) {
            return blocked(format!("`{label}` is a {kind}, not a file"));
        }
        if access == Access::Write && location.rights.mode == PathMode::Ro {
            return blocked(format!("`{label}` is read-only; {}", self.roots.describe()));
        }
        let name = location.path.file_name().unwrap_or_default();
        let is_file = location.kind().unwrap_or(kind) != ObjectKind::Folder && access != Access::Inspect;
        if is_file && !location.rights.allows_name(name) {
            let allowed = location.rights.describe_suffixes();
            return blocked(format!("the suffix of `{label}` is not allowed; allowed suffixes: {allowed}"));
        }
        match access {
            Access::Read | Access::Attach => self.refuse_size(location, location.size())?,
            Access::Inspect | Access::Write => {}
        }
        self.refuse_denied(required_approval(location, access), location)
    }

    fn refuse_denied(&self, approval: Approval, location: &Location) -> Result<(), CallError> {
        match approval {
            Approval::Deny => Err(CallError::Blocked(format!(
                "the approval of the root `{}` is `deny`",
                self.name(location)
            ))),
            Approval::None
            | Approval::Rehearse
            | Approval::OncePerSession
            | Approval::Required
            | Approval::Human => Ok(()),
        }
    }

    /// Blocks a path that a `never_read` or `never_write` rule covers.
    pub(crate) fn refuse_never(&self, real: &Path, label: &str, access: Access) -> Result<(), CallError> {
        let never = &self.roots.never;
        let (reason, verb) = match access {
            Access::Inspect | Access::Read | Access::Attach if never.reads_all() => return Ok(()),
            Access::Inspect | Access::Read | Access::Attach => {
                (self.by_names(real, |names| never.read(names)), "read")
            }
            Access::Write => (self.by_names(real, |names| never.write(names)), "written"),
        };
        match reason {
            Some(reason) => Err(CallError::Blocked(format!("`{label}` is never {verb}: {reason}"))),
            None => Ok(()),
        }
    }

    pub(crate) fn refuse_size(&self, location: &Location, bytes: u64) -> Result<(), CallError> {
        if location.kind() == Some(ObjectKind::Folder) || location.rights.allows_size(bytes) {
            return Ok(());
        }
        let max = location.rights.max_file_bytes.unwrap_or_default();
        let text = format!("`{}` is too large: {bytes} bytes, at most {max} are allowed", location.label);
        Err(CallError::Blocked(text))
    }

    fn refuse_folder(&self, location: &Location) -> Result<(), CallError> {
        match location.kind() {
            Some(ObjectKind::Folder) => {
                Err(CallError::Blocked(format!("`{}` is a folder, not a file", location.label)))
            }
            Some(ObjectKind::File | ObjectKind::Link | ObjectKind::Other(_)) | None => Ok(()),
        }
    }

    fn refuse_root(&self, location: &Location) -> Result<(), CallError> {
        if location.object.is_some() && self.contains_root(&self.real_path(location)?) {
            return Err(CallError::Blocked(format!("`{}` is a root, or contains one", location.label)));
        }
        Ok(())
    }
}

/// A plan with two locations. Of the accesses, the first that needs the approval is the reason for it.
fn pair(
    from: Location,
    to: Location,
    approval: Approval,
    accesses: &[(usize, Access)],
    verb: &'static str,
) -> Plan {
    let risk = if to.object.is_some() { Risk::High } else { Risk::Low };
    let locations = vec![from, to];
    let needs = |(at, access): &&(usize, Access)| {
        locations.get(*at).is_some_and(|location| required_approval(location, *access) == approval)
    };
    let asks = accesses.iter().find(needs).copied();
    Plan { locations, approval, shown: None, has_undo: false, risk, asks, verb, receiver: None }
}

/// Returns the approval that an access to a location needs.
pub(crate) fn required_approval(location: &Location, access: Access) -> Approval {
    let own = own_approval(location, access);
    // A hard link in a writable root may point to a file that is outside the roots or that a rule protects.
    let is_hard_link = location.link_count() > 1 && location.rights.mode == PathMode::Rw;
    if is_hard_link && access != Access::Inspect { own.max(Approval::Required) } else { own }
}

/// Returns the approval that the config sets for an access.
fn own_approval(location: &Location, access: Access) -> Approval {
    let approval = location.rights.approval;
    match access {
        Access::Inspect => Approval::None,
        Access::Read => approval.read,
        Access::Attach => approval.attach,
        Access::Write => approval.write,
    }
}

/// Formats a number with its unit: `1 byte`, `2 bytes`.
pub(crate) fn count(number: u64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

fn facts(location: &Location) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(requested) = &location.requested_label {
        facts.push(Fact::new("link", format!("{requested} leads to {}", location.label)));
    }
    if location.link_count() > 1 {
        let (label, count) = (&location.label, location.link_count());
        let text = format!("{label} has {count} names, and the others may be in any folder");
        facts.push(Fact::new("hard link", text));
    }
    facts
}
