//! A server behind a URL. Its token goes to that URL only: a redirect is reported, never followed.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::token::Token;

/// How long a connection to the server may take.
const CONNECT: Duration = Duration::from_secs(15);
/// How long the server may take to start an answer.
pub(crate) const ANSWER: Duration = Duration::from_secs(600);

/// The reason why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The URL is invalid.
    #[error("invalid URL `{0}`; hint: a URL begins with `http://` or `https://`")]
    Address(String),
    /// The URL contains a secret.
    #[error("the URL contains a user name or password; hint: put the secret into a file")]
    Secret,
    /// The token would be sent without encryption.
    #[error("the token would go to `{0}` without encryption; hint: use `https://`")]
    Clear(String),
    /// The certificates of the authorities cannot be read.
    #[error("cannot use the certificates in `{}`: {}", .0.display(), .1)]
    Authority(PathBuf, String),
    /// This machine has no readable certificate authorities.
    #[error("found no certificate authority: {0}; hint: use --ca FILE")]
    NoAuthority(String),
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
    /// The server cannot be reached.
    #[error("cannot reach the server: {0}")]
    Unreachable(String),
    /// The server is too slow.
    #[error("the server did not answer within {} seconds", ANSWER.as_secs())]
    Late,
}

/// A server behind a URL.
pub struct Target {
    uri: Uri,
    auth: Option<HeaderValue>,
    client: Client<Connector, Full<Bytes>>,
}

impl Target {
    /// Creates a server from its URL, its token, and a file of certificate authorities. The default is the machine's
    /// own authorities.
    ///
    /// # Errors
    /// Fails if the URL is invalid, if the token would be sent without encryption, or if no certificate authority is
    /// found.
    pub fn new(address: &str, token: Option<&Token>, authority: Option<&Path>) -> Result<Self, TargetError> {
        let bad = || TargetError::Address(address.to_owned());
        if address.split_once("://").is_some_and(|(_, rest)| {
            rest.split(['/', '?', '#']).next().is_some_and(|host| host.contains('@'))
        }) {
            return Err(TargetError::Secret);
        }
        let uri: Uri = address.parse().map_err(|_| bad())?;
        let (scheme, host) = (uri.scheme_str().ok_or_else(bad)?, uri.host().ok_or_else(bad)?);
        let tls = match scheme {
            "https" => Some(tls(authority)?),
            "http" if token.is_some() && !super::is_loopback(host) => {
                return Err(TargetError::Clear(host.to_owned()));
            }
            "http" => None,
            _ => return Err(bad()),
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(hyper_util::rt::TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(Connector { tls });
        Ok(Self { auth: token.map(Token::header), uri, client })
    }

    /// Sends a request and waits for the head of the response.
    pub(crate) async fn send(
        &self,
        method: Method,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, TargetError> {
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json, text/event-stream"));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(concat!("askfirst/", env!("CARGO_PKG_VERSION"))));
        if let Some(auth) = &self.auth {
            headers.insert(AUTHORIZATION, auth.clone());
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        match tokio::time::timeout(ANSWER, self.client.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(e)) => Err(TargetError::Unreachable(cause(&e))),
            Err(_) => Err(TargetError::Late),
        }
    }
}

/// The innermost cause of an error, which is the most specific.
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

fn tls(authority: Option<&Path>) -> Result<TlsConnector, TargetError> {
    let mut roots = RootCertStore::empty();
    match authority {
        Some(file) => {
            let bad = |e: String| TargetError::Authority(file.to_owned(), e);
            let certificates = CertificateDer::pem_file_iter(file).map_err(|e| bad(e.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|e| bad(e.to_string()))?;
                roots.add(certificate).map_err(|e| bad(e.to_string()))?;
            }
            if roots.is_empty() {
                return Err(bad("the file has no certificates".to_owned()));
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                let why = found
                    .errors
                    .first()
                    .map_or_else(|| "this machine has none".to_owned(), ToString::to_string);
                return Err(TargetError::NoAuthority(why));
            }
        }
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| TargetError::Tls(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

#[derive(Clone)]
struct Connector {
    tls: Option<TlsConnector>,
}

impl tower_service::Service<Uri> for Connector {
    type Response = Wire;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Wire>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let tls = self.tls.clone();
        Box::pin(async move {
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the connection timed out");
            tokio::time::timeout(CONNECT, connect(&uri, tls)).await.map_err(late)?
        })
    }
}

async fn connect(uri: &Uri, tls: Option<TlsConnector>) -> io::Result<Wire> {
    let host = uri.host().unwrap_or_default();
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let port = uri.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    match tls {
        None => Ok(Wire::Plain(TokioIo::new(stream))),
        Some(tls) => {
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            Ok(Wire::Sealed(Box::new(TokioIo::new(tls.connect(name, stream).await?))))
        }
    }
}

/// A connection to the server.
enum Wire {
    Plain(TokioIo<TcpStream>),
    Sealed(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_read(context, into),
            Self::Sealed(wire) => Pin::new(wire).poll_read(context, into),
        }
    }
}

impl Write for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_write(context, from),
            Self::Sealed(wire) => Pin::new(wire).poll_write(context, from),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_flush(context),
            Self::Sealed(wire) => Pin::new(wire).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_shutdown(context),
            Self::Sealed(wire) => Pin::new(wire).poll_shutdown(context),
        }
    }
}
