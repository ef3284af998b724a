//! TLS, nkeys, and a worker with no more than the permissions in `worker_permissions.conf`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ibeam_fleet::{Finished, NextTask, Outcome, Spend, StreamEvent, TaskQueue as _};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer};

use super::server::{Cluster, program};
use crate::address::QueueAddress;
use crate::connection::{QueueCredentials, QueueOptions};
use crate::names::KeyKind;
use crate::nats_queue::{NatsQueue, now_ms};
use crate::queue_conformance::{result, task};

/// The permissions of a worker of the fleet `evals`.
const PERMISSIONS: &str = include_str!("worker_permissions.conf");

/// Creates an authority, and a certificate of it for loopback. Returns the file of the authority.
fn certificates(home: &Path) -> std::path::PathBuf {
    let (authority_key, key) = (rcgen::KeyPair::generate().unwrap(), rcgen::KeyPair::generate().unwrap());
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    fs::write(home.join("cert.pem"), certificate.pem()).unwrap();
    fs::write(home.join("key.pem"), key.serialize_pem()).unwrap();
    let path = home.join("ca.pem");
    fs::write(&path, authority_certificate.pem()).unwrap();
    path
}

#[test]
fn a_worker_needs_only_few_permissions_and_cannot_publish_tasks() {
    let Some(program) = program() else { return };
    let home = tempfile::tempdir().unwrap();
    let authority = certificates(home.path());
    let options = |name: &str, key: &KeyPair| {
        let path = home.path().join(name);
        fs::write(&path, format!("{}\n", key.seed().unwrap())).unwrap();
        QueueOptions { credentials: QueueCredentials::Nkey(path), ca_file: Some(authority.clone()) }
    };
    let (submitter_key, worker_key) = (KeyPair::new_user(), KeyPair::new_user());
    let configuration = format!(
        "tls {{ cert_file: {:?}, key_file: {:?} }}\nauthorization {{ users: [\n{{ nkey: {} }}\n{{ nkey: {}, permissions: {} }}\n] }}",
        home.path().join("cert.pem"),
        home.path().join("key.pem"),
        submitter_key.public_key(),
        worker_key.public_key(),
        PERMISSIONS.replace("evals", "f"),
    );
    let server = Cluster::start(program, 1, &configuration);
    let address = QueueAddress::parse(&server.address_text("f").replace("nats://", "tls://")).unwrap();
    let lease = Duration::from_secs(30);
    let mut submitter = {
        let options = options("submitter.nk", &submitter_key);
        let start = std::time::Instant::now();
        loop {
            match NatsQueue::create(&address, &options, lease) {
                Ok(queue) => break queue,
                Err(error) if start.elapsed() > Duration::from_secs(20) => panic!("{error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    submitter.submit(&[task("a", &[]), task("b", &["a"])]).unwrap();

    let stranger = QueueOptions { ca_file: Some(authority.clone()), ..QueueOptions::default() };
    assert!(NatsQueue::open(&address, &stranger).is_err(), "a client without a key");
    let mut worker = NatsQueue::open(&address, &options("worker.nk", &worker_key)).unwrap();
    assert_eq!(worker.lease(), lease);
    for id in ["a", "b"] {
        let NextTask::Claimed(claim) = worker.claim(now_ms(), 0).unwrap() else {
            panic!("{id} is not ready")
        };
        assert_eq!(claim.task.id, id);
        let snapshots = worker.snapshots().expect("a worker may use snapshots");
        let path = home.path().join("snapshot");
        fs::write(&path, id).unwrap();
        snapshots.store(&claim.lease, &mut fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(snapshots.stored_lease(id).unwrap(), Some(claim.lease.number));
        snapshots.fetch(id, &mut fs::File::create(&path).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), id);
        let event = StreamEvent { task: id.to_owned(), id: format!("w:{id}:1:0"), object: "{}".to_owned() };
        worker.events().expect("a worker may publish events").publish(&[event]).unwrap();
        let finished = worker.finish(&claim.lease, &result(id, Outcome::Passed), Spend::default()).unwrap();
        assert_eq!(finished, Finished::Recorded { skipped: Vec::new() });
        assert_eq!(snapshots.stored_lease(id).unwrap(), None);
    }
    assert_eq!(worker.spend().unwrap(), Spend::default());
    assert_eq!(submitter.results().unwrap().len(), 2);
    let subject = worker.store.names.key(KeyKind::Task, "c");
    let forged = serde_json::to_vec(&task("c", &[])).unwrap();
    let sent = worker
        .connection
        .block_on(async { worker.store.context.publish(subject, forged.into()).await.unwrap().await });
    assert!(sent.is_err(), "a worker publishes no tasks");
    let control = worker.watch_control().unwrap();
    submitter.cancel().unwrap();
    let start = std::time::Instant::now();
    while !control.current().is_cancelled {
        assert!(start.elapsed() < Duration::from_secs(10), "a worker notices a cancellation");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(submitter.unfinished().unwrap(), 0);
}
