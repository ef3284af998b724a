//! WebSocket messages as bytes (RFC 6455), for a client without extensions.
//!
//! Pure. Its own code, because the client needs only this part of the protocol: the HTTP client does the handshake, and a
//! library would add its own random numbers, buffers and limits to the binary.

use bytes::{Buf, BytesMut};

use ibeam_http::framing::{FRAME_LIMIT_BYTES, FramingError};

/// The type of a frame that the client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Text = 0x1,
    Close = 0x8,
    Pong = 0xA,
}

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SocketMessage {
    Text(String),
    /// A ping with the payload that the pong must repeat.
    Ping(Vec<u8>),
    Pong,
    Close,
}

/// The start of a frame.
#[derive(Debug)]
struct FrameHead {
    is_final: bool,
    opcode: u8,
    head_bytes: usize,
    payload_bytes: usize,
}

/// Splits the bytes of a connection into messages, however the bytes are chunked.
#[derive(Debug, Default)]
pub(super) struct MessageReader {
    received: BytesMut,
    /// The text so far of a message in several frames.
    partial: Option<Vec<u8>>,
}

impl MessageReader {
    /// Returns the buffer to which received bytes are appended.
    pub(super) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.received
    }

    /// Removes the next complete message from the buffer; `None` if it needs more bytes.
    ///
    /// # Errors
    /// See [`FramingError`]. The connection must not be used after an error.
    pub(super) fn next_message(&mut self) -> Result<Option<SocketMessage>, FramingError> {
        loop {
            let Some(head) = parse_head(&self.received)? else { return Ok(None) };
            let FrameHead { is_final, opcode, head_bytes, payload_bytes } = head;
            if self.partial.as_ref().map_or(0, Vec::len).saturating_add(payload_bytes) > FRAME_LIMIT_BYTES {
                return Err(FramingError::TooLong);
            }
            if self.received.len() - head_bytes < payload_bytes {
                return Ok(None);
            }
            self.received.advance(head_bytes);
            let payload = self.received.split_to(payload_bytes);
            let text = match (opcode, self.partial.take()) {
                (0x0, Some(mut partial)) => {
                    partial.extend_from_slice(&payload);
                    partial
                }
                (0x1, None) => payload.to_vec(),
                (0x2, None) => return Err(FramingError::Binary),
                (0x8, _) => return Ok(Some(SocketMessage::Close)),
                (0x9, partial) => {
                    self.partial = partial;
                    return Ok(Some(SocketMessage::Ping(payload.to_vec())));
                }
                (0xA, partial) => {
                    self.partial = partial;
                    return Ok(Some(SocketMessage::Pong));
                }
                _ => return Err(FramingError::Malformed),
            };
            if is_final {
                let text = String::from_utf8(text).map_err(|_| FramingError::NotUtf8)?;
                return Ok(Some(SocketMessage::Text(text)));
            }
            self.partial = Some(text);
        }
    }
}

/// Parses the start of a frame; `None` if it needs more bytes.
fn parse_head(bytes: &[u8]) -> Result<Option<FrameHead>, FramingError> {
    let [first, second, rest @ ..] = bytes else { return Ok(None) };
    let (length, head_bytes) = match second & 0x7F {
        126 => (rest.first_chunk().map(|length| u64::from(u16::from_be_bytes(*length))), 4),
        127 => (rest.first_chunk().map(|length| u64::from_be_bytes(*length)), 10),
        length => (Some(u64::from(length)), 2),
    };
    let (is_final, opcode) = (first & 0x80 != 0, first & 0x0F);
    let is_control = opcode & 0x8 != 0;
    // Reserved bits belong to extensions, and only clients mask.
    if first & 0x70 != 0 || second & 0x80 != 0 || is_control && (!is_final || head_bytes > 2) {
        return Err(FramingError::Malformed);
    }
    let Some(length) = length else { return Ok(None) };
    let payload_bytes = usize::try_from(length).map_err(|_| FramingError::TooLong)?;
    if payload_bytes > FRAME_LIMIT_BYTES {
        return Err(FramingError::TooLong);
    }
    Ok(Some(FrameHead { is_final, opcode, head_bytes, payload_bytes }))
}

/// Returns a frame of a client. `mask` must be random.
pub(super) fn encode_frame(opcode: Opcode, mask: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(0x80 | opcode as u8);
    let length = payload.len();
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ ..126), _) => frame.push(0x80 | short),
        (_, Ok(medium)) => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&medium.to_be_bytes());
        }
        (_, Err(_)) => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&u64::try_from(length).unwrap_or(u64::MAX).to_be_bytes());
        }
    }
    frame.extend_from_slice(&mask);
    let start = frame.len();
    frame.extend_from_slice(payload);
    if let Some(payload) = frame.get_mut(start..) {
        apply_mask(payload, mask);
    }
    frame
}

fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (chunks, rest) = payload.as_chunks_mut();
    for chunk in chunks {
        *chunk = (u64::from_ne_bytes(*chunk) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.into_iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a frame of a server.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        match payload.len() {
            short @ ..126 => frame.push(u8::try_from(short).unwrap()),
            medium @ 126..=0xFFFF => {
                frame.push(126);
                frame.extend(u16::try_from(medium).unwrap().to_be_bytes());
            }
            long => {
                frame.push(127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        frame.extend(payload);
        frame
    }

    fn read(chunks: &[&[u8]]) -> Result<Vec<SocketMessage>, FramingError> {
        let (mut reader, mut messages) = (MessageReader::default(), Vec::new());
        for chunk in chunks {
            reader.buffer().extend_from_slice(chunk);
            while let Some(message) = reader.next_message()? {
                messages.push(message);
            }
        }
        Ok(messages)
    }

    #[test]
    fn a_message_in_several_frames_may_have_pings_between_them() {
        let bytes =
            [frame(0x01, b"one "), frame(0x89, b"p"), frame(0x00, b"two "), frame(0x80, b"three")].concat();
        let expect = [SocketMessage::Ping(b"p".into()), SocketMessage::Text("one two three".into())];
        assert_eq!(read(&[&bytes]), Ok(expect.into()));
    }

    #[test]
    fn frames_that_the_protocol_forbids_are_errors() {
        let masked = encode_frame(Opcode::Text, [1, 2, 3, 4], b"x");
        let endless = [frame(0x01, b"x"), frame(0x01, b"y")].concat();
        for bytes in [
            masked,
            endless,
            frame(0xC1, b"compressed"),
            frame(0x80, b"nothing to continue"),
            frame(0x83, b"reserved"),
            frame(0x09, b"a ping in parts"),
            frame(0x89, &[b'x'; 126]),
        ] {
            assert_eq!(read(&[&bytes]), Err(FramingError::Malformed), "{bytes:?}");
        }
        assert_eq!(read(&[&frame(0x82, b"x")]), Err(FramingError::Binary));
        assert_eq!(read(&[&frame(0x81, b"\xFF")]), Err(FramingError::NotUtf8));
    }

    #[test]
    fn a_message_over_the_limit_is_an_error_before_it_is_received() {
        let head = |bytes: usize| [&[0x81, 127][..], &(bytes as u64).to_be_bytes()].concat();
        assert_eq!(read(&[&head(FRAME_LIMIT_BYTES)]), Ok(vec![]));
        assert_eq!(read(&[&head(FRAME_LIMIT_BYTES + 1)]), Err(FramingError::TooLong));
        assert_eq!(read(&[&head(usize::MAX)]), Err(FramingError::TooLong));
        let half = vec![b'x'; FRAME_LIMIT_BYTES / 2 + 1];
        let in_two = [frame(0x01, &half), frame(0x80, &half)].concat();
        assert_eq!(read(&[&in_two]), Err(FramingError::TooLong));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_messages(
            texts in prop::collection::vec("[a-zé\u{1f600}]{0,200}", 0..6),
            cuts in prop::collection::vec(0usize..2000, 0..12),
        ) {
            let bytes = texts.iter().map(|text| frame(0x81, text.as_bytes())).collect::<Vec<_>>().concat();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let expect: Vec<_> = texts.into_iter().map(SocketMessage::Text).collect();
            prop_assert_eq!(read(&chunks), Ok(expect));
        }

        #[test]
        fn an_encoded_frame_is_the_masked_payload(
            payload in prop::collection::vec(any::<u8>(), 0..300), long in any::<bool>(), mask: [u8; 4],
        ) {
            let payload = if long { payload.repeat(300) } else { payload };
            let mut encoded = encode_frame(Opcode::Text, mask, &payload);
            let expect = frame(0x81, &payload);
            let head = expect.len() - payload.len();
            // Removing the mask gives the frame of a server.
            let mut rest = encoded.split_off(head);
            prop_assert_eq!(&rest[..4], &mask);
            let masked = rest.split_off(4);
            encoded[1] &= 0x7F;
            encoded.extend(masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
            prop_assert_eq!(encoded, expect);
        }
    }
}
