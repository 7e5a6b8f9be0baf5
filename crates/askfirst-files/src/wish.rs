//! The arguments of each tool: what the model is told of them, and the strict reading of what it sent.

use std::borrow::Cow;

use askfirst::{Args, Risk, ToolDefinition};
use serde_json::{Value, json};

use super::base64;
use super::error::Trouble;

/// How a file's bytes are written in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Base64,
}

/// What may become of something that is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InTheWay {
    Keep,
    Replace,
}

/// How far a deletion goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// A file, a link or an empty folder.
    Itself,
    /// A folder with all that is in it.
    Everything,
}

/// How a file is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Replace { old: String, new: String, count: Count },
    Patch(String),
}

/// How often the old text must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Once,
    All,
}

/// One call, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish<'a> {
    Read { path: String, offset: u64, limit: u64, encoding: Encoding },
    Write { path: String, content: Cow<'a, [u8]> },
    Edit { path: String, change: Change },
    List { path: Option<String>, glob: Option<String>, depth: u64, limit: u64 },
    Find { path: String, pattern: String, regex: Matching, glob: Option<String>, limit: u64 },
    Stat { path: String },
    Make { path: String },
    Move { path: String, to: String, in_the_way: InTheWay },
    Copy { path: String, to: String, in_the_way: InTheWay },
    Delete { path: String, depth: Depth },
    Attach { path: String, receiver: String },
}

/// How a pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matching {
    Literal,
    Regex,
}

pub(crate) const DEFAULT_READ: u64 = 1 << 20;
pub(crate) const MAX_READ: u64 = 16 << 20;
const MAX_ENTRIES: u64 = 100_000;
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

/// The tools, as the model is told of them.
pub(crate) fn definitions() -> Vec<ToolDefinition> {
    let path = json!({"type": "string", "description": "`root:path/in/it`, or a path in the working folder"});
    let to = json!({"type": "string", "description": "the new path, written like `path`"});
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
        "Deletes a file, a link or an empty folder; with `recursive` a folder and all that is in it.",
        &["path"],
        json!({"path": path, "recursive": flag}),
    );
    delete.risk = Risk::Irreversible;
    vec![
        one(
            "read_file",
            "Reads a file, or `limit` bytes of it from the byte `offset` on.",
            &["path"],
            json!({"path": path, "offset": whole(0), "limit": whole(1), "encoding": encoding}),
        ),
        one(
            "write_file",
            "Writes a whole file, new or in place of the old one.",
            &["path", "content"],
            json!({"path": path, "content": text, "encoding": encoding}),
        ),
        one(
            "edit_file",
            "Edits a text file: replaces `old`, which must be there exactly once (or `all` of them), by `new`; \
             or applies a unified diff given as `patch`.",
            &["path"],
            json!({"path": path, "old": text, "new": text, "all": flag, "patch": text}),
        ),
        one(
            "list_files",
            "Lists a folder, `depth` levels deep; without a path, the roots.",
            &[],
            json!({"path": path, "glob": text, "depth": whole(1), "limit": whole(1)}),
        ),
        one(
            "find_in_files",
            "Finds the lines of all files below a folder that contain `pattern`.",
            &["path", "pattern"],
            json!({"path": path, "pattern": text, "regex": flag, "glob": text, "limit": whole(1)}),
        ),
        one(
            "stat_file",
            "Says what a path is: kind, size, time of change.",
            &["path"],
            json!({"path": path}),
        ),
        one("make_folder", "Makes a folder, with those above it.", &["path"], json!({"path": path})),
        one(
            "move_file",
            "Moves or renames a file or folder; what is in the way stays unless `overwrite`.",
            &["path", "to"],
            json!({"path": path, "to": to, "overwrite": flag}),
        ),
        one(
            "copy_file",
            "Copies a file; what is in the way stays unless `overwrite`.",
            &["path", "to"],
            json!({"path": path, "to": to, "overwrite": flag}),
        ),
        delete,
        one(
            "attach_file",
            "Reads a file in order to hand it to another worker or model, the `receiver`.",
            &["path", "receiver"],
            json!({"path": path, "receiver": text}),
        ),
    ]
}

