//! Work grows with the bytes, not with their square.

use std::time::{Duration, Instant};

use ibeam_core::ModelEvent;
use ibeam_providers::provider_table::DEFAULT_QUIRKS;
use ibeam_providers::sse::SseParser;
use ibeam_providers::wire::Wire;

use crate::conversation::{request, user};

const EVENTS: usize = 100_000;

/// Parses many tiny events in chunks as a socket gives them.
#[track_caller]
fn check(wire: Wire, head: &str, event: &str) {
    let stream = head.to_owned() + &event.repeat(EVENTS);
    let mut parser = SseParser::default();
    let mut decoder = wire.decoder(&request(vec![user("hi")]), DEFAULT_QUIRKS);
    let (mut events, mut out, mut texts) = (Vec::new(), Vec::new(), 0);
    let begun = Instant::now();
    for chunk in stream.as_bytes().chunks(8192) {
        parser.feed(chunk, &mut events).unwrap();
        for event in events.drain(..) {
            decoder.event(&event, &mut out).unwrap();
        }
        texts += out.drain(..).filter(|event| matches!(event, ModelEvent::TextDelta(_))).count();
    }
    assert_eq!(texts, EVENTS);
    let took = begun.elapsed();
    println!("{wire:?}: {:.0} events a second", EVENTS as f64 / took.as_secs_f64());
    // An unoptimised build on a busy machine needs about a second; quadratic work would need minutes.
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn a_hundred_thousand_tiny_events_take_linear_time() {
    let start = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{}}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    let delta = "event: content_block_delta\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n";
    check(Wire::Anthropic, start, delta);
    let chunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":\
        [{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n";
    check(Wire::OpenAi, "", chunk);
}
