//! The rules of the services of today, which a scripted server enforces on request.
//!
//! Sources: "Preserved thinking", "Models: list" and "Errors" of the API reference of Anthropic; "Models" and "Responses" of
//! that of OpenAI, and the errors that its client libraries document. A request that a service would refuse gets the
//! error of the service instead of an answer of the script.

mod added_tools;
mod bound_thinking;
mod models;
mod parts;

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use self::bound_thinking::Prefix;
pub use self::models::ServiceModel;
use crate::request::Request;
use crate::script::{Answer, Content, Step};
use crate::server::json_response;
use crate::wire::Wire;

/// A service with its models. It knows no others.
#[derive(Clone, Debug)]
pub struct StrictService {
    models: Vec<ServiceModel>,
    has_responses: bool,
    /// Whether messages may add tools.
    has_added_tools: bool,
    /// The account to which thinking is bound.
    account: &'static str,
}

/// The error with which the service refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: u16,
    /// The `type` of the error.
    kind: &'static str,
    /// The `code` of the error, where the API has one.
    code: Option<&'static str>,
    message: String,
}

impl StrictService {
    /// Returns a service with these models, with a Responses API and without retired models.
    pub fn new(models: impl IntoIterator<Item = ServiceModel>) -> Self {
        Self {
            models: models.into_iter().collect(),
            has_responses: true,
            has_added_tools: true,
            account: "first",
        }
    }

    /// Removes the Responses API, as of a server that implements only Chat Completions.
    #[must_use]
    pub fn without_responses(self) -> Self {
        Self { has_responses: false, ..self }
    }

    /// Removes the messages that add tools, as of a service that has an earlier version of the API.
    #[must_use]
    pub fn without_added_tools(self) -> Self {
        Self { has_added_tools: false, ..self }
    }

    /// Changes the account. The service refuses the thinking of any other.
    #[must_use]
    pub fn account(self, account: &'static str) -> Self {
        Self { account, ..self }
    }

    /// Returns the body of `GET /v1/models` in the format of an API.
    pub(crate) fn model_list(&self, is_anthropic: bool) -> Value {
        let element =
            if is_anthropic { ServiceModel::anthropic_element } else { ServiceModel::openai_element };
        let data: Vec<Value> = self.models.iter().map(element).collect();
        json!({ "object": "list", "data": data, "has_more": false })
    }

    /// Returns the first rule that a request breaks.
    pub(crate) fn refusal(&self, request: &Request) -> Option<Refusal> {
        if request.wire == Wire::Responses && !self.has_responses {
            return Some(Refusal::new(404, "not_found_error", "Not Found".to_owned()));
        }
        let Some(model) = self.model(request) else { return Some(unknown_model(request)) };
        let added_tools = added_tools::refusal(self.has_added_tools, request);
        if added_tools.is_some() {
            return added_tools;
        }
        let of_api = match request.wire {
            Wire::Anthropic => output_limit_refusal(model, request)
                .or_else(|| thinking_type_refusal(model, request))
                .or_else(|| later_system_refusal(model, request))
                .or_else(|| bound_thinking::refusal(self.account, request)),
            Wire::OpenAi => chat_tools_refusal(model, request),
            Wire::Responses
            | Wire::Gemini
            | Wire::GeminiInteractions
            | Wire::Bedrock
            | Wire::VertexAnthropic
            | Wire::BedrockAnthropic
            | Wire::Ollama
            | Wire::Cohere => None,
        };
        of_api.or_else(|| effort_refusal(model, request)).or_else(|| parts::refusal(request))
    }

    /// Adds thinking to the answer of a model whose thinking is bound: a block without text, and its signature.
    pub(crate) fn add_thinking(&self, request: &Request, mut answer: Answer) -> Answer {
        let thinks = self.model(request).is_some_and(|model| model.binds_thinking)
            && request.wire == Wire::Anthropic
            && !["disabled", "between_tools"].contains(&thinking_type(request).unwrap_or_default());
        if let (true, Content::Steps { steps, .. }) = (thinks, &mut answer.content) {
            let signature = Prefix::from_request(self.account, request).signature();
            steps.insert(0, Step::Thinking { text: String::new(), signature });
        }
        answer
    }

    /// Returns the model of a request, if the service has not retired it.
    fn model(&self, request: &Request) -> Option<&ServiceModel> {
        let id = request.model();
        self.models.iter().find(|model| id == model.id && model.lifecycle != "retired")
    }
}

impl Refusal {
    fn new(status: u16, kind: &'static str, message: String) -> Self {
        Self { status, kind, code: None, message }
    }

