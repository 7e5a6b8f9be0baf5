//! `migrate`: rewrites older spellings in a config.

use std::path::PathBuf;

use anyhow::Context;
use askfirst_config::{Layer, migrate as rewrite};
use serde_json::json;

use crate::args::Common;
use crate::exit::Exit;
use crate::replace::replace;
use crate::session::read_config;

/// Prints the new text, or writes it.
pub fn migrate(common: &Common, file: Option<PathBuf>, write: bool) -> anyhow::Result<Exit> {
    let file = match file.or_else(|| common.config.clone()) {
        Some(file) => file,
        None => in_force(common)?,
    };
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let migrated = rewrite(&text, &file).map_err(|faults| {
        crate::report::faults(&faults.0);
        anyhow::Error::new(crate::report::PrintedFaults)
    })?;
    if write && migrated.text != text {
        replace(&file, &migrated.text).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    if common.json {
        let changes: Vec<_> = migrated
            .changes
            .iter()
            .map(|change| json!({"line": change.line, "message": change.message}))
            .collect();
        crate::print::json(
            &json!({"file": file, "changes": changes, "text": migrated.text, "written": write}),
        );
        return Ok(Exit::Done);
    }
    for change in &migrated.changes {
        crate::print::err(&change.to_string());
    }
    if migrated.changes.is_empty() {
        crate::print::err("nothing to rewrite");
    }
    if !write {
        crate::print::result(&migrated.text);
    }
    Ok(Exit::Done)
}

/// Returns the config file that has the last word here.
fn in_force(common: &Common) -> anyhow::Result<PathBuf> {
    let config = read_config(common)?;
    let mut files = config.files.into_iter().rev().filter(|file| file.layer != Layer::Managed);
    let newest = files.next().context("no config here; hint: name a file")?;
    Ok(newest.path)
}
