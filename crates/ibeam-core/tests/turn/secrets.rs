//! Secrets are kept out of the record, whoever says them.

use super::*;

#[test]
fn a_secret_that_a_tool_says_reaches_neither_the_record_nor_the_model() {
    let told = json!({ "say": format!("the key is {SECRET}, c2stMDEyMzQ1Njc4OWFiY2RlZg== too") });
    let stage = stage(vec![calls(vec![call("1", "look", told)]), say(&["ok"])]);
    let (_, events) = play(&stage, &[]);
    let outcome = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolCallFinished { outcome, .. } => Some(outcome.for_model()),
        _ => None,
    });
    assert_eq!(outcome.as_deref(), Some("the key is ***, *** too"));
    let requests = stage.provider.requests.lock().unwrap();
    let Message::ToolResults(results) = requests[1].messages.last().unwrap().as_ref() else { panic!() };
    assert_eq!(results[0].text.as_ref(), "the key is ***, *** too");
}

#[test]
fn a_secret_that_a_failure_tells_is_taken_out() {
    let reason = Reason::ProviderFailed { provider: "p".into(), said: format!("bad key {SECRET}") };
    let error = ProviderError { failure: reason.into(), repeat: Repeat::Once };
    let stage = stage(vec![Line::Fail(error.clone()), Line::Fail(error)]);
    let (outcome, events) = play(&stage, &[]);
    assert!(!serde_json::to_string(&events).unwrap().contains(SECRET));
    let RunOutcome::Failed(failure) = outcome else { panic!() };
    assert_eq!(failure.reason.said(), "bad key ***", "the caller tells it too");
}
