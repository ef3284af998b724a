use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ibeam_core::{Access, Stop, Tool, ToolContext};
use ibeam_protocol::{Reason, ToolFailure, ToolOutcome, ToolOutput};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::WebFetch;
use crate::dialer::{AbortOnDrop, Dialer};
use crate::fetch::{FetchLimits, TlsConfigFactory, UrlPolicy};
use crate::fixture::{Fickle, PUBLIC_ADDRESS, Reply, Site, dialer, resolving_dialer, serve_client};
use crate::upstream_proxy::UpstreamProxies;

fn no_tls() -> TlsConfigFactory {
    Arc::new(|| Err("no secure connections here".to_owned()))
}

/// Returns a policy that allows no URL, so that only the requested host is fetched.
fn strict() -> UrlPolicy {
    Arc::new(|_| false)
}

fn tool(dialer: Arc<Dialer>) -> WebFetch {
    WebFetch::new(dialer, strict(), no_tls(), FetchLimits::default())
}

async fn run(tool: &WebFetch, url: &str) -> ToolOutcome {
    run_until(tool, url, Stop::default()).await
}

async fn run_until(tool: &WebFetch, url: &str, stop: Stop) -> ToolOutcome {
    let prepared = tool.prepare(&json!({ "url": url })).unwrap();
    (prepared.run)(ToolContext::new(stop, Duration::from_secs(60))).await
}

