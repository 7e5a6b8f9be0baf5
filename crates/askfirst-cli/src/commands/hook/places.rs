//! The config files of the agents on this machine, and the program that their hooks start.

use std::path::{Path, PathBuf};

use anyhow::Context;
use askfirst_agents::Agent;
use askfirst_agents::settings::{ConfigFiles, HookCommand, TIME_LIMIT, files};
use askfirst_config::Places;

use super::config_file::{ConfigFile, ConfigFileError};
use crate::args::HookPlace;

/// Whose config gets the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    User,
    Project,
}

impl Scope {
    pub fn of(place: HookPlace) -> Self {
        if place.project { Self::Project } else { Self::User }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The place of a config file: a folder, and the path below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPlace {
    folder: PathBuf,
    relative: PathBuf,
}

impl ConfigPlace {
    /// Finds the file with the hook of an agent.
    pub fn find(agent: Agent, scope: Scope) -> anyhow::Result<Self> {
        let files = files(agent);
        match scope {
            Scope::User => Self::of_user(&files, files.user),
            Scope::Project => Ok(Self { folder: working_folder()?, relative: files.project.into() }),
        }
    }

    /// Finds the file where Codex records the hooks that it trusts.
    pub fn codex_config() -> anyhow::Result<Self> {
        Self::of_user(&files(Agent::Codex), "config.toml")
    }

    fn of_user(files: &ConfigFiles, name: &str) -> anyhow::Result<Self> {
        let set = files.variable.and_then(|(variable, below)| Some((std::env::var_os(variable)?, below)));
        if let Some((folder, below)) = set.filter(|(folder, _)| Path::new(folder).is_absolute()) {
            return Ok(Self { folder: folder.into(), relative: Path::new(below).join(name) });
        }
        let home = Places::from_env().home.context("cannot find your home folder: HOME is not set")?;
        Ok(Self { folder: home, relative: Path::new(files.in_home).join(name) })
    }

    pub fn read(&self) -> Result<ConfigFile, ConfigFileError> {
        ConfigFile::read(&self.folder, &self.relative)
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.relative)
    }
}

/// Returns all files with settings and rules that apply together with the hook.
pub fn settings_files(agent: Agent, scope: Scope) -> anyhow::Result<Vec<PathBuf>> {
    let files = files(agent);
    let of_user = std::iter::once(&files.user).chain(files.user_settings);
    let mut found = of_user
        .map(|name| Ok(ConfigPlace::of_user(&files, name)?.path()))
        .collect::<anyhow::Result<Vec<PathBuf>>>()?;
    // A project can switch off a hook of the user, but a hook of a project says nothing about other projects.
    let folder = working_folder()?;
    if scope == Scope::Project || !is_home() {
        let of_project = std::iter::once(&files.project).chain(files.project_settings);
        found.extend(of_project.map(|name| folder.join(name)));
    }
    let mut all = Vec::new();
    for path in found {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            entries.sort();
            all.extend(entries);
        } else {
            all.push(path);
        }
    }
    Ok(all)
}

fn working_folder() -> anyhow::Result<PathBuf> {
    std::env::current_dir().context("cannot find the working directory")
}

/// Whether the working directory is the user's home folder.
pub fn is_home() -> bool {
    let home = Places::from_env().home.and_then(|home| home.canonicalize().ok());
    home.is_some() && home == std::env::current_dir().ok()
}

/// Returns the command of the hook, with a path that stays valid when this program is updated.
pub fn hook_command() -> anyhow::Result<HookCommand> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&search).filter(|folder| folder.is_absolute());
    let mut linked = folders.map(|folder| folder.join("askfirst"));
    let real = own.canonicalize().unwrap_or_else(|_| own.clone());
    let path = linked.find(|path| path.canonicalize().is_ok_and(|found| found == real)).unwrap_or(own);
    let program = path.to_str().context("the path of this program is not UTF-8")?.to_owned();
    Ok(HookCommand { program, time_limit: TIME_LIMIT })
}
