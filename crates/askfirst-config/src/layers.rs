//! Finds the config files, reads each once, and merges them according to their layers.

use std::path::{Path, PathBuf};

use askfirst::Digest;

use super::fault::{Fault, Faults};
use super::file;
use super::floors;
use super::merge;
use super::node::{Position, Source};
use super::offer;
use super::own_files;
use super::places::{self, BROKEN_LINK, Places, RawConfig};
use super::read::{Base, folder_of};
use super::settings::{Config, ConfigFile, Layer, Settings, UntrustedOffer, default_caches};
use super::text;
use super::trust;

/// The file name of a project config.
pub const PROJECT_FILE: &str = "askfirst.yaml";

/// Which config files to load.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The `--config` file. It replaces the project config and the user config, and it is trusted.
    pub explicit: Option<PathBuf>,
    /// The folder in which the search for a project config starts. The search continues in the folders above.
    pub folder: PathBuf,
    /// The paths of the other config files and of the state folder.
    pub places: Places,
}

/// Whether to treat a project config as trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectTrust {
    /// Trust it if the user has run `askfirst trust` for this content.
    AsRecorded,
    /// Trust it, to see what trusting it would loosen.
    Assumed,
    /// Do not trust it.
    Withheld,
}

/// Loads and merges the config files of all layers.
///
/// # Errors
/// Fails with all errors of all files. The caller must then run nothing.
pub fn load(options: &LoadOptions) -> Result<Config, Faults> {
    load_with(options, ProjectTrust::AsRecorded)
}

/// Loads and merges the config files of all layers, with an explicit choice about trusting the project config.
///
/// # Errors
/// Fails with all errors of all files. The caller must then run nothing.
pub fn load_with(options: &LoadOptions, trust: ProjectTrust) -> Result<Config, Faults> {
    let mut loader = Loader::new(options);
    loader.load_managed();
    match &options.explicit {
        Some(path) => loader.load_explicit(path),
        None => {
            loader.load_user();
            loader.load_project(trust);
        }
    }
    loader.finish()
}

/// Loads a config that a program passes as JSON, together with the managed config.
///
/// [`Settings::override_keys`] has the unknown keys of tools. Paths are relative to the folder in `options`.
///
/// # Errors
/// Fails with all errors of the JSON and of the managed config.
pub fn from_json(value: &serde_json::Value, options: &LoadOptions) -> Result<Config, Faults> {
    let mut loader = Loader::new(options);
    loader.load_managed();
    let source = Source::new("config given by the program", "");
    let base = Base { folder: loader.folder.clone(), home: options.places.home.clone() };
    match text::read_dict(value, &source, &base) {
        Ok((settings, warnings)) => {
            loader.warnings.extend(warnings);
            loader.flag = Some(settings);
            let bytes = askfirst::json::canonical(value);
            loader.parts.push([b"data".to_vec(), Vec::new(), bytes.into_bytes()]);
        }
        Err(Faults(faults)) => loader.faults.extend(faults),
    }
    loader.finish()
}

/// Finds the nearest project config, in a folder or in one above it.
///
/// # Errors
/// Fails if a folder cannot be inspected.
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

struct Loader<'a> {
    options: &'a LoadOptions,
    folder: PathBuf,
    user: Option<Settings>,
    project: Option<Settings>,
    flag: Option<Settings>,
    floors: Vec<Settings>,
    files: Vec<ConfigFile>,
    /// The data that the digest covers: layer, path and content of each file.
    parts: Vec<[Vec<u8>; 3]>,
    warnings: Vec<Fault>,
    faults: Vec<Fault>,
    not_offered: Vec<String>,
    untrusted: UntrustedOffer,
}

