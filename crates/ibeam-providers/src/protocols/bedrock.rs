//! The Converse API of Amazon Bedrock.
//!
//! Source: the API reference, "ConverseStream", "Converse" and "Prompt caching". Requests carry a Bedrock API key as a
//! bearer token; requests signed with other AWS credentials (SigV4) are not supported.

mod decoder;
mod document;
mod errors;
pub mod event_stream;
mod model_id;
mod reasoning;
mod request;

use ibeam_core::{JsonSchema, ModelRequest};
use serde_json::Value;

use crate::answer_format::messages_schema;
use crate::listed_model::ListedModel;
use crate::model_traits::ModelTraits;
use crate::response_error::{FailureClass, ReportedError, ResponseError};
use crate::wire_protocol::{
    AnswerDecoder, OutgoingRequest, Quirks, RequestSettings, RequestWriter, WireProtocol, count_calls,
};
use ibeam_http::framing::FrameParser;

pub(super) use decoder::Decoder;
pub(super) use document::is_answer;
pub(super) use errors::{classify_error, parse_error};
pub(super) use model_id::path_segment;

/// The Converse API of Amazon Bedrock.
#[derive(Clone, Copy, Debug)]
pub struct BedrockConverse;

impl WireProtocol for BedrockConverse {
    fn name(&self) -> &'static str {
        request::NAME
    }

    fn default_path(&self) -> &'static str {
        ""
    }

    fn request_url(&self, base_url: &str, model: &str) -> String {
        format!("{}/model/{}/converse-stream", base_url.trim_end_matches('/'), path_segment(model))
    }

    fn models_url(&self, base_url: &str) -> String {
        models_url(base_url)
    }

    fn auth_headers(&self, _request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)> {
        bearer_header(key)
    }

    fn accept(&self) -> &'static str {
        "application/vnd.amazon.eventstream, application/json"
    }

    fn accepts_reasoning(&self, traits: ModelTraits) -> bool {
        reasoning::is_documented(traits.thinking)
    }

    fn enforces_schema(&self, schema: &JsonSchema, settings: &RequestSettings<'_>) -> bool {
        messages_schema(schema, settings).is_some()
    }

    fn request_writer(&self) -> RequestWriter {
        RequestWriter { write_request: request::write_request, write_messages: request::write_messages }
    }

    fn frame_parser(&self) -> Box<dyn FrameParser> {
        Box::new(event_stream::EventStreamParser::default())
    }

    fn decoder(&self, request: &ModelRequest, _quirks: Quirks) -> Box<dyn AnswerDecoder> {
        Box::new(Decoder::new(count_calls(request)))
    }

    fn parse_models(&self, body: &str) -> Result<Vec<ListedModel>, ResponseError> {
        parse_models(body)
    }

    fn parse_error(&self, body: &Value) -> ReportedError {
        parse_error(body)
    }

    fn classify_error(&self, status: Option<u16>, error: &ReportedError, model: &str) -> FailureClass {
        classify_error(status, error, model)
    }
}

/// Returns the header for a Bedrock API key.
pub(super) fn bearer_header(key: &str) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("Bearer {key}"))]
}

/// Returns the URL of the inference profiles: the ids that work without provisioned throughput. They are listed by the
/// service `bedrock`, not by `bedrock-runtime`.
pub(super) fn models_url(base_url: &str) -> String {
    let base = base_url.trim_end_matches('/').replacen("//bedrock-runtime", "//bedrock", 1);
    format!("{base}/inference-profiles?maxResults=1000")
}

/// Parses the inference profiles, or the foundation models.
///
/// # Errors
/// `Reported` for an error object, `Protocol` for anything else that is not a list.
pub(super) fn parse_models(body: &str) -> Result<Vec<ListedModel>, ResponseError> {
    let error = || ResponseError::Protocol("the list of models is not the JSON it should be".into());
    let value: Value = serde_json::from_str(body).map_err(|_| error())?;
    let keys = [
        ("inferenceProfileSummaries", "inferenceProfileId", "inferenceProfileName"),
        ("modelSummaries", "modelId", "modelName"),
    ];
    let found = keys.into_iter().find_map(|(list, id, name)| Some((value.get(list)?.as_array()?, id, name)));
    let (list, id, name) = found.ok_or_else(|| match errors::recognise_error(body) {
        Some(reported) => ResponseError::Reported(reported),
        None => error(),
    })?;
    let text = |model: &Value, key: &str| model.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(list
        .iter()
        .filter_map(|model| Some(ListedModel::new(text(model, id)?, text(model, name), model)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_models_is_on_another_host() {
        assert_eq!(
            models_url("https://bedrock-runtime.eu-west-1.amazonaws.com"),
            "https://bedrock.eu-west-1.amazonaws.com/inference-profiles?maxResults=1000"
        );
        assert_eq!(
            models_url("http://127.0.0.1:9/"),
            "http://127.0.0.1:9/inference-profiles?maxResults=1000"
        );
    }

    #[test]
    fn profiles_and_models_are_listed() {
        let profiles = r#"{"inferenceProfileSummaries":[{"inferenceProfileId":"us.a","inferenceProfileName":"US A"},{}]}"#;
        let expect = ListedModel { id: "us.a".into(), label: Some("US A".into()), ..ListedModel::default() };
        assert_eq!(parse_models(profiles), Ok(vec![expect]));
        let models = r#"{"modelSummaries":[{"modelId":"a"}]}"#;
        assert_eq!(parse_models(models), Ok(vec![ListedModel { id: "a".into(), ..ListedModel::default() }]));
        assert!(matches!(parse_models(r#"{"message":"No."}"#), Err(ResponseError::Reported(_))));
        assert!(matches!(parse_models("{}"), Err(ResponseError::Protocol(_))));
    }
}
