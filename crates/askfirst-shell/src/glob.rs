//! Wildcards in the words of a pattern. A wildcard never stands for more than the person who wrote it can see.

/// How far a wildcard reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It stops at `/`, and what it stands for never begins with `-`.
    Within,
    /// It stands for anything. Only for rules that deny.
    Anything,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Letter(char),
    Any,
    One,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// One word with wildcards. A backslash takes its meaning from the character behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    tokens: Vec<Token>,
    plain: Option<String>,
}

impl Glob {
    pub(super) fn new(text: &str) -> Self {
        let letters: Vec<char> = text.chars().collect();
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(letter) = letters.get(at) {
            at += 1;
            tokens.push(match letter {
                '\\' => {
                    at += 1;
                    Token::Letter(letters.get(at - 1).copied().unwrap_or('\\'))
                }
                '*' => Token::Any,
                '?' => Token::One,
                '[' => match class(letters.get(at..).unwrap_or_default()) {
                    Some((class, length)) => {
                        at += length;
                        class
                    }
                    None => Token::Letter('['),
                },
                letter => Token::Letter(*letter),
            });
        }
        let letter = |token: &Token| match token {
            Token::Letter(letter) => Some(*letter),
            Token::Any | Token::One | Token::Class { .. } => None,
        };
        let plain = tokens.iter().map(letter).collect();
        Self { tokens, plain }
    }

    /// The text, where there is no wildcard in it.
    pub(super) fn plain(&self) -> Option<&str> {
        self.plain.as_deref()
    }

    /// The text before the first wildcard.
    pub(super) fn head(&self) -> String {
        let letters = self.tokens.iter().map_while(|token| match token {
            Token::Letter(letter) => Some(*letter),
            Token::Any | Token::One | Token::Class { .. } => None,
        });
        letters.collect()
    }

    pub(super) fn matches(&self, text: &str, reach: Reach) -> bool {
        if let Some(plain) = &self.plain {
            return plain == text;
        }
        // Most of what is looked at in a folder differs at the end.
        if let (Some(Token::Letter(last)), end) = (self.tokens.last(), text.chars().next_back())
            && end != Some(*last)
        {
            return false;
        }
        let letters: Vec<char> = text.chars().collect();
        let mut reached = vec![false; letters.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        let mut next = vec![false; reached.len()];
        for token in &self.tokens {
            step(token, &letters, &reached, &mut next, reach);
            std::mem::swap(&mut reached, &mut next);
            if !reached.contains(&true) {
                return false;
            }
        }
        reached.last().copied().unwrap_or(false)
    }
}

/// The positions that one more token leads to.
fn step(token: &Token, letters: &[char], from: &[bool], to: &mut [bool], reach: Reach) {
    to.fill(false);
    let mut inside = false;
    for (at, start) in from.iter().enumerate() {
        if *start && *token == Token::Any {
            mark(to, at);
        }
        let Some(letter) = letters.get(at) else { break };
        let stops = reach == Reach::Within && *letter == '/';
        let dash = reach == Reach::Within && *letter == '-';
        match token {
            Token::Any => {
                inside = !stops && (inside || (*start && !dash));
                if inside {
                    mark(to, at + 1);
                }
            }
            Token::One if *start && !stops && !(dash && at == 0) => mark(to, at + 1),
            Token::Letter(wanted) if *start && wanted == letter => mark(to, at + 1),
            Token::Class { negated, ranges } if *start && !stops && !(dash && at == 0) => {
                if ranges.iter().any(|(low, high)| (low..=high).contains(&letter)) != *negated {
                    mark(to, at + 1);
                }
            }
            Token::One | Token::Letter(_) | Token::Class { .. } => {}
        }
    }
}

fn mark(positions: &mut [bool], at: usize) {
    if let Some(position) = positions.get_mut(at) {
        *position = true;
    }
}

/// A class after its `[`, and how long it is.
fn class(letters: &[char]) -> Option<(Token, usize)> {
    let negated = matches!(letters.first(), Some('!' | '^'));
    let mut at = usize::from(negated);
    let mut ranges = Vec::new();
    let mut first = true;
    loop {
        let mut low = *letters.get(at)?;
        at += 1;
        if low == ']' && !first {
            return Some((Token::Class { negated, ranges }, at));
        }
        first = false;
        if low == '\\' {
            low = *letters.get(at)?;
            at += 1;
        }
        let mut high = low;
        if letters.get(at) == Some(&'-') && letters.get(at + 1).is_some_and(|next| *next != ']') {
            high = *letters.get(at + 1)?;
            at += 2;
        }
        ranges.push((low, high));
    }
}

#[cfg(test)]
#[path = "glob/tests.rs"]
mod tests;
