//! `like`: a section that has the options of another one too. It refuses sections that are not in the same file.

use super::{Condition, Section, Table};

/// As many steps as `like` may lead over.
const DEPTH: usize = 6;

/// Gives every section the options of those that it is like.
pub(super) fn resolve(tables: &mut [Table]) {
    for _ in 0..DEPTH {
        if !tables.iter().any(|table| waits(&table.root)) {
            return;
        }
        let roots: Vec<Section> =
            tables.iter().map(|table| Section { names: table.names.clone(), ..table.root.clone() }).collect();
        for (table, root) in tables.iter_mut().zip(&roots) {
            if let Err(fault) = join(&mut table.root, root, &roots) {
                table.faults.push((0, fault));
            }
        }
    }
    for table in tables {
        if waits(&table.root) {
            table.faults.push((0, "`like` leads nowhere".to_owned()));
        }
    }
}

fn waits(section: &Section) -> bool {
    !section.like.is_empty() || section.subs.iter().any(waits)
}

fn join(section: &mut Section, root: &Section, roots: &[Section]) -> Result<(), String> {
    for path in std::mem::take(&mut section.like) {
        let found =
            find(&path, root, roots).ok_or_else(|| format!("`like {}` does not exist", path.join(" ")))?;
        if !found.like.is_empty() {
            section.like.push(path);
            continue;
        }
        let own: Vec<String> = section.index.keys().cloned().collect();
        for option in &found.options {
            let mut option = option.clone();
            option.names.retain(|name| !own.contains(name));
            if !option.names.is_empty() {
                let plain = option.glob.is_none() && matches!(option.condition, Condition::Always);
                let twice =
                    plain && option.names.iter().any(|name| section.rows(name).any(|row| row.glob.is_none()));
                if !twice {
                    section.add(option)?;
                }
            }
        }
    }
    for sub in &mut section.subs {
        join(sub, root, roots)?;
    }
    Ok(())
}

/// A section of the same program, or a program of the same file with the names of its sub-commands.
fn find<'s>(path: &[String], root: &'s Section, roots: &'s [Section]) -> Option<&'s Section> {
    let own = path.iter().try_fold(root, |section, step| section.sub(step));
    own.or_else(|| {
        let (first, rest) = path.split_first()?;
        let program = roots.iter().find(|other| other.names.iter().any(|name| name == first))?;
        rest.iter().try_fold(program, |section, step| section.sub(step))
    })
}
