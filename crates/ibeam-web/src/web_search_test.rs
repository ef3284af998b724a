use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{Access, Stop, Tool, ToolContext};
use ibeam_protocol::{ToolFailure, ToolOutcome, ToolOutput};
use serde_json::json;

use super::{InvalidSearchConfig, PREAMBLE, SearchConfig, SearchKeyReader, WebSearch};
use crate::fetch::TlsConfigFactory;
use crate::fixture::{Reply, Site, dialer};
use crate::search_service::SearchService;

fn no_tls() -> TlsConfigFactory {
    Arc::new(|| Err("no secure connections here".to_owned()))
}

fn key(key: &'static str) -> SearchKeyReader {
    Arc::new(move || Box::pin(async move { Ok(key.to_owned()) }))
}

async fn search(site: &Site, service: SearchService) -> ToolOutcome {
    let dialer = dialer(&[("search.example.test", site.address)]);
    let config = SearchConfig { service, url: "http://search.example.test/api".into(), key: None };
    let tool = WebSearch::new(dialer, no_tls(), config).unwrap();
    let prepared = tool.prepare(&json!({ "query": " a b " })).unwrap();
    assert_eq!(prepared.arguments, json!({ "searchTerm": "a b" }));
    assert_eq!(prepared.access, Access::Fetch { url: "http://search.example.test/api".into() });
    (prepared.run)(ToolContext::new(Stop::default(), Duration::from_secs(60))).await
}

#[track_caller]
fn failure(outcome: ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Failure { failure: ToolFailure::Error { message }, .. } => message.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn results_are_numbered_and_marked_as_content() {
    let answer = json!({ "results": [
        { "title": "A\u{202e}\n b", "url": "https://a.test/x", "content": "first\n\n text" },
        { "title": "B", "url": "https://b.test/" },
    ] });
    let site = Site::start(move |_| Reply::page("application/json", answer.to_string())).await;
    let outcome = search(&site, SearchService::Searxng).await;
    let expect = "1. A<U+202E> b\n   https://a.test/x\n   first text\n\n2. B\n   https://b.test/";
    assert_eq!(&*outcome.for_model(), format!("{PREAMBLE}\n\n{expect}"));
    let ToolOutcome::Success { output: ToolOutput::WebSearch(output), .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(output.content, expect);
    let request = site.requests().concat();
    assert!(request.starts_with("GET /api/search?q=a+b&format=json HTTP/1.1\r\n"), "{request}");
}

#[tokio::test]
async fn a_search_without_results_reports_it() {
    let site = Site::start(|_| Reply::page("application/json", "{}")).await;
    let outcome = search(&site, SearchService::Brave).await;
    assert!(outcome.for_model().ends_with("(nothing was found)"), "{outcome:?}");
}

#[tokio::test]
async fn results_are_bounded() {
    let row = json!({ "title": "t".repeat(5000), "url": "https://a.test/", "content": "c".repeat(50_000) });
    let answer = json!({ "results": vec![row; 15] });
    let site = Site::start(move |_| Reply::page("application/json", answer.to_string())).await;
    let outcome = search(&site, SearchService::Searxng).await;
    assert!(outcome.for_model().len() < 30_000, "{}", outcome.for_model().len());
    let site = Site::start(|_| Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())).await;
    let message = failure(search(&site, SearchService::Searxng).await);
    assert_eq!(message, "the answer of the search service is longer than 1024 kB");
}

#[tokio::test]
async fn answers_that_are_no_results_are_errors() {
    for (reply, expect) in [
        (Reply::page("text/html", "<html>"), "is not what its API documents"),
        (Reply::redirect("http://other.test/"), "answered 302 Found"),
        (
            Reply::Bytes(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n".to_vec()),
            "its key may be missing or wrong",
        ),
        (Reply::Bytes(b"HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n".to_vec()), "answered 429"),
    ] {
        let reply = std::sync::Mutex::new(Some(reply));
        let site = Site::start(move |_| reply.lock().unwrap().take().unwrap()).await;
        let message = failure(search(&site, SearchService::Searxng).await);
        assert!(message.contains(expect), "{message}");
    }
}

#[tokio::test]
async fn a_private_address_without_a_grant_is_refused() {
    let site = Site::start(|_| Reply::page("application/json", "{}")).await;
    let config = SearchConfig {
        service: SearchService::Searxng,
        url: format!("http://{}/", site.address),
        key: Some(key("fake-key-0123456789")),
    };
    let tool = WebSearch::new(dialer(&[]), no_tls(), config).unwrap();
    let prepared = tool.prepare(&json!({ "query": "x" })).unwrap();
    let outcome = (prepared.run)(ToolContext::new(Stop::default(), Duration::from_secs(60))).await;
    let ToolOutcome::Rejected { reason } = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("--allow-net"), "{reason}");
    assert!(site.requests().is_empty());
}

#[test]
fn a_key_is_sent_only_with_encryption() {
    let new = |url: &str, key: Option<SearchKeyReader>| {
        let config = SearchConfig { service: SearchService::Brave, url: url.into(), key };
        WebSearch::new(dialer(&[]), no_tls(), config).map(|_| ())
    };
    assert_eq!(new("https://a.test/", Some(key("k"))), Ok(()));
    assert_eq!(new("http://a.test/", None), Ok(()));
    let error = new("http://a.test/", Some(key("k"))).unwrap_err();
    assert_eq!(error, InvalidSearchConfig::Unencrypted("http://a.test/".into()));
    assert!(matches!(new("ftp://a.test/", None), Err(InvalidSearchConfig::Url(_))));
}

#[test]
fn the_words_are_accepted_under_the_names_that_models_use() {
    let term =
        |arguments| super::search_term(&arguments).map(str::to_owned).map_err(|error| error.to_string());
    assert_eq!(term(json!({ "searchTerm": "a" })), Ok("a".into()));
    assert_eq!(term(json!({ "search_term": "a" })), Ok("a".into()));
    assert!(term(json!({ "query": " " })).unwrap_err().contains("`query` is missing"));
    assert!(term(json!("a")).unwrap_err().contains("not a JSON object"));
    assert!(term(json!({ "query": "a".repeat(401) })).unwrap_err().contains("longer than 400"));
}
