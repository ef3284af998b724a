//! The table of the APIs of the scripted model server, and how the program reaches each.

use ibeam_protocol::Usage;
use serde_json::Value;

use crate::api::{AnswerScript, Api};
use crate::request::Request;
use crate::script::{Frame, Step};
use crate::wire::Wire;
use crate::{
    anthropic, bedrock, claude_on_clouds, cohere, gemini, gemini_interactions, ollama, openai, responses,
};

impl Wire {
    /// Returns the name of a model on this API, with its provider.
    pub fn model_name(self) -> &'static str {
        self.api().model_name
    }

    pub fn provider_name(self) -> &'static str {
        self.model_name().split_once('/').map_or("", |(provider, _)| provider)
    }

    /// Returns the environment variable for the base URL of the provider.
    pub fn base_url_variable(self) -> &'static str {
        self.api().base_url_variable
    }

    /// Returns the environment variable for the key of the provider.
    pub fn key_variable(self) -> &'static str {
        self.api().key_variable
    }

    /// Returns the header with which a request carries this key.
    pub fn key_header(self, key: &str) -> (&'static str, String) {
        let (name, scheme) = self.api().key_header;
        (name, format!("{scheme}{key}"))
    }

    /// Returns the body of an answer of one delta.
    pub fn text_stream(self, text: &str) -> String {
        let (steps, model) = ([Step::Text(text.to_owned())], Value::from("scripted-1"));
        let script =
            AnswerScript { steps: &steps, usage: Usage::default(), stop: None, model: &model, number: 0 };
        let bytes = (self.api().stream)(&script).into_iter().flat_map(|frame| match frame {
            Frame::Bytes(bytes) => bytes,
            Frame::Pause(_) | Frame::Cut | Frame::Stall => Vec::new(),
        });
        String::from_utf8(bytes.collect()).expect("a stream is text")
    }

    /// Returns the API whose requests have this path.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        let wires = Self::ALL.into_iter().chain(Self::WITHOUT_PROVIDER);
        wires.into_iter().find(|wire| (wire.api().has_path)(path))
    }

    pub(crate) fn api(self) -> &'static Api {
        match self {
            Self::Anthropic => &anthropic::API,
            Self::OpenAi => &openai::API,
            Self::Responses => &responses::API,
            Self::Gemini => &gemini::API,
            Self::GeminiInteractions => &gemini_interactions::API,
            Self::Bedrock => &bedrock::API,
            Self::VertexAnthropic => &claude_on_clouds::VERTEX,
            Self::BedrockAnthropic => &claude_on_clouds::BEDROCK,
            Self::Ollama => &ollama::API,
            Self::Cohere => &cohere::API,
        }
    }
}

impl Request {
    /// Returns the text of every message after the system prompt, as `role: text` lines; calls as `call name
    /// arguments`, their results as `result text`. The form is the same for all APIs.
    pub fn transcript(&self) -> Vec<String> {
        self.messages().iter().flat_map(self.wire.api().transcript).collect()
    }
}
