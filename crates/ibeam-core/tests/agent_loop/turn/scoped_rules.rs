//! Rules for parts of the workspace, which follow the results of the calls that use files there.

use std::collections::BTreeSet;

use ibeam_core::{AddedRules, ScopedRules};

use super::*;

/// One rule for every file of the workspace.
struct OneRule;

impl ScopedRules for OneRule {
    fn rules_for<'a>(
        &'a self,
        paths: Vec<PathBuf>,
        known: &'a BTreeSet<String>,
    ) -> BoxFuture<'a, Option<AddedRules>> {
        let applies = paths.iter().any(|path| path.starts_with("/w")) && !known.contains("AGENTS.md");
        let rules = || AddedRules { files: vec!["AGENTS.md".into()], text: format!("Use tabs. {SECRET}") };
        Box::pin(std::future::ready(applies.then(rules)))
    }
}

fn with_rule(replies: Vec<Reply>) -> Fixture {
    let mut fixture = fixture(replies);
    fixture.run.scoped_rules = Arc::new(OneRule);
    fixture
}

#[test]
fn rules_follow_all_results_of_an_answer_once() {
    let both = || calls_reply(vec![call("1", "look", json!({})), call("2", "change", json!({}))]);
    let again = calls_reply(vec![call("3", "look", json!({}))]);
    let fixture = with_rule(vec![both(), again, text_reply(&["ok"])]);
    check(
        &fixture,
        "Started User Answer Call(1) Allowed(1) Done(1) Call(2) Allowed(2) Done(2) Rules(AGENTS.md) Answer \
         Call(3) Allowed(3) Done(3) Text(ok) Answer Completed",
    );
    let requests = fixture.provider.requests.lock().unwrap();
    let [.., results, rules] = &requests[1].messages[..] else { panic!() };
    assert!(matches!(results.as_ref(), Message::ToolResults(results) if results.len() == 2));
    let Message::User(parts) = rules.as_ref() else { panic!() };
    assert!(
        matches!(&parts[..], [UserPart::Text(text)] if text.starts_with("Use tabs. ") && !text.contains(SECRET))
    );
    assert_eq!(requests[2].messages[..requests[1].messages.len()], requests[1].messages[..]);
}

#[test]
fn a_refused_call_brings_no_rules() {
    let calls = vec![call("1", "outside", json!({}))];
    let fixture = with_rule(vec![calls_reply(calls), text_reply(&["ok"])]);
    let (_, events) = run_turn(&fixture, &[]);
    assert!(!events.iter().any(|event| matches!(event.kind, EventKind::RulesAdded { .. })));
}

#[test]
fn a_resumed_session_has_its_rules_until_a_compaction() {
    let replies = || vec![calls_reply(vec![call("1", "look", json!({}))]), text_reply(&["ok"])];
    let (_, mut events) = run_turn(&with_rule(replies()), &[]);
    assert!(History::replay(&events).added_rules().contains("AGENTS.md"));
    let (_, later) = run_turn(&with_rule(replies()), &events);
    assert!(!later.iter().any(|event| matches!(event.kind, EventKind::RulesAdded { .. })));
    let compacted = Compacted {
        replaced: 1,
        summary: "s".into(),
        before_tokens: 2,
        after_tokens: 1,
        usage: None,
        api_ms: 0,
        cost_micros: None,
        costs: None,
        shortened_results: Vec::new(),
    };
    let seq = events.len() as u64;
    events.push(Event { seq, at_ms: 0, kind: EventKind::Compacted(Box::new(compacted)) });
    assert!(History::replay(&events).added_rules().is_empty());
}
