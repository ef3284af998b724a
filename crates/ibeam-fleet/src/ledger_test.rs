//! The ledger under the tests of every queue, and under random interleavings with crashes.

use std::collections::{BTreeMap, BTreeSet};

use ibeam_governor::Spend;
use proptest::prelude::*;

use crate::ledger::Ledger;
use crate::queue::{Lease, LedgerState};
use crate::queue_conformance::Clock;

crate::queue_conformance::conformance_tests!({
    let home = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
    (VirtualClock { _home: home }, ledger)
});

/// The caller has the clock of a ledger.
struct VirtualClock {
    _home: tempfile::TempDir,
}

impl Clock for VirtualClock {
    fn time(&self, units: u64) -> u64 {
        units
    }

    fn at(&self, units: u64) -> u64 {
        units
    }

    fn attempts(&self) -> u32 {
        1
    }
}

/// A step of a driver, or of the world around it.
#[derive(Clone, Debug)]
enum Step {
    Claim,
    /// The held lease with this index.
    Finish(usize, bool),
    Retry(usize),
    Park(usize),
    Renew(usize),
    Advance(u64),
    /// The process is killed, and another one opens the ledger. Its leases are forgotten, or their results come late.
    Crash {
        late_results: bool,
    },
    Unpark,
    Wait(usize),
    Wake,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Claim),
        3 => (0..8_usize, any::<bool>()).prop_map(|(at, passed)| Step::Finish(at, passed)),
        1 => (0..8_usize).prop_map(Step::Retry),
        1 => (0..8_usize).prop_map(Step::Park),
        1 => (0..8_usize).prop_map(Step::Renew),
        1 => (1..150_u64).prop_map(Step::Advance),
        1 => any::<bool>().prop_map(|late_results| Step::Crash { late_results }),
        1 => Just(Step::Unpark),
        1 => (0..8_usize).prop_map(Step::Wait),
        1 => Just(Step::Wake),
    ]
}

