//! `mcp` over HTTP, with clients or servers. It never reads a secret from the command line.

use std::io::BufReader;
use std::sync::Arc;

use askfirst_config::{Config, McpServer, Upstream};
use askfirst_mcp::Gateway;
use askfirst_mcp::http::{self, Backend, Front, ListenerSettings, Names, Target, Token};
use askfirst_runtime::sandbox::release_code_pages;

use super::{GatewaySession, TOKEN, UPSTREAM_TOKEN, start};
use crate::args::{Common, HttpFlags, ListenFlags, ModeFlags};
use crate::exit::Exit;
use crate::print::err;

/// Runs gateways with HTTP clients, HTTP servers, or several servers.
pub fn serve(
    common: &Common,
    mode: ModeFlags,
    config: Config,
    servers: &[McpServer],
    flags: &HttpFlags,
) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        servers.len() == 1
            || (flags.upstream_token_file.is_none() && std::env::var_os(UPSTREAM_TOKEN).is_none()),
        "cannot use one token for several servers; hint: set `token_file` for each server in the config"
    );
    let targets = servers.iter().map(|server| target(server, flags)).collect::<anyhow::Result<Vec<_>>>()?;
    let opened = GatewaySession::new(common, mode, config, servers)?;
    let mut gated = Vec::new();
    for (server, target) in servers.iter().zip(targets) {
        gated.push((server, opened.gateway(server)?, target));
    }
    let front = front(&flags.listen)?;
    release_code_pages();
    match (front, gated.pop()) {
        (Some(front), Some((_, gateway, Some(target)))) if gated.is_empty() && !flags.all => {
            http::serve(front, gateway, target)?;
        }
        (front, last) => {
            let backends = gated.into_iter().chain(last).map(backend).collect();
            let names = if servers.len() > 1 || flags.all { Names::Prefixed } else { Names::Plain };
            match front {
                Some(front) => http::serve_sessions(front, backends, names)?,
                None => {
                    let input = BufReader::with_capacity(1 << 16, std::io::stdin());
                    http::serve_lines(backends, names, input, Box::new(std::io::stdout()))?;
                }
            }
        }
    }
    opened.session.controller().stop();
    Ok(Exit::Done)
}

fn backend((server, gateway, target): (&McpServer, Arc<Gateway>, Option<Target>)) -> Backend {
    match target {
        Some(target) => Backend::address(&server.name, gateway, target),
        None => {
            let started = server.clone();
            Backend::program(&server.name, gateway, move || start(&started).map_err(std::io::Error::other))
        }
    }
}

/// Opens the listener for clients, if the flags name an address.
pub fn front(flags: &ListenFlags) -> anyhow::Result<Option<Front>> {
    let Some(address) = flags.listen else { return Ok(None) };
    anyhow::ensure!(
        address.ip().is_loopback() || flags.remote,
        "other machines can reach `{address}`; hint: use --remote to allow that"
    );
    let (token, shown) = match (flags.no_token, &flags.token_file, std::env::var(TOKEN)) {
        (true, _, _) => (None, false),
        (false, Some(file), _) => {
            (Some(Token::from_file(file)?.guarding(&file.display().to_string())?), false)
        }
        (false, None, Ok(text)) => (Some(Token::from_text(&text, TOKEN)?.guarding(TOKEN)?), false),
        (false, None, Err(std::env::VarError::NotUnicode(_))) => {
            anyhow::bail!("invalid token in `{TOKEN}`: not UTF-8")
        }
        (false, None, Err(std::env::VarError::NotPresent)) => (Some(Token::random()?), true),
    };
    let front = Front::open(ListenerSettings {
        address,
        token: token.clone(),
        hosts: flags.allow_host.clone(),
        origins: flags.allow_origin.clone(),
    })?;
    err(&format!("askfirst: listening at {}", front.url()));
    match token {
        Some(token) if shown => err(&format!("askfirst: token (shown once): {}", token.reveal())),
        Some(_) => {}
        None => err("warning: UNSAFE: every program on this machine can connect without a token"),
    }
    Ok(Some(front))
}

/// Returns the address of an HTTP server with its token, or `None` for a server that is a program.
fn target(server: &McpServer, flags: &HttpFlags) -> anyhow::Result<Option<Target>> {
    let Upstream::Url { url, token_file } = &server.upstream else { return Ok(None) };
    let token =
        match (flags.upstream_token_file.as_ref().or(token_file.as_ref()), std::env::var(UPSTREAM_TOKEN)) {
            (Some(file), _) => Some(Token::from_file(file)?),
            (None, Ok(text)) => Some(Token::from_text(&text, UPSTREAM_TOKEN)?),
            (None, Err(_)) => None,
        };
    Ok(Some(Target::new(url, token.as_ref(), flags.ca.as_deref())?))
}
