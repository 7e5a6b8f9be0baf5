//! Looks at everything below a folder, up to a limit.

use std::path::{Path, PathBuf};

use crate::real::real;
use crate::world::{FileKind, World};

pub(super) enum Walked {
    Found(PathBuf),
    TooMuch,
    Nothing,
}

/// What links below a folder count for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Their own name.
    Names,
    /// What they lead to as well, since some programs follow them.
    Lead,
}

/// Looks at everything below a folder.
pub(super) fn walk(
    world: &dyn World,
    top: &Path,
    links: Links,
    left: &mut usize,
    wanted: &mut dyn FnMut(&Path) -> bool,
) -> Walked {
    let mut folders = vec![top.to_owned()];
    let mut entered: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        let Some(listing) = world.list(&folder, *left + 1) else { continue };
        for (name, kind) in listing.iter() {
            let Some(fewer) = left.checked_sub(1) else { return Walked::TooMuch };
            *left = fewer;
            let path = folder.join(name);
            if wanted(&path) {
                return Walked::Found(path);
            }
            if kind == FileKind::Folder {
                folders.push(path);
            } else if kind == FileKind::Link && links == Links::Lead {
                let led = real(&path, world).filter(|led| !wanted(led));
                let Some(led) = led else { return Walked::Found(path) };
                if !led.starts_with(top) && !entered.contains(&led) && world.is_folder(&led) {
                    entered.push(led.clone());
                    folders.push(led);
                }
            }
        }
    }
    Walked::Nothing
}

/// Whether no name below a folder has blanks or wildcards in it, and none directly in it begins with a dash.
pub(crate) fn names_are_tame(top: &Path, left: &mut usize, world: &dyn World) -> bool {
    let odd = |path: &Path| {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return true };
        let letter = |c: char| c.is_whitespace() || c.is_control() || "*?[]\\'\"".contains(c);
        name.starts_with('-') || name.contains(letter)
    };
    match walk(world, top, Links::Names, left, &mut |path| odd(path)) {
        Walked::Nothing => true,
        Walked::Found(_) | Walked::TooMuch => false,
    }
}
