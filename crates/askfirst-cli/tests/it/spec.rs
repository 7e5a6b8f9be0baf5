//! Runs the corpus of cases through the library, the command line, the MCP server and the gateway.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use askfirst::toolset::BoxFuture;
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, ApprovalDecision, ApprovalRequest, Args, Assessment, Cause,
    Invocation, Mode, Outcome, SandboxStatus, ToolDefinition, ToolError, Toolset,
};
use askfirst_config::{Config, LoadOptions, Places, effective, load};
use askfirst_mcp::server::{BEAT, RunningCalls, Server};
use askfirst_runtime::assess::{JudgedCall, Unknown, decide};
use askfirst_runtime::{ApprovalController, ApprovalToolset, Session};
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
    /// Words that some warning must contain. If the list is missing, there must be no warning.
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

/// The tool's own assessment.
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

/// A folder with the config of a case, and no other config.
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
fn library_gives_the_verdicts_of_the_cases() {
    for (name, spec) in specs() {
        let folder = folder_for(&spec);
        let config = config_in(folder.path(), &name);
        let policy = config.policy(SandboxStatus::Missing);
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
            let tools = Tools(Some(call.clone()));
            decide(context, &tools, &policy, Unknown::Silent, |JudgedCall { judgement, .. }| {
                let because = judgement.because();
                assert_eq!(judgement.verdict().as_str(), call.verdict, "{name}: {call:?}: {because:?}");
                assert_eq!(&*because[0].rule, call.rule, "{name}: {call:?}");
            });
        }
    }
}

#[test]
fn command_line_gives_the_verdicts_of_the_cases() {
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
        let policy = config_in(folder.path(), &name).policy(SandboxStatus::Missing);
        for (id, (line, call)) in lines.iter().zip(calls).enumerate() {
            assert_eq!(line["id"], id, "{name}");
            if !policy.names(&call.tool) && !OFFERED.contains(&&*call.tool) {
                assert_eq!(line["verdict"], "deny", "{name}: {line}");
                assert!(line.to_string().contains("there is no tool"), "{name}: {line}");
                continue;
            }
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
fn modes_treat_requests_as_their_table_says() {
    let mut tried = 0;
    for (name, spec) in specs() {
        let folder = folder_for(&spec);
        let policy = config_in(folder.path(), &name).policy(SandboxStatus::Missing);
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

/// Tool names that `decide` accepts without an entry in the config.
const OFFERED: [&str; 4] = ["shell", "exec", "worker_call", "worker_create"];

/// Returns the verdict for a call in strict mode. The message of a refusal shows whether the policy or the mode refused.
fn verdict_of(text: &str, refused: bool) -> &'static str {
    match (refused, text.contains("strict mode")) {
        (false, _) => "allow",
        (true, true) => "ask",
        (true, false) => "deny",
    }
}

#[test]
fn mcp_server_gives_the_verdicts_of_the_cases() {
    for (name, spec) in specs() {
        let folder = folder_for(&spec);
        for call in spec.calls.iter().filter(|call| call.metadata.is_empty()) {
            let running = Arc::new(RunningCalls::new(Arc::new(Tools(Some(call.clone())))));
            let builder = Session::builder(config_in(folder.path(), &name)).mode(Mode::Strict);
            let session = builder.own_tools(Arc::clone(&running) as _).open().unwrap();
            let tools = Arc::new(session.tools);
            let server = Server { tools, running, allowed: String::new(), elicit: None, beat: BEAT };
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "cases", "version": "1"}});
            let input = [
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
                json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": {"name": call.tool, "arguments": call.args}}),
            ];
            let input: String = input.iter().map(|line| format!("{line}\n")).collect();
            let output = SharedOutput::default();
            server.serve(std::io::Cursor::new(input.into_bytes()), output.clone()).unwrap();
            let printed = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
            let mut answers = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let answer = answers.rfind(|answer| answer["id"] == 1).unwrap_or_else(|| panic!("{printed}"));
            let verdict = verdict_of(&answer.to_string(), answer["result"]["isError"] == true);
            assert_eq!(verdict, call.verdict, "{name}: {call:?}: {answer}");
        }
    }
}

/// Output that a test reads after the server has ended.
#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server that lists the tools on its command line and answers every call.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    if message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in sys.argv[1:]]}
    else:
        result = {"content": [{"type": "text", "text": "ran"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Returns a case with every tool behind a server `srv`, or `None` if its config has more than tools.
fn behind_a_server(spec: &Spec) -> Option<(Value, Vec<(String, &Call)>)> {
    let mut config: Value = serde_saphyr::from_str(&spec.config).ok()?;
    // Older spellings name built-in tools, which are not behind a server.
    if !spec.warns.is_empty() {
        return None;
    }
    let keys = ["version", "default_approval", "tools"];
    if !config.as_object()?.keys().all(|key| keys.contains(&key.as_str())) {
        return None;
    }
    let special = |name: &str| name == "*" || name.starts_with("mcp__") || OFFERED.contains(&name);
    let renamed = |name: &str| if name == "*" { name.to_owned() } else { format!("mcp__srv__{name}") };
    if let Some(tools) = config.get_mut("tools").and_then(Value::as_object_mut) {
        if tools.keys().any(|name| name != "*" && special(name)) {
            return None;
        }
        *tools = std::mem::take(tools).into_iter().map(|(name, entry)| (renamed(&name), entry)).collect();
    }
    let calls = spec.calls.iter().filter(|call| call.assess.is_none() && call.metadata.is_empty());
    let calls = calls.filter(|call| !special(&call.tool));
    Some((config, calls.map(|call| (call.tool.clone(), call)).collect()))
}

#[test]
fn gateway_gives_the_verdicts_of_the_cases() {
    let mut tried = 0;
    for (name, spec) in specs() {
        let Some((config, calls)) = behind_a_server(&spec) else { continue };
        if calls.is_empty() {
            continue;
        }
        tried += calls.len();
        let place = crate::commands::Place::new(&config.to_string());
        std::fs::write(place.path().join("server.py"), SERVER).unwrap();
        let mut args =
            vec!["--config", "c.yaml", "mcp", "--strict", "--name", "srv", "--", "python3", "server.py"];
        args.extend(calls.iter().map(|(tool, _)| tool.as_str()));
        let request = |(id, (tool, call)): (usize, &(String, &Call))| {
            let params = json!({"name": tool, "arguments": call.args});
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string() + "\n"
        };
        let input: String = calls.iter().enumerate().map(request).collect();
        let (_, printed, complaint) = place.feed(&args, input.as_bytes());
        for (id, (_, call)) in calls.iter().enumerate() {
            let mut lines = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let answer = lines.rfind(|line| line["id"] == id);
            let answer = answer.unwrap_or_else(|| panic!("{name}: {printed} {complaint}"));
            let verdict = verdict_of(&answer.to_string(), answer["result"]["isError"] == true);
            assert_eq!(verdict, call.verdict, "{name}: {call:?}: {answer}");
        }
    }
    assert!(tried >= 35, "{tried}");
}

/// A tool with the own view that a case defines.
struct Tools(Option<Call>);

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
