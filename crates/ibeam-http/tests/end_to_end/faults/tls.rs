//! Servers with TLS: wrong certificates and failing HTTP/2 connections.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use h2::Reason;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use ibeam_testkit::{Ibeam, ModelServer, ProxyServer, Wire};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

use super::raw_server::{response, text_answer};
use super::{FAST_RETRIES, expect_failure, expect_success, retries, workspace_with_config};

/// A certificate with its key and authority.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// The certificate of the authority, as PEM.
    authority: String,
    authority_der: CertificateDer<'static>,
    /// The certificate and the key, as PEM.
    pem: (String, String),
}

/// Creates a certificate for `host` that expires at the start of the year `until`, with a new authority.
fn create_identity(host: &str, until: i32) -> Identity {
    let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let pem = (certificate.pem(), key.serialize_pem());
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    Identity {
        chain: vec![certificate.der().clone()],
        key,
        authority: authority_certificate.pem(),
        authority_der: authority_certificate.der().clone(),
        pem,
    }
}

/// The behavior of the server on one connection.
#[derive(Clone, Copy, Debug)]
enum Behavior {
    /// An answer over HTTP/1.1.
    Answer,
    /// The bytes of a server without TLS, over HTTP/1.1.
    Forward(SocketAddr),
    /// An answer over HTTP/2.
    AnswerOverHttp2,
    /// GOAWAY: the request was not processed.
    GoAway,
    /// The stream of the request is reset.
    Reset,
    /// SETTINGS frames without end, and no answer.
    Flood,
    /// A TLS alert in the handshake.
    Alert,
    /// Plain HTTP instead of TLS.
    Plain,
}

/// A server with one behavior per connection.
struct TlsServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    /// The certificate of the authority, as PEM.
    authority: String,
}

impl TlsServer {
    fn start(identity: Identity, behaviors: impl IntoIterator<Item = Behavior>) -> Self {
        Self::start_for_clients(identity, None, behaviors)
    }

    /// Starts a server that requires a certificate of the authority of `clients`.
    fn start_for_clients(
        identity: Identity,
        clients: Option<&Identity>,
        behaviors: impl IntoIterator<Item = Behavior>,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, behaviors) = (Arc::clone(&connections), behaviors.into_iter().collect::<Vec<_>>());
        let Identity { chain, key, authority, .. } = identity;
        let crypto = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&crypto))
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = match clients {
            None => config.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.authority_der.clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), crypto);
                config.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let config = config.with_single_cert(chain, key).unwrap();
        // The thread ends with the test process.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                for behavior in behaviors {
                    let (stream, _) = listener.accept().await.unwrap();
                    count.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(serve(stream, behavior, config.clone()));
                }
                std::future::pending::<()>().await;
            });
        });
        Self { address, connections, authority }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns a run that uses this server and trusts its authority, or only the authorities of the system.
    fn run_against(&self, config: &str, is_trusted: bool) -> (Scene, Ibeam) {
        let scene = Scene::new([]).with_workspace(workspace_with_config(config));
        let url = format!("https://localhost:{}", self.address.port());
        let mut ibeam = scene.print::<&str>([]).env("ANTHROPIC_BASE_URL", url);
        if is_trusted {
            let file = scene.workspace.outside().join("authority.pem");
            std::fs::write(&file, &self.authority).unwrap();
            ibeam = ibeam.env("SSL_CERT_FILE", file);
        }
        (scene, ibeam)
    }
}

async fn serve(mut stream: TcpStream, behavior: Behavior, mut config: ServerConfig) {
    match behavior {
        Behavior::Plain => {
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nplain HTTP\n").await);
            let _closed = stream.read_to_end(&mut Vec::new()).await;
            return;
        }
        Behavior::Alert => {
            // The client hello, then a fatal alert: handshake_failure.
            let _client_hello = stream.read(&mut [0; 4096]).await;
            drop(stream.write_all(&[21, 3, 3, 0, 2, 2, 40]).await);
            let _closed = stream.read_to_end(&mut Vec::new()).await;
            return;
        }
        Behavior::Answer | Behavior::Forward(_) => config.alpn_protocols = vec![b"http/1.1".to_vec()],
        Behavior::AnswerOverHttp2 | Behavior::GoAway | Behavior::Reset | Behavior::Flood => {
            config.alpn_protocols = vec![b"h2".to_vec()];
        }
    }
    // A client that does not trust the server closes the connection in the handshake.
    let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await else { return };
    match behavior {
        Behavior::Answer => answer(stream).await,
        Behavior::Forward(address) => {
            let Ok(mut server) = TcpStream::connect(address).await else { return };
            let _closed = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
        }
        Behavior::Flood => flood(stream).await,
        Behavior::AnswerOverHttp2 | Behavior::GoAway | Behavior::Reset => http2(stream, behavior).await,
        Behavior::Plain | Behavior::Alert => {}
    }
}

