//! Ollama's own chat API: `/api/chat`, at a server of the user and at Ollama's cloud.
//!
//! Source: the API documentation of Ollama, "Generate a chat completion" and "List local models".

mod chunk;
mod decoder;
mod errors;
mod model_list;
pub mod ndjson;
mod request;

use ibeam_core::ModelRequest;

use crate::listed_model::ListedModel;
use crate::response_error::{FailureClass, ReportedError, ResponseError};
use crate::wire_protocol::{
    AnswerDecoder, OutgoingRequest, Quirks, RequestWriter, WireProtocol, count_calls,
};
use ibeam_http::base_url::append_path;
use ibeam_http::framing::FrameParser;

/// Ollama's own chat API.
#[derive(Clone, Copy, Debug)]
pub struct Ollama;

impl WireProtocol for Ollama {
    fn name(&self) -> &'static str {
        request::NAME
    }

    fn default_path(&self) -> &'static str {
        ""
    }

    fn request_url(&self, base_url: &str, _model: &str) -> String {
        append_path(server_url(base_url), "/api/chat")
    }

    fn models_url(&self, base_url: &str) -> String {
        append_path(server_url(base_url), "/api/tags")
    }

    fn auth_headers(&self, _request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)> {
        vec![("authorization", format!("Bearer {key}"))]
    }

    fn accept(&self) -> &'static str {
        "application/x-ndjson, application/json"
    }

    fn request_writer(&self) -> RequestWriter {
        RequestWriter { write_request: request::write_request, write_messages: request::write_messages }
    }

    fn frame_parser(&self) -> Box<dyn FrameParser> {
        Box::new(ndjson::NdjsonParser::default())
    }

    fn accepts_documents(&self) -> bool {
        false
    }

    fn decoder(&self, request: &ModelRequest, quirks: Quirks) -> Box<dyn AnswerDecoder> {
        let tools = request.tools.iter().filter(|_| quirks.text_tool_calls);
        let tools = tools.map(|tool| tool.name.to_string()).collect();
        Box::new(decoder::Decoder::new(count_calls(request), tools))
    }

    fn parse_models(&self, body: &str) -> Result<Vec<ListedModel>, ResponseError> {
        model_list::parse(body)
    }

    fn classify_error(&self, status: Option<u16>, error: &ReportedError, model: &str) -> FailureClass {
        errors::classify(status, error, model)
    }
}

/// Returns the address of the server. Base URLs of Ollama commonly end in `/v1`, the path of its Chat Completions API.
fn server_url(base_url: &str) -> &str {
    let base_url = base_url.trim_end_matches('/');
    ["/v1", "/api"].iter().find_map(|path| base_url.strip_suffix(path)).unwrap_or(base_url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_another_api_is_not_part_of_the_address() {
        for base_url in
            ["http://box:1", "http://box:1/", "http://box:1/v1", "http://box:1/v1/", "http://box:1/api"]
        {
            assert_eq!(Ollama.request_url(base_url, "m"), "http://box:1/api/chat", "{base_url}");
            assert_eq!(Ollama.models_url(base_url), "http://box:1/api/tags", "{base_url}");
        }
        assert_eq!(Ollama.request_url("http://box/ollama", "m"), "http://box/ollama/api/chat");
    }
}
