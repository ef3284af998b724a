//! The batch APIs, against a server that has all three.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::{Duration, SystemTime};

use ibeam_core::{ModelEvent, Retry};
use ibeam_protocol::{Block, StopReason};
use ibeam_providers::batch::{
    BatchApi, BatchClient, BatchContent, BatchEnd, BatchError, BatchId, BatchState, FoundBatch, PartOutcome,
    batch_api, remove_stream_keys,
};
use ibeam_providers::protocols::{ANTHROPIC, COHERE, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES};
use ibeam_providers::wire_protocol::RequestSettings;
use ibeam_providers::{
    BodyDecoder, Endpoint, Quirks, Secret, Timeouts, TlsSettings, TransportKind, WireProtocol,
    build_request_body,
};
use ibeam_testkit::{Answer, BatchServer, PartAnswer, Request};
use serde_json::json;

use crate::conversation::{request, user};

/// The protocols with batches, and the paths of their base URLs.
const WIRES: [(&dyn WireProtocol, &str); 4] =
    [(ANTHROPIC, ""), (OPENAI_CHAT, "/v1"), (OPENAI_RESPONSES, "/v1"), (GEMINI, "/v1beta")];

fn endpoint(protocol: &'static dyn WireProtocol, base_url: String) -> Endpoint {
    Endpoint {
        provider: "scripted".into(),
        protocol,
        other_protocol: None,
        on_protocol_change: None,
        on_adaptation: None,
        on_quota: None,
        base_url,
        key: Some(Secret::new("sk-very-secret")),
        key_reader: None,
        key_origin: None,
        proxy: None,
        tls: TlsSettings::default(),
        headers: Vec::new(),
        model: "scripted-1".into(),
        quirks: Quirks::DEFAULT,
        transport: TransportKind::Http,
        timeouts: Timeouts { first_byte: Duration::from_secs(20), ..Timeouts::default() },
        max_output_tokens: None,
        near_models: None,
        cache_key: None,
        reasoning: ibeam_providers::Reasoning::DEFAULT,
        traits: ibeam_providers::ModelTraits::UNKNOWN,
    }
}

fn client(protocol: &'static dyn WireProtocol, path: &str, server: &BatchServer) -> BatchClient {
    BatchClient::new(endpoint(protocol, format!("{}{path}", server.url()))).unwrap()
}

struct InMemory(Vec<u8>);

impl BatchContent for InMemory {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(io::Cursor::new(self.0.clone())))
    }
}

/// Returns a batch of prompts, whose ids are `part-0`, `part-1`, ….
fn batch(protocol: &dyn WireProtocol, prompts: &[String]) -> InMemory {
    let api = batch_api(protocol).unwrap();
    let encoding = api.encoding();
    let mut content = encoding.prefix.to_vec();
    for (number, prompt) in prompts.iter().enumerate() {
        let body = build_request_body(
            protocol,
            &request(vec![user(prompt)]),
            &RequestSettings::for_unknown_model("scripted-1"),
        );
        let body = remove_stream_keys(&body.unwrap()).unwrap();
        if number > 0 {
            content.extend_from_slice(encoding.separator);
        }
        api.write_request(&format!("part-{number}"), &body, &mut content);
    }
    content.extend_from_slice(encoding.suffix);
    InMemory(content)
}

fn prompts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Answers each prompt by its text.
fn plan(_: &str, request: &Request) -> PartAnswer {
    let prompt = request.transcript().pop().unwrap_or_default();
    match prompt.rsplit(' ').next().unwrap_or_default() {
        "overloaded" => PartAnswer::Error(529, "overloaded_error", "the service is overloaded"),
        "invalid" => PartAnswer::Error(400, "invalid_request_error", "the request is not valid"),
        "expired" => PartAnswer::Expired,
        "cancelled" => PartAnswer::Cancelled,
        "call" => Answer::new().text("I look.").call("call_1", "read", &json!({ "path": "a" })).into(),
        word => Answer::new().text(format!("the answer to {word}")).into(),
    }
}

async fn ended(client: &BatchClient, id: &BatchId) -> ibeam_providers::batch::EndedBatch {
    match client.state(id).await.unwrap() {
        BatchState::Ended(ended) => ended,
        BatchState::InProgress => panic!("the batch is in progress"),
    }
}

/// Reads all results; a request without a result ended as its batch did.
async fn results(client: &BatchClient, id: &BatchId) -> BTreeMap<String, PartOutcome> {
    let ended = ended(client, id).await;
    let mut results = BTreeMap::new();
    client
        .results(&ended, &mut |result| {
            assert!(results.insert(result.id, result.outcome).is_none(), "one result for each request");
            Ok(())
        })
        .await
        .unwrap();
    results
}

