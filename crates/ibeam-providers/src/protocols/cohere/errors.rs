//! Errors of Cohere: `{"id": "…", "message": "MESSAGE"}`.

use crate::response_error::{FailureClass, ReportedError};

/// Classifies an error. Apart from the status, the service sends no error code.
pub(super) fn classify(status: Option<u16>, error: &ReportedError, model: &str) -> FailureClass {
    let status = status.unwrap_or(500);
    let message = error.message.to_lowercase();
    match status {
        400 | 422 if message.contains("too many tokens") => FailureClass::ContextTooLong,
        // A trial key has a number of calls for a minute and one for a month.
        429 if message.contains("month") => FailureClass::QuotaExhausted,
        _ => FailureClass::from_error(status, error, model),
    }
}
