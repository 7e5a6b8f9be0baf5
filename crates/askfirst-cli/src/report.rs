//! Prints faults of a config: the file, the line, a caret and a hint.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use askfirst_config::fault::Fault;

/// An error whose faults were already printed.
#[derive(Debug, thiserror::Error)]
#[error("the config has errors")]
pub struct PrintedFaults;

/// The audit log cannot be written, so no session starts.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the audit log: {0}")]
pub struct AuditLogError(pub String);

/// The config requires an OS sandbox, and none works.
#[derive(Debug, thiserror::Error)]
#[error(
    "the config requires an OS sandbox (`sandbox.require_os_sandbox`), but none works here; hint: run `askfirst doctor`"
)]
pub struct NoSandbox;

/// The maximum number of faults that are printed. The rest is counted.
const MOST: usize = 200;

/// Prints the faults to standard error.
pub fn faults(faults: &[Fault]) {
    faults.iter().take(MOST).for_each(|fault| crate::print::err_lines(&rendered(fault)));
    if let Some(more) = faults.len().checked_sub(MOST).filter(|more| *more > 0) {
        crate::print::err(&format!("and {more} more"));
    }
}

/// Returns one fault as text.
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

/// Returns the lines of a fault, and its span in them. The renderer then does not search the whole text.
fn lines_around(fault: &Fault) -> (&str, std::ops::Range<usize>) {
    let (text, span) = (&*fault.source, &fault.span);
    let begin = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end = text.get(span.end..).and_then(|after| after.find('\n')).map_or(text.len(), |at| span.end + at);
    match text.get(begin..end) {
        Some(lines) => (lines, span.start - begin..span.end - begin),
        None => (text, span.clone()),
    }
}