impl<'a> Wish<'a> {
    /// Reads the arguments of a tool. Nothing if there is no such tool.
    pub(crate) fn read(tool: &str, args: &'a Args) -> Option<Result<Self, Trouble>> {
        let known = |names: &[&str]| match args.keys().find(|key| !names.contains(&key.as_str())) {
            Some(key) => Err(bad(format!("there is no argument `{key}`"))),
            None => Ok(Given(args)),
        };
        Some(match tool {
            "read_file" => known(&["path", "offset", "limit", "encoding"]).and_then(|given| {
                let limit = given.number("limit", 1, MAX_READ)?.unwrap_or(DEFAULT_READ);
                let offset = given.number("offset", 0, u64::MAX >> 1)?.unwrap_or(0);
                Ok(Self::Read { path: given.must("path")?, offset, limit, encoding: given.encoding()? })
            }),
            "write_file" => known(&["path", "content", "encoding"]).and_then(|given| {
                let content = given.borrowed("content")?;
                let content = match given.encoding()? {
                    Encoding::Utf8 => Cow::Borrowed(content.as_bytes()),
                    Encoding::Base64 => base64::decode(content)
                        .map(Cow::Owned)
                        .ok_or_else(|| bad("the argument `content` is not base64".to_owned()))?,
                };
                Ok(Self::Write { path: given.must("path")?, content })
            }),
            "edit_file" => known(&["path", "old", "new", "all", "patch"])
                .and_then(|given| Ok(Self::Edit { path: given.must("path")?, change: given.change()? })),
            "list_files" => known(&["path", "glob", "depth", "limit"]).and_then(|given| {
                Ok(Self::List {
                    path: given.text("path")?,
                    glob: given.text("glob")?,
                    depth: given.number("depth", 1, 1_000)?.unwrap_or(1),
                    limit: given.number("limit", 1, MAX_ENTRIES)?.unwrap_or(1_000),
                })
            }),
            "find_in_files" => known(&["path", "pattern", "regex", "glob", "limit"]).and_then(|given| {
                let regex = if given.flag("regex")? { Matching::Regex } else { Matching::Literal };
                let limit = given.number("limit", 1, MAX_FOUND)?.unwrap_or(100);
                let (path, pattern) = (given.must("path")?, given.must("pattern")?);
                Ok(Self::Find { path, pattern, regex, glob: given.text("glob")?, limit })
            }),
            "stat_file" => known(&["path"]).and_then(|given| Ok(Self::Stat { path: given.must("path")? })),
            "make_folder" => known(&["path"]).and_then(|given| Ok(Self::Make { path: given.must("path")? })),
            "move_file" => known(&["path", "to", "overwrite"]).and_then(|given| {
                let (path, to) = (given.must("path")?, given.must("to")?);
                Ok(Self::Move { path, to, in_the_way: given.in_the_way()? })
            }),
            "copy_file" => known(&["path", "to", "overwrite"]).and_then(|given| {
                let (path, to) = (given.must("path")?, given.must("to")?);
                Ok(Self::Copy { path, to, in_the_way: given.in_the_way()? })
            }),
            "delete_file" => known(&["path", "recursive"]).and_then(|given| {
                let depth = if given.flag("recursive")? { Depth::Everything } else { Depth::Itself };
                Ok(Self::Delete { path: given.must("path")?, depth })
            }),
            "attach_file" => known(&["path", "receiver"]).and_then(|given| {
                Ok(Self::Attach { path: given.must("path")?, receiver: given.must("receiver")? })
            }),
            _ => return None,
        })
    }
}

fn bad(text: String) -> Trouble {
    Trouble::BadArgs(text)
}

struct Given<'a>(&'a Args);

impl<'a> Given<'a> {
    fn text(&self, key: &str) -> Result<Option<String>, Trouble> {
        Ok(self.maybe(key)?.map(str::to_owned))
    }

    fn maybe(&self, key: &str) -> Result<Option<&'a str>, Trouble> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(key, "a string", other)),
        }
    }

    /// What may be long is not copied.
    fn borrowed(&self, key: &str) -> Result<&'a str, Trouble> {
        self.maybe(key)?.ok_or_else(|| bad(format!("the argument `{key}` is missing")))
    }

    fn must(&self, key: &str) -> Result<String, Trouble> {
        self.text(key)?.ok_or_else(|| bad(format!("the argument `{key}` is missing")))
    }

    fn flag(&self, key: &str) -> Result<bool, Trouble> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(wrong(key, "true or false", other)),
        }
    }

    fn number(&self, key: &str, least: u64, most: u64) -> Result<Option<u64>, Trouble> {
        let Some(value) = self.0.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
        let number = value.as_u64().ok_or_else(|| wrong(key, "a whole number", value))?;
        if !(least..=most).contains(&number) {
            return Err(bad(format!("the argument `{key}` must be from {least} to {most}")));
        }
        Ok(Some(number))
    }

    fn encoding(&self) -> Result<Encoding, Trouble> {
        match self.text("encoding")?.as_deref() {
            None | Some("utf-8") => Ok(Encoding::Utf8),
            Some("base64") => Ok(Encoding::Base64),
            Some(other) => Err(bad(format!("the encoding `{other}` must be `utf-8` or `base64`"))),
        }
    }

    fn in_the_way(&self) -> Result<InTheWay, Trouble> {
        Ok(if self.flag("overwrite")? { InTheWay::Replace } else { InTheWay::Keep })
    }

    fn change(&self) -> Result<Change, Trouble> {
        let count = if self.flag("all")? { Count::All } else { Count::Once };
        match (self.text("old")?, self.text("new")?, self.text("patch")?) {
            (None, None, Some(patch)) => Ok(Change::Patch(patch)),
            (Some(old), Some(new), None) if !old.is_empty() && old != new => {
                Ok(Change::Replace { old, new, count })
            }
            (Some(_), Some(_), None) => {
                Err(bad("`old` must not be empty, and `new` must differ from it".to_owned()))
            }
            _ => Err(bad("give either `old` and `new`, or `patch`".to_owned())),
        }
    }
}

fn wrong(key: &str, wanted: &str, value: &Value) -> Trouble {
    bad(format!("the argument `{key}` must be {wanted}, not {}", askfirst::json::kind(value)))
}
