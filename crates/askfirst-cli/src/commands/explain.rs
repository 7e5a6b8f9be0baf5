//! `explain`: prints every rule that was checked and the one that decided; for a command line, every program.

use askfirst::explain::{Explanation, RuleLayer, RuleOutcome, explain as explain_call};
use askfirst::{ApprovalContext, ApprovalRequest, Args, Assessment, Toolset, Verdict};
use askfirst_display::escape::{escaped, width};
use askfirst_display::redact::Mark;
use askfirst_runtime::assess::JudgedCall;
use askfirst_runtime::tools::catalog::{Catalog, redactor};
use serde_json::{Value, json};

use crate::args::Common;
use crate::commands::call::{parse_args, shell_call};
use crate::exit::Exit;
use crate::print::out;
use crate::session::{print_config_warnings, read_config};

/// The width of the output, in columns.
const COLUMNS: usize = 100;
/// The maximum width of the column of programs. Longer texts are wrapped.
const WIDEST: usize = 32;

/// Explains the verdict for a call of a tool, or for the command line `words`.
pub fn explain(common: &Common, tool: Option<&str>, args: &str, words: &[String]) -> anyhow::Result<Exit> {
    let call = match tool {
        Some(tool) => ApprovalContext::new(tool, parse_args(args)?),
        None => shell_call(words),
    };
    let config = read_config(common)?;
    print_config_warnings(&config, common);
    let hides = redactor(&config)?;
    let catalog = Catalog::new(config)?;
    let (call, mut assessment, mut explanation) =
        catalog.decide(call, |JudgedCall { call, assessment, .. }| {
            (call.clone(), assessment.clone(), explain_call(call, assessment, &catalog.policy))
        });
    let about = hides.about(&call.args);
    let clean = |text: &str| about.text_about(&call.args, text, Mark::Screen).left;
    about.because(&call.args, &mut explanation.because, Mark::Screen);
    explanation.own_view = clean(&explanation.own_view);
    for fact in &mut assessment.facts {
        fact.text = about.fact(&call.args, fact, Mark::Screen).left;
    }
    let command = command(&call, &*catalog.toolset);
    let command = command.map(|command| about.value(&command, Mark::Screen).left);
    if common.json {
        let mut value = serde_json::to_value(&explanation)?;
        if let (Some(map), Some(command)) = (value.as_object_mut(), command) {
            map.insert("command".to_owned(), command);
        }
        crate::print::json(&value);
        return Ok(Exit::Done);
    }
    match command {
        Some(command) => print_command(&explanation, &assessment, &command),
        None => {
            let tool = &call.tool_name;
            print(&hides.text(tool, Mark::Screen).left, &explanation);
            for fact in &assessment.facts {
                out(&format!("  {:<9}{}", fact.label, fact.text));
            }
            if explanation.verdict != Verdict::Deny && catalog.toolset.definition(tool).is_none() {
                wrapped(
                    "  note     ",
                    "this config offers no tool of that name: the verdict is for a tool of another program, \
                     and `call` and `run` cannot run it",
                );
            }
        }
    }
    Ok(Exit::Done)
}

fn print(tool: &str, explanation: &Explanation) {
    out(&format!("{tool}: {} ({})", explanation.verdict.as_str(), explanation.approval));
    for (at, because) in explanation.because.iter().enumerate() {
        let word = if at == 0 { "decided" } else { "and" };
        out(&format!("  {word:<9}{because}"));
    }
    out(&format!("  {:<9}{}", "tool", explanation.own_view));
    if explanation.looked_at.is_empty() {
        out("  no rule names this tool");
    }
    print_looked_at(explanation);
}

fn print_looked_at(explanation: &Explanation) {
    for looked in &explanation.looked_at {
        let found = match &looked.found {
            RuleOutcome::Decided => "decided".to_owned(),
            RuleOutcome::Holds => "applies, but another reason decided".to_owned(),
            RuleOutcome::ConditionFails(field) => format!("`when: {field}` does not match"),
            RuleOutcome::NotCovered => "globs do not cover this name".to_owned(),
        };
        let layer = match looked.layer {
            RuleLayer::Main => "",
            RuleLayer::Floor => " (can only make it stricter)",
        };
        let says = looked.approval.map_or("the tool's own assessment", |approval| approval.as_str());
        out(&format!("  {:<9}{}{layer}: {says} - {found}", "rule", looked.rule.place()));
    }
}

/// Returns the analysis that the tool would show for a command line, or `None` for other tools.
fn command(call: &ApprovalContext, toolset: &dyn Toolset) -> Option<Value> {
    let request = ApprovalRequest::new(&call.tool_name, "", json!({}));
    let shown = toolset.approval()?.present(call, &request).presentation?;
    shown.metadata.contains_key("rows").then(|| {
        let mut command = shown.metadata;
        command.insert("text".to_owned(), shown.content.into());
        Value::Object(command)
    })
}

