//! Answers the questions of the shell analysis about roots, from open folders.

use std::path::{Path, PathBuf};

use askfirst_config::PathMode;
use askfirst_shell::{Governed, Names};

use super::place::Ground;

impl Ground<'_> {
    fn never(&self, real: &Path, look: impl Fn(Names<'_>) -> Option<String>) -> Option<String> {
        self.by_names(real, &look).or_else(|| {
            let whole = real.strip_prefix("/").unwrap_or(real);
            let in_home = self.roots.home.as_ref().and_then(|home| real.strip_prefix(home).ok());
            look(Names { whole, in_root: Path::new(""), in_home })
        })
    }
}

impl askfirst_shell::Roots for Ground<'_> {
    fn folder(&self) -> &Path {
        &self.roots.folder
    }

    fn governs<'p>(&self, real: &'p Path) -> Option<Governed<'_, 'p>> {
        let (root, inside, rights) = self.speaks(real)?;
        let root = self.roots.all.get(root)?;
        Some(Governed {
            root: &root.name,
            origin: &root.origin,
            inside,
            writable: rights.mode == PathMode::Rw,
            read: rights.approval.read,
            write: rights.approval.write,
        })
    }

    fn places(&self) -> Vec<&Path> {
        self.reals.iter().flatten().map(PathBuf::as_path).collect()
    }

    fn base(&self, cwd: &Path) -> &Path {
        self.base_of(cwd)
    }

    fn reads_all(&self) -> bool {
        self.roots.never.reads_all()
    }

    fn never_read(&self, real: &Path) -> Option<String> {
        if self.roots.never.reads_all() {
            return None;
        }
        self.never(real, |names| self.roots.never.read(names))
    }

    fn never_write(&self, real: &Path) -> Option<String> {
        self.never(real, |names| self.roots.never.write(names))
    }
}
