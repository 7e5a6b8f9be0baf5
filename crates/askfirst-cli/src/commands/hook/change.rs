//! A change of an agent's config: shown, confirmed, backed up and made.

use anyhow::Context;
use askfirst::{Action, Approval, ApprovalRequest, Digest, Fact, Risk};
use askfirst_agents::settings::SettingsError;
use askfirst_config::{Backup, Backups, Config, Places};
use serde_json::json;

use super::Confirmation;
use super::config_file::ConfigFile;
use super::places::ConfigPlace;
use crate::args::Common;
use crate::commands::trust;
use crate::exit::Exit;
use crate::print::out;

/// A new text for a config file.
#[derive(Debug)]
pub struct ConfigChange {
    pub file: ConfigFile,
    /// The new text, or `None` if the file goes away.
    new: Option<String>,
}

impl ConfigChange {
    /// Reads a file and edits its text.
    pub fn read(
        place: &ConfigPlace,
        edit: impl FnOnce(&str) -> Result<Option<String>, SettingsError>,
    ) -> anyhow::Result<Self> {
        let file = place.read()?;
        let new = edit(file.text.as_deref().unwrap_or_default());
        let new = new.with_context(|| format!("cannot change `{}`", file.path.display()))?;
        Ok(Self { file, new })
    }

    /// Reads a file for its change back: to the backup if no one else changed the file, or else without our parts.
    pub fn back(
        place: &ConfigPlace,
        remove: impl FnOnce(&str) -> Result<Option<String>, SettingsError>,
    ) -> anyhow::Result<Self> {
        let file = place.read()?;
        let Some(text) = &file.text else { return Ok(Self { file, new: None }) };
        let backups = Backups::open(&Places::from_env())?;
        let backup = backups.of(&file.real).filter(|backup| backup.after == Digest::of(text));
        let stored = backup.map(|backup| backups.content(backup)).transpose()?;
        let new = match stored {
            Some(content) => content.map(String::from_utf8).transpose().context("the backup is not UTF-8")?,
            None => remove(text).with_context(|| format!("cannot change `{}`", file.path.display()))?,
        };
        Ok(Self { file, new })
    }

    pub fn is_empty(&self) -> bool {
        self.new == self.file.text
    }

    /// Shows the change, and makes it if it is confirmed. `without` removes our parts from a text.
    pub fn make(
        &self,
        common: &Common,
        config: &Config,
        headline: &str,
        confirmation: Confirmation,
        without: impl FnOnce(&str) -> Result<Option<String>, SettingsError>,
    ) -> anyhow::Result<Exit> {
        let exit = self.confirm(common, config, headline, confirmation)?;
        if exit != Exit::Done || confirmation == Confirmation::PrintOnly {
            return Ok(exit);
        }
        let new = self.new.as_deref().unwrap_or_default();
        let mut backups = Backups::open(&Places::from_env())?;
        // Another askfirst may have changed the file before this one got the lock.
        self.file.check_unchanged()?;
        let (old, after, real) = (self.file.text.as_deref(), Digest::of(new), &self.file.real);
        let earlier = backups.of(real).cloned();
        let stored = earlier.as_ref().map(|backup| backups.content(backup)).transpose()?;
        let ours = earlier.clone().filter(|backup| old.is_some_and(|old| backup.after == Digest::of(old)));
        let (backup, content) = match (ours, stored.clone()) {
            // Our own text is no original: its backup is.
            (Some(backup), Some(content)) => (Backup { after, ..backup }, content),
            _ => {
                let original = old.map(without).transpose()?.flatten();
                let (before, folders) = (original.as_ref().map(Digest::of), self.file.missing_folders());
                (Backup { before, after, folders }, original.map(String::into_bytes))
            }
        };
        backups.keep(real, backup, content.as_deref())?;
        if let Err(error) = self.file.replace(Some(new)) {
            match (earlier, stored) {
                (Some(backup), Some(content)) => backups.keep(real, backup, content.as_deref())?,
                _ => backups.forget(real)?,
            }
            return Err(error.into());
        }
        out(&format!("written: {}", self.file.real.display()));
        Ok(Exit::Done)
    }

    /// Shows the change back, makes it if it is confirmed, and removes the backup and the folders of `make`.
    pub fn undo(
        &self,
        common: &Common,
        config: &Config,
        headline: &str,
        confirmation: Confirmation,
    ) -> anyhow::Result<Exit> {
        let exit = self.confirm(common, config, headline, confirmation)?;
        if exit != Exit::Done || confirmation == Confirmation::PrintOnly {
            return Ok(exit);
        }
        let mut backups = Backups::open(&Places::from_env())?;
        self.file.check_unchanged()?;
        self.file.replace(self.new.as_deref())?;
        let folders = backups.of(&self.file.real).map(|backup| backup.folders.clone()).unwrap_or_default();
        // A folder that now has other files stays.
        folders.iter().rev().for_each(|folder| drop(std::fs::remove_dir(folder)));
        backups.forget(&self.file.real)?;
        let word = if self.new.is_some() { "written" } else { "removed" };
        out(&format!("{word}: {}", self.file.real.display()));
        Ok(Exit::Done)
    }

    fn confirm(
        &self,
        common: &Common,
        config: &Config,
        headline: &str,
        confirmation: Confirmation,
    ) -> anyhow::Result<Exit> {
        let path = self.file.path.display().to_string();
        let link =
            self.file.target().map(|real| format!("{path} leads to {}, which changes", real.display()));
        let (before, after) =
            (self.file.text.as_deref().unwrap_or_default(), self.new.as_deref().unwrap_or_default());
        if confirmation != Confirmation::Ask {
            link.iter().for_each(|link| out(&format!("note: {link}")));
            let diff = similar::TextDiff::from_lines(before, after);
            diff.unified_diff().header(&path, &path).to_string().lines().for_each(out);
            return Ok(Exit::Done);
        }
        let request = ApprovalRequest {
            presentation: Some(trust::difference(&path, before, after)),
            approval: Approval::Human,
            risk: Risk::High,
            facts: link.into_iter().map(|link| Fact::new("link", link)).collect(),
            action: Some(Action::new(format!("{headline}: change ")).value(&path)),
            args: [("file".to_owned(), json!(path))].into_iter().collect(),
            ..ApprovalRequest::new("hook", "", json!({"file": path, "after": Digest::of(after)}))
        };
        let decision = trust::ask(common, config, "hook", request)?;
        if decision.approved && decision.edited_args.is_none() {
            return Ok(Exit::Done);
        }
        out(&format!("nothing was written to {path} ({})", decision.cause));
        Ok(Exit::of_cause(decision.cause))
    }
}
