//! The decoding time is linear in the number of bytes.

use std::time::{Duration, Instant};

use ibeam_core::ModelEvent;
use ibeam_providers::protocols::{
    ANTHROPIC, BEDROCK, COHERE, GEMINI, GEMINI_INTERACTIONS, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES,
};
use ibeam_providers::{Quirks, WireProtocol};

use crate::conversation::{request, user};
use crate::event_stream::encode;

const EVENTS: usize = 100_000;

/// Decodes many tiny events, in chunks as from a socket.
#[track_caller]
fn check(protocol: &dyn WireProtocol, head: impl AsRef<[u8]>, event: impl AsRef<[u8]>) {
    let stream = [head.as_ref(), &event.as_ref().repeat(EVENTS)].concat();
    let mut parser = protocol.frame_parser();
    let mut decoder = protocol.decoder(&request(vec![user("hi")]), Quirks::DEFAULT);
    let (mut frames, mut out, mut texts) = (Vec::new(), Vec::new(), 0);
    let started = Instant::now();
    for chunk in stream.chunks(8192) {
        parser.feed(chunk, &mut frames).unwrap();
        for frame in frames.drain(..) {
            decoder.decode_frame(&frame, &mut out).unwrap();
        }
        texts += out.drain(..).filter(|event| matches!(event, ModelEvent::TextDelta(_))).count();
    }
    assert_eq!(texts, EVENTS);
    let elapsed = started.elapsed();
    println!("{protocol:?}: {:.0} events a second", EVENTS as f64 / elapsed.as_secs_f64());
    // An unoptimised build on a busy machine needs about a second; quadratic work would need minutes.
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
}

#[test]
fn a_hundred_thousand_tiny_events_take_linear_time() {
    let start = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{}}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    let delta = "event: content_block_delta\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n";
    check(ANTHROPIC, start, delta);
    let chunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":\
        [{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n";
    check(OPENAI_CHAT, "", chunk);
    let delta = "event: response.output_text.delta\n\
        data: {\"type\":\"response.output_text.delta\",\"sequence_number\":9,\"item_id\":\"msg_1\",\"output_index\":0,\
        \"content_index\":0,\"delta\":\"word \",\"logprobs\":[],\"obfuscation\":\"x7Kq\"}\n\n";
    check(OPENAI_RESPONSES, "", delta);
    let chunk = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"word \"}],\"role\":\"model\"},\"index\":0}],\
        \"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":9,\"totalTokenCount\":14},\
        \"modelVersion\":\"m\",\"responseId\":\"r\"}\r\n\r\n";
    check(GEMINI, "", chunk);
    let start = "data: {\"event_type\":\"step.start\",\"index\":0,\"step\":{\"type\":\"model_output\"}}\n\n";
    let delta = "event: step.delta\n\
        data: {\"event_type\":\"step.delta\",\"index\":0,\"delta\":{\"text\":\"word \",\"type\":\"text\"}}\n\n";
    check(GEMINI_INTERACTIONS, start, delta);
    let delta = r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"word "},"p":"abcdefghijkl"}"#;
    check(BEDROCK, encode("messageStart {}"), encode(delta));
    let line = "{\"model\":\"m\",\"created_at\":\"2025-07-07T20:22:19.184789Z\",\"message\":{\"role\":\"assistant\",\
        \"content\":\"word \"},\"done\":false}\n";
    check(OLLAMA, "", line);
    let delta = "event: content-delta\n\
        data: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"text\":\"word \"}}}}\n\n";
    check(COHERE, "", delta);
}
