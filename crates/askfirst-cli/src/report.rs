//! Faults as a person wants to read them: the file, the line, a caret, a hint.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use askfirst_runtime::config::fault::Fault;

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

/// Prints every fault to standard error.
pub fn faults(faults: &[Fault]) {
    faults.iter().for_each(|fault| crate::print::err_lines(&rendered(fault)));
}

/// One fault as text.
pub fn rendered(fault: &Fault) -> String {
    let file = fault.file.display().to_string();
    let snippet = Snippet::source(&*fault.source)
        .path(&file)
        .annotation(AnnotationKind::Primary.span(fault.span.clone()));
    let mut groups = vec![Group::with_title(Level::ERROR.primary_title(&*fault.message)).element(snippet)];
    if let Some(hint) = &fault.hint {
        groups.push(Group::with_title(Level::HELP.with_name("hint").primary_title(&**hint)));
    }
    Renderer::plain().render(&groups)
}
