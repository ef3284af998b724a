//! The connection to the server: name resolution, sockets, proxies, encodings.

use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ibeam_testkit::scene::Scene;
use ibeam_testkit::{Ibeam, ProgramOutput, unreachable_url};
use serde_json::json;

use super::raw_server::{RawServer, Reply, call_answer, open_head, response, text_answer};
use super::{FAST_RETRIES, expect_failure, expect_success, retries, workspace_with_config};

/// Lets a key be sent to this host over plain HTTP.
const PLAIN_HTTP: &str = "[network]\ninsecure_hosts = [\"model.ibeam.example\"]\n";

/// Returns a run that uses a model at this address.
fn run_against(config: &str, url: &str) -> (Scene, Ibeam) {
    let scene = Scene::new([]).with_workspace(workspace_with_config(config));
    let ibeam = scene.print::<&str>([]).env("ANTHROPIC_BASE_URL", url);
    (scene, ibeam)
}

#[test]
fn f018_a_port_without_a_listener_is_named_after_three_retries() {
    let url = unreachable_url();
    let output = expect_failure(26, || run_against(FAST_RETRIES, &url));
    assert!(output.stderr.contains(url.strip_prefix("http://").unwrap()), "{output}");
    assert_eq!(retries(&output), 3, "{output}");
}

/// Returns a listener with a full queue, for which the system drops further connections.
fn full_listener() -> Option<(String, TcpListener, Vec<TcpStream>)> {
    use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, listen, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    listen(&socket, 1).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    for _ in 0..16 {
        match TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            Ok(stream) => queue.push(stream),
            Err(_) => return Some((format!("http://{address}"), listener, queue)),
        }
    }
    None
}

#[test]
fn f019_a_connection_that_is_never_established_fails() {
    let Some((url, _listener, _queue)) = full_listener() else {
        eprintln!("SKIP: this system takes connections beyond the queue of a listener");
        return;
    };
    let config = format!("{FAST_RETRIES}[timeouts]\nconnect = \"200ms\"\n");
    let output = expect_failure(26, || run_against(&config, &url));
    assert!(output.stderr.contains("in time"), "{output}");
    assert!(retries(&output) >= 2, "{output}");
}

#[derive(Clone, Copy)]
enum NameReply {
    Code(u8),
    Nothing,
}

/// Starts a name server; returns its address and the number of queries so far.
fn start_name_server(reply: NameReply) -> std::io::Result<(Ipv4Addr, Arc<AtomicUsize>)> {
    let [high, low] = u16::try_from(std::process::id() % 60_000).unwrap().to_be_bytes();
    let address = Ipv4Addr::new(127, 53 + u8::try_from(reply.number()).unwrap(), high, low.max(1));
    let socket = UdpSocket::bind((address, 53))?;
    let queries = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&queries);
    // The thread ends with the test process.
    std::thread::spawn(move || {
        let mut packet = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            count.fetch_add(1, Ordering::SeqCst);
            let NameReply::Code(code) = reply else { continue };
            // A response with recursion available, the code and the question of the query.
            packet[2] = 0x81;
            packet[3] = 0x80 | code;
            drop(socket.send_to(&packet[..length], from));
        }
    });
    Ok((address, queries))
}

impl NameReply {
    fn number(self) -> usize {
        match self {
            Self::Code(code) => code.into(),
            Self::Nothing => 9,
        }
    }
}

/// Runs with a name server that replies so. `None` if this system does not permit that; the reason is printed.
fn run_with_name_server(reply: NameReply) -> Option<(ProgramOutput, usize)> {
    let can_mount = || {
        let mount = ["-m", "/bin/sh", "-c", "mount --bind /etc/hostname /etc/resolv.conf"];
        Command::new("unshare").args(mount).output().is_ok_and(|output| output.status.success())
    };
    if !can_mount() {
        eprintln!("SKIP: another resolver needs a mount over /etc/resolv.conf");
        return None;
    }
    let (address, queries) = match start_name_server(reply) {
        Ok(server) => server,
        Err(error) => {
            eprintln!("SKIP: a name server needs port 53: {error}");
            return None;
        }
    };
    let timeout = match reply {
        NameReply::Code(_) => "10s",
        NameReply::Nothing => "500ms",
    };
    let config = format!("{FAST_RETRIES}[timeouts]\nconnect = \"{timeout}\"\n{PLAIN_HTTP}");
    let output = expect_failure(26, || {
        let (scene, ibeam) = run_against(&config, "http://model.ibeam.example:8080");
        let file = scene.workspace.outside().join("resolv.conf");
        std::fs::write(&file, format!("nameserver {address}\noptions timeout:30 attempts:1\n")).unwrap();
        let mount = format!("mount --bind {} /etc/resolv.conf", file.display());
        let ibeam = ibeam.after(&mount).through(["unshare", "-m"]);
        (scene, ibeam)
    });
    Some((output, queries.load(Ordering::SeqCst)))
}

#[test]
fn f022_a_name_that_does_not_exist_is_not_retried() {
    let Some((output, queries)) = run_with_name_server(NameReply::Code(3)) else { return };
    assert!(queries > 0 && output.stderr.contains("no such host"), "{output}");
    assert!(output.stderr.contains("model.ibeam.example:8080"), "{output}");
    assert_eq!(retries(&output), 0, "{output}");
}

