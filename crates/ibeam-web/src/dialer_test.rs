use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use ibeam_testkit::ProxyServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::Dialer;
use crate::fixture::{Fickle, LONG_TIMEOUT, PUBLIC_ADDRESS, Reply, Site, pins, resolving_dialer};
use crate::host;
use crate::pin::PinnedHosts;
use crate::upstream_proxy::UpstreamProxies;

/// Checks that a connection to `name` is refused with `detail`.
#[track_caller]
fn check_refused(dialer: &Dialer, name: &str, detail: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(dialer.tunnel(&host::parse_canonical(name).unwrap(), 80)).err().unwrap();
    assert!(error.is_refusal(), "{error}");
    assert!(error.to_string().contains(detail), "{error}");
}

#[test]
fn a_name_with_an_address_that_is_not_public_is_refused() {
    for (addresses, detail) in [
        ("127.0.0.1", "`a.test` leads to 127.0.0.1, a loopback address"),
        ("10.0.0.1", "a private address"),
        ("::ffff:169.254.169.254", "an address of cloud metadata"),
        ("fd00::1", "a private address"),
        ("0.0.0.0", "an unspecified address"),
        // One private address is enough for a refusal: no ordinary name has one.
        ("127.0.0.2 192.168.0.1", "192.168.0.1, a private address"),
    ] {
        let names = Fickle::new(&[addresses]);
        check_refused(&resolving_dialer(names.clone(), UpstreamProxies::none()), "a.test", detail);
        assert_eq!(names.queried_names(), ["a.test"]);
    }
}

#[test]
fn an_address_instead_of_a_name_is_checked_too() {
    let names = Fickle::new(&[]);
    let dialer = resolving_dialer(names.clone(), UpstreamProxies::none());
    check_refused(&dialer, "127.0.0.1", "`127.0.0.1` is a loopback address");
    check_refused(&dialer, "[::1]", "`[::1]` is a loopback address");
    check_refused(&dialer, "169.254.169.254", "--allow-net 169.254.169.254:80");
    assert!(names.queried_names().is_empty());
}

/// DNS rebinding: the first answer is public, and the second answer is loopback.
#[tokio::test]
async fn the_checked_address_is_connected_to_and_the_name_is_resolved_once() {
    let public = TcpListener::bind((PUBLIC_ADDRESS, 0)).await.unwrap();
    let port = public.local_addr().unwrap().port();
    let private = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    let names = Fickle::new(&["127.0.0.2", "127.0.0.1"]);
    let dialer = resolving_dialer(names.clone(), UpstreamProxies::none());
    let host = host::parse_canonical("a.test").unwrap();
    let mut stream = dialer.tunnel(&host, port).await.unwrap();
    let (mut server, _) = public.accept().await.unwrap();
    server.write_all(b"here").await.unwrap();
    let mut received = [0; 4];
    stream.read_exact(&mut received).await.unwrap();
    assert_eq!((&received, names.queried_names().len()), (b"here", 1));

    // The next connection resolves the name again and is refused, without a connection to the private address.
    assert!(dialer.tunnel(&host, port).await.err().unwrap().is_refusal());
    assert_eq!(names.queried_names().len(), 2);
    let mut calls = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(private.poll_accept(&mut calls).is_pending());
}

#[tokio::test]
async fn after_an_address_that_does_not_answer_the_next_one_is_tried() {
    let listener = TcpListener::bind((PUBLIC_ADDRESS, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut dialer = resolving_dialer(Fickle::new(&["127.0.0.3 127.0.0.2"]), UpstreamProxies::none());
    dialer.check = |_| Ok(());
    assert!(dialer.tunnel(&host::parse_canonical("a.test").unwrap(), port).await.is_ok());
}

#[tokio::test]
async fn private_addresses_are_reached_if_pinned_or_granted() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let granted = vec![(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port())];
    let pins = pins(&[("docs.example.test", address)]);
    let dialer = Dialer::new(Fickle::new(&[]), pins, granted, UpstreamProxies::none(), LONG_TIMEOUT);
    let reach =
        async |name: &str, port| dialer.tunnel(&host::parse_canonical(name).unwrap(), port).await.is_ok();
    assert!(reach("127.0.0.1", address.port()).await);
    assert!(!reach("127.0.0.1", address.port() ^ 1).await);
    // The port of the pin replaces the requested one.
    assert!(reach("docs.example.test", 443).await);
    assert!(!reach("a.docs.example.test", 443).await);
}

#[tokio::test]
async fn a_name_server_that_does_not_answer_ends_in_a_timeout() {
    struct Silent;
    impl crate::resolver::Resolver for Silent {
        fn resolve<'a>(
            &'a self,
            _: &'a str,
        ) -> futures_util::future::BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
            Box::pin(std::future::pending())
        }
    }
    let timeout = std::time::Duration::from_millis(20);
    let dialer =
        Dialer::new(Arc::new(Silent), PinnedHosts::default(), Vec::new(), UpstreamProxies::none(), timeout);
    let error = dialer.tunnel(&host::parse_canonical("a.test").unwrap(), 80).await.err().unwrap();
    assert_eq!(error.to_string(), "`a.test` cannot be reached: nothing answered within 0.02 s");
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_an_error() {
    let dialer = resolving_dialer(Fickle::new(&[]), UpstreamProxies::none());
    let error = dialer.connect_plain(&host::parse_canonical("a.test").unwrap(), 80).await.err().unwrap();
    assert_eq!(error.to_string(), "`a.test` has no address: no such name");
    assert!(!error.is_refusal());
}

