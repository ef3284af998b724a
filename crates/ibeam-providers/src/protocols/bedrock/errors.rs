//! Errors of Amazon Bedrock: exceptions of a stream, and bodies of responses whose status is not success.
//!
//! Source: the API reference, "ConverseStream: Errors" and "InvokeModelWithResponseStream: Errors".

use serde_json::Value;

use crate::response_error::{FailureClass, ReportedError};

/// Returns the error in a document that is not an answer.
pub(super) fn recognise_error(body: &str) -> Option<ReportedError> {
    let value: Value = serde_json::from_str(body).ok()?;
    ReportedError::recognise(&value).or_else(|| {
        let has_message =
            ["message", "Message"].iter().any(|key| value.get(key).is_some_and(Value::is_string));
        has_message.then(|| parse_error(&value))
    })
}

/// Reads an error body: `{"message": …}`, or `{"Message": …}` from the services in front of Bedrock.
pub(in crate::protocols) fn parse_error(body: &Value) -> ReportedError {
    if let Some(error) = ReportedError::recognise(body) {
        return error;
    }
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let Some(message) = text("message").or_else(|| text("Message")) else {
        return ReportedError::from_object(body);
    };
    ReportedError {
        status: None,
        kind: text("__type").unwrap_or_default().to_owned(),
        message: message.to_owned(),
    }
}

pub(in crate::protocols) fn classify_error(
    status: Option<u16>,
    error: &ReportedError,
    model: &str,
) -> FailureClass {
    let status = status.or_else(|| status_of_exception(&error.kind)).unwrap_or(500);
    let message = error.message.to_lowercase();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    match status {
        400 if has(&["input tokens exceeded", "too many input tokens"]) => FailureClass::ContextTooLong,
        400 if has(&["model identifier is invalid"]) => FailureClass::UnknownModel,
        // The model failed, or did not answer in time.
        424 => FailureClass::ServiceFailed,
        429 if has(&["per day"]) => FailureClass::QuotaExhausted,
        _ => FailureClass::from_error(status, error, model),
    }
}

/// Returns the HTTP status of an exception. Services write its name with a small or a capital letter.
fn status_of_exception(kind: &str) -> Option<u16> {
    const STATUSES: &[(&str, u16)] = &[
        ("validation", 400),
        ("accessdenied", 403),
        ("unrecognizedclient", 403),
        ("expiredtoken", 403),
        ("resourcenotfound", 404),
        ("modeltimeout", 408),
        ("modelerror", 424),
        ("modelstreamerror", 424),
        ("throttling", 429),
        ("servicequotaexceeded", 429),
        ("modelnotready", 429),
        ("internalserver", 500),
        ("serviceunavailable", 503),
    ];
    let kind = kind.to_lowercase();
    STATUSES.iter().find(|(name, _)| kind.contains(name)).map(|(_, status)| *status)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(status: Option<u16>, kind: &str, message: &str, expect: FailureClass) {
        let error = ReportedError { status: None, kind: kind.into(), message: message.into() };
        assert_eq!(classify_error(status, &error, "amazon.nova-pro-v1:0"), expect, "{kind} {message}");
    }

    #[test]
    fn statuses_and_exceptions_have_their_class() {
        use FailureClass::*;
        check(Some(400), "", "The provided model identifier is invalid.", UnknownModel);
        check(Some(400), "", "Input is too long for requested model.", ContextTooLong);
        check(
            Some(400),
            "",
            "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
            ContextTooLong,
        );
        check(Some(400), "", "The text field in the ContentBlock object is blank.", BadRequest);
        check(Some(403), "", "The security token included in the request is expired", KeyRefused);
        check(
            Some(404),
            "",
            "Could not resolve the foundation model from the model identifier.",
            UnknownModel,
        );
        check(Some(424), "", "The model failed.", ServiceFailed);
        check(Some(429), "", "Too many requests, please wait before trying again.", RateLimited);
        check(Some(429), "", "Too many tokens per day, please wait before trying again.", QuotaExhausted);
        check(Some(503), "", "Bedrock is unable to process your request.", ServiceFailed);
        check(None, "throttlingException", "Too many tokens, please wait.", RateLimited);
        check(None, "validationException", "The input is wrong.", BadRequest);
        check(None, "validationException", "Input is too long for requested model.", ContextTooLong);
        check(None, "modelStreamErrorException", "The model stopped.", ServiceFailed);
        check(None, "internalServerException", "Oh.", ServiceFailed);
        check(None, "somethingNewException", "Oh.", ServiceFailed);
    }

    #[test]
    fn bodies_of_all_layers_have_a_message() {
        for (body, expect) in [
            (json!({ "message": "a" }), "a"),
            (json!({ "Message": "b" }), "b"),
            (json!({ "error": { "message": "c" } }), "c"),
            (json!({ "x": 1 }), r#"{"x":1}"#),
        ] {
            assert_eq!(parse_error(&body).message, expect);
        }
        assert_eq!(recognise_error("{}"), None);
        assert_eq!(recognise_error(r#"{"message":"a"}"#).unwrap().message, "a");
    }
}
