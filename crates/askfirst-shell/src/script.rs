//! A command line that has been read, and the policy that judges it.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use askfirst::Approval;

use crate::assumptions::{Assumptions, Recorder};
use crate::judged::Judged;
use crate::open;
use crate::reach::{self, Reach};
use crate::real::real;
use crate::roots::Roots;
use crate::rules::Layer;
use crate::sandbox_view::SandboxView;
use crate::start::Opened;
use crate::verdict::Judge;
use crate::world::World;

/// A command line, or a program with its words, read into everything that it would start.
///
/// The reading expands variables and wildcards, so it depends on the file system. [`Script::still_holds`] says whether
/// another reading would have the same result.
#[derive(Debug)]
pub struct Script {
    text: String,
    /// The folder as the caller named it.
    named: PathBuf,
    /// The folder without links.
    folder: PathBuf,
    opened: Opened,
    assumptions: Assumptions,
}

impl Script {
    /// Reads a command line that runs in `folder`.
    #[must_use]
    pub fn of_line(text: &str, folder: &Path, world: &dyn World) -> Self {
        Self::read(text, folder, world, |folder, world| open::open_text(text, folder, world))
    }

    /// Reads a program with its words, which no shell sees. `text` is how a shell would read them.
    #[must_use]
    pub fn of_words(words: &[String], text: &str, folder: &Path, world: &dyn World) -> Self {
        Self::read(text, folder, world, |folder, world| open::open_words(words, text, folder, world))
    }

    fn read(
        text: &str,
        named: &Path,
        world: &dyn World,
        open: impl FnOnce(&Path, &dyn World) -> Opened,
    ) -> Self {
        let folder = located(named, world);
        let recorder = Recorder::new(world);
        let opened = open(&folder, &recorder);
        let assumptions = recorder.finish();
        Self { text: text.to_owned(), named: named.to_owned(), folder, opened, assumptions }
    }

    /// The text that was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the file system gives the same answers as when the line was read. If so, another reading would have
    /// the same result. If there were too many answers to keep, this is false.
    #[must_use]
    pub fn still_holds(&self, world: &dyn World) -> bool {
        located(&self.named, world) == self.folder && self.assumptions.hold(world)
    }
}

/// A folder without links. One whose links go in circles stays as it is.
fn located(folder: &Path, world: &dyn World) -> PathBuf {
    real(folder, world).unwrap_or_else(|| folder.to_owned())
}

/// What a config says about commands.
#[derive(Debug)]
pub struct ShellPolicy {
    /// The layer that decides.
    pub main: Layer,
    /// Layers that can only make it stricter.
    pub floors: Vec<Layer>,
}

impl ShellPolicy {
    /// Judges a command line on the file system and the roots as they are now.
    #[must_use]
    pub fn judge<'s>(
        &self,
        script: &'s Script,
        world: &dyn World,
        roots: &dyn Roots,
        sandbox: &dyn SandboxView,
    ) -> Judged<'s> {
        let layers = std::iter::once(&self.main).chain(&self.floors);
        let outside =
            layers.filter_map(|layer| Some((layer.outside_roots?, layer.origin("shell.outside_roots"))));
        let (outside, outside_origin) =
            outside.max_by_key(|(approval, _)| *approval).unwrap_or((Approval::Required, None));
        let reach = Reach {
            world,
            roots,
            outside,
            outside_origin,
            sandbox,
            unclear: Cell::new(Approval::Required),
            left: Cell::new(reach::MAX_WALK),
            seen: RefCell::default(),
        };
        let judge = Judge { main: &self.main, floors: &self.floors, reach, cwd: &script.folder };
        judge.judge(&script.text, &script.opened)
    }
}
