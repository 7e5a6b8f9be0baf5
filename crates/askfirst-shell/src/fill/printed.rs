//! What single commands are sure to print: hashes, dates, counts and parts of paths.

use super::super::filters::makes_function;
use super::super::line::tree::{Line, Piece, Unknown, Word};
use super::super::programs::used::Used;
use super::tame;

/// Whether an output is one line at the most.
pub(super) fn is_one_line(line: &Line, unknown: &Unknown) -> bool {
    let command = unknown.output_of.and_then(|at| line.commands.get(at));
    let words: Option<Vec<&str>> = command.and_then(|it| it.words.iter().map(Word::literal).collect());
    let one =
        matches!(words.as_deref(), Some(["head" | "tail", "-1" | "-n1"] | ["head" | "tail", "-n", "1"]));
    one && !makes_function(line, "head") && !makes_function(line, "tail")
}

/// Whether git prints numbers of commits, and only them.
pub(super) fn is_hash(words: &[Word]) -> bool {
    let words: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    let Some(["git", sub @ ("log" | "rev-list"), rest @ ..]) = words.as_deref() else { return false };
    let known = |word: &&str| {
        let count = word.trim_start_matches("-n").trim_start_matches('-');
        let number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
        number || matches!(*word, "HEAD" | "-n" | "--all" | "main" | "master" | "--no-merges" | "--reverse")
    };
    let form = |word: &&str| {
        matches!(*word, "--format=%H" | "--format=%h" | "--pretty=%H" | "--pretty=format:%H" | "--pretty=%h")
    };
    let formed = *sub == "rev-list" || rest.iter().any(form);
    let before = rest.iter().take_while(|word| **word != "--");
    formed && before.into_iter().all(|word| known(word) || (*sub == "log" && form(word)))
}

/// `git rev-parse --short HEAD`: a hash, or nothing. Without such an option it prints what it does not find as it was given,
/// so that it must be `HEAD`.
pub(super) fn is_object(words: &[Word]) -> bool {
    let words: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    let Some(["git", "rev-parse", rest @ ..]) = words.as_deref() else { return false };
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '~' | '^'));
    let head = |word: &&str| {
        word.strip_prefix("HEAD").is_some_and(|rest| rest.chars().all(|c| !c.is_ascii_alphabetic()))
    };
    // An option behind a word is printed as it stands.
    let count = rest.iter().take_while(|word| word.starts_with('-')).count();
    let (options, words) = rest.split_at_checked(count).unwrap_or_default();
    let found = options.iter().any(|word| matches!(*word, "--short" | "--verify"));
    options.iter().all(|word| matches!(*word, "--short" | "--verify" | "-q" | "--quiet"))
        && words.iter().all(|word| plain(word) && (found || head(word)))
}

/// What `dirname` and `basename` print of a path that is known.
pub(super) fn part_of_path(words: &[Word]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    let (program, path) = match words?.as_slice() {
        [program @ ("dirname" | "basename"), path] | [program @ ("dirname" | "basename"), "--", path] => {
            (*program, *path)
        }
        _ => return None,
    };
    let path = Some(path).filter(|path| !path.starts_with('-')).map(|path| path.trim_end_matches('/'));
    // Of the topmost folder nothing is left.
    let path = path.filter(|path| !path.is_empty())?;
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    let folder = folder.trim_end_matches('/');
    let part = if program == "basename" { name } else { folder };
    tame(Some(part)).filter(|part| !part.is_empty() && !part.starts_with('-'))
}

/// What `date` prints in a form of digits: one that looks like it.
pub(super) fn moment(words: &[Word]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    let form = match words?.as_slice() {
        ["date", form] | ["date", "-u", form] => form.strip_prefix('+')?,
        ["date", "-d" | "--date", when, form] if is_recent(when) => form.strip_prefix('+')?,
        _ => return None,
    };
    let mut text = String::new();
    let mut letters = form.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => text.push_str(match letters.next()? {
                'F' => "2000-01-01",
                'T' => "00:00:00",
                'Y' => "2000",
                'y' | 'm' | 'd' | 'H' | 'M' | 'S' | 'V' => "01",
                'j' => "001",
                's' => "1000000000",
                'N' => "000000000",
                _ => return None,
            }),
            '-' if !text.is_empty() => text.push('-'),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | ':' => text.push(letter),
            _ => return None,
        }
    }
    (!text.is_empty() && !text.starts_with('.')).then_some(text)
}

