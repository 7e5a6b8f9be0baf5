//! Globs for the values of options: `*`, `?`, `[a-z]`, `[!a-z]`. Everything else stands for itself.

/// Whether the whole text is what the glob says.
pub(super) fn matches(glob: &str, text: &str) -> bool {
    let glob: Vec<char> = glob.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut place) = (0, 0);
    // Where the last `*` stood, and how much of the text it has taken.
    let mut star: Option<(usize, usize)> = None;
    while let Some(char) = text.get(place) {
        let step = match glob.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(glob.get(at + 1..).unwrap_or_default(), *char),
            Some(other) => (other == char).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(step), _) => {
                at += step;
                place += 1;
            }
            (None, Some((back, taken))) => {
                star = Some((back, taken + 1));
                at = back + 1;
                place = taken + 1;
            }
            (None, None) => return false,
        }
    }
    glob.get(at..).unwrap_or_default().iter().all(|char| *char == '*')
}

/// How many characters of the glob a class takes that has the character. `after` follows the `[`.
fn class(after: &[char], char: char) -> Option<usize> {
    let end = after.iter().position(|char| *char == ']')?;
    let inside = after.get(..end)?;
    let (negated, members) = match inside.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        Some(_) | None => (false, inside),
    };
    let mut found = false;
    let mut rest = members;
    while let Some((first, others)) = rest.split_first() {
        match others {
            ['-', last, after @ ..] => {
                found |= (*first..=*last).contains(&char);
                rest = after;
            }
            _ => {
                found |= *first == char;
                rest = others;
            }
        }
    }
    (found != negated).then_some(end + 2)
}
