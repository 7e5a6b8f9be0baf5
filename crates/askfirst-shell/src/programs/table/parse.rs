//! Reads the text of a table. A row that it does not understand becomes a fault; it guesses nothing.

use askfirst::Risk;

use super::terms::{
    Shape, class, condition_of, held, is_name, is_path, operands, starts_or_writes, style, yields,
};
use super::{Condition, Opt, OptEffect, Section, Table, like};

/// A command line that the table answers for.
#[cfg(test)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) line: usize,
    pub(crate) verdict: Verdict,
    pub(crate) command: String,
}

/// What an example says.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Only reads.
    Reads,
    /// A rule for the program's own words allows it.
    Covered,
    /// Such a rule still asks.
    Asks,
}

/// All tables of a file.
pub(crate) fn tables(text: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    for (number, row) in rows(text) {
        let mut words = tokens(row).into_iter();
        let Some(first) = words.next() else { continue };
        if first == "program" {
            let groups: Vec<Vec<String>> =
                words.map(|group| group.split('=').map(str::to_owned).collect()).collect();
            let synonyms = groups.iter().filter(|group| group.len() > 1).cloned().collect();
            tables.push(Table { names: groups.concat(), synonyms, ..Table::default() });
            path.clear();
            continue;
        }
        let Some(table) = tables.last_mut() else {
            let fault = (number, "a row before the first `program`".to_owned());
            tables.push(Table { faults: vec![fault], ..Table::default() });
            continue;
        };
        let said = if first == "sub" {
            path = words.map(str::to_owned).collect();
            open(&mut table.root, &path).map(|_| ()).ok_or_else(|| "a sub-command without a name".to_owned())
        } else {
            match open(&mut table.root, &path) {
                Some(section) => section.take(first, &words.collect::<Vec<_>>()),
                None => Err("a row in a section that does not exist".to_owned()),
            }
        };
        if let Err(fault) = said {
            table.faults.push((number, fault));
        }
    }
    like::resolve(&mut tables);
    for table in &mut tables {
        if table.names.is_empty() {
            table.faults.push((0, "a program without a name".to_owned()));
        }
        if table.root.class.is_none() && table.root.subs.is_empty() {
            table.faults.push((0, "what the program does is missing".to_owned()));
        }
        table.root.finish();
    }
    tables
}

/// The examples of a file.
#[cfg(test)]
pub(crate) fn examples(text: &str) -> Vec<Example> {
    let examples = text.lines().enumerate().filter_map(|(number, line)| {
        let (verdict, command) = line.trim().strip_prefix("example ")?.split_once(':')?;
        let verdict = match verdict.trim() {
            "reads" => Verdict::Reads,
            "covered" => Verdict::Covered,
            "asks" => Verdict::Asks,
            _ => return None,
        };
        Some(Example { line: number + 1, verdict, command: command.trim().to_owned() })
    });
    examples.collect()
}

/// Rows with their line numbers, comments and empty ones left out.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(number, line)| {
        let mut row = line.trim();
        if !row.starts_with("example ")
            && let Some((before, _)) = row.split_once(" #")
        {
            row = before.trim();
        }
        (!row.is_empty() && !row.starts_with('#')).then_some((number + 1, row))
    })
}

/// The words of a row. A text in quotes after `=` is part of its word, blanks and all.
fn tokens(row: &str) -> Vec<&str> {
    let mut tokens: Vec<&str> = Vec::new();
    let mut rest = row.trim_start();
    while !rest.is_empty() {
        let mut quoted = false;
        let mut before = ' ';
        let end = rest.find(|char: char| {
            let end = char.is_whitespace() && !quoted;
            if char == '"' && (if quoted { before != '\\' } else { before == '=' }) {
                quoted = !quoted;
            }
            before = char;
            end
        });
        let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// The section of a sub-command, made where it is not there.
fn open<'s>(root: &'s mut Section, path: &[String]) -> Option<&'s mut Section> {
    let mut section = root;
    for step in path {
        let names: Vec<String> = step.split(',').map(str::to_owned).collect();
        let known = section.subs.iter().position(|sub| sub.names.iter().any(|name| names.contains(name)));
        let place = known.unwrap_or(section.subs.len());
        if known.is_none() {
            section.subs.push(Section { names, ..Section::default() });
        }
        section = section.subs.get_mut(place)?;
    }
    Some(section)
}

impl Section {
    fn take(&mut self, first: &str, words: &[&str]) -> Result<(), String> {
        match first {
            "reads" | "changes" | "runs" | "asks" => {
                if !words.is_empty() || self.class.is_some() {
                    return Err(format!("`{first}` must be the only word of its row and occur once"));
                }
                self.class = class(first);
            }
            "risk" => {
                self.risk = match words {
                    ["high"] => Risk::High,
                    ["irreversible"] => Risk::Irreversible,
                    _ => return Err("a risk is `high` or `irreversible`".to_owned()),
                }
            }
            "inside" | "outside" | "terminal" => self.held.push((held(first), condition_of(words)?)),
            "style" => self.style = Some(style(words)?),
            "operands" => self.operands.push(operands(words)?),
            "yields" => {
                let (kind, condition) = words.split_first().ok_or("a kind is missing")?;
                self.yields.push((yields(kind)?, condition_of(condition)?));
            }
            "example" => {
                let row = words.join(" ");
                match row.split_once(':').map(|(verdict, _)| verdict) {
                    Some("reads" | "covered" | "asks") => {}
                    Some(_) | None => return Err("an example is `reads:`, `covered:` or `asks:`".to_owned()),
                }
            }
            "like" => self.like.push(words.iter().map(|word| (*word).to_owned()).collect()),
            "letter" => self.letters(words)?,
            _ if is_name(first) => {
                let mut all = vec![first];
                all.extend_from_slice(words);
                self.option_row(&all)?;
            }
            _ => return Err(format!("unknown row `{first}`")),
        }
        Ok(())
    }