impl<'a> Loader<'a> {
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
            untrusted: UntrustedOffer::default(),
        }
    }

    fn load_managed(&mut self) {
        let path = self.options.places.managed.clone();
        let Some(raw) = self.fetch(&path) else { return };
        self.refuse_other_writers(&path, &raw);
        if let Some(settings) = self.read(&path, &raw, Layer::Managed) {
            self.add_floor(settings, Layer::Managed);
        }
    }

    fn load_user(&mut self) {
        let path = self.options.places.user.clone();
        let Some(raw) = self.fetch(&path) else { return };
        self.refuse_other_writers(&path, &raw);
        self.user = self.read(&path, &raw, Layer::User);
    }

    fn load_explicit(&mut self, path: &Path) {
        let Some(raw) = self.fetch(path) else {
            if self.faults.is_empty() {
                self.faults.push(fault_about(path, "no such file"));
            }
            return;
        };
        if let Some(reason) = &raw.other_writers {
            self.warnings.push(fault_about(path, &format!("other users can change this config: {reason}")));
        }
        self.flag = self.read(path, &raw, Layer::Flag);
        self.folder = real_folder(path);
    }

    fn load_project(&mut self, trust: ProjectTrust) {
        let path = match find_project(&self.folder) {
            Ok(Some(path)) => path,
            Ok(None) => return,
            Err(error) => {
                let path = self.folder.join(PROJECT_FILE);
                let message = format!("cannot search for the project config: {}", error.kind());
                return self.faults.push(fault_about(&path, &message));
            }
        };
        let places = &self.options.places;
        let real = path.canonicalize().ok();
        let is_same = |other: &Path| real.is_some() && other.canonicalize().ok() == real;
        if is_same(&places.managed) || is_same(&places.user) {
            return;
        }
        let Some(raw) = self.fetch(&path) else {
            if self.faults.is_empty() {
                self.faults.push(fault_about(&path, BROKEN_LINK));
            }
            return;
        };
        let layer = self.project_layer(&path, &raw, trust);
        let Some(settings) = self.read(&path, &raw, layer) else { return };
        if layer == Layer::Project {
            self.folder = real_folder(&path);
            self.project = Some(settings);
        } else {
            self.untrusted = offer::of(&settings);
            self.add_floor(settings, layer);
        }
    }

    /// Returns the layer of a project config. Trust is looked up for the same bytes that are read.
    fn project_layer(&mut self, path: &Path, raw: &RawConfig, trust: ProjectTrust) -> Layer {
        if let Some(reason) = &raw.other_writers {
            let message = format!("this config cannot be trusted: {reason}");
            let mut fault = fault_about(path, &message);
            let hint = "make it writable by you alone; until then it can only make things stricter";
            fault.hint = Some(hint.to_owned());
            self.warnings.push(fault);
            return Layer::UntrustedProject;
        }
        let is_trusted = match trust {
            ProjectTrust::Assumed => true,
            ProjectTrust::Withheld => false,
            ProjectTrust::AsRecorded => trust::is_trusted(&self.options.places, path, Digest::of(&raw.bytes)),
        };
        if is_trusted {
            return Layer::Project;
        }
        let mut fault = fault_about(path, "this config is not trusted, so it can only make things stricter");
        fault.hint = Some("review it, then run `askfirst trust`".to_owned());
        self.warnings.push(fault);
        Layer::UntrustedProject
    }

    fn add_floor(&mut self, mut settings: Settings, layer: Layer) {
        self.not_offered.extend(floors::disarm(&mut settings, layer));
        self.floors.push(settings);
    }

    fn fetch(&mut self, path: &Path) -> Option<RawConfig> {
        places::fetch(path).unwrap_or_else(|message| {
            self.faults.push(fault_about(path, &message));
            None
        })
    }

    fn refuse_other_writers(&mut self, path: &Path, raw: &RawConfig) {
        if let Some(reason) = &raw.other_writers {
            let mut fault = fault_about(path, &format!("this config is not safe to use: {reason}"));
            fault.hint = Some("remove write access for all other users".to_owned());
            self.faults.push(fault);
        }
    }

    fn read(&mut self, path: &Path, raw: &RawConfig, layer: Layer) -> Option<Settings> {
        let digest = Digest::of(&raw.bytes);
        self.files.push(ConfigFile { path: path.to_path_buf(), layer, digest });
        // The digest covers the real path, so it does not depend on how the user typed the path.
        let folder = real_folder(path);
        let real = path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name));
        let real = real.into_os_string().into_encoded_bytes();
        self.parts.push([layer.as_str().as_bytes().to_vec(), real, raw.bytes.clone()]);
        let base = Base { folder, home: self.options.places.home.clone() };
        let read = file::decode(path, &raw.bytes)
            .map_err(|fault| Faults(vec![fault]))
            .and_then(|source| text::read_file(&source, &base));
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
        let merged = match (self.user, self.project) {
            (Some(user), Some(project)) => merge::overlay(user, project),
            (user, project) => project.or(user).unwrap_or_else(|| without_config(self.options)),
        };
        let mut main = self.flag.unwrap_or(merged);
        // A root inside another one governs its folder, also if another config file defines it.
        let own = main.sandbox.clone();
        floors::limit_products(&mut main.sandbox, &own);
        for floor in &self.floors {
            floors::tighten(&mut main, floor);
        }
        let files = self.files.iter().map(|file| file.path.as_path());
        own_files::protect(&mut main, &self.options.places.state, files);
        let parts = self.parts.iter().flatten().map(Vec::as_slice);
        Ok(Config {
            main,
            digest: Digest::of_parts(parts),
            floors: self.floors,
            files: self.files,
            warnings: self.warnings,
            folder: self.folder,
            not_offered: self.not_offered,
            untrusted: self.untrusted,
        })
    }
}

/// Returns the settings that apply where there is no config file.
fn without_config(options: &LoadOptions) -> Settings {
    let mut settings = Settings::default();
    settings.sandbox.caches = default_caches(options.places.home.as_deref());
    settings
}

fn fault_about(path: &Path, message: &str) -> Fault {
    Source::new(path, "").fault(&Position::start(), message)
}

/// Returns the real folder that contains a config file.
///
/// If the file is a link, this is the folder of the link, because paths in the config are relative to it.
fn real_folder(path: &Path) -> PathBuf {
    let folder = folder_of(path);
    folder.canonicalize().unwrap_or(folder)
}

#[cfg(test)]
#[path = "layers/tests.rs"]
mod tests;

#[cfg(test)]
#[path = "layers/tests_rehearsal.rs"]
mod tests_rehearsal;
