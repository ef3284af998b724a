//! Failures of a response: its error objects, and their classes.

use serde_json::Value;

/// The reason why a response body is not an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseError {
    /// The service reports an error instead of an answer.
    Reported(ReportedError),
    /// The answer violates its protocol. The text is the detail.
    Protocol(String),
    /// The answer exceeds a limit of this program or of the service. The text names the limit.
    TooLarge(String),
    /// The text that was shown is not the text of the answer. The text is the detail.
    Garbled(String),
    /// The stream ended before its terminal event.
    Truncated,
}

/// An error object of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedError {
    /// An HTTP status from 400 to 599 inside the object.
    pub status: Option<u16>,
    /// Its `type` and `code`, separated by a space.
    pub kind: String,
    /// Its `message`.
    pub message: String,
}

impl ReportedError {
    /// Returns the error in `{"error": …}` or `{"object": "error", …}`; `None` for any other value.
    pub fn recognise(value: &Value) -> Option<Self> {
        match value.get("error") {
            None | Some(Value::Null | Value::Bool(_)) => {
                let is_error = value.get("object").or_else(|| value.get("type"))? == "error";
                is_error.then(|| Self::from_object(value))
            }
            Some(Value::String(message)) => Some(Self { message: message.clone(), ..Self::default() }),
            Some(error) => Some(Self::from_object(error)),
        }
    }

    /// Returns the error in `text`. Any other JSON becomes the message of an error.
    pub(crate) fn from_error_event(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        Self::recognise(&value).unwrap_or_else(|| Self::from_object(&value))
    }

    /// Reads the fields of any object that is known to be an error.
    pub(crate) fn from_object(error: &Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str);
        let status = ["code", "status", "status_code"].into_iter().find_map(|key| {
            let code = error.get(key)?;
            let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
            u16::try_from(number).ok().filter(|status| (400..600).contains(status))
        });
        let kind = [text("type"), text("code")].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let message = ["message", "detail", "msg", "error"].into_iter().find_map(text);
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        Self { status, kind, message }
    }
}

/// Returns the JSON object in the body of an error, or in a list with nothing else, as Google's services send the errors of
/// streams.
pub(crate) fn parse_error_object(body: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(body).ok()?;
    let value = match value {
        Value::Array(mut values) if values.len() == 1 => values.pop()?,
        value => value,
    };
    value.is_object().then_some(value)
}

/// Returns `result`, the result of decoding a last frame without its terminator, without the errors that such a frame
/// causes: an incomplete frame belongs to the truncation and is not a separate error.
pub(crate) fn ignore_incomplete_frame(result: Result<(), ResponseError>) -> Result<(), ResponseError> {
    match result {
        Err(
            error @ (ResponseError::Reported(_) | ResponseError::TooLarge(_) | ResponseError::Garbled(_)),
        ) => Err(error),
        Ok(()) | Err(ResponseError::Protocol(_) | ResponseError::Truncated) => Ok(()),
    }
}

/// Returns the error for an event or a document that does not parse: a reported error if it is an error object, else a
/// protocol error.
pub(crate) fn parse_failure(text: &str, error: &serde_json::Error) -> ResponseError {
    match serde_json::from_str::<Value>(text).ok().as_ref().and_then(ReportedError::recognise) {
        Some(reported) => ResponseError::Reported(reported),
        None => ResponseError::Protocol(format!("an event is not valid: {error}")),
    }
}

/// A class of reported errors. It decides whether and how the request is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// The conversation exceeds the context window of the model.
    ContextTooLong,
    /// The service refuses the thinking of earlier answers.
    ThinkingRefused,
    /// The service has no model of this name.
    UnknownModel,
    /// The service does not accept the key.
    KeyRefused,
    /// The account has no credit left; waiting does not help.
    QuotaExhausted,
    /// Too many requests; waiting helps.
    RateLimited,
    /// The service failed or is overloaded; waiting helps.
    ServiceFailed,
    /// The service rejects the request.
    BadRequest,
}

impl FailureClass {
    /// Classifies an error by its HTTP status and by the words that services use.
    pub(crate) fn from_error(status: u16, error: &ReportedError, model: &str) -> Self {
        let words = format!("{} {}", error.kind, error.message).to_lowercase();
        match status {
            413 => Self::ContextTooLong,
            // Anthropic reports an account without credit as an invalid request, xAI as a missing permission.
            400 | 403 | 429 if is_about_credit(&words) => Self::QuotaExhausted,
            400 | 422 | 500 if is_about_thinking(&words) => Self::ThinkingRefused,
            400 | 422 | 500 if is_about_context(&words) => Self::ContextTooLong,
            400 | 404 | 422 if is_about_model(status, &words, model) => Self::UnknownModel,
            401 | 403 => Self::KeyRefused,
            // xAI reports a wrong key like a wrong parameter.
            400 if words.contains("incorrect api key") => Self::KeyRefused,
            402 => Self::QuotaExhausted,
            429 => Self::RateLimited,
            408 | 409 | 425 | 500.. => Self::ServiceFailed,
            _ => Self::BadRequest,
        }
    }
}

impl FailureClass {
    /// Whether another model may answer instead: the service is overloaded, or it refuses further requests of the account.
    pub(crate) fn is_unavailability(self, status: Option<u16>, error: &ReportedError) -> bool {
        match self {
            Self::QuotaExhausted | Self::RateLimited => true,
            Self::ServiceFailed => {
                let words = format!("{} {}", error.kind, error.message).to_lowercase();
                matches!(status.or(error.status), Some(503 | 529)) || words.contains("overloaded")
            }
            Self::ContextTooLong
            | Self::ThinkingRefused
            | Self::UnknownModel
            | Self::KeyRefused
            | Self::BadRequest => false,
        }
    }
}

