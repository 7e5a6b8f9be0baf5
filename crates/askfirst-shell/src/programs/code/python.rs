//! Python in a line: whether it only computes and prints. Modules and what is taken from things by a dot are known by
//! name; whatever reaches further, or is hidden from this reader, is a doubt.

use super::Looked;

/// Modules that compute. What else one of them could be asked for is not in `TAKEN`.
const MODULES: [&str; 32] = [
    "base64",
    "bisect",
    "calendar",
    "collections",
    "csv",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "html",
    "itertools",
    "json",
    "keyword",
    "math",
    "numbers",
    "pprint",
    "random",
    "re",
    "statistics",
    "string",
    "struct",
    "sys",
    "textwrap",
    "time",
    "unicodedata",
    "urllib",
    "uuid",
    "zlib",
];

/// What may be taken from something by a dot, or from a module by its name.
const TAKEN: &str = "Counter Decimal Fraction IGNORECASE MULTILINE DOTALL OrderedDict ascii_letters ascii_lowercase \
    ascii_uppercase add append argv b64decode b64encode byteorder bit_count bit_length capitalize casefold ceil center \
    chain choice choices clear combinations comb copy cos count cycle date datetime day days dedent \
    defaultdict degrees deque digest digits discard dump dumps e encode decode end endswith entries escape exit exp \
    expandtabs extend factorial fill find findall finditer floor fmean fromisoformat fromkeys fromtimestamp fsum \
    fullmatch gcd get getsizeof group groupby groupdict groups heapify heappop heappush hex hexdigest hour index indent \
    inf insert intersection isalnum isalpha isclose isdigit isdisjoint isfinite islice islower isnan isnumeric \
    isoformat isqrt isspace issubset issuperset istitle isupper items join keys lcm ljust load loads log log10 log2 \
    lower lstrip lru_cache match maxsize md5 mean median microsecond minute mode month monotonic most_common \
    namedtuple nan nlargest now nsmallest parse partial partition perf_counter perm permutations pi platform pop popitem \
    popleft pow pp pprint prod product punctuation quantiles quote quote_plus radians randint random randrange read \
    readline readlines reader reduce remove repeat replace reverse rfind rindex rjust rotate round rpartition rsplit \
    rstrip sample search second seconds seed setdefault sha1 sha256 sha512 shorten shuffle sin sleep sort span split \
    splitlines sqrt start startswith starmap stdev stdin stdout stderr strftime strip strptime sub subn swapcase \
    symmetric_difference tan tau time timedelta timestamp timezone title today total_seconds translate trunc \
    uniform union unquote update upper urlencode urlparse urlsplit utc utcnow uuid4 values variance version \
    version_info weekday wrap write year zfill zip_longest difference parse_qs";

/// Names of Python's own by which code reaches further.
const REACHING: [&str; 23] = [
    "breakpoint",
    // A pattern takes things apart by names.
    "case",
    // Methods by names that stand in texts: `type('X', (), {'__reduce_ex__': …})`.
    "class",
    "compile",
    "delattr",
    "eval",
    "exec",
    "execfile",
    "file",
    "getattr",
    "globals",
    "help",
    "input",
    "intern",
    "locals",
    "memoryview",
    "open",
    "raw_input",
    "reload",
    "setattr",
    "super",
    "type",
    "vars",
];

/// Whether a text only computes and prints.
pub(in crate::programs) fn python(text: &str) -> Looked {
    // A comment may say in which letters the rest is written; a carriage return ends one.
    if text.contains(['\r', '\0']) || (text.contains("coding") && text.contains('#')) {
        return doubt("characters that may be read differently");
    }
    let mut reader = Reader { rest: text, before: '\n', import: Import::No };
    match reader.read(Texts::Skipped) {
        Some(Stop::Code) => {
            let mut reader = Reader { rest: text, before: '\n', import: Import::No };
            match reader.read(Texts::Read) {
                Some(Stop::Doubt(why)) => doubt(&why),
                Some(Stop::Code) | None => Looked::Fine { reads: Vec::new() },
            }
        }
        Some(Stop::Doubt(why)) => doubt(&why),
        None => Looked::Fine { reads: Vec::new() },
    }
}

fn doubt(why: &str) -> Looked {
    Looked::Doubt(format!("the Python code contains {why}"))
}

/// What is done with texts in quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    Skipped,
    /// One of them has code in it, and where it ends is read otherwise by newer versions: all is read as code.
    Read,
}

enum Stop {
    /// A text has code in it.
    Code,
    Doubt(String),
}

/// Where in an `import` the reader stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Import {
    No,
    /// The modules, or the one that follows `from`.
    Module,
    /// What is taken from it.
    Names,
    /// The name that it gets here.
    Named(bool),
}

struct Reader<'t> {
    rest: &'t str,
    /// The last sign that is no blank.
    before: char,
    import: Import,
}

