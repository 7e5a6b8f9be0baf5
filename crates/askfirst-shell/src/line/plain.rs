//! The fast way: commands of plain words, piped or one after the other, perhaps behind one `cd` and with output to files,
//! where nothing else is left for a shell to act on. Anything else goes to a parser.

use super::names;
use super::tree::{Command, Folder, Line, Redirection, Shape, Stdin, Step, Way, Word};

/// A line of more commands than this goes to a parser.
const COMMANDS: usize = 16;

/// What stands behind a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    Pipe,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `;`.
    Next,
    /// The end of the line.
    End,
}

/// The line, if all of it is plain.
pub(super) fn read(text: &str) -> Option<Line> {
    if text.len() > 4096 || !may_be_plain(text.as_bytes()) {
        return None;
    }
    let mut commands: Vec<Command> = Vec::with_capacity(1);
    let mut folder = Folder::default();
    let mut before = Joint::Next;
    let mut branch = false;
    let mut at = 0;
    loop {
        let Simple { words, redirections, turned, mixes, last, end } = simple(text, at)?;
        let (joint, next) = joint(text, end)?;
        let Some(first) = words.first() else {
            // Only `;` may stand at the end.
            let over = before == Joint::Next && joint == Joint::End && !commands.is_empty();
            let over = over && redirections.is_empty();
            return over.then_some(Line { commands, gaps: Vec::new(), shape: Shape::Plain });
        };
        let moves = commands.is_empty() && joint == Joint::And && redirections.is_empty();
        let entered = if moves { entered(&words) } else { None };
        let odd = entered.is_none() && first.literal().is_none_or(acts);
        // Where a `cd` may have failed, there are two folders.
        let parts = !folder.0.is_empty() && matches!(joint, Joint::Or | Joint::Next);
        if odd || parts || (turned && joint == Joint::Pipe) || commands.len() == COMMANDS {
            return None;
        }
        let mut reached = Vec::new();
        if branch {
            reached.push(Step::Branch);
        }
        if before == Joint::Pipe || joint == Joint::Pipe {
            reached.push(Step::Pipe);
        }
        let stdin = match (before, commands.len().checked_sub(1)) {
            (Joint::Pipe, Some(from)) => Stdin::Pipe(from),
            _ => Stdin::Inherited,
        };
        commands.push(Command {
            span: first.span.start..last,
            words,
            assignments: Vec::new(),
            redirections,
            folders: Some(vec![folder.clone()]),
            stdin,
            mixes,
            loose: Vec::new(),
            reached,
        });
        if let Some(word) = entered {
            folder = Folder(vec![word]);
        }
        match joint {
            Joint::Pipe => {}
            Joint::And | Joint::Or => branch = true,
            Joint::Next => branch = false,
            Joint::End => return Some(Line { commands, gaps: Vec::new(), shape: Shape::Plain }),
        }
        (before, at) = (joint, next);
    }
}

/// Whether nothing in it surely needs a parser: told first, so that no words are made in vain.
fn may_be_plain(bytes: &[u8]) -> bool {
    let mut quote = None;
    let mut left = bytes.iter();
    while let Some(byte) = left.next() {
        match (quote, byte) {
            (Some(b'\''), b'\'') | (Some(b'"'), b'"') => quote = None,
            (Some(b'\''), _) => {}
            (_, b'\\') => {
                left.next();
            }
            (_, b'$' | b'`') => return false,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(*byte),
            (None, b'(' | b')' | b'{' | b'}' | b'<' | b'*' | b'?' | b'[') => return false,
            (None, _) => {}
        }
    }
    true
}

/// The folder that a plain `cd` leads to.
fn entered(words: &[Word]) -> Option<Word> {
    let [cd, folder] = words else { return None };
    let plain = |text: &str| !text.is_empty() && !text.starts_with('-');
    (cd.literal() == Some("cd") && folder.literal().is_some_and(plain)).then(|| folder.clone())
}

/// The words up to what ends a command, and the files that its output goes to.
struct Simple {
    words: Vec<Word>,
    redirections: Vec<Redirection>,
    /// Whether what it prints goes elsewhere.
    turned: bool,
    /// Whether what it says of failures may go where its output goes.
    mixes: bool,
    /// Where the last of them ends.
    last: usize,
    /// Where blanks behind it end.
    end: usize,
}

