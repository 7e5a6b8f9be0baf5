//! `sed` scripts. What writes, starts something, or is not plainly understood is a doubt.

use std::iter::Peekable;
use std::str::Chars;

use super::Looked;

/// Whether a script only edits what it prints.
pub(in crate::programs) fn sed(text: &str) -> Looked {
    let mut script = Script { chars: text.chars().peekable(), reads: Vec::new() };
    match script.read() {
        Ok(()) => Looked::Fine { reads: script.reads },
        Err(why) => Looked::Doubt(why),
    }
}

struct Script<'s> {
    chars: Peekable<Chars<'s>>,
    reads: Vec<String>,
}

impl Script<'_> {
    fn read(&mut self) -> Result<(), String> {
        loop {
            self.skip(|char| char.is_whitespace() || char == ';');
            match self.chars.peek() {
                None => return Ok(()),
                Some('#') => self.line(),
                Some('}') => {
                    self.chars.next();
                }
                Some(_) => {
                    self.address()?;
                    self.command()?;
                }
            }
        }
    }

    fn skip(&mut self, which: impl Fn(char) -> bool) {
        while self.chars.next_if(|char| which(*char)).is_some() {}
    }

    /// The rest of the line.
    fn line(&mut self) {
        self.skip(|char| char != '\n');
    }

    fn address(&mut self) -> Result<(), String> {
        self.one_address()?;
        self.skip(|char| char == ' ');
        if self.chars.next_if_eq(&',').is_some() {
            self.skip(|char| char == ' ');
            self.chars.next_if(|char| matches!(char, '+' | '~'));
            self.one_address()?;
        }
        self.skip(|char| char == ' ' || char == '!');
        Ok(())
    }

    fn one_address(&mut self) -> Result<(), String> {
        match self.chars.peek().copied() {
            Some('$') => {
                self.chars.next();
            }
            Some(digit) if digit.is_ascii_digit() => {
                self.skip(|char| char.is_ascii_digit() || char == '~');
            }
            Some('/') => {
                self.chars.next();
                self.until('/')?;
                self.skip(|char| matches!(char, 'I' | 'M'));
            }
            Some('\\') => {
                self.chars.next();
                let end = self.delimiter()?;
                self.until(end)?;
                self.skip(|char| matches!(char, 'I' | 'M'));
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    fn delimiter(&mut self) -> Result<char, String> {
        match self.chars.next() {
            Some(end) if end.is_ascii() && !end.is_ascii_control() && end != '\\' => Ok(end),
            Some(_) | None => Err("a `sed` pattern without a plain delimiter".to_owned()),
        }
    }

    /// Up to the delimiter. Programs differ on one inside brackets.
    fn until(&mut self, end: char) -> Result<(), String> {
        let mut brackets = false;
        while let Some(char) = self.chars.next() {
            match char {
                _ if char == end => {
                    return if brackets {
                        Err("a `sed` delimiter inside brackets".to_owned())
                    } else {
                        Ok(())
                    };
                }
                '\\' => {
                    self.chars.next();
                }
                '\n' => break,
                '[' => brackets = true,
                ']' => brackets = false,
                _ => {}
            }
        }
        Err("an unclosed `sed` pattern".to_owned())
    }

    /// The second part of `s` and `y`, where brackets mean nothing.
    fn replacement(&mut self, end: char) -> Result<(), String> {
        while let Some(char) = self.chars.next() {
            match char {
                _ if char == end => return Ok(()),
                '\\' => {
                    self.chars.next();
                }
                '\n' => break,
                _ => {}
            }
        }
        Err("an unclosed `sed` replacement".to_owned())
    }

    fn command(&mut self) -> Result<(), String> {
        let Some(command) = self.chars.next() else {
            return Err("a `sed` address without a command".to_owned());
        };
        match command {
            '{' => return Ok(()),
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
            'l' | 'q' | 'Q' => {
                self.skip(|char| char == ' ');
                self.skip(|char| char.is_ascii_digit());
            }
            ':' | 'b' | 't' | 'T' => {
                self.skip(|char| char == ' ');
                self.skip(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-'));
                self.skip(|char| char == ' ');
                return match self.chars.peek() {
                    None | Some(';' | '\n') => Ok(()),
                    Some('}') if command != ':' => Ok(()),
                    Some(_) => Err("a `sed` label that is not plain".to_owned()),
                };
            }
            'a' | 'i' | 'c' => {
                while let Some(char) = self.chars.next() {
                    match char {
                        '\\' => {
                            self.chars.next();
                        }
                        '\n' => break,
                        _ => {}
                    }
                }
                return Ok(());
            }
            'r' | 'R' => {
                self.skip(|char| matches!(char, ' ' | '\t'));
                let mut path = String::new();
                while let Some(char) = self.chars.next_if(|char| *char != '\n') {
                    path.push(char);
                }
                self.reads.push(path);
                return Ok(());
            }
            's' => {
                let end = self.delimiter()?;
                self.until(end)?;
                self.replacement(end)?;
                self.skip(|char| matches!(char, 'g' | 'p' | 'i' | 'I' | 'm' | 'M') || char.is_ascii_digit());
                match self.chars.peek() {
                    Some('e') => return Err("`s///e` in `sed` runs its result as a command".to_owned()),
                    Some('w') => return Err("`s///w` in `sed` writes a file".to_owned()),
                    Some(_) | None => {}
                }
            }
            'y' => {
                let end = self.delimiter()?;
                self.replacement(end)?;
                self.replacement(end)?;
            }
            'w' | 'W' => return Err(format!("the `sed` command `{command}` writes a file")),
            'e' => return Err("the `sed` command `e` starts a program".to_owned()),
            _ => return Err(format!("askfirst does not know the `sed` command `{command}`")),
        }
        self.skip(|char| matches!(char, ' ' | '\t' | '\r'));
        match self.chars.peek() {
            None | Some(';' | '\n' | '}' | '#') => Ok(()),
            Some(other) => Err(format!("`{other}` after a `sed` command")),
        }
    }
}
