//! The tokens and the cost of a run by model and class.

use super::*;
use ibeam_core::{Prices, TokenPrices};

/// One dollar for a million tokens of each class.
const PRICES: Prices = Prices {
    base: TokenPrices { input: 1_000_000, output: 1_000_000, cache_read: 1_000_000, cache_write: 1_000_000 },
    steps: [None, None],
};

fn priced(replies: Vec<Reply>) -> Fixture {
    let mut fixture = fixture(replies);
    fixture.run.prices = Some(PRICES);
    fixture
}

fn totals(fixture: &Fixture) -> RunTotals {
    let (_, events) = run_turn(fixture, &[]);
    let Some(EventKind::RunFinished(end)) = events.last().map(|event| &event.kind) else { panic!() };
    end.totals.clone()
}

fn failure_with_usage(usage: Usage, retry: Retry) -> Reply {
    let reason = Reason::AnswerTruncated { provider: "p".to_owned() };
    Reply::Fail(ProviderError { usage: Some(Box::new(usage)), ..ProviderError::new(reason, retry) })
}

#[test]
fn the_tokens_of_failed_requests_count() {
    let spent = Usage { input: 100, output: 5, reasoning: 3, ..Usage::default() };
    let replies = vec![
        failure_with_usage(spent, Retry::Fast),
        failed_reply(Retry::Fast),
        calls_reply(vec![call("1", "look", json!({}))]),
        text_reply(&["ok"]),
    ];
    let totals = totals(&priced(replies));
    let expect = Usage { input: 102, output: 9, cache_read: 6, cache_write: 8, reasoning: 3 };
    assert_eq!((totals.usage, totals.cost_micros, totals.retries), (Some(expect), Some(125), 2));
    let [model] = totals.models.as_slice() else { panic!("{totals:?}") };
    assert_eq!((model.model.as_str(), model.requests, model.failed_requests), ("p/m", 2, 2));
    assert_eq!((model.usage, model.cost_micros), (Some(expect), Some(125)));
    let costs = model.costs.unwrap();
    assert_eq!((costs.input, costs.output, costs.reasoning), (102_000_000, 9_000_000, 3_000_000));
    assert_eq!((costs.cache_read, costs.cache_write), (6_000_000, 8_000_000));
}

#[test]
fn a_failure_that_ends_the_run_counts_with_its_tokens() {
    let spent = Usage { input: 100, ..Usage::default() };
    let totals = totals(&priced(vec![failure_with_usage(spent, Retry::Never)]));
    let [model] = totals.models.as_slice() else { panic!("{totals:?}") };
    assert_eq!((model.requests, model.failed_requests), (0, 1));
    assert_eq!((model.usage, model.cost_micros, totals.usage), (Some(spent), Some(100), Some(spent)));
}

#[test]
fn an_interrupted_answer_counts_with_its_tokens() {
    let spent = Usage { input: 7, output: 1, ..Usage::default() };
    let reason = Reason::AnswerTruncated { provider: "p".to_owned() };
    let error = ProviderError { usage: Some(Box::new(spent)), ..ProviderError::new(reason, Retry::Fast) };
    let broken = Reply::BreakOff(vec![ModelEvent::TextDelta("half ".to_owned())], error);
    let totals = totals(&priced(vec![broken, text_reply(&["whole"])]));
    let [model] = totals.models.as_slice() else { panic!("{totals:?}") };
    assert_eq!((model.requests, model.failed_requests, totals.continuations), (1, 1, 1));
    assert_eq!(model.usage.unwrap().input, 8);
}

#[test]
fn an_unknown_price_is_no_cost_and_missing_counts_are_named() {
    let answer = Answer {
        blocks: vec![Block::Text("ok".into())],
        stop: StopReason::EndTurn,
        usage: None,
        refusal: None,
        request_id: None,
    };
    let uncounted = Reply::Complete(vec![ModelEvent::Finished(Box::new(answer))]);
    let replies = vec![calls_reply(vec![call("1", "look", json!({}))]), uncounted];
    let totals = totals(&fixture(replies));
    let [model] = totals.models.as_slice() else { panic!("{totals:?}") };
    assert_eq!((model.requests, model.uncounted_requests), (2, 1));
    assert_eq!((model.usage.unwrap().output, model.cost_micros, model.costs), (2, None, None));
    assert_eq!(totals.cost_micros, None);
}

#[test]
fn the_corrections_of_an_answer_count() {
    let mut fixture = priced(vec![text_reply(&["no JSON"]), text_reply(&["{}"])]);
    let schema = ibeam_core::JsonSchema::new(json!({ "type": "object" })).unwrap();
    fixture.run.answer_schema = Some(Arc::new(schema));
    let totals = totals(&fixture);
    let [model] = totals.models.as_slice() else { panic!("{totals:?}") };
    assert_eq!((model.requests, model.usage.unwrap().total(), model.cost_micros), (2, 20, Some(20)));
}

#[test]
fn the_request_for_a_summary_counts_even_if_the_summary_is_not_used() {
    let long_call =
        |id: &str| calls_reply(vec![call(id, "look", json!({ "n": id, "say": "x".repeat(4000) }))]);
    let too_long = || {
        let reason = Reason::ContextTooLong { provider: "p".into(), detail: "prompt is too long".into() };
        Reply::Fail(ProviderError::new(reason, Retry::Never))
    };
    for (summary, requests, failed) in [("the user wants it done", 5, 1), ("", 3, 2)] {
        let replies = vec![
            long_call("1"),
            long_call("2"),
            long_call("3"),
            too_long(),
            text_reply(&[summary]),
            text_reply(&["ok"]),
        ];
        let totals = totals(&priced(replies));
        let [model] = totals.models.as_slice() else { panic!("{totals:?}") };
        assert_eq!((model.requests, model.failed_requests), (requests, failed), "{summary}");
        let answers = if summary.is_empty() { 4 } else { 5 };
        assert_eq!(
            (model.usage.unwrap().output, model.cost_micros),
            (2 * answers, Some(10 * answers)),
            "{summary}"
        );
    }
}
