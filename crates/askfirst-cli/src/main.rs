//! The `askfirst` binary: reads the command line, runs a command, and exits with its code.

mod agent_shell;
mod args;
mod asking;
mod commands;
mod exit;
mod outcome;
mod print;
mod replace;
mod report;
mod servers;
mod session;

use std::mem::ManuallyDrop;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use args::{Cli, Command, Gateway, HookCommand, McpCommand, MemoryCommand, Shell};
use askfirst_mcp::clients::Direction;
use askfirst_runtime::tools::catalog::Catalog;
use clap::CommandFactory;
use commands::{
    call, decide, demo, doctor, effective, explain, hook, init, log, mcp, memory, migrate, run, sandbox,
    serve, tools, trust, undo, watch, wrap,
};
use exit::Exit;

fn main() -> ExitCode {
    // This must come first: askfirst starts this program again as the helper that sets up the sandbox.
    askfirst_runtime::sandbox::run_helper_if_requested();
    askfirst_runtime::sandbox::keep_helpers();
    let cli = args::read();
    let exit = dispatch(cli).unwrap_or_else(|error| failed(&error));
    askfirst_runtime::sandbox::end_helpers();
    print::end(exit.by_signal(session::ended_by())).into()
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    let common = &cli.common;
    if let Some(exit) = agent_shell::refusal(&cli.command) {
        return Ok(exit);
    }
    match cli.command {
        Command::Demo { mode } => demo::demo(common, mode),
        Command::Init { print, yes } => init::init(common, print, yes),
        Command::Call { tool, args, mode } => call::call(common, mode, &tool, &args),
        Command::Run { file, mode } => run::run(common, mode, &file),
        Command::Decide { line } => {
            // The process ends afterwards, and dropping each rule would take as long as judging a call.
            let config = session::read_config(common)?;
            session::print_config_warnings(&config, common);
            let catalog = ManuallyDrop::new(Catalog::new(config)?);
            decide::decide(&catalog, &line.words)
        }
        Command::Explain { tool, args, line } => {
            explain::explain(common, tool.as_deref(), &args, &line.words)
        }
        Command::Tools => tools::tools(common),
        Command::Effective => effective::effective(common),
        Command::Mcp { command: Some(McpCommand::Wrap(what)), .. } => {
            wrap::rewrite(common, &what, Direction::Wrap)
        }
        Command::Mcp { command: Some(McpCommand::Unwrap(what)), .. } => {
            wrap::rewrite(common, &what, Direction::Unwrap)
        }
        Command::Mcp { command: None, gateway } => {
            let Gateway { name, flags, command, server } = *gateway;
            let server = if command.is_empty() { server } else { command };
            mcp::mcp(common, flags, name.as_deref(), &server)
        }
        Command::Serve { listen, mode, ask_by } => serve::serve(common, &listen, mode, &ask_by),
        Command::Watch => watch::watch(common),
        Command::Log { command: None, flags } => log::list(common, &flags),
        Command::Log { command: Some(command), flags } => log::command(common, &command, &flags),
        Command::Memory { command: None } => memory::list(common),
        Command::Memory { command: Some(MemoryCommand::Revoke { id }) } => memory::revoke(common, &id),
        Command::Undo { list: true, .. } => undo::list(common),
        Command::Undo { show: Some(id), .. } => undo::show(common, &id),
        Command::Undo { ids, .. } => undo::undo(common, &ids),
        Command::Review { all } => undo::review(common, all),
        Command::Trust => trust::trust(common),
        Command::Migrate { file, write } => migrate::migrate(common, file, write),
        Command::Sandbox { flags, command } => sandbox::sandbox(common, &flags, &command),
        Command::Hook { command: Some(HookCommand::Install { place, print, yes }), .. } => {
            hook::install(common, place, hook::Confirmation::of(print, yes))
        }
        Command::Hook { command: Some(HookCommand::Uninstall { place, print, yes }), .. } => {
            hook::uninstall(common, place, hook::Confirmation::of(print, yes))
        }
        Command::Hook { command: Some(HookCommand::Status { agent }), .. } => hook::status(common, agent),
        Command::Hook { command: None, agent } => {
            Ok(hook::answer(common, agent.context("the name of the agent is missing")?))
        }
        Command::Doctor => doctor::doctor(common),
        Command::Completions { shell } => completions(shell),
        Command::Man { dir } => man(dir.as_deref()),
        Command::Schema => {
            print::result(&serde_json::to_string_pretty(&askfirst_config::schema())?);
            Ok(Exit::Done)
        }
    }
}

fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Elvish => clap_complete::Shell::Elvish,
        Shell::Fish => clap_complete::Shell::Fish,
        Shell::Powershell => clap_complete::Shell::PowerShell,
        Shell::Zsh => clap_complete::Shell::Zsh,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "askfirst", &mut script);
    print::result(&String::from_utf8(script)?);
    Ok(Exit::Done)
}

fn man(dir: Option<&Path>) -> anyhow::Result<Exit> {
    // `help` is built into the argument parser and gets no page.
    let command = Cli::command().disable_help_subcommand(true);
    if let Some(dir) = dir {
        let write = || std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(command, dir));
        write().with_context(|| format!("cannot write man pages to `{}`", dir.display()))?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        print::result(&String::from_utf8(page)?);
    }
    Ok(Exit::Done)
}

fn failed(error: &anyhow::Error) -> Exit {
    if error.is::<report::PrintedFaults>() {
        return Exit::Usage;
    }
    let broken = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(broken) {
        return Exit::Done;
    }
    print::err(&format!("error: {error:#}"));
    if error.is::<report::AuditLogError>() {
        Exit::Unrecorded
    } else if error.is::<report::NoSandbox>() {
        Exit::Policy
    } else {
        Exit::Usage
    }
}
