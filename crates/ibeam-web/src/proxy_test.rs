use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::EgressProxy;
use crate::dialer::{AbortOnDrop, Dialer};
use crate::fixture::{Fickle, LONG_TIMEOUT, Reply, Site, dialer, resolving_dialer};
use crate::grant::{Grants, HostPortPattern};
use crate::upstream_proxy::UpstreamProxies;

/// A proxy that runs until it is dropped.
struct RunningProxy {
    address: SocketAddr,
    _task: AbortOnDrop,
}

impl RunningProxy {
    fn new(dialer: Arc<Dialer>, grants: &[&str]) -> Self {
        Self::changed(dialer, grants, |_| {})
    }

    fn changed(dialer: Arc<Dialer>, grants: &[&str], change: impl Fn(&mut EgressProxy)) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let allow = grants.iter().map(|grant| grant.parse().unwrap()).collect();
        let mut proxy = EgressProxy::new(dialer, Grants { allow, deny: Vec::new() });
        change(&mut proxy);
        Self { address, _task: AbortOnDrop::spawn(proxy.serve(listener)) }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends `request`, closes this direction, and returns everything that is answered.
    async fn answer(&self, request: &str) -> String {
        let mut client = self.connect().await;
        client.write_all(request.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    }
}

/// Returns the head of the next response.
async fn head(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Starts a server that returns what it received when the client closes its direction.
async fn echo() -> (SocketAddr, AbortOnDrop) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = AbortOnDrop::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut received = Vec::new();
                client.read_to_end(&mut received).await.unwrap();
                client.write_all(&received).await.unwrap();
            });
        }
    });
    (address, task)
}

