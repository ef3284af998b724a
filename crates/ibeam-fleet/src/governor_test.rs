//! Budgets, rates and pauses, without clock and sockets.

use proptest::prelude::*;

use super::*;
use ibeam_governor::{LimitLeft, QuotaLeft};

const START: Duration = Duration::from_secs(1000);

fn ask(task: &str) -> PendingRequest {
    request(task, "a", "m")
}

fn request(task: &str, account: &str, model: &str) -> PendingRequest {
    let (task, account, model) = (task.to_owned(), account.to_owned(), model.to_owned());
    PendingRequest::new(Ask { task, account, model, ..Ask::default() }.next(0, 0))
}

fn report(tokens: u64, outcome: RequestOutcome) -> RequestReport {
    RequestReport { tokens, cost_micros: 0, outcome, quota: None }
}

fn sent(governor: &mut Governor, now: Duration) -> String {
    let mut pending = ask("t");
    match governor.decide(now, &mut pending) {
        Decision::Send => pending.ask.request,
        other @ (Decision::Wait(_) | Decision::Lease | Decision::Refuse(_)) => panic!("{other:?}"),
    }
}

fn governor(tokens: Option<u64>, rates: RateLimits) -> Governor {
    Governor::new(Budget { cost_micros: None, tokens }, rates)
}

#[test]
fn an_overload_seen_by_one_run_pauses_all_and_then_few_requests_go_at_once() {
    let mut governor = governor(None, RateLimits::default());
    let numbers: Vec<String> = (0..8).map(|_| sent(&mut governor, START)).collect();
    let overloaded = report(0, RequestOutcome::Overloaded { retry_after_ms: Some(3000) });
    governor.end(START, &numbers[0], &overloaded);
    let later = START + Duration::from_secs(3);
    assert_eq!(governor.decide(START, &mut ask("u")), Decision::Wait(later));
    for number in &numbers[1..] {
        governor.end(START, number, &overloaded);
    }
    let again: Vec<String> = (0..4).map(|_| sent(&mut governor, later)).collect();
    assert!(matches!(governor.decide(later, &mut ask("u")), Decision::Wait(_)));
    governor.end(later, &again[0], &report(1, RequestOutcome::Complete));
    sent(&mut governor, later);
    sent(&mut governor, later);
    assert!(matches!(governor.decide(later, &mut ask("u")), Decision::Wait(_)));
    let mut other = request("u", "b", "m");
    assert!(matches!(governor.decide(START, &mut other), Decision::Send), "another account is not paused");
}

#[test]
fn an_exhausted_quota_refuses_every_further_request_and_reports_why_to_each_task() {
    let mut governor = governor(None, RateLimits::default());
    let number = sent(&mut governor, START);
    governor.end(START, &number, &report(0, RequestOutcome::Exhausted { reason: "no credit".to_owned() }));
    assert_eq!(governor.decide(START, &mut ask("u")), Decision::Refuse("no credit".to_owned()));
    let settled = governor.settle("u", Spend::default(), Spend::default());
    assert_eq!(settled.refused.as_deref(), Some("no credit"));
    assert_eq!(governor.settle("u", Spend::default(), Spend::default()).refused, None);
}

#[test]
fn rates_count_the_last_minute() {
    let rates = RateLimits { requests_per_minute: Some(2), tokens_per_minute: Some(100) };
    let mut governor = governor(None, rates);
    let first = sent(&mut governor, START);
    sent(&mut governor, START + Duration::from_secs(20));
    assert_eq!(
        governor.decide(START + Duration::from_secs(30), &mut ask("t")),
        Decision::Wait(START + MINUTE)
    );
    governor.end(START, &first, &report(90, RequestOutcome::Complete));
    // The open request and this one may need 90 tokens each.
    let second_ends = START + Duration::from_secs(80);
    assert_eq!(governor.decide(START + MINUTE, &mut ask("t")), Decision::Wait(second_ends));
    sent(&mut governor, second_ends);
}