fn simple(text: &str, start: usize) -> Option<Simple> {
    let bytes = text.as_bytes();
    let mut words: Vec<Word> = Vec::with_capacity(8);
    let mut redirections = Vec::new();
    let (mut at, mut last, mut turned, mut mixes) = (start, start, false, false);
    loop {
        at = blank(bytes, at);
        if ends_word(bytes, at) {
            return Some(Simple { words, redirections, turned, mixes, last, end: at });
        }
        let sign = match bytes.get(at..)? {
            [b'>', ..] => Some(at + 1),
            [b'1' | b'2', b'>', ..] => Some(at + 2),
            _ => None,
        };
        if let Some(sign) = sign.filter(|_| !words.is_empty()) {
            turned |= matches!(bytes.get(at), Some(b'>' | b'1'));
            let end;
            match bytes.get(sign..)? {
                // To another stream.
                [b'&', b'1' | b'2', ..] if ends_word(bytes, sign + 2) => {
                    mixes |= bytes.get(at) == Some(&b'2');
                    end = sign + 2;
                }
                [b'&' | b'|' | b'(' | b'!', ..] => return None,
                rest => {
                    let behind = if rest.first() == Some(&b'>') { sign + 1 } else { sign };
                    let from = blank(bytes, behind);
                    if ends_word(bytes, from) || matches!(bytes.get(from), Some(b'!' | b'>' | b']')) {
                        return None;
                    }
                    let target;
                    (target, end) = word(text, from, false)?;
                    redirections.push(Redirection { span: at..end, way: Way::Write, target });
                }
            }
            (at, last) = (end, end);
            continue;
        }
        let (word, end) = word(text, at, words.is_empty())?;
        words.push(word);
        (at, last) = (end, end);
    }
}

/// Where blanks end.
fn blank(bytes: &[u8], start: usize) -> usize {
    let blanks =
        bytes.get(start..).unwrap_or_default().iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    start + blanks.count()
}

/// What stands there, and where it ends.
fn joint(text: &str, at: usize) -> Option<(Joint, usize)> {
    match text.as_bytes().get(at..)? {
        [] | [b'\n'] => Some((Joint::End, text.len())),
        [b'&', b'&', rest @ ..] if !begins_joint(rest) => Some((Joint::And, at + 2)),
        [b'|', b'|', rest @ ..] if !begins_joint(rest) => Some((Joint::Or, at + 2)),
        [b'|', rest @ ..] if !begins_joint(rest) => Some((Joint::Pipe, at + 1)),
        [b';', rest @ ..] if !begins_joint(rest) => Some((Joint::Next, at + 1)),
        _ => None,
    }
}

fn begins_joint(rest: &[u8]) -> bool {
    matches!(rest.first(), Some(b'&' | b'|' | b';'))
}

/// Whether a word ends here: at a blank, at the end of the line, or where commands are joined.
fn ends_word(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at) {
        None | Some(b' ' | b'\t' | b'|' | b'&' | b';') => true,
        // A newline at the end is no second command.
        Some(b'\n') => at + 1 == bytes.len(),
        Some(_) => false,
    }
}

fn word(text: &str, start: usize, first: bool) -> Option<(Word, usize)> {
    let bytes = text.as_bytes();
    let mut at = start;
    // As long as no quote is met, the word is the text itself.
    loop {
        if ends_word(bytes, at) {
            let slice = text.get(start..at)?;
            return (!fishy(slice.as_bytes(), first)).then(|| (Word::text(slice, start..at), at));
        }
        match *bytes.get(at)? {
            b'\'' | b'"' | b'\\' => break,
            byte if harmless(byte) => at += 1,
            _ => return None,
        }
    }
    if fishy(bytes.get(start..at)?, first) || (first && bytes.get(start..at)?.contains(&b'=')) {
        return None;
    }
    let mut made = text.get(start..at)?.to_owned();
    while !ends_word(bytes, at) {
        match bytes.get(at) {
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
            // A home behind a sign, as at the word's beginning.
            Some(b'~') if made.ends_with(['=', ':']) => return None,
            Some(byte) if harmless(*byte) => {
                made.push(char::from(*byte));
                at += 1;
            }
            Some(_) | None => return None,
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
        || (names::reserved(name) && shell(name))
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
