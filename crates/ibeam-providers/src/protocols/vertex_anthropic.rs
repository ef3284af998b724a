//! Claude on Vertex AI of Google Cloud: the Messages API with the model in the URL and an access token.
//!
//! Source: "Claude on Vertex AI" of the API reference, and `publishers.models.streamRawPredict` of Vertex AI.

use ibeam_core::{JsonSchema, ModelRequest};
use serde_json::Value;

use super::anthropic::{Decoder, Envelope, beta_header, write_messages, write_request};
use crate::answer_format::messages_schema;
use crate::listed_model::ListedModel;
use crate::response_error::{ReportedError, ResponseError};
use crate::wire_protocol::{
    AnswerDecoder, OutgoingRequest, Quirks, RequestSettings, RequestWriter, WireProtocol, count_calls,
};

const ENVELOPE: Envelope = Envelope {
    anthropic_version: Some("vertex-2023-10-16"),
    accepts_stream: true,
    accepts_breakpoints: true,
    has_beta_in_body: false,
};

/// Claude on Vertex AI. A base URL ends in `/projects/PROJECT/locations/LOCATION`.
#[derive(Clone, Copy, Debug)]
pub struct VertexAnthropic;

impl WireProtocol for VertexAnthropic {
    fn name(&self) -> &'static str {
        "vertex-anthropic"
    }

    fn default_path(&self) -> &'static str {
        ""
    }

    fn request_url(&self, base_url: &str, model: &str) -> String {
        let base = base_url.trim_end_matches('/');
        format!("{base}/publishers/anthropic/models/{model}:streamRawPredict")
    }

    /// The list is not part of a project.
    fn models_url(&self, base_url: &str) -> String {
        let version = base_url.find("/v1").or_else(|| base_url.find("/projects/"));
        let origin = version.and_then(|end| base_url.get(..end)).unwrap_or(base_url).trim_end_matches('/');
        format!("{origin}/v1beta1/publishers/anthropic/models?pageSize=100")
    }

    fn auth_headers(&self, _request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)> {
        vec![("authorization", format!("Bearer {key}"))]
    }

    fn model_header(
        &self,
        request: Option<&ModelRequest>,
        settings: &RequestSettings<'_>,
    ) -> Option<(&'static str, String)> {
        beta_header(request, settings)
    }

    fn enforces_schema(&self, schema: &JsonSchema, settings: &RequestSettings<'_>) -> bool {
        messages_schema(schema, settings).is_some()
    }

    fn request_writer(&self) -> RequestWriter {
        RequestWriter {
            write_request: |request, settings| write_request(request, settings, ENVELOPE),
            write_messages: |messages, settings, body| write_messages(messages, ENVELOPE, settings, body),
        }
    }

    fn decoder(&self, request: &ModelRequest, _quirks: Quirks) -> Box<dyn AnswerDecoder> {
        Box::new(Decoder::new(count_calls(request)))
    }

    fn parse_models(&self, body: &str) -> Result<Vec<ListedModel>, ResponseError> {
        let error = || ResponseError::Protocol("the list of models is not the JSON it should be".into());
        let value: Value = serde_json::from_str(body).map_err(|_| error())?;
        if let Some(error) = ReportedError::recognise(&value) {
            return Err(ResponseError::Reported(error));
        }
        let list = value.get("publisherModels").and_then(Value::as_array).ok_or_else(error)?;
        let id = |model: &Value| {
            let name = model.get("name")?.as_str()?;
            Some(name.rsplit('/').next().unwrap_or(name).to_owned())
        };
        Ok(list.iter().filter_map(|model| Some(ListedModel::new(id(model)?, None, model))).collect())
    }

    /// Reads an error of Google Cloud, which some of its front ends wrap in a list, or one of Anthropic.
    fn parse_error_body(&self, body: &str) -> ReportedError {
        let value: Value = serde_json::from_str(body).unwrap_or_default();
        match value.get(0).unwrap_or(&value) {
            value @ Value::Object(_) => self.parse_error(value),
            _ => ReportedError { message: body.to_owned(), ..ReportedError::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urls_are_those_of_the_publisher() {
        let base = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5";
        assert_eq!(
            VertexAnthropic.request_url(base, "claude-sonnet-4-5@20250929"),
            format!("{base}/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict")
        );
        let models = "/v1beta1/publishers/anthropic/models?pageSize=100";
        assert_eq!(
            VertexAnthropic.models_url(base),
            format!("https://us-east5-aiplatform.googleapis.com{models}")
        );
        assert_eq!(VertexAnthropic.models_url("http://127.0.0.1:9/"), format!("http://127.0.0.1:9{models}"));
    }

    #[test]
    fn models_and_errors_are_parsed() {
        let body = r#"{"publisherModels":[{"name":"publishers/anthropic/models/claude-opus-4-1"}]}"#;
        let expect = ListedModel { id: "claude-opus-4-1".into(), ..ListedModel::default() };
        assert_eq!(VertexAnthropic.parse_models(body), Ok(vec![expect]));
        let error = r#"[{"error":{"code":403,"message":"Permission denied","status":"PERMISSION_DENIED"}}]"#;
        let error = VertexAnthropic.parse_error_body(error);
        assert_eq!((error.status, error.message.as_str()), (Some(403), "Permission denied"));
        assert_eq!(VertexAnthropic.parse_error_body("Bad gateway").message, "Bad gateway");
    }
}
