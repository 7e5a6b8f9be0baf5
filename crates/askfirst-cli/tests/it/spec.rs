//! The corpus of cases, through the library and through the command line.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use askfirst::toolset::BoxFuture;
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, ApprovalDecision, ApprovalRequest, Args, Assessment, Cause,
    Invocation, Mode, Outcome, ToolDefinition, ToolError, Toolset, Walls, judge,
};
use askfirst_config::{Config, LoadOptions, Places, effective, load};
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    name: String,
    config: String,
    /// Folders that the config's roots need.
    #[serde(default)]
    folders: Vec<String>,
    /// Words that each must stand in some warning; without it, there must be no warning.
    #[serde(default)]
    warns: Vec<String>,
    /// Lines of `effective`.
    #[serde(default)]
    effective: BTreeMap<String, String>,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default)]
    args: Args,
    #[serde(default)]
    metadata: Args,
    assess: Option<Own>,
    verdict: String,
    rule: String,
    /// Fields of the request.
    #[serde(default)]
    request: Args,
    #[serde(default)]
    modes: BTreeMap<String, String>,
}

/// The tool's own view.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Own {
    Harmless,
    Needs(Approval),
    Blocked(String),
}

fn specs() -> Vec<(String, Spec)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("spec/cases");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|suffix| suffix == "yaml")) {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(file).unwrap();
        let specs: Vec<Spec> = serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{stem}: {e}"));
        found.extend(specs.into_iter().map(|spec| (format!("{stem}: {}", spec.name), spec)));
    }
    assert!(found.len() >= 40, "{} specs", found.len());
    found
}

/// A folder with the spec's config in it, and nothing else in force.
fn folder_for(spec: &Spec) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in &spec.folders {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("askfirst.yaml"), &spec.config).unwrap();
    folder
}

fn config_in(folder: &Path, name: &str) -> Config {
    let places = Places {
        managed: folder.join("none"),
        user: folder.join("none"),
        state: folder.join("state"),
        home: Some(folder.to_owned()),
    };
    let explicit = Some(folder.join("askfirst.yaml"));
    load(&LoadOptions { explicit, folder: folder.to_owned(), places })
        .unwrap_or_else(|faults| panic!("{name}: {faults}"))
}

fn assessment(call: &Call) -> Assessment {
    match &call.assess {
        None => Assessment::silent(),
        Some(Own::Harmless) => Assessment::harmless(),
        Some(Own::Blocked(reason)) => Assessment::blocked(reason),
        Some(Own::Needs(approval)) => Assessment::needs_approval(ApprovalRequest {
            approval: *approval,
            ..ApprovalRequest::new(&*call.tool, "asks", json!({}))
        }),
    }
}

#[test]
fn the_library_gives_the_verdicts() {
    for (name, spec) in specs() {
        let folder = folder_for(&spec);
        let config = config_in(folder.path(), &name);
        let policy = config.policy(Walls::Missing);
        let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.is_empty(), spec.warns.is_empty(), "{name}: {warnings:?}");
        for word in &spec.warns {
            assert!(
                warnings.iter().any(|warning| warning.contains(word)),
                "{name}: {word} is not in {warnings:?}"
            );
        }
        let lines = effective(&config);
        for (key, value) in &spec.effective {
            let line = lines.iter().find(|line| line.key == *key);
            let found = line
                .map(|line| line.value.replace(folder.path().canonicalize().unwrap().to_str().unwrap(), "."));
            let keys: Vec<&String> = lines.iter().map(|line| &line.key).collect();
            assert_eq!(found.as_ref(), Some(value), "{name}: {key} of {keys:?}");
        }
        for call in &spec.calls {
            let context = ApprovalContext {
                metadata: call.metadata.clone(),
                ..ApprovalContext::new(&*call.tool, call.args.clone())
            };
            let (context, assessment) =
                (askfirst_runtime::assess::prepare(context, &Tools::none(), &policy), assessment(call));
            let judgement = judge(&context, &assessment, &policy);
            assert_eq!(
                judgement.verdict().as_str(),
                call.verdict,
                "{name}: {call:?}: {:?}",
                judgement.because()
            );
            assert_eq!(&*judgement.because()[0].rule, call.rule, "{name}: {call:?}");
        }
    }
}

#[test]
fn the_command_line_gives_the_verdicts() {
    for (name, spec) in specs() {
        let calls: Vec<&Call> = spec.calls.iter().filter(|call| call.assess.is_none()).collect();
        let folder = folder_for(&spec);
        let mut child = Command::new(env!("CARGO_BIN_EXE_askfirst"))
            .args(["decide", "--config"])
            .arg(folder.path().join("askfirst.yaml"))
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        for (id, call) in calls.iter().enumerate() {
            writeln!(
                stdin,
                "{}",
                json!({"id": id, "tool": call.tool, "args": call.args, "metadata": call.metadata})
            )
            .unwrap();
        }
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}");
        let lines: Vec<Value> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), calls.len(), "{name}");
        for (id, (line, call)) in lines.iter().zip(calls).enumerate() {
            assert_eq!(line["id"], id, "{name}");
            assert_eq!(line["verdict"], call.verdict, "{name}: {line}");
            assert_eq!(line["because"][0]["rule"], call.rule, "{name}: {line}");
            assert_eq!(line["request"].is_object(), call.verdict == "ask", "{name}: {line}");
            for (key, value) in &call.request {
                assert_eq!(line["request"][key], *value, "{name}: {key} of {line}");
            }
        }
    }
}

#[test]
fn the_modes_do_what_their_table_says() {
    let mut tried = 0;
    for (name, spec) in specs() {
        let folder = folder_for(&spec);
        let policy = config_in(folder.path(), &name).policy(Walls::Missing);
        for call in &spec.calls {
            for (mode, becomes) in &call.modes {
                tried += 1;
                let asked = Arc::new(AtomicUsize::new(0));
                let counted = Arc::clone(&asked);
                let controller = ApprovalController::setup(match mode.as_str() {
                    "interactive" => Mode::Interactive,
                    "approve_all" => Mode::ApproveAll,
                    "strict" => Mode::Strict,
                    other => panic!("{name}: there is no mode {other}"),
                });
                let controller = controller.callback(move |_| {
                    counted.fetch_add(1, Ordering::SeqCst);
                    ApprovalDecision::yes(Cause::Person)
                });
                let tools =
                    ApprovalToolset::new(Tools(Some(call.clone())), controller.build(), policy.clone());
                let outcome = tools.call_sync(&call.tool, call.args.clone());
                let became = match (&outcome, asked.load(Ordering::SeqCst)) {
                    (Outcome::Done(_), 0) => "ran",
                    (Outcome::Done(_), _) => "asked",
                    (Outcome::Denied(_), 0) => "refused",
                    (Outcome::Denied(_) | Outcome::Failed(_), _) => "something else",
                };
                assert_eq!(became, becomes, "{name}: {call:?} in {mode}: {outcome:?}");
            }
        }
    }
    assert!(tried >= 15, "{tried}");
}

/// One tool with the view that a case gives it, or none at all.
struct Tools(Option<Call>);

impl Tools {
    fn none() -> Self {
        Self(None)
    }
}

impl Toolset for Tools {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.0.iter().map(|call| ToolDefinition::new(&*call.tool, "", json!({}))).collect()
    }

    fn call(&self, _: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Ok(Value::Null)))
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }
}

impl ApprovalAware for Tools {
    fn check_approval(&self, _: &ApprovalContext) -> Assessment {
        self.0.as_ref().map_or_else(Assessment::silent, assessment)
    }
}
