//! The file tools as the model sees them: their definitions, and the strict parser of their arguments.

use std::borrow::Cow;

use askfirst::{Args, Risk, ToolDefinition};
use serde_json::{Value, json};

use super::base64;
use super::error::CallError;

/// How the content of a file is encoded in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Base64,
}

/// The treatment of a target that already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExistingTarget {
    Keep,
    Replace,
}

/// The scope of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeleteScope {
    /// A file, a link or an empty folder.
    Single,
    /// A folder with everything in it.
    Recursive,
}

/// An edit of a text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextEdit {
    Replace { old: String, new: String, occurrences: Occurrences },
    Patch(String),
}

/// How many occurrences of the old text an edit replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occurrences {
    /// The only one. Several are an error.
    One,
    All,
}

/// One call to a file tool, with parsed arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileCall<'a> {
    Read { path: String, offset: u64, limit: u64, encoding: Encoding },
    Write { path: String, content: Cow<'a, [u8]> },
    Edit { path: String, edit: TextEdit },
    List { path: Option<String>, glob: Option<String>, depth: u64, limit: u64 },
    Find { path: String, pattern: String, kind: PatternKind, glob: Option<String>, limit: u64 },
    Stat { path: String },
    Make { path: String },
    Move { path: String, to: String, existing: ExistingTarget },
    Copy { path: String, to: String, existing: ExistingTarget },
    Delete { path: String, scope: DeleteScope },
    Attach { path: String, receiver: String },
}

/// The kind of a search pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternKind {
    Literal,
    Regex,
}

/// How many bytes one call reads if it has no `limit`.
pub(crate) const DEFAULT_READ: u64 = 1 << 20;
/// How many bytes one call reads at most.
pub(crate) const MAX_READ: u64 = 16 << 20;
/// How many files and folders one call lists at most.
const MAX_LISTED: u64 = 100_000;
/// How many lines one search returns at most.
const MAX_FOUND: u64 = 10_000;

/// The names of the tools.
pub(crate) const NAMES: [&str; 11] = [
    "read_file",
    "write_file",
    "edit_file",
    "list_files",
    "find_in_files",
    "stat_file",
    "make_folder",
    "move_file",
    "copy_file",
    "delete_file",
    "attach_file",
];

/// Returns the definitions of the tools for the model.
pub(crate) fn definitions() -> Vec<ToolDefinition> {
    let path = json!({
        "type": "string",
        "description": "`root:path/in/the/root`, or a path relative to the working directory",
    });
    let to = json!({"type": "string", "description": "the target path, in the same form as `path`"});
    let encoding = json!({"type": "string", "enum": ["utf-8", "base64"], "default": "utf-8"});
    let whole = |least: u64| json!({"type": "integer", "minimum": least});
    let flag = json!({"type": "boolean", "default": false});
    let text = json!({"type": "string"});
    let one = |name: &str, about: &str, required: &[&str], properties: Value| {
        let schema = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        });
        ToolDefinition::new(name, about, schema)
    };
    let mut delete = one(
        "delete_file",
        "Deletes a file, a link or an empty folder. With `recursive`, deletes a folder and everything in it.",
        &["path"],
        json!({"path": path, "recursive": flag}),
    );
    delete.risk = Risk::Irreversible;
    vec![
        one(
            "read_file",
            "Reads a file, or `limit` bytes of it starting at byte `offset`.",
            &["path"],
            json!({"path": path, "offset": whole(0), "limit": whole(1), "encoding": encoding}),
        ),
        one(
            "write_file",
            "Creates a file, or replaces the whole content of an existing file.",
            &["path", "content"],
            json!({"path": path, "content": text, "encoding": encoding}),
        ),
        one(
            "edit_file",
            "Edits a text file. Replaces `old` with `new`; `old` must occur exactly once unless `all` is set. \
             Alternatively, applies the unified diff in `patch`.",
            &["path"],
            json!({"path": path, "old": text, "new": text, "all": flag, "patch": text}),
        ),
        one(
            "list_files",
            "Lists a folder, `depth` levels deep. Without `path`, lists the roots.",
            &[],
            json!({"path": path, "glob": text, "depth": whole(1), "limit": whole(1)}),
        ),
        one(
            "find_in_files",
            "Finds the lines that contain `pattern` in a file, or in all files below a folder.",
            &["path", "pattern"],
            json!({"path": path, "pattern": text, "regex": flag, "glob": text, "limit": whole(1)}),
        ),
        one(
            "stat_file",
            "Returns the kind, size and modification time of a path.",
            &["path"],
            json!({"path": path}),
        ),
        one(
            "make_folder",
            "Creates a folder and the missing folders above it.",
            &["path"],
            json!({"path": path}),
        ),
        one(
            "move_file",
            "Moves or renames a file or folder. Fails if the target exists, unless `overwrite` is set.",
            &["path", "to"],
            json!({"path": path, "to": to, "overwrite": flag}),
        ),
        one(
            "copy_file",
            "Copies a file. Fails if the target exists, unless `overwrite` is set.",
            &["path", "to"],
            json!({"path": path, "to": to, "overwrite": flag}),
        ),
        delete,
        one(
            "attach_file",
            "Reads a file to pass it to another worker or model, the `receiver`.",
            &["path", "receiver"],
            json!({"path": path, "receiver": text}),
        ),
    ]
}