/// One row of the table.
struct TableRow {
    verdict: String,
    text: String,
    why: String,
    rule: Option<String>,
}

fn print_command(explanation: &Explanation, assessment: &Assessment, command: &Value) {
    let texts = |key: &str| command.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    out(&format!("{} ({})", explanation.verdict.as_str(), explanation.approval));
    let text = command.get("text").and_then(Value::as_str).unwrap_or_default();
    for (at, line) in escaped(text).lines().enumerate() {
        let label = if at == 0 { "command" } else { "" };
        wrapped(&format!("  {label:<9}"), line);
    }
    if let Some(folder) = command.get("folder").and_then(Value::as_str) {
        wrapped("  folder   ", folder);
    }
    out("");
    let mut lines: Vec<TableRow> = texts("rows").iter().filter_map(Value::as_object).map(row).collect();
    lines.extend(texts("redirections").iter().filter_map(Value::as_object).map(row));
    let widest = lines.iter().map(|line| width(&line.text)).max().unwrap_or(0).min(WIDEST);
    for line in &lines {
        print_row(line, widest);
    }
    let rows: Vec<Option<&str>> = lines.iter().map(|line| Some(line.why.as_str())).collect();
    for part in texts("must_see") {
        let why = part.get("why").and_then(Value::as_str).unwrap_or_default();
        if !rows.contains(&Some(why)) && !lines.iter().any(|line| line.why.contains(why)) {
            wrapped("  look     ", why);
        }
    }
    out("");
    let decided = explanation.because.iter().filter(|because| !because.is_own_assessment());
    for (at, because) in decided.enumerate() {
        wrapped(&format!("  {:<9}", if at == 0 { "decided" } else { "and" }), &because.to_string());
    }
    for fact in assessment.facts.iter().filter(|fact| fact.label != "folder" && fact.label != "why") {
        wrapped(&format!("  {:<9}", fact.label), &fact.text);
    }
    print_looked_at(explanation);
}

fn row(row: &Args) -> TableRow {
    let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let via: Vec<&str> =
        row.get("via").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let started = if via.is_empty() { String::new() } else { format!(" (through {})", via.join(", ")) };
    TableRow {
        verdict: text("verdict"),
        text: escaped(&text("text").replace('\n', " ")),
        why: text("why") + &started,
        rule: row.get("rule").and_then(Value::as_str).map(str::to_owned),
    }
}

/// Prints verdict, text and reason side by side, and wraps long texts.
fn print_row(line: &TableRow, widest: usize) {
    let why = match &line.rule {
        Some(rule) => format!("{} - {rule}", line.why),
        None => line.why.clone(),
    };
    let texts = wrap(&line.text, widest.max(8));
    let whys = wrap(&escaped(&why), COLUMNS.saturating_sub(widest + 11).max(20));
    for at in 0..texts.len().max(whys.len()) {
        let verdict = if at == 0 { line.verdict.as_str() } else { "" };
        let text = texts.get(at).map_or("", String::as_str);
        let pad = " ".repeat(widest.saturating_sub(width(text)));
        let line = format!("  {verdict:<6} {text}{pad}  {}", whys.get(at).map_or("", String::as_str));
        out(line.trim_end());
    }
}

fn wrapped(head: &str, text: &str) {
    for (at, line) in wrap(&escaped(text), COLUMNS.saturating_sub(head.len())).iter().enumerate() {
        let begin = if at == 0 { head.to_owned() } else { " ".repeat(head.len()) };
        out(format!("{begin}{line}").trim_end());
    }
}

/// Wraps a text to lines of at most `columns`, at spaces where possible. Drops nothing.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let mut word = word.to_owned();
        loop {
            let used = lines.last().map_or(0, |line| width(line));
            if used + width(word.trim_end()) <= columns {
                if let Some(line) = lines.last_mut() {
                    line.push_str(&word);
                }
                break;
            }
            if used > 0 {
                lines.push(String::new());
                continue;
            }
            let mut head = String::new();
            let mut letters = word.chars().peekable();
            while let Some(letter) =
                letters.next_if(|letter| head.is_empty() || width(&format!("{head}{letter}")) <= columns)
            {
                head.push(letter);
            }
            let rest: String = letters.collect();
            if let Some(line) = lines.last_mut() {
                line.push_str(&head);
            }
            lines.push(String::new());
            if rest.is_empty() {
                break;
            }
            word = rest;
        }
    }
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}