    /// Letters without a dash are kept by their bare name.
    fn letters(&mut self, words: &[&str]) -> Result<(), String> {
        let marked: Vec<String> = words
            .iter()
            .map(|word| if word.len() == 1 && *word != "|" { format!("-{word}") } else { (*word).to_owned() })
            .collect();
        let mut letters = Self::default();
        letters.option_row(&marked.iter().map(String::as_str).collect::<Vec<_>>())?;
        for mut option in letters.options {
            option.names = option.names.iter().map(|name| name.trim_start_matches('-').to_owned()).collect();
            self.add(option)?;
        }
        Ok(())
    }

    /// A row of options: different ones are separated by `|`, or their names are joined by `,`.
    fn option_row(&mut self, words: &[&str]) -> Result<(), String> {
        let end = words.iter().position(|word| matches!(*word, "if" | "unless")).unwrap_or(words.len());
        let condition = condition_of(words.get(end..).unwrap_or_default())?;
        let words = words.get(..end).unwrap_or_default();
        let commas = words.iter().any(|word| is_name(word) && word.contains(','));
        let mut groups: Vec<(Vec<&str>, Shape)> = Vec::new();
        let mut open = false;
        for word in words {
            let bare = word.split('=').next().unwrap_or(word);
            let (name, value) = word.split_at(bare.strip_suffix('[').unwrap_or(bare).len());
            if name == "|" {
                open = false;
                continue;
            }
            if is_name(name) {
                let shut =
                    groups.last().is_some_and(|(_, shape)| shape.said || !shape.option.values.is_empty());
                if open && shut {
                    return Err(format!("`{name}` after a value or an effect"));
                }
                if !open || commas {
                    let option = Opt { condition: condition.clone(), ..Opt::default() };
                    groups.push((Vec::new(), Shape { option, said: false }));
                }
                open = true;
                if let Some((names, _)) = groups.last_mut() {
                    names.extend(name.split(','));
                }
            }
            let Some((_, shape)) = groups.last_mut() else { return Err(format!("`{word}` before a name")) };
            if !is_name(name) && !name.is_empty() {
                shape.effect(name)?;
            }
            if !value.is_empty() {
                shape.value(value)?;
            }
        }
        let Some((_, last)) = groups.last() else { return Err("an option without a name".to_owned()) };
        let last = last.option.clone();
        for (names, shape) in groups {
            // What stands at the end of the row holds for all that say nothing themselves.
            let bare = shape.option.values.is_empty() && !shape.said;
            let mut option = if bare { last.clone() } else { shape.option };
            if !bare && !shape.said {
                option.effect = last.effect;
            }
            self.option_of(&names, &option)?;
        }
        Ok(())
    }

    fn option_of(&mut self, words: &[&str], shape: &Opt) -> Result<(), String> {
        let mut option = shape.clone();
        let mut negated: Vec<String> = Vec::new();
        for name in words {
            match name.split_once("[no-]") {
                Some((before, after)) => {
                    option.names.push(format!("{before}{after}"));
                    negated.push(format!("{before}no-{after}"));
                }
                None => option.names.push((*name).to_owned()),
            }
        }
        if option.names.is_empty() {
            return Err("an option without a name".to_owned());
        }
        if option.is_starred() && !option.values.is_empty() && option.names.len() == 1 {
            return Err("an option with `*` has no value".to_owned());
        }
        let (effect, condition) = (option.effect, option.condition.clone());
        self.add(option)?;
        // A row of its own for the negated form beats the one that `[no-]` stands for, wherever it stands.
        negated.retain(|name| !self.index.contains_key(name));
        if !negated.is_empty() {
            self.negated.extend(negated.iter().cloned());
            self.add(Opt { names: negated, effect, condition, ..Opt::default() })?;
        }
        Ok(())
    }

    pub(super) fn add(&mut self, option: Opt) -> Result<(), String> {
        let place = self.options.len();
        for name in &option.names {
            let places = self.index.entry(name.clone()).or_default();
            if let Some(at) = self.negated.iter().position(|negated| negated == name)
                && !places.is_empty()
            {
                self.negated.swap_remove(at);
                let earlier = places.pop().and_then(|place| self.options.get_mut(place));
                if let Some(row) = earlier {
                    row.names.retain(|known| known != name);
                }
            }
            let earlier = places.last().and_then(|last| self.options.get(*last));
            if earlier.is_some_and(|row| row.glob.is_none() && matches!(row.condition, Condition::Always)) {
                return Err(format!("`{name}` has two rows"));
            }
            places.push(place);
            if let Some(sign) = name.chars().next().filter(|sign| *sign != '-')
                && !self.signs.contains(&sign)
                && !sign.is_alphanumeric()
            {
                self.signs.push(sign);
            }
        }
        self.options.push(option);
        Ok(())
    }

    fn finish(&mut self) {
        self.sharp = self.options.iter().any(|option| {
            matches!(option.effect, OptEffect::Asks | OptEffect::Changes)
                || option
                    .values
                    .iter()
                    .any(|value| value.changes || value.tool || starts_or_writes(value.role))
        });
        self.paths = self.options.iter().any(|option| option.values.iter().any(|value| is_path(value.role)));
        for sub in &mut self.subs {
            sub.finish();
        }
    }
}
