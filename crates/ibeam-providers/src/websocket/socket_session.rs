//! The requests of one provider over WebSocket: which connection and which form each gets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ibeam_core::{ProviderError, Retry};
use reqwest::StatusCode;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::chain::Chain;
use super::idle_socket::IdleSocket;
use super::socket::{Socket, SocketError};
use super::socket_body::SocketBody;
use super::{Conversation, handshake};
use crate::provider_errors::ResponseHead;
use crate::recording::{LiveBody, LiveResponse};
use crate::transport::{Transport, read_head, upload_time};
use crate::wire_protocol::{WebSocketError, WebSocketMode};

/// The maximum number of attempts for one request: on an old connection, on a new one, and with the complete input.
const MAX_ATTEMPTS: usize = 3;

/// The WebSocket connections of one provider.
#[derive(Debug)]
pub(crate) struct SocketSession {
    mode: &'static dyn WebSocketMode,
    state: Mutex<SessionState>,
}

#[derive(Debug, Default)]
struct SessionState {
    /// Whether requests go over HTTP for the rest of the run.
    is_disabled: bool,
    /// The connection that waits for the next request. A running request has its own.
    idle: Option<(IdleSocket, Option<Chain>)>,
}

/// The outcome of a request over WebSocket.
pub(crate) enum SocketOutcome {
    Response(Box<LiveResponse>),
    /// The request should be sent over HTTP. The text is the reason; `None` if the reason was given before.
    Unavailable(Option<String>),
}

enum Attempt {
    Response(Box<LiveResponse>),
    /// The next attempt may succeed.
    Repeat,
    Unavailable(String),
}

/// A connection for one request.
struct OpenSocket {
    socket: Socket,
    chain: Option<Chain>,
    is_new: bool,
}

impl SocketSession {
    pub(crate) fn new(mode: &'static dyn WebSocketMode) -> Self {
        Self { mode, state: Mutex::default() }
    }

    pub(super) fn mode(&self) -> &'static dyn WebSocketMode {
        self.mode
    }

    /// Sends all further requests over HTTP.
    pub(crate) fn disable(&self) {
        *self.lock() = SessionState { is_disabled: true, idle: None };
    }

    /// Keeps a connection for the next request.
    pub(super) fn keep(&self, socket: Socket, chain: Option<Chain>) {
        let mut state = self.lock();
        if !state.is_disabled {
            state.idle = Some((IdleSocket::new(socket), chain));
        }
    }

    /// Sends a request and waits for the first event of its response.
    ///
    /// # Errors
    /// `Stalled` if no event came in time. The repeated request goes over HTTP.
    pub(crate) async fn send(
        self: &Arc<Self>,
        transport: &Transport,
        conversation: &Conversation<'_>,
    ) -> Result<SocketOutcome, ProviderError> {
        if self.lock().is_disabled {
            return Ok(SocketOutcome::Unavailable(None));
        }
        for _ in 0..MAX_ATTEMPTS {
            match self.send_once(transport, conversation).await? {
                Attempt::Response(response) => return Ok(SocketOutcome::Response(response)),
                Attempt::Repeat => {}
                Attempt::Unavailable(reason) => return Ok(SocketOutcome::Unavailable(Some(reason))),
            }
        }
        Ok(SocketOutcome::Unavailable(Some("the service closes its connections".to_owned())))
    }

    async fn send_once(
        self: &Arc<Self>,
        transport: &Transport,
        conversation: &Conversation<'_>,
    ) -> Result<Attempt, ProviderError> {
        let OpenSocket { mut socket, chain, is_new } = match self.take_or_open(transport).await {
            Ok(open) => open,
            Err(reason) => return Ok(Attempt::Unavailable(reason)),
        };
        let invalid = |error: &dyn std::error::Error| {
            transport.error_builder().invalid_configuration(&error.to_string())
        };
        let (message, is_continuation) =
            self.message(transport, conversation, chain.as_ref()).map_err(|error| invalid(&error))?;
        let message = Utf8Bytes::try_from(message).map_err(|error| invalid(&error))?;
        let exchange = async {
            socket.send(message).await?;
            loop {
                if let Some(text) = socket.receive().await? {
                    return Ok(text);
                }
            }
        };
        let limit = transport.endpoint().timeouts.first_byte + upload_time(conversation.body);
        let Ok(first) = timeout(limit, exchange).await else {
            transport.fall_back("no event came over the connection");
            return Err(transport.error_builder().stalled(limit, Retry::Fast, ResponseHead::default()));
        };
        let error = match &first {
            Err(SocketError::Closed) if is_new => {
                return Ok(Attempt::Unavailable("the connection closed before the first event".to_owned()));
            }
            // The service had closed an old connection.
            Err(SocketError::Closed) => return Ok(Attempt::Repeat),
            Err(SocketError::Framing(_)) => None,
            Ok(text) if self.mode.is_connection_limit(text) => return Ok(Attempt::Repeat),
            Ok(text) => self.mode.parse_error(text).and_then(|error| Some((error.status?, error, text))),
        };
        let Some((status, error, text)) = error else {
            let head = ResponseHead { status: Some(StatusCode::OK.as_u16()), ..ResponseHead::default() };
            let request = Arc::clone(conversation.request);
            let body = LiveBody::Socket(Box::new(SocketBody::new(Arc::clone(self), request, socket, first)));
            let response = LiveResponse::new(head, "text/event-stream", body);
            return Ok(Attempt::Response(Box::new(response)));
        };
        self.keep(socket, None);
        // The service may have lost the response that the request continues, or may disagree about its content.
        if is_continuation && matches!(status, 400 | 404 | 422) {
            return Ok(Attempt::Repeat);
        }
        let body = LiveBody::Buffered(Some(Bytes::copy_from_slice(text.as_bytes())));
        let response = LiveResponse::new(error_head(status, &error), "application/json", body);
        Ok(Attempt::Response(Box::new(response)))
    }

    /// Returns the idle connection, if it is still open and not too old, else a new one.
    async fn take_or_open(&self, transport: &Transport) -> Result<OpenSocket, String> {
        let idle = self.lock().idle.take();
        if let Some((idle, chain)) = idle {
            let taken = timeout(transport.endpoint().timeouts.connect, idle.take()).await;
            if let Some(socket) = taken.ok().flatten().filter(Socket::is_young) {
                return Ok(OpenSocket { socket, chain, is_new: false });
            }
        }
        let socket = handshake::open(transport, &transport.model_url()).await?;
        Ok(OpenSocket { socket, chain: None, is_new: true })
    }

    /// Returns the message for a request, and whether it continues the last response.
    fn message(
        &self,
        transport: &Transport,
        conversation: &Conversation<'_>,
        chain: Option<&Chain>,
    ) -> Result<(Vec<u8>, bool), serde_json::Error> {
        let Conversation { request, settings, body } = conversation;
        let Some((response_id, messages)) = chain.and_then(|chain| chain.continuation(request)) else {
            return Ok((self.mode.write_message(body), false));
        };
        let writer = transport.endpoint().protocol.request_writer();
        let (body, mut list) = ((writer.write_request)(request, settings)?, vec![b'[']);
        (writer.write_messages)(messages, settings, &mut list)?;
        list.push(b']');
        Ok((self.mode.write_continuation(&body, response_id, &list), true))
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the head that the response with this error would have had over HTTP.
fn error_head(status: u16, error: &WebSocketError) -> ResponseHead {
    let header = |name: &str| {
        let mut headers = error.headers.iter();
        headers.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    };
    read_head(status, header)
}
