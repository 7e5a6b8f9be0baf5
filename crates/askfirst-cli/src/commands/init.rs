//! `init`: asks a few questions, writes a commented config, shows what it allows, asks whether to trust it, and lists
//! the next steps.
//!
//! The config has a commented line for each folder of `PATH` that the sandbox hides and that a config may show.

mod hidden;
mod next_steps;
mod products;
mod tracked;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use askfirst::ports::Launcher;
use askfirst_config::{Config, LoadOptions, PROJECT_FILE, Places, from_json};
use askfirst_display::escape::escaped;
use askfirst_runtime::launcher::SandboxLauncher;
use serde_json::json;

use crate::args::Common;
use crate::commands::trust;
use crate::exit::Exit;
use crate::print::{err, out};
use hidden::HiddenFolder;
use products::Products;

/// The answers to the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answers {
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

impl Answers {
    /// The answers of a person who only presses Enter. Changes are free where git shows them to the person.
    fn of_enter(project: &ProjectFacts) -> Self {
        Self {
            reads: Choice::WithoutAsking,
            writes: if project.is_shown_by_git { Choice::WithoutAsking } else { Choice::Asked },
            looks: Choice::WithoutAsking,
            work: Choice::WithoutAsking,
            network: Choice::Asked,
        }
    }

    /// The answers of a person who says yes to everything.
    const YES: Self = Self {
        reads: Choice::WithoutAsking,
        writes: Choice::WithoutAsking,
        looks: Choice::WithoutAsking,
        work: Choice::WithoutAsking,
        network: Choice::WithoutAsking,
    };
}

/// The facts about a project that `init` finds.
#[derive(Debug, Clone, Default)]
struct ProjectFacts {
    /// Whether `git status` shows what changes in it.
    is_shown_by_git: bool,
    products: Products,
    hidden: Vec<HiddenFolder>,
    /// Why no command can run on a copy of it.
    rehearsal_obstacle: Option<Arc<str>>,
}

impl ProjectFacts {
    fn find(folder: &Path) -> Self {
        Self {
            is_shown_by_git: tracked::is_shown_by_git(folder),
            products: Products::find(folder),
            hidden: hidden::folders(folder),
            rehearsal_obstacle: rehearsal_obstacle(folder),
        }
    }
}

/// The files that no tool may read.
const NEVER_READ: [&str; 5] = [".env", ".env.*", "*.pem", "~/.ssh/**", "~/.aws/**"];

/// Commands that change files in the roots. `rm` is not among them, since it cannot be undone without a copy.
const CHANGES: [&str; 7] = ["mkdir", "touch", "cp", "mv", "sed -i", "git add", "tee"];

