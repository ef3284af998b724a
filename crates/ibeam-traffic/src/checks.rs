//! The checks of one record: its body is decoded in different chunks, and after a cut at each event.

use ibeam_providers::WireProtocol;

use crate::comparison::{class_difference, differences};
use crate::decoding::{DecodedAnswer, DecodingOutcome, classify_error_body, decode_record};
use crate::record::Record;
use crate::run_totals::totals_differences;
use crate::wires::Wire;

/// The largest number of cuts of one stream. A stream with more events is cut after evenly spaced events only.
const MAX_CUTS: usize = 256;

/// Divides a body into chunks.
type Divider = fn(&[u8]) -> Vec<&[u8]>;

/// The ways in which a body is divided into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunking {
    /// One piece.
    Whole,
    /// One piece, and pieces of one to 64 bytes, whose sizes are the same in every run.
    Random,
    /// One piece, random pieces, and single bytes.
    All,
}

/// Checks one record, and beginnings of its stream if `checks_cuts` is set. Returns the differences, one sentence each.
pub(crate) fn check(wire: Wire, record: &Record, chunking: Chunking, checks_cuts: bool) -> Vec<String> {
    let Some(protocol) = wire.protocol() else {
        return vec!["this program has no such model API".to_owned()];
    };
    let body = match record.response.bytes() {
        Ok(body) => body,
        Err(error) => return vec![format!("the record is damaged: {error}")],
    };
    if record.response.status >= 400 {
        let class = classify_error_body(protocol, record, &body);
        let expected = record.expect.error.as_ref().map_or("none", |error| error.class.as_str());
        return class_difference(class, expected);
    }
    let whole = decode_record(protocol, record, [body.as_slice()]);
    let mut found = differences(wire, record, &whole);
    if let DecodingOutcome::Answer(answer) = &whole {
        found.extend(totals_differences(wire, record, &answer.answer));
    }
    if !found.is_empty() {
        return found;
    }
    let dividers: &[Divider] = match chunking {
        Chunking::Whole => &[],
        Chunking::Random => &[random_chunks],
        Chunking::All => &[random_chunks, |body| body.chunks(1).collect()],
    };
    for divide in dividers {
        let outcome = decode_record(protocol, record, divide(&body));
        found
            .extend(differences(wire, record, &outcome).into_iter().map(|text| format!("in chunks: {text}")));
    }
    if checks_cuts
        && record.stream
        && let DecodingOutcome::Answer(answer) = &whole
    {
        found.extend(cut_differences(protocol, record, &body, answer));
    }
    found
}

/// Returns `body` in pieces of one to 64 bytes. The same body always has the same pieces.
fn random_chunks(body: &[u8]) -> Vec<&[u8]> {
    let mut state = body.len() as u64 | 1;
    let mut chunks = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let length = usize::try_from(state % 64).unwrap_or(0) + 1;
        let (chunk, tail) = rest.split_at(length.min(rest.len()));
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}

/// Cuts a stream after each event: the result must be an error, or the complete answer.
fn cut_differences(
    protocol: &'static dyn WireProtocol,
    record: &Record,
    body: &[u8],
    complete: &DecodedAnswer,
) -> Vec<String> {
    let ends = event_ends(protocol, body);
    let step = ends.len().div_ceil(MAX_CUTS).max(1);
    let mut differences = Vec::new();
    for end in ends.into_iter().step_by(step) {
        let DecodingOutcome::Answer(from_cut) =
            decode_record(protocol, record, [body.get(..end).unwrap_or_default()])
        else {
            continue;
        };
        // Only token counts and the terminal event may be missing.
        if from_cut.answer.blocks != complete.answer.blocks || from_cut.answer.stop != complete.answer.stop {
            differences.push(format!("cut after {end} bytes: an incomplete answer was accepted"));
        }
    }
    differences
}

