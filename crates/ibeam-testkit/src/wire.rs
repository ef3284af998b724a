//! The APIs of the scripted model server.

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
    pub(crate) const WITHOUT_PROVIDER: [Self; 1] = [Self::BedrockAnthropic];

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

    /// Returns the configuration with which the provider uses the API, if another API is its default.
    pub fn config(self) -> Option<&'static str> {
        let config = "\n[providers.gemini]\nwire = \"gemini-interactions\"\n";
        (self == Self::GeminiInteractions).then_some(config)
    }
}