/// Whether a moment in words surely lies in years of four digits behind 1970: others have fewer digits, or a sign in front.
fn is_recent(when: &str) -> bool {
    const WORDS: [&str; 31] = [
        "now",
        "today",
        "yesterday",
        "tomorrow",
        "ago",
        "last",
        "next",
        "utc",
        "day",
        "days",
        "week",
        "weeks",
        "month",
        "months",
        "year",
        "years",
        "hour",
        "hours",
        "minute",
        "minutes",
        "min",
        "mins",
        "second",
        "seconds",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let when = when.to_ascii_lowercase();
    // No more than twenty years or months, nor a thousand of anything else.
    let most = if when.contains("year") || when.contains("month") { 20 } else { 999 };
    let mut left: u32 = most;
    let mut fits = |word: &str| {
        let parts: Vec<&str> = word.split('-').collect();
        if let [year, month, day] = parts.as_slice()
            && year.len() == 4
            && year.starts_with("20")
        {
            return [year, month, day].into_iter().all(|part| !part.is_empty() && digits(part));
        }
        let number = word.strip_prefix(['-', '+']).unwrap_or(word);
        if !number.is_empty() && digits(number) {
            let fewer = number.parse().ok().and_then(|number| left.checked_sub(number));
            left = fewer.unwrap_or_default();
            return fewer.is_some();
        }
        WORDS.contains(&word)
    };
    when.split_whitespace().count() <= 6 && when.split_whitespace().all(&mut fits)
}

/// What `seq` prints, where that is something.
pub(super) fn counted(words: &[Word]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    let number = |text: &str| text.parse::<u32>().ok();
    let some = match words?.as_slice() {
        ["seq", last] => number(last)? >= 1,
        ["seq", first, last] => number(first)? <= number(last)?,
        _ => return None,
    };
    some.then(|| "0".to_owned())
}

/// Whether git surely prints the number of a commit. What `rev-parse` does not find it prints as it stands.
pub(super) fn is_revision(used: &Used, words: &[Word]) -> bool {
    let known = |text: &str| {
        let name = text.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '~' | '^'));
        let branch = name.split_once('/').map_or(name, |(_, branch)| branch);
        let remote =
            name.len() == branch.len() || name.starts_with("origin/") || name.starts_with("upstream/");
        matches!(name, "HEAD" | "@" | "FETCH_HEAD" | "ORIG_HEAD" | "@{u}" | "@{upstream}")
            || (remote && matches!(branch, "main" | "master" | "develop" | "dev" | "trunk"))
    };
    let options = words.iter().filter_map(Word::literal).filter(|word| word.starts_with('-'));
    let usual = |option: &str| {
        let short =
            option.strip_prefix("--short=").is_some_and(|n| n.bytes().all(|byte| byte.is_ascii_digit()));
        short
            || matches!(
                option,
                "--abbrev-ref"
                    | "--short"
                    | "--verify"
                    | "-q"
                    | "--quiet"
                    | "--show-current"
                    | "--octopus"
                    | "--fork-point"
            )
    };
    let finds = used.subs.iter().any(|sub| sub.name == "merge-base");
    let operand = |at: usize| words.get(at).and_then(Word::literal);
    let literal = words.iter().all(|word| word.literal().is_some());
    literal
        && options.into_iter().all(usual)
        && (finds || used.operands.iter().all(|it| operand(it.word).is_some_and(known)))
}

/// Whether what stands beside an unknown part is so little that it means nothing without it: `1,$(…)p`.
pub(super) fn is_sum(pieces: &[Piece]) -> bool {
    let plain = |c: char| c.is_ascii_digit() || ",:+p".contains(c);
    let jobs = |text: &str| matches!(text, "-j" | "--jobs=" | "--parallel=");
    if matches!(pieces, [Piece::Text(text), Piece::Unknown(_)] if jobs(text)) {
        return true;
    }
    matches!(pieces.first(), Some(Piece::Text(_)))
        && pieces.iter().all(|piece| match piece {
            Piece::Text(text) => text.chars().all(plain),
            Piece::Unknown(_) => true,
            Piece::Glob(_) | Piece::Home => false,
        })
}

/// What may follow the number of a commit: `~1`, `^`, `:path`, `..HEAD`.
pub(super) fn goes_on(piece: &Piece) -> bool {
    matches!(piece, Piece::Text(text) if text.starts_with(['~', '^', ':']) || text.starts_with(".."))
}
