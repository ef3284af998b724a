//! The object store of snapshots.

use std::fs::{self, File};
use std::sync::Arc;
use std::time::Duration;

use ibeam_fleet::{Lease, Outcome, SnapshotStore, Spend, TaskQueue as _};

use super::server::{Cluster, program};
use crate::connection::QueueOptions;
use crate::nats_queue::NatsQueue;
use crate::queue_conformance::{result, task};

fn lease(number: u64) -> Lease {
    Lease { task: "a.b".to_owned(), number }
}

fn store(snapshots: &Arc<dyn SnapshotStore>, number: u64, content: &[u8]) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("snapshot");
    fs::write(&path, content).unwrap();
    snapshots.store(&lease(number), &mut File::open(&path).unwrap()).unwrap();
}

fn fetch(snapshots: &Arc<dyn SnapshotStore>) -> Result<Vec<u8>, ibeam_fleet::QueueError> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("snapshot");
    snapshots.fetch("a.b", &mut File::create(&path).unwrap())?;
    Ok(fs::read(&path).unwrap())
}

#[test]
fn a_task_has_one_snapshot_that_no_earlier_lease_replaces_and_its_result_deletes() {
    let Some(program) = program() else { return };
    let server = Cluster::start(program, 1, "");
    server.wait_until_ready();
    let address = server.address("f");
    let mut queue = NatsQueue::create(&address, &QueueOptions::default(), Duration::from_secs(30)).unwrap();
    let snapshots = queue.snapshots().unwrap();
    assert_eq!(snapshots.stored_lease("a.b").unwrap(), None);
    fetch(&snapshots).unwrap_err();
    store(&snapshots, 5, b"five");
    assert_eq!(
        (snapshots.stored_lease("a.b").unwrap(), fetch(&snapshots).unwrap()),
        (Some(5), b"five".to_vec())
    );
    // More than one chunk, and more than one request.
    let large: Vec<u8> = (0..3_000_000_u32).map(|number| number as u8).collect();
    store(&snapshots, 7, &large);
    store(&snapshots, 6, b"six");
    assert_eq!(snapshots.stored_lease("a.b").unwrap(), Some(7));
    assert!(fetch(&snapshots).unwrap() == large, "the content of the later lease");

    // The chunks are lost.
    queue.connection.block_on(async {
        let stream = queue.store.context.get_stream("OBJ_ibeam-f-snapshots").await.unwrap();
        stream.purge().filter("$O.ibeam-f-snapshots.C.>").await.unwrap();
    });
    let error = fetch(&snapshots).unwrap_err().to_string();
    assert!(error.contains("the snapshot is incomplete"), "{error}");
    store(&snapshots, 8, b"eight");
    assert_eq!(fetch(&snapshots).unwrap(), b"eight");

    queue.submit(&[task("a.b", &[])]).unwrap();
    queue.finish(&lease(8), &result("a.b", Outcome::Passed), Spend::default()).unwrap();
    assert_eq!(snapshots.stored_lease("a.b").unwrap(), None);
}
