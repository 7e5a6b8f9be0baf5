//! Tests of the gateway as a client starts it: the real binary in front of a real server.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::commands::{Place, told};

const CONFIG: &str = r#"
version: 1
ledger: { path: ./record.jsonl }
tools:
  mcp__srv__echo: { approval: none }
  mcp__srv__wipe: { approval: deny }
"#;

/// A small server that lists three tools and echoes the arguments of each call.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    if message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "wipe", "ask")]}
    else:
        result = {"content": [{"type": "text", "text": json.dumps(message["params"]["arguments"])}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
sys.exit(7)
"#;

fn call(id: u32, tool: &str) -> String {
    let params = json!({"name": tool, "arguments": {"n": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string() + "\n"
}

fn answers(printed: &str) -> std::collections::BTreeMap<u64, Value> {
    let lines = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["id"].as_u64().unwrap(), line["result"].clone())).collect()
}

#[test]
fn gateway_calls_refuses_logs_and_returns_the_servers_exit_code() {
    let place = Place::new(CONFIG);
    std::fs::write(place.path().join("server.py"), SERVER).unwrap();
    let input = call(1, "echo") + &call(2, "wipe") + &call(3, "ask");
    let args = ["--config", "c.yaml", "mcp", "--name", "srv", "--", "python3", "server.py"];
    let (code, printed, complaint) = place.feed(&args, input.as_bytes());
    assert_eq!(code, 7, "{complaint}");
    let told = answers(&printed);
    assert_eq!(told[&1]["content"][0]["text"], r#"{"n": 1}"#);
    assert_eq!(told[&2]["isError"], true);
    assert_eq!(told[&3]["isError"], true, "no one can be asked: {printed}");
    let (code, verified, _) = place.run(&["--config", "c.yaml", "log", "verify"]);
    assert_eq!(code, 0, "{verified}");
    let (_, log, _) = place.run(&["--config", "c.yaml", "log"]);
    assert!(log.contains("mcp__srv__echo") && log.contains("mcp__srv__wipe"), "{log}");
    let (code, printed, _) =
        place.feed(&[&args[..3], &["--strict"], &args[3..]].concat(), call(3, "ask").as_bytes());
    assert_eq!(code, 7);
    assert!(answers(&printed)[&3]["content"][0]["text"].as_str().unwrap().contains("mode"), "{printed}");
}

#[test]
fn server_after_the_command_flag_gets_all_further_words() {
    let place = Place::new(CONFIG);
    let server = SERVER.replace("json.dumps(message[\"params\"][\"arguments\"])", "json.dumps(sys.argv[1:])");
    std::fs::write(place.path().join("server.py"), server).unwrap();
    let words = ["-y", "--name", "x", "--", "--json", "wrap", "--command", "a b", ""];
    let args = ["--config", "c.yaml", "mcp", "--name", "srv", "--command", "python3", "server.py"];
    let (code, printed, complaint) =
        place.feed(&[&args[..], &words[..]].concat(), call(1, "echo").as_bytes());
    assert_eq!(code, 7, "{complaint}");
    assert_eq!(
        answers(&printed)[&1]["content"][0]["text"],
        json!(words).to_string().replace("\",\"", "\", \"")
    );
    let both = [&args[..6], &["python3", "server.py"][..]].concat();
    assert_eq!(place.run(&[&both[..5], &["--url", "http://127.0.0.1:1", "--command", "x"]].concat()).0, 2);
}

#[test]
fn servers_of_an_untrusted_config_are_reported() {
    let place = Place::new(CONFIG);
    let config = "version: 1\nmcp: { srv: { command: [python3, server.py] } }\n";
    std::fs::write(place.path().join("askfirst.yaml"), config).unwrap();
    for args in [&["mcp"][..], &["mcp", "--name", "srv"]] {
        let (code, _, complaint) = place.run(args);
        assert_eq!(code, 2, "{complaint}");
        let told = "the project's config is not trusted; hint: run `askfirst trust`";
        assert!(complaint.contains(told), "{complaint}");
    }
}

/// Runs a command, and ends its standard input once a line of its output contains a text.
fn feed_until(place: &Place, text: &str, args: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut child = place
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    let (mut stdout, mut printed) = (BufReader::new(child.stdout.take().unwrap()), String::new());
    while stdout.read_line(&mut printed).unwrap() > 0 && !printed.contains(text) {}
    drop(stdin);
    stdout.read_to_string(&mut printed).unwrap();
    let (code, _, complaint) = told(child.wait_with_output().unwrap());
    (code, printed, complaint)
}

#[test]
fn refusals_of_gateway_and_server_name_no_flag_that_approves() {
    let config = CONFIG.to_owned() + "  asks: { command: [echo, asked] }\n";
    let place = Place::new(&config);
    std::fs::write(place.path().join("server.py"), SERVER).unwrap();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let hello = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    let hello: String = hello.iter().map(|line| format!("{line}\n")).collect();
    let asks = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "asks"}});
    let gateway = ["--config", "c.yaml", "mcp", "--name", "srv", "--", "python3", "server.py"];
    let serve = ["--config", "c.yaml", "serve"];
    for (args, input) in [(&gateway[..], call(1, "ask")), (&serve[..], format!("{hello}{asks}\n"))] {
        let (_, printed, complaint) = feed_until(&place, "isError", args, input.as_bytes());
        let told = answers(&printed);
        assert_eq!(told[&1]["isError"], true, "{printed} {complaint}");
        let text = told[&1].to_string();
        assert!(text.contains("there is no terminal") && !text.contains("approve-all"), "{text}");
        assert!(complaint.contains("hint: use --approve-all"), "{complaint}");
    }
}

#[test]
fn gateway_with_several_servers_logs_all_calls() {
    let config = CONFIG.to_owned()
        + "  mcp__other__echo: { approval: none }\nmcp:\n  srv: { command: [python3, server.py] }\n  other: { command: [python3, server.py] }\n";
    let place = Place::new(&config);
    std::fs::write(place.path().join("server.py"), SERVER).unwrap();
    let list = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"}).to_string() + "\n";
    let input = list + &call(1, "srv__echo") + &call(2, "other__echo");
    let (_, printed, complaint) = place.feed(&["--config", "c.yaml", "mcp"], input.as_bytes());
    assert!(printed.contains(r#"{\"n\": 1}"#) && printed.contains(r#"{\"n\": 2}"#), "{printed} {complaint}");
    let (_, log, _) = place.run(&["--config", "c.yaml", "log"]);
    assert!(log.contains("mcp__srv__echo") && log.contains("mcp__other__echo"), "{log}");
    for line in log.lines().skip(1) {
        let id = line.split_whitespace().nth(1).unwrap();
        let (_, shown, _) = place.run(&["--config", "c.yaml", "log", "show", id, "--all"]);
        assert_eq!(
            (shown.matches("decided (").count(), shown.matches("executed (").count()),
            (1, 1),
            "{shown}"
        );
    }
}

#[test]
fn gateway_ends_its_server_on_a_signal() {
    let place = Place::new(CONFIG);
    let script = "echo $$ > id.new; mv id.new id; cat >/dev/null; trap '' TERM; sleep 600 & wait; wait";
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_askfirst"));
    command.args(["--config", "c.yaml", "mcp", "--name", "srv", "--", "sh", "-c", script]);
    command.current_dir(place.path()).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    place.alone(&mut command);
    let mut gateway = command.spawn().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let eventually = |holds: &dyn Fn() -> bool| {
        while !holds() && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        holds()
    };
    // Once the audit log exists, the session is open and handles signals.
    assert!(eventually(&|| place.path().join("id").exists() && place.path().join("record.jsonl").exists()));
    std::thread::sleep(std::time::Duration::from_millis(200));
    let server = std::fs::read_to_string(place.path().join("id")).unwrap();
    let there = || std::path::Path::new("/proc").join(server.trim()).exists();
    assert!(there());
    let id = rustix::process::Pid::from_child(&gateway);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    gateway.wait().unwrap();
    assert!(eventually(&|| !there()), "the server goes on");
}

#[test]
fn server_that_cannot_start_or_has_no_name_is_an_error() {
    let place = Place::new(CONFIG);
    let run = |args: &[&str]| place.run(&[&["--config", "c.yaml", "mcp"], args].concat());
    for form in ["--", "--command"] {
        let (code, _, complaint) = run(&[form, "no-such-server"]);
        assert_eq!(code, 125);
        let path = std::env::var("PATH").unwrap();
        let told = format!("there is no program `no-such-server` in `PATH` ({path})");
        assert!(complaint.contains(&told), "{complaint}");
    }
    let (_, _, complaint) = run(&["--", "./no-such-server"]);
    assert!(complaint.contains("there is no program `./no-such-server`"), "{complaint}");
    std::fs::write(place.path().join("script"), "#!/no/such/interpreter\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path().join("script"), executable).unwrap();
    let (_, _, complaint) = run(&["--", "./script"]);
    assert!(complaint.contains("the interpreter of `./script` does not exist"), "{complaint}");
    assert_eq!(run(&["--", "a__b"]).0, 2);
    assert_eq!(run(&["--name", "nothing"]).0, 2);
    assert_eq!(run(&[]).0, 2);
}

#[test]
fn client_config_is_printed_written_and_restored() {
    let place = Place::new(CONFIG);
    let file = place.path().join("client.json");
    let text = r#"{ "mcpServers": { "srv": { "command": "python3", "args": ["server.py"] } } }"#;
    std::fs::write(&file, text).unwrap();
    let (code, shown, _) = place.run(&["mcp", "wrap", "client.json"]);
    assert_eq!(code, 0);
    assert!(
        shown.contains("+{") && shown.contains(r#""mcp", "--name", "srv", "--command", "python3""#),
        "{shown}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "only shown");
    assert_eq!(place.run(&["mcp", "wrap", "client.json", "--write"]).0, 0);
    assert!(std::fs::read_to_string(&file).unwrap().contains("askfirst"));
    assert_eq!(place.run(&["mcp", "unwrap", "client.json", "--write"]).0, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn server_that_reads_nothing_is_ended_after_its_client_left() {
    let place = Place::new(CONFIG);
    let told = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n";
    // More than the pipe to the server holds, but less than this pipe and the one to the gateway together.
    let input = told.repeat(1_400_000 / told.len());
    let args = ["--config", "c.yaml", "mcp", "--name", "srv", "--", "sleep", "100000"];
    let (code, _, complaint) = place.feed(&args, input.as_bytes());
    assert_eq!(code, 128 + 9, "{complaint}");
    assert!(complaint.contains("stopped reading its input"), "{complaint}");
}
