//! Decoding of an answer: framing, JSON and the rules of the wire protocol, for each protocol.
//!
//! Rows named `by_…` are the baselines of their group.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::hint::black_box;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use ibeam_core::{ModelEvent, ModelRequest};
use ibeam_providers::protocols::{
    ANTHROPIC, BEDROCK, BEDROCK_ANTHROPIC, COHERE, GEMINI, GEMINI_INTERACTIONS, OLLAMA, OPENAI_CHAT,
    OPENAI_RESPONSES,
};
use ibeam_providers::{Quirks, WireProtocol};

#[path = "../tests/providers/event_stream.rs"]
mod event_stream;

fn main() {
    divan::main();
}

const DELTAS: usize = 10_000;
/// Bytes of one read from a socket.
const CHUNK: usize = 16 << 10;

fn request() -> ModelRequest {
    ModelRequest {
        system: Arc::from("You are an agent."),
        tools: Arc::from([]),
        messages: Vec::new(),
        max_output_tokens: None,
        answer_schema: None,
        effort: None,
    }
}

/// The parts of an answer of many short deltas, as a fast model streams it.
struct Stream {
    protocol: &'static dyn WireProtocol,
    start: &'static str,
    delta: &'static str,
    end: &'static str,
}

const ANTHROPIC_STREAM: Stream = Stream {
    protocol: ANTHROPIC,
    start: concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","#,
        r#""model":"m","content":[],"stop_reason":null,"stop_sequence":null,"#,
        r#""usage":{"input_tokens":100,"output_tokens":1}}}"#,
        "\n\nevent: content_block_start\n",
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        "\n\n",
    ),
    delta: concat!(
        "event: content_block_delta\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}"#,
        "\n\n",
    ),
    end: concat!(
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#,
        "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ),
};

const OPENAI_CHAT_STREAM: Stream = Stream {
    protocol: OPENAI_CHAT,
    start: "",
    delta: concat!(
        r#"data: {"id":"chatcmpl-01","object":"chat.completion.chunk","created":1790000000,"model":"m","#,
        r#""choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}"#,
        "\n\n",
    ),
    end: concat!(
        r#"data: {"id":"chatcmpl-01","object":"chat.completion.chunk","created":1790000000,"model":"m","#,
        r#""choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}"#,
        "\n\ndata: [DONE]\n\n",
    ),
};

const OPENAI_RESPONSES_STREAM: Stream = Stream {
    protocol: OPENAI_RESPONSES,
    start: concat!(
        "event: response.output_item.added\n",
        r#"data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"#,
        r#""item":{"id":"msg_01","type":"message","status":"in_progress","role":"assistant","content":[]}}"#,
        "\n\n",
    ),
    delta: concat!(
        "event: response.output_text.delta\n",
        r#"data: {"type":"response.output_text.delta","sequence_number":9,"item_id":"msg_01","output_index":0,"#,
        r#""content_index":0,"delta":" word","logprobs":[],"obfuscation":"x7KqLm2pRt0"}"#,
        "\n\n",
    ),
    end: concat!(
        "event: response.completed\n",
        r#"data: {"type":"response.completed","response":{"id":"resp_01","status":"completed","output":[],"#,
        r#""usage":{"input_tokens":100,"output_tokens":9}}}"#,
        "\n\n",
    ),
};

const GEMINI_INTERACTIONS_STREAM: Stream = Stream {
    protocol: GEMINI_INTERACTIONS,
    start: concat!(
        "event: step.start\n",
        r#"data: {"event_type":"step.start","index":0,"step":{"type":"model_output"}}"#,
        "\n\n",
    ),
    delta: concat!(
        "event: step.delta\n",
        r#"data: {"event_type":"step.delta","index":0,"delta":{"text":" word","type":"text"}}"#,
        "\n\n",
    ),
    end: concat!(
        "event: interaction.completed\n",
        r#"data: {"event_type":"interaction.completed","interaction":{"id":"v1_a","status":"completed"}}"#,
        "\n\n",
    ),
};

const GEMINI_STREAM: Stream = Stream {
    protocol: GEMINI,
    start: "",
    delta: concat!(
        r#"data: {"candidates":[{"content":{"parts":[{"text":" word"}],"role":"model"},"index":0}],"#,
        r#""usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":9,"totalTokenCount":109},"#,
        r#""modelVersion":"m","responseId":"r"}"#,
        "\r\n\r\n",
    ),
    end: concat!(
        r#"data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","#,
        r#""index":0}],"modelVersion":"m","responseId":"r"}"#,
        "\r\n\r\ndata: [DONE]\n\n",
    ),
};

/// One event a line; see [`event_stream::encode`].
const BEDROCK_STREAM: Stream = Stream {
    protocol: BEDROCK,
    start: "messageStart {\"p\":\"abcdefgh\",\"role\":\"assistant\"}\n",
    delta: concat!(
        r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":" word"},"p":"abcdefghijklmnopqrst"}"#,
        "\n",
    ),
    end: concat!(
        r#"contentBlockStop {"contentBlockIndex":0,"p":"abcdef"}"#,
        "\n",
        r#"messageStop {"p":"abcdef","stopReason":"end_turn"}"#,
        "\n",
        r#"metadata {"metrics":{"latencyMs":5},"usage":{"inputTokens":100,"outputTokens":9,"totalTokens":109}}"#,
    ),
};

/// The events of [`ANTHROPIC_STREAM`], each in a message; see [`event_stream::encode_chunks`].
const BEDROCK_ANTHROPIC_STREAM: Stream = Stream { protocol: BEDROCK_ANTHROPIC, ..ANTHROPIC_STREAM };

