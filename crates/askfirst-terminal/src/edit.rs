//! Has the arguments edited in the person's own editor, and reads them back strictly.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use askfirst::json::{JsonFault, parse_object};
use askfirst::{ApprovalRequest, Args};

use crate::schema::{Misfit, Schemas};
use crate::tty::{Tty, Waited};

/// Why there are no edited arguments.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditFault {
    /// No editor is named.
    #[error("no editor is named: set `VISUAL` or `EDITOR`")]
    NoEditor,
    /// The editor could not be used.
    #[error("the editor could not be used: {0}")]
    Io(#[from] std::io::Error),
    /// The editor said that it failed.
    #[error("the editor failed: nothing is changed")]
    Failed,
    /// What came back is not an object.
    #[error("the edited arguments cannot be read: {0}")]
    Json(#[from] JsonFault),
    /// What came back is not what the tool takes.
    #[error("the edited arguments do not fit: {0}")]
    Misfit(#[from] Misfit),
    /// What came back is what went in.
    #[error("nothing was changed")]
    Unchanged,
    /// The question was taken back, or the terminal went away.
    #[error("the question is over")]
    Over(Waited),
}

/// The person's editor, if one is named.
pub(crate) fn editor() -> Option<String> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR"))
}

/// Arguments that were typed: read strictly, and checked against what the tool takes.
pub(crate) fn checked(text: &[u8], request: &ApprovalRequest, schemas: &Schemas) -> Result<Args, EditFault> {
    let edited = parse_object(text)?;
    if edited == request.args {
        return Err(EditFault::Unchanged);
    }
    schemas.check(&request.tool_name, &edited)?;
    Ok(edited)
}

/// Opens an editor on the arguments. The terminal must not be in raw mode.
pub(crate) fn edit(request: &ApprovalRequest, tty: &Tty<'_>, schemas: &Schemas) -> Result<Args, EditFault> {
    let args = &request.args;
    let editor = editor().ok_or(EditFault::NoEditor)?;
    let mut words = editor.split_whitespace();
    let program = words.next().ok_or(EditFault::NoEditor)?;
    let private = std::fs::Permissions::from_mode(0o700);
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("askfirst-").permissions(private);
    // What may be secret lies on no disk where the system has a place for that.
    let folder = match std::env::var_os("XDG_RUNTIME_DIR").map(|place| builder.tempdir_in(place)) {
        Some(Ok(folder)) => folder,
        Some(Err(_)) | None => builder.tempdir()?,
    };
    let mut file = tempfile::Builder::new().prefix("args-").suffix(".json").tempfile_in(folder.path())?;
    let text = serde_json::to_string_pretty(args).map_err(std::io::Error::from)?;
    writeln!(file, "{text}")?;
    let handle = || tty.handle().map(Stdio::from).ok_or(std::io::Error::from(std::io::ErrorKind::NotFound));
    let mut child = Command::new(program)
        .args(words)
        .arg(file.path())
        .stdin(handle()?)
        .stdout(handle()?)
        .stderr(handle()?)
        .spawn()?;
    if !wait_for(&mut child, tty)? {
        return Err(EditFault::Failed);
    }
    // Read by name: many editors write another file in its place.
    checked(&std::fs::read(file.path())?, request, schemas)
}

/// Whether the editor ended well. It is ended if the question is.
fn wait_for(child: &mut Child, tty: &Tty<'_>) -> Result<bool, EditFault> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if let Some(over) = tty.is_over(Duration::from_millis(50)) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(EditFault::Over(over));
        }
    }
}