#[test]
fn the_requests_of_a_killed_run_stay_counted() {
    let mut governor = governor(None, RateLimits::default());
    let number = sent(&mut governor, START);
    governor.end(START, &number, &report(40, RequestOutcome::Complete));
    let before = Spend { cost_micros: 0, tokens: 7 };
    let all = governor.settle("t", before, before).all;
    assert_eq!((all.tokens, governor.spent().tokens), (47, 40));
    // The stream of a completed run has the same tokens.
    let number = sent(&mut governor, START);
    governor.end(START, &number, &report(10, RequestOutcome::Complete));
    let all = governor.settle("t", all, Spend { cost_micros: 0, tokens: 17 }).all;
    assert_eq!((all.tokens, governor.spent().tokens), (57, 50));
}

/// The requests of one model wait before those of the other one, and there are more of them.
#[test]
fn models_that_wait_get_equal_shares() {
    let mut governor = governor(None, RateLimits { requests_per_minute: Some(4), tokens_per_minute: None });
    for _ in 0..4 {
        sent(&mut governor, START);
    }
    let mut pending: Vec<PendingRequest> = (0..6).map(|_| request("t", "a", "m")).collect();
    pending.extend((0..2).map(|_| request("u", "a", "n")));
    for request in &mut pending {
        assert!(matches!(governor.decide(START, request), Decision::Wait(_)));
    }
    assert!(governor.has_turns("a"));
    let later = START + MINUTE;
    let mut models = Vec::new();
    // Each one sent lets the others look again.
    while models.len() < 4 {
        let is_sent =
            |request: &mut PendingRequest| matches!(governor.decide(later, request), Decision::Send);
        let at = pending.iter_mut().position(is_sent).expect("a request that may be sent");
        models.push(pending.remove(at).ask.model);
    }
    models.sort();
    assert_eq!(models, ["m", "m", "n", "n"]);
    assert!(!governor.has_turns("a"));
}

/// Returns a request that may use three keys.
fn pooled() -> PendingRequest {
    let others = vec!["b".to_owned(), "c".to_owned()];
    PendingRequest::new(Ask { account: "a".to_owned(), others, ..Ask::default() }.next(10, 0))
}

/// Sends a request with one of three keys, and returns the request and the key.
fn sent_pooled(governor: &mut Governor, now: Duration) -> (String, usize) {
    let mut pending = pooled();
    assert_eq!(governor.decide(now, &mut pending), Decision::Send);
    (pending.ask.request.clone(), pending.chosen())
}

fn left(count: u64, reset_ms: u64) -> Option<LimitLeft> {
    Some(LimitLeft { count, reset_ms })
}

#[test]
fn requests_are_spread_over_the_keys_and_only_the_last_exhausted_one_ends_them() {
    let mut governor = governor(None, RateLimits::default());
    let sent: Vec<(String, usize)> = (0..6).map(|_| sent_pooled(&mut governor, START)).collect();
    let mut keys: Vec<usize> = sent.iter().map(|(_, key)| *key).collect();
    keys.sort_unstable();
    assert_eq!(keys, [0, 0, 1, 1, 2, 2]);
    let exhausted = report(0, RequestOutcome::Exhausted { reason: "no credit".to_owned() });
    let overloaded = report(0, RequestOutcome::Overloaded { retry_after_ms: Some(3000) });
    for (request, key) in &sent {
        governor.end(START, request, if *key == 1 { &overloaded } else { &exhausted });
    }
    let later = START + Duration::from_secs(3);
    assert_eq!(governor.decide(START, &mut pooled()), Decision::Wait(later));
    let (request, key) = sent_pooled(&mut governor, later);
    assert_eq!(key, 1);
    governor.end(later, &request, &exhausted);
    assert_eq!(governor.decide(later, &mut pooled()), Decision::Refuse("no credit".to_owned()));
}

