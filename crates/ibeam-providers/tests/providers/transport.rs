//! The transport against a real server, with all its failures.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ibeam_core::{ModelEvent, Provider, ProviderError, Retry};
use ibeam_protocol::{Reason, RequestPart};
use ibeam_providers::known_provider;
use ibeam_providers::protocols::{ANTHROPIC, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, PROTOCOLS};
use ibeam_providers::{Endpoint, HttpProvider, Quirks, Secret, Timeouts, TlsSettings, TransportKind};
use serde_json::json;

use crate::conversation::{request, user};
use crate::replay;
use crate::server::{Act, Server, chunked, open_stream, response};

const TEXT: &str = include_str!("../../fixtures/openai-text.sse");
const CUT: &str = include_str!("../../fixtures/openai-cut.sse");
const NO_DONE: &str = include_str!("../../fixtures/openai-no-done.sse");
const CLAUDE: &str = include_str!("../../fixtures/anthropic-text.sse");
const KEY: &str = "sk-very-secret";

fn endpoint(base_url: &str) -> Endpoint {
    Endpoint {
        provider: "openai".into(),
        protocol: OPENAI_CHAT,
        other_protocol: None,
        on_protocol_change: None,
        on_adaptation: None,
        on_quota: None,
        base_url: base_url.into(),
        key: Some(Secret::new(KEY)),
        key_reader: None,
        key_origin: None,
        proxy: None,
        tls: TlsSettings::default(),
        headers: vec![("x-extra".into(), "yes".into())],
        model: "gpt-x".into(),
        quirks: Quirks::DEFAULT,
        transport: TransportKind::Http,
        timeouts: Timeouts::default(),
        max_output_tokens: None,
        near_models: None,
        cache_key: None,
        reasoning: ibeam_providers::Reasoning::DEFAULT,
        traits: ibeam_providers::ModelTraits::UNKNOWN,
    }
}

/// An endpoint with timeouts that a test can wait for. Only for servers that send nothing, because a busy machine is slow too.
fn with_short_timeouts(base_url: &str) -> Endpoint {
    let short = Duration::from_millis(150);
    let timeouts =
        Timeouts { first_byte: short, idle: short, content_idle: short * 2, ..Timeouts::default() };
    Endpoint { timeouts, ..endpoint(base_url) }
}

async fn ask(provider: &HttpProvider) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let mut stream = provider.stream(Arc::new(request(vec![user("hi")])));
    let mut events = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing follows an error");
                return (events, Some(error));
            }
        }
    }
    assert!(matches!(events.last(), Some(ModelEvent::Finished(_))), "{events:?}");
    (events, None)
}

/// Sends one request and returns its events and its error.
async fn fail(act: Act) -> (Vec<ModelEvent>, ProviderError) {
    fail_with(endpoint, act).await
}

async fn fail_with(endpoint: fn(&str) -> Endpoint, act: Act) -> (Vec<ModelEvent>, ProviderError) {
    let server = Server::start(vec![act]).await;
    let (events, error) = ask(&HttpProvider::new(endpoint(&server.url))).await;
    let error = error.unwrap();
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    (events, error)
}

#[track_caller]
fn check(error: &ProviderError, reason: &Reason, retry: Retry) {
    assert_eq!((&error.failure.reason, &error.retry), (reason, &retry));
}

fn provider() -> String {
    "openai".into()
}

#[tokio::test]
async fn an_answer_is_streamed_and_has_its_request_id() {
    let act = Act::Send(chunked("x-request-id: req_1\r\n", TEXT));
    let server = Server::start(vec![act]).await;
    let (events, error) = ask(&HttpProvider::new(endpoint(&server.url))).await;
    assert_eq!(error, None);
    let Some(ModelEvent::Finished(answer)) = events.last() else { panic!("{events:?}") };
    assert_eq!(answer.request_id.as_deref(), Some("req_1"));
    assert_eq!(replay::lines(events, None).last().unwrap(), "= EndTurn 36+64r+0w/9");
    let seen = server.requests().await.remove(0);
    for line in [
        "post /chat/completions http/1.1",
        "authorization: bearer sk-very-secret",
        "x-extra: yes",
        "user-agent: ibeam/",
        "content-type: application/json",
    ] {
        assert!(seen.contains(line), "{line}\n{seen}");
    }
}