impl<'a> FileCall<'a> {
    /// Parses the arguments of a tool. Returns `None` if there is no such tool.
    pub(crate) fn parse(tool: &str, args: &'a Args) -> Option<Result<Self, CallError>> {
        let reader = |names: &[&str]| match args.keys().find(|key| !names.contains(&key.as_str())) {
            Some(key) => Err(bad_args(format!("unknown argument `{key}`"))),
            None => Ok(ArgReader(args)),
        };
        Some(match tool {
            "read_file" => reader(&["path", "offset", "limit", "encoding"]).and_then(|args| {
                let limit = args.number("limit", 1, MAX_READ)?.unwrap_or(DEFAULT_READ);
                let offset = args.number("offset", 0, u64::MAX >> 1)?.unwrap_or(0);
                Ok(Self::Read { path: args.required("path")?, offset, limit, encoding: args.encoding()? })
            }),
            "write_file" => reader(&["path", "content", "encoding"]).and_then(|args| {
                let content = args.required_str("content")?;
                let content = match args.encoding()? {
                    Encoding::Utf8 => Cow::Borrowed(content.as_bytes()),
                    Encoding::Base64 => base64::decode(content)
                        .map(Cow::Owned)
                        .ok_or_else(|| bad_args("the argument `content` is not valid base64".to_owned()))?,
                };
                Ok(Self::Write { path: args.required("path")?, content })
            }),
            "edit_file" => reader(&["path", "old", "new", "all", "patch"])
                .and_then(|args| Ok(Self::Edit { path: args.required("path")?, edit: args.edit()? })),
            "list_files" => reader(&["path", "glob", "depth", "limit"]).and_then(|args| {
                Ok(Self::List {
                    path: args.text("path")?,
                    glob: args.text("glob")?,
                    depth: args.number("depth", 1, 1_000)?.unwrap_or(1),
                    limit: args.number("limit", 1, MAX_LISTED)?.unwrap_or(1_000),
                })
            }),
            "find_in_files" => reader(&["path", "pattern", "regex", "glob", "limit"]).and_then(|args| {
                let kind = if args.flag("regex")? { PatternKind::Regex } else { PatternKind::Literal };
                let limit = args.number("limit", 1, MAX_FOUND)?.unwrap_or(100);
                let (path, pattern) = (args.required("path")?, args.required("pattern")?);
                Ok(Self::Find { path, pattern, kind, glob: args.text("glob")?, limit })
            }),
            "stat_file" => reader(&["path"]).and_then(|args| Ok(Self::Stat { path: args.required("path")? })),
            "make_folder" => {
                reader(&["path"]).and_then(|args| Ok(Self::Make { path: args.required("path")? }))
            }
            "move_file" => reader(&["path", "to", "overwrite"]).and_then(|args| {
                let (path, to) = (args.required("path")?, args.required("to")?);
                Ok(Self::Move { path, to, existing: args.existing()? })
            }),
            "copy_file" => reader(&["path", "to", "overwrite"]).and_then(|args| {
                let (path, to) = (args.required("path")?, args.required("to")?);
                Ok(Self::Copy { path, to, existing: args.existing()? })
            }),
            "delete_file" => reader(&["path", "recursive"]).and_then(|args| {
                let scope =
                    if args.flag("recursive")? { DeleteScope::Recursive } else { DeleteScope::Single };
                Ok(Self::Delete { path: args.required("path")?, scope })
            }),
            "attach_file" => reader(&["path", "receiver"]).and_then(|args| {
                Ok(Self::Attach { path: args.required("path")?, receiver: args.required("receiver")? })
            }),
            _ => return None,
        })
    }
}