/// Asks the questions, writes the config and asks for trust. With `print`, only prints the config. With `yes`, asks only
/// for trust, and that only at a terminal.
pub fn init(common: &Common, print: bool, yes: bool) -> anyhow::Result<Exit> {
    let folder = std::env::current_dir().context("cannot find the working directory")?;
    let project = ProjectFacts::find(&folder);
    let unasked = if yes { Answers::YES } else { Answers::of_enter(&project) };
    if print {
        crate::print::result(&text(unasked, &project));
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
        (false, Ok(tty)) => ask(&mut SetupTerminal::new(tty)?, &folder, &project)?,
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
    written.write_all(text(answers, &project).as_bytes())?;
    written.sync_all()?;
    out(&format!("written: {}", file.display()));
    let exit = if has_terminal {
        trust::trust(common)?
    } else {
        out("not trusted: no terminal to ask on; until you trust it, it can only make things stricter");
        Exit::Done
    };
    if answers.offers_commands() {
        out("");
        out(RUNS_AS_YOU);
        out("`askfirst undo` restores what the last command replaced.");
        if let Some(why) = &project.rehearsal_obstacle {
            out(&format!(
                "note: no command can run on a copy here, so askfirst asks about each that no rule allows: {why}"
            ));
        }
        out("");
    }
    next_steps::print(&folder, has_terminal && exit == Exit::Done, &project.hidden);
    Ok(exit)
}

/// A warning about files that an agent may change.
const RUNS_AS_YOU: &str =
    "Code that the agent writes here runs as you when you run it. `askfirst review` lists it.";

/// Reads a config with this section `sandbox`, as the project's own.
fn with_sandbox(project: &Path, sandbox: &serde_json::Value) -> Option<Config> {
    let options = LoadOptions { explicit: None, folder: project.to_owned(), places: Places::from_env() };
    // With an error in the managed config, no config can be used, and the next command reports it.
    from_json(&json!({ "version": 1, "sandbox": sandbox }), &options).ok()
}

/// Returns why no command can run on a copy of the project, or `None` if it can.
fn rehearsal_obstacle(project: &Path) -> Option<Arc<str>> {
    let sandbox = json!({ "paths": { "project": { "root": ".", "mode": "rw" } } });
    SandboxLauncher::new(with_sandbox(project, &sandbox)?).view_obstacle()
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

fn ask(desk: &mut SetupTerminal, folder: &Path, project: &ProjectFacts) -> anyhow::Result<Option<Answers>> {
    use Choice::{Asked, Never, WithoutAsking};
    desk.say(&format!(
        "A config for {}. Press Enter for the first answer; you can change everything later.",
        folder.display()
    ))?;
    let mut answers = Answers::of_enter(project);
    let choices = [("yes", WithoutAsking), ("ask", Asked)];
    let Some(reads) = desk.choose("May the agent read files below this folder without asking?", &choices)?
    else {
        return Ok(None);
    };
    answers.reads = reads;
    let (question, choices) = if project.is_shown_by_git {
        let question = "May it change them without asking? (askfirst always asks about programs, scripts, build \
                        settings, and files that git ignores)";
        (question, [("yes", WithoutAsking), ("ask", Asked), ("never", Never)])
    } else {
        let question = "May it change them without asking? (git does not show you changes here)";
        (question, [("ask", Asked), ("yes", WithoutAsking), ("never", Never)])
    };
    let Some(writes) = desk.choose(question, &choices)? else { return Ok(None) };
    answers.writes = writes;
    let choices = [("yes", WithoutAsking), ("ask", Asked), ("never", Never)];
    let question =
        "May it run commands that only read (ls, grep, git log) without asking? (never: no commands at all)";
    let Some(looks) = desk.choose(question, &choices)? else { return Ok(None) };
    answers.looks = looks;
    if !answers.offers_commands() {
        return Ok(Some(answers));
    }
    let choices = [("yes", WithoutAsking), ("ask", Asked)];
    let question =
        "May it run other commands on a copy first? (askfirst then asks only about changes that need it)";
    let Some(work) = desk.choose(question, &choices)? else { return Ok(None) };
    answers.work = work;
    let choices = [("ask", Asked), ("no", Never), ("yes", WithoutAsking)];
    let Some(network) = desk.choose("May its commands reach the network?", &choices)? else {
        return Ok(None);
    };
    answers.network = network;
    Ok(Some(answers))
}

impl Answers {
    fn offers_commands(self) -> bool {
        self.looks != Choice::Never
    }
}

/// Returns the text of the config.
fn text(answers: Answers, project: &ProjectFacts) -> String {
    let approval = |choice: Choice| match choice {
        Choice::WithoutAsking => "none",
        Choice::Asked | Choice::Never => "required",
    };
    let mode = if answers.writes == Choice::Never { "ro" } else { "rw" };
    let mut text = format!(
        "# The policy for agents in this folder. `askfirst explain` shows why a call is allowed, asked about or denied.
# Values: none (runs without asking), rehearse (a command runs on a copy, and its changes decide), required (asks),
# once_per_session, human (asks every time), deny.
version: 1
default_approval: required    # for tools without a rule below

sandbox:
  paths:
    # This folder. The file tools cannot access files outside every root.
    project:
      root: .
      mode: {mode}                # ro: read only
"
    );
    if answers.writes == Choice::WithoutAsking {
        text.push_str(
            "      # askfirst asks anyway about programs, scripts, build settings, and files that git ignores.\n",
        );
    }
    text.push_str(&format!(
        "      approval: {{ read: {}, write: {} }}\n",
        approval(answers.reads),
        approval(answers.writes)
    ));
    let Products { kinds, folders } = &project.products;
    if answers.writes != Choice::Never && !folders.is_empty() {
        text.push_str(&format!(
            "      # Build output ({}). Commands write it directly, and undo does not cover it.\n      products: [{}]\n",
            kinds.join(", "),
            folders.join(", ")
        ));
    }
    text.push_str(&format!(
        "  never_read: [{}]
  # Built in: git hooks, shell profiles, editor config, agent config and this file are never written.
  toolchains: auto            # programs on your PATH can start in the sandbox; `askfirst doctor` lists their folders
",
        NEVER_READ.map(|name| format!("\"{name}\"")).join(", "),
    ));
    for HiddenFolder { name, reason, line } in &project.hidden {
        text.push_str(&format!(
            "  # Programs in {name} do not start in the sandbox: {reason}. To show it, replace `toolchains: auto` with:\n"
        ));
        text.push_str(&format!("  # {line}\n"));
    }
    if !answers.offers_commands() {
        text.push_str("\n# Without a `shell:` section, askfirst offers no commands.\n");
        return text;
    }
    let (default, about_default) = match answers.work {
        Choice::WithoutAsking => {
            ("rehearse", "    # Commands run on a copy first. Where that does not work, askfirst asks.\n")
        }
        Choice::Asked | Choice::Never => ("required", ""),
    };
    let (network, about_network) = match answers.network {
        Choice::WithoutAsking => ("none", "commands may use the network"),
        Choice::Asked => ("required", "asks before a command gets the network"),
        Choice::Never => ("deny", "no command gets the network"),
    };
    text.push_str(&format!(
        "
shell:
{}  default: {{ approval: {default} }}
  known_read_only: {:<11}# commands proven to only read allowed files
  network: {network:<19}# {about_network}
  rules:                      # checked in order; a deny always wins
    - {{ pattern: \"sudo\", approval: deny }}
    - {{ pattern: \"git push\", approval: required, risk: high }}
",
        about_default.strip_prefix("  ").unwrap_or_default(),
        approval(answers.looks),
    ));
    let are_rehearsed = answers.work == Choice::WithoutAsking && project.rehearsal_obstacle.is_none();
    if answers.writes == Choice::WithoutAsking && !are_rehearsed {
        text.push_str("    # Changes of files in this folder. `tee` also covers `> file`.\n");
        for pattern in CHANGES {
            text.push_str(&format!("    - {{ pattern: \"{pattern}\", approval: none }}\n"));
        }
    }
    text
}

#[cfg(test)]
#[path = "init/tests.rs"]
mod tests;
