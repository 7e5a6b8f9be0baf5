//! What stands before a program in its line, and makes something else of what it uses.

use std::path::{Path, PathBuf};

use askfirst::Approval;

use super::{Class, Reason, Start, Touched};

/// Files that say what builds, tests and scripts of a project run.
const STEERING: [&str; 61] = [
    ".babelrc",
    "BUILD",
    "BUILD.bazel",
    "CMakeLists.txt",
    "Cargo.toml",
    "Dockerfile",
    "Fastfile",
    "GNUmakefile",
    "Gemfile",
    "Gruntfile.js",
    "Jakefile",
    "Justfile",
    "Makefile",
    "Package.swift",
    "Procfile",
    "Rakefile",
    "SConstruct",
    "Taskfile.yml",
    "Vagrantfile",
    "WORKSPACE",
    "build.rs",
    "build.sbt",
    "build.xml",
    "build.zig",
    "bunfig.toml",
    "compose.yaml",
    "compose.yml",
    "composer.json",
    "conftest.py",
    "default.nix",
    "deno.json",
    "deno.jsonc",
    "docker-compose.yml",
    "dodo.py",
    "fabfile.py",
    "flake.nix",
    "gulpfile.js",
    "justfile",
    "magefile.go",
    "makefile",
    "meson.build",
    "mix.exs",
    "noxfile.py",
    "nx.json",
    "package.json",
    "phpunit.xml",
    "pom.xml",
    "pyproject.toml",
    "pytest.ini",
    "rebar.config",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "setup.py",
    "shell.nix",
    "sitecustomize.py",
    "tasks.py",
    "tox.ini",
    "turbo.json",
    "usercustomize.py",
    "wscript",
];

/// Programs that bring files from elsewhere, under names that are not told by their words.
const BRINGING: [&str; 32] = [
    "7z", "7za", "aria2c", "ar", "aws", "bsdtar", "cpio", "csplit", "curl", "docker", "gcloud", "gh", "git",
    "gsutil", "http", "jar", "kubectl", "lz4", "patch", "podman", "rsync", "scp", "sftp", "split", "sponge",
    "tar", "unar", "unzip", "uudecode", "wget", "wget2", "zstd",
];

#[derive(Debug, Default)]
pub(super) struct Before {
    /// Whether files may have come from elsewhere.
    brought: bool,
    /// What came to lie somewhere, and may lead elsewhere.
    made: Vec<PathBuf>,
    /// Files that got their content.
    filled: Vec<PathBuf>,
}

impl Before {
    /// Takes note of a program that stands before the others.
    pub(super) fn note(&mut self, start: &Start, touched: &mut Touched) {
        self.made.append(&mut touched.made);
        self.filled.append(&mut touched.filled);
        self.brought |= start
            .used
            .as_ref()
            .is_some_and(|used| used.class != Class::Reads && BRINGING.contains(&used.program.as_str()));
    }

    /// What hinders a program that uses such things.
    pub(super) fn hinders(&self, start: &Start, touched: &Touched) -> Option<Reason> {
        let git = start.used.as_ref().is_some_and(|used| used.program == "git");
        let mut uses = touched.read.iter().chain(start.folders.iter().filter(|_| git));
        let runs = start.used.as_ref().is_some_and(|used| used.class == Class::Runs);
        let below = |path: &PathBuf, tops: &[PathBuf]| tops.iter().any(|top| path.starts_with(top));
        let why = if uses.any(|path| below(path, &self.made)) {
            "it uses what this line moves or copies there, and that may lead elsewhere"
        } else if touched.run.iter().any(|path| below(path, &self.filled)) {
            "it runs what this line itself writes"
        } else if self.brought && touched.run.iter().any(|path| !path.exists()) {
            "it runs a file that is not there yet, and this line may bring it"
        } else if runs && self.filled.iter().any(|filled| steers(filled)) {
            "it may run what this line itself writes"
        } else {
            return None;
        };
        Some(Reason::new(Approval::Required, why))
    }
}

fn steers(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ends = [
        ".mk",
        ".gradle",
        ".gradle.kts",
        ".config.js",
        ".config.cjs",
        ".config.mjs",
        ".config.ts",
        "rc.js",
        "rc.cjs",
    ];
    STEERING.contains(&name) || ends.iter().any(|end| name.ends_with(end))
}
