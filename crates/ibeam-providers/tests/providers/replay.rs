//! Plays a recorded stream through the pure half of a wire.

use ibeam_core::ModelEvent;
use ibeam_protocol::Block;
use ibeam_providers::provider_table::{DEFAULT_QUIRKS, Quirks};
use ibeam_providers::sse::SseParser;
use ibeam_providers::wire::{Wire, WireFault};

use crate::conversation::{request, user};

/// What a stream meant, one line a fact; a fault is the last.
pub(crate) fn replay(wire: Wire, chunks: &[&[u8]]) -> Vec<String> {
    let quirks = Quirks { text_tool_calls: true, ..DEFAULT_QUIRKS };
    let mut decoder = wire.decoder(&request(vec![user("hi")]), quirks);
    let mut parser = SseParser::default();
    let mut out = Vec::new();
    let mut run = || -> Result<(), WireFault> {
        for chunk in chunks {
            let mut events = Vec::new();
            parser.feed(chunk, &mut events).unwrap();
            for event in &events {
                decoder.event(event, &mut out)?;
            }
        }
        decoder.end(std::mem::take(&mut parser).finish().ok().flatten().as_ref(), &mut out)
    };
    let result = run();
    lines(out, result.err())
}

/// A document that is not streamed.
pub(crate) fn replay_whole(wire: Wire, body: &str) -> Vec<String> {
    let mut out = Vec::new();
    let result = wire.decoder(&request(vec![user("hi")]), DEFAULT_QUIRKS).whole(body, &mut out);
    lines(out, result.err())
}

pub(crate) fn lines(events: Vec<ModelEvent>, fault: Option<WireFault>) -> Vec<String> {
    let mut lines: Vec<String> = events.into_iter().flat_map(line).collect();
    lines.extend(fault.map(|fault| match fault {
        WireFault::Reported(error) => format!("reported [{}] {}", error.kind, error.message),
        WireFault::Protocol(how) => format!("protocol: {how}"),
        WireFault::TooLarge(how) => format!("too large: {how}"),
        WireFault::Truncated => "truncated".to_owned(),
    }));
    lines
}

fn line(event: ModelEvent) -> Vec<String> {
    let answer = match event {
        ModelEvent::TextDelta(text) => return vec![format!("text {text}")],
        ModelEvent::ThinkingDelta(text) => return vec![format!("thinking {text}")],
        ModelEvent::ToolCallStarted => return Vec::new(),
        ModelEvent::Finished(answer) => answer,
    };
    let block = |block: &Block| match block {
        Block::Text(text) => format!("= text {text}"),
        Block::Thinking { text, provenance } => {
            format!("= thinking {text} {}", provenance.as_ref().map_or("-".into(), |it| it.raw.to_string()))
        }
        Block::ToolCall(call) => format!("= call {} {} {}", call.id, call.name, call.arguments),
    };
    let mut lines: Vec<String> = answer.blocks.iter().map(block).collect();
    let usage = answer.usage.map_or("-".to_owned(), |usage| {
        format!("{}+{}r+{}w/{}", usage.input, usage.cache_read, usage.cache_write, usage.output)
    });
    lines.push(format!("= {:?} {usage}", answer.stop));
    lines
}

/// Every chunking must mean the same: whole, cut anywhere, byte by byte.
#[track_caller]
pub(crate) fn check(wire: Wire, stream: &str, expect: &[&str]) {
    assert_eq!(replay(wire, &[stream.as_bytes()]), expect);
    for cut in (0..stream.len()).step_by(7) {
        let (head, tail) = stream.as_bytes().split_at(cut);
        assert_eq!(replay(wire, &[head, tail]), expect, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
    assert_eq!(replay(wire, &bytes), expect, "byte by byte");
}