/// Returns the URL and the text of a page.
#[track_caller]
fn page(outcome: ToolOutcome) -> (String, String) {
    match outcome {
        ToolOutcome::Success { output: ToolOutput::WebFetch(page), .. } => (page.url, page.markdown),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn failure(outcome: ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Failure { failure: ToolFailure::Error { message }, .. } => message.to_string(),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refusal(outcome: ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Rejected { reason } => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_page_is_returned_as_markdown_and_the_request_does_not_identify_the_user() {
    let site = Site::start(|_| Reply::page("text/html", "<h1>Docs</h1><p>Read <a href=/b>b</a>.")).await;
    let tool = tool(dialer(&[("docs.example.test", site.address)]));
    let (url, markdown) = page(run(&tool, "http://docs.example.test/a?q=1#part").await);
    assert_eq!(
        (url.as_str(), markdown.as_str()),
        ("http://docs.example.test/a?q=1", "# Docs\n\nRead [b](http://docs.example.test/b).",)
    );
    let request = site.requests().concat();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(request.lines().next(), Some("GET /a?q=1 HTTP/1.1"));
    let mut names: Vec<_> = request.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
    assert!(request.contains("host: docs.example.test\r\n"), "{request}");
    assert!(request.contains(&format!("user-agent: ibeam/{version}\r\n")), "{request}");
}

#[tokio::test]
async fn redirects_of_a_host_are_followed_and_the_result_names_the_last_url() {
    let site = Site::start(|head| match head.split(' ').nth(1) {
        Some("/one") => Reply::redirect("/two"),
        Some("/two") => Reply::redirect("http://docs.example.test:443/three"),
        _ => Reply::page("text/plain", "here"),
    })
    .await;
    let tool = tool(dialer(&[("docs.example.test", site.address)]));
    let outcome = run(&tool, "http://docs.example.test/one").await;
    assert_eq!(&*outcome.for_model(), "(from http://docs.example.test:443/three)\n\nhere");
    assert_eq!(page(outcome).0, "http://docs.example.test:443/three");
}

#[tokio::test]
async fn a_redirect_to_another_port_needs_a_rule() {
    let site = Site::start(|head| match head.split(' ').nth(1) {
        Some("/one") => Reply::redirect("http://docs.example.test:6379/"),
        _ => Reply::page("text/plain", "here"),
    })
    .await;
    let dialer = dialer(&[("docs.example.test", site.address)]);
    let reason = refusal(run(&tool(Arc::clone(&dialer)), "http://docs.example.test/one").await);
    assert!(reason.contains("`http://docs.example.test:6379/`, which no rule allows"), "{reason}");
    assert_eq!(site.requests().len(), 1);
    let url_policy: UrlPolicy = Arc::new(|url| url == "http://docs.example.test:6379/");
    let open = WebFetch::new(dialer, url_policy, no_tls(), FetchLimits::default());
    assert_eq!(page(run(&open, "http://docs.example.test/one").await).1, "here");
}

#[tokio::test]
async fn a_redirect_to_another_host_needs_a_rule() {
    let far = Site::start(|_| Reply::page("text/plain", "far")).await;
    let near = Site::start(|_| Reply::redirect("http://far.test/x")).await;
    let dialer = dialer(&[("near.test", near.address), ("far.test", far.address)]);
    let reason = refusal(run(&tool(Arc::clone(&dialer)), "http://near.test/").await);
    assert!(
        reason.contains("`http://near.test/` redirects to `http://far.test/x`, which no rule allows"),
        "{reason}"
    );
    assert!(far.requests().is_empty());

    let checked_urls = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&checked_urls);
    let url_policy: UrlPolicy = Arc::new(move |url| {
        seen.lock().unwrap().push(url.to_owned());
        true
    });
    let open = WebFetch::new(dialer, url_policy, no_tls(), FetchLimits::default());
    assert_eq!(page(run(&open, "http://near.test/").await), ("http://far.test/x".into(), "far".into()));
    assert_eq!(*checked_urls.lock().unwrap(), ["http://far.test/x"]);
}

#[tokio::test]
async fn a_redirect_to_a_forbidden_url_is_refused_whatever_the_rules_allow() {
    for (to, detail) in [
        ("http://169.254.169.254/latest/meta-data/", "an address of cloud metadata"),
        ("http://2852039166/", "an address of cloud metadata"),
        ("http://[::ffff:a9fe:a9fe]/", "an address of cloud metadata"),
        ("http://127.0.0.1:22/", "a loopback address"),
        ("http://10.0.0.1/", "a private address"),
        ("file:///etc/passwd", "`file` URLs are not fetched"),
        ("gopher://a.test/", "`gopher` URLs are not fetched"),
        ("javascript:alert(1)", "`javascript` URLs are not fetched"),
        ("http://me:secret@near.test/", "a user or password"),
    ] {
        let near = Site::start(move |_| Reply::redirect(to)).await;
        let dialer = dialer(&[("near.test", near.address)]);
        let tool = WebFetch::new(dialer, Arc::new(|_| true), no_tls(), FetchLimits::default());
        let reason = refusal(run(&tool, "http://near.test/").await);
        assert!(reason.contains(detail), "{to}: {reason}");
    }
}

#[tokio::test]
async fn a_redirect_loop_ends() {
    let site = Site::start(|_| Reply::redirect("/again")).await;
    let message = failure(run(&tool(dialer(&[("a.test", site.address)])), "http://a.test/").await);
    assert_eq!(message, "`http://a.test/` redirects more than 5 times");
    assert_eq!(site.requests().len(), 6);
}

/// DNS rebinding: the second answer of the name server is loopback.
#[tokio::test]
async fn a_name_is_resolved_once_per_connection() {
    let site = Site::at(PUBLIC_ADDRESS, 0, |_| Reply::page("text/plain", "public")).await;
    let private =
        Site::at([127, 0, 0, 1].into(), site.address.port(), |_| Reply::page("text/plain", "private"));
    let private = private.await;
    let names = Fickle::new(&["127.0.0.2", "127.0.0.1"]);
    let tool = tool(Arc::new(resolving_dialer(names.clone(), UpstreamProxies::none())));
    let url = format!("http://a.test:{}/", site.address.port());
    assert_eq!(page(run(&tool, &url).await).1, "public");
    assert_eq!(names.queried_names().len(), 1);
    let reason = refusal(run(&tool, &url).await);
    assert!(reason.contains("`a.test` leads to 127.0.0.1, a loopback address"), "{reason}");
    assert!(private.requests().is_empty());
}

#[tokio::test]
async fn responses_that_are_not_pages_are_reported() {
    for (reply, detail) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx", "`http://a.test/` answered 404 Not Found"),
        ("HTTP/1.1 304 Not Modified\r\n\r\n", "answered 304"),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", "encoded as `gzip`"),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 1\r\n\r\nx",
            "is image/png, not text",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "the connection to `a.test` failed"),
        ("not HTTP at all\r\n\r\n", "the connection to `a.test` failed"),
        ("", "the connection to `a.test` failed"),
    ] {
        let site = Site::start(move |_| Reply::Bytes(reply.into())).await;
        let message = failure(run(&tool(dialer(&[("a.test", site.address)])), "http://a.test/").await);
        assert!(message.contains(detail), "{reply:?}: {message}");
    }
}

fn short(limits: FetchLimits) -> FetchLimits {
    let brief = Duration::from_millis(200);
    FetchLimits { response_timeout: brief, idle_timeout: brief, ..limits }
}

#[tokio::test]
async fn a_server_that_stops_sending_ends_in_a_timeout() {
    for reply in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbegin"] {
        let site = Site::start(move |_| Reply::Silence(reply.into())).await;
        let dialer = dialer(&[("a.test", site.address)]);
        let tool = WebFetch::new(dialer, strict(), no_tls(), short(FetchLimits::default()));
        let message = failure(run(&tool, "http://a.test/").await);
        assert_eq!(message, "`http://a.test/` took longer than 0.2 s", "{reply:?}");
    }
}

#[tokio::test]
async fn an_endless_page_is_read_up_to_the_limit() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
    for (length, note) in [
        ("", "the rest of the page was not read"),
        ("Content-Length: 99999999999\r\n", "the rest of the page was not read"),
    ] {
        let head = format!("{head}{length}\r\n");
        let site = Site::start(move |_| Reply::Endless(head.clone().into())).await;
        let limits = FetchLimits { body_bytes: 300_000, text_bytes: 1_000, ..FetchLimits::default() };
        let tool = WebFetch::new(dialer(&[("a.test", site.address)]), strict(), no_tls(), limits);
        let (_, text) = page(run(&tool, "http://a.test/").await);
        let expect =
            format!("{}\n\n[299000 bytes of the text are left out, and {note}]\n", "x".repeat(1_000));
        assert_eq!(text, expect);
    }
}