#[tokio::test]
async fn the_messages_api_has_its_own_headers() {
    let server = Server::start(vec![Act::Send(chunked("request-id: req_2\r\n", CLAUDE))]).await;
    let endpoint = Endpoint { protocol: ANTHROPIC, ..endpoint(&server.url) };
    let (events, error) = ask(&HttpProvider::new(endpoint)).await;
    assert_eq!(error, None);
    assert_eq!(replay::lines(events, None).last().unwrap(), "= EndTurn 25+40r+10w/15");
    let seen = server.requests().await.remove(0);
    for line in ["post /v1/messages http/1.1", "x-api-key: sk-very-secret", "anthropic-version: 2023-06-01"] {
        assert!(seen.contains(line), "{line}\n{seen}");
    }
}

#[tokio::test]
async fn azure_gets_its_key_in_its_own_header_and_keeps_the_query_of_its_address() {
    let azure = known_provider("azure").unwrap();
    let answers = [TEXT, include_str!("../../fixtures/responses-tools.sse")];
    let [chat, responses] = [
        (OPENAI_CHAT, "", "post /openai/v1/chat/completions http/1.1"),
        (
            OPENAI_RESPONSES,
            "/openai/deployments/d?api-version=2024-10-21",
            "post /openai/deployments/d/responses?api-version=2024-10-21 http/1.1",
        ),
    ];
    for ((protocol, path, line), answer) in [chat, responses].into_iter().zip(answers) {
        let server = Server::start(vec![Act::Send(chunked("", answer))]).await;
        let base_url = azure.complete_base_url(&format!("{}{path}", server.url));
        let endpoint = Endpoint { protocol, quirks: azure.quirks, ..endpoint(&base_url) };
        let (_, error) = ask(&HttpProvider::new(endpoint)).await;
        assert_eq!(error, None);
        let seen = server.requests().await.remove(0);
        assert!(seen.contains(line) && seen.contains("api-key: sk-very-secret"), "{seen}");
        assert!(!seen.contains("authorization"), "{seen}");
    }
}

