//! `init`: asks a few questions, writes a commented config, shows what it allows, asks whether to trust it, and lists
//! the next steps.
//!
//! The config has a commented line for each folder of `PATH` that the sandbox hides and that a config may show.

mod hidden;
mod next_steps;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::Context;
use askfirst_config::PROJECT_FILE;
use askfirst_display::escape::escaped;

use crate::args::Common;
use crate::commands::trust;
use crate::exit::Exit;
use crate::print::{err, out};
use hidden::HiddenFolder;

/// The answers to the questions. The defaults are the answers of a person who only presses Enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    reads: Choice,
    writes: Choice,
    looks: Choice,
    work: Choice,
    network: Choice,
}

/// Whether something happens without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    WithoutAsking,
    Asked,
    Never,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            reads: Choice::WithoutAsking,
            writes: Choice::Asked,
            looks: Choice::WithoutAsking,
            work: Choice::Asked,
            network: Choice::Never,
        }
    }
}

impl Answers {
    /// The answers of a person who says yes to everything.
    const YES: Self = Self {
        reads: Choice::WithoutAsking,
        writes: Choice::WithoutAsking,
        looks: Choice::WithoutAsking,
        work: Choice::WithoutAsking,
        network: Choice::WithoutAsking,
    };
}

/// The files that no tool may read.
const NEVER_READ: [&str; 5] = [".env", ".env.*", "*.pem", "~/.ssh/**", "~/.aws/**"];

/// Commands that change files in the roots. `rm` is not among them, since it cannot be undone.
const CHANGES: [&str; 7] = ["mkdir", "touch", "cp", "mv", "sed -i", "git add", "tee"];

/// A kind of project: the file that identifies it, and its common commands.
struct ProjectKind {
    sign: &'static str,
    name: &'static str,
    work: &'static [&'static str],
}

const KINDS: [ProjectKind; 9] = [
    ProjectKind {
        sign: "Cargo.toml",
        name: "Rust",
        work: &["cargo check", "cargo build", "cargo test", "cargo clippy", "cargo fmt"],
    },
    ProjectKind { sign: "pnpm-lock.yaml", name: "pnpm", work: &["pnpm test", "pnpm build", "pnpm lint"] },
    ProjectKind { sign: "yarn.lock", name: "Yarn", work: &["yarn test", "yarn build", "yarn lint"] },
    ProjectKind {
        sign: "package.json",
        name: "Node",
        work: &["npm test", "npm run build", "npm run lint", "npm run test"],
    },
    ProjectKind { sign: "uv.lock", name: "uv", work: &["uv run pytest"] },
    ProjectKind {
        sign: "pyproject.toml",
        name: "Python",
        work: &["pytest", "python -m pytest", "ruff check", "ruff format", "mypy"],
    },
    ProjectKind { sign: "go.mod", name: "Go", work: &["go build", "go test", "go vet", "go fmt"] },
    ProjectKind { sign: "Makefile", name: "make", work: &["make test", "make check", "make build"] },
    ProjectKind { sign: "Gemfile", name: "Ruby", work: &["bundle exec rspec", "bundle exec rake test"] },
];

/// Asks the questions, writes the config and asks for trust. With `print`, only prints the config. With `yes`, asks only
/// for trust, and that only at a terminal.
pub fn init(common: &Common, print: bool, yes: bool) -> anyhow::Result<Exit> {
    let folder = std::env::current_dir().context("cannot find the working directory")?;
    let kinds: Vec<&ProjectKind> = KINDS.iter().filter(|kind| folder.join(kind.sign).is_file()).collect();
    let git = folder.join(".git").exists();
    let unasked = if yes { Answers::YES } else { Answers::default() };
    let hidden = hidden::folders(&folder);
    if print {
        crate::print::result(&text(unasked, &kinds, git, &hidden));
        return Ok(Exit::Done);
    }
    let file = folder.join(PROJECT_FILE);
    if file.symlink_metadata().is_ok() {
        err(&format!("error: `{PROJECT_FILE}` already exists here"));
        err("hint: use `askfirst effective` to show it merged, or `askfirst trust` to trust it");
        return Ok(Exit::Usage);
    }
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let has_terminal = terminal.is_ok();
    let answers = match (yes, terminal) {
        (true, _) => Some(unasked),
        (false, Ok(tty)) => ask(&mut SetupTerminal::new(tty)?, &folder, &kinds)?,
        (false, Err(_)) => {
            err("error: no terminal to ask on");
            err("hint: use --yes to answer every question with yes, or --print to print the default config");
            return Ok(Exit::NoOne);
        }
    };
    let Some(answers) = answers else {
        out("no config was written");
        return Ok(Exit::NoOne);
    };
    let mut written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file)
        .with_context(|| format!("cannot write `{}`", file.display()))?;
    written.write_all(text(answers, &kinds, git, &hidden).as_bytes())?;
    written.sync_all()?;
    out(&format!("written: {}", file.display()));
    let exit = if has_terminal {
        trust::trust(common)?
    } else {
        out("not trusted: no terminal to ask on; until you trust it, it can only make things stricter");
        Exit::Done
    };
    next_steps::print(&folder, has_terminal && exit == Exit::Done, &hidden);
    Ok(exit)
}

/// A terminal where a person answers questions line by line.
struct SetupTerminal {
    lines: BufReader<File>,
    screen: File,
}

impl SetupTerminal {
    fn new(tty: File) -> std::io::Result<Self> {
        Ok(Self { screen: tty.try_clone()?, lines: BufReader::new(tty) })
    }

    fn say(&mut self, text: &str) -> std::io::Result<()> {
        writeln!(self.screen, "{}", escaped(text))
    }