const OLLAMA_STREAM: Stream = Stream {
    protocol: OLLAMA,
    start: "",
    delta: concat!(
        r#"{"model":"m","created_at":"2025-07-07T20:22:19.184789Z","message":{"role":"assistant","#,
        r#""content":" word"},"done":false}"#,
        "\n",
    ),
    end: concat!(
        r#"{"model":"m","created_at":"2025-07-07T20:22:19.184789Z","message":{"role":"assistant","content":""},"#,
        r#""done":true,"done_reason":"stop","prompt_eval_count":100,"eval_count":9}"#,
        "\n",
    ),
};

const COHERE_STREAM: Stream = Stream {
    protocol: COHERE,
    start: "event: message-start\ndata: {\"type\":\"message-start\",\"id\":\"01\",\"delta\":{}}\n\n",
    delta: concat!(
        "event: content-delta\n",
        r#"data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":" word"}}}}"#,
        "\n\n",
    ),
    end: concat!(
        "event: message-end\n",
        r#"data: {"type":"message-end","delta":{"finish_reason":"COMPLETE","#,
        r#""usage":{"tokens":{"input_tokens":100,"output_tokens":9},"cached_tokens":0}}}"#,
        "\n\ndata: [DONE]\n\n",
    ),
};

fn answer(stream: &Stream) -> Vec<u8> {
    let text = [stream.start, &stream.delta.repeat(DELTAS), stream.end].concat();
    match stream.protocol.name() {
        name if name == BEDROCK.name() => event_stream::encode(&text),
        name if name == BEDROCK_ANTHROPIC.name() => event_stream::encode_chunks(&text),
        _ => text.into_bytes(),
    }
}

/// Decodes the answer and returns the number of its text deltas.
fn decode(protocol: &dyn WireProtocol, bytes: &[u8]) -> usize {
    let (mut parser, mut decoder) = (protocol.frame_parser(), protocol.decoder(&request(), Quirks::DEFAULT));
    let (mut frames, mut events, mut texts, mut finished) = (Vec::new(), Vec::new(), 0, false);
    for chunk in bytes.chunks(CHUNK) {
        parser.feed(chunk, &mut frames).unwrap();
        for frame in frames.drain(..) {
            decoder.decode_frame(&frame, &mut events).unwrap();
        }
        for event in events.drain(..) {
            match black_box(event) {
                ModelEvent::TextDelta(_) => texts += 1,
                ModelEvent::ThinkingDelta(_) | ModelEvent::ToolCallAnnounced | ModelEvent::Notice(_) => {}
                ModelEvent::Finished(_) => finished = true,
            }
        }
    }
    assert!(finished, "the answer has its end");
    texts
}

fn measure(bencher: Bencher<'_, '_>, stream: &Stream) {
    let bytes = answer(stream);
    assert_eq!(decode(stream.protocol, &bytes), DELTAS);
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .counter(ItemsCount::new(DELTAS))
        .bench_local(|| decode(stream.protocol, black_box(&bytes)));
}

fn memcpy(bencher: Bencher<'_, '_>, stream: &Stream) {
    let bytes = answer(stream);
    let mut copy = vec![0; bytes.len()];
    bencher.counter(BytesCount::of_slice(&bytes)).bench_local(|| {
        copy.copy_from_slice(black_box(&bytes));
        black_box(copy.last().copied())
    });
}

mod anthropic {
    use super::*;

    #[divan::bench]
    fn deltas(bencher: Bencher<'_, '_>) {
        measure(bencher, &ANTHROPIC_STREAM);
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &ANTHROPIC_STREAM);
    }
}

mod openai {
    use super::*;

    #[divan::bench]
    fn deltas(bencher: Bencher<'_, '_>) {
        measure(bencher, &OPENAI_CHAT_STREAM);
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &OPENAI_CHAT_STREAM);
    }
}

mod openai_responses {
    use super::*;

    #[divan::bench]
    fn deltas(bencher: Bencher<'_, '_>) {
        measure(bencher, &OPENAI_RESPONSES_STREAM);
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &OPENAI_RESPONSES_STREAM);
    }
}

mod gemini {
    use super::*;

    #[divan::bench]
    fn deltas(bencher: Bencher<'_, '_>) {
        measure(bencher, &GEMINI_STREAM);
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &GEMINI_STREAM);
    }
}

mod gemini_interactions {
    use super::*;

    #[divan::bench]
    fn deltas(bencher: Bencher<'_, '_>) {
        measure(bencher, &GEMINI_INTERACTIONS_STREAM);
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &GEMINI_INTERACTIONS_STREAM);
    }
}

mod bedrock {
    use super::*;

    #[divan::bench]
    fn deltas(bencher: Bencher<'_, '_>) {
        measure(bencher, &BEDROCK_STREAM);
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &BEDROCK_STREAM);
    }
}

mod bedrock_anthropic {
    use super::*;

    #[divan::bench]
    fn deltas(bencher: Bencher<'_, '_>) {
        measure(bencher, &BEDROCK_ANTHROPIC_STREAM);
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &BEDROCK_ANTHROPIC_STREAM);
    }
}

mod ollama {
    use super::*;

    #[divan::bench]
    fn deltas(bencher: Bencher<'_, '_>) {
        measure(bencher, &OLLAMA_STREAM);
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &OLLAMA_STREAM);
    }
}

mod cohere {
    use super::*;

    #[divan::bench]
    fn deltas(bencher: Bencher<'_, '_>) {
        measure(bencher, &COHERE_STREAM);
    }

    #[divan::bench]
    fn by_memcpy(bencher: Bencher<'_, '_>) {
        memcpy(bencher, &COHERE_STREAM);
    }
}