async fn answer(mut stream: TlsStream<TcpStream>) {
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        let mut piece = [0; 16 * 1024];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&piece[..count]),
        }
    }
    let answer = response("content-type: text/event-stream\r\n", text_answer("ok").as_bytes());
    drop(stream.write_all(&answer).await);
    let _closed = stream.read(&mut [0]).await;
}

async fn http2(stream: TlsStream<TcpStream>, behavior: Behavior) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((_request, mut respond))) = connection.accept().await {
        match behavior {
            Behavior::GoAway => connection.abrupt_shutdown(Reason::NO_ERROR),
            Behavior::Reset => respond.send_reset(Reason::INTERNAL_ERROR),
            Behavior::AnswerOverHttp2 => {
                let head =
                    http::Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
                let mut body = respond.send_response(head, false).unwrap();
                body.send_data(text_answer("ok").into_bytes().into(), true).unwrap();
            }
            Behavior::Answer | Behavior::Forward(_) | Behavior::Flood | Behavior::Alert | Behavior::Plain => {
            }
        }
    }
}

/// Sends empty SETTINGS frames as fast as possible; the client's data is read and ignored.
async fn flood(stream: TlsStream<TcpStream>) {
    let frames = [0, 0, 0, 4, 0, 0, 0, 0, 0].repeat(1000);
    let (mut from, mut to) = tokio::io::split(stream);
    let read = async { while matches!(from.read(&mut [0; 4096]).await, Ok(1..)) {} };
    let write = async { while to.write_all(&frames).await.is_ok() && to.flush().await.is_ok() {} };
    tokio::join!(read, write);
}

#[test]
fn f020_a_server_with_a_trusted_authority_is_used() {
    for behavior in [Behavior::Answer, Behavior::AnswerOverHttp2] {
        let server = TlsServer::start(create_identity("localhost", 2100), [behavior]);
        let (scene, ibeam) = server.run_against(FAST_RETRIES, true);
        let output = expect_success(&scene, ibeam);
        assert_eq!((output.stream().deltas(), retries(&output)), (vec!["ok"], 0), "{behavior:?}: {output}");
    }
}

/// The error names the problem and a variable that can be set. Nothing is retried, and nothing is sent without TLS.
#[test]
fn f020_a_wrong_certificate_is_reported_and_not_accepted() {
    for (host, until, trusted, problem) in [
        ("elsewhere.example", 2100, true, "not valid for name"),
        ("localhost", 2021, true, "expired"),
        ("localhost", 2100, false, "UnknownIssuer"),
    ] {
        let output = expect_failure(27, || {
            let server = TlsServer::start(create_identity(host, until), vec![Behavior::Answer; 4]);
            let run = server.run_against(FAST_RETRIES, trusted);
            assert_eq!(server.connections(), 0);
            run
        });
        assert!(
            output.stderr.contains(problem) && output.stderr.contains("SSL_CERT_FILE"),
            "{problem}: {output}"
        );
        assert_eq!(retries(&output), 0, "{output}");
    }
}

/// Writes a file outside of the workspace and returns its path.
fn write_outside(scene: &Scene, name: &str, content: &str) -> String {
    let file = scene.workspace.outside().join(name);
    std::fs::write(&file, content).unwrap();
    file.display().to_string()
}

#[test]
fn an_authority_of_the_user_is_trusted_in_addition_to_those_of_the_system() {
    for source in ["--ca-file", "IBEAM_CA_FILE", "NODE_EXTRA_CA_CERTS", "tls.ca_file"] {
        let server = TlsServer::start(create_identity("localhost", 2100), [Behavior::Answer]);
        let (scene, mut ibeam) = server.run_against(FAST_RETRIES, false);
        let file = write_outside(&scene, "authority.pem", &server.authority);
        ibeam = match source {
            "--ca-file" => ibeam.args(["--ca-file", &file]),
            "tls.ca_file" => {
                let config = format!("{FAST_RETRIES}[tls]\nca_file = \"{file}\"\n");
                std::fs::write(scene.workspace.home().join(".config/ibeam/config.toml"), config).unwrap();
                ibeam
            }
            variable => ibeam.env(variable, &file),
        };
        let output = expect_success(&scene, ibeam);
        assert_eq!(output.stream().deltas(), ["ok"], "{source}: {output}");
    }
}

