//! Faults as a person wants to read them: the file, the line, a caret, a hint.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use askfirst_config::fault::Fault;

/// The faults were printed already; nothing more is to be said.
#[derive(Debug, thiserror::Error)]
#[error("the config has faults")]
pub struct Reported;

/// The record cannot be written, so nothing is begun.
#[derive(Debug, thiserror::Error)]
#[error("the record cannot be written: {0}")]
pub struct Unrecorded(pub String);

/// The config demands walls before anything begins.
#[derive(Debug, thiserror::Error)]
#[error(
    "the config demands walls (`sandbox.require_os_sandbox`), and none hold here; nothing is begun; hint: `askfirst doctor`"
)]
pub struct NoWalls;

/// More faults than a person reads are counted.
const MOST: usize = 200;

/// Prints the faults to standard error.
pub fn faults(faults: &[Fault]) {
    faults.iter().take(MOST).for_each(|fault| crate::print::err_lines(&rendered(fault)));
    if let Some(more) = faults.len().checked_sub(MOST).filter(|more| *more > 0) {
        crate::print::err(&format!("and {more} more"));
    }
}

/// One fault as text.
pub fn rendered(fault: &Fault) -> String {
    let file = fault.file.display().to_string();
    let (lines, span) = lines_around(fault);
    let snippet = Snippet::source(lines)
        .line_start(usize::try_from(fault.line).unwrap_or(1))
        .path(&file)
        .annotation(AnnotationKind::Primary.span(span));
    let mut groups = vec![Group::with_title(Level::ERROR.primary_title(&*fault.message)).element(snippet)];
    if let Some(hint) = &fault.hint {
        groups.push(Group::with_title(Level::HELP.with_name("hint").primary_title(&**hint)));
    }
    Renderer::plain().render(&groups)
}

/// The lines that a fault is about, and where it stands in them: what shows it need not look through the whole text.
fn lines_around(fault: &Fault) -> (&str, std::ops::Range<usize>) {
    let (text, span) = (&*fault.source, &fault.span);
    let begin = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end = text.get(span.end..).and_then(|after| after.find('\n')).map_or(text.len(), |at| span.end + at);
    match text.get(begin..end) {
        Some(lines) => (lines, span.start - begin..span.end - begin),
        None => (text, span.clone()),
    }
}
