//! The reason why a request to a server has no result.

use ibeam_json_rpc::{CloseReason, RequestError, RpcError};

use crate::oauth::AuthError;

/// The reason why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The server responded with an error.
    #[error("it answered with error {}: {}", .0.code, .0.message)]
    Rejected(RpcError),
    /// The connection over stdio is closed.
    #[error("{0}")]
    Closed(CloseReason),
    /// The request cannot be serialized.
    #[error("the request cannot be written: {0}")]
    NotSerializable(#[from] serde_json::Error),
    /// HTTP gave no result.
    #[error("{0}")]
    Http(#[from] HttpError),
    /// The server asks for something that this client does not have, or too often.
    #[error("{0}")]
    Input(String),
}

impl From<RequestError> for CallError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Closed(reason) => Self::Closed(reason),
            RequestError::Rejected(error) => Self::Rejected(error),
            RequestError::NotSerializable(error) => Self::NotSerializable(error),
        }
    }
}

/// The reason why a server over HTTP gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The URL or a header cannot be used.
    #[error("{0}")]
    Configuration(String),
    /// The connection failed.
    #[error("cannot reach it: {0}")]
    Connection(String),
    /// The server refuses the request, without an error of the protocol.
    #[error("it answered with HTTP status {status}{detail}")]
    Status {
        status: u16,
        /// The start of the body as the continuation of a sentence, or nothing.
        detail: String,
    },
    /// The server redirects to another URL.
    #[error("it redirects to `{0}`; configure the URL that it redirects to")]
    Redirect(String),
    /// The server does not know the session any more.
    #[error("its session has expired")]
    SessionExpired,
    /// No token that the server accepts.
    #[error("{0}")]
    Authorization(#[from] AuthError),
    /// The stream ended before the response.
    #[error("its answer ended before the result")]
    EndOfAnswer,
    /// The answer violates the protocol.
    #[error("its answer is not valid: {0}")]
    InvalidAnswer(String),
}
