//! Whether the roots let a command reach a place: the deepest root speaks, stricter layers count, and what is never
//! touched is never touched.

mod walk;

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use askfirst::{Approval, Because};

use super::file_level::{FileLevel, level_of};
use super::paths::{Place, Repository, repository};
use super::programs::is_usual;
use super::programs::used::Role;
use super::real::real;
use super::roots::Roots;
use super::sandbox_view::{Masked, SandboxView};
use super::secrets::is_secret;
use super::world::World;
use walk::{Links, Walked, walk};

pub(super) use walk::names_are_tame;

/// So many names below a folder are looked at.
pub(super) const MAX_WALK: usize = 10_000;

/// So many folders are remembered with their repository.
const MAX_SEEN: usize = 16;

/// What is asked for a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reached<'a> {
    pub(super) approval: Approval,
    /// In words for a person, where there is more to say than that a root has it.
    said: Option<String>,
    touch: Touch,
    /// The root, or the value that speaks for what lies outside them all.
    pub(super) because: Option<&'a Because>,
    /// The root that it lies in.
    pub(super) root: Option<&'a str>,
}

impl Reached<'_> {
    /// In words for a person. Put together only here, since most of what is reached is allowed and nobody told.
    pub(super) fn why(self, text: &str) -> String {
        self.said.unwrap_or_else(|| {
            format!(
                "this command {} `{text}` in the root `{}`",
                self.touch.verb(),
                self.root.unwrap_or_default()
            )
        })
    }
}

/// What is done with a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    /// Its names are read, nothing else.
    Names,
    /// It is read.
    Read,
    /// It is read with everything below it.
    ReadAll,
    /// It is changed, or something is made in it.
    Write,
    /// It is taken away or changed with everything below it.
    WriteAll,
}

impl Touch {
    pub(super) fn of(role: Role) -> Option<Self> {
        match role {
            Role::Read | Role::File | Role::Pathspec => Some(Self::Read),
            Role::Tree => Some(Self::ReadAll),
            Role::List | Role::Folder => Some(Self::Names),
            Role::Write => Some(Self::Write),
            Role::Text | Role::Url | Role::Rest | Role::Command | Role::Script | Role::Code | Role::Ask => {
                None
            }
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Names => "lists",
            Self::Read | Self::ReadAll => "reads",
            Self::Write | Self::WriteAll => "writes",
        }
    }
}

/// The roots, and what holds outside them.
pub(super) struct Reach<'a> {
    pub(super) world: &'a dyn World,
    pub(super) roots: &'a dyn Roots,
    pub(super) outside: Approval,
    pub(super) outside_origin: Option<&'a Because>,
    pub(super) sandbox: &'a dyn SandboxView,
    /// What is asked for the command that is looked at where its effect is not understood: see [`Layer::unclear`].
    ///
    /// [`Layer::unclear`]: super::rules::Layer::unclear
    pub(super) unclear: Cell<Approval>,
    /// How many names below folders may still be looked at for this line.
    pub(super) left: Cell<usize>,
    /// Repositories that were looked for, by folder: many programs of a line run in one.
    pub(super) seen: RefCell<Vec<(PathBuf, Rc<Repository>)>>,
}

