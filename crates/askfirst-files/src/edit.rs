//! Applies edits to a text: an exact replacement, or a unified diff that must match line by line.

use super::file_call::{Occurrences, TextEdit};

/// The most bytes of a text after an edit. A few replacements could otherwise use up the memory.
const MAX_TEXT: usize = 64 << 20;

/// The reason why an edit cannot be applied to a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    #[error("the file does not contain the old text")]
    NotFound,
    #[error(
        "the file contains the old text {0} times; hint: include more of the text around it, or set `all`"
    )]
    Several(usize),
    #[error("the new text is larger than 64 MiB")]
    TooLarge,
    #[error("the patch has no hunks")]
    NoHunks,
    #[error("the patch changes more than one file")]
    SeveralFiles,
    #[error("line {0} of the patch is not part of a unified diff")]
    NotADiff(usize),
    #[error("the hunk at line {0} of the patch does not have the number of lines in its header")]
    WrongCount(usize),
    #[error("line {at} of the patch does not match line {line} of the file")]
    Mismatch { at: usize, line: usize },
    #[error(
        "the hunk at line {0} of the patch overlaps the previous hunk, or starts after the end of the file"
    )]
    Order(usize),
}

/// Returns the text after an edit.
pub(crate) fn apply(text: &str, edit: &TextEdit) -> Result<String, EditError> {
    match edit {
        TextEdit::Patch(patch) => apply_patch(text, patch),
        TextEdit::Replace { old, new, occurrences } => {
            match (text.matches(old.as_str()).count(), occurrences) {
                (0, _) => Err(EditError::NotFound),
                (count, _) if text.len().saturating_add(count.saturating_mul(new.len())) > MAX_TEXT => {
                    Err(EditError::TooLarge)
                }
                (1, Occurrences::One) | (_, Occurrences::All) => Ok(text.replace(old.as_str(), new)),
                (several, Occurrences::One) => Err(EditError::Several(several)),
            }
        }
    }
}

fn apply_patch(old: &str, patch: &str) -> Result<String, EditError> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let lines: Vec<&str> = patch.split_inclusive('\n').collect();
    let (mut new, mut done, mut at) = (String::new(), 0_usize, 0_usize);
    let (mut headers, mut hunks) = (0, 0);
    while let Some(line) = lines.get(at) {
        let text = line.trim_end_matches(['\n', '\r']);
        if text.starts_with("@@") {
            let hunk = Hunk::parse(text).ok_or(EditError::NotADiff(at + 1))?;
            if hunk.first < done || hunk.first > old.len() {
                return Err(EditError::Order(at + 1));
            }
            new.extend(old.iter().skip(done).take(hunk.first - done).copied());
            (at, done) = hunk.apply(&old, &lines, at, &mut new)?;
            hunks += 1;
            continue;
        }
        let header = ["diff ", "index ", "--- ", "+++ "].iter().any(|head| text.starts_with(head));
        headers += usize::from(text.starts_with("--- "));
        if headers > 1 {
            return Err(EditError::SeveralFiles);
        }
        if !(text.is_empty() || header && hunks == 0) {
            return Err(EditError::NotADiff(at + 1));
        }
        at += 1;
    }
    if hunks == 0 {
        return Err(EditError::NoHunks);
    }
    new.extend(old.iter().skip(done).copied());
    Ok(new)
}

struct Hunk {
    /// The index of the first old line, starting at 0.
    first: usize,
    /// The number of old lines.
    old: usize,
    /// The number of new lines.
    new: usize,
}

impl Hunk {
    /// Parses the header `@@ -first,old +first,new @@`.
    fn parse(text: &str) -> Option<Self> {
        let (ranges, _) = text.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let range = |text: &str| {
            let (first, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((first.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
        };
        let ((first, old), (_, new)) = (range(old)?, range(new)?);
        // A hunk without old lines starts after the line that its header names.
        let first = if old == 0 { first } else { first.checked_sub(1)? };
        Some(Self { first, old, new })
    }

    /// Adds the new lines to `text`. Returns the next line of the patch and the next line of the old text.
    fn apply(
        &self,
        old: &[&str],
        lines: &[&str],
        header: usize,
        text: &mut String,
    ) -> Result<(usize, usize), EditError> {
        let (mut at, mut line) = (header + 1, self.first);
        let (mut olds, mut news) = (0, 0);
        while olds < self.old || news < self.new {
            let Some(patched) = lines.get(at) else { return Err(EditError::WrongCount(header + 1)) };
            let (sign, rest) = match patched.chars().next() {
                Some(sign @ (' ' | '-' | '+')) => (sign, patched.get(1..).unwrap_or_default()),
                Some('\n') => (' ', *patched),
                Some(_) | None => return Err(EditError::WrongCount(header + 1)),
            };
            let has_no_newline = lines.get(at + 1).is_some_and(|next| next.starts_with('\\'));
            let mut expected = rest.strip_suffix('\n').unwrap_or(rest).to_owned();
            if !has_no_newline {
                expected.push('\n');
            }
            if sign != '+' {
                if old.get(line).is_none_or(|found| *found != expected) {
                    return Err(EditError::Mismatch { at: at + 1, line: line + 1 });
                }
                line += 1;
                olds += 1;
            }
            if sign != '-' {
                text.push_str(&expected);
                news += 1;
            }
            at += 1 + usize::from(has_no_newline);
        }
        if (olds, news) == (self.old, self.new) {
            Ok((at, line))
        } else {
            Err(EditError::WrongCount(header + 1))
        }
    }
}

#[cfg(test)]
#[path = "edit/tests.rs"]
mod tests;
