//! A command line that has been read, and the policy that judges it.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use askfirst::Approval;

use crate::judged::Judged;
use crate::open;
use crate::reach::{self, Masked, Reach};
use crate::real;
use crate::roots::Roots;
use crate::rules::Layer;
use crate::start::Opened;
use crate::verdict::Judge;
use crate::world::World;

/// A command line, or a program with its words, read into everything that it would start.
#[derive(Debug)]
pub struct Script {
    pub(crate) text: String,
    pub(crate) folder: PathBuf,
    pub(crate) opened: Opened,
}

impl Script {
    /// Reads a command line that runs in `folder`.
    #[must_use]
    pub fn of_line(text: &str, folder: &Path, world: &dyn World) -> Self {
        let folder = real::real(folder, world).unwrap_or_else(|| folder.to_owned());
        let opened = open::open_text(text, &folder, world);
        Self { text: text.to_owned(), folder, opened }
    }

    /// Reads a program with its words, which no shell sees. `text` is how a shell would read them.
    #[must_use]
    pub fn of_words(words: &[String], text: &str, folder: &Path, world: &dyn World) -> Self {
        let folder = real::real(folder, world).unwrap_or_else(|| folder.to_owned());
        let opened = open::open_words(words, text, &folder, world);
        Self { text: text.to_owned(), folder, opened }
    }
}

/// What a config says about commands.
#[derive(Debug)]
pub struct ShellPolicy {
    /// The layer that decides.
    pub main: Layer,
    /// Layers that can only make it stricter.
    pub floors: Vec<Layer>,
    /// Whether commands may use the network.
    pub network: bool,
}

impl ShellPolicy {
    /// Judges a command line on the file system and the roots as they are now.
    #[must_use]
    pub fn judge(&self, script: Script, world: &dyn World, roots: &dyn Roots, masked: Masked) -> Judged {
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
            masked,
            left: Cell::new(reach::MAX_WALK),
            seen: RefCell::default(),
        };
        let Script { text, folder, opened } = script;
        let (main, floors, network) = (&self.main, self.floors.as_slice(), self.network);
        let judge = Judge { main, floors, reach, cwd: &folder, network };
        judge.judge(&text, opened)
    }
}
