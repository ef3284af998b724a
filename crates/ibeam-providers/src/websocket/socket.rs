//! One WebSocket connection: messages instead of the frames of the library.

use futures_util::{SinkExt, StreamExt};
use tokio::time::{Duration, Instant};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use ibeam_http::framing::{FRAME_LIMIT_BYTES, FramingError};

/// The size of the buffer for received bytes.
const READ_BYTES: usize = 16 * 1024;

/// The age at which a connection gets no further request. OpenAI closes connections after 60 minutes, even during an
/// answer.
const MAX_AGE: Duration = Duration::from_secs(50 * 60);

/// An open connection.
#[derive(Debug)]
pub(super) struct Socket {
    stream: WebSocketStream<reqwest::Upgraded>,
    opened: Instant,
}

/// The reason why a connection gives no further message.
#[derive(Debug)]
pub(super) enum SocketError {
    /// The connection was closed, or it broke.
    Closed,
    /// The bytes are not messages.
    Framing(FramingError),
}

impl Socket {
    pub(super) async fn new(stream: reqwest::Upgraded) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .max_message_size(Some(FRAME_LIMIT_BYTES))
            .max_frame_size(Some(FRAME_LIMIT_BYTES));
        let stream = WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await;
        Self { stream, opened: Instant::now() }
    }

    /// Whether the connection may serve another request.
    pub(super) fn is_young(&self) -> bool {
        self.opened.elapsed() < MAX_AGE
    }

    /// Sends a text message.
    ///
    /// # Errors
    /// `Closed`.
    pub(super) async fn send(&mut self, text: Utf8Bytes) -> Result<(), SocketError> {
        self.stream.send(Message::Text(text)).await.map_err(|_| SocketError::Closed)
    }

    /// Returns the next text, or `None` for a ping or a pong. A ping has been answered. May be cancelled without loss.
    pub(super) async fn receive(&mut self) -> Result<Option<Utf8Bytes>, SocketError> {
        match self.stream.next().await {
            Some(Ok(Message::Text(text))) => Ok(Some(text)),
            Some(Ok(Message::Ping(_))) => {
                // The library has queued the pong.
                self.stream.flush().await.map_err(|_| SocketError::Closed)?;
                Ok(None)
            }
            Some(Ok(Message::Pong(_) | Message::Frame(_))) => Ok(None),
            Some(Ok(Message::Binary(_))) => Err(SocketError::Framing(FramingError::Binary)),
            Some(Ok(Message::Close(_))) => {
                // The answer to the close frame. The connection ends in any case.
                let _closed = self.stream.flush().await;
                Err(SocketError::Closed)
            }
            Some(Err(error)) => Err(socket_error(&error)),
            None => Err(SocketError::Closed),
        }
    }
}

fn socket_error(error: &Error) -> SocketError {
    match error {
        Error::Capacity(_) => SocketError::Framing(FramingError::TooLong),
        Error::Utf8(_) => SocketError::Framing(FramingError::NotUtf8),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => SocketError::Closed,
        Error::Protocol(_) => SocketError::Framing(FramingError::Malformed),
        _ => SocketError::Closed,
    }
}
