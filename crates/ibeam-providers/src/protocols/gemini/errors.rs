//! Errors of Google's services: `{"error": {"code": 400, "message": "…", "status": "INVALID_ARGUMENT", "details": […]}}`.

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::response_error::{FailureClass, ReportedError, status_from_kind};
use crate::retry_after::parse_retry_after;

/// Reads an error object. Its kind is the status, with the reasons and the quotas in its details.
pub(in crate::protocols) fn parse(body: &Value) -> ReportedError {
    let error = body.get("error").filter(|error| error.is_object()).unwrap_or(body);
    let mut reported = ReportedError::recognise(body).unwrap_or_else(|| ReportedError::from_object(error));
    let of_detail = details(error).flat_map(|detail| {
        let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
        std::iter::once(detail.get("reason")).chain(violations.map(|violation| violation.get("quotaId")))
    });
    let words = std::iter::once(error.get("status")).chain(of_detail).flatten().filter_map(Value::as_str);
    let words: Vec<&str> = words.collect();
    if !words.is_empty() {
        reported.kind = words.join(" ");
    }
    reported
}

/// Returns the `retryDelay` of an error, such as `"34.4s"`, in milliseconds. The services have no `Retry-After` header.
pub(in crate::protocols) fn retry_after_ms(body: &Value) -> Option<u64> {
    let delay = details(body.get("error")?).find_map(|detail| detail.get("retryDelay")?.as_str())?;
    parse_retry_after(delay.strip_suffix('s')?, None, SystemTime::UNIX_EPOCH)
}

fn details(error: &Value) -> impl Iterator<Item = &Value> {
    error.get("details").and_then(Value::as_array).into_iter().flatten()
}

/// Reads the value of the field `error` in a chunk of an answer; `None` if it reports no error.
pub(in crate::protocols) fn recognise(error: &str) -> Option<ReportedError> {
    let body = json!({ "error": serde_json::from_str::<Value>(error).ok()? });
    ReportedError::recognise(&body).is_some().then(|| parse(&body))
}

/// Classifies an error. The service rejects an invalid key and a conversation that is too long with status 400.
pub(in crate::protocols) fn classify(
    status: Option<u16>,
    error: &ReportedError,
    model: &str,
) -> FailureClass {
    let status = status.or(error.status).or_else(|| http_status(&error.kind));
    let status = status.or_else(|| status_from_kind(&error.kind)).unwrap_or(500);
    let message = error.message.to_lowercase();
    let is_about_key =
        ["API_KEY_INVALID", "API_KEY_EXPIRED"].iter().any(|reason| error.kind.contains(reason))
            || message.contains("api key not valid")
            || message.contains("api key expired");
    let is_about_context = message.contains("token count")
        && (message.contains("exceeds the maximum") || message.contains("only supports up to"));
    match status {
        400 if is_about_key => FailureClass::KeyRefused,
        400 if is_about_context => FailureClass::ContextTooLong,
        // The daily quota is not available again within any useful time.
        429 if error.kind.contains("PerDay") => FailureClass::QuotaExhausted,
        _ => FailureClass::from_error(status, error, model),
    }
}

/// Returns the HTTP status of a status name, for an error that has only the name.
fn http_status(kind: &str) -> Option<u16> {
    let status = match kind.split(' ').next()? {
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => 400,
        "UNAUTHENTICATED" => 401,
        "PERMISSION_DENIED" => 403,
        "NOT_FOUND" => 404,
        "RESOURCE_EXHAUSTED" => 429,
        "UNAVAILABLE" => 503,
        "DEADLINE_EXCEEDED" => 504,
        _ => return None,
    };
    Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_in_the_details() {
        let body = |delay: &str| {
            let info = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay });
            json!({ "error": { "code": 429, "details": [{ "reason": "X" }, info] } })
        };
        assert_eq!(retry_after_ms(&body("48s")), Some(48_000));
        assert_eq!(retry_after_ms(&body("34.4s")), Some(34_400));
        assert_eq!(retry_after_ms(&body("999999999s")), Some(366 * 86_400_000));
        for invalid in ["", "s", "48", "-1s", "Sat, 21 Nov 2026 04:00:00 GMT"] {
            assert_eq!(retry_after_ms(&body(invalid)), None, "{invalid}");
        }
        assert_eq!(retry_after_ms(&json!({ "error": {} })), None);
    }
}
