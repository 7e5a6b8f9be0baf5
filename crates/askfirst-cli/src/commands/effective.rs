//! `effective`: prints the merged config, the source of each value, and the digest.

use askfirst_config::{Project, effective as lines_of};
use askfirst_runtime::sandbox::{SYSTEM_PATHS, StartEnvironment, Toolchains};
use serde_json::json;

use crate::args::Common;
use crate::exit::Exit;
use crate::print::out;
use crate::session::{print_config_warnings, print_warnings, project, read_config};

/// Prints the merged config.
pub fn effective(common: &Common) -> anyhow::Result<Exit> {
    let config = read_config(common)?;
    print_config_warnings(&config, common);
    let project = project(common)?;
    let in_force = project.as_ref().map(Project::in_force).unwrap_or_default();
    print_warnings(&in_force.warnings, common);
    let mut lines = lines_of(&config);
    lines.extend(project.iter().flat_map(Project::effective));
    let toolchains = Toolchains::find(&config, &StartEnvironment::read());
    let toolchains: Vec<String> = toolchains.folders().map(|path| path.display().to_string()).collect();
    if common.json {
        let values: Vec<_> = lines
            .iter()
            .map(|line| json!({"key": line.key, "value": line.value, "from": line.from}))
            .collect();
        let files: Vec<_> = config
            .files
            .iter()
            .map(|file| json!({"path": file.path, "layer": file.layer.as_str(), "digest": file.digest}))
            .collect();
        let system = SYSTEM_PATHS;
        crate::print::json(
            &json!({"digest": config.digest, "files": files, "values": values, "system_paths": system[..],
                "toolchain_paths": toolchains}),
        );
        return Ok(Exit::Done);
    }
    out(&format!("# digest {}", config.digest));
    for file in &config.files {
        out(&format!("# {}: {}", file.layer.as_str(), file.path.display()));
    }
    for project in project.iter().filter(|_| !in_force.own.is_empty()) {
        out(&format!("# your rules for this project: {}", project.file().display()));
    }
    let width =
        lines.iter().map(|line| line.key.len() + line.value.len() + 2).max().unwrap_or_default().min(60);
    for line in &lines {
        out(&format!("{:<width$}  # {}", format!("{}: {}", line.key, line.value), line.from));
    }
    out(&format!("# in the sandbox, every program can also read: {}", SYSTEM_PATHS.join(" ")));
    if !toolchains.is_empty() {
        out(&format!("# and what the programs on `PATH` need to start: {}", toolchains.join(" ")));
    }
    Ok(Exit::Done)
}