    fn invalid(message: String) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    /// Returns the refusal as tests see it.
    pub(crate) fn describe(&self) -> String {
        format!("{} {}", self.status, self.message)
    }

    /// Returns the response in the format of an API.
    pub(crate) fn response(&self, wire: Wire) -> Response<Body> {
        let Self { status, kind, code, message } = self;
        let body = match wire {
            Wire::OpenAi | Wire::Responses => {
                json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
            }
            Wire::Anthropic
            | Wire::Gemini
            | Wire::GeminiInteractions
            | Wire::Bedrock
            | Wire::VertexAnthropic
            | Wire::BedrockAnthropic
            | Wire::Ollama
            | Wire::Cohere => (wire.api().error)(*status, kind, message),
        };
        json_response(*status, &body)
    }
}

fn unknown_model(request: &Request) -> Refusal {
    let id = request.model();
    let id = id.as_str().unwrap_or_default();
    match request.wire {
        Wire::OpenAi | Wire::Responses => Refusal {
            status: 404,
            kind: "invalid_request_error",
            code: Some("model_not_found"),
            message: format!("The model `{id}` does not exist or you do not have access to it."),
        },
        Wire::Anthropic
        | Wire::Gemini
        | Wire::GeminiInteractions
        | Wire::Bedrock
        | Wire::VertexAnthropic
        | Wire::BedrockAnthropic
        | Wire::Ollama
        | Wire::Cohere => Refusal::new(404, "not_found_error", format!("model: {id}")),
    }
}

/// Refuses an output limit that is missing, or that the model does not reach.
fn output_limit_refusal(model: &ServiceModel, request: &Request) -> Option<Refusal> {
    let (id, most) = (model.id, model.max_tokens);
    let Some(limit) = request.body["max_tokens"].as_u64() else {
        return Some(Refusal::invalid("max_tokens: Field required".to_owned()));
    };
    let message = || {
        format!("max_tokens: {limit} > {most}, which is the maximum allowed number of output tokens for {id}")
    };
    (limit > most).then(|| Refusal::invalid(message()))
}

/// Refuses a message with the role `system` for models that do not have it, and one that is not directly between a message
/// of the user and an answer or the end.
fn later_system_refusal(model: &ServiceModel, request: &Request) -> Option<Refusal> {
    let messages = request.messages();
    let role =
        |at: Option<usize>| at.and_then(|at| messages.get(at)).and_then(|message| message["role"].as_str());
    let is_refused = |at: &usize| {
        let is_placed =
            role(at.checked_sub(1)) == Some("user") && matches!(role(Some(at + 1)), None | Some("assistant"));
        role(Some(*at)) == Some("system") && !(model.has_later_system && is_placed)
    };
    let at = (0..messages.len()).find(is_refused)?;
    Some(Refusal::invalid(format!("messages.{at}.role: `system` is not supported here")))
}

fn thinking_type(request: &Request) -> Option<&str> {
    request.body["thinking"]["type"].as_str()
}

/// Refuses a form of thinking that the model does not have.
fn thinking_type_refusal(model: &ServiceModel, request: &Request) -> Option<Refusal> {
    let kind = thinking_type(request).filter(|kind| !model.thinking_types.contains(kind))?;
    let message =
        format!("thinking.type: `{kind}` is not supported by {}; use {:?}", model.id, model.thinking_types);
    Some(Refusal::invalid(message))
}

/// Refuses tools over Chat Completions for models that have them over Responses only.
fn chat_tools_refusal(model: &ServiceModel, request: &Request) -> Option<Refusal> {
    let has_tools = request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let is_refused = !model.has_chat_tools && has_tools && request.body["reasoning_effort"] != "none";
    let message = || {
        format!(
            "Function tools with reasoning_effort are not supported for {} in /v1/chat/completions. To use function \
             tools, use /v1/responses or set reasoning_effort to 'none'.",
            model.id,
        )
    };
    is_refused.then(|| Refusal::invalid(message()))
}

/// Refuses a level of reasoning that the model does not have.
fn effort_refusal(model: &ServiceModel, request: &Request) -> Option<Refusal> {
    let fields = ["/output_config/effort", "/reasoning/effort", "/reasoning_effort"];
    let (field, level) =
        fields.into_iter().find_map(|field| Some((field, request.body.pointer(field)?.as_str()?)))?;
    let field = field.trim_start_matches('/').replace('/', ".");
    let message = || {
        let accepted: Vec<String> = model.efforts.iter().map(|level| format!("'{level}'")).collect();
        format!(
            "Unsupported value: '{field}' does not support '{level}' with this model. Supported values are: {}.",
            accepted.join(", ")
        )
    };
    (!model.efforts.contains(&level)).then(|| Refusal::invalid(message()))
}