#[test]
fn a_request_waits_when_the_service_has_nothing_left_for_it() {
    let mut governor = governor(None, RateLimits::default());
    let first = sent(&mut governor, START);
    let second = sent(&mut governor, START + Duration::from_secs(1));
    let quota = Some(QuotaLeft { requests: left(3, 20_000), tokens: None });
    let now = START + Duration::from_secs(2);
    let until = now + Duration::from_secs(20);
    governor.end(now, &second, &RequestReport { quota, ..report(1, RequestOutcome::Complete) });
    // The response to an earlier request is out of date.
    let quota = Some(QuotaLeft { requests: left(9, 90_000), tokens: None });
    governor.end(now, &first, &RequestReport { quota, ..report(1, RequestOutcome::Complete) });
    for _ in 0..3 {
        sent(&mut governor, now);
    }
    assert_eq!(governor.decide(now, &mut ask("t")), Decision::Wait(until));
    let third = sent(&mut governor, until);
    let tokens = Some(QuotaLeft { requests: None, tokens: left(25, 5000) });
    governor.end(until, &third, &RequestReport { quota: tokens, ..report(1, RequestOutcome::Complete) });
    // Each one may need ten tokens.
    let same_account = Ask { account: "a".to_owned(), model: "m".to_owned(), ..Ask::default() };
    let expecting = || PendingRequest::new(same_account.next(10, 0));
    let later = until + Duration::from_millis(1);
    for _ in 0..2 {
        assert_eq!(governor.decide(later, &mut expecting()), Decision::Send);
    }
    assert!(matches!(governor.decide(later, &mut expecting()), Decision::Wait(_)));
    // A day is not waited for.
    let fourth = sent(&mut governor, until + Duration::from_secs(60));
    let day = Some(QuotaLeft { requests: left(0, 86_400_000), tokens: None });
    governor.end(
        until + Duration::from_secs(60),
        &fourth,
        &RequestReport { quota: day, ..report(1, RequestOutcome::Complete) },
    );
    sent(&mut governor, until + Duration::from_secs(61));
}

#[test]
fn the_key_with_the_most_left_is_used_first() {
    let mut governor = governor(None, RateLimits::default());
    for count in [5, 9, 7] {
        let (request, _) = sent_pooled(&mut governor, START);
        let quota = Some(QuotaLeft { requests: left(count, 60_000), tokens: None });
        governor.end(START, &request, &RequestReport { quota, ..report(1, RequestOutcome::Complete) });
    }
    let now = START + Duration::from_secs(1);
    let mut counts = [0; 3];
    for _ in 0..21 {
        counts[sent_pooled(&mut governor, now).1] += 1;
    }
    assert_eq!(counts, [5, 9, 7]);
    assert!(matches!(governor.decide(now, &mut pooled()), Decision::Wait(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// No request is twice as large as one before it.
    #[test]
    fn a_budget_is_exceeded_by_at_most_one_request(
        limit in 1..2000_u64,
        steps in proptest::collection::vec((any::<bool>(), 0..8_usize, 100..200_u64), 1..200),
    ) {
        let mut governor = governor(Some(limit), RateLimits::default());
        let (mut open, mut used, mut largest) = (Vec::new(), 0, 0);
        for (is_ask, at, tokens) in steps {
            if is_ask {
                let mut pending = ask("t");
                match governor.decide(START, &mut pending) {
                    Decision::Send => {
                        prop_assert!(used < limit);
                        open.push(pending.ask.request);
                    }
                    Decision::Wait(_) => prop_assert!(!open.is_empty(), "nothing ends the wait"),
                    Decision::Lease => prop_assert!(false, "there are no other machines"),
                    Decision::Refuse(_) => prop_assert!(used >= limit),
                }
            } else if !open.is_empty() {
                let number = open.remove(at % open.len());
                governor.end(START, &number, &report(tokens, RequestOutcome::Complete));
                (used, largest) = (used + tokens, tokens.max(largest));
            }
        }
        for number in open {
            governor.end(START, &number, &report(150, RequestOutcome::Complete));
            (used, largest) = (used + 150, largest.max(150));
        }
        prop_assert!(used < limit + largest, "{} of {}", used, limit);
    }
}