impl<'a> Reach<'a> {
    /// What is asked for a place.
    pub(super) fn look(&self, place: &Place, touch: Touch) -> Reached<'a> {
        self.look_at(&place.text, &place.plain, &place.real, touch)
    }

    /// The same by its parts: as the program gets to see it, by its text alone, and where it leads.
    pub(super) fn look_at(&self, text: &str, plain: &Path, real: &Path, touch: Touch) -> Reached<'a> {
        if let Some(reached) = device(plain, touch) {
            return reached;
        }
        let asks = |approval: Approval, why: String| Reached {
            approval,
            said: Some(why),
            touch,
            because: None,
            root: None,
        };
        let unclear = self.unclear.get();
        let foreign = text.chars().find(|letter| !letter.is_ascii());
        if let Some(letter) = foreign.filter(|_| unclear >= Approval::Required) {
            let code = u32::from(letter);
            return asks(
                unclear,
                format!("`{text}` contains the letter U+{code:04X}, which may look like another letter"),
            );
        }
        let plainly = || if same(plain, real) { None } else { self.never(plain, touch) };
        if let Some(why) = self.never(real, touch).or_else(plainly) {
            let verb = if matches!(touch, Touch::Write | Touch::WriteAll) { "written" } else { "read" };
            return asks(Approval::Deny, format!("`{text}` is never {verb}: {why}"));
        }
        let reads = matches!(touch, Touch::Read | Touch::ReadAll);
        let governed = self.roots.governs(real);
        if governed.is_none() && !((reads || touch == Touch::Names) && self.is_shown(plain, real)) {
            if unclear == Approval::Rehearse && self.is_private(real) {
                return asks(
                    unclear,
                    format!("this command {} `{text}`, which only its session sees", touch.verb()),
                );
            }
            let why = format!("this command {} `{text}`, which is outside every root", touch.verb());
            return Reached { because: self.outside_origin, ..asks(self.outside, why) };
        }
        let mut reached = Reached {
            approval: Approval::None,
            said: None,
            touch,
            because: governed.map(|governed| governed.origin),
            root: governed.map(|governed| governed.root),
        };
        if let Some(governed) = governed {
            reached.approval = match touch {
                Touch::Names => Approval::None,
                Touch::Read | Touch::ReadAll => governed.read,
                Touch::Write | Touch::WriteAll if !governed.writable => {
                    let name = governed.root;
                    reached.said =
                        Some(format!("this command writes `{text}`, and the root `{name}` is read-only"));
                    Approval::Deny
                }
                // On a view, a write changes nothing yet: the approval is for what it turns out to change.
                Touch::Write | Touch::WriteAll
                    if governed.write != Approval::Deny && unclear < Approval::Required =>
                {
                    governed.write.min(unclear)
                }
                Touch::Write | Touch::WriteAll => governed.write,
            };
            let writes = matches!(touch, Touch::Write | Touch::WriteAll);
            if writes && reached.approval < unclear && steers(governed.inside) {
                reached.approval = unclear;
                reached.said = Some(format!("this command writes `{text}`, which controls other programs"));
            }
        }
        if reads && reached.approval < Approval::Required && is_secret(real) {
            reached.approval = Approval::Required;
            reached.said =
                Some(format!("this command reads `{text}`, and files with this name usually hold secrets"));
            reached.because = None;
        }
        if foreign.is_some() {
            reached.approval = reached.approval.max(unclear);
        }
        match touch {
            Touch::Write if holds_protected(real) => {
                reached.approval = reached.approval.max(unclear);
                reached.said = Some(format!("`{text}` contains files that are never written"));
                reached.because = None;
            }
            Touch::Names | Touch::Read | Touch::Write => {}
            Touch::ReadAll | Touch::WriteAll => self.look_below(text, real, touch, &mut reached),
        }
        reached
    }

    /// Whether something below a folder asks for more than the folder itself.
    fn look_below(&self, text: &str, real: &Path, touch: Touch, reached: &mut Reached<'_>) {
        let in_root = reached.root.is_some();
        let mut raise_to = |approval: Approval, why: String| {
            reached.approval = reached.approval.max(approval);
            reached.said = Some(why);
            reached.because = None;
        };
        let unclear = self.unclear.get();
        if touch == Touch::WriteAll {
            if self.roots.places().iter().any(|root| root.starts_with(real)) {
                raise_to(unclear, format!("`{text}` is a root or contains one"));
            } else if self.world.exists(&real.join(".git")) {
                raise_to(unclear, format!("`{text}` contains a repository"));
            } else if holds_protected(real) {
                raise_to(unclear, format!("`{text}` contains files that are never written"));
            }
            return;
        }
        if self.roots.places().iter().any(|root| *root != real && root.starts_with(real)) {
            raise_to(Approval::Required, format!("`{text}` contains another root"));
        }
        if self.roots.reads_all() {
            return;
        }
        let mut left = self.left.get();
        let found = walk(self.world, real, Links::Lead, &mut left, &mut |path| {
            self.never(path, Touch::Read).is_some()
        });
        self.left.set(left);
        let why = match found {
            Walked::Found(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!("this command reads all of `{text}`, and `{name}` in it is never read")
            }
            Walked::TooMuch => format!(
                "this command reads all of `{text}`, which has too many files to check for `never_read` paths"
            ),
            Walked::Nothing => return,
        };
        match self.sandbox.masked() {
            // The sandbox hides them only in the roots.
            Masked::BySandbox if in_root => {}
            Masked::BySandbox => raise_to(unclear, why),
            Masked::No => raise_to(Approval::Human, why),
        }
    }

    /// Whether the sandbox shows a place outside every root to every program, so that reading it needs no question. A
    /// config that is stricter than the default outside the roots means these places too.
    pub(super) fn is_shown(&self, plain: &Path, real: &Path) -> bool {
        let of_user = |top: &Path| {
            self.world.home().is_some_and(|home| home.starts_with(top) && real.starts_with(home))
        };
        let mut tops = self.sandbox.shown().iter().map(Path::new);
        // A link to elsewhere that is itself in the list leads there in the sandbox too.
        self.outside == Approval::Required
            && (tops.any(|top| (real.starts_with(top) || plain == top) && !of_user(top))
                || self.sandbox.is_in_toolchain(real))
            && self.sandbox.masked() == Masked::BySandbox
    }

    /// Whether a rehearsed command has a place outside every root to itself. The home of the user is none. A config that is stricter than the default
    /// outside the roots means these places too.
    fn is_private(&self, real: &Path) -> bool {
        self.outside == Approval::Required
            && self.sandbox.private().iter().any(|top| real.starts_with(top))
            && !self.world.home().is_some_and(|home| real.starts_with(home))
            && self.sandbox.masked() == Masked::BySandbox
    }

    /// Whether a program lies where programs are started by their plain names: in a usual folder, or in the `bin` of a
    /// toolchain. The Python of a virtual environment is a link to such a program.
    pub(super) fn is_installed(&self, program: &Path) -> bool {
        let in_bin = || program.parent().and_then(Path::file_name).is_some_and(|folder| folder == "bin");
        program.to_str().is_some_and(is_usual) || (in_bin() && self.sandbox.is_in_toolchain(program))
    }

    /// Whether the sandbox hides a place from a command that a wildcard gives it to.
    pub(super) fn hides(&self, place: &Place) -> bool {
        self.root_of(&place.real).is_some()
            && self.is_never_read(place)
            && self.sandbox.masked() == Masked::BySandbox
    }

    /// What is asked for something that would come to lie in a folder under this name, and why, if it is protected.
    pub(super) fn never_in(&self, folder: &Path, name: &OsStr) -> Option<(Approval, String)> {
        let real = folder.join(name);
        let held = || holds_protected(&real).then(|| "it contains files that are never written".to_owned());
        let inside = self.roots.governs(&real).map(|governed| governed.inside);
        let steered =
            || inside.filter(|inside| steers(inside)).map(|_| "it controls other programs".to_owned());
        let never = self.never(&real, Touch::Write).map(|why| (Approval::Required, why));
        never.or_else(|| held().or_else(steered).map(|why| (self.unclear.get(), why)))
    }

    /// Whether something below a folder usually holds secrets, or there is too much to tell.
    pub(super) fn has_secrets(&self, top: &Path) -> bool {
        let mut left = self.left.get();
        let walked = walk(self.world, top, Links::Names, &mut left, &mut |path| is_secret(path));
        self.left.set(left);
        !matches!(walked, Walked::Nothing)
    }

    /// Whether a place is never read, be it there or only in the history of a repository.
    pub(super) fn is_never_read(&self, place: &Place) -> bool {
        !self.roots.reads_all() && self.never(&place.real, Touch::Read).is_some()
    }

    /// Whether whatever lies in a place is never read.
    pub(super) fn is_never_read_below(&self, place: &Place) -> bool {
        !self.roots.reads_all()
            && !self.world.is_file(&place.real)
            && self.never(&place.real.join("x"), Touch::Read).is_some()
    }

    /// Whether something in a place is never read, by the names that it has there.
    pub(super) fn has_never_read(&self, place: &Place) -> bool {
        if self.roots.reads_all() || !self.world.is_folder(&place.real) {
            return false;
        }
        let mut left = self.left.get();
        let never = &mut |path: &Path| self.never(path, Touch::Read).is_some();
        let walked = walk(self.world, &place.real, Links::Names, &mut left, never);
        self.left.set(left);
        self.is_never_read_below(place) || !matches!(walked, Walked::Nothing)
    }

    /// Why something that lies below a folder under a name that fits is never written.
    pub(super) fn protected_below(&self, top: &Path, fits: &dyn Fn(&OsStr) -> bool) -> Option<String> {
        let mut left = self.left.get();
        let mut why = None;
        let walked = walk(self.world, top, Links::Names, &mut left, &mut |path| {
            let named = path.file_name().is_some_and(fits);
            why = if named { self.never(path, Touch::Write) } else { None };
            why.is_some()
        });
        self.left.set(left);
        match walked {
            Walked::Found(_) => why,
            Walked::TooMuch => Some("the folder has too many files to check for protected ones".to_owned()),
            Walked::Nothing => None,
        }
    }

    /// A link below a folder that leads out of every root. Nothing is known where there is too much to look at.
    pub(super) fn leads_outside(&self, top: &Path) -> Option<bool> {
        let mut left = self.left.get();
        // The system's programs, and Python in an environment of a project, are no secret.
        let system = |led: &Path| {
            ["/usr", "/bin", "/lib", "/lib64", "/nix/store"].iter().any(|top| led.starts_with(top))
        };
        let python = |path: &Path| {
            path.ancestors()
                .nth(2)
                .is_some_and(|environment| self.world.is_file(&environment.join("pyvenv.cfg")))
        };
        let walked = walk(self.world, top, Links::Names, &mut left, &mut |path| {
            let away =
                |led: &PathBuf| self.root_of(led).is_none() && !system(led) && !self.is_shown(led, led);
            self.world.is_link(path) && real(path, self.world).as_ref().is_some_and(away) && !python(path)
        });
        self.left.set(left);
        match walked {
            Walked::Found(_) => Some(true),
            Walked::Nothing => Some(false),
            Walked::TooMuch => None,
        }
    }

    /// Whether everything below a folder may be written as the folder itself may: no repository, no root of its own,
    /// nothing that is never written, and no link that leads to more than a file of a root.
    pub(super) fn below_is_alike(&self, top: &Path) -> bool {
        if self.roots.places().iter().any(|root| root.starts_with(top)) || holds_protected(top) {
            return false;
        }
        let mut left = self.left.get();
        let walked = walk(self.world, top, Links::Names, &mut left, &mut |path| {
            let inside = |led: &PathBuf| self.root_of(led).is_some() && !self.world.is_folder(led);
            let led = || real(path, self.world).filter(inside);
            let away =
                self.world.is_link(path) && led().is_none_or(|led| self.never(&led, Touch::Write).is_some());
            away || holds_protected(path) || self.never(path, Touch::Write).is_some()
        });
        self.left.set(left);
        matches!(walked, Walked::Nothing)
    }

    fn never(&self, real: &Path, touch: Touch) -> Option<String> {
        match touch {
            Touch::Names | Touch::Read | Touch::ReadAll => self.roots.never_read(real),
            Touch::Write | Touch::WriteAll => self.roots.never_write(real),
        }
    }

    /// The repository that a folder belongs to.
    pub(super) fn repository(&self, folder: &Path) -> Rc<Repository> {
        let mut seen = self.seen.borrow_mut();
        if let Some((_, found)) = seen.iter().find(|(at, _)| same(at, folder)) {
            return Rc::clone(found);
        }
        let found = Rc::new(repository(folder, self.world));
        if seen.len() < MAX_SEEN {
            seen.push((folder.to_owned(), Rc::clone(&found)));
        }
        found
    }

    /// The names of the roots that a place lies in the deepest.
    pub(super) fn root_of(&self, real: &Path) -> Option<&'a str> {
        self.roots.governs(real).map(|governed| governed.root)
    }
}

