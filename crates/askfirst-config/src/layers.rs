//! Which files speak, in which role, and how they are put together. Each file is read once and resolved alone.

use std::path::{Path, PathBuf};

use askfirst::Digest;

use super::fault::{Fault, Faults};
use super::file;
use super::floors;
use super::merge;
use super::node::{Place, Source};
use super::own;
use super::places::{self, Found, Places};
use super::read::{Base, folder_of};
use super::settings::{Config, ConfigFile, Layer, Settings};
use super::text;
use super::trust;

/// The name of a project's config.
pub const PROJECT_FILE: &str = "askfirst.yaml";

/// What to load.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The file given by `--config`: it replaces project and user, and is trusted.
    pub explicit: Option<PathBuf>,
    /// The folder that the project's config is looked for in, and above.
    pub folder: PathBuf,
    /// Where everything else is.
    pub places: Places,
}

/// Whether a project's config counts as trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectTrust {
    /// As the user has said by `askfirst trust`.
    AsRecorded,
    /// As if the user had said so: to see what it would loosen.
    Assumed,
    /// As if the user had not.
    Withheld,
}

/// Loads everything that is in force.
///
/// # Errors
/// Fails with every fault of every file. Then nothing may run.
pub fn load(options: &LoadOptions) -> Result<Config, Faults> {
    load_with(options, ProjectTrust::AsRecorded)
}

/// The same, with a say about the project's trust.
///
/// # Errors
/// As [`load`].
pub fn load_with(options: &LoadOptions, trust: ProjectTrust) -> Result<Config, Faults> {
    let mut loading = Loading::new(options);
    loading.managed();
    match &options.explicit {
        Some(path) => loading.explicit(path),
        None => {
            loading.user();
            loading.project(trust);
        }
    }
    loading.finish()
}

/// A config given by a program as data. Unknown keys under a tool go to the override; only the managed file is
/// looked at beside it. Paths are relative to the folder of `options`.
///
/// # Errors
/// Fails with every fault of the data and of the managed file.
pub fn from_json(value: &serde_json::Value, options: &LoadOptions) -> Result<Config, Faults> {
    let mut loading = Loading::new(options);
    loading.managed();
    let source = Source::new("config given by the program", "");
    let base = Base { folder: loading.folder.clone(), home: options.places.home.clone() };
    match text::dict(value, &source, &base) {
        Ok((settings, warnings)) => {
            loading.warnings.extend(warnings);
            loading.flag = Some(settings);
            let bytes = askfirst::json::canonical(value);
            loading.parts.push([b"data".to_vec(), Vec::new(), bytes.into_bytes()]);
        }
        Err(Faults(faults)) => loading.faults.extend(faults),
    }
    loading.finish()
}

/// The nearest project config, here or above.
///
/// # Errors
/// Fails if a folder cannot be looked at.
pub fn find_project(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    for above in folder.ancestors() {
        let path = above.join(PROJECT_FILE);
        match path.symlink_metadata() {
            Ok(_) => return Ok(Some(path)),
            Err(error) => match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {}
                _ => return Err(error),
            },
        }
    }
    Ok(None)
}

struct Loading<'a> {
    options: &'a LoadOptions,
    folder: PathBuf,
    user: Option<Settings>,
    project: Option<Settings>,
    flag: Option<Settings>,
    floors: Vec<Settings>,
    files: Vec<ConfigFile>,
    parts: Vec<[Vec<u8>; 3]>,
    warnings: Vec<Fault>,
    faults: Vec<Fault>,
    not_offered: Vec<String>,
}

impl<'a> Loading<'a> {
    fn new(options: &'a LoadOptions) -> Self {
        let folder = std::path::absolute(&options.folder).unwrap_or_else(|_| options.folder.clone());
        Self {
            options,
            folder,
            user: None,
            project: None,
            flag: None,
            floors: Vec::new(),
            files: Vec::new(),
            parts: Vec::new(),
            warnings: Vec::new(),
            faults: Vec::new(),
            not_offered: Vec::new(),
        }
    }

    fn managed(&mut self) {
        let path = self.options.places.managed.clone();
        let Some(found) = self.fetch(&path) else { return };
        self.refuse_if_open(&path, &found);
        if let Some(settings) = self.read(&path, &found, Layer::Managed) {
            self.floor(settings, Layer::Managed);
        }
    }

    fn user(&mut self) {
        let path = self.options.places.user.clone();
        let Some(found) = self.fetch(&path) else { return };
        self.refuse_if_open(&path, &found);
        self.user = self.read(&path, &found, Layer::User);
    }

    fn explicit(&mut self, path: &Path) {
        let Some(found) = self.fetch(path) else {
            if self.faults.is_empty() {
                self.faults.push(fault_about(path, "there is no such file"));
            }
            return;
        };
        if let Some(reason) = &found.open_to {
            self.warnings.push(fault_about(path, &format!("this config may not be yours alone: {reason}")));
        }
        self.flag = self.read(path, &found, Layer::Flag);
        self.folder = real_folder(path);
    }

