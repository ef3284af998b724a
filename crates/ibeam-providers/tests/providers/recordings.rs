//! Record and replay of exchanges with models.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use ibeam_core::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, Redactor, Retry};
use ibeam_protocol::{Answer, Block, Reason, StopReason};
use ibeam_providers::protocols::OPENAI_CHAT;
use ibeam_providers::recording::{
    AnswerSource, Exchange, Normalizer, Player, RecordedProvider, Recorder, RecordingStore, ReplaySpeed,
};
use ibeam_providers::{
    Endpoint, HttpProvider, Quirks, Secret, Timeouts, TlsSettings, TrafficMode, TransportKind,
};

use crate::conversation::{request, user};
use crate::server::{Act, Server, chunked, open_stream, response};

const TEXT: &str = include_str!("../../fixtures/openai-text.sse");
const CUT: &str = include_str!("../../fixtures/openai-cut.sse");
const KEY: &str = "sk-very-secret-0123456789";

#[derive(Clone, Default)]
struct MemoryStore(Arc<Mutex<Vec<String>>>);

impl RecordingStore for MemoryStore {
    fn store(&self, content: &str) -> Result<(), String> {
        self.0.lock().unwrap().push(content.to_owned());
        Ok(())
    }
}

impl MemoryStore {
    fn recorder(&self) -> Arc<Recorder> {
        Arc::new(Recorder::new(normalizer(), Box::new(self.clone())))
    }

    fn contents(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn player(&self, speed: ReplaySpeed) -> Arc<Player> {
        let parse = |(index, content): (usize, &String)| {
            (format!("{}.json", index + 1), Exchange::parse(content).unwrap())
        };
        let recordings = self.contents().iter().enumerate().map(parse).collect();
        Arc::new(Player::new(recordings, normalizer(), speed))
    }
}

fn normalizer() -> Normalizer {
    Normalizer::new(Redactor::new([KEY.to_owned()]), [("/work/project".to_owned(), "${WORKSPACE}")])
}

fn endpoint(base_url: &str, timeouts: Timeouts) -> Endpoint {
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
        headers: Vec::new(),
        model: "gpt-x".into(),
        quirks: Quirks::DEFAULT,
        transport: TransportKind::Http,
        timeouts,
        max_output_tokens: None,
        near_models: None,
        cache_key: None,
        reasoning: ibeam_providers::Reasoning::DEFAULT,
        traits: ibeam_providers::ModelTraits::UNKNOWN,
    }
}

type Answered = Vec<Result<ModelEvent, ProviderError>>;

async fn ask(provider: &dyn Provider, text: &str) -> Answered {
    provider.stream(Arc::new(request(vec![user(text)]))).collect().await
}

/// Returns a provider that replays at an address where nothing listens.
fn replaying(store: &MemoryStore, speed: ReplaySpeed) -> HttpProvider {
    let endpoint = endpoint("http://192.0.2.1/other", Timeouts::default());
    HttpProvider::with_traffic(endpoint, TrafficMode::Replay(store.player(speed)))
}

/// Records one request for each answer of a server, and returns the events.
async fn record(acts: Vec<Act>, timeouts: Timeouts, text: &str) -> (MemoryStore, Vec<Answered>) {
    let (store, count) = (MemoryStore::default(), acts.len());
    let server = Server::start(acts).await;
    let traffic = TrafficMode::Record(store.recorder());
    let provider = HttpProvider::with_traffic(endpoint(&server.url, timeouts), traffic);
    let mut answered = Vec::new();
    for _ in 0..count {
        answered.push(ask(&provider, text).await);
    }
    drop(provider);
    for content in store.contents() {
        assert!(!content.contains(KEY) && !content.contains("authorization"), "{content}");
    }
    (store, answered)
}

