//! Comparison of the totals of a run, as `ibeam.models` of its last line has them, with the expectation of a record.
//!
//! The answer of the record takes part in each way in which a run counts tokens: in a failed attempt, in the request
//! for a summary, as an answer, and as an answer of a fallback model.

use std::time::Duration;

use ibeam_core::{Prices, Tally, TokenPrices};
use ibeam_output::result_event;
use ibeam_protocol::{
    Answer, ClassCosts, Compacted, EventKind, FailedUsage, ModelInfo, Notice, Reason, RunFinished,
    RunOutcome, RunStarted, SessionId, Usage,
};
use serde_json::{Value, json};

use crate::comparison::expected_usage;
use crate::record::Record;
use crate::wires::Wire;

/// Prices in dollars for a million tokens, different for each class.
const DOLLARS: [u64; 4] = [3, 15, 2, 5];

const PRICES: Prices = Prices {
    base: TokenPrices {
        input: DOLLARS[0] * 1_000_000,
        output: DOLLARS[1] * 1_000_000,
        cache_read: DOLLARS[2] * 1_000_000,
        cache_write: DOLLARS[3] * 1_000_000,
    },
    steps: [None, None],
};

/// Returns the differences between the totals of a run with `answer` and the expectation of `record`.
pub(crate) fn totals_differences(wire: Wire, record: &Record, answer: &Answer) -> Vec<String> {
    let Some(recorded) = &record.expect.usage else { return Vec::new() };
    let expected = expected_usage(wire, recorded, answer.usage);
    if expected.is_none() && !recorded.is_empty() {
        // The corpus has only some of the counts.
        return Vec::new();
    }
    let found = match found_models(wire, answer) {
        Ok(found) => found,
        Err(error) => return vec![format!("totals: {error}")],
    };
    let expected_models = json!([
        // A failed attempt, a summary and an answer.
        expected_model(&format!("{}/first", wire.name), expected, 2, 1),
        expected_model(&format!("{}/second", wire.name), expected, 1, 0),
    ]);
    if found == expected_models {
        return Vec::new();
    }
    let expected = if expected.is_none() { "no tokens, ".to_owned() } else { String::new() };
    vec![format!("totals: expected {expected}{expected_models}, found {found}")]
}

/// Returns `ibeam.models` of the last line of a run in which `answer` arrives four times.
fn found_models(wire: Wire, answer: &Answer) -> Result<Value, serde_json::Error> {
    let mut tally = Tally::default();
    for event in events(wire, answer)? {
        tally.fold(&event, Duration::ZERO);
    }
    let end = RunFinished {
        session_id: SessionId::random(),
        outcome: RunOutcome::Completed,
        duration_ms: 0,
        totals: tally.totals,
        partial: None,
        structured: None,
        ephemeral: true,
    };
    let line = serde_json::to_value(result_event(&end))?;
    Ok(line.pointer("/ibeam/models").cloned().unwrap_or_default())
}

fn events(wire: Wire, answer: &Answer) -> Result<Vec<EventKind>, serde_json::Error> {
    let reason = || Reason::AnswerTruncated { provider: wire.name.to_owned() };
    let costs = answer.usage.map(|usage| PRICES.costs(usage));
    let cost_micros = costs.map(ClassCosts::micros);
    let finished = || EventKind::ModelRequestFinished {
        model_call_id: "m".into(),
        answer: Box::new(answer.clone()),
        api_ms: 0,
        cost_micros,
        costs,
        prefix: None,
    };
    let summary = Compacted {
        replaced: 1,
        summary: String::new(),
        before_tokens: 0,
        after_tokens: 0,
        usage: answer.usage,
        api_ms: 0,
        cost_micros,
        costs,
        shortened_results: Vec::new(),
    };
    let usage = answer.usage.map(|usage| Box::new(FailedUsage { usage, costs }));
    let (from, to) = (format!("{}/first", wire.name), format!("{}/second", wire.name));
    Ok(vec![
        EventKind::RunStarted(Box::new(head(wire)?)),
        EventKind::Retrying { attempt: 1, delay_ms: 0, reason: reason(), usage },
        EventKind::Compacted(Box::new(summary)),
        finished(),
        EventKind::Notice(Notice::ModelFallback { from, to, reason: Box::new(reason()) }),
        finished(),
    ])
}

fn head(wire: Wire) -> Result<RunStarted, serde_json::Error> {
    let model = ModelInfo { provider: wire.name.to_owned(), id: "first".to_owned(), display: String::new() };
    serde_json::from_value(json!({
        "session_id": SessionId::random(),
        "cwd": "/",
        "model": model,
        "key_source": "none",
        "permission_mode": "default",
        "tools": [],
        "version": "",
        "limits": { "max_turns": 1, "timeout_ms": null },
        "resumed": false,
    }))
}

/// Returns the entry of a model that answered `requests` times and failed `failed` times, each time with `usage`.
fn expected_model(model: &str, usage: Option<Usage>, requests: u64, failed: u64) -> Value {
    let mut entry = json!({ "model": model, "requests": requests, "failed_requests": failed });
    let Some(entry_object) = entry.as_object_mut() else { return entry };
    let Some(usage) = usage else {
        entry_object.insert("uncounted_requests".to_owned(), requests.into());
        return entry;
    };
    let Usage { input, output, cache_read, cache_write, reasoning } = usage;
    let times = requests + failed;
    let tokens = json!({
        "inputTokens": input * times,
        "outputTokens": output * times,
        "cacheReadTokens": cache_read * times,
        "cacheWriteTokens": cache_write * times,
        "reasoningTokens": reasoning * times,
    });
    let micros =
        input * DOLLARS[0] + output * DOLLARS[1] + cache_read * DOLLARS[2] + cache_write * DOLLARS[3];
    let dollars = |tokens: u64, price: u64| (tokens * times * price * 1_000_000) as f64 / 1e12;
    let costs = json!({
        "input_usd": dollars(input, DOLLARS[0]),
        "output_usd": dollars(output, DOLLARS[1]),
        "cache_read_usd": dollars(cache_read, DOLLARS[2]),
        "cache_write_usd": dollars(cache_write, DOLLARS[3]),
        "reasoning_usd": dollars(reasoning, DOLLARS[1]),
    });
    entry_object.insert("usage".to_owned(), tokens);
    entry_object.insert("cost_usd".to_owned(), json!((micros * times) as f64 / 1e6));
    entry_object.insert("cost_by_class".to_owned(), costs);
    entry
}
