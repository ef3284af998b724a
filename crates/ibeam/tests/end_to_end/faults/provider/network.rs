//! The way to the server: names, connections, proxies, encodings.

use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ibeam_testkit::{Ibeam, ProgramOutput, unreachable_url};
use serde_json::json;

use super::raw::{Act, RawServer, call_answer, open_head, response, text_answer};
use super::{QUICK, configured, fails, retries, survives};
use crate::scene::Scene;

/// A key goes to this host over plain HTTP.
const PLAIN_HTTP: &str = "[network]\ninsecure_hosts = [\"model.ibeam.example\"]\n";

/// A run whose model is at this address.
fn asking(config: &str, url: &str) -> (Scene, Ibeam) {
    let scene = Scene::new([]).with_workspace(configured(config));
    let ibeam = scene.print::<&str>([]).env("ANTHROPIC_BASE_URL", url);
    (scene, ibeam)
}

#[test]
fn f018_a_port_where_nobody_listens_is_named_after_three_retries() {
    let url = unreachable_url();
    let output = fails(26, || asking(QUICK, &url));
    assert!(output.stderr.contains(url.strip_prefix("http://").unwrap()), "{output}");
    assert_eq!(retries(&output), 3, "{output}");
}

/// A listener whose queue is full: the system drops what else would connect.
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
fn f019_a_connection_that_never_stands_is_given_up() {
    let Some((url, _listener, _queue)) = full_listener() else {
        eprintln!("SKIP: this system takes connections beyond the queue of a listener");
        return;
    };
    let config = format!("{QUICK}[timeouts]\nconnect = \"200ms\"\n");
    let output = fails(26, || asking(&config, &url));
    assert!(output.stderr.contains("in time"), "{output}");
    assert!(retries(&output) >= 2, "{output}");
}

/// What a name server says.
#[derive(Clone, Copy)]
enum NameReply {
    Code(u8),
    Nothing,
}

/// A name server on an address of its own; gives the address, and the number of questions so far.
fn name_server(answer_text: NameReply) -> std::io::Result<(Ipv4Addr, Arc<AtomicUsize>)> {
    let [high, low] = u16::try_from(std::process::id() % 60_000).unwrap().to_be_bytes();
    let address = Ipv4Addr::new(127, 53 + u8::try_from(answer_text.number()).unwrap(), high, low.max(1));
    let socket = UdpSocket::bind((address, 53))?;
    let questions = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&questions);
    // Ends with the process of the test.
    std::thread::spawn(move || {
        let mut packet = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            count.fetch_add(1, Ordering::SeqCst);
            let NameReply::Code(code) = answer_text else { continue };
            // A response, recursion available, with the code and the question as it came.
            packet[2] = 0x81;
            packet[3] = 0x80 | code;
            drop(socket.send_to(&packet[..length], from));
        }
    });
    Ok((address, questions))
}

impl NameReply {
    fn number(self) -> usize {
        match self {
            Self::Code(code) => code.into(),
            Self::Nothing => 9,
        }
    }
}

/// A run whose name server says this; `None`, with the reason on stderr, where that cannot be brought about.
fn with_names(answer_text: NameReply) -> Option<(ProgramOutput, usize)> {
    let can_mount = || {
        let mount = ["-m", "/bin/sh", "-c", "mount --bind /etc/hostname /etc/resolv.conf"];
        Command::new("unshare").args(mount).output().is_ok_and(|output| output.status.success())
    };
    if !can_mount() {
        eprintln!("SKIP: another resolver needs a mount of one's own over /etc/resolv.conf");
        return None;
    }
    let (address, questions) = match name_server(answer_text) {
        Ok(server) => server,
        Err(error) => {
            eprintln!("SKIP: a name server needs port 53: {error}");
            return None;
        }
    };
    let bound = match answer_text {
        NameReply::Code(_) => "10s",
        NameReply::Nothing => "500ms",
    };
    let config = format!("{QUICK}[timeouts]\nconnect = \"{bound}\"\n{PLAIN_HTTP}");
    let output = fails(26, || {
        let (scene, ibeam) = asking(&config, "http://model.ibeam.example:8080");
        let file = scene.workspace.outside().join("resolv.conf");
        std::fs::write(&file, format!("nameserver {address}\noptions timeout:30 attempts:1\n")).unwrap();
        let mount = format!("mount --bind {} /etc/resolv.conf", file.display());
        let ibeam = ibeam.after(&mount).through(["unshare", "-m"]);
        (scene, ibeam)
    });
    Some((output, questions.load(Ordering::SeqCst)))
}

#[test]
fn f022_a_name_that_does_not_exist_is_not_asked_for_again() {
    let Some((output, questions)) = with_names(NameReply::Code(3)) else { return };
    assert!(questions > 0 && output.stderr.contains("no such host"), "{output}");
    assert!(output.stderr.contains("model.ibeam.example:8080"), "{output}");
    assert_eq!(retries(&output), 0, "{output}");
}

