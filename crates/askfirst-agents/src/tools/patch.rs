//! The patches of Codex.
//!
//! Versions of Codex read some patches differently. This parser refuses every patch that two of them could read in two
//! ways, so that the shown change is the change that happens.

use super::absolute;

/// The reason why a change cannot be computed for the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// The old text is not in the file.
    #[error("the file does not contain the old text")]
    NotFound,
    /// The old text is in the file several times.
    #[error("the file contains the old text several times")]
    Several,
    /// The new text is too large.
    #[error("the new text is larger than 64 MiB")]
    TooLarge,
    /// Versions of the agent would make different changes.
    #[error("the result depends on the version of the agent")]
    Unclear,
}

/// The part of a patch about one file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FilePatch {
    Add { path: String, content: String },
    Delete { path: String },
    Update { path: String, to: Option<String>, chunks: Vec<Chunk> },
}

/// One place in a file, with its old and its new lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Chunk {
    /// A line above the place.
    context: Option<String>,
    old: Vec<String>,
    new: Vec<String>,
    /// Whether the place is the end of the file.
    at_end: bool,
}

/// Parses a patch. Returns `None` if it is not one clear patch.
pub(super) fn parse(text: &str, cwd: &str) -> Option<Vec<FilePatch>> {
    if text.contains(['\r', '\0']) {
        return None;
    }
    let body = text.strip_prefix("*** Begin Patch\n")?;
    let body = body.strip_suffix('\n').unwrap_or(body).strip_suffix("*** End Patch")?;
    let mut lines = body.strip_suffix('\n')?.split('\n').peekable();
    let mut files = Vec::new();
    while let Some(header) = lines.next() {
        files.push(if let Some(path) = header.strip_prefix("*** Add File: ") {
            let mut content = String::new();
            while let Some(line) = lines.next_if(|line| line.starts_with('+')) {
                content.extend([line.get(1..)?, "\n"]);
            }
            FilePatch::Add { path: absolute(cwd, path)?, content }
        } else if let Some(path) = header.strip_prefix("*** Delete File: ") {
            FilePatch::Delete { path: absolute(cwd, path)? }
        } else {
            let path = absolute(cwd, header.strip_prefix("*** Update File: ")?)?;
            let to = lines.next_if(|line| line.starts_with("*** Move to: "));
            let to = match to.and_then(|line| line.strip_prefix("*** Move to: ")) {
                Some(to) => Some(absolute(cwd, to)?),
                None => None,
            };
            let mut chunks = Vec::new();
            while lines.peek().is_some_and(|line| !line.starts_with("*** ")) {
                chunks.push(chunk(&mut lines, chunks.is_empty())?);
            }
            (!chunks.is_empty()).then_some(FilePatch::Update { path, to, chunks })?
        });
    }
    has_each_path_once(&files).then_some(files)
}

/// Parses a chunk up to the next header. Only the first chunk of a file needs no header.
fn chunk<'a>(
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    is_first: bool,
) -> Option<Chunk> {
    let mut chunk = Chunk::default();
    match lines.next_if(|line| line.starts_with("@@")) {
        Some("@@") => {}
        Some(header) => {
            let context = header.strip_prefix("@@ ").filter(|context| context.trim() == *context)?;
            chunk.context = Some(context.to_owned()).filter(|context| !context.is_empty());
            chunk.context.as_ref()?;
        }
        None if is_first => {}
        None => return None,
    }
    let is_header = |line: &str| line.starts_with("*** ") || line.starts_with("@@");
    while let Some(line) = lines.next_if(|line| !is_header(line)) {
        let text = line.get(1..).unwrap_or_default().to_owned();
        match line.chars().next() {
            // Some versions read a header even behind spaces, and skip an empty line in front of a chunk.
            Some(' ') if is_header(line.trim()) => return None,
            None if chunk.old.is_empty() && chunk.new.is_empty() => return None,
            None | Some(' ') => {
                chunk.old.push(text.clone());
                chunk.new.push(text);
            }
            Some('-') => chunk.old.push(text),
            Some('+') => chunk.new.push(text),
            Some(_) => return None,
        }
    }
    if lines.next_if(|line| *line == "*** End of File").is_some() {
        chunk.at_end = true;
        lines.peek().is_none_or(|line| is_header(line)).then_some(())?;
    }
    // Versions differ in where they add lines to nothing.
    (!chunk.old.is_empty()).then_some(chunk)
}

/// Whether no part of the patch depends on another part.
fn has_each_path_once(files: &[FilePatch]) -> bool {
    let paths = files.iter().flat_map(|file| match file {
        FilePatch::Add { path, .. } | FilePatch::Delete { path } => [Some(path), None],
        FilePatch::Update { path, to, .. } => [Some(path), to.as_ref()],
    });
    let mut seen = std::collections::BTreeSet::new();
    let plain = |path: &String| !path.split('/').skip(1).any(|part| ["", ".", ".."].contains(&part));
    paths.flatten().all(|path| seen.insert(path) && (files.len() == 1 || plain(path)))
}

/// Returns the content of a file after the chunks.
pub(super) fn apply(chunks: &[Chunk], current: &str) -> Result<String, UpdateError> {
    if current.contains('\r') {
        return Err(UpdateError::Unclear);
    }
    let lines: Vec<&str> = current.strip_suffix('\n').unwrap_or(current).split('\n').collect();
    let lines = if current.is_empty() { Vec::new() } else { lines };
    let (mut done, mut new) = (0, Vec::new());
    for chunk in chunks {
        let start = match &chunk.context {
            Some(context) => find(&lines, &[context.as_str()], done).ok_or(UpdateError::NotFound)? + 1,
            None => done,
        };
        let old: Vec<&str> = chunk.old.iter().map(String::as_str).collect();
        let added: Vec<&str> = chunk.new.iter().map(String::as_str).collect();
        let mut found = place(&lines, &old, start, chunk.at_end).map(|at| (at, old.len(), added.as_slice()));
        // The last line of a chunk may stand for the end of the file.
        if let (None, Some(("", old))) = (found, old.split_last().map(|(last, rest)| (*last, rest))) {
            let added = match added.split_last() {
                Some((&"", rest)) => rest,
                Some(_) | None => added.as_slice(),
            };
            if old.is_empty() {
                return Err(UpdateError::Unclear);
            }
            found = place(&lines, old, start, chunk.at_end).map(|at| (at, old.len(), added));
        }
        let (at, length, added) = found.ok_or(UpdateError::NotFound)?;
        new.extend(lines.iter().take(at).skip(done).copied());
        new.extend(added);
        done = at + length;
    }
    new.extend(lines.iter().skip(done).copied());
    if new.last() == Some(&"") {
        return Err(UpdateError::Unclear);
    }
    Ok(new.iter().flat_map(|line| [*line, "\n"]).collect())
}

/// Returns where a chunk belongs.
fn place(lines: &[&str], old: &[&str], start: usize, at_end: bool) -> Option<usize> {
    let start = if at_end { lines.len().checked_sub(old.len()).filter(|at| *at >= start)? } else { start };
    find(lines, old, start)
}

/// Returns the first place of a pattern: exactly, or else without spaces at the ends of lines, or else without spaces
/// around lines.
fn find(lines: &[&str], pattern: &[&str], start: usize) -> Option<usize> {
    let trims: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];
    trims
        .iter()
        .find_map(|trim| {
            lines.get(start..)?.windows(pattern.len()).position(|window| {
                window.iter().zip(pattern).all(|(line, pattern)| trim(line) == trim(pattern))
            })
        })
        .map(|at| at + start)
}
