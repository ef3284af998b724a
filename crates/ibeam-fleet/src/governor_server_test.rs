//! The governor with real sockets, logs and killed drivers.

use proptest::prelude::*;

use super::*;
use crate::budget::RateLimits;
use ibeam_governor::{Ask, RequestOutcome};

/// A run of a fleet in a directory whose path is too long for a socket.
struct Client {
    directory: PathBuf,
}

impl Client {
    fn ask(&self) -> BufReader<UnixStream> {
        let opened = File::open(&self.directory).unwrap();
        let path = format!("/proc/self/fd/{}/governor.sock", opened.as_raw_fd());
        let mut stream = UnixStream::connect(path).unwrap();
        let ask = Ask { task: "t".to_owned(), account: "a".to_owned(), ..Ask::default() }.next(0, 0);
        writeln!(stream, "{}", serde_json::to_string(&ask).unwrap()).unwrap();
        BufReader::new(stream)
    }
}

fn permission(connection: &mut BufReader<UnixStream>) -> Permission {
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

fn report(connection: BufReader<UnixStream>, tokens: u64) {
    let report = RequestReport { tokens, cost_micros: 0, outcome: RequestOutcome::Complete, quota: None };
    writeln!(connection.into_inner(), "{}", serde_json::to_string(&report).unwrap()).unwrap();
}

#[test]
fn a_request_waits_for_another_near_the_end_of_the_budget_and_a_killed_run_frees_its_place() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("d".repeat(120));
    fs::create_dir(&directory).unwrap();
    let budget = Budget { cost_micros: None, tokens: Some(10) };
    let governor = Governor::new(budget, RateLimits::default());
    let shared = Arc::new(SharedGovernor::open(&directory, governor, Spend::default(), None).unwrap());
    let socket = shared.serve(&directory).unwrap();
    let client = Client { directory: directory.clone() };

    let mut killed = client.ask();
    assert_eq!(permission(&mut killed), Permission::Send { key: 0 });
    let mut second = client.ask();
    drop(killed);
    assert_eq!(permission(&mut second), Permission::Send { key: 0 }, "the place of the killed run is free");
    let mut third = client.ask();
    report(second, 10);
    assert!(matches!(permission(&mut third), Permission::Refuse { .. }));
    assert_eq!(shared.left(budget), None);

    drop(socket);
    assert!(!socket_path(&directory).exists());
}

#[test]
fn a_socket_that_somebody_removed_is_there_again() {
    let home = tempfile::tempdir().unwrap();
    let shared = Arc::new(opened(home.path(), 1000));
    let _socket = shared.serve(home.path()).unwrap();
    let client = Client { directory: home.path().to_owned() };
    let mut first = client.ask();
    assert_eq!(permission(&mut first), Permission::Send { key: 0 });
    fs::remove_file(socket_path(home.path())).unwrap();
    shared.restore(home.path()).unwrap();
    // The open connection goes on.
    report(first, 10);
    let mut second = client.ask();
    assert_eq!(permission(&mut second), Permission::Send { key: 0 });
}

/// The identity of a process that does not run.
const GONE: &str = "1.1";

fn opened(directory: &Path, budget: u64) -> SharedGovernor {
    let budget = Budget { cost_micros: None, tokens: Some(budget) };
    let governor = Governor::new(budget, RateLimits::default());
    SharedGovernor::open(directory, governor, Spend::default(), None).unwrap()
}

fn ask(request: &str) -> PendingRequest {
    let (request, task) = (request.to_owned(), "t".to_owned());
    PendingRequest::new(Ask { request, task, expected_tokens: 50, ..Ask::default() })
}

#[test]
fn a_driver_continues_where_a_killed_one_was() {
    let home = tempfile::tempdir().unwrap();
    let used = Spend { tokens: 30, cost_micros: 0 };
    let first = opened(home.path(), 200);
    let alive = format!("{}.0", ibeam_governor::own_identity());
    let next = format!("{}.1", ibeam_governor::own_identity());
    first.decide(&mut ask(GONE)).unwrap();
    drop(first);
    let second = opened(home.path(), 200);
    assert_eq!(second.lock().governor.spent().tokens, 50, "the run is gone: the expected tokens count");
    second.decide(&mut ask(&alive)).unwrap();
    drop(second);
    let third = opened(home.path(), 200);
    assert_eq!(third.lock().governor.spent().tokens, 50);
    assert_eq!(third.lock().governor.inherited().collect::<Vec<_>>(), [alive.as_str()]);
    third.decide(&mut ask(&alive)).unwrap();
    assert_eq!(third.lock().governor.inherited().count(), 0, "the run has asked this driver too");
    drop(third);
    let fourth = opened(home.path(), 200);
    ibeam_governor::append_end(home.path(), &alive, used).unwrap();
    fourth.decide(&mut ask(&next)).unwrap();
    assert_eq!(fourth.lock().governor.spent().tokens, 80, "what the run has recorded counts");
    let refusal = |governor: &SharedGovernor| governor.refusal("t");
    fourth.lock().governor.count_end(&next, Spend { tokens: 120, cost_micros: 0 });
    fourth.decide(&mut ask("u")).unwrap_err();
    drop(fourth);
    let fifth = opened(home.path(), 200);
    assert_eq!(refusal(&fifth).as_deref(), Some(Budget::SPENT));
    let (all, refused) = fifth.settle("t", Spend::default(), Spend::default()).unwrap();
    assert_eq!((all.tokens, refused.is_some()), (80, true));
    assert_eq!(refusal(&opened(home.path(), 200)), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Each request uses 100 tokens, if the service receives it.
    #[test]
    fn no_kill_of_drivers_and_runs_exceeds_a_budget(
        requests in 1..20_usize,
        steps in proptest::collection::vec((0..5_u8, 0..8_usize), 1..80),
    ) {
        let home = tempfile::tempdir().unwrap();
        let used = Spend { tokens: 100, cost_micros: 0 };
        let budget = requests as u64 * used.tokens;
        let own = ibeam_governor::own_identity();
        let mut shared = opened(home.path(), budget);
        let (mut open, mut sent): (Vec<String>, usize) = (Vec::new(), 0);
        for (number, (step, at)) in steps.into_iter().enumerate() {
            let taken = (!open.is_empty()).then(|| open.swap_remove(at % open.len().max(1)));
            match (step, taken) {
                // A run asks, which will be killed together with its driver, or live on.
                (0 | 1, taken) => {
                    open.extend(taken);
                    let identity = if step == 0 { GONE } else { &own };
                    let mut pending = ask(&format!("{identity}.{number}"));
                    pending = PendingRequest::new(Ask { expected_tokens: 100, ..pending.ask().clone() });
                    let mut state = shared.lock();
                    state.update_inherited().unwrap();
                    let now = shared.clock.now();
                    if state.governor.decide(now, &mut pending) == Decision::Send {
                        let line = sent_line(&pending, now);
                        state.log.append(&[line], false).unwrap();
                        sent += 1;
                        open.push(pending.ask().request.clone());
                    }
                }
                // A run records its end, and its driver may be gone.
                (2, Some(request)) => {
                    ibeam_governor::append_end(home.path(), &request, used).unwrap();
                    shared.lock().read_ends().unwrap();
                }
                // A run is killed.
                (3, Some(request)) => shared.lock().lose(&request).unwrap(),
                (_, taken) => {
                    open.extend(taken);
                    open.retain(|request| !request.starts_with(GONE));
                    shared = opened(home.path(), budget);
                }
            }
        }
        prop_assert!(sent <= requests, "{} of {}", sent, requests);
    }
}