#[test]
fn f022_a_name_server_that_fails_is_asked_again() {
    let Some((output, questions)) = with_names(NameReply::Code(2)) else { return };
    assert!(questions > 0, "{output}");
    assert_eq!(retries(&output), 3, "{output}");
}

/// Nor is the silence of a name server waited for at the end of the program.
#[test]
fn f022_a_name_server_that_is_silent_is_asked_again() {
    let Some((output, questions)) = with_names(NameReply::Nothing) else { return };
    assert!(questions > 0, "{output}");
    assert_eq!(retries(&output), 3, "{output}");
    assert!(output.elapsed < Duration::from_secs(8), "{output}");
}

/// One process for each way of asking a proxy: a tunnel for `https`, a request for `http`.
#[test]
fn f023_a_proxy_that_refuses_is_told_with_its_variable() {
    let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n";
    for (variable, url) in
        [("HTTPS_PROXY", "https://model.ibeam.example"), ("HTTP_PROXY", "http://model.ibeam.example")]
    {
        let output = fails(26, || {
            let proxy = RawServer::start(vec![Act::SendAndClose(refusal.to_vec()); 8]);
            let (scene, ibeam) = asking(&format!("{QUICK}{PLAIN_HTTP}"), url);
            (scene, ibeam.env(variable, proxy.url()))
        });
        assert!(output.stderr.contains("proxy") && output.stderr.contains("HTTPS_PROXY"), "{output}");
        assert_eq!(retries(&output), 0, "{output}");
    }
}

#[test]
fn f042_answers_are_unpacked_and_read_to_whatever_end() {
    let packed = |coding: &str, body: &[u8]| {
        response(&format!("content-type: text/event-stream\r\ncontent-encoding: {coding}\r\n"), body)
    };
    let plain = text_answer("unpacked");
    let trailers = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n\
         {:x};odd=extension\r\n{plain}\r\n0\r\nx-sum: 1\r\n\r\n",
        plain.len()
    );
    let old = format!("HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{plain}");
    for (what, act) in [
        ("gzip", Act::Send(packed("gzip", include_bytes!("answer.sse.gz")))),
        ("brotli", Act::Send(packed("br", include_bytes!("answer.sse.br")))),
        ("trailers", Act::Send(trailers.into_bytes())),
        ("HTTP/1.0", Act::SendAndClose(old.into_bytes())),
        ("no length", Act::SendAndClose([open_head(), plain.into_bytes()].concat())),
    ] {
        let server = RawServer::start([act]);
        let (scene, ibeam) = asking(QUICK, &server.url());
        let output = survives(&scene, ibeam);
        assert_eq!((output.stream().deltas(), retries(&output)), (vec!["unpacked"], 0), "{what}: {output}");
    }
}

#[test]
fn f042_a_packed_answer_that_is_damaged_is_no_success() {
    let mut damaged = include_bytes!("answer.sse.gz").to_vec();
    damaged.truncate(60);
    let damaged = response("content-type: text/event-stream\r\ncontent-encoding: gzip\r\n", &damaged);
    let output = fails(25, || {
        let server = RawServer::start(vec![Act::Send(damaged.clone()); 8]);
        asking(QUICK, &server.url())
    });
    assert_eq!(retries(&output), 3, "{output}");
}

/// The call makes a second request, for which the connection is used again.
fn call() -> Vec<u8> {
    let body = call_answer("ls", &json!({ "path": "." }));
    response("content-type: text/event-stream\r\n", body.as_bytes())
}

#[test]
fn f064_a_connection_that_died_under_a_request_is_replaced_for_free() {
    let last = response("content-type: text/event-stream\r\n", text_answer("done").as_bytes());
    let server = RawServer::start([Act::Send(call()), Act::SendAndClose(Vec::new()), Act::Send(last)]);
    let (scene, ibeam) = asking(QUICK, &server.url());
    let output = survives(&scene, ibeam);
    assert_eq!((output.stream().deltas(), retries(&output)), (vec!["done"], 0), "{output}");
    assert_eq!((server.requests().len(), server.connections()), (3, 2), "{output}");
    assert!(output.stderr_lines("warning: ").is_empty(), "{output}");
}

#[test]
fn f064_a_connection_that_was_closed_while_idle_is_replaced_for_free() {
    let last = response("content-type: text/event-stream\r\n", text_answer("done").as_bytes());
    let server = RawServer::start([Act::SendAndClose(call()), Act::Send(last)]);
    let (scene, ibeam) = asking(QUICK, &server.url());
    let output = survives(&scene, ibeam);
    assert_eq!((output.stream().deltas(), retries(&output)), (vec!["done"], 0), "{output}");
    assert_eq!(server.connections(), 2, "{output}");
}

/// A server that closes every connection is not asked for ever: only one that has served is replaced for free.
#[test]
fn f064_a_server_that_always_hangs_up_is_given_up() {
    let before = Instant::now();
    let output = fails(26, || {
        let server = RawServer::start(vec![Act::SendAndClose(Vec::new()); 20]);
        asking(QUICK, &server.url())
    });
    assert_eq!(retries(&output), 3, "{output}");
    assert!(before.elapsed() < Duration::from_secs(20), "{output}");
}