    /// Asks one question with a choice of words. Enter chooses the first. Returns `None` at the end of input.
    fn choose(&mut self, question: &str, words: &[(&str, Choice)]) -> std::io::Result<Option<Choice>> {
        let offered: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        loop {
            write!(self.screen, "{} [{}] ", escaped(question), offered.join("/"))?;
            let mut line = String::new();
            if self.lines.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let answer = line.trim().to_lowercase();
            if let Some((_, usual)) = words.first().filter(|_| answer.is_empty()) {
                return Ok(Some(*usual));
            }
            let mut meant = words.iter().filter(|(word, _)| word.starts_with(&answer));
            match (meant.next(), meant.next()) {
                (Some((_, choice)), None) => return Ok(Some(*choice)),
                (None | Some(_), None | Some(_)) => {
                    self.say(&format!("  answer one of: {}; Enter chooses the first", offered.join(", ")))?;
                }
            }
        }
    }
}

fn ask(desk: &mut SetupTerminal, folder: &Path, kinds: &[&ProjectKind]) -> anyhow::Result<Option<Answers>> {
    use Choice::{Asked, Never, WithoutAsking};
    desk.say(&format!(
        "A config for {}. Press Enter for the first answer; you can change everything later.",
        folder.display()
    ))?;
    let mut answers = Answers::default();
    let choices = [("yes", WithoutAsking), ("ask", Asked)];
    let Some(reads) = desk.choose("May the agent read files below this folder without asking?", &choices)?
    else {
        return Ok(None);
    };
    answers.reads = reads;
    let choices = [("ask", Asked), ("yes", WithoutAsking), ("never", Never)];
    let question =
        "May it change them? (commands too: mkdir, touch, cp, mv, sed -i, git add, > file; not rm)";
    let Some(writes) = desk.choose(question, &choices)? else { return Ok(None) };
    answers.writes = writes;
    let choices = [("yes", WithoutAsking), ("ask", Asked), ("never", Never)];
    let question =
        "May it run commands that only read (ls, grep, git log) without asking? (never: no commands at all)";
    let Some(looks) = desk.choose(question, &choices)? else { return Ok(None) };
    answers.looks = looks;
    if looks == Never {
        return Ok(Some(answers));
    }
    if !kinds.is_empty() {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        let question = format!("May it build and test ({}) without asking?", names.join(", "));
        let Some(work) = desk.choose(&question, &[("ask", Asked), ("yes", WithoutAsking)])? else {
            return Ok(None);
        };
        answers.work = work;
    }
    let choices = [("no", Never), ("yes", WithoutAsking)];
    let Some(network) = desk.choose("May its commands reach the network?", &choices)? else {
        return Ok(None);
    };
    answers.network = network;
    Ok(Some(answers))
}

/// Returns the text of the config.
fn text(answers: Answers, kinds: &[&ProjectKind], git: bool, hidden: &[HiddenFolder]) -> String {
    let approval = |choice: Choice| match choice {
        Choice::WithoutAsking => "none",
        Choice::Asked | Choice::Never => "required",
    };
    let mode = if answers.writes == Choice::Never { "ro" } else { "rw" };
    let mut text = format!(
        "# The policy for agents in this folder. `askfirst explain` shows why a call is allowed, asked about or denied.
# Values: none (runs without asking), required (asks), once_per_session, human (asks every time), deny.
version: 1
default_approval: required    # for tools without a rule below

sandbox:
  paths:
    # This folder. The file tools cannot access files outside every root.
    project:
      root: .
      mode: {mode}                # ro: read only
      approval: {{ read: {}, write: {} }}
  never_read: [{}]
  # Built in: git hooks, shell profiles, editor config, agent config and this file are never written.
  toolchains: auto            # programs on your PATH can start in the sandbox; `askfirst doctor` lists their folders
",
        approval(answers.reads),
        approval(answers.writes),
        NEVER_READ.map(|name| format!("\"{name}\"")).join(", "),
    );
    for HiddenFolder { name, reason, line } in hidden {
        text.push_str(&format!(
            "  # Programs in {name} do not start in the sandbox: {reason}. To show it, replace `toolchains: auto` with:\n"
        ));
        text.push_str(&format!("  # {line}\n"));
    }
    if answers.looks == Choice::Never {
        text.push_str("\n# Without a `shell:` section, askfirst offers no commands.\n");
        return text;
    }
    text.push_str(&format!(
        "
shell:
  default: {{ approval: required }}
  known_read_only: {:<12}# commands proven to only read allowed files
  network: {}
  rules:                      # checked in order; a deny always wins
    - {{ pattern: \"sudo\", approval: deny }}
",
        approval(answers.looks),
        answers.network == Choice::WithoutAsking,
    ));
    if git {
        text.push_str("    - { pattern: \"git push\", approval: required, risk: high }\n");
        text.push_str(
            "    - { pattern: \"git commit\", approval: required, description: \"Create a commit\" }\n",
        );
    }
    text.push_str("    - { pattern: \"rm\", approval: required, risk: high }\n");
    if answers.writes == Choice::WithoutAsking {
        text.push_str("    # Changes in the roots. `tee` also covers `> file`.\n");
        for pattern in CHANGES.iter().filter(|pattern| git || !pattern.starts_with("git")) {
            text.push_str(&format!("    - {{ pattern: \"{pattern}\", approval: none }}\n"));
        }
    }
    for kind in kinds {
        text.push_str(&format!("    # {}\n", kind.name));
        for pattern in kind.work {
            let approval = approval(answers.work);
            text.push_str(&format!("    - {{ pattern: \"{pattern}\", approval: {approval} }}\n"));
        }
    }
    text
}

#[cfg(test)]
#[path = "init/tests.rs"]
mod tests;
