//! The body of a response over WebSocket, in the form that it would have over HTTP: server-sent events.

use std::sync::Arc;

use bytes::Bytes;
use ibeam_core::ModelRequest;
use ibeam_protocol::Answer;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::chain::Chain;
use super::socket::{Socket, SocketError};
use super::socket_session::SocketSession;
use crate::recording::BodyError;

/// The event for a ping: a comment, which has no content.
const PING: &[u8] = b": ping\n\n";

/// A response that is arriving. Dropping it before its end closes the connection, which cancels the response.
pub(crate) struct SocketBody {
    session: Arc<SocketSession>,
    request: Arc<ModelRequest>,
    /// `None` after the end of the response.
    socket: Option<Socket>,
    /// The first event, which arrived with the head of the response.
    first: Option<Result<Utf8Bytes, SocketError>>,
}

impl SocketBody {
    pub(super) fn new(
        session: Arc<SocketSession>,
        request: Arc<ModelRequest>,
        socket: Socket,
        first: Result<Utf8Bytes, SocketError>,
    ) -> Self {
        Self { session, request, socket: Some(socket), first: Some(first) }
    }

    /// Returns the next event, or `None` at the end of the response.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let Some(socket) = &mut self.socket else { return Ok(None) };
        let received = match self.first.take() {
            Some(first) => first.map(Some),
            None => socket.receive().await,
        };
        match received {
            Ok(None) => Ok(Some(Bytes::from_static(PING))),
            Ok(Some(text)) if self.session.mode().is_connection_limit(&text) => {
                Err(self.fail(BodyError::Lost))
            }
            Ok(Some(text)) => Ok(Some(to_server_sent_event(&text))),
            Err(SocketError::Closed) => Err(self.fail(BodyError::Lost)),
            Err(SocketError::Framing(error)) => Err(self.fail(BodyError::Framing(error))),
        }
    }

    fn fail(&mut self, error: BodyError) -> BodyError {
        self.socket = None;
        error
    }

    /// Ends the response after its complete answer, so that the connection can serve the next request.
    pub(crate) fn complete(&mut self, answer: &Answer) {
        if let Some(socket) = self.socket.take() {
            self.session.keep(socket, Chain::new(Arc::clone(&self.request), answer));
        }
    }
}

/// Returns an event with this data. Only white space of JSON can contain line breaks.
fn to_server_sent_event(text: &str) -> Bytes {
    let mut event = Vec::with_capacity(text.len() + 8);
    for line in text.split(['\r', '\n']) {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line.as_bytes());
        event.push(b'\n');
    }
    event.push(b'\n');
    event.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_line_breaks_is_one_event() {
        assert_eq!(to_server_sent_event("{}"), "data: {}\n\n");
        assert_eq!(to_server_sent_event("{\r\n1}"), "data: {\ndata: \ndata: 1}\n\n");
    }
}
