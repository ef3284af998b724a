//! Replays a recorded stream through a wire protocol.

use ibeam_core::ModelEvent;
use ibeam_protocol::Block;
use ibeam_providers::response_error::ResponseError;
use ibeam_providers::{Quirks, WireProtocol};

use crate::conversation::{request, user};

/// Returns the events of a stream and of its answer, one per line. An error is the last line.
pub(crate) fn replay(protocol: &dyn WireProtocol, chunks: &[&[u8]]) -> Vec<String> {
    let quirks = Quirks { text_tool_calls: true, ..Quirks::DEFAULT };
    let mut decoder = protocol.decoder(&request(vec![user("hi")]), quirks);
    let mut parser = protocol.frame_parser();
    let mut out = Vec::new();
    let mut run = || -> Result<(), ResponseError> {
        for chunk in chunks {
            let mut frames = Vec::new();
            parser.feed(chunk, &mut frames).unwrap();
            for frame in &frames {
                decoder.decode_frame(frame, &mut out)?;
            }
        }
        decoder.finish_stream(parser.finish().ok().flatten().as_ref(), &mut out)
    };
    let result = run();
    lines(out, result.err())
}

/// Returns the events of a document that is not streamed.
pub(crate) fn replay_document(protocol: &dyn WireProtocol, body: &str) -> Vec<String> {
    let mut out = Vec::new();
    let result =
        protocol.decoder(&request(vec![user("hi")]), Quirks::DEFAULT).decode_document(body, &mut out);
    lines(out, result.err())
}

pub(crate) fn lines(events: Vec<ModelEvent>, error: Option<ResponseError>) -> Vec<String> {
    let mut lines: Vec<String> = events.into_iter().flat_map(line).collect();
    lines.extend(error.map(|error| match error {
        ResponseError::Reported(error) => format!("reported [{}] {}", error.kind, error.message),
        ResponseError::Protocol(detail) => format!("protocol: {detail}"),
        ResponseError::TooLarge(detail) => format!("too large: {detail}"),
        ResponseError::Garbled(detail) => format!("garbled: {detail}"),
        ResponseError::Truncated => "truncated".to_owned(),
    }));
    lines
}

fn line(event: ModelEvent) -> Vec<String> {
    let answer = match event {
        ModelEvent::TextDelta(text) => return vec![format!("text {text}")],
        ModelEvent::ThinkingDelta(text) => return vec![format!("thinking {text}")],
        ModelEvent::ToolCallAnnounced | ModelEvent::Notice(_) => return Vec::new(),
        ModelEvent::Finished(answer) => answer,
    };
    let block = |block: &Block| match block {
        Block::Text(text) => format!("= text {text}"),
        Block::Thinking { text, original } => {
            format!("= thinking {text} {}", original.as_ref().map_or("-".into(), |it| it.raw.to_string()))
        }
        Block::ToolCall(call) => format!("= call {} {} {}", call.id, call.name, call.arguments),
        Block::Opaque(opaque) => format!("= opaque {}", opaque.raw),
    };
    let mut lines: Vec<String> = answer.blocks.iter().map(block).collect();
    lines.extend(answer.refusal.map(|refusal| {
        let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        format!("= refused {}: {}", text(refusal.category), text(refusal.explanation))
    }));
    let usage = answer.usage.map_or("-".to_owned(), |usage| {
        format!("{}+{}r+{}w/{}", usage.input, usage.cache_read, usage.cache_write, usage.output)
    });
    lines.push(format!("= {:?} {usage}", answer.stop));
    lines
}

/// Expects the same lines however the stream is chunked: in one piece, cut anywhere, byte by byte.
#[track_caller]
pub(crate) fn check(protocol: &dyn WireProtocol, stream: impl AsRef<[u8]>, expect: &[&str]) {
    let stream = stream.as_ref();
    assert_eq!(replay(protocol, &[stream]), expect);
    for cut in (0..stream.len()).step_by(7) {
        let (head, tail) = stream.split_at(cut);
        assert_eq!(replay(protocol, &[head, tail]), expect, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(replay(protocol, &bytes), expect, "byte by byte");
}
