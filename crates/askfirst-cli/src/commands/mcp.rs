//! `mcp`: runs a gateway between a client and an MCP server, over standard input and output or HTTP.

pub mod http;
mod known;

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context;
use askfirst::Policy;
use askfirst_config::{Config, McpServer, Places, Upstream};
use askfirst_mcp::elicit::Elicit;
use askfirst_mcp::{Connection, Gateway, Pins, Setup, widen};
use askfirst_runtime::Session;
use askfirst_runtime::sandbox::release_code_pages;
use askfirst_runtime::session::ApproverContext;
use askfirst_runtime::sessions::ListeningSession;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::known::KnownTools;
use crate::args::{Common, McpFlags, ModeFlags};
use crate::asking::{self, Asker};
use crate::exit::Exit;
use crate::print::err;
use crate::servers;
use crate::session::{FrontEnd, listen, open, read_config};

/// How often a client that waits for a person gets a progress notification.
const BEAT: Duration = Duration::from_secs(5);
/// The variable with the token that HTTP clients must send.
const TOKEN: &str = "ASKFIRST_TOKEN";
/// The variable with the token that the gateway sends to an HTTP server.
const UPSTREAM_TOKEN: &str = "ASKFIRST_UPSTREAM_TOKEN";
/// How long a server may run after its input was closed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a server may leave its input unread.
const HUNG: Duration = Duration::from_secs(600);

/// How much memory the allocator keeps for the next message, in bytes.
const KEPT: usize = 4 << 20;

/// Why a server of the project's config is not available.
const UNTRUSTED: &str = "the project's config is not trusted; hint: run `askfirst trust`";

/// Makes the allocator keep the memory of large messages. By default it returns free memory at the end of the heap, and
/// the next message gets it back page by page. After it has freed one larger block, it keeps blocks up to that size.
fn keep_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(KEPT)));
}

/// Runs the gateway between a client and its servers.
pub fn mcp(common: &Common, flags: McpFlags, name: Option<&str>, command: &[String]) -> anyhow::Result<Exit> {
    let McpFlags { http, mode } = flags;
    keep_memory();
    let config = read_config(common)?;
    let mut servers = match (name, http.url.as_deref(), command) {
        (None, None, []) => all(&config)?,
        (name, url, command) => vec![server(&config, name, url, command)?],
    };
    let plain = matches!(servers.as_slice(), [McpServer { upstream: Upstream::Command(_), .. }]);
    let server = match servers.pop() {
        Some(server) if plain && !http.all && http.listen.listen.is_none() => server,
        last => {
            servers.extend(last);
            return self::http::serve(common, mode, config, &servers, &http);
        }
    };
    let mut child = match start(&server) {
        Ok(child) => child,
        Err(e) => {
            err(&format!("error: cannot start the server `{}`: {e}", server.name));
            return Ok(Exit::Child(125));
        }
    };
    let served = serve(common, mode, config, &server, &mut child);
    if served.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    served
}

/// Returns all servers of the config.
fn all(config: &Config) -> anyhow::Result<Vec<McpServer>> {
    let servers: Vec<McpServer> = config.main.mcp.values().cloned().collect();
    anyhow::ensure!(!servers.is_empty() || config.untrusted.servers.is_empty(), "no servers: {UNTRUSTED}");
    anyhow::ensure!(
        !servers.is_empty(),
        "the config has no servers; hint: use `askfirst mcp -- SERVER ARGS…`"
    );
    Ok(servers)
}

