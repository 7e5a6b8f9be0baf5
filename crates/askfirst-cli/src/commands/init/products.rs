//! The folders of build output in a project, by its kind.

use std::fs;
use std::path::Path;

use super::tracked::TrackedPaths;

/// A kind of project: files that identify it, and the folders of its build output.
struct ProjectKind {
    /// Names in the project's folder. `*` at the start stands for any text.
    signs: &'static [&'static str],
    name: &'static str,
    /// Folders that a build creates.
    products: &'static [&'static str],
    /// Folders that only some builds create: listed if they exist.
    if_found: &'static [&'static str],
}

const KINDS: [ProjectKind; 12] = [
    ProjectKind { signs: &["Cargo.toml"], name: "Rust", products: &["target"], if_found: &[] },
    ProjectKind {
        signs: &["package.json"],
        name: "Node",
        products: &["dist", "build", "coverage", ".next", "node_modules/.cache", "node_modules/.vite"],
        if_found: &[
            "out",
            ".nuxt",
            ".output",
            ".svelte-kit",
            ".turbo",
            ".parcel-cache",
            "storybook-static",
            "test-results",
        ],
    },
    ProjectKind {
        signs: &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "uv.lock", "*.py"],
        name: "Python",
        products: &[".pytest_cache", ".mypy_cache", ".ruff_cache", "build", "dist"],
        if_found: &["htmlcov", ".hypothesis", "site"],
    },
    ProjectKind { signs: &["go.mod"], name: "Go", products: &["bin", "dist"], if_found: &[] },
    ProjectKind { signs: &["pom.xml"], name: "Maven", products: &["target"], if_found: &[] },
    ProjectKind {
        signs: &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
        name: "Gradle",
        products: &["build", ".gradle"],
        if_found: &[],
    },
    ProjectKind {
        signs: &["CMakeLists.txt", "meson.build", "Makefile", "makefile", "GNUmakefile"],
        name: "make, CMake or Meson",
        products: &["build"],
        if_found: &["builddir", "cmake-build-debug", "cmake-build-release"],
    },
    ProjectKind { signs: &["*.csproj", "*.fsproj"], name: ".NET", products: &["bin", "obj"], if_found: &[] },
    ProjectKind {
        signs: &["Gemfile"],
        name: "Ruby",
        products: &["coverage", "tmp"],
        if_found: &["log", "pkg"],
    },
    ProjectKind { signs: &["Package.swift"], name: "Swift", products: &[".build"], if_found: &[] },
    ProjectKind { signs: &["build.zig"], name: "Zig", products: &["zig-out", ".zig-cache"], if_found: &[] },
    ProjectKind { signs: &["mix.exs"], name: "Elixir", products: &["_build", "cover"], if_found: &[] },
];

/// Names that people also give to folders of their own.
const GENERAL: [&str; 10] = ["build", "dist", "bin", "obj", "out", "site", "tmp", "log", "pkg", "cover"];

/// The build output of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Products {
    /// The kinds of the project.
    pub kinds: Vec<&'static str>,
    /// The folders, relative to the project's folder.
    pub folders: Vec<&'static str>,
}

impl Products {
    /// Finds the kinds of the project in a folder, and its folders of build output that git does not track.
    pub fn find(project: &Path) -> Self {
        let names: Vec<String> = fs::read_dir(project)
            .map(|entries| {
                entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
            })
            .unwrap_or_default();
        let is_sign = |name: &String, sign: &str| match sign.strip_prefix('*') {
            Some(end) => name.ends_with(end),
            None => name == sign,
        };
        let is_kind =
            |kind: &&ProjectKind| kind.signs.iter().any(|sign| names.iter().any(|name| is_sign(name, sign)));
        let tracked = TrackedPaths::of(project);
        let mut found = Self::default();
        for kind in KINDS.iter().filter(is_kind) {
            found.kinds.push(kind.name);
            let existing = kind.if_found.iter().filter(|name| project.join(name).is_dir());
            for name in kind.products.iter().chain(existing) {
                if !found.folders.contains(name) && is_product(project, name, &tracked) {
                    found.folders.push(name);
                }
            }
        }
        found
    }
}

/// Whether a folder can be build output: git tracks nothing in it, and it is a real folder or does not exist.
///
/// Git may track nothing at all, because the project is new. Then a folder with a general name may be the person's own.
fn is_product(project: &Path, name: &str, tracked: &TrackedPaths) -> bool {
    let is_real = |folder: &Path| folder.symlink_metadata().map_or(true, |found| found.is_dir());
    let path = project.join(name);
    let folders = path.ancestors().take_while(|folder| *folder != project);
    if !folders.into_iter().all(is_real) {
        return false;
    }
    if !path.exists() {
        return !tracked.has_any_in(name);
    }
    !tracked.has_any_in(name) && (!GENERAL.contains(&name) || tracked.is_project_tracked())
}

#[cfg(test)]
#[path = "products/tests.rs"]
mod tests;
