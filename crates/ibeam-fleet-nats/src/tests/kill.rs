//! Workers and servers are killed at random instants: no task is lost, and none is executed again after its result.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ibeam_fleet::{Ledger, NextTask, Outcome, Spend, StopFlag, TaskQueue as _};

use super::server::{Cluster, program};
use ibeam_protocol::Sentence;

use crate::address::QueueAddress;
use crate::connection::QueueOptions;
use crate::nats_queue::{NatsQueue, now_ms};
use crate::queue_conformance::{result, task};
use crate::record::{sync, wait_for_results};

const WORKERS: usize = 4;
const TASKS: usize = 400;
const LEASE: Duration = Duration::from_secs(3);
/// The variables of a worker.
const ADDRESS: &str = "IBEAM_TEST_NATS_ADDRESS";
const LOG: &str = "IBEAM_TEST_NATS_LOG";

/// A worker process, which the test below starts and kills. Without its variables it does nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test that starts it says what to do")]
fn worker() {
    let (Some(address), Some(log)) = (std::env::var_os(ADDRESS), std::env::var_os(LOG)) else { return };
    let address = QueueAddress::parse(address.to_str().unwrap()).unwrap();
    let mut log = File::options().append(true).open(PathBuf::from(log)).unwrap();
    let mut note = |what: &str, task: &str| log.write_all(format!("{what} {task}\n").as_bytes()).unwrap();
    let Ok(mut queue) = NatsQueue::open(&address, &QueueOptions::default()) else { return };
    loop {
        match queue.claim(now_ms(), 0).unwrap() {
            NextTask::Claimed(claim) => {
                note("start", &claim.task.id);
                thread::sleep(Duration::from_millis(fastrand::u64(1..40)));
                let outcome = result(&claim.task.id, Outcome::Passed);
                queue.finish(&claim.lease, &outcome, Spend { cost_micros: 1, tokens: 1 }).unwrap();
                note("recorded", &claim.task.id);
            }
            NextTask::NotReady | NextTask::Refused { .. } | NextTask::Drained => {
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

fn start_worker(address: &str, log: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::kill::worker", "--nocapture"])
        .envs([(ADDRESS, address), (LOG, log.to_str().unwrap())])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_workers_and_servers_lose_no_task_and_repeat_none() {
    let Some(program) = program() else { return };
    let mut cluster = Cluster::start(program, 3, "");
    cluster.wait_until_ready();
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    File::create(&log).unwrap();
    let address = cluster.address("kill");
    // One task in four needs an earlier one.
    let tasks: Vec<_> = (0..TASKS)
        .map(|number| match number % 4 {
            3 => task(&format!("t{number}"), &[&format!("t{}", number - 2)]),
            _ => task(&format!("t{number}"), &[]),
        })
        .collect();
    let mut queue = NatsQueue::create(&address, &QueueOptions::default(), LEASE).unwrap();
    let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
    ledger.submit(&tasks).unwrap();
    sync(&mut ledger, &mut queue).unwrap();
    let text = cluster.address_text("kill");
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| start_worker(&text, &log)).collect();
    let (mut killed_workers, mut killed_nodes) = (0, 0);
    let start = Instant::now();
    while queue.unfinished().unwrap() > 0 {
        assert!(start.elapsed() < Duration::from_secs(240), "{} unfinished", queue.unfinished().unwrap());
        thread::sleep(Duration::from_millis(fastrand::u64(100..700)));
        if fastrand::u32(0..6) == 0 {
            let node = fastrand::usize(0..3);
            cluster.kill_node(node);
            killed_nodes += 1;
            thread::sleep(Duration::from_millis(fastrand::u64(0..1500)));
            cluster.start_node(node);
        } else {
            let index = fastrand::usize(0..WORKERS);
            workers[index].kill().unwrap();
            workers[index].wait().unwrap();
            workers[index] = start_worker(&text, &log);
            killed_workers += 1;
        }
    }
    for worker in &mut workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    struct Nothing;
    impl ibeam_fleet::FleetObserver for Nothing {
        fn finished(&mut self, _result: &ibeam_fleet::TaskResult) -> std::io::Result<()> {
            Ok(())
        }
        fn started(&mut self, _task: &str) {}
        fn retried(&mut self, _task: &str, _pause: Duration) {}
        fn undecided(&mut self, _task: &str, _reason: &Sentence) {}

        fn parked(&mut self, _task: &str, _reason: &Sentence) {}
    }
    let end = wait_for_results(&mut ledger, &mut queue, &StopFlag::default(), &mut Nothing).unwrap();
    assert_eq!((end.passed, end.unfinished), (TASKS as u64, 0), "no task is lost");
    let (mut recorded, mut starts) = (HashSet::new(), HashMap::<String, u32>::new());
    for line in fs::read_to_string(&log).unwrap().lines() {
        let (what, task) = line.split_once(' ').unwrap();
        match what {
            "start" => {
                assert!(!recorded.contains(task), "{task} was executed again after its result");
                *starts.entry(task.to_owned()).or_default() += 1;
            }
            _ => drop(recorded.insert(task.to_owned())),
        }
    }
    let repeated = starts.values().filter(|count| **count > 1).count();
    println!(
        "{TASKS} tasks in {} s; killed {killed_workers} workers and {killed_nodes} servers; {repeated} tasks were \
         started again because their worker was killed",
        start.elapsed().as_secs()
    );
    assert!(repeated <= killed_workers, "only tasks of killed workers are started again");
}
