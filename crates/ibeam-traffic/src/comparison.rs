//! Comparison of a decoded answer with the expectation of its record.

use ibeam_protocol::{StopReason, Usage};
use ibeam_providers::response_error::FailureClass;

use crate::decoding::{DecodedAnswer, DecodingOutcome};
use crate::libraries::LibraryAnswer;
use crate::record::{ExpectedCall, ExpectedUsage, Record};
use crate::wires::Wire;

/// Returns the differences between `outcome` and the expectation of `record`, one sentence each.
pub(crate) fn differences(wire: Wire, record: &Record, outcome: &DecodingOutcome) -> Vec<String> {
    let expect = &record.expect;
    match (outcome, &expect.error) {
        (DecodingOutcome::ServiceError(class), Some(error)) => class_difference(*class, &error.class),
        (DecodingOutcome::Undecodable(_), Some(error)) if !expect.complete && error.class == "other" => {
            Vec::new()
        }
        (outcome, Some(error)) => {
            vec![format!("expected an error of class `{}`, found {}", error.class, summary(outcome))]
        }
        (DecodingOutcome::Answer(_), None) if !expect.complete && record.stream => {
            vec!["an incomplete stream became an answer".to_owned()]
        }
        (DecodingOutcome::Answer(decoded), None) => answer_differences(wire, record, decoded),
        (DecodingOutcome::ServiceError(_) | DecodingOutcome::Undecodable(_), None) if !expect.complete => {
            Vec::new()
        }
        (outcome, None) => vec![format!("expected an answer, found {}", summary(outcome))],
    }
}

fn summary(outcome: &DecodingOutcome) -> String {
    match outcome {
        DecodingOutcome::Answer(decoded) => format!("an answer of {} blocks", decoded.answer.blocks.len()),
        DecodingOutcome::ServiceError(class) => format!("an error of class {class:?}"),
        DecodingOutcome::Undecodable(error) => format!("{error:?}"),
    }
}

/// Returns the differences between `outcome` and the result of a client library for `record`.
pub(crate) fn library_differences(
    wire: Wire,
    record: &Record,
    outcome: &DecodingOutcome,
    library: &LibraryAnswer,
) -> Vec<String> {
    let DecodingOutcome::Answer(decoded) = outcome else {
        return vec![format!("expected an answer, found {}", summary(outcome))];
    };
    let mut differences = Vec::new();
    let text = decoded.text();
    // Libraries have a field for a refusal, which may be shown as text.
    let refusal = record.expect.refusal.as_deref().unwrap_or_default();
    if text != library.text && text != format!("{}{refusal}", library.text) {
        differences.push(format!("text: the library has {:?}, found {text:?}", library.text));
    }
    // Only the corpus marks calls that the token limit cut.
    let is_cut = |call: &&ExpectedCall| {
        record.expect.calls.iter().any(|recorded| recorded.truncated && recorded.name == call.name)
    };
    let calls: Vec<_> = library.calls.iter().filter(|call| !is_cut(call)).collect();
    differences.extend(call_differences(&calls, decoded));
    differences.extend(usage_difference(wire, &library.usage, decoded.answer.usage));
    differences
}

/// Returns the difference between the class of an error and the class in the corpus, if any.
pub(crate) fn class_difference(found: FailureClass, expected: &str) -> Vec<String> {
    let is_same = match found {
        FailureClass::ContextTooLong => expected == "context_length",
        FailureClass::ThinkingRefused => expected == "invalid",
        // Services answer 404 for a wrong path or an unknown parameter too.
        FailureClass::UnknownModel => matches!(expected, "not_found" | "invalid"),
        FailureClass::KeyRefused => matches!(expected, "auth" | "permission"),
        FailureClass::QuotaExhausted => expected == "quota",
        FailureClass::RateLimited => expected == "rate_limit",
        FailureClass::ServiceFailed => matches!(expected, "overloaded" | "server" | "other"),
        FailureClass::BadRequest => matches!(expected, "invalid" | "not_found" | "content_filter" | "other"),
    };
    if is_same { Vec::new() } else { vec![format!("expected error class `{expected}`, found {found:?}")] }
}

