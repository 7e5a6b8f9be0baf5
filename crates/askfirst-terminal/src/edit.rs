//! Opens the person's editor on the arguments of a call and parses the result strictly.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use askfirst::json::{JsonFault, parse_object};
use askfirst::{ApprovalRequest, Args};

use crate::schema::{SchemaMismatch, Schemas};
use crate::tty::{Tty, WaitResult};

/// The reason why there are no edited arguments.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// No editor is configured.
    #[error("no editor is configured: set `VISUAL` or `EDITOR`")]
    NoEditor,
    /// The editor could not be run.
    #[error("cannot run the editor: {0}")]
    Io(#[from] std::io::Error),
    /// The editor exited with an error.
    #[error("the editor failed, and nothing was changed")]
    Failed,
    /// The result is not a JSON object.
    #[error("cannot parse the edited arguments: {0}")]
    Json(#[from] JsonFault),
    /// The result does not match the schema of the tool.
    #[error("the edited arguments are invalid: {0}")]
    Schema(#[from] SchemaMismatch),
    /// The result equals the original arguments.
    #[error("nothing was changed")]
    Unchanged,
    /// The question was withdrawn, or the terminal was lost.
    #[error("the request has ended")]
    Interrupted(WaitResult),
}

/// The person's editor, if one is configured.
pub(crate) fn editor() -> Option<String> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR"))
}

/// Parses edited arguments strictly and checks them against the schema of the tool.
pub(crate) fn parse_args(
    text: &[u8],
    request: &ApprovalRequest,
    schemas: &Schemas,
) -> Result<Args, EditError> {
    let edited = parse_object(text)?;
    if edited == request.args {
        return Err(EditError::Unchanged);
    }
    schemas.check(&request.tool_name, &edited)?;
    Ok(edited)
}

/// Opens an editor on the arguments. The terminal must not be in raw mode.
pub(crate) fn edit(request: &ApprovalRequest, tty: &Tty<'_>, schemas: &Schemas) -> Result<Args, EditError> {
    let args = &request.args;
    let editor = editor().ok_or(EditError::NoEditor)?;
    let mut words = editor.split_whitespace();
    let program = words.next().ok_or(EditError::NoEditor)?;
    let private = std::fs::Permissions::from_mode(0o700);
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("askfirst-").permissions(private);
    // The arguments may contain secrets, so the file is in memory if the system has a place for that.
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
        return Err(EditError::Failed);
    }
    // The file is opened by name, because many editors replace it with a new one.
    parse_args(&std::fs::read(file.path())?, request, schemas)
}

/// Waits for the editor and returns whether it succeeded. Kills the editor if the question ends.
fn wait_for(child: &mut Child, tty: &Tty<'_>) -> Result<bool, EditError> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if let Some(end) = tty.wait_for_end(Duration::from_millis(50)) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(EditError::Interrupted(end));
        }
    }
}