#[tokio::test]
async fn a_tunnel_carries_bytes_in_both_directions_which_end_separately() {
    let (address, _echo) = echo().await;
    let proxy = RunningProxy::new(dialer(&[("a.test", address)]), &["a.test:443"]);
    let mut client = proxy.connect().await;
    client.write_all(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n").await.unwrap();
    assert!(head(&mut client).await.starts_with("HTTP/1.1 200 OK\r\n"));
    // The server answers only when this half has ended.
    let sent: Vec<u8> = (0..1_000_000u32).flat_map(u32::to_le_bytes).collect();
    client.write_all(&sent).await.unwrap();
    client.shutdown().await.unwrap();
    let mut received = Vec::new();
    client.read_to_end(&mut received).await.unwrap();
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
}

/// Some programs do not wait for the answer to `CONNECT`.
#[tokio::test]
async fn bytes_sent_before_the_tunnel_is_open_arrive() {
    let (address, _echo) = echo().await;
    let proxy = RunningProxy::new(dialer(&[("a.test", address)]), &["a.test:443"]);
    let answer = proxy.answer("CONNECT a.test:443 HTTP/1.1\r\n\r\nhello").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
}

#[tokio::test]
async fn a_host_that_is_not_granted_is_refused_with_the_flag_that_would_allow_it() {
    let site = Site::start(|_| Reply::page("text/plain", "x")).await;
    let names = ["a.test", "b.test"].map(|name| (name, site.address));
    let proxy = RunningProxy::new(dialer(&names), &["a.test:443", "*.good.test:443"]);
    for (request, flag) in [
        ("CONNECT b.test:443 HTTP/1.1\r\n\r\n", "b.test:443"),
        ("CONNECT a.test:22 HTTP/1.1\r\n\r\n", "a.test:22"),
        ("CONNECT good.test:443 HTTP/1.1\r\n\r\n", "good.test:443"),
        ("CONNECT a.test.evil.test:443 HTTP/1.1\r\n\r\n", "a.test.evil.test:443"),
        ("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "[::1]:443"),
        ("GET http://a.test/ HTTP/1.1\r\n\r\n", "a.test:80"),
        ("GET http://B.test:443/ HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "b.test:443"),
    ] {
        let answer = proxy.answer(request).await;
        let first = format!("HTTP/1.1 403 Forbidden: needs --allow-net {flag}\r\n");
        assert!(answer.starts_with(&first), "{request}{answer}");
        assert!(answer.ends_with(&format!("a person may allow it with `--allow-net {flag}`\n")), "{answer}");
    }
    assert!(site.requests().is_empty());
}

#[tokio::test]
async fn a_denied_host_is_refused_even_if_granted() {
    let site = Site::start(|_| Reply::page("text/plain", "x")).await;
    let names = ["a.test", "b.evil.test"].map(|name| (name, site.address));
    let proxy = RunningProxy::changed(dialer(&names), &["*:80"], |proxy| {
        proxy.grants.deny.push(HostPortPattern::for_denied_domain("*.evil.test").unwrap());
    });
    assert!(proxy.answer("GET http://a.test/ HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    let answer = proxy.answer("GET http://b.evil.test/ HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden: denied by a rule\r\n"), "{answer}");
    assert!(
        answer.ends_with("commands may not reach `b.evil.test` at port 80: a rule denies it\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_granted_name_with_a_private_address_is_refused() {
    let site = Site::start(|_| Reply::page("text/plain", "private")).await;
    let port = site.address.port();
    for address in ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"] {
        let names = Fickle::new(&[address, address]);
        let proxy = RunningProxy::new(
            Arc::new(resolving_dialer(names, UpstreamProxies::none())),
            &["*:80", &format!("*:{port}")],
        );
        for request in [
            format!("CONNECT a.test:{port} HTTP/1.1\r\n\r\n"),
            format!("GET http://a.test:{port}/ HTTP/1.1\r\n\r\n"),
        ] {
            let answer = proxy.answer(&request).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 403 Forbidden: {address} is ")), "{answer}");
            assert!(answer.contains("only public addresses are reached"), "{answer}");
        }
    }
    let proxy = RunningProxy::new(dialer(&[]), &["*:80", &format!("*:{port}")]);
    let answer = proxy.answer(&format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n")).await;
    assert!(answer.contains("`127.0.0.1` is a loopback address"), "{answer}");
    assert!(site.requests().is_empty());
}

#[tokio::test]
async fn a_granted_ip_address_is_reached() {
    let site = Site::start(|_| Reply::page("text/plain", "own")).await;
    let grant = site.address.to_string();
    let granted = vec![(site.address.ip(), site.address.port())];
    let pins = crate::pin::PinnedHosts::default();
    let dialer =
        Arc::new(Dialer::new(Fickle::new(&[]), pins, granted, UpstreamProxies::none(), LONG_TIMEOUT));
    let proxy = RunningProxy::new(dialer, &[&grant]);
    let answer = proxy.answer(&format!("GET http://{grant}/ HTTP/1.1\r\n\r\n")).await;
    assert!(answer.ends_with("\r\n\r\nown"), "{answer}");
}

#[tokio::test]
async fn a_plain_request_is_forwarded_without_headers_for_the_proxy() {
    let site = Site::start(|head| {
        let connection = "Connection: close, X-Hop\r\nX-Hop: 1\r\nProxy-Authenticate: Basic\r\nX-Kept: 1";
        assert!(head.ends_with("\r\n\r\n"));
        Reply::Bytes(format!("HTTP/1.1 201 Created\r\n{connection}\r\nContent-Length: 2\r\n\r\nok").into())
    })
    .await;
    let proxy = RunningProxy::new(dialer(&[("a.test", site.address)]), &["a.test:80"]);
    let answer = proxy
        .answer(
            "POST http://a.test/path?q=1 HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: Basic eA==\r\n\
             Proxy-Connection: keep-alive\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nX-Kept: 2\r\n\
             Content-Length: 0\r\n\r\n",
        )
        .await;
    let lower = answer.to_ascii_lowercase();
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n") && answer.ends_with("\r\n\r\nok"), "{answer}");
    assert!(lower.contains("x-kept: 1") && !lower.contains("x-hop: 1"), "{answer}");
    assert!(!lower.contains("proxy-authenticate"), "{answer}");
    let request = site.requests().concat();
    let lower = request.to_ascii_lowercase();
    assert!(request.starts_with("POST /path?q=1 HTTP/1.1\r\n"), "{request}");
    assert!(lower.contains("host: a.test\r\n") && !lower.contains("other.test"), "{request}");
    assert!(
        lower.contains("x-kept: 2") && !lower.contains("x-mine: 1") && !lower.contains("proxy-"),
        "{request}"
    );
}

/// Bodies of unknown length, in the request and in the response.
#[tokio::test]
async fn chunked_bodies_are_forwarded() {
    let chunks = "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n there!\r\n0\r\n\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let names = [("a.test", listener.local_addr().unwrap())];
    let proxy = RunningProxy::new(dialer(&names), &["a.test:80"]);
    let request = format!("PUT http://a.test/x HTTP/1.1\r\n{chunks}");
    let server = async {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut received = String::new();
        while !received.ends_with("0\r\n\r\n") {
            received.push(client.read_u8().await.unwrap().into());
        }
        client.write_all(format!("HTTP/1.1 200 OK\r\n{chunks}").as_bytes()).await.unwrap();
        received
    };
    let (received, answer) = tokio::join!(server, proxy.answer(&request));
    assert!(
        received.starts_with("PUT /x HTTP/1.1\r\n")
            && received.contains("hello")
            && received.contains(" there!"),
        "{received}"
    );
    assert!(
        answer.contains("hello") && answer.contains(" there!") && answer.ends_with("0\r\n\r\n"),
        "{answer}"
    );
}

/// A later request of a connection is checked like the first.
#[tokio::test]
async fn every_request_of_a_connection_is_checked() {
    let site = Site::start(|_| Reply::page("text/plain", "x")).await;
    let names = ["a.test", "b.test"].map(|name| (name, site.address));
    let proxy = RunningProxy::new(dialer(&names), &["a.test:80"]);
    let get = |host: &str| format!("GET http://{host}/ HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let answer = proxy.answer(&[get("a.test"), get("b.test"), get("a.test")].concat()).await;
    let lines: Vec<_> = answer.lines().filter(|line| line.contains("HTTP/1.1 ")).collect();
    assert_eq!(lines.len(), 3, "{answer}");
    assert!(lines[1].ends_with("403 Forbidden: needs --allow-net b.test:80"), "{answer}");
    assert_eq!(site.requests().len(), 2);
}

#[tokio::test]
async fn a_request_that_is_not_for_a_proxy_gets_an_explanation() {
    let proxy = RunningProxy::new(dialer(&[]), &["*:443", "*:80"]);
    for (request, detail) in [
        ("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "this is a proxy"),
        ("GET https://a.test/ HTTP/1.1\r\n\r\n", "this is a proxy"),
        ("CONNECT a.test HTTP/1.1\r\n\r\n", "`a.test` is requested without a port"),
        ("CONNECT a.test:0 HTTP/1.1\r\n\r\n", "without a port"),
        ("CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n", "`0x7f.1` is not a host name in plain spelling"),
        ("CONNECT 2130706433:443 HTTP/1.1\r\n\r\n", "not a host name"),
        ("GET http://me:secret@a.test/ HTTP/1.1\r\n\r\n", "a user or password"),
    ] {
        let answer = proxy.answer(request).await;
        assert!(
            answer.starts_with("HTTP/1.1 400 Bad Request\r\n") && answer.contains(detail),
            "{request}{answer}"
        );
    }
    for rubbish in ["\x16\x03\x01\x02\0", "SSH-2.0-x\r\n\r\n", "CONNECT a\0b:443 HTTP/1.1\r\n\r\n"] {
        let answer = proxy.answer(rubbish).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{rubbish:?} {answer}");
    }
}

#[tokio::test]
async fn hosts_that_cannot_be_reached_are_reported() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = RunningProxy::new(dialer(&[("closed.test", closed)]), &["*:443"]);
    let answer = proxy.answer("CONNECT closed.test:443 HTTP/1.1\r\n\r\n").await;
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("`closed.test` cannot be reached"),
        "{answer}"
    );
    let answer = proxy.answer("CONNECT none.test:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("`none.test` has no address"), "{answer}");
}

#[tokio::test]
async fn a_request_head_that_is_too_large_is_refused() {
    let proxy = RunningProxy::new(dialer(&[]), &["*:443"]);
    let mut client = proxy.connect().await;
    let long = format!("CONNECT a.test:443 HTTP/1.1\r\nX: {}", "x".repeat(4 * super::MAX_HEAD_BYTES));
    // The proxy may end the connection before it has received everything.
    drop(client.write_all(long.as_bytes()).await);
    let mut answer = Vec::new();
    drop(client.read_to_end(&mut answer).await);
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn a_request_head_that_does_not_arrive_ends_in_a_timeout() {
    let brief = Duration::from_millis(50);
    let proxy = RunningProxy::changed(dialer(&[]), &["*:443"], |proxy| proxy.head_timeout = brief);
    for start in ["", "CONNECT a.test:443 HTTP/1.1\r\n"] {
        let mut client = proxy.connect().await;
        client.write_all(start.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let ended = tokio::time::timeout(LONG_TIMEOUT, client.read_to_end(&mut answer)).await;
        assert!(ended.is_ok(), "the proxy still waits after {start:?}");
    }
}

#[tokio::test]
async fn a_connection_above_the_limit_is_refused_until_another_one_ends() {
    let (address, _echo) = echo().await;
    let proxy = RunningProxy::changed(dialer(&[("a.test", address)]), &["a.test:443"], |proxy| {
        proxy.max_connections = 1
    });
    let request = "CONNECT a.test:443 HTTP/1.1\r\n\r\n";
    let mut first = proxy.connect().await;
    first.write_all(request.as_bytes()).await.unwrap();
    head(&mut first).await;
    let mut second = proxy.connect().await;
    let mut answer = String::new();
    second.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("too many connections"), "{answer}");
    drop(first);
    let freed = async {
        loop {
            let mut client = proxy.connect().await;
            if client.write_all(request.as_bytes()).await.is_ok()
                && client.read_u8().await.is_ok()
                && head(&mut client).await.contains(" 200 ")
            {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG_TIMEOUT, freed).await.unwrap();
}

#[tokio::test]
async fn dropping_the_proxy_closes_its_tunnels() {
    let (address, _echo) = echo().await;
    let proxy = RunningProxy::new(dialer(&[("a.test", address)]), &["a.test:443"]);
    let mut client = proxy.connect().await;
    client.write_all(b"CONNECT a.test:443 HTTP/1.1\r\n\r\n").await.unwrap();
    head(&mut client).await;
    drop(proxy);
    let mut rest = Vec::new();
    drop(client.read_to_end(&mut rest).await);
    assert!(rest.is_empty());
}

#[tokio::test]
async fn the_proxy_connects_through_the_proxy_of_the_environment() {
    let site = Site::start(|head| match head.split(' ').next() {
        Some("CONNECT") => Reply::Bytes(b"HTTP/1.1 200 OK\r\n\r\nhello".into()),
        _ => Reply::page("text/plain", "page"),
    })
    .await;
    let upstream = UpstreamProxies::new(|name| {
        (name == "ALL_PROXY").then(|| format!("http://me:secret@{}", site.address))
    });
    let proxy = RunningProxy::new(
        Arc::new(resolving_dialer(Fickle::new(&[]), upstream)),
        &["a.test:443", "a.test:80"],
    );
    assert!(proxy.answer("CONNECT a.test:443 HTTP/1.1\r\n\r\n").await.ends_with("\r\n\r\nhello"));
    assert!(proxy.answer("GET http://a.test/x HTTP/1.1\r\n\r\n").await.ends_with("\r\n\r\npage"));
    let requests = site.requests();
    assert!(requests[0].starts_with("CONNECT a.test:443 HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests[1].starts_with("GET http://a.test/x HTTP/1.1\r\n"), "{requests:?}");
    for request in &requests {
        assert!(
            request.to_ascii_lowercase().contains("proxy-authorization: basic bwu6c2vjcmv0"),
            "{request}"
        );
    }
}

/// A real client, with the environment of commands.
#[tokio::test]
async fn curl_uses_the_proxy_and_reaches_granted_hosts() {
    let site = Site::start(|_| Reply::page("text/plain", "by curl")).await;
    let names = ["a.test", "b.test"].map(|name| (name, site.address));
    let proxy = RunningProxy::new(dialer(&names), &["a.test:80"]);
    let environment = crate::proxy_environment(proxy.address.port(), &Grants::default());
    let curl = |url: &'static str| {
        let mut command = tokio::process::Command::new("curl");
        command.args(["-sS", "--max-time", "20", url]).env_clear().envs(environment.clone());
        command.stdin(Stdio::null()).kill_on_drop(true).output()
    };
    let output = match curl("http://a.test/").await {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIP: curl: {error}");
            return;
        }
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), "by curl", "{output:?}");
    let refused = curl("http://b.test/").await.unwrap();
    assert!(String::from_utf8_lossy(&refused.stdout).contains("--allow-net b.test:80"), "{refused:?}");
    let tunnel = curl("https://b.test/").await.unwrap();
    assert!(
        !tunnel.status.success() && String::from_utf8_lossy(&tunnel.stderr).contains("403"),
        "{tunnel:?}"
    );
}

#[track_caller]
fn check_environment(grants: &[&str], direct: &str) {
    let allow = grants.iter().map(|grant| grant.parse().unwrap()).collect();
    let environment = super::proxy_environment(4567, &Grants { allow, deny: Vec::new() });
    let value = |name: &str| {
        let (_, value) = environment.iter().find(|(found, _)| found == name).unwrap();
        value.to_str().unwrap().to_owned()
    };
    for name in super::PROXY_VARIABLES {
        assert_eq!(value(name), "http://127.0.0.1:4567", "{name}");
    }
    assert_eq!((value("NO_PROXY").as_str(), value("no_proxy").as_str()), (direct, direct));
    assert_eq!(environment.len(), 8);
}

#[test]
fn the_loopback_interface_of_the_commands_is_reached_directly() {
    check_environment(&["example.org:443"], "localhost,127.0.0.1,::1");
}

#[test]
fn a_granted_loopback_address_means_the_host() {
    check_environment(&["127.0.0.1:8080"], "localhost,::1");
}