fn answer_differences(wire: Wire, record: &Record, decoded: &DecodedAnswer) -> Vec<String> {
    let expect = &record.expect;
    let mut differences = Vec::new();
    let mut compare = |name: &str, expected: &str, found: &str| {
        if expected != found {
            differences.push(format!("{name}: expected {expected:?}, found {found:?}"));
        }
    };
    let refusal = expect.refusal.as_deref().unwrap_or_default();
    let text = decoded.text();
    // A refusal in its own field may be shown as text.
    let has_refusal_as_text = !refusal.is_empty() && text == format!("{}{refusal}", expect.text);
    if !has_refusal_as_text {
        compare("text", &expect.text, &text);
    }
    compare("streamed text", &text, &decoded.streamed_text);
    compare("thinking", &expect.thinking, &decoded.thinking());
    let stop = stop_name(&decoded.answer.stop);
    if !is_same_stop(&expect.stop, &stop) {
        compare("stop", &expect.stop, &stop);
    }
    // Calls that the token limit cut are not executed, so they are left out.
    let calls = expect.calls.iter().filter(|call| !call.truncated);
    differences.extend(call_differences(&calls.collect::<Vec<_>>(), decoded));
    if let Some(usage) = &expect.usage {
        differences.extend(usage_difference(wire, usage, decoded.answer.usage));
    }
    differences
}

fn stop_name(stop: &StopReason) -> String {
    match stop {
        StopReason::EndTurn => "end".to_owned(),
        StopReason::ToolUse => "tool_calls".to_owned(),
        StopReason::MaxTokens => "max_tokens".to_owned(),
        StopReason::Paused => "pause".to_owned(),
        StopReason::Refusal => "refusal".to_owned(),
        StopReason::Unknown(word) => format!("other:{word}"),
    }
}

fn is_same_stop(expected: &str, found: &str) -> bool {
    // A stop sequence ends a turn like any other end; an answer without a reason has ended.
    expected == found || matches!((expected, found), ("stop_sequence" | "none", "end"))
}

fn call_differences(expected: &[&ExpectedCall], decoded: &DecodedAnswer) -> Vec<String> {
    // Calls of a refused answer are not executed, so they are left out.
    let expected = if decoded.answer.stop == StopReason::Refusal { &[] } else { expected };
    let found: Vec<_> = decoded.answer.calls().collect();
    if expected.len() != found.len() {
        return vec![format!("expected {} calls, found {}", expected.len(), found.len())];
    }
    let mut differences = Vec::new();
    for (expected, found) in expected.iter().zip(found) {
        let is_same_id = expected.id.as_deref().is_none_or(|id| id.is_empty() || id == found.id.as_str());
        let is_same_name = expected.name.as_deref() == Some(found.name.as_str());
        if !is_same_id || !is_same_name || expected.arguments != found.arguments {
            differences.push(format!("expected call {expected:?}, found {found:?}"));
        }
    }
    differences
}

fn usage_difference(wire: Wire, expected: &ExpectedUsage, found: Option<Usage>) -> Option<String> {
    let expected = expected_usage(wire, expected, found)?;
    (found != Some(expected)).then(|| format!("usage: expected {expected:?}, found {found:?}"))
}

/// Returns the tokens of an answer as a run counts them; `None` if the corpus does not have both input and output.
///
/// The corpus has the count of reasoning tokens for some model APIs only; without it, the count of `found` is taken.
pub(crate) fn expected_usage(wire: Wire, expected: &ExpectedUsage, found: Option<Usage>) -> Option<Usage> {
    let (input, output) = (expected.input?, expected.output?);
    let cache_read = expected.cache_read.unwrap_or(0);
    let cache_write = expected.cache_write.unwrap_or(0);
    let cached = if wire.input_includes_cache { cache_read.saturating_add(cache_write) } else { 0 };
    let thoughts = expected.thoughts.unwrap_or(0);
    let separate_thoughts = if wire.output_excludes_reasoning { thoughts } else { 0 };
    Some(Usage {
        input: input.saturating_sub(cached),
        output: output.saturating_add(separate_thoughts),
        cache_read,
        cache_write,
        reasoning: expected.thoughts.or(found.map(|usage| usage.reasoning)).unwrap_or(0),
    })
}
