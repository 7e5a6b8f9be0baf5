//! Edits of a text: an exact replacement, or a unified diff that must fit line by line.

use super::wish::{Change, Count};

/// Why an edit does not fit the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Misfit {
    #[error("the old text is not there")]
    NotThere,
    #[error("the old text is there {0} times; hint: give more of what is around it, or `all`")]
    Several(usize),
    #[error("the patch has no hunk")]
    NoHunk,
    #[error("the patch is about more than one file")]
    SeveralFiles,
    #[error("line {0} of the patch is no part of a unified diff")]
    Unreadable(usize),
    #[error("the hunk at line {0} of the patch does not have as many lines as it says")]
    WrongCount(usize),
    #[error("line {at} of the patch does not fit line {line} of the file")]
    NoFit { at: usize, line: usize },
    #[error(
        "the hunk at line {0} of the patch begins before the one above it ends, or past the end of the file"
    )]
    Order(usize),
}

/// The text after the edit.
pub(crate) fn apply(old: &str, change: &Change) -> Result<String, Misfit> {
    match change {
        Change::Patch(patch) => apply_patch(old, patch),
        Change::Replace { old: wanted, new, count } => match (old.matches(wanted.as_str()).count(), count) {
            (0, _) => Err(Misfit::NotThere),
            (1, Count::Once) | (_, Count::All) => Ok(old.replace(wanted.as_str(), new)),
            (several, Count::Once) => Err(Misfit::Several(several)),
        },
    }
}

fn apply_patch(old: &str, patch: &str) -> Result<String, Misfit> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let lines: Vec<&str> = patch.split_inclusive('\n').collect();
    let (mut new, mut done, mut at) = (String::new(), 0_usize, 0_usize);
    let (mut headers, mut hunks) = (0, 0);
    while let Some(line) = lines.get(at) {
        let text = line.trim_end_matches(['\n', '\r']);
        if text.starts_with("@@") {
            let hunk = Hunk::read(text).ok_or(Misfit::Unreadable(at + 1))?;
            if hunk.first < done || hunk.first > old.len() {
                return Err(Misfit::Order(at + 1));
            }
            new.extend(old.iter().skip(done).take(hunk.first - done).copied());
            (at, done) = hunk.apply(&old, &lines, at, &mut new)?;
            hunks += 1;
            continue;
        }
        let header = ["diff ", "index ", "--- ", "+++ "].iter().any(|head| text.starts_with(head));
        headers += usize::from(text.starts_with("--- "));
        if headers > 1 {
            return Err(Misfit::SeveralFiles);
        }
        if !(text.is_empty() || header && hunks == 0) {
            return Err(Misfit::Unreadable(at + 1));
        }
        at += 1;
    }
    if hunks == 0 {
        return Err(Misfit::NoHunk);
    }
    new.extend(old.iter().skip(done).copied());
    Ok(new)
}

struct Hunk {
    /// The first line of the old text that it is about, from 0 on.
    first: usize,
    old: usize,
    new: usize,
}

impl Hunk {
    /// `@@ -first,old +first,new @@`.
    fn read(text: &str) -> Option<Self> {
        let (ranges, _) = text.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let range = |text: &str| {
            let (first, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((first.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
        };
        let ((first, old), (_, new)) = (range(old)?, range(new)?);
        // A hunk without old lines goes after the line that it names.
        let first = if old == 0 { first } else { first.checked_sub(1)? };
        Some(Self { first, old, new })
    }

    /// Adds the hunk's lines, and says where patch and old text go on.
    fn apply(
        &self,
        old: &[&str],
        lines: &[&str],
        header: usize,
        text: &mut String,
    ) -> Result<(usize, usize), Misfit> {
        let (mut at, mut line) = (header + 1, self.first);
        let (mut olds, mut news) = (0, 0);
        while olds < self.old || news < self.new {
            let Some(given) = lines.get(at) else { return Err(Misfit::WrongCount(header + 1)) };
            let (sign, rest) = match given.chars().next() {
                Some(sign @ (' ' | '-' | '+')) => (sign, given.get(1..).unwrap_or_default()),
                Some('\n') => (' ', *given),
                Some(_) | None => return Err(Misfit::WrongCount(header + 1)),
            };
            let unended = lines.get(at + 1).is_some_and(|next| next.starts_with('\\'));
            let mut wanted = rest.strip_suffix('\n').unwrap_or(rest).to_owned();
            if !unended {
                wanted.push('\n');
            }
            if sign != '+' {
                if old.get(line).is_none_or(|found| *found != wanted) {
                    return Err(Misfit::NoFit { at: at + 1, line: line + 1 });
                }
                line += 1;
                olds += 1;
            }
            if sign != '-' {
                text.push_str(&wanted);
                news += 1;
            }
            at += 1 + usize::from(unended);
        }
        if (olds, news) == (self.old, self.new) {
            Ok((at, line))
        } else {
            Err(Misfit::WrongCount(header + 1))
        }
    }
}

#[cfg(test)]
#[path = "edit/tests.rs"]
mod tests;