#[tokio::test]
async fn an_endless_response_head_is_an_error() {
    let site = Site::start(|_| Reply::Endless(b"HTTP/1.1 200 OK\r\nA: ".to_vec())).await;
    let message = failure(run(&tool(dialer(&[("a.test", site.address)])), "http://a.test/").await);
    assert!(message.contains("the connection to `a.test` failed"), "{message}");
}

#[tokio::test]
async fn a_stop_request_ends_the_fetch_at_once() {
    let site = Site::start(|_| Reply::Silence(Vec::new())).await;
    let tool = tool(dialer(&[("a.test", site.address)]));
    let stop = Stop::default();
    let mut running = std::pin::pin!(run_until(&tool, "http://a.test/", stop.clone()));
    while site.requests().is_empty() {
        tokio::select! {
            _ = &mut running => panic!("it ended"),
            () = tokio::task::yield_now() => {}
        }
    }
    stop.request(Reason::Refused);
    let outcome = running.await;
    assert!(matches!(outcome, ToolOutcome::Failure { failure: ToolFailure::Interrupted, .. }), "{outcome:?}");
}

#[tokio::test]
async fn plain_pages_are_requested_from_the_proxy_of_the_environment_with_absolute_urls() {
    let site = Site::start(|_| Reply::page("text/plain", "by proxy")).await;
    let proxy = format!("http://me:secret@{}", site.address);
    let names = Fickle::new(&[]);
    let dialer = resolving_dialer(
        names.clone(),
        UpstreamProxies::new(|name| (name == "http_proxy").then(|| proxy.clone())),
    );
    let tool = tool(Arc::new(dialer));
    assert_eq!(page(run(&tool, "http://docs.example.test/a").await).1, "by proxy");
    let request = site.requests().concat().to_ascii_lowercase();
    assert!(request.starts_with("get http://docs.example.test/a http/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nproxy-authorization: basic bwu6c2vjcmv0\r\n"), "{request}");
    assert!(names.queried_names().is_empty());
    let reason = refusal(run(&tool, "http://169.254.169.254/").await);
    assert!(reason.contains("cloud metadata"), "{reason}");
}

/// Starts a TLS server with a certificate for `name`, and returns a configuration that trusts it.
async fn secure(name: &str) -> (SocketAddr, AbortOnDrop, TlsConfigFactory) {
    let own = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let provider = || Arc::new(rustls::crypto::ring::default_provider());
    let certificate = own.cert.der().clone();
    let key = own.signing_key.serialize_der().try_into().unwrap();
    let server =
        ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let server = server.with_no_client_auth().with_single_cert(vec![certificate.clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = AbortOnDrop::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            if let Ok(client) = acceptor.accept(client).await {
                let page = |_: &str| Reply::page("text/plain", "secure");
                drop(serve_client(client, &Mutex::default(), &page).await);
            }
        }
    });
    let tls: TlsConfigFactory = Arc::new(move || {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).map_err(|error| error.to_string())?;
        let client = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let client = client.map_err(|error| error.to_string())?;
        Ok(client.with_root_certificates(roots).with_no_client_auth())
    });
    (address, task, tls)
}

#[tokio::test]
async fn a_secure_page_needs_a_certificate_for_its_name() {
    let (address, _server, tls) = secure("docs.example.test").await;
    let dialer = dialer(&[("docs.example.test", address), ("other.test", address)]);
    let tool = WebFetch::new(dialer, strict(), tls, FetchLimits::default());
    assert_eq!(page(run(&tool, "https://docs.example.test/").await).1, "secure");
    let message = failure(run(&tool, "https://other.test/").await);
    assert!(message.starts_with("no secure connection to `other.test`: "), "{message}");
}

#[track_caller]
fn check_arguments(arguments: Value, expect: Result<&str, &str>) {
    let tool = tool(dialer(&[]));
    let prepared = tool.prepare(&arguments);
    match expect {
        Ok(url) => {
            let prepared = prepared.unwrap();
            assert_eq!(prepared.arguments, json!({ "url": url }));
            assert_eq!(prepared.access, Access::Fetch { url: url.to_owned() });
        }
        Err(message) => {
            let error = prepared.unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}

#[test]
fn the_url_is_accepted_under_the_names_that_models_use() {
    check_arguments(json!({ "url": " http://a.test/ ", "prompt": "what" }), Ok("http://a.test/"));
    check_arguments(json!({ "uri": "http://a.test/" }), Ok("http://a.test/"));
    check_arguments(json!({}), Err("`url` is missing"));
    check_arguments(json!({ "url": 1 }), Err("`url` is missing or not a string"));
    check_arguments(json!({ "url": " " }), Err("a call looks like {\"url\": "));
    check_arguments(json!("http://a.test/"), Err("not a JSON object"));
}
