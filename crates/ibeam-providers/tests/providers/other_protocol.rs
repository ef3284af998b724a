//! The change to the other protocol of a model, after its service has refused the first one.

use std::sync::Arc;

use futures_util::{StreamExt, future};
use ibeam_core::{ModelEvent, Provider as _, ProviderError, RefusedPart, Retry};
use ibeam_protocol::{Message, Reason, RequestUpdate};
use ibeam_providers::protocols::{OPENAI_CHAT, OPENAI_RESPONSES};
use ibeam_providers::{
    Endpoint, HttpProvider, ModelTraits, Quirks, Reasoning, Timeouts, TlsSettings, TransportKind,
    WireProtocol, traits_of,
};
use ibeam_testkit::{Answer, ModelServer, ServiceModel, StrictService, Wire};

use crate::conversation::{request, user};

const MODEL: ServiceModel = ServiceModel::GPT_5;

/// Returns a model of the server with its protocols in their order.
fn provider(server: &ModelServer, model: &str, protocols: [&'static dyn WireProtocol; 2]) -> HttpProvider {
    provider_with(server, model, protocols, ModelTraits::UNKNOWN)
}

fn provider_with(
    server: &ModelServer,
    model: &str,
    protocols: [&'static dyn WireProtocol; 2],
    traits: ModelTraits,
) -> HttpProvider {
    let [protocol, other] = protocols;
    HttpProvider::new(Endpoint {
        provider: "openai".into(),
        protocol,
        other_protocol: Some(other),
        on_protocol_change: None,
        on_adaptation: None,
        on_quota: None,
        base_url: format!("{}/v1", server.url()),
        key: None,
        key_reader: None,
        key_origin: None,
        proxy: None,
        tls: TlsSettings::default(),
        headers: Vec::new(),
        model: model.into(),
        quirks: Quirks::DEFAULT,
        transport: TransportKind::Http,
        timeouts: Timeouts::default(),
        max_output_tokens: None,
        near_models: None,
        cache_key: None,
        reasoning: Reasoning::DEFAULT,
        traits,
    })
}

async fn ask(provider: &HttpProvider) -> Option<ProviderError> {
    let events: Vec<Result<ModelEvent, ProviderError>> =
        provider.stream(Arc::new(request(vec![user("hi")]))).collect().await;
    events.into_iter().find_map(Result::err)
}

fn wires(server: &ModelServer) -> Vec<Wire> {
    server.requests().iter().map(|request| request.wire).collect()
}

#[tokio::test]
async fn a_refused_protocol_is_not_used_again() {
    let answers = || (0..2).map(|_| Answer::new().text("yes"));
    let server = ModelServer::strict(StrictService::new([MODEL]).without_responses(), answers());
    let provider = provider(&server, MODEL.id, [OPENAI_RESPONSES, OPENAI_CHAT]);
    assert_eq!((ask(&provider).await, ask(&provider).await), (None, None));
    assert_eq!(wires(&server), [Wire::Responses, Wire::OpenAi, Wire::OpenAi]);
}

#[tokio::test]
async fn a_request_that_changes_its_tools_in_a_message_is_built_again_for_the_other_protocol() {
    let server =
        ModelServer::strict(StrictService::new([MODEL]).without_responses(), [Answer::new().text("yes")]);
    let traits = traits_of("openai", "gpt-6.2-sol");
    let provider = provider_with(&server, MODEL.id, [OPENAI_RESPONSES, OPENAI_CHAT], traits);
    assert!(provider.appends_tools() && provider.appended_effort() == Some("default"));
    let level = RequestUpdate { tools: vec![], effort: Some("high".to_owned()) };
    let messages = vec![user("hi"), Message::Update(level)];
    let events: Vec<_> = provider.stream(Arc::new(request(messages))).collect().await;
    let error = events.into_iter().find_map(Result::err).unwrap();
    assert_eq!(error.retry, Retry::without(RefusedPart::Update));
    assert!(!provider.appends_tools() && provider.appended_effort().is_none());
    assert_eq!(ask(&provider).await, None);
    assert_eq!(wires(&server), [Wire::Responses, Wire::OpenAi]);
}

#[tokio::test]
async fn requests_at_the_same_time_all_change_to_the_other_protocol() {
    let answers = (0..3).map(|_| Answer::new().text("yes"));
    let server = ModelServer::strict(StrictService::new([MODEL]).without_responses(), answers);
    let provider = provider(&server, MODEL.id, [OPENAI_RESPONSES, OPENAI_CHAT]);
    let errors = future::join_all((0..3).map(|_| ask(&provider))).await;
    assert_eq!(errors, [None, None, None]);
    let refused = wires(&server).iter().filter(|wire| **wire == Wire::Responses).count();
    assert_eq!((refused, wires(&server).len()), (3, 6));
}

#[tokio::test]
async fn an_unknown_model_is_not_a_refusal_of_the_protocol() {
    let server = ModelServer::strict(StrictService::new([MODEL]), []);
    let provider = provider(&server, "gpt-unknown", [OPENAI_RESPONSES, OPENAI_CHAT]);
    let error = ask(&provider).await.unwrap();
    assert!(matches!(error.failure.reason, Reason::UnknownModel { .. }), "{error:?}");
    assert_eq!(wires(&server), [Wire::Responses]);
}
