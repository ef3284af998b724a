//! What goes over the socket, piece by piece: bytes, pauses and faults.

use std::time::Duration;

use serde_json::Value;

/// A piece of a body; each is sent on its own.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    Bytes(Vec<u8>),
    Pause(Duration),
    /// The connection breaks here.
    Cut,
    /// Nothing more comes, and the connection stays.
    Stall,
}

impl Frame {
    /// A server-sent event with a name, as the Anthropic wire has it.
    pub(crate) fn named(name: &str, data: &Value) -> Self {
        Self::Bytes(format!("event: {name}\ndata: {data}\n\n").into_bytes())
    }

    /// A server-sent event without a name, as the OpenAI wire has it.
    pub(crate) fn data(data: &str) -> Self {
        Self::Bytes(format!("data: {data}\n\n").into_bytes())
    }
}

/// The text in `count` pieces, none of them empty unless the text is: models write arguments a few tokens at a time.
pub(crate) fn pieces(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(count).max(1);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
