//! `mcp wrap` and `mcp unwrap`: put the gateway in front of the servers in a client's config, or remove it.

use anyhow::Context;
use askfirst_mcp::clients::{Direction, rewrite as rewritten};
use serde_json::json;

use crate::args::{Common, Rewrite};
use crate::exit::Exit;
use crate::print::{err, out};
use crate::replace::replace;

/// Prints the change, or writes it.
pub fn rewrite(common: &Common, what: &Rewrite, direction: Direction) -> anyhow::Result<Exit> {
    let file = what.file.display().to_string();
    let old = std::fs::read_to_string(&what.file).with_context(|| format!("cannot read `{file}`"))?;
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let program = program.to_str().context("the path of this program is not UTF-8")?;
    let new = rewritten(&old, program, direction).with_context(|| format!("cannot rewrite `{file}`"))?;
    if what.write && new.text != old {
        replace(&what.file, &new.text).with_context(|| format!("cannot write `{file}`"))?;
    }
    if common.json {
        let left: Vec<_> = new.left.iter().map(|(name, why)| json!({"server": name, "why": why})).collect();
        crate::print::json(
            &json!({"file": file, "changed": new.changed, "left": left, "text": new.text, "written": what.write}),
        );
        return Ok(Exit::Done);
    }
    for (name, why) in &new.left {
        err(&format!("unchanged: {name} ({why})"));
    }
    if new.changed.is_empty() {
        err("nothing to change");
    } else if what.write {
        out(&format!("written: {file} ({})", new.changed.join(", ")));
        out("hint: restart the client; `askfirst mcp unwrap` undoes the change");
    } else {
        let diff = similar::TextDiff::from_lines(&old, &new.text);
        diff.unified_diff().header(&file, &file).to_string().lines().for_each(out);
        err("hint: use --write to write the change");
    }
    Ok(Exit::Done)
}
