//! Measures the gateway: the round trip of a call, the time to start, and the memory in use.
//!
//! It compares with the server alone and with a pipe that only copies bytes. The first argument is the path of the
//! program. Further arguments name other gateways as `NAME=COMMAND`: a shell command that starts the server in `$SERVER`.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use askfirst_bench::{Contestant, Failure, in_words, median, print_race};

const SIZES: [(&str, usize); 3] = [("small", 16), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20)];
const STARTS: usize = 51;
/// The number of starts of other gateways, because some take a second each.
const OTHER_STARTS: usize = 5;
/// The number of calls before the first one that counts.
const WARM: usize = 20;
/// The number of calls that are sent before the first answer.
const IN_FLIGHT: usize = 1000;

fn main() -> Result<(), Failure> {
    let argument = std::env::args().nth(1).ok_or("name the program: mcp <path of askfirst>")?;
    match argument.as_str() {
        "server" => return serve(),
        "pipe" => return pipe(),
        _ => {}
    }
    let program = std::path::absolute(argument)?;
    let others: Vec<(String, String)> = std::env::args()
        .skip(2)
        .filter_map(|other| {
            other.split_once('=').map(|(name, command)| (name.to_owned(), command.to_owned()))
        })
        .collect();
    let folder = std::env::temp_dir().join(format!("askfirst-bench-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let done = measure(&program, &folder, &others);
    std::fs::remove_dir_all(&folder)?;
    done
}

fn measure(program: &Path, folder: &Path, others: &[(String, String)]) -> Result<(), Failure> {
    std::fs::write(
        folder.join("askfirst.yaml"),
        "version: 1\ntools: { \"mcp__bench__*\": { approval: none } }\n",
    )?;
    for (label, size) in SIZES {
        let mut direct = Line::start(own("server")?)?;
        let mut copied = Line::start(own("pipe")?)?;
        let mut gated = Line::start(gate(program, folder)?)?;
        let mut beside = Vec::new();
        for (name, command) in others {
            beside.push((name, Line::start(other(command)?)?));
        }
        let call = |n: usize| {
            let text = "x".repeat(size);
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#
            ) + "\n"
        };
        let line = call(7);
        let line = &line;
        // During the first call, the gateway lists and pins the server's tools. If it counted, each turn would have few
        // calls, each after a pause.
        for other in
            [&mut direct, &mut copied, &mut gated].into_iter().chain(beside.iter_mut().map(|(_, line)| line))
        {
            other.greet();
            (0..WARM).for_each(|_| other.round(line));
        }
        let mut contestants = vec![
            Contestant::waiting("direct", |_| direct.round(line)),
            Contestant::waiting("byte pipe", |_| copied.round(line)),
            Contestant::waiting("askfirst mcp", |_| gated.round(line)),
        ];
        for (name, other) in &mut beside {
            contestants.push(Contestant::waiting(name, move |_| other.round(line)));
        }
        let times = print_race(&format!("round trip, {label}"), &mut contestants);
        drop(contestants);
        if let [_, pipe, gate, ..] = times.as_slice() {
            println!("{:<28} askfirst mcp {:.2} ×", format!("beside the pipe, {label}"), gate / pipe);
        }
        let mut kept = vec![format!("askfirst mcp {} KiB", gated.resident()?)];
        for (name, other) in &beside {
            kept.push(format!("{name} {} KiB", other.resident()?));
        }
        println!("{:<28} {}", format!("resident, {label}"), kept.join(" | "));
    }
    starts(program, folder, others)?;
    in_flight(program, folder, others)
}

/// Measures the time of each from its start to its first answer.
fn starts(program: &Path, folder: &Path, others: &[(String, String)]) -> Result<(), Failure> {
    let (mut plain, mut through) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        plain.push(first_answer(own("server")?)?);
        through.push(first_answer(gate(program, folder)?)?);
    }
    let plain = median(&mut plain);
    let mut cells = vec![("askfirst mcp", median(&mut through))];
    for (name, command) in others {
        let times: Result<Vec<f64>, Failure> =
            (0..OTHER_STARTS).map(|_| first_answer(other(command)?)).collect();
        cells.push((name, median(&mut times?)));
    }
    let told =
        |(name, time): &(&str, f64)| format!("{name} {} (+{})", in_words(*time), in_words(time - plain));
    let cells: Vec<String> = cells.iter().map(told).collect();
    println!("{:<28} direct {} | {}", "start to first answer", in_words(plain), cells.join(" | "));
    Ok(())
}

/// Measures many calls whose answers come only after the last call.
fn in_flight(program: &Path, folder: &Path, others: &[(String, String)]) -> Result<(), Failure> {
    let mut contestants = vec![("direct", own("server")?), ("askfirst mcp", gate(program, folder)?)];
    for (name, command) in others {
        contestants.push((name, other(command)?));
    }
    let mut cells = Vec::new();
    for (name, command) in contestants {
        let mut line = Line::start(command)?;
        line.greet();
        let mut times = Vec::new();
        for round in 1..=OTHER_STARTS {
            let start = Instant::now();
            line.all(round * IN_FLIGHT);
            times.push(start.elapsed().as_secs_f64() * 1e9);
        }
        cells.push(format!("{name} {}, {} KiB", in_words(median(&mut times)), line.resident()?));
    }
    println!("{:<28} {}", format!("{IN_FLIGHT} calls in flight"), cells.join(" | "));
    Ok(())
}

fn own(role: &str) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(role);
    Ok(command)
}

