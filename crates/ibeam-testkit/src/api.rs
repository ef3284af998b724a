//! The definition of an API of the scripted model server, and the parts of its answers.

use ibeam_protocol::{StopReason, Usage};
use serde_json::Value;

use crate::request::Request;
use crate::script::{Frame, Step};

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