#[test]
fn f022_a_name_server_that_fails_is_retried() {
    let Some((output, queries)) = run_with_name_server(NameReply::Code(2)) else { return };
    assert!(queries > 0, "{output}");
    assert_eq!(retries(&output), 3, "{output}");
}

/// The end of the program does not wait for the name server either.
#[test]
fn f022_a_name_server_that_does_not_reply_is_retried() {
    let Some((output, queries)) = run_with_name_server(NameReply::Nothing) else { return };
    assert!(queries > 0, "{output}");
    assert_eq!(retries(&output), 3, "{output}");
    assert!(output.elapsed < Duration::from_secs(8), "{output}");
}

/// `https` uses a tunnel through the proxy, `http` sends the request to it.
#[test]
fn f023_a_proxy_that_refuses_is_reported_with_its_variable() {
    let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n";
    for (variable, url) in
        [("HTTPS_PROXY", "https://model.ibeam.example"), ("HTTP_PROXY", "http://model.ibeam.example")]
    {
        let output = expect_failure(26, || {
            let proxy = RawServer::start(vec![Reply::SendAndClose(refusal.to_vec()); 8]);
            let (scene, ibeam) = run_against(&format!("{FAST_RETRIES}{PLAIN_HTTP}"), url);
            (scene, ibeam.env(variable, proxy.url()))
        });
        assert!(output.stderr.contains("proxy") && output.stderr.contains("HTTPS_PROXY"), "{output}");
        assert_eq!(retries(&output), 0, "{output}");
    }
}

#[test]
fn f042_answers_are_decompressed_and_read_with_any_framing() {
    let compressed = |coding: &str, body: &[u8]| {
        response(&format!("content-type: text/event-stream\r\ncontent-encoding: {coding}\r\n"), body)
    };
    let plain = text_answer("unpacked");
    let trailers = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n\
         {:x};odd=extension\r\n{plain}\r\n0\r\nx-sum: 1\r\n\r\n",
        plain.len()
    );
    let http_1_0 = format!("HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{plain}");
    for (framing, reply) in [
        ("gzip", Reply::Send(compressed("gzip", include_bytes!("answer.sse.gz")))),
        ("brotli", Reply::Send(compressed("br", include_bytes!("answer.sse.br")))),
        ("trailers", Reply::Send(trailers.into_bytes())),
        ("HTTP/1.0", Reply::SendAndClose(http_1_0.into_bytes())),
        ("no length", Reply::SendAndClose([open_head(), plain.into_bytes()].concat())),
    ] {
        let server = RawServer::start([reply]);
        let (scene, ibeam) = run_against(FAST_RETRIES, &server.url());
        let output = expect_success(&scene, ibeam);
        assert_eq!(
            (output.stream().deltas(), retries(&output)),
            (vec!["unpacked"], 0),
            "{framing}: {output}"
        );
    }
}

#[test]
fn f042_a_damaged_compressed_answer_is_not_a_success() {
    let mut damaged = include_bytes!("answer.sse.gz").to_vec();
    damaged.truncate(60);
    let damaged = response("content-type: text/event-stream\r\ncontent-encoding: gzip\r\n", &damaged);
    let output = expect_failure(25, || {
        let server = RawServer::start(vec![Reply::Send(damaged.clone()); 8]);
        run_against(FAST_RETRIES, &server.url())
    });
    assert_eq!(retries(&output), 3, "{output}");
}

/// Returns an answer with a call, so that a second request uses the connection again.
fn call_response() -> Vec<u8> {
    let body = call_answer("ls", &json!({ "path": "." }));
    response("content-type: text/event-stream\r\n", body.as_bytes())
}

#[test]
fn f064_a_connection_that_died_during_a_request_is_replaced_without_a_retry() {
    let last = response("content-type: text/event-stream\r\n", text_answer("done").as_bytes());
    let server =
        RawServer::start([Reply::Send(call_response()), Reply::SendAndClose(Vec::new()), Reply::Send(last)]);
    let (scene, ibeam) = run_against(FAST_RETRIES, &server.url());
    let output = expect_success(&scene, ibeam);
    assert_eq!((output.stream().deltas(), retries(&output)), (vec!["done"], 0), "{output}");
    assert_eq!((server.requests().len(), server.connections()), (3, 2), "{output}");
    assert!(output.stderr_lines("warning: ").is_empty(), "{output}");
}

#[test]
fn f064_a_connection_that_was_closed_while_idle_is_replaced_without_a_retry() {
    let last = response("content-type: text/event-stream\r\n", text_answer("done").as_bytes());
    let server = RawServer::start([Reply::SendAndClose(call_response()), Reply::Send(last)]);
    let (scene, ibeam) = run_against(FAST_RETRIES, &server.url());
    let output = expect_success(&scene, ibeam);
    assert_eq!((output.stream().deltas(), retries(&output)), (vec!["done"], 0), "{output}");
    assert_eq!(server.connections(), 2, "{output}");
}

/// Only a connection that has served a request is replaced without a retry.
#[test]
fn f064_a_server_that_closes_every_connection_is_a_failure() {
    let before = Instant::now();
    let output = expect_failure(26, || {
        let server = RawServer::start(vec![Reply::SendAndClose(Vec::new()); 20]);
        run_against(FAST_RETRIES, &server.url())
    });
    assert_eq!(retries(&output), 3, "{output}");
    assert!(before.elapsed() < Duration::from_secs(20), "{output}");
}