#[test]
fn websocket_connections_use_tls_and_the_proxy() {
    const HOST: &str = "model.ibeam.example";
    let config = format!("{FAST_RETRIES}[providers.openai]\ntransport = \"websocket\"\n");
    for (scheme, expect) in [
        ("", None),
        ("http://", Some("CONNECT model.ibeam.example:443")),
        ("http://me:p%40ssword@", Some("CONNECT model.ibeam.example:443")),
        ("socks5h://me:p%40ssword@", Some("SOCKS5 model.ibeam.example:443")),
    ] {
        let answers = [answer_call("t1", "ls", &json!({ "path": "." })), answer_text("ok")];
        let scene = Scene {
            wire: Wire::Responses,
            workspace: workspace_with_config(&config),
            server: ModelServer::with_websocket(answers),
        };
        let host = if expect.is_some() { HOST } else { "localhost" };
        let tls = TlsServer::start(create_identity(host, 2100), [Behavior::Forward(scene.server.address())]);
        let url = format!("http://{}", tls.address);
        let proxy = match scheme.contains('@') {
            true => ProxyServer::with_credentials(&url, "me", "p@ssword"),
            false => ProxyServer::start(&url),
        };
        let base_url = match expect {
            Some(_) => format!("https://{HOST}/v1"),
            None => format!("https://localhost:{}/v1", tls.address.port()),
        };
        let authority = write_outside(&scene, "authority.pem", &tls.authority);
        let output = scene
            .print(["--ca-file", &authority])
            .env("OPENAI_BASE_URL", base_url)
            .env("ALL_PROXY", format!("{scheme}{}", proxy.address()))
            .run()
            .succeeded();
        assert_eq!(output.stream().deltas(), ["ok"], "{scheme}: {output}");
        let requests = scene.server.requests();
        assert!(requests.len() == 2 && requests.iter().all(|request| request.message.is_some()), "{output}");
        assert_eq!(
            (proxy.requests(), tls.connections()),
            (expect.map(str::to_owned).into_iter().collect(), 1)
        );
    }
}

#[test]
fn a_file_of_authorities_that_cannot_be_used_is_reported_with_its_setting() {
    let server = TlsServer::start(create_identity("localhost", 2100), []);
    for (content, detail) in [
        (None, "No such file"),
        (Some("no certificate"), "no certificate in it"),
        (Some("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n"), "authority.pem`: "),
    ] {
        let (scene, ibeam) = server.run_against(FAST_RETRIES, false);
        let file = scene.workspace.outside().join("authority.pem");
        if let Some(content) = content {
            std::fs::write(&file, content).unwrap();
        }
        let config = format!("{FAST_RETRIES}[tls]\nca_file = \"{}\"\n", file.display());
        std::fs::write(scene.workspace.home().join(".config/ibeam/config.toml"), config).unwrap();
        let output = ibeam.run();
        assert_eq!(output.code, Some(78), "{output}");
        let stderr = &output.stderr;
        assert!(stderr.contains("`tls.ca_file` `") && stderr.contains("config.toml:"), "{output}");
        assert!(stderr.contains(detail), "{output}");
    }
    assert_eq!(server.connections(), 0);
}

/// Other programs use this variable too, so a wrong file matters only if a certificate is refused.
#[test]
fn extra_authorities_of_node_that_cannot_be_used_are_mentioned_if_a_certificate_is_refused() {
    let server = TlsServer::start(create_identity("localhost", 2100), vec![Behavior::Answer; 2]);
    let (scene, ibeam) = server.run_against(FAST_RETRIES, false);
    let missing = scene.workspace.missing();
    let output = ibeam.env("NODE_EXTRA_CA_CERTS", &missing).run();
    assert_eq!(output.code, Some(27), "{output}");
    let warning = format!("`$NODE_EXTRA_CA_CERTS` was ignored: `{}`", missing.display());
    assert!(output.stderr.contains(&warning), "{output}");
}

#[test]
fn a_server_that_requires_a_certificate_of_the_client_gets_it() {
    let clients = create_identity("me", 2100);
    let (certificate, key) = &clients.pem;
    let both = format!("{certificate}{key}");
    for (certificate, key) in [(certificate, Some(key)), (&both, None)] {
        let identity = create_identity("localhost", 2100);
        let server = TlsServer::start_for_clients(identity, Some(&clients), [Behavior::Answer]);
        let (scene, ibeam) = server.run_against(FAST_RETRIES, true);
        let mut ibeam = ibeam.args(["--client-cert", &write_outside(&scene, "me.pem", certificate)]);
        if let Some(key) = key {
            ibeam = ibeam.args(["--client-key", &write_outside(&scene, "me.key", key)]);
        }
        let output = expect_success(&scene, ibeam);
        assert_eq!(output.stream().deltas(), ["ok"], "{output}");
    }
}