/// Checks that the replay of what `acts` recorded gives the same events, twice.
async fn check_same(acts: Vec<Act>, timeouts: Timeouts) {
    let (store, recorded) = record(acts.clone(), timeouts, "hi").await;
    assert_eq!(store.contents().len(), acts.len());
    for _ in 0..2 {
        let provider = replaying(&store, ReplaySpeed::Full);
        for expected in &recorded {
            assert_eq!(&ask(&provider, "hi").await, expected, "{acts:?}");
        }
    }
}

#[tokio::test]
async fn a_replayed_exchange_has_the_events_of_the_recorded_one() {
    let second = Timeouts::default();
    let retry = response("429 Too Many", "retry-after: 7\r\nx-request-id: req_9\r\n", "slow down");
    let pause = Duration::from_millis(5);
    let in_two = Act::SendInTwo(open_stream(&TEXT[..100]), pause, TEXT[100..].into());
    check_same(vec![Act::Send(retry), Act::Send(chunked("x-request-id: req_1\r\n", TEXT))], second).await;
    check_same(vec![in_two], second).await;
    check_same(vec![Act::SendAndHold(open_stream(TEXT))], second).await;
    check_same(vec![Act::SendAndClose(open_stream(CUT))], second).await;
    check_same(vec![Act::SendAndClose(String::new())], second).await;
}

#[tokio::test]
async fn a_replayed_timeout_does_not_wait() {
    let short = Duration::from_millis(150);
    let timeouts = Timeouts { first_byte: short, idle: short, ..Timeouts::default() };
    check_same(vec![Act::SendAndHold(open_stream(CUT))], timeouts).await;
    check_same(vec![Act::SendAndHold(String::new())], timeouts).await;
    let (store, _) = record(vec![Act::SendAndHold(open_stream(CUT))], timeouts, "hi").await;
    let started = Instant::now();
    ask(&replaying(&store, ReplaySpeed::Full), "hi").await;
    assert!(started.elapsed() < short);
}

#[tokio::test]
async fn chunks_arrive_at_their_recorded_times_on_request() {
    let pause = Duration::from_millis(120);
    let in_two = Act::SendInTwo(open_stream(&TEXT[..100]), pause, TEXT[100..].into());
    let (store, recorded) = record(vec![in_two], Timeouts::default(), "hi").await;
    let started = Instant::now();
    assert_eq!(ask(&replaying(&store, ReplaySpeed::Recorded), "hi").await, recorded[0]);
    assert!(started.elapsed() >= pause);
}

#[tokio::test]
async fn the_last_of_equal_requests_is_repeated() {
    let acts = [CUT, TEXT].map(|body| Act::SendAndClose(open_stream(body))).to_vec();
    let (store, recorded) = record(acts, Timeouts::default(), "hi").await;
    let provider = replaying(&store, ReplaySpeed::Full);
    for expected in [0, 1, 1] {
        assert_eq!(ask(&provider, "hi").await, recorded[expected]);
    }
}

#[tokio::test]
async fn an_unknown_request_names_the_nearest_recording_and_the_difference() {
    let acts = vec![Act::Send(chunked("", TEXT))];
    let (store, _) = record(acts, Timeouts::default(), "count the files of /work/project").await;
    let answered = ask(&replaying(&store, ReplaySpeed::Full), "count the lines of /work/project").await;
    let [Err(error)] = answered.as_slice() else { panic!("{answered:?}") };
    let Reason::NotRecorded { recording, difference } = &error.failure.reason else { panic!("{error:?}") };
    let expected = "body.messages[1].content: recorded `\"count the files of ${WORKSPACE}\"`, \
                    now `\"count the lines of ${WORKSPACE}\"`";
    assert_eq!((recording.as_str(), difference.as_str()), ("1.json", expected));
    assert_eq!((&error.retry, error.failure.reason.code().exit_code()), (&Retry::Never, 25));
}