/// Which task needs which: only earlier ones, so that there is no cycle.
fn needs() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let choose_earlier = |at: usize| proptest::collection::vec(0..at.max(1), 0..=at.min(2));
    (0..6_usize).map(choose_earlier).collect::<Vec<_>>().prop_map(|mut needs| {
        needs[0].clear();
        needs
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_interleaving_loses_a_task_or_runs_a_finished_one(needs in needs(), steps in proptest::collection::vec(step(), 0..60)) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("ledger.sqlite");
        let mut ledger = Ledger::open(&path).unwrap();
        let name = |at: usize| format!("t{at}");
        let tasks: Vec<_> = needs
            .iter()
            .enumerate()
            .map(|(at, needs)| {
                let needs: Vec<String> = needs.iter().map(|need| name(*need)).collect();
                task(&name(at), &needs.iter().map(String::as_str).collect::<Vec<_>>())
            })
            .collect();
        ledger.submit(&tasks).unwrap();
        let mut now = 0;
        // The leases of this process, with their ends; and those of killed ones.
        let mut held: Vec<(Lease, u64)> = Vec::new();
        let mut finished: BTreeMap<String, Outcome> = BTreeMap::new();
        let record = |ledger: &mut Ledger, finished: &mut BTreeMap<String, Outcome>, lease: &Lease, passed: bool| {
            let outcome = if passed { Outcome::Passed } else { Outcome::Failed };
            match ledger.finish(lease, &result(&lease.task, outcome), Spend::default()).unwrap() {
                Finished::Recorded { skipped } => {
                    prop_assert_eq!(finished.insert(lease.task.clone(), outcome), None);
                    for result in skipped {
                        prop_assert_eq!(finished.insert(result.id, Outcome::Skipped), None);
                    }
                }
                Finished::AlreadyFinished => prop_assert!(finished.contains_key(&lease.task)),
            }
            Ok(())
        };
        let drain = [Step::Crash { late_results: false }, Step::Unpark, Step::Wake, Step::Advance(1000)].into_iter();
        let drain = drain.chain((0..6).flat_map(|_| [Step::Claim, Step::Finish(0, true)]));
        for step in steps.into_iter().chain(drain) {
            match step {
                Step::Claim => {
                    let NextTask::Claimed(claim) = ledger.claim(now, 100).unwrap() else { continue };
                    let id = &claim.task.id;
                    prop_assert!(!finished.contains_key(id), "{} is finished", id);
                    prop_assert!(!held.iter().any(|(lease, end)| lease.task == *id && *end > now), "{} is leased", id);
                    for need in &claim.task.needs {
                        prop_assert_eq!(finished.get(need), Some(&Outcome::Passed));
                    }
                    held.push((claim.lease.clone(), now + 100));
                }
                Step::Finish(at, passed) if at < held.len() => {
                    let (lease, _) = held.remove(at);
                    record(&mut ledger, &mut finished, &lease, passed)?;
                }
                Step::Retry(at) if at < held.len() => {
                    let (lease, _) = held.remove(at);
                    ledger.release(&lease, Release::Retry { at_ms: now + 10 }, Spend::default()).unwrap();
                }
                Step::Park(at) if at < held.len() => {
                    let (lease, _) = held.remove(at);
                    ledger.release(&lease, Release::Park { reason: "r".into() }, Spend::default()).unwrap();
                }
                Step::Renew(at) if at < held.len() => {
                    if ledger.renew(&held[at].0, now, 100).unwrap() == Renewal::Held {
                        held[at].1 = now + 100;
                    }
                }
                Step::Wait(at) if at < held.len() => {
                    let (lease, _) = held.remove(at);
                    let session = format!("session of {}", lease.task);
                    ledger.release(&lease, Release::Wait { session }, Spend::default()).unwrap();
                }
                Step::Finish(..) | Step::Retry(_) | Step::Park(_) | Step::Renew(_) | Step::Wait(_) => {}
                Step::Wake => {
                    let waiting = ledger.count_in(LedgerState::Waiting).unwrap();
                    prop_assert_eq!(ledger.wake(|_| true).unwrap(), waiting);
                }
                Step::Advance(ms) => now += ms,
                Step::Crash { late_results } => {
                    drop(ledger);
                    ledger = Ledger::open(&path).unwrap();
                    for (lease, _) in held.drain(..).filter(|_| late_results) {
                        record(&mut ledger, &mut finished, &lease, true)?;
                    }
                }
                Step::Unpark => ledger.unpark().unwrap(),
            }
        }
        prop_assert_eq!(ledger.claim(now, 100).unwrap(), NextTask::Drained);
        let recorded: BTreeSet<String> = ledger.results().unwrap().into_iter().map(|result| result.id).collect();
        prop_assert_eq!(recorded.len(), tasks.len(), "no task is lost");
        prop_assert_eq!(recorded, finished.into_keys().collect::<BTreeSet<_>>());
    }
}

#[test]
fn a_waiting_task_is_claimed_again_when_its_session_is_woken() {
    let home = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
    ledger.submit(&[task("a", &[]), task("b", &["a"])]).unwrap();
    let NextTask::Claimed(claim) = ledger.claim(0, 100).unwrap() else { panic!("no task") };
    assert!(!ledger.is_idle(0).unwrap());
    let spend = Spend { cost_micros: 3, tokens: 4 };
    ledger.release(&claim.lease, Release::Wait { session: "s".to_owned() }, spend).unwrap();
    assert_eq!(ledger.claim(200, 100).unwrap(), NextTask::Drained);
    assert!(ledger.is_idle(200).unwrap());
    assert_eq!(
        (ledger.waiting_sessions().unwrap(), ledger.largest_request().unwrap()),
        (vec!["s".to_owned()], spend)
    );
    ledger.unpark().unwrap();
    assert_eq!(ledger.wake(|session| session == "t").unwrap(), 0);
    assert_eq!(ledger.wake(|session| session == "s").unwrap(), 1);
    assert!(!ledger.is_idle(200).unwrap());
    let NextTask::Claimed(claim) = ledger.claim(200, 100).unwrap() else { panic!("no task") };
    assert_eq!((claim.task.id.as_str(), claim.spend), ("a", spend));
    let after = Spend { cost_micros: 5, tokens: 9 };
    ledger.release(&claim.lease, Release::Wait { session: "s".to_owned() }, after).unwrap();
    let largest = Spend { cost_micros: 3, tokens: 5 };
    assert_eq!(ledger.largest_request().unwrap(), largest, "a request, not the sum of a task");
}
