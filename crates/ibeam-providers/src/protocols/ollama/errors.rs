//! Errors of Ollama: `{"error": "MESSAGE"}`, under a status or as a line of the stream.

use crate::response_error::{FailureClass, ReportedError};

/// Classifies an error. Apart from the status, the server sends no error code.
pub(super) fn classify(status: Option<u16>, error: &ReportedError, model: &str) -> FailureClass {
    let status = status.unwrap_or(500);
    let message = error.message.to_lowercase();
    match status {
        // The model stays too large for the machine, however long the program waits.
        500.. if message.contains("requires more system memory") => FailureClass::BadRequest,
        // The cloud limits the use by the hour and by the week.
        429 if message.contains("usage limit") => FailureClass::QuotaExhausted,
        _ => FailureClass::from_error(status, error, model),
    }
}