fn bad_args(text: String) -> CallError {
    CallError::BadArgs(text)
}

/// Reads single arguments of a call, and reports wrong types.
struct ArgReader<'a>(&'a Args);

impl<'a> ArgReader<'a> {
    fn text(&self, key: &str) -> Result<Option<String>, CallError> {
        Ok(self.optional_str(key)?.map(str::to_owned))
    }

    fn optional_str(&self, key: &str) -> Result<Option<&'a str>, CallError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(key, "a string", other)),
        }
    }

    /// Returns a required text without copying it, because it may be long.
    fn required_str(&self, key: &str) -> Result<&'a str, CallError> {
        self.optional_str(key)?.ok_or_else(|| bad_args(format!("missing argument `{key}`")))
    }

    fn required(&self, key: &str) -> Result<String, CallError> {
        self.required_str(key).map(str::to_owned)
    }

    fn flag(&self, key: &str) -> Result<bool, CallError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(wrong_type(key, "true or false", other)),
        }
    }

    fn number(&self, key: &str, least: u64, most: u64) -> Result<Option<u64>, CallError> {
        let Some(value) = self.0.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
        let number = value.as_u64().ok_or_else(|| wrong_type(key, "a whole number", value))?;
        if !(least..=most).contains(&number) {
            return Err(bad_args(format!("the argument `{key}` must be from {least} to {most}")));
        }
        Ok(Some(number))
    }

    fn encoding(&self) -> Result<Encoding, CallError> {
        match self.text("encoding")?.as_deref() {
            None | Some("utf-8") => Ok(Encoding::Utf8),
            Some("base64") => Ok(Encoding::Base64),
            Some(other) => {
                let text = format!("the argument `encoding` must be `utf-8` or `base64`, not `{other}`");
                Err(bad_args(text))
            }
        }
    }

    fn existing(&self) -> Result<ExistingTarget, CallError> {
        Ok(if self.flag("overwrite")? { ExistingTarget::Replace } else { ExistingTarget::Keep })
    }

    fn edit(&self) -> Result<TextEdit, CallError> {
        let occurrences = if self.flag("all")? { Occurrences::All } else { Occurrences::One };
        match (self.text("old")?, self.text("new")?, self.text("patch")?) {
            (None, None, Some(patch)) => Ok(TextEdit::Patch(patch)),
            (Some(old), Some(new), None) if !old.is_empty() && old != new => {
                Ok(TextEdit::Replace { old, new, occurrences })
            }
            (Some(_), Some(_), None) => {
                Err(bad_args("`old` must not be empty, and `new` must differ from it".to_owned()))
            }
            _ => Err(bad_args("set either `old` and `new`, or `patch`".to_owned())),
        }
    }
}

fn wrong_type(key: &str, wanted: &str, value: &Value) -> CallError {
    bad_args(format!("the argument `{key}` must be {wanted}, not {}", askfirst::json::kind(value)))
}
