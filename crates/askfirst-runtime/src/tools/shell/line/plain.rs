//! The fast way: one command of plain words, where nothing is left for a shell to act on. Anything else goes to a parser.

use super::special;
use super::tree::{Command, Folder, Line, Shape, Stdin, Word};

/// The line, if it is one command of plain words.
pub(super) fn read(text: &str) -> Option<Line> {
    if text.len() > 4096 {
        return None;
    }
    let bytes = text.as_bytes();
    let mut words: Vec<Word> = Vec::with_capacity(8);
    let mut at = 0;
    loop {
        while matches!(bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        // A newline at the end is no second command.
        if bytes.get(at).is_none() || (bytes.get(at) == Some(&b'\n') && at + 1 == bytes.len()) {
            break;
        }
        let (word, end) = word(text, at, words.is_empty())?;
        words.push(word);
        at = end;
    }
    let (first, last) = (words.first()?, words.last()?);
    let span = first.span.start..last.span.end;
    if first.literal().is_none_or(acts) {
        return None;
    }
    let command = Command {
        span,
        words,
        assignments: Vec::new(),
        redirections: Vec::new(),
        folders: Some(vec![Folder::default()]),
        stdin: Stdin::Inherited,
        reached: Vec::new(),
    };
    Some(Line { commands: vec![command], gaps: Vec::new(), shape: Shape::Plain })
}

fn word(text: &str, start: usize, first: bool) -> Option<(Word, usize)> {
    let bytes = text.as_bytes();
    let mut at = start;
    // As long as no quote is met, the word is the text itself.
    loop {
        match bytes.get(at) {
            None | Some(b' ' | b'\t') => {
                let slice = text.get(start..at)?;
                return (!fishy(slice.as_bytes(), first)).then(|| (Word::text(slice, start..at), at));
            }
            Some(b'\n') if at + 1 == bytes.len() => {
                let slice = text.get(start..at)?;
                return (!fishy(slice.as_bytes(), first)).then(|| (Word::text(slice, start..at), at));
            }
            Some(b'\'' | b'"' | b'\\') => break,
            Some(byte) if harmless(*byte) => at += 1,
            Some(_) => return None,
        }
    }
    if fishy(bytes.get(start..at)?, first) || (first && bytes.get(start..at)?.contains(&b'=')) {
        return None;
    }
    let mut made = text.get(start..at)?.to_owned();
    loop {
        match bytes.get(at) {
            None | Some(b' ' | b'\t') => break,
            Some(b'\n') if at + 1 == bytes.len() => break,
            Some(b'\'') => {
                let rest = text.get(at + 1..)?;
                let length = rest.find('\'')?;
                let inner = rest.get(..length)?;
                made.push_str(inner.bytes().all(printable).then_some(inner)?);
                at += length + 2;
            }
            Some(b'"') => {
                at += 1;
                loop {
                    match bytes.get(at)? {
                        b'"' => break,
                        b'\\' => {
                            let next = *bytes.get(at + 1)?;
                            match next {
                                b'"' | b'\\' | b'$' | b'`' => made.push(char::from(next)),
                                _ if printable(next) && next != b'\n' => {
                                    made.push('\\');
                                    made.push(char::from(next));
                                }
                                _ => return None,
                            }
                            at += 2;
                        }
                        b'$' | b'`' => return None,
                        byte if printable(*byte) => {
                            made.push(char::from(*byte));
                            at += 1;
                        }
                        _ => return None,
                    }
                }
                at += 1;
            }
            Some(b'\\') => {
                let next = *bytes.get(at + 1)?;
                if !(0x20..0x7f).contains(&next) {
                    return None;
                }
                made.push(char::from(next));
                at += 2;
            }
            Some(byte) if harmless(*byte) => {
                made.push(char::from(*byte));
                at += 1;
            }
            Some(_) => return None,
        }
    }
    if first && bytes.get(start..at)?.contains(&b'=') {
        return None;
    }
    Some((Word::text(made, start..at), at))
}

fn printable(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) || matches!(byte, b'\n' | b'\t')
}

/// Bytes that mean nothing to a shell inside a word; what means something at its start is looked at apart.
fn harmless(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'_' | b'.'
                | b'/'
                | b':'
                | b','
                | b'='
                | b'+'
                | b'@'
                | b'%'
                | b'^'
                | b'-'
                | b'~'
                | b'#'
                | b'!'
                | b']'
        )
}

/// Whether the unquoted beginning of a word means something to some shell.
fn fishy(slice: &[u8], first: bool) -> bool {
    match slice {
        [b'~' | b'#' | b'=', ..] => !matches!(slice, [b'='] | [b'=', b'=']),
        [b'!'] | [b'!', ..] if first => true,
        _ => {
            (first && slice.contains(&b'=')) || slice.windows(2).any(|two| matches!(two, [b'=' | b':', b'~']))
        }
    }
}

/// Whether a first word belongs to the grammar or to the shell itself, which the slow way knows about.
fn acts(name: &str) -> bool {
    name.is_empty()
        || matches!(
            name,
            "if" | "then"
                | "elif"
                | "else"
                | "fi"
                | "do"
                | "done"
                | "case"
                | "esac"
                | "while"
                | "until"
                | "for"
                | "select"
                | "function"
                | "time"
                | "coproc"
                | "in"
                | "]]"
        )
        || (special::reserved(name) && shell(name))
}

/// Commands of the shell whose operands the slow way looks at.
fn shell(name: &str) -> bool {
    !matches!(
        name,
        "awk"
            | "bash"
            | "bun"
            | "cargo"
            | "cat"
            | "chmod"
            | "cp"
            | "curl"
            | "docker"
            | "echo"
            | "env"
            | "find"
            | "git"
            | "go"
            | "grep"
            | "head"
            | "kill"
            | "ls"
            | "make"
            | "mkdir"
            | "mv"
            | "node"
            | "npm"
            | "pip"
            | "pwd"
            | "python"
            | "python3"
            | "rm"
            | "sed"
            | "sh"
            | "sort"
            | "sudo"
            | "tail"
            | "touch"
            | "type"
            | "xargs"
    ) && !name.contains('/')
}
