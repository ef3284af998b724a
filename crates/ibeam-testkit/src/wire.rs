//! The APIs of the scripted model server, and how the program reaches each.

use ibeam_protocol::{StopReason, Usage};
use serde_json::Value;

use crate::request::Request;
use crate::script::{Frame, Step};
use crate::{
    anthropic, bedrock, claude_on_clouds, cohere, gemini, gemini_interactions, ollama, openai, responses,
};

/// The API of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /v1/chat/completions`.
    OpenAi,
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1beta/models/MODEL:streamGenerateContent`, and the same on Vertex AI.
    Gemini,
    /// `POST /v1beta/interactions`.
    GeminiInteractions,
    /// `POST /model/MODEL/converse-stream`.
    Bedrock,
    /// `POST /projects/PROJECT/locations/LOCATION/publishers/anthropic/models/MODEL:streamRawPredict`.
    VertexAnthropic,
    /// `POST /model/MODEL/invoke-with-response-stream`.
    BedrockAnthropic,
    /// `POST /api/chat`.
    Ollama,
    /// `POST /v2/chat`.
    Cohere,
}

/// The properties of an API.
pub(crate) struct Api {
    /// `PROVIDER/MODEL` of the program: a provider that uses the API, and a model with the display name of the published
    /// samples.
    pub(crate) model_name: &'static str,
    /// The environment variable for the base URL.
    pub(crate) base_url_variable: &'static str,
    /// The environment variable for the API key.
    pub(crate) key_variable: &'static str,
    /// The name of the header with the key, and the text before the key.
    pub(crate) key_header: (&'static str, &'static str),
    /// Whether requests of the API have this path.
    pub(crate) has_path: fn(&str) -> bool,
    /// The header with the id of the request, if the API has one.
    pub(crate) id_header: Option<&'static str>,
    pub(crate) stream: fn(&AnswerScript<'_>) -> Vec<Frame>,
    /// Returns the body of an error from its status, kind and message.
    pub(crate) error: fn(u16, &str, &str) -> Value,
    /// Returns the first rule of the API that a request violates.
    pub(crate) violation: fn(&Request) -> Option<String>,
    /// Returns the lines of [`Request::transcript`] for a message.
    pub(crate) transcript: fn(&Value) -> Vec<String>,
}

/// The parts of an answer that a stream is built from.
pub(crate) struct AnswerScript<'a> {
    pub(crate) steps: &'a [Step],
    pub(crate) usage: Usage,
    pub(crate) stop: Option<&'a StopReason>,
    pub(crate) model: &'a Value,
    /// The number of the request, which makes the id of the answer unique.
    pub(crate) number: usize,
}

impl Wire {
    /// The APIs of providers in the provider table.
    pub const ALL: [Self; 9] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::Responses,
        Self::Gemini,
        Self::GeminiInteractions,
        Self::Bedrock,
        Self::VertexAnthropic,
        Self::Ollama,
        Self::Cohere,
    ];

    /// The APIs that no provider of the provider table uses by default.
    const WITHOUT_PROVIDER: [Self; 1] = [Self::BedrockAnthropic];

    /// Whether the API streams server-sent events.
    pub fn streams_events(self) -> bool {
        self.media_type() == "text/event-stream"
    }

    /// Returns the media type of a stream.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Bedrock | Self::BedrockAnthropic => "application/vnd.amazon.eventstream",
            Self::Ollama => "application/x-ndjson",
            Self::Anthropic
            | Self::OpenAi
            | Self::Responses
            | Self::Gemini
            | Self::GeminiInteractions
            | Self::VertexAnthropic
            | Self::Cohere => "text/event-stream",
        }
    }

    /// Whether the API reports how many tokens the service found in its cache.
    pub fn counts_cached_tokens(self) -> bool {
        self != Self::Ollama
    }

    /// Whether the API gives requests an id, in a header or in the answer.
    pub fn has_request_ids(self) -> bool {
        self != Self::Ollama
    }

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

    /// Returns the configuration with which the provider uses the API, if another API is its default.
    pub fn config(self) -> Option<&'static str> {
        let config = "\n[providers.gemini]\nwire = \"gemini-interactions\"\n";
        (self == Self::GeminiInteractions).then_some(config)
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