/// Decodes an answer as that of a request without a batch.
fn decode(protocol: &'static dyn WireProtocol, document: &str) -> ibeam_protocol::Answer {
    let request = request(vec![user("hi")]);
    let mut decoder = BodyDecoder::new(protocol, protocol.decoder(&request, Quirks::DEFAULT));
    let mut events = Vec::new();
    decoder.decode_chunk(document.as_bytes(), &mut events).unwrap();
    decoder.finish(&mut events).unwrap();
    match events.pop() {
        Some(ModelEvent::Finished(answer)) => *answer,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_request_of_a_batch_gets_its_own_outcome() {
    for (protocol, path) in WIRES {
        let server = BatchServer::start(plan);
        server.end_after(1);
        let client = client(protocol, path, &server);
        let texts = prompts(&["one", "overloaded", "a call", "invalid", "two"]);
        let id = client.submit(&batch(protocol, &texts), "label-1").await.unwrap();
        assert_eq!(client.state(&id).await.unwrap(), BatchState::InProgress, "{protocol:?}");
        let results = results(&client, &id).await;
        assert_eq!(results.len(), texts.len(), "{protocol:?}");
        let answer = |number: usize| match &results[&format!("part-{number}")] {
            PartOutcome::Succeeded(document) => decode(protocol, document),
            other => panic!("{protocol:?}: {other:?}"),
        };
        let failure = |number: usize| match &results[&format!("part-{number}")] {
            PartOutcome::Failed(failure) => failure.clone(),
            other => panic!("{protocol:?}: {other:?}"),
        };
        assert_eq!(answer(0).blocks, [Block::Text("the answer to one".into())]);
        assert_eq!(answer(4).blocks, [Block::Text("the answer to two".into())]);
        assert_eq!((answer(0).stop, answer(0).usage.unwrap().input), (StopReason::EndTurn, 100));
        assert_eq!((answer(2).stop.clone(), answer(2).calls().count()), (StopReason::ToolUse, 1));
        let overloaded = failure(1);
        assert_eq!(overloaded.error.retry, Retry::Backoff, "{protocol:?}: {overloaded:?}");
        let invalid = failure(3);
        assert!(invalid.error.retry.needs_another_request(), "{protocol:?}: {invalid:?}");
        assert!(invalid.error.failure.reason.detail().contains("not valid"), "{invalid:?}");
        assert!(invalid.document.contains("not valid"), "{invalid:?}");
        let accepted = &server.batches()[0];
        assert_eq!(accepted.requests.len(), 5);
        assert_eq!(accepted.label.is_some(), batch_api(protocol).unwrap().has_labels());
    }
}

#[tokio::test]
async fn expired_and_cancelled_requests_are_recognised() {
    for (protocol, path) in WIRES.into_iter().filter(|(protocol, _)| protocol.name() != "gemini") {
        let server = BatchServer::start(plan);
        let client = client(protocol, path, &server);
        let content = batch(protocol, &prompts(&["expired", "one", "cancelled"]));
        let id = client.submit(&content, "label-1").await.unwrap();
        let results = results(&client, &id).await;
        assert_eq!(results["part-0"], PartOutcome::Expired, "{protocol:?}");
        assert_eq!(results["part-2"], PartOutcome::Cancelled, "{protocol:?}");
        assert!(matches!(results["part-1"], PartOutcome::Succeeded(_)), "{protocol:?}");
    }
}

#[tokio::test]
async fn a_batch_whose_reply_was_lost_is_found_and_no_other() {
    for (protocol, path) in WIRES {
        let server = BatchServer::start(plan);
        let client = client(protocol, path, &server);
        let since = SystemTime::now();
        let find = async |label: &str| {
            let is_part = |id: &str| id == "part-0" || id == "part-1";
            client.find(label, 2, since, &is_part, &|_| false).await.unwrap()
        };
        assert_eq!(find("label-1").await, FoundBatch::Missing, "{protocol:?}");
        let other = client.submit(&batch(protocol, &prompts(&["a", "b", "c"])), "label-0").await.unwrap();
        assert_eq!(find("label-1").await, FoundBatch::Missing, "{protocol:?}: another batch");
        server.lose_next_reply();
        let content = batch(protocol, &prompts(&["one", "two"]));
        let lost = client.submit(&content, "label-1").await;
        assert!(matches!(lost, Err(BatchError::Service(_))), "{protocol:?}: {lost:?}");
        let id = BatchId::new(&server.batches()[1].id).unwrap();
        assert_ne!(id, other);
        if batch_api(protocol).unwrap().has_labels() {
            server.hold(true);
            assert_eq!(find("label-1").await, FoundBatch::Submitted(id), "{protocol:?}");
        } else {
            server.hold(true);
            assert_eq!(find("label-1").await, FoundBatch::Unknown(id.clone()), "{protocol:?}");
            let known = client.find("label-1", 2, since, &|_| true, &|other| *other == id).await.unwrap();
            assert_eq!(known, FoundBatch::Missing, "{protocol:?}: it belongs to another submission");
            server.hold(false);
            assert_eq!(find("label-1").await, FoundBatch::Submitted(id), "{protocol:?}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_batch_has_the_answers_until_then() {
    for (protocol, path) in WIRES {
        let server = BatchServer::start(plan);
        let client = client(protocol, path, &server);
        server.hold(true);
        server.answer_before_cancel(1);
        let id = client.submit(&batch(protocol, &prompts(&["one", "two"])), "label-1").await.unwrap();
        client.cancel(&id).await.unwrap();
        assert_eq!(client.state(&id).await.unwrap(), BatchState::InProgress, "{protocol:?}");
        let results = results(&client, &id).await;
        assert!(matches!(results["part-0"], PartOutcome::Succeeded(_)), "{protocol:?}: {results:?}");
        // A request without a result ended as the batch did.
        let second = results.get("part-1");
        assert!(matches!(second, None | Some(PartOutcome::Cancelled)), "{protocol:?}: {results:?}");
        assert!(client.cancel(&id).await.is_err(), "{protocol:?}: it has ended");
    }
}

#[tokio::test]
async fn a_batch_survives_a_restart_of_its_service() {
    for (protocol, path) in WIRES {
        let mut server = BatchServer::start(plan);
        let client = client(protocol, path, &server);
        let id = client.submit(&batch(protocol, &prompts(&["one"])), "label-1").await.unwrap();
        server.stop();
        let Err(BatchError::Service(error)) = client.state(&id).await else { panic!("{protocol:?}") };
        assert_eq!(error.retry, Retry::Fast, "{protocol:?}: {error:?}");
        server.restart();
        assert_eq!(results(&client, &id).await.len(), 1, "{protocol:?}");
    }
}

#[tokio::test]
async fn refusals_of_the_service_are_classified_and_contain_no_key() {
    for (status, retry) in [
        (429, Retry::Backoff),
        (503, Retry::Backoff),
        (400, Retry::without(ibeam_core::RefusedPart::Unknown)),
    ] {
        let server = BatchServer::start(plan);
        server.fail_next(&[status]);
        let client = client(ANTHROPIC, "", &server);
        let refused = client.submit(&batch(ANTHROPIC, &prompts(&["one"])), "label-1").await;
        let Err(BatchError::Service(error)) = refused else { panic!("{refused:?}") };
        assert_eq!((error.retry.clone(), error.failure.http_status), (retry, Some(status)));
        assert!(!format!("{error:?}").contains("very-secret"));
    }
    let unsupported = BatchClient::new(endpoint(COHERE, "http://localhost".into()));
    assert!(matches!(unsupported, Err(BatchError::Unsupported("cohere"))));
}

#[tokio::test]
async fn a_receiver_can_end_the_reading() {
    let server = BatchServer::start(plan);
    let client = client(OPENAI_CHAT, "/v1", &server);
    let id = client.submit(&batch(OPENAI_CHAT, &prompts(&["one", "two"])), "label-1").await.unwrap();
    let ended = ended(&client, &id).await;
    assert_eq!(ended.end, BatchEnd::Completed);
    let mut count = 0;
    let full_disk = client
        .results(&ended, &mut |_| {
            count += 1;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        })
        .await;
    assert!(matches!(full_disk, Err(BatchError::Io(_))), "{full_disk:?}");
    assert_eq!(count, 1);
}

#[test]
fn an_id_cannot_leave_the_path_of_its_batch() {
    for id in ["", "a b", "a?b", "a#b", "../files", "a/../b", "a%2e", "ä"] {
        assert_eq!(BatchId::new(id), None, "{id}");
    }
    assert!(BatchId::new("batches/abc-1_2").is_some());
}

#[test]
fn the_limits_are_those_of_the_documentation() {
    let limits = WIRES.map(|(protocol, _)| batch_api(protocol).map(BatchApi::limits).unwrap());
    let limits = limits.map(|limits| (limits.requests, limits.bytes / 1_000_000));
    assert_eq!(limits, [(100_000, 268), (50_000, 200), (50_000, 200), (50_000, 2000)]);
}
