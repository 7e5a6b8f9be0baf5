//! Command lines that were read to assess a call, kept until the call runs: a line is read once per call.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use askfirst_config::Disk;
use askfirst_shell::Script;

use super::wish::{CommandForm, ShellArguments};

/// At most so many scripts are kept: a few calls wait at the same time. A call whose script is gone is read again.
const MAX_KEPT: usize = 8;

/// The scripts of calls that were assessed and did not run yet, the oldest first.
///
/// A script is found by everything that it was read from, compared letter by letter, so no call gets another's script.
pub(super) struct Scripts {
    reader: ScriptReader,
    kept: Mutex<VecDeque<CachedScript>>,
}

/// Reads the command of a call. The path is the folder that the call's own folder begins in.
pub(super) type ScriptReader = Box<dyn Fn(&ShellArguments, &Path, &Disk) -> Script + Send + Sync>;

/// The reader that parses the command.
pub(super) fn read_script(wish: &ShellArguments, base: &Path, disk: &Disk) -> Script {
    let folder = match wish.folder.as_os_str().is_empty() {
        true => base.to_owned(),
        false => base.join(&wish.folder),
    };
    match &wish.what {
        CommandForm::Line => Script::of_line(&wish.text, &folder, disk),
        CommandForm::Words(words) => Script::of_words(words, &wish.text, &folder, disk),
    }
}

struct CachedScript {
    what: CommandForm,
    folder: PathBuf,
    script: Arc<Script>,
}

impl CachedScript {
    fn is_of(&self, wish: &ShellArguments) -> bool {
        self.script.text() == wish.text && self.what == wish.what && self.folder == wish.folder
    }
}

impl Scripts {
    pub(super) fn new(reader: ScriptReader) -> Self {
        Self { reader, kept: Mutex::default() }
    }

    /// Reads the command of a call. `base` is the folder that the call's own folder begins in.
    pub(super) fn read(&self, wish: &ShellArguments, base: &Path, disk: &Disk) -> Arc<Script> {
        Arc::new((self.reader)(wish, base, disk))
    }

    /// Keeps the script of a call until the call runs, instead of an older one of the same command.
    pub(super) fn keep(&self, wish: &ShellArguments, script: Arc<Script>) {
        let kept = CachedScript { what: wish.what.clone(), folder: wish.folder.clone(), script };
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let full = (all.len() >= MAX_KEPT).then_some(0);
        let gone = all.iter().position(|kept| kept.is_of(wish)).or(full).and_then(|at| all.remove(at));
        all.push_back(kept);
        // Freeing a script takes a while, and other calls wait for the lock.
        drop(all);
        drop(gone);
    }

    /// Takes the script of a call out. If none is kept, or the file system changed how the line reads, it is read again.
    pub(super) fn take(&self, wish: &ShellArguments, base: &Path, disk: &Disk) -> Arc<Script> {
        let found = self.find(wish).filter(|script| script.still_holds(disk));
        found.unwrap_or_else(|| self.read(wish, base, disk))
    }

    fn find(&self, wish: &ShellArguments) -> Option<Arc<Script>> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|kept| kept.is_of(wish))?;
        all.remove(at).map(|kept| kept.script)
    }
}