/// Whether a folder of this name has files in it that are never written.
fn holds_protected(real: &Path) -> bool {
    real.file_name().is_some_and(|name| [".git", ".hg", ".config"].iter().any(|own| name == *own))
}

/// Files that lead to a stream or to nothing.
fn device<'a>(plain: &Path, touch: Touch) -> Option<Reached<'a>> {
    let path = plain.to_str()?;
    let name = path.strip_prefix("/dev/")?;
    let number = name.strip_prefix("fd/").is_some_and(|fd| fd.chars().all(|c| c.is_ascii_digit()));
    let harmless = match touch {
        Touch::Names | Touch::Read | Touch::ReadAll => {
            matches!(name, "null" | "zero" | "random" | "urandom" | "stdin") || number
        }
        Touch::Write | Touch::WriteAll => matches!(name, "null" | "stdout" | "stderr" | "full") || number,
    };
    let network = name.starts_with("tcp/") || name.starts_with("udp/");
    let (approval, why) = match (harmless, network) {
        (true, _) => (Approval::None, format!("`{path}` holds nothing")),
        (false, true) => (Approval::Required, format!("`{path}` opens a network connection")),
        (false, false) => return None,
    };
    Some(Reached { approval, said: Some(why), touch, because: None, root: None })
}

/// Whether two paths are one, by their letters: what differs only in how it is written counts as two.
fn same(a: &Path, b: &Path) -> bool {
    a.as_os_str() == b.as_os_str()
}

/// Whether a write of a file by its name is asked about: it can control other programs, or lies in a repository.
fn steers(path: &Path) -> bool {
    let in_git = || path.iter().any(|name| name.eq_ignore_ascii_case(".git"));
    // What git leaves behind when it was ended.
    path != Path::new(".git/index.lock") && (in_git() || level_of(path) > FileLevel::Ordinary)
}
