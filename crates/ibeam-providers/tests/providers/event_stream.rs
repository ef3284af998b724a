//! Event streams of AWS for the tests, from fixtures that people can read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// Encodes a fixture: a line is the type of an event, or `!` and the type of an exception, and the payload.
pub(crate) fn encode(fixture: &str) -> Vec<u8> {
    let messages = fixture.lines().map(|line| {
        let (kind, payload) = line.split_once(' ').unwrap();
        match kind.strip_prefix('!') {
            Some(kind) => message(&[(":exception-type", kind), (":message-type", "exception")], payload),
            None => event(kind, payload),
        }
    });
    messages.collect::<Vec<_>>().concat()
}

/// Encodes the events of a stream of server-sent events as chunks of InvokeModelWithResponseStream.
pub(crate) fn encode_chunks(sse: &str) -> Vec<u8> {
    let events = sse.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunk = |data| event("chunk", &json!({ "bytes": STANDARD.encode(data), "p": "abcd" }).to_string());
    events.map(chunk).collect::<Vec<_>>().concat()
}

fn event(kind: &str, payload: &str) -> Vec<u8> {
    let headers = [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    message(&headers, payload)
}

fn message(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let mut encoded = Vec::new();
    for (name, value) in headers {
        encoded.push(u8::try_from(name.len()).unwrap());
        encoded.extend_from_slice(name.as_bytes());
        encoded.push(7);
        encoded.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        encoded.extend_from_slice(value.as_bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap().to_be_bytes();
    let mut message = length(16 + encoded.len() + payload.len()).to_vec();
    message.extend_from_slice(&length(encoded.len()));
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(&encoded);
    message.extend_from_slice(payload.as_bytes());
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message
}