/// Whether an error in lower case is about the length of the conversation.
fn is_about_context(words: &str) -> bool {
    const PHRASES: &[&str] = &[
        "context_length_exceeded",
        "exceed_context_size",
        "prompt is too long",
        "input is too long",
        "context length",
        "context window",
        "context limit",
        "context size",
        "reduce the length",
        "request_too_large",
    ];
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

/// Whether an error in lower case is about the thinking of earlier answers: it is not what the model wrote, or not where
/// the model wrote it.
fn is_about_thinking(words: &str) -> bool {
    const PHRASES: &[&str] = &[
        "bound to a different conversation",
        "invalid signature in thinking block",
        "thinking blocks in the latest assistant message cannot be modified",
        // OpenAI, about encrypted reasoning of another account or model.
        "invalid_encrypted_content",
        "encrypted content could not be verified",
        "without its required following item",
        // Google.
        "thought signature is not valid",
        "corrupted thought signature",
        "invalid thought_signature",
    ];
    let words = words.replace('`', "");
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

/// Whether an error in lower case is about the credit of the account, or about a limit that its owner set.
///
/// "You exceeded your current quota" is not among the phrases: Gemini also says so about the limit of a minute.
fn is_about_credit(words: &str) -> bool {
    const PHRASES: &[&str] = &[
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit",
        "billing hard limit",
        "credit balance is too low",
        "insufficient balance",
        "insufficient credit",
        "credits are depleted",
        "doesn't have any credits",
        "used all available credits",
        "spending limit",
        "specified api usage limits",
    ];
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

/// Whether an error in lower case is about the name of the model. Services use many different phrases for it.
fn is_about_model(status: u16, words: &str, model: &str) -> bool {
    const PHRASES: &[&str] =
        &["not found", "not exist", "not a valid model", "invalid model", "unknown model"];
    let names_model = words.contains("model") || words.contains(&model.to_lowercase());
    let is_html = words.trim_start().starts_with('<');
    ["model_not_found", "invalid_model", "not_found_error", "deploymentnotfound"]
        .iter()
        .any(|code| words.contains(code))
        || (names_model && !is_html && (status == 404 || PHRASES.iter().any(|phrase| words.contains(phrase))))
}

/// Returns the HTTP status that an error inside a stream would have had, by its type.
pub(crate) fn status_from_kind(kind: &str) -> Option<u16> {
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    if has(&["authentication", "invalid_api_key", "permission"]) {
        Some(401)
    } else if has(&["billing"]) {
        Some(402)
    } else if has(&["rate_limit", "insufficient_quota", "too_many_requests"]) {
        Some(429)
    } else if has(&["overloaded"]) {
        Some(529)
    } else if has(&["request_too_large"]) {
        Some(413)
    } else if has(&["not_found"]) {
        Some(404)
    } else if has(&["invalid_request", "context_length", "BadRequest"]) {
        Some(400)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, kind: &str, message: &str, expect: FailureClass) {
        let error = ReportedError { status: None, kind: kind.to_owned(), message: message.to_owned() };
        assert_eq!(FailureClass::from_error(status, &error, "model-1"), expect, "{message}");
    }

    #[test]
    fn an_account_without_credit_has_an_exhausted_quota_whatever_the_status() {
        let exhausted = FailureClass::QuotaExhausted;
        let anthropic = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to \
                         upgrade or purchase credits.";
        check(400, "invalid_request_error", anthropic, exhausted);
        let limit = "You have reached your specified API usage limits. You will regain access on 2026-12-01.";
        check(400, "invalid_request_error", limit, exhausted);
        check(402, "billing_error", "There is an issue with your payment information.", exhausted);
        check(
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan.",
            exhausted,
        );
        check(400, "billing_hard_limit_reached", "Billing hard limit has been reached.", exhausted);
        check(
            402,
            "",
            "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
            exhausted,
        );
        check(402, "unknown_error invalid_request_error", "Insufficient Balance", exhausted);
        let xai = "Your team has either used all available credits or reached its monthly spending limit.";
        check(429, "", xai, exhausted);
        check(403, "", "Your newly created team doesn't have any credits yet.", exhausted);
        check(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.", exhausted);
        assert_eq!(status_from_kind("billing_error"), Some(402));
    }

    #[test]
    fn refused_thinking_has_a_class_of_its_own() {
        let bound = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
                     conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \
                     \"drop_block\". [system]";
        let modified = "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message \
                        cannot be modified. These blocks must remain as they were in the original response.";
        let messages = [
            bound,
            modified,
            "The block is bound to a different conversation",
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ];
        for message in messages {
            check(400, "invalid_request_error", message, FailureClass::ThinkingRefused);
            check(400, "", &format!("upstream: {message}"), FailureClass::ThinkingRefused);
        }
        let budget = "`max_tokens` must be greater than `thinking.budget_tokens`";
        check(400, "invalid_request_error", budget, FailureClass::BadRequest);
        check(401, "authentication_error", "Invalid signature", FailureClass::KeyRefused);
    }

    #[test]
    fn a_limit_for_a_minute_and_a_refused_key_are_no_exhausted_quota() {
        check(
            429,
            "rate_limit_error",
            "This request would exceed your rate limit.",
            FailureClass::RateLimited,
        );
        let gemini = "You exceeded your current quota, please check your plan and billing details.";
        check(429, "RESOURCE_EXHAUSTED", gemini, FailureClass::RateLimited);
        check(403, "permission_error", "not for you", FailureClass::KeyRefused);
        check(400, "invalid_request_error", "temperature: out of range", FailureClass::BadRequest);
    }
}
