//! The folders that commands of a line run in.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use super::super::fill::Filler;
use super::super::line::tree::{Command, Folder, Line, Word};
use super::super::paths::{self, entered_all};
use super::{Opener, Setting};

/// Where folders as a line names them lead from those that it begins in.
pub(super) struct Entered {
    base: Arc<[PathBuf]>,
    own: Vec<Folder>,
    found: Arc<[PathBuf]>,
    linked: bool,
}

impl Opener<'_> {
    /// The folders that a command may run in, and whether the shell has other names for them.
    pub(super) fn folders(
        &self,
        setting: &Setting<'_>,
        line: &Line,
        command: &Command,
    ) -> (Arc<[PathBuf]>, bool) {
        let nowhere = || (Arc::default(), true);
        let Some(folders) = &command.folders else { return nowhere() };
        if let ([_], [Folder(words)]) = (&*setting.folders, folders.as_slice())
            && words.is_empty()
        {
            return (Arc::clone(&setting.folders), setting.linked);
        }
        let same = |it: &&Entered| Arc::ptr_eq(&it.base, &setting.folders) && it.own == *folders;
        if let Some(Entered { found, linked, .. }) = self.entered.borrow().as_ref().filter(same) {
            return (Arc::clone(found), *linked || setting.linked);
        }
        let mut found = Vec::new();
        let mut linked = false;
        for base in setting.folders.iter() {
            for folder in folders {
                let mut here = vec![base.clone()];
                let mut by_link = setting.linked;
                for (index, word) in folder.0.iter().enumerate() {
                    let own = [Folder(folder.0.get(..index).unwrap_or_default().to_vec())];
                    let mut next = Vec::new();
                    for at in &here {
                        let folders = std::slice::from_ref(at);
                        let filler =
                            Filler { line, world: self.world, folders, own: Some(&own), linked: by_link };
                        let word = filler.one(word);
                        // Where it stands by the text is not where it stands.
                        let elsewhere = by_link && !word.prefix().starts_with('/');
                        match paths::entered_each(&word, at, self.world) {
                            Ok(entered) if !elsewhere => next.extend(entered),
                            Ok(_) | Err(_) => return nowhere(),
                        }
                        linked |= paths::leads_by_link(&word, at, self.world);
                    }
                    (here, by_link) = (next, linked);
                }
                here.retain(|folder| !found.contains(folder));
                found.append(&mut here);
            }
        }
        if found.len() > paths::MOST_FOLDERS {
            return nowhere();
        }
        let found: Arc<[PathBuf]> = found.into();
        // What is not known may turn out to be something else elsewhere in the line.
        let literal = |folder: &Folder| folder.0.iter().all(|word| word.literal().is_some());
        if line.commands.len() > 2 && folders.iter().all(literal) {
            let (base, found) = (Arc::clone(&setting.folders), Arc::clone(&found));
            self.entered.replace(Some(Entered { base, own: folders.clone(), found, linked }));
        }
        (found, linked || setting.linked)
    }

    /// The folders after those that options name (`git -C x`).
    pub(super) fn after(&self, folders: &Arc<[PathBuf]>, words: &[Word]) -> Arc<[PathBuf]> {
        match entered_all(folders, words, self.world) {
            Cow::Borrowed(_) => Arc::clone(folders),
            Cow::Owned(entered) => entered.into(),
        }
    }
}
