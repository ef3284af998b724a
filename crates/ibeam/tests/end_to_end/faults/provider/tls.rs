//! Servers behind TLS: certificates that are wrong in one way each, and HTTP/2 that breaks off.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use h2::Reason;
use ibeam_testkit::Ibeam;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use super::raw::{response, text_answer};
use super::{QUICK, configured, fails, retries, survives};
use crate::scene::Scene;

/// A certificate and who vouches for it.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// The authority, in PEM.
    authority: String,
}

/// A certificate for this host, valid until this year, from an authority of its own.
fn identity(host: &str, until: i32) -> Identity {
    let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    Identity { chain: vec![certificate.der().clone()], key, authority: authority_pem }
}

/// What is done with one connection.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// An answer over HTTP/1.1.
    Answer,
    /// An answer over HTTP/2.
    AnswerOverHttp2,
    /// The connection is to be left: the request has not been seen.
    GoAway,
    /// The request is broken off.
    Reset,
    /// Settings without end, and no answer.
    Flood,
    /// The handshake is refused.
    Alert,
    /// Plain HTTP where TLS belongs.
    Plain,
}

/// A server that plays one act a connection.
struct TlsServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    /// The authority's certificate, in PEM.
    authority: String,
}

impl TlsServer {
    fn start(identity: Identity, acts: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, acts) = (Arc::clone(&connections), acts.into_iter().collect::<Vec<_>>());
        let Identity { chain, key, authority } = identity;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        // Ends with the process of the test.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                for act in acts {
                    let (stream, _) = listener.accept().await.unwrap();
                    count.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(serve(stream, act, config.clone()));
                }
                std::future::pending::<()>().await;
            });
        });
        Self { address, connections, authority }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A run whose model is here, and which trusts the server's authority or only the system's.
    fn asked(&self, config: &str, trusts: bool) -> (Scene, Ibeam) {
        let scene = Scene::new([]).with_workspace(configured(config));
        let url = format!("https://localhost:{}", self.address.port());
        let mut ibeam = scene.print::<&str>([]).env("ANTHROPIC_BASE_URL", url);
        if trusts {
            let file = scene.workspace.outside().join("authority.pem");
            std::fs::write(&file, &self.authority).unwrap();
            ibeam = ibeam.env("SSL_CERT_FILE", file);
        }
        (scene, ibeam)
    }
}

async fn serve(mut stream: TcpStream, act: Act, mut config: ServerConfig) {
    match act {
        Act::Plain => {
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nplain HTTP\n").await);
            let _gone = stream.read_to_end(&mut Vec::new()).await;
            return;
        }
        Act::Alert => {
            // The client's greeting, then a fatal alert: handshake_failure.
            let _greeting = stream.read(&mut [0; 4096]).await;
            drop(stream.write_all(&[21, 3, 3, 0, 2, 2, 40]).await);
            let _gone = stream.read_to_end(&mut Vec::new()).await;
            return;
        }
        Act::Answer => config.alpn_protocols = vec![b"http/1.1".to_vec()],
        Act::AnswerOverHttp2 | Act::GoAway | Act::Reset | Act::Flood => {
            config.alpn_protocols = vec![b"h2".to_vec()];
        }
    }
    // A client that does not trust us goes away in the handshake.
    let Ok(stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await else { return };
    match act {
        Act::Answer => answer(stream).await,
        Act::Flood => flood(stream).await,
        Act::AnswerOverHttp2 | Act::GoAway | Act::Reset => http2(stream, act).await,
        Act::Plain | Act::Alert => {}
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
    let _gone = stream.read(&mut [0]).await;
}

async fn http2(stream: TlsStream<TcpStream>, act: Act) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((_request, mut respond))) = connection.accept().await {
        match act {
            Act::GoAway => connection.abrupt_shutdown(Reason::NO_ERROR),
            Act::Reset => respond.send_reset(Reason::INTERNAL_ERROR),
            Act::AnswerOverHttp2 => {
                let head =
                    http::Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
                let mut body = respond.send_response(head, false).unwrap();
                body.send_data(text_answer("ok").into_bytes().into(), true).unwrap();
            }
            Act::Answer | Act::Flood | Act::Alert | Act::Plain => {}
        }
    }
}

/// Empty SETTINGS frames, as fast as they are taken; what the client says is read and ignored.
async fn flood(stream: TlsStream<TcpStream>) {
    let frames = [0, 0, 0, 4, 0, 0, 0, 0, 0].repeat(1000);
    let (mut from, mut to) = tokio::io::split(stream);
    let read = async { while matches!(from.read(&mut [0; 4096]).await, Ok(1..)) {} };
    let write = async { while to.write_all(&frames).await.is_ok() && to.flush().await.is_ok() {} };
    tokio::join!(read, write);
}

#[test]
fn f020_a_server_of_a_trusted_authority_is_asked() {
    for act in [Act::Answer, Act::AnswerOverHttp2] {
        let server = TlsServer::start(identity("localhost", 2100), [act]);
        let (scene, ibeam) = server.asked(QUICK, true);
        let output = survives(&scene, ibeam);
        assert_eq!((output.stream().deltas(), retries(&output)), (vec!["ok"], 0), "{act:?}: {output}");
    }
}

/// The certificate problem and the way out are named; nothing is asked twice, least of all without TLS.
#[test]
fn f020_a_certificate_that_is_wrong_is_told_and_not_accepted() {
    for (host, until, trusted, problem) in [
        ("elsewhere.example", 2100, true, "not valid for name"),
        ("localhost", 2021, true, "expired"),
        ("localhost", 2100, false, "UnknownIssuer"),
    ] {
        let output = fails(27, || {
            let server = TlsServer::start(identity(host, until), vec![Act::Answer; 4]);
            let run = server.asked(QUICK, trusted);
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

#[test]
fn f021_a_handshake_that_fails_is_told() {
    for (act, problem) in [(Act::Alert, "alert"), (Act::Plain, "corrupt message")] {
        let output =
            fails(27, || TlsServer::start(identity("localhost", 2100), vec![act; 4]).asked(QUICK, true));
        assert!(output.stderr.contains(problem), "{output}");
        assert_eq!(retries(&output), 0, "{output}");
    }
}

#[test]
fn f063_a_connection_that_the_server_gives_up_is_replaced() {
    for act in [Act::GoAway, Act::Reset] {
        let server = TlsServer::start(identity("localhost", 2100), [act, Act::AnswerOverHttp2]);
        let (scene, ibeam) = server.asked(QUICK, true);
        let output = survives(&scene, ibeam);
        assert_eq!(output.stream().deltas(), ["ok"], "{act:?}: {output}");
        assert_eq!(server.connections(), 2, "{act:?}: {output}");
    }
}

#[test]
fn f063_a_flood_of_settings_is_left_in_time() {
    let acts = [Act::Flood, Act::AnswerOverHttp2, Act::AnswerOverHttp2];
    let server = TlsServer::start(identity("localhost", 2100), acts);
    let config = format!("{QUICK}[timeouts]\nfirst_byte = \"2s\"\n");
    let (scene, ibeam) = server.asked(&config, true);
    let output = survives(&scene, ibeam);
    assert_eq!(output.stream().deltas(), ["ok"], "{output}");
    assert!(server.connections() >= 2 && output.elapsed < Duration::from_secs(20), "{output}");
}