/// Returns the server that the command line selects: by its name in the config, its command or its URL.
fn server(
    config: &Config,
    name: Option<&str>,
    url: Option<&str>,
    command: &[String],
) -> anyhow::Result<McpServer> {
    let known = name.and_then(|name| config.main.mcp.get(name));
    let named = match (name, command.first(), url) {
        (Some(name), _, _) => name.to_owned(),
        (None, Some(program), _) => base_name(program),
        (None, None, Some(url)) => host_name(url),
        (None, None, None) => anyhow::bail!("no server given; hint: use `askfirst mcp -- SERVER ARGS…`"),
    };
    anyhow::ensure!(
        !named.is_empty() && !named.contains("__"),
        "invalid server name `{named}`: `__` separates server and tool; hint: use --name NAME"
    );
    let known = known.or_else(|| config.main.mcp.get(&named));
    let upstream = match (command.is_empty(), url, known) {
        (false, _, _) => Upstream::Command(command.to_vec()),
        (true, Some(url), _) => Upstream::Url { url: url.to_owned(), token_file: None },
        (true, None, Some(server)) => server.upstream.clone(),
        (true, None, None) if config.untrusted.servers.contains(&named) => {
            anyhow::bail!("cannot use the server `{named}`: {UNTRUSTED}")
        }
        (true, None, None) => {
            anyhow::bail!("the config has no server `{named}`; hint: use `askfirst mcp -- SERVER ARGS…`")
        }
    };
    Ok(McpServer {
        name: named.clone(),
        upstream,
        env_pass: known.map(|server| server.env_pass.clone()).unwrap_or_default(),
        hide_denied: known.is_some_and(|server| server.hide_denied),
        ask_by: known.map(|server| server.ask_by.clone()).unwrap_or_default(),
        origin: known.map_or_else(
            || askfirst::Because::built_in("mcp", "given on the command line"),
            |server| server.origin.clone(),
        ),
    })
}

fn base_name(program: &str) -> String {
    let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default()
}

/// Returns the host of a URL. An underscore replaces each character that a name cannot contain.
fn host_name(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    host.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' }).collect()
}

fn start(server: &McpServer) -> anyhow::Result<Child> {
    let Upstream::Command(words) = &server.upstream else {
        anyhow::bail!("the server is not a program");
    };
    let (program, args) = words.split_first().context("the server has no command")?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    if !server.env_pass.is_empty() {
        let basic = ["PATH", "HOME", "LANG", "TERM"].map(str::to_owned);
        let passed = basic.iter().chain(&server.env_pass);
        let passed = passed.filter_map(|name| Some((name.clone(), std::env::var_os(name)?)));
        command.env_clear().envs(passed);
    }
    // The server must not see the tokens of the gateway.
    command.env_remove(TOKEN).env_remove(UPSTREAM_TOKEN);
    let child = command.process_group(0).spawn().map_err(|e| unstarted(program, e))?;
    servers::started(child.id());
    child.stdin.iter().for_each(widen);
    child.stdout.iter().for_each(widen);
    Ok(child)
}

/// Says which program could not be started, and where the system looked for it.
fn unstarted(program: &str, error: std::io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::NotFound if Path::new(program).exists() && program.contains('/') => {
            anyhow::anyhow!("the interpreter of `{program}` does not exist")
        }
        ErrorKind::NotFound if program.contains('/') => anyhow::anyhow!("there is no program `{program}`"),
        ErrorKind::NotFound => {
            let path = std::env::var("PATH").unwrap_or_default();
            anyhow::anyhow!("there is no program `{program}` in `PATH` ({path})")
        }
        _ => anyhow::anyhow!("`{program}`: {error}"),
    }
}