fn other(command: &str) -> Result<Command, Failure> {
    let mut shell = Command::new("sh");
    let server = format!("{} server", std::env::current_exe()?.display());
    shell.args(["-c", command]).env("SERVER", server).stderr(Stdio::null());
    Ok(shell)
}

fn gate(program: &Path, folder: &Path) -> Result<Command, Failure> {
    let mut command = Command::new(program);
    command.current_dir(folder).env("XDG_STATE_HOME", folder.join("state")).env("HOME", folder);
    command.args(["--config", "askfirst.yaml", "mcp", "--name", "bench", "--"]);
    command.arg(std::env::current_exe()?).arg("server");
    Ok(command)
}

/// Returns the nanoseconds from the start of a program to its first answer.
fn first_answer(command: Command) -> Result<f64, Failure> {
    let start = Instant::now();
    let mut line = Line::start(command)?;
    line.greet();
    Ok(start.elapsed().as_secs_f64() * 1e9)
}

/// A running program that answers lines.
struct Line {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    answer: Vec<u8>,
}

impl Line {
    fn start(mut command: Command) -> Result<Self, Failure> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().ok_or("no output")?);
        Ok(Self { child, input, output, answer: Vec::new() })
    }

    /// Sends the handshake, because some gateways need it.
    fn greet(&mut self) {
        self.round(concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
            r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
            "\n"
        ));
        let ready = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        assert!(self.input.write_all(ready.as_bytes()).is_ok(), "it ended");
    }

    fn round(&mut self, line: &str) {
        self.answer.clear();
        let done = self
            .input
            .write_all(line.as_bytes())
            .and_then(|()| self.output.read_until(b'\n', &mut self.answer));
        assert!(
            done.is_ok_and(|count| count > 10) && self.answer.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":"),
            "no answer"
        );
        // A refusal is short. The client looks no further, because that would add its own time.
        let failed = b"\"isError\":true";
        let short = self.answer.len() < 4096;
        assert!(!short || !self.answer.windows(failed.len()).any(|part| part == failed), "refused");
    }

    /// Sends all calls, then reads as many answers.
    fn all(&mut self, first: usize) {
        let mut calls = String::new();
        for n in first..first + IN_FLIGHT {
            calls.push_str(&format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"hold","arguments":{{"n":{n}}}}}}}"#
            ));
            calls.push('\n');
        }
        assert!(self.input.write_all(calls.as_bytes()).is_ok(), "it ended");
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() < IN_FLIGHT {
            self.answer.clear();
            let count = self.output.read_until(b'\n', &mut self.answer).unwrap_or_default();
            assert!(count > 0, "it ended after {} answers", seen.len());
            let answer: serde_json::Value = serde_json::from_slice(&self.answer).unwrap_or_default();
            let id = answer.get("id").and_then(serde_json::Value::as_u64);
            let refused = answer.pointer("/result/isError").is_some_and(|is| is == true);
            assert!(!refused && answer.get("error").is_none(), "refused: {answer}");
            if let Some(id) = id {
                assert!(seen.insert(id), "answered twice: {id}");
            }
        }
    }

    fn resident(&self) -> Result<u64, Failure> {
        // The gateway, not the server: the first process is the gateway, or a shell that started it.
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The server. It answers each line with as many bytes as it got. It lists two tools, and answers calls of one only when
/// many of them wait.
fn serve() -> Result<(), Failure> {
    let (mut input, mut output) = (BufReader::with_capacity(1 << 16, std::io::stdin()), std::io::stdout());
    let mut line = Vec::new();
    let mut held: Vec<String> = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let text = std::str::from_utf8(&line)?;
        if !text.contains("\"id\":") {
            line.clear();
            continue;
        }
        let id = text.split_once("\"id\":").map_or("0", |(_, rest)| rest.trim_start());
        let id = id.split([',', '}']).next().unwrap_or("0").trim();
        let answer = if text.contains("\"name\":\"hold\"") {
            held.push(id.to_owned());
            if held.len() < IN_FLIGHT {
                line.clear();
                continue;
            }
            let answered = |id: &String| {
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"held\"}}]}}}}\n"
                )
            };
            let answers = held.iter().rev().map(answered).collect();
            held.clear();
            answers
        } else if text.contains("\"initialize\"") {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{{\"tools\":{{}}}},\"serverInfo\":{{\"name\":\"bench\",\"version\":\"1\"}}}}}}\n"
            )
        } else if text.contains("tools/list") {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"tools\":[{{\"name\":\"echo\",\"inputSchema\":{{\"type\":\"object\"}}}},{{\"name\":\"hold\",\"inputSchema\":{{\"type\":\"object\"}}}}]}}}}\n"
            )
        } else if !text.contains("tools/call") && !text.contains("\"ping\"") {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32601,\"message\":\"no such method\"}}}}\n"
            )
        } else {
            let size = line.len().saturating_sub(80);
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}]}}}}\n",
                "y".repeat(size)
            )
        };
        output.write_all(answer.as_bytes())?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}

/// Copies bytes both ways between its own streams and a server's: the minimum cost of any process in between.
fn pipe() -> Result<(), Failure> {
    let mut child = own("server")?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut to = child.stdin.take().ok_or("no input")?;
    let mut from = child.stdout.take().ok_or("no output")?;
    std::thread::spawn(move || copy(&mut std::io::stdin(), &mut to));
    copy(&mut from, &mut std::io::stdout());
    Ok(())
}

fn copy(from: &mut impl Read, to: &mut impl Write) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if buffer.get(..count).is_none_or(|part| to.write_all(part).and_then(|()| to.flush()).is_err()) {
            return;
        }
    }
}
