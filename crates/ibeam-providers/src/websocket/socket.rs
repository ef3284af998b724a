//! One WebSocket connection.

use std::io;

use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Duration, Instant};

use super::message_codec::{MessageReader, Opcode, SocketMessage, encode_frame};
use ibeam_http::framing::FramingError;

/// The space that is reserved for each read.
const READ_BYTES: usize = 16 * 1024;

/// The age at which a connection gets no further request. OpenAI closes connections after 60 minutes, even during an
/// answer.
const MAX_AGE: Duration = Duration::from_secs(50 * 60);

/// An open connection.
#[derive(Debug)]
pub(super) struct Socket {
    stream: reqwest::Upgraded,
    reader: MessageReader,
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
    pub(super) fn new(stream: reqwest::Upgraded) -> Self {
        Self { stream, reader: MessageReader::default(), opened: Instant::now() }
    }

    /// Whether the connection may serve another request.
    pub(super) fn is_young(&self) -> bool {
        self.opened.elapsed() < MAX_AGE
    }

    /// Sends a text message.
    ///
    /// # Errors
    /// `Closed`.
    pub(super) async fn send(&mut self, text: &[u8]) -> Result<(), SocketError> {
        self.write(Opcode::Text, text).await.map_err(|_| SocketError::Closed)
    }

    /// Returns the next text, or `None` for a ping, which has been answered.
    ///
    /// # Errors
    /// See [`SocketError`].
    pub(super) async fn receive(&mut self) -> Result<Option<String>, SocketError> {
        loop {
            match self.next_message()? {
                Some(SocketMessage::Text(text)) => return Ok(Some(text)),
                Some(SocketMessage::Ping(payload)) => {
                    self.answer_ping(&payload).await?;
                    return Ok(None);
                }
                Some(SocketMessage::Pong) => {}
                Some(SocketMessage::Close) => {
                    self.answer_close().await;
                    return Err(SocketError::Closed);
                }
                None => self.fill().await?,
            }
        }
    }

    /// Returns the next message that has already been received.
    ///
    /// # Errors
    /// `Framing`.
    pub(super) fn next_message(&mut self) -> Result<Option<SocketMessage>, SocketError> {
        self.reader.next_message().map_err(SocketError::Framing)
    }

    /// Receives more bytes. May be cancelled without loss.
    ///
    /// # Errors
    /// `Closed`.
    pub(super) async fn fill(&mut self) -> Result<(), SocketError> {
        let buffer = self.reader.buffer();
        buffer.reserve(READ_BYTES);
        match self.stream.read_buf(buffer).await {
            Ok(0) | Err(_) => Err(SocketError::Closed),
            Ok(_) => Ok(()),
        }
    }

    /// Sends the pong for a ping.
    ///
    /// # Errors
    /// `Closed`.
    pub(super) async fn answer_ping(&mut self, payload: &[u8]) -> Result<(), SocketError> {
        self.write(Opcode::Pong, payload).await.map_err(|_| SocketError::Closed)
    }

    async fn answer_close(&mut self) {
        // The connection ends in any case.
        let _closed = self.write(Opcode::Close, &[]).await;
    }

    async fn write(&mut self, opcode: Opcode, payload: &[u8]) -> io::Result<()> {
        let mut mask = [0; 4];
        SystemRandom::new().fill(&mut mask).map_err(|_| io::Error::other("no random numbers"))?;
        self.stream.write_all(&encode_frame(opcode, mask, payload)).await?;
        self.stream.flush().await
    }
}