/// A proxy of the environment resolves names itself.
#[tokio::test]
async fn a_tunnel_uses_the_proxy_of_the_environment() {
    let tunnelled = || Reply::Bytes(b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec());
    let site = Site::start(move |_| tunnelled()).await;
    let proxy = format!("http://me:secret@{}", site.address);
    let names = Fickle::new(&[]);
    let dialer = resolving_dialer(
        names.clone(),
        UpstreamProxies::new(|name| (name == "HTTPS_PROXY").then(|| proxy.clone())),
    );
    let mut received = String::new();
    let mut stream = dialer.tunnel(&host::parse_canonical("a.test").unwrap(), 443).await.unwrap();
    stream.read_to_string(&mut received).await.unwrap();
    assert_eq!(received, "hello");
    let request = site.requests().concat().to_ascii_lowercase();
    assert!(request.starts_with("connect a.test:443 http/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nproxy-authorization: basic bwu6c2vjcmv0\r\n"), "{request}");
    assert!(names.queried_names().is_empty());
}

#[test]
fn a_proxy_receives_no_private_address_and_no_name_of_this_machine() {
    let upstream =
        || UpstreamProxies::new(|name| (name == "ALL_PROXY").then(|| "http://127.0.0.1:9".to_owned()));
    let dialer = resolving_dialer(Fickle::new(&[]), upstream());
    check_refused(&dialer, "169.254.169.254", "an address of cloud metadata");
    check_refused(&dialer, "10.0.0.1", "a private address");
    check_refused(&dialer, "localhost", "is a name of this machine");
    check_refused(&dialer, "a.localhost", "is a name of this machine");
}

#[tokio::test]
async fn a_proxy_that_refuses_or_does_not_answer_is_named_without_its_password() {
    let site = Site::start(|_| Reply::Bytes(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n".to_vec())).await;
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    for (address, detail) in [(site.address, "refused `a.test:443`: 407"), (free, "cannot be reached")] {
        let proxy = format!("http://me:secret@{address}");
        let upstream = UpstreamProxies::new(|name| (name == "HTTPS_PROXY").then(|| proxy.clone()));
        let dialer = resolving_dialer(Fickle::new(&[]), upstream);
        let error =
            dialer.tunnel(&host::parse_canonical("a.test").unwrap(), 443).await.err().unwrap().to_string();
        assert!(
            error.starts_with(&format!("the proxy `http://{address}` that `$HTTPS_PROXY` names {detail}")),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
}

/// Returns a dialer with one name and this proxy for everything.
fn through(proxy: String, names: Arc<Fickle>) -> Dialer {
    resolving_dialer(names, UpstreamProxies::new(move |name| (name == "ALL_PROXY").then(|| proxy.clone())))
}

/// With `socks5`, this program resolves and checks the name; with `socks5h`, the proxy resolves it.
#[tokio::test]
async fn a_socks_proxy_leads_to_names_or_to_checked_addresses() {
    let site = Site::start(|_| Reply::Bytes(b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec())).await;
    let host = host::parse_canonical("a.test").unwrap();
    for (scheme, target) in [("socks5", format!("{PUBLIC_ADDRESS}:80")), ("socks5h", "a.test:80".to_owned())]
    {
        let proxy = ProxyServer::with_credentials(&format!("http://{}", site.address), "me", "p@ss");
        let dialer =
            through(format!("{scheme}://me:p%40ss@{}", proxy.address()), Fickle::new(&["127.0.0.2"]));
        let mut received = String::new();
        let opened = dialer.connect_plain(&host, 80).await.unwrap();
        assert!(opened.route.is_none(), "the request has no absolute URL");
        let mut stream = opened.stream;
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        stream.read_to_string(&mut received).await.unwrap();
        assert!(received.ends_with("hello"), "{received}");
        assert_eq!(proxy.requests(), [format!("SOCKS5 {target}")]);
    }
    let dialer = through("socks5://127.0.0.1:9".to_owned(), Fickle::new(&["10.0.0.1"]));
    assert!(dialer.tunnel(&host, 443).await.err().unwrap().is_refusal());
}

#[tokio::test]
async fn a_socks_proxy_that_refuses_is_named_with_its_variable() {
    let none = ProxyServer::without_targets().address();
    let locked = ProxyServer::with_credentials("http://127.0.0.1:9", "me", "other").address();
    for (proxy, detail) in [
        (format!("socks5h://{none}"), "refused `a.test:443`: SOCKS error: connection refused"),
        (format!("socks5h://me:secret@{locked}"), "credentials not accepted"),
        (format!("socks5h://{locked}"), "SOCKS error"),
        (format!("https://{locked}"), "over TLS"),
        ("nonsense://x".to_owned(), "the proxy variable `$ALL_PROXY` is invalid: the scheme `nonsense`"),
    ] {
        let error =
            through(proxy, Fickle::new(&[])).tunnel(&host::parse_canonical("a.test").unwrap(), 443).await;
        let error = error.err().unwrap().to_string();
        assert!(error.contains(detail) && error.contains("$ALL_PROXY"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
