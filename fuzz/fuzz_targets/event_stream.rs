//! Any bytes in any chunks: the parser of the binary event stream of AWS does not crash, and the chunks do not change the
//! result. Checksums stop most random bytes, so that the input also becomes the headers and the payload of a valid message.
#![no_main]

use ibeam_providers::framing::{Frame, FrameParser};
use ibeam_providers::protocols::bedrock::event_stream::EventStreamParser;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, Vec<u8>, usize)| {
    let (headers, payload, cut) = input;
    let valid = message(&headers, &payload);
    for bytes in [[valid.as_slice(), &payload].concat(), payload] {
        let cut = cut.checked_rem(bytes.len() + 1).unwrap_or_default();
        assert_eq!(parse(&[&bytes]), parse(&[&bytes[..cut], &bytes[cut..]]));
    }
});

fn parse(chunks: &[&[u8]]) -> Option<Vec<Frame>> {
    let mut parser = EventStreamParser::default();
    let mut frames = Vec::new();
    let fed: Result<Vec<()>, _> = chunks.iter().map(|chunk| parser.feed(chunk, &mut frames)).collect();
    fed.is_ok().then_some(frames)
}

fn message(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    let mut message = length(16 + headers.len() + payload.len()).to_vec();
    message.extend_from_slice(&length(headers.len()));
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(headers);
    message.extend_from_slice(payload);
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message
}
