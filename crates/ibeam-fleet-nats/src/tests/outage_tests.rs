//! A submitter that starts again, also while one of three servers is down.

use std::time::{Duration, Instant};

use ibeam_fleet::{FleetLimits, Ledger, TaskQueue as _};

use super::server::{Cluster, program};
use crate::connection::QueueOptions;
use crate::nats_queue::NatsQueue;
use crate::queue_conformance::task;
use crate::record::{SyncReport, sync};

const LEASE: Duration = Duration::from_secs(3);

#[test]
fn a_submitter_and_a_worker_start_while_any_one_of_three_servers_is_down() {
    let Some(program) = program() else { return };
    let mut cluster = Cluster::start(program, 3, "");
    cluster.wait_until_ready();
    let (address, options) = (cluster.address("f"), QueueOptions::default());
    let tasks: Vec<_> = (0..20).map(|number| task(&format!("t{number}"), &[])).collect();
    let home = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
    ledger.submit(&tasks).unwrap();
    let mut queue = NatsQueue::create(&address, &options, LEASE).unwrap();
    sync(&mut ledger, &mut queue).unwrap();
    drop(queue);
    for node in [0, 1, 2] {
        // The leader of a stream or of the cluster may be among them, and is elected anew meanwhile.
        cluster.kill_node(node);
        let start = Instant::now();
        let opened = NatsQueue::open(&address, &options).and_then(|queue| queue.watch_control().map(drop));
        opened.unwrap_or_else(|error| panic!("without n{node}, after {:?}: {error}", start.elapsed()));
        let mut queue = NatsQueue::create(&address, &options, LEASE).unwrap();
        queue.start(FleetLimits::default()).unwrap();
        assert_eq!(sync(&mut ledger, &mut queue).unwrap(), SyncReport::default(), "without n{node}");
        assert_eq!(queue.count().unwrap(), 20);
        cluster.start_node(node);
        // A majority of the others needs this one to be back.
        std::thread::sleep(Duration::from_secs(3));
    }
}

#[test]
fn a_submitter_that_starts_again_sends_only_what_is_missing() {
    let Some(program) = program() else { return };
    let cluster = Cluster::start(program, 1, "");
    cluster.wait_until_ready();
    let (address, options) = (cluster.address("f"), QueueOptions::default());
    let tasks: Vec<_> = (0..3000).map(|number| task(&format!("t{number}"), &[])).collect();
    let home = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
    ledger.submit(&tasks).unwrap();
    let sent = |queue: &NatsQueue| {
        queue.store.context.client().statistics().out_messages.load(std::sync::atomic::Ordering::Relaxed)
    };
    let mut queue = NatsQueue::create(&address, &options, LEASE).unwrap();
    sync(&mut ledger, &mut queue).unwrap();
    assert!(sent(&queue) > 6000, "the tasks and their messages");
    let removed = queue.store.names.work("t17");
    queue.connection.block_on(async {
        queue
            .store
            .context
            .get_stream(queue.store.names.work_stream())
            .await
            .unwrap()
            .purge()
            .filter(&removed)
            .await
            .unwrap();
    });
    let mut queue = NatsQueue::create(&address, &options, LEASE).unwrap();
    sync(&mut ledger, &mut queue).unwrap();
    assert!(sent(&queue) < 60, "{} messages", sent(&queue));
    let queued = queue.connection.block_on(queue.queued()).unwrap();
    assert_eq!(queued.len(), 3000);
    assert!(queued.contains("t17"));
}
