//! The terms of a row: roles, styles, conditions, kinds of output, values.

use super::{Condition, Looked, Operands, Opt, OptEffect, Part, Special, Style};
use crate::programs::used::{Class, Held, Role, Yields};

pub(super) fn starts_or_writes(role: Role) -> bool {
    match role {
        Role::Write | Role::Url | Role::File | Role::Command | Role::Script | Role::Code | Role::Ask => true,
        Role::Text | Role::Read | Role::Tree | Role::List | Role::Folder | Role::Pathspec | Role::Rest => {
            false
        }
    }
}

pub(super) fn is_path(role: Role) -> bool {
    match role {
        Role::Read | Role::Tree | Role::List | Role::Folder | Role::Pathspec => true,
        Role::Text
        | Role::Write
        | Role::Url
        | Role::File
        | Role::Rest
        | Role::Command
        | Role::Script
        | Role::Code
        | Role::Ask => false,
    }
}

pub(super) fn class(word: &str) -> Option<Class> {
    match word {
        "reads" => Some(Class::Reads),
        "changes" => Some(Class::Changes),
        "runs" => Some(Class::Runs),
        "asks" => Some(Class::Asks),
        _ => None,
    }
}

pub(super) fn style(words: &[&str]) -> Result<Style, String> {
    let mut style = Style::GNU;
    for word in words {
        let special = match *word {
            "gnu" | "attached" => continue,
            "posix" => {
                style.posix = true;
                continue;
            }
            "exact" => {
                style.exact = true;
                continue;
            }
            "long" => {
                style.long = true;
                continue;
            }
            "none" => {
                style.none = true;
                continue;
            }
            "old" => {
                style.old = true;
                continue;
            }
            "front" => {
                style.front = true;
                continue;
            }
            "find" => Special::Find,
            "sed" => Special::Sed,
            "awk" => Special::Awk,
            "jq" => Special::Jq,
            "yq" => Special::Yq,
            "env" => Special::Env,
            "xargs" => Special::Xargs,
            "shell" => Special::Shell,
            "trap" => Special::Trap,
            "names" => Special::Names,
            "test" => Special::Test,
            _ => return Err(format!("invalid style `{word}`")),
        };
        if style.special != Special::Nothing {
            return Err(format!("`{word}` beside another style of one program"));
        }
        style.special = special;
        style.long |= special == Special::Find;
        style.posix |= matches!(special, Special::Awk | Special::Env | Special::Xargs | Special::Shell);
        style.none |= special == Special::Test;
    }
    Ok(style)
}

pub(super) fn operands(words: &[&str]) -> Result<Operands, String> {
    let mut row = Operands::default();
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        match *first {
            "if" | "unless" => {
                row.condition = condition_of(words)?;
                break;
            }
            "or" => {
                let (path, rest) = rest.split_first().ok_or("a path is missing after `or`")?;
                row.or = Some((*path).to_owned());
                words = rest;
                continue;
            }
            "none" => {}
            _ if row.or.is_some() => return Err(format!("`{first}` after `or`")),
            word => match word.strip_suffix('*') {
                Some(_) if row.star.is_some() => return Err("two `*` in a row".to_owned()),
                Some(role) => row.star = Some(part(role)?),
                None if word == "rest" && row.star.is_none() => row.star = Some(part(word)?),
                None if row.star.is_some() => row.tail.push(part(word)?),
                None => row.head.push(part(word)?),
            },
        }
        words = rest;
    }
    Ok(row)
}

pub(super) fn condition_of(words: &[&str]) -> Result<Condition, String> {
    let Some((first, options)) = words.split_first() else { return Ok(Condition::Always) };
    let lists = options.iter().map(|option| both(option)).collect();
    match *first {
        _ if options.is_empty() => Err(format!("an option is missing after `{first}`")),
        "if" => Ok(Condition::If(lists)),
        "unless" => Ok(Condition::Unless(lists)),
        _ => Err(format!("`{first}` where `if` was expected")),
    }
}

/// `-a+-b` is both of them; `+x` is one.
pub(super) fn both(option: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut rest = option;
    while let Some(at) = rest.find("+-") {
        let (name, after) = rest.split_at(at);
        all.push(name.to_owned());
        rest = after.trim_start_matches('+');
    }
    all.push(rest.to_owned());
    all
}

/// Whether a word of a row is the name of an option.
pub(super) fn is_name(word: &str) -> bool {
    word.starts_with(['-', '+', ':', '@'])
}

/// What the options of a row have in common.
pub(super) struct Shape {
    pub(super) option: Opt,
    pub(super) said: bool,
}

impl Shape {
    pub(super) fn effect(&mut self, word: &str) -> Result<(), String> {
        if self.said {
            return Err(format!("`{word}` after the effect"));
        }
        self.said = true;
        self.option.effect = match word {
            "asks" => OptEffect::Asks,
            "changes" => OptEffect::Changes,
            "reads" => OptEffect::Reads,
            "alone" => OptEffect::Alone,
            _ => return Err(format!("invalid effect `{word}`")),
        };
        Ok(())
    }

    pub(super) fn value(&mut self, value: &str) -> Result<(), String> {
        let optional = value.strip_prefix("[=").and_then(|rest| rest.strip_suffix(']'));
        if self.said || self.option.optional || (optional.is_some() && !self.option.values.is_empty()) {
            return Err("an optional value is the only one, and an effect comes last".to_owned());
        }
        self.option.optional = optional.is_some();
        let role = optional.or_else(|| value.strip_prefix('=')).unwrap_or(value);
        if let Some(glob) = role.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            self.option.glob = Some(glob.replace("\\\"", "\""));
            self.option.values.push(part("text")?);
        } else {
            self.option.values.push(part(role)?);
        }
        Ok(())
    }
}

pub(super) fn held(word: &str) -> Held {
    match word {
        "outside" => Held::Outside,
        "terminal" => Held::Terminal,
        _ => Held::Inside,
    }
}

pub(super) fn yields(word: &str) -> Result<Yields, String> {
    match word {
        "text" => Ok(Yields::Text),
        "paths" => Ok(Yields::Paths),
        "number" => Ok(Yields::Number),
        "name" => Ok(Yields::Name),
        "folder" => Ok(Yields::Folder),
        _ => Err(format!("invalid kind of output `{word}`")),
    }
}

pub(super) fn part(word: &str) -> Result<Part, String> {
    let role = match word {
        "text" | "change" | "tool" | "query" | "remote" => Role::Text,
        "read" => Role::Read,
        "tree" => Role::Tree,
        "list" => Role::List,
        "write" => Role::Write,
        "folder" => Role::Folder,
        "pathspec" | "word" | "package" => Role::Pathspec,
        "url" => Role::Url,
        "file" => Role::File,
        "rest" => Role::Rest,
        "command" => Role::Command,
        "script" => Role::Script,
        "code" => Role::Code,
        "ask" => Role::Ask,
        _ => return Err(format!("invalid role `{word}`")),
    };
    Ok(Part {
        role,
        changes: matches!(word, "change" | "write"),
        tool: word == "tool",
        looked: match word {
            "word" => Looked::Variable,
            "package" => Looked::Package,
            "query" => Looked::Query,
            "remote" => Looked::Remote,
            _ => Looked::Not,
        },
    })
}