fn serve(
    common: &Common,
    mode: ModeFlags,
    config: Config,
    server: &McpServer,
    child: &mut Child,
) -> anyhow::Result<Exit> {
    let opened = GatewaySession::new(common, mode, config, std::slice::from_ref(server))?;
    let gateway = opened.gateway(server)?;
    let to_server = child.stdin.take().context("the server has no input")?;
    let from_server = child.stdout.take().context("the server has no output")?;
    let connection = Connection::lines(Box::new(std::io::stdout()), Box::new(to_server));
    widen(std::io::stdin());
    widen(std::io::stdout());
    let (ends, ended) = channel();
    let link = gateway.link();
    let (at_client, client_ways, client_ends) = (Arc::clone(&link), connection.clone(), ends.clone());
    std::thread::spawn(move || {
        at_client.serve_client(&client_ways, std::io::stdin());
        client_ways.close_server();
        let _ = client_ends.send(Side::Client);
    });
    let server_ways = connection.clone();
    std::thread::spawn(move || {
        link.serve_server(&server_ways, from_server);
        let _ = ends.send(Side::Server);
    });
    // A gateway runs as long as its client, and clients start one per server.
    release_code_pages();
    for beat in 1.. {
        match ended.recv_timeout(BEAT) {
            Err(RecvTimeoutError::Timeout) if hangs(&connection) => {
                err("askfirst: ended the server: it stopped reading its input");
                // The client notices the end of the server.
                child.kill()?;
            }
            Err(RecvTimeoutError::Timeout) => gateway.heartbeat(beat),
            Ok(Side::Server) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(Side::Client) => {
                // The server has this long to finish the requests that it got.
                let _ = ended.recv_timeout(PATIENCE);
                break;
            }
        }
    }
    opened.session.controller().stop();
    Ok(Exit::Child(code_of(end(child)?)))
}

/// Whether the server has not read its input for too long, or for a while after the client has left.
fn hangs(connection: &Connection) -> bool {
    connection.stuck().is_some_and(|stuck| stuck > HUNG || (stuck > PATIENCE && client_is_gone()))
}

/// Whether the client has closed its stream, even if not all of it was read.
fn client_is_gone() -> bool {
    let input = std::io::stdin();
    let mut polled = [PollFd::new(&input, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_known = poll(&mut polled, Some(&now)).is_ok();
    is_known && polled.iter().any(|input| input.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

/// The session that all gateways of this process share.
struct GatewaySession {
    session: Session,
    policy: Policy,
    state: PathBuf,
    /// The approver that asks the client, if it is one of the approvers.
    elicit: Option<Arc<Elicit>>,
    known: Arc<KnownTools>,
    _listening: Option<ListeningSession>,
}

impl GatewaySession {
    fn new(common: &Common, mode: ModeFlags, config: Config, servers: &[McpServer]) -> anyhow::Result<Self> {
        let policy = config.policy(askfirst::SandboxStatus::Settled);
        let state = Places::from_env().state;
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        let (mut elicit, mut known) = (None, None);
        let asker = Asker { front_end: "mcp", name: &names.join(", "), state: &state };
        let ask = |context: ApproverContext<'_>, terminal| {
            let asked = asking::by(&asking::common(servers), &asker, &context, terminal);
            elicit = asked.elicit;
            asked.approver
        };
        let builder = Session::builder(config).wrap_tools(|tools, _| {
            let tools = Arc::new(KnownTools::new(tools));
            known = Some(Arc::clone(&tools));
            tools
        });
        let session = open(&FrontEnd { name: "mcp", withheld: &[] }, builder, common, mode, &state, ask)?;
        let known = known.context("the tools are missing")?;
        let listening = listen(&session, &state);
        Ok(Self { session, policy, state, elicit, known, _listening: listening })
    }

    /// Builds the gateway to a server.
    fn gateway(&self, server: &McpServer) -> anyhow::Result<Arc<Gateway>> {
        let setup = Setup {
            server: server.name.clone(),
            approval: self.session.tools.clone(),
            policy: self.policy.clone(),
            pins: Pins::open(&self.state, &server.name)?,
            hide_denied: server.hide_denied,
            tell: Box::new(|text| err(&format!("askfirst: {text}"))),
        };
        let gateway = Gateway::asking(setup, self.elicit.clone());
        self.known.add(&gateway);
        Ok(gateway)
    }
}

enum Side {
    Client,
    Server,
}

/// Waits for the server to end, and kills it if that takes too long.
fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    for _ in 0..100 {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(PATIENCE / 100);
    }
    child.kill()?;
    child.wait()
}

fn code_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
