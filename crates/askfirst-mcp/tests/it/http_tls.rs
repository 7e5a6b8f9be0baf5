//! Tests a server behind https with a certificate authority of our own.

use std::io::{BufReader, Read, Write, pipe};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use askfirst::Approval::None as Free;
use askfirst_mcp::http::{Backend, Names, Target, TargetError, Token, serve_lines};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, Stream, crypto};

use crate::web::Parts;

/// Creates an authority with its certificate in a file, and a server that it certifies.
fn secure(folder: &Path) -> SocketAddr {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(leaf.der().to_vec())],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = Stream::new(&mut connection, &mut socket);
            let mut bytes = [0; 4096];
            let Ok(count) = stream.read(&mut bytes) else { continue };
            let shown =
                String::from_utf8_lossy(&bytes[..count]).contains("authorization: Bearer for-tls-only");
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"shown":{shown}}}}}"#);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let _ =
                stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes());
        }
    });
    address
}

fn ping(target: Target) -> String {
    let parts = Parts::new(&[("add", Free)]);
    let backend = Backend::address("maths", Arc::clone(&parts.gateway), target);
    let (from_client, mut out) = pipe().unwrap();
    let (mut input, to_client) = pipe().unwrap();
    out.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    drop(out);
    serve_lines(vec![backend], Names::Plain, BufReader::new(from_client), Box::new(to_client)).unwrap();
    let mut heard = String::new();
    input.read_to_string(&mut heard).unwrap();
    heard
}

#[test]
fn https_server_is_trusted_by_the_named_authority_only() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let address = secure(folder.path());
    secure(other.path());
    let url = format!("https://localhost:{}/mcp", address.port());
    let token = Token::from_text("for-tls-only", "test").unwrap();
    let target = |url: &str, file: &Path| Target::new(url, Some(&token), Some(&file.join("ca.pem")));
    assert_eq!(
        ping(target(&url, folder.path()).unwrap()),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"shown\":true}}\n"
    );
    let told = ping(target(&url, other.path()).unwrap());
    assert!(
        told.contains("cannot reach the server") && told.to_lowercase().contains("certificate"),
        "{told}"
    );
    // A name that is not in the certificate.
    let told = ping(target(&url.replace("localhost", "127.0.0.1"), folder.path()).unwrap());
    assert!(told.contains("cannot reach the server"), "{told}");
    assert!(matches!(target(&url, Path::new("/nowhere")), Err(TargetError::Authority(_, _))));
}

#[test]
fn token_is_never_sent_without_encryption() {
    let token = Token::from_text("secret-secret-secret", "test").unwrap();
    assert!(matches!(Target::new("http://example.com/mcp", Some(&token), None), Err(TargetError::Clear(_))));
    assert!(Target::new("http://127.0.0.1:1/mcp", Some(&token), None).is_ok());
    assert!(Target::new("http://example.com/mcp", None, None).is_ok());
    for url in ["http://u:p@example.com/", "https://token@example.com/mcp"] {
        let Err(e) = Target::new(url, None, None) else { panic!("{url}") };
        assert!(matches!(e, TargetError::Secret) && !e.to_string().contains("example"));
    }
    for url in ["ftp://example.com", "example.com", "", "http://"] {
        assert!(matches!(Target::new(url, None, None), Err(TargetError::Address(_))), "{url}");
    }
    assert!(!format!("{token:?}").contains("secret"));
}
