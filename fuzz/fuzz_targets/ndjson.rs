//! Any bytes in any chunks: the parser of newline-delimited JSON does not crash, and the chunks do not change the result.
#![no_main]

use ibeam_providers::framing::FrameParser;
use ibeam_providers::protocols::ollama::ndjson::NdjsonParser;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, usize)| {
    let (bytes, cut) = input;
    let cut = cut.checked_rem(bytes.len() + 1).unwrap_or_default();
    let parse = |chunks: &[&[u8]]| {
        let mut parser = NdjsonParser::default();
        let mut frames = Vec::new();
        let fed: Result<Vec<()>, _> = chunks.iter().map(|chunk| parser.feed(chunk, &mut frames)).collect();
        fed.is_ok().then_some(frames)
    };
    assert_eq!(parse(&[&bytes]), parse(&[&bytes[..cut], &bytes[cut..]]));
});