#[test]
fn a_missing_or_refused_certificate_of_the_client_is_reported() {
    let (clients, stranger) = (create_identity("me", 2100), create_identity("stranger", 2100));
    for (sent, detail) in [
        (None, "set `tls.client_cert` and `tls.client_key`"),
        (Some(&stranger), "refuses the client certificate"),
    ] {
        let identity = create_identity("localhost", 2100);
        let server = TlsServer::start_for_clients(identity, Some(&clients), vec![Behavior::Answer; 4]);
        let (scene, mut ibeam) = server.run_against(FAST_RETRIES, true);
        if let Some(sent) = sent {
            let both = format!("{}{}", sent.pem.0, sent.pem.1);
            ibeam = ibeam.args(["--client-cert", &write_outside(&scene, "me.pem", &both)]);
        }
        let output = ibeam.run();
        assert_eq!(output.code, Some(27), "{output}");
        assert!(output.stderr.contains(detail), "{output}");
    }
}

#[test]
fn a_certificate_of_the_client_that_cannot_be_used_is_reported_with_its_setting() {
    let (mine, other) = (create_identity("me", 2100), create_identity("other", 2100));
    let encrypted = mine.pem.1.replace("PRIVATE", "ENCRYPTED PRIVATE");
    let server = TlsServer::start(create_identity("localhost", 2100), []);
    for (certificate, key, detail) in [
        (
            Some(&mine.pem.0),
            Some(&other.pem.1),
            "me.key`: its private key does not belong to the certificate",
        ),
        (Some(&mine.pem.0), Some(&encrypted), "me.key`: its private key is encrypted"),
        (Some(&mine.pem.0), Some(&mine.pem.0), "me.key`: no private key in it"),
        (Some(&mine.pem.1), Some(&mine.pem.1), "me.pem`: no certificate in it"),
        (Some(&mine.pem.0), None, "`tls.client_key` is missing"),
        (None, Some(&mine.pem.1), "`tls.client_cert` is missing"),
    ] {
        let (scene, mut ibeam) = server.run_against(FAST_RETRIES, true);
        if let Some(certificate) = certificate {
            ibeam = ibeam.args(["--client-cert", &write_outside(&scene, "me.pem", certificate)]);
        }
        if let Some(key) = key {
            ibeam = ibeam.args(["--client-key", &write_outside(&scene, "me.key", key)]);
        }
        let output = ibeam.run();
        // The settings are flags.
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(detail), "{output}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn f021_a_handshake_that_fails_is_reported() {
    for (behavior, problem) in [(Behavior::Alert, "alert"), (Behavior::Plain, "does not speak TLS")] {
        let output = expect_failure(27, || {
            TlsServer::start(create_identity("localhost", 2100), vec![behavior; 4])
                .run_against(FAST_RETRIES, true)
        });
        assert!(output.stderr.contains(problem), "{output}");
        assert_eq!(retries(&output), 0, "{output}");
    }
}

#[test]
fn f063_a_connection_that_the_server_aborts_is_replaced() {
    for behavior in [Behavior::GoAway, Behavior::Reset] {
        let server =
            TlsServer::start(create_identity("localhost", 2100), [behavior, Behavior::AnswerOverHttp2]);
        let (scene, ibeam) = server.run_against(FAST_RETRIES, true);
        let output = expect_success(&scene, ibeam);
        assert_eq!(output.stream().deltas(), ["ok"], "{behavior:?}: {output}");
        assert_eq!(server.connections(), 2, "{behavior:?}: {output}");
    }
}

#[test]
fn f063_a_flood_of_settings_ends_in_time() {
    let behaviors = [Behavior::Flood, Behavior::AnswerOverHttp2, Behavior::AnswerOverHttp2];
    let server = TlsServer::start(create_identity("localhost", 2100), behaviors);
    let config = format!("{FAST_RETRIES}[timeouts]\nfirst_byte = \"2s\"\n");
    let (scene, ibeam) = server.run_against(&config, true);
    let output = expect_success(&scene, ibeam);
    assert_eq!(output.stream().deltas(), ["ok"], "{output}");
    assert!(server.connections() >= 2 && output.elapsed < Duration::from_secs(20), "{output}");
}
