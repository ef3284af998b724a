//! Errors of the server as errors of the queue.

use std::error::Error;
use std::fmt::Display;

use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::{self, ErrorCode};
use ibeam_fleet::QueueError;

/// The code of the server for a message that a limit of the stream refuses.
const STORE_FAILED: u64 = 10077;

/// Returns the error of a queue that cannot be used, with its causes.
pub(crate) fn service(what: &str, error: &(dyn Error + 'static)) -> QueueError {
    let mut detail = format!("{what}: {error}");
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !detail.contains(&text) {
            detail.push_str(&format!(": {text}"));
        }
        source = error.source();
    }
    QueueError::Service { detail }
}

/// Returns the error for content of the queue that is not what this program wrote.
pub(crate) fn damaged(subject: &str, error: impl Display) -> QueueError {
    QueueError::Service { detail: format!("`{subject}` is damaged: {error}") }
}

/// Whether a message was refused because the stream has one with this subject.
pub(crate) fn is_already_queued(error: &(dyn Error + 'static)) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<jetstream::Error>());
    source.is_some_and(|error| {
        error.error_code().0 == STORE_FAILED && error.to_string().contains("per subject")
    })
}

/// Whether the servers answered that a stream or a consumer does not exist.
pub(crate) fn is_not_found(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let code =
            error.downcast_ref::<jetstream::Error>().map(jetstream::Error::error_code).or_else(
                || match error.downcast_ref::<GetStreamError>()?.kind() {
                    GetStreamErrorKind::JetStream(error) => Some(error.error_code()),
                    _ => None,
                },
            );
        if code
            .is_some_and(|code| [ErrorCode::STREAM_NOT_FOUND, ErrorCode::CONSUMER_NOT_FOUND].contains(&code))
        {
            return true;
        }
        cause = error.source();
    }
    false
}