/// Returns the offsets at which an event of the stream is complete.
fn event_ends(protocol: &'static dyn WireProtocol, body: &[u8]) -> Vec<usize> {
    let mut parser = protocol.frame_parser();
    let mut frames = Vec::new();
    let mut ends = Vec::new();
    for (index, byte) in body.iter().enumerate() {
        if parser.feed(std::slice::from_ref(byte), &mut frames).is_err() {
            break;
        }
        if !frames.is_empty() {
            frames.clear();
            ends.push(index + 1);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const STREAM: &str = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello \"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"there\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n",
        "data: [DONE]\n\n",
    );

    /// Returns a record of a Chat Completions stream with `changes` to its expectation.
    fn record(status: u16, body: &str, changes: Value) -> Record {
        let mut record = json!({
            "id": "one",
            "wire": "openai-chat",
            "response": { "status": status, "body": body },
            "stream": true,
            "expect": {
                "text": "Hello there", "thinking": "", "calls": [], "stop": "end", "complete": true,
                "usage": { "input": 9, "output": 2, "cache_read": null, "cache_write": null },
            },
        });
        if let (Some(expect), Value::Object(changes)) = (record["expect"].as_object_mut(), changes) {
            expect.extend(changes);
        }
        serde_json::from_value(record).unwrap()
    }

    #[track_caller]
    fn check_record(record: &Record, expect: &str) {
        let found = check(Wire::find(&record.wire).unwrap(), record, Chunking::All, true);
        match expect {
            "" => assert!(found.is_empty(), "{found:?}"),
            expect => assert!(found.iter().any(|text| text.contains(expect)), "{found:?}"),
        }
    }

    #[test]
    fn an_answer_as_expected_passes_in_every_chunking() {
        check_record(&record(200, STREAM, json!({})), "");
    }

    #[test]
    fn every_part_of_the_expectation_is_compared() {
        check_record(&record(200, STREAM, json!({ "text": "Hello" })), "text: expected");
        check_record(&record(200, STREAM, json!({ "thinking": "Hm" })), "thinking: expected");
        check_record(&record(200, STREAM, json!({ "stop": "max_tokens" })), "stop: expected");
        check_record(
            &record(200, STREAM, json!({ "usage": { "input": 9, "output": 3 } })),
            "usage: expected",
        );
        let call = json!({ "id": "c", "name": "ls", "arguments": {} });
        check_record(&record(200, STREAM, json!({ "calls": [call] })), "expected 1 calls, found 0");
    }

    #[test]
    fn the_totals_of_a_run_are_compared() {
        check_record(
            &record(200, STREAM, json!({ "usage": { "input": 8, "output": 2 } })),
            "totals: expected",
        );
        check_record(&record(200, STREAM, json!({ "usage": {} })), "totals: expected no tokens");
    }

    #[test]
    fn an_incomplete_stream_must_not_become_an_answer() {
        let cut = STREAM.split("data: {\"choices\":[{\"index\":0,\"delta\":{},").next().unwrap();
        check_record(&record(200, cut, json!({ "complete": false, "stop": "none" })), "");
        check_record(
            &record(200, STREAM, json!({ "complete": false })),
            "an incomplete stream became an answer",
        );
        check_record(&record(200, cut, json!({})), "expected an answer, found Truncated");
    }

    #[test]
    fn an_error_is_compared_by_its_class() {
        let body = r#"{"error": {"message": "no such key", "type": "invalid_request_error"}}"#;
        check_record(&record(401, body, json!({ "error": { "class": "auth" } })), "");
        check_record(
            &record(401, body, json!({ "error": { "class": "rate_limit" } })),
            "expected error class",
        );
        check_record(
            &record(200, STREAM, json!({ "error": { "class": "server" } })),
            "expected an error of class",
        );
    }

    #[test]
    fn random_chunks_are_the_whole_body() {
        let chunks = random_chunks(STREAM.as_bytes());
        assert!(chunks.len() > 3 && chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= 64));
        assert_eq!(chunks.concat(), STREAM.as_bytes());
        assert_eq!(
            event_ends(Wire::find("openai-chat").unwrap().protocol().unwrap(), STREAM.as_bytes()).len(),
            5
        );
    }
}