#[tokio::test]
async fn requests_share_one_connection() {
    let json = response("200 OK", "content-type: application/json\r\n", r#"{"data":[{"id":"gpt-x"}]}"#);
    let answer = Act::Send(chunked("", TEXT));
    let server = Server::start(vec![answer.clone(), answer, Act::Send(json)]).await;
    let provider = HttpProvider::new(endpoint(&server.url));
    assert_eq!(ask(&provider).await.1, None);
    assert_eq!(ask(&provider).await.1, None);
    assert_eq!(provider.list_models().await.unwrap()[0].id, "gpt-x");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_refused_key_is_retried_once_and_never_shown() {
    let body =
        format!(r#"{{"error":{{"message":"Incorrect key {KEY}\u0007","type":"invalid_request_error"}}}}"#);
    let (_, error) = fail(Act::Send(response("401 Unauthorized", "x-request-id: r\r\n", &body))).await;
    check(
        &error,
        &Reason::KeyRefused { provider: provider(), source: None, detail: "Incorrect key ***".into() },
        Retry::Once,
    );
    assert_eq!((error.failure.http_status, error.failure.request_id.as_deref()), (Some(401), Some("r")));
}

/// Keys are removed from messages, request ids and redirects.
#[tokio::test]
async fn a_key_is_redacted_in_every_encoding() {
    // Plain, and in base64: alone, after `user:` and after `ab:`.
    for form in [KEY, "c2stdmVyeS1zZWNyZXQ=", "dXNlcjpzay12ZXJ5LXNlY3JldA==", "YWI6c2stdmVyeS1zZWNyZXQ="] {
        let body = format!(r#"{{"error":{{"message":"what is {form}?"}}}}"#);
        let header = format!("x-request-id: {form}\r\nlocation: http://{KEY}.example/\r\n");
        for status in ["400 Bad Request", "307 Temporary Redirect"] {
            let (_, error) = fail(Act::Send(response(status, &header, &body))).await;
            let shown = format!("{error:?}");
            for core in [KEY, "c2stdmVyeS1zZWNyZX", "zay12ZXJ5LXNlY3Jld", "6c2stdmVyeS1zZWNyZX"] {
                assert!(!shown.contains(core), "{form}: {shown}");
            }
            assert!(error.failure.request_id.unwrap().contains("***"), "{shown}");
        }
    }
}

#[tokio::test]
async fn an_unknown_model_is_named_and_a_wrong_path_is_a_bad_request() {
    let unknown = Reason::UnknownModel {
        model: "gpt-x".into(),
        provider: Some(provider()),
        near: None,
        also_near: Vec::new(),
    };
    for (status, body) in [
        (
            "404 Not Found",
            r#"{"error":{"message":"The model `gpt-x` does not exist","code":"model_not_found"}}"#,
        ),
        ("404 Not Found", r#"{"type":"error","error":{"type":"not_found_error","message":"model: gpt-x"}}"#),
        ("400 Bad Request", r#"{"error":{"message":"gpt-x is not a valid model ID","code":400}}"#),
        ("404 Not Found", r#"{"error":"model 'gpt-x' not found"}"#),
    ] {
        let (_, error) = fail(Act::Send(response(status, "", body))).await;
        check(&error, &unknown, Retry::Never);
    }
    let (_, error) = fail(Act::Send(response("404 Not Found", "", "404 page not found"))).await;
    let Reason::BadRequest { detail, part: RequestPart::Unknown, .. } = &error.failure.reason else {
        panic!("{error:?}")
    };
    let address = detail.strip_prefix("404 page not found (nothing is at the address `http://127.0.0.1:");
    assert!(address.is_some_and(|rest| rest.ends_with("/chat/completions`)")), "{detail}");
    assert_eq!(error.retry, Retry::Never);
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_not_a_bad_request() {
    // A body that is too large has fewer bytes without its images.
    let in_bytes = Retry::without(ibeam_core::RefusedPart::MediaSize);
    for (status, body, retry) in [
        (
            "400 Bad Request",
            r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
            Retry::Never,
        ),
        (
            "400 Bad Request",
            r#"{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            Retry::Never,
        ),
        (
            "413 Payload Too Large",
            r#"{"error":{"message":"9 tokens per minute are too many"}}"#,
            Retry::Never,
        ),
        ("413 Payload Too Large", "{}", in_bytes),
    ] {
        let (_, error) = fail(Act::Send(response(status, "", body))).await;
        assert!(matches!(error.failure.reason, Reason::ContextTooLong { .. }), "{error:?}");
        assert_eq!(error.retry, retry);
    }
    let (_, error) = fail(Act::Send(response("422 Unprocessable", "", r#"{"detail":"bad role"}"#))).await;
    let (detail, part) = ("bad role".into(), RequestPart::Unknown);
    let retry = Retry::without(ibeam_core::RefusedPart::Unknown);
    check(&error, &Reason::BadRequest { provider: provider(), detail, part }, retry);
}

#[tokio::test]
async fn refused_thinking_is_a_bad_request_that_may_succeed_without_it() {
    let message = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
                   conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \
                   \"drop_block\". [system]";
    let error = json!({ "type": "invalid_request_error", "message": message });
    let body = json!({ "type": "error", "error": error }).to_string();
    let part = RequestPart::Reasoning;
    let expect = Reason::BadRequest { provider: provider(), detail: message.to_owned(), part };
    for protocol in PROTOCOLS {
        let server = Server::start(vec![Act::Send(response("400 Bad Request", "", &body))]).await;
        let endpoint = Endpoint { protocol: *protocol, ..endpoint(&server.url) };
        let (_, error) = ask(&HttpProvider::new(endpoint)).await;
        check(&error.unwrap(), &expect, Retry::without(ibeam_core::RefusedPart::Thinking));
    }
}

#[tokio::test]
async fn a_rate_limit_has_its_wait_and_an_exhausted_quota_is_not_retried() {
    let body = r#"{"error":{"message":"slow down","type":"rate_limit_exceeded"}}"#;
    let limited = Reason::RateLimited { provider: provider(), detail: "slow down".into() };
    for (header, wait) in
        [("retry-after: 2\r\n", Some(2000)), ("retry-after: -5\r\n", None), ("retry-after: 2²\r\n", None)]
    {
        let (_, error) = fail(Act::Send(response("429 Too Many Requests", header, body))).await;
        check(&error, &limited, Retry::Backoff);
        assert_eq!(error.failure.retry_after_ms, wait, "{header}");
    }
    let empty = r#"{"error":{"message":"no money","type":"insufficient_quota"}}"#;
    let (_, error) = fail(Act::Send(response("429 Too Many Requests", "", empty))).await;
    check(&error, &Reason::QuotaExhausted { provider: provider(), detail: "no money".into() }, Retry::Never);
}

#[tokio::test]
async fn gemini_has_its_wait_in_the_body_and_its_errors_in_a_list() {
    let endpoint = |base_url: &str| Endpoint { protocol: GEMINI, ..endpoint(base_url) };
    let error = r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34.4s"}]}}"#;
    let limited = Reason::RateLimited { provider: provider(), detail: "slow down".into() };
    for body in [error, &format!("[{error}]")] {
        for (header, wait) in [("", 34_400), ("retry-after: 2\r\n", 2000)] {
            let act = Act::Send(response("429 Too Many Requests", header, body));
            let (_, error) = fail_with(endpoint, act).await;
            check(&error, &limited, Retry::Backoff);
            assert_eq!(error.failure.retry_after_ms, Some(wait), "{body}");
        }
    }
}

#[tokio::test]
async fn a_failing_service_is_retried_with_backoff_and_its_page_is_cut_to_its_title() {
    let page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    for (status, body, detail) in [
        ("500 Internal Server Error", r#"{"error":{"message":"oops"}}"#, "oops"),
        ("502 Bad Gateway", page, "502 Bad Gateway"),
        ("502 Bad Gateway", "<html><title>Sorry</title></html>", "HTTP status 502: Sorry"),
        ("502 Bad Gateway", "<html><body>nginx</body></html>", "HTTP status 502: an HTML page"),
        ("503 Service Unavailable", "upstream connect error", "HTTP status 503: upstream connect error"),
        ("529 Overloaded", "", "HTTP status 529"),
    ] {
        let (_, error) = fail(Act::Send(response(status, "", body))).await;
        check(
            &error,
            &Reason::ProviderFailed { provider: provider(), detail: detail.into() },
            Retry::Backoff,
        );
    }
}

#[tokio::test]
async fn an_error_with_a_status_of_success_is_an_error() {
    let overloaded = r#"{"error":{"message":"busy","code":503}}"#;
    let (_, error) = fail(Act::Send(response("200 OK", "", overloaded))).await;
    check(&error, &Reason::ProviderFailed { provider: provider(), detail: "busy".into() }, Retry::Backoff);
    assert_eq!(error.failure.http_status, None);
    let (_, error) = fail(Act::Send(response("200 OK", "", "<html><title>Login</title></html>"))).await;
    let Reason::ProviderFailed { detail, .. } = &error.failure.reason else { panic!("{error:?}") };
    assert!(
        detail.starts_with("a web page came instead of an answer") && detail.ends_with(": Login"),
        "{detail}"
    );
    assert_eq!(error.retry, Retry::Once);
}

#[tokio::test]
async fn a_stream_cut_before_its_end_is_truncated_after_its_text() {
    let truncated = Reason::AnswerTruncated { provider: provider() };
    for bytes in [open_stream(CUT), open_stream(""), chunked("", CUT)] {
        let (_, error) = fail(Act::SendAndClose(bytes)).await;
        check(&error, &truncated, Retry::Fast);
    }
    let (events, _) = fail(Act::SendAndClose(open_stream(CUT))).await;
    assert_eq!(replay::lines(events, None), ["text Hi", "text  the"]);
}

#[tokio::test]
async fn a_stall_is_reported_in_every_phase() {
    let silent = fail_with(with_short_timeouts, Act::SendAndHold(String::new())).await.1;
    let mid_stream = fail_with(with_short_timeouts, Act::SendAndHold(open_stream(CUT))).await.1;
    for error in [silent, mid_stream] {
        check(&error, &Reason::Stalled { provider: provider(), waited_ms: 150 }, Retry::Fast);
    }
}

/// The time between two reads does not count as silence of the service.
#[tokio::test]
async fn time_between_two_reads_is_not_a_stall() {
    let bound = Duration::from_secs(2);
    let text = TEXT.find("Hello").unwrap();
    let (first, rest) = TEXT.split_at(text + TEXT[text..].find("\n\n").unwrap() + 2);
    // The rest arrives after the timeout, but soon after the next read.
    let act = Act::SendInTwo(open_stream(first), bound + Duration::from_millis(1500), rest.to_owned());
    let server = Server::start(vec![act]).await;
    let timeouts = Timeouts { content_idle: bound, ..Timeouts::default() };
    let provider = HttpProvider::new(Endpoint { timeouts, ..endpoint(&server.url) });
    let mut stream = provider.stream(Arc::new(request(vec![user("hi")])));
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::TextDelta(_)))));
    tokio::time::sleep(bound + Duration::from_secs(1)).await;
    let mut last = None;
    while let Some(item) = stream.next().await {
        last = Some(item.unwrap());
    }
    assert!(matches!(last, Some(ModelEvent::Finished(_))), "{last:?}");
}

#[tokio::test]
async fn pings_keep_a_stream_alive_only_for_a_limited_time() {
    let (_, error) = fail_with(with_short_timeouts, Act::SendAndPing(open_stream(CUT))).await;
    check(&error, &Reason::Stalled { provider: provider(), waited_ms: 300 }, Retry::Fast);
}

#[tokio::test]
async fn an_answer_is_complete_although_the_server_keeps_the_connection_open() {
    for bytes in [open_stream(TEXT), open_stream(NO_DONE)] {
        let server = Server::start(vec![Act::SendAndHold(bytes)]).await;
        assert_eq!(ask(&HttpProvider::new(endpoint(&server.url))).await.1, None);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let headers = "location: http://elsewhere.example/v1?key=1\r\n";
    let (_, error) = fail(Act::Send(response("307 Temporary Redirect", headers, ""))).await;
    assert_eq!(error.retry, Retry::Never);
    let Reason::Unreachable { detail, .. } = error.failure.reason else { panic!("{error:?}") };
    assert_eq!(detail, "redirected to http://elsewhere.example, which is not followed");
}

#[tokio::test]
async fn a_refused_connection_is_reported_with_its_address() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (_, error) = ask(&HttpProvider::new(endpoint(&format!("http://{free}")))).await;
    let error = error.unwrap();
    assert_eq!(error.retry, Retry::Fast);
    let Reason::Unreachable { address, detail } = &error.failure.reason else { panic!("{error:?}") };
    assert_eq!(*address, free.to_string());
    assert!(detail.contains("refused"), "{detail}");
}

#[tokio::test]
async fn plain_http_on_the_tls_port_is_a_tls_error() {
    let server = Server::start(Vec::new()).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let plain = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, plain).await.unwrap();
        let mut rest = Vec::new();
        let _gone = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest).await;
    });
    let (_, error) = ask(&HttpProvider::new(endpoint(&format!("https://{address}")))).await;
    let error = error.unwrap();
    assert_eq!(error.failure.reason, Reason::NoTls { address: address.to_string() });
    assert_eq!((error.retry, server.connections()), (Retry::Never, 0));
}

#[tokio::test]
async fn a_key_with_invalid_characters_fails_before_anything_is_sent() {
    let endpoint = Endpoint { key: Some(Secret::new("a\nb")), ..endpoint("http://127.0.0.1:9") };
    let (_, error) = ask(&HttpProvider::new(endpoint)).await;
    assert!(matches!(error.unwrap().failure.reason, Reason::BadRequest { .. }));
}

#[tokio::test]
async fn an_endless_event_ends_the_answer() {
    let endless = open_stream(&format!("data: {}", "x".repeat(17 * 1024 * 1024)));
    let (_, error) = fail(Act::SendAndHold(endless)).await;
    let detail = "an event is longer than 16777216 bytes".into();
    check(&error, &Reason::ProviderFailed { provider: provider(), detail }, Retry::Once);
}

/// A compressed body of a few kilobytes can expand without end. A retry would not help.
#[tokio::test]
async fn endless_blanks_or_comments_end_the_answer_without_a_retry() {
    for unit in [" ", "\n", ": xyz\n", "event: x\n"] {
        let endless = open_stream(&unit.repeat(4 * 1024 * 1024 / unit.len()));
        let (_, error) = fail(Act::SendAndHold(endless)).await;
        let detail = "its answer has more than 1048576 bytes without an event".into();
        check(&error, &Reason::ProviderFailed { provider: provider(), detail }, Retry::Never);
    }
}
