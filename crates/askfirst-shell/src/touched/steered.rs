//! Programs that only print, unless a file of the project makes them load something first.

use std::path::Path;

use super::Looker;
use crate::programs::used::{Class, Used};
use crate::world::{FileKind, World};

/// A file that a program looks for, and the words in it by which something is loaded; with none its being there is enough.
type Steering = (&'static str, &'static [&'static str]);

/// Which programs look for which files, in their folder and those above.
const STEERED: [(&[&str], &[Steering]); 5] = [
    (
        &["cargo", "rustc", "rustdoc", "rustfmt"],
        // A key may be written with escapes, and an old file is nothing but a path.
        &[("rust-toolchain.toml", &["path", "\\", "/"]), ("rust-toolchain", &["path", "\\", "/"])],
    ),
    (
        &["yarn", "yarnpkg"],
        &[(".yarnrc.yml", &["yarnPath", "plugins", "\\"]), (".yarnrc", &["yarn-path", "\\"])],
    ),
    (&["pnpm"], &[(".pnpmfile.cjs", &[]), (".pnpmfile.mjs", &[])]),
    (&["mvn", "mvnd"], &[(".mvn/jvm.config", &[]), (".mvn/extensions.xml", &[]), (".mvn/maven.config", &[])]),
    (
        &["flake8"],
        &[
            (".flake8", &["local-plugins"]),
            ("setup.cfg", &["local-plugins"]),
            ("tox.ini", &["local-plugins"]),
        ],
    ),
];

/// So much of such a file is read; what is longer counts as if the word were in it.
const MOST: u64 = 1 << 16;

impl Looker<'_> {
    /// `cargo --version` is printed by whatever toolchain the project names.
    pub(super) fn steered(&mut self, used: &Used) {
        if used.class != Class::Reads {
            return;
        }
        let program = used.program.as_str();
        let Some((_, files)) = STEERED.iter().find(|(programs, _)| programs.contains(&program)) else {
            return;
        };
        let folders = self.start.folders.iter().flat_map(|folder| folder.ancestors());
        let inside: Vec<&Path> = folders.filter(|folder| self.reach.root_of(folder).is_some()).collect();
        let looked = inside.iter().flat_map(|folder| files.iter().map(move |(name, _)| folder.join(name)));
        self.touched.judged_by.extend(looked);
        let mut found = inside.into_iter().flat_map(|folder| files.iter().map(move |file| (folder, file)));
        let found = found.find(|(folder, (name, words))| loads(&folder.join(name), words, self.world));
        if let Some((_, (name, _))) = found {
            self.wonder(format!("the project's `{name}` may decide what `{program}` loads"));
        }
    }
}

fn loads(path: &Path, words: &[&str], world: &dyn World) -> bool {
    let Some(info) = world.info(path) else { return false };
    if words.is_empty() || info.kind != FileKind::File || info.length > MOST {
        return true;
    }
    let text = world.read(path, MOST).unwrap_or_default();
    words.iter().any(|word| memchr::memmem::find(&text, word.as_bytes()).is_some())
}