    fn project(&mut self, trust: ProjectTrust) {
        let path = match find_project(&self.folder) {
            Ok(Some(path)) => path,
            Ok(None) => return,
            Err(error) => {
                let path = self.folder.join(PROJECT_FILE);
                let message = format!("the project's config cannot be looked for: {}", error.kind());
                return self.faults.push(fault_about(&path, &message));
            }
        };
        let places = &self.options.places;
        let real = path.canonicalize().ok();
        let same = |other: &Path| real.is_some() && other.canonicalize().ok() == real;
        if same(&places.managed) || same(&places.user) {
            return;
        }
        let Some(found) = self.fetch(&path) else {
            if self.faults.is_empty() {
                self.faults.push(fault_about(&path, "the link leads nowhere"));
            }
            return;
        };
        let layer = self.trust_of(&path, &found, trust);
        let Some(settings) = self.read(&path, &found, layer) else { return };
        if layer == Layer::Project {
            self.folder = real_folder(&path);
            self.project = Some(settings);
        } else {
            self.floor(settings, layer);
        }
    }

    /// The digest that is looked up is that of the bytes that are read.
    fn trust_of(&mut self, path: &Path, found: &Found, trust: ProjectTrust) -> Layer {
        if let Some(reason) = &found.open_to {
            let message = format!("this config cannot be trusted: {reason}");
            let mut fault = fault_about(path, &message);
            fault.hint = Some("until only you can write it, it can only make things stricter".to_owned());
            self.warnings.push(fault);
            return Layer::UntrustedProject;
        }
        let trusted = match trust {
            ProjectTrust::Assumed => true,
            ProjectTrust::Withheld => false,
            ProjectTrust::AsRecorded => {
                trust::is_trusted(&self.options.places, path, Digest::of(&found.bytes))
            }
        };
        if trusted {
            return Layer::Project;
        }
        let mut fault = fault_about(path, "this config is not trusted, so it can only make things stricter");
        fault.hint = Some("look at it, then run `askfirst trust`".to_owned());
        self.warnings.push(fault);
        Layer::UntrustedProject
    }

    fn floor(&mut self, mut settings: Settings, layer: Layer) {
        self.not_offered.extend(floors::disarm(&mut settings, layer));
        self.floors.push(settings);
    }

    fn fetch(&mut self, path: &Path) -> Option<Found> {
        places::fetch(path).unwrap_or_else(|message| {
            self.faults.push(fault_about(path, &message));
            None
        })
    }

    fn refuse_if_open(&mut self, path: &Path, found: &Found) {
        if let Some(reason) = &found.open_to {
            let mut fault = fault_about(path, &format!("this config cannot be relied on: {reason}"));
            fault.hint = Some("take away the right to write it from everybody else".to_owned());
            self.faults.push(fault);
        }
    }

    fn read(&mut self, path: &Path, found: &Found, layer: Layer) -> Option<Settings> {
        let digest = Digest::of(&found.bytes);
        self.files.push(ConfigFile { path: path.to_path_buf(), layer, digest });
        // However the path was typed, the digest is the same.
        let folder = real_folder(path);
        let place = path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name));
        let place = place.into_os_string().into_encoded_bytes();
        self.parts.push([layer.as_str().as_bytes().to_vec(), place, found.bytes.clone()]);
        let base = Base { folder, home: self.options.places.home.clone() };
        let read = file::decode(path, &found.bytes)
            .map_err(|fault| Faults(vec![fault]))
            .and_then(|source| text::settings(&source, &base));
        match read {
            Ok((settings, warnings)) => {
                self.warnings.extend(warnings);
                Some(settings)
            }
            Err(Faults(faults)) => {
                self.faults.extend(faults);
                None
            }
        }
    }

    fn finish(self) -> Result<Config, Faults> {
        if !self.faults.is_empty() {
            return Err(Faults(self.faults));
        }
        let spoken = match (self.user, self.project) {
            (Some(user), Some(project)) => merge::overlay(user, project),
            (user, project) => project.or(user).unwrap_or_default(),
        };
        let mut main = self.flag.unwrap_or(spoken);
        for floor in &self.floors {
            floors::tighten(&mut main, floor);
        }
        let files = self.files.iter().map(|file| file.path.as_path());
        own::protect(&mut main, &self.options.places.state, files);
        let parts = self.parts.iter().flatten().map(Vec::as_slice);
        Ok(Config {
            main,
            digest: Digest::of_parts(parts),
            floors: self.floors,
            files: self.files,
            warnings: self.warnings,
            folder: self.folder,
            not_offered: self.not_offered,
        })
    }
}

fn fault_about(path: &Path, message: &str) -> Fault {
    Source::new(path, "").fault(&Place::start(), message)
}

/// The folder of a file, as the file is reached: a link to a config elsewhere does not move what it is relative to.
fn real_folder(path: &Path) -> PathBuf {
    let folder = folder_of(path);
    folder.canonicalize().unwrap_or(folder)
}

#[cfg(test)]
#[path = "layers/tests.rs"]
mod tests;