#[tokio::test]
async fn a_secret_in_a_response_is_not_recorded() {
    let (first, second) = KEY.split_at(10);
    let delta = |text: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let stop =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    // In one event that arrives in two chunks, and in two events.
    let whole = delta(KEY) + stop;
    let (start, end) = whole.split_at(whole.find(second).unwrap());
    let in_chunks = Act::SendInTwo(open_stream(start), Duration::from_millis(20), end.to_owned());
    let in_events = Act::SendAndClose(open_stream(&(delta(first) + &delta(second) + stop)));
    for (act, is_withheld) in [(in_chunks, false), (in_events, true)] {
        let (store, _) = record(vec![act], Timeouts::default(), "hi").await;
        let content = store.contents().remove(0);
        assert!(!content.contains(second), "{content}");
        let replayed = ask(&replaying(&store, ReplaySpeed::Full), "hi").await;
        assert_eq!(replayed.iter().any(Result::is_err), is_withheld, "{replayed:?}");
    }
}

#[tokio::test]
async fn a_recording_that_cannot_be_written_ends_the_request() {
    struct FullDisk;
    impl RecordingStore for FullDisk {
        fn store(&self, _: &str) -> Result<(), String> {
            Err("no space".to_owned())
        }
    }
    let server = Server::start(vec![Act::Send(chunked("", TEXT))]).await;
    let traffic = TrafficMode::Record(Arc::new(Recorder::new(normalizer(), Box::new(FullDisk))));
    let provider = HttpProvider::with_traffic(endpoint(&server.url, Timeouts::default()), traffic);
    let answered = ask(&provider, "hi").await;
    let error = answered.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.failure.reason, Reason::Io { what: "recording".into(), detail: "no space".into() });
    assert!(!answered.iter().any(|event| matches!(event, Ok(ModelEvent::Finished(_)))));
}

/// A model without a transport.
struct LocalModel(Answered);

impl Provider for LocalModel {
    fn stream(&self, _: Arc<ModelRequest>) -> ModelStream {
        stream::iter(self.0.clone()).boxed()
    }
}

#[tokio::test]
async fn a_model_without_a_transport_is_recorded_as_its_events() {
    let answer = |text: &str| Answer {
        blocks: vec![Block::Text(text.to_owned())],
        stop: StopReason::EndTurn,
        usage: None,
        refusal: None,
        request_id: None,
    };
    let reason = Reason::LocalModel { detail: "no memory".to_owned() };
    let error = ProviderError::new(reason, Retry::Fast);
    for events in [
        vec![
            Ok(ModelEvent::ThinkingDelta("hm".into())),
            Ok(ModelEvent::TextDelta("yes".into())),
            Ok(ModelEvent::ToolCallAnnounced),
            Ok(ModelEvent::Finished(Box::new(answer("yes")))),
        ],
        vec![Ok(ModelEvent::TextDelta("ye".into())), Err(error)],
    ] {
        let store = MemoryStore::default();
        let source = AnswerSource::Live(Arc::new(LocalModel(events.clone())), store.recorder());
        assert_eq!(ask(&RecordedProvider::new(source, "embedded", "small"), "hi").await, events);
        let source = AnswerSource::Replay(store.player(ReplaySpeed::Full));
        let provider = RecordedProvider::new(source, "embedded", "small");
        assert_eq!(ask(&provider, "hi").await, events);
        let missed = ask(&provider, "bye").await;
        assert!(format!("{missed:?}").contains("messages[0].user[0]"), "{missed:?}");
    }
}

#[test]
fn a_file_that_is_not_a_recording_is_an_error() {
    let parse = |content: &str| Exchange::parse(content).unwrap_err().to_string();
    assert_eq!(parse("{}"), "not a recording: `ibeam_recording` is missing");
    assert_eq!(parse(r#"{"ibeam_recording":2}"#), "the recording has format 2; this version reads format 1");
    assert!(parse(r#"{"ibeam_recording":1}"#).contains("missing field"));
}