impl Reader<'_> {
    fn read(&mut self, texts: Texts) -> Option<Stop> {
        let mut from = false;
        while let Some(first) = self.rest.chars().next() {
            match first {
                'a'..='z' | 'A'..='Z' | '_' => {
                    let end = self.rest.find(|c: char| !is_letter(c)).unwrap_or(self.rest.len());
                    let (word, after) = self.rest.split_at(end);
                    self.rest = after;
                    let quoted = after.starts_with(['"', '\'']);
                    if quoted && texts == Texts::Skipped && is_prefix(word) {
                        if word.contains(['f', 'F', 't', 'T']) {
                            return Some(Stop::Code);
                        }
                        continue;
                    }
                    if let Some(why) = self.word(word, &mut from) {
                        return Some(Stop::Doubt(why));
                    }
                    self.before = 'a';
                }
                '"' | '\'' if texts == Texts::Skipped => {
                    if !self.text(first) {
                        return Some(Stop::Doubt("a string that does not end".to_owned()));
                    }
                    self.before = first;
                }
                '#' if texts == Texts::Skipped => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = self.rest.split_at(end).1;
                }
                '0'..='9' => {
                    let end = self.rest.find(|c: char| !is_letter(c)).unwrap_or(self.rest.len());
                    self.rest = self.rest.split_at(end).1;
                    self.before = '0';
                }
                '\n' | ';' => {
                    (self.import, from) = (Import::No, false);
                    // What is taken may stand in the next line.
                    let before = if self.before == '.' && first == '\n' { '.' } else { first };
                    self.step(first);
                    self.before = before;
                }
                '#' if self.before == '.' => return Some(Stop::Doubt("a name after a comment".to_owned())),
                '(' | '*' if self.import != Import::No => {
                    return Some(Stop::Doubt("an import in brackets or with `*`".to_owned()));
                }
                '\\' if texts == Texts::Skipped || self.before == '.' || self.rest.starts_with("\\\n") => {
                    return Some(Stop::Doubt("a continued line".to_owned()));
                }
                ' ' | '\t' => self.rest = self.rest.split_at(1).1,
                '!'..='~' => self.step(first),
                _ if texts == Texts::Read && is_sign(first) => self.step(first),
                _ => return Some(Stop::Doubt("an unknown sign".to_owned())),
            }
        }
        None
    }

    fn step(&mut self, sign: char) {
        self.rest = self.rest.get(sign.len_utf8()..).unwrap_or_default();
        self.before = sign;
    }

    /// A name or a keyword; why it is a doubt.
    fn word(&mut self, word: &str, from: &mut bool) -> Option<String> {
        let known = || TAKEN.split_whitespace().any(|taken| taken == word);
        let why = Some(format!("`{word}`"));
        let own = word.starts_with('_') && !matches!(word, "_" | "__name__" | "__main__");
        let taken = self.before == '.' && self.import != Import::Module;
        if own || REACHING.contains(&word) || (taken && !known()) {
            return why;
        }
        match (word, self.import) {
            ("import", _) => {
                // Behind a sign it begins a line of its own: the `from` stood in a text.
                let names = *from && self.before == 'a';
                self.import = if names { Import::Names } else { Import::Module };
                return None;
            }
            // `yield from` and `raise … from` take no module.
            ("from", Import::No) if matches!(self.before, '\n' | ';' | ':') => {
                (self.import, *from) = (Import::Module, true);
                return None;
            }
            ("as", Import::Module) => self.import = Import::Named(false),
            ("as", Import::Names) => self.import = Import::Named(true),
            (_, Import::Named(names)) => {
                self.import = if names { Import::Names } else { Import::Module };
            }
            (_, Import::Module) if self.before == '.' => return if word == "parse" { None } else { why },
            (_, Import::Module) => return if MODULES.contains(&word) { None } else { why },
            (_, Import::Names) => return if known() { None } else { why },
            (_, Import::No) => {}
        }
        None
    }

    /// Passes a text in quotes; whether it ends.
    fn text(&mut self, quote: char) -> bool {
        let triple: String = [quote; 3].iter().collect();
        let (end, width) = if self.rest.starts_with(&triple) { (triple, 3) } else { (quote.to_string(), 1) };
        let mut rest = self.rest.get(width..).unwrap_or_default();
        loop {
            if rest.starts_with(&end) {
                self.rest = rest.get(width..).unwrap_or_default();
                return true;
            }
            let mut signs = rest.chars();
            match signs.next() {
                None => return false,
                Some('\n') if width == 1 => return false,
                Some('\\') => {
                    signs.next();
                }
                Some(_) => {}
            }
            rest = signs.as_str();
        }
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What may stand right before a text, and says how it is read.
fn is_prefix(word: &str) -> bool {
    word.len() <= 2 && word.chars().all(|c| "rRbBuUfFtT".contains(c))
}

/// Arrows, lines and pictures, which are in no name.
fn is_sign(c: char) -> bool {
    let picture = ('\u{2190}'..'\u{2c00}').contains(&c) || ('\u{1f300}'..'\u{1fb00}').contains(&c);
    picture && !c.is_alphanumeric()
}
