//! `awk` programs. Patterns, fields, arithmetic and printing to standard output are fine; all else is a doubt.

use super::Looked;

/// Words of the language that reach outside, or change what is read.
const OUTSIDE: [&str; 12] = [
    "system",
    "getline",
    "ENVIRON",
    "PROCINFO",
    "ARGV",
    "ARGC",
    "ARGIND",
    "load",
    "include",
    "extension",
    "namespace",
    "SYMTAB",
];

/// Keywords after which a `/` begins a pattern.
const BEFORE_PATTERN: [&str; 10] =
    ["print", "printf", "return", "in", "else", "do", "case", "exit", "BEGIN", "END"];

/// What stood before, which tells a division from a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value has ended.
    Value,
    /// A value may begin.
    Open,
    /// It cannot be told.
    Unsure,
}

/// Whether a program only computes and prints.
pub(in crate::programs) fn awk(text: &str) -> Looked {
    match (Program { before: Before::Open, braces: 0, parens: 0, printing: false }).read(text) {
        Ok(()) => Looked::Fine { reads: Vec::new() },
        Err(why) => Looked::Doubt(why),
    }
}

struct Program {
    before: Before,
    braces: usize,
    parens: usize,
    printing: bool,
}

impl Program {
    fn read(&mut self, text: &str) -> Result<(), String> {
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                ' ' | '\t' | '\r' => {}
                '\n' | ';' => {
                    self.printing = false;
                    self.before = Before::Open;
                }
                '#' => while chars.next_if(|char| *char != '\n').is_some() {},
                '"' => {
                    loop {
                        match chars.next() {
                            Some('"') => break,
                            Some('\\') => {
                                chars.next();
                            }
                            Some('\n') | None => {
                                return Err("the `awk` program has an unclosed string".to_owned());
                            }
                            Some(_) => {}
                        }
                    }
                    self.before = Before::Value;
                }
                '/' => match self.before {
                    Before::Value => {
                        chars.next_if_eq(&'=');
                        self.before = Before::Open;
                    }
                    // A pattern would need its end on this line.
                    Before::Unsure
                        if chars.clone().take_while(|next| *next != '\n').any(|next| next == '/') =>
                    {
                        return Err("the `awk` program has an ambiguous `/`".to_owned());
                    }
                    Before::Unsure => self.before = Before::Open,
                    Before::Open => {
                        pattern(&mut chars)?;
                        self.before = Before::Value;
                    }
                },
                digit if digit.is_ascii_digit() || digit == '.' => {
                    let mut number = String::from(digit);
                    while let Some(next) = chars.next_if(|next| next.is_ascii_digit() || *next == '.') {
                        number.push(next);
                    }
                    let mut tail = String::new();
                    while let Some(next) = chars.next_if(|next| next.is_ascii_alphanumeric() || *next == '_')
                    {
                        tail.push(next);
                    }
                    if !ends_number(&number, &tail) {
                        return Err(format!("`{number}{tail}` in the `awk` program is a number and a name"));
                    }
                    self.before = Before::Value;
                }
                letter if letter.is_ascii_alphabetic() || letter == '_' => {
                    let mut word = String::from(letter);
                    while let Some(next) = chars.next_if(|next| next.is_ascii_alphanumeric() || *next == '_')
                    {
                        word.push(next);
                    }
                    self.word(&word)?;
                }
                _ => {
                    let twice = chars.peek() == Some(&char);
                    self.sign(char, twice)?;
                    if twice && matches!(char, '|' | '&' | '+' | '-' | '=') {
                        chars.next();
                    }
                }
            }
        }
        if self.braces == 0 && self.parens == 0 {
            Ok(())
        } else {
            Err("the `awk` program is incomplete".to_owned())
        }
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        if OUTSIDE.contains(&word) {
            return Err(format!("the `awk` program uses `{word}`"));
        }
        self.printing |= matches!(word, "print" | "printf");
        self.before = if BEFORE_PATTERN.contains(&word) {
            Before::Open
        } else if word == "length" {
            Before::Unsure
        } else {
            Before::Value
        };
        Ok(())
    }

    fn sign(&mut self, sign: char, twice: bool) -> Result<(), String> {
        self.before = match sign {
            '{' => {
                self.braces += 1;
                self.printing = false;
                Before::Open
            }
            '}' => {
                self.braces = self.braces.checked_sub(1).ok_or("the `awk` program has an unmatched brace")?;
                self.printing = false;
                Before::Open
            }
            '(' | '[' => {
                self.parens += 1;
                Before::Open
            }
            ')' | ']' => {
                self.parens =
                    self.parens.checked_sub(1).ok_or("the `awk` program has an unmatched parenthesis")?;
                if sign == ')' { Before::Unsure } else { Before::Value }
            }
            '|' if !twice => return Err("`|` in the `awk` program starts another program".to_owned()),
            '>' if self.parens == 0 && self.braces > 0 => {
                return Err("`>` in the `awk` program writes a file".to_owned());
            }
            '>' if self.printing && self.parens == 0 => {
                return Err("`>` in the `awk` program writes a file".to_owned());
            }
            '&' if !twice => return Err("the `awk` program uses `&`".to_owned()),
            '+' | '-' if twice => Before::Unsure,
            '|' | '&' | '+' | '-' | '*' | '%' | '^' | '=' | '<' | '>' | '!' | '~' | '?' | ':' | ',' | '$' => {
                Before::Open
            }
            _ => return Err(format!("the `awk` program uses `{sign}`")),
        };
        Ok(())
    }
}

/// Whether letters behind digits belong to the number in every `awk`, or are a harmless name in some: `1e3`, `0x1f`.
/// All others end the number where the letters begin, and `1system` calls.
fn ends_number(number: &str, tail: &str) -> bool {
    let mut letters = tail.chars();
    match letters.next() {
        None => true,
        Some('e' | 'E') => letters.all(|letter| letter.is_ascii_digit()),
        Some('x' | 'X') => number == "0" && letters.all(|letter| letter.is_ascii_hexdigit()),
        Some(_) => false,
    }
}

/// Up to the end of a pattern. Programs differ on a `/` inside brackets.
fn pattern(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<(), String> {
    let mut brackets = false;
    while let Some(char) = chars.next() {
        match char {
            '/' if brackets => return Err("the `awk` program has a `/` inside brackets".to_owned()),
            '/' => return Ok(()),
            '\\' => {
                chars.next();
            }
            '[' => brackets = true,
            ']' => brackets = false,
            '\n' => break,
            _ => {}
        }
    }
    Err("the `awk` program has an unclosed pattern".to_owned())
}
