//! TLS, nkeys, and a worker with no more than the permissions in `worker_permissions.conf`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use bytes::Bytes;
use ibeam_fleet::{
    Budget, Finished, FleetLimits, NextTask, Outcome, Spend, StreamEvent, Task, TaskQueue as _,
};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer};

use super::server::{Cluster, program};
use crate::address::QueueAddress;
use crate::connection::{QueueCredentials, QueueOptions};
use crate::control::{ControlWatch, FleetControl};
use crate::names::{KeyKind, Names};
use crate::nats_queue::{NatsQueue, ParkedValue, now_ms};
use crate::queue_conformance::{result, task};
use crate::signing::{HEADER, SignedKind, SubmitterKeys};
use crate::store::{parse, to_bytes};

/// The permissions of a worker of the fleet `evals`.
const PERMISSIONS: &str = include_str!("worker_permissions.conf");

const LEASE: Duration = Duration::from_secs(30);

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

/// A server with TLS, and the keys of a submitter and of a worker.
struct SecureScene {
    home: tempfile::TempDir,
    authority: PathBuf,
    _server: Cluster,
    address: QueueAddress,
    submitter_key: KeyPair,
    worker_key: KeyPair,
}

impl SecureScene {
    fn start() -> Option<Self> {
        let program = program()?;
        let home = tempfile::tempdir().unwrap();
        let authority = certificates(home.path());
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
        Some(Self { home, authority, _server: server, address, submitter_key, worker_key })
    }

    /// Returns the options of a client with this key.
    fn options(&self, key: &KeyPair) -> QueueOptions {
        let path = self.home.path().join(key.public_key());
        fs::write(&path, format!("{}\n", key.seed().unwrap())).unwrap();
        QueueOptions { credentials: QueueCredentials::Nkey(path), ca_file: Some(self.authority.clone()) }
    }

    fn submitter(&self) -> NatsQueue {
        let (options, start) = (self.options(&self.submitter_key), Instant::now());
        loop {
            match NatsQueue::create(&self.address, &options, LEASE) {
                Ok(queue) => return queue,
                Err(error) if start.elapsed() > Duration::from_secs(20) => panic!("{error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn worker(&self) -> NatsQueue {
        NatsQueue::open(&self.address, &self.options(&self.worker_key)).unwrap()
    }

    /// Returns the public key of the submitter, as `--submitter-key` takes it.
    fn accepted(&self) -> SubmitterKeys {
        SubmitterKeys::parse(&[self.submitter_key.public_key()]).unwrap()
    }
}

/// Places an entry that the worker may not publish: the server sends it as the answer to a request.
fn forge(worker: &NatsQueue, subject: &str, value: &Bytes, headers: &HeaderMap) {
    let store = &worker.store;
    let own = store.names.key(KeyKind::State, "forged");
    // Those of the entry whose signature is copied say more about that entry.
    let mut copied = HeaderMap::new();
    headers.get(HEADER).into_iter().for_each(|signature| copied.insert(HEADER, signature.clone()));
    let forged = worker.connection.block_on(async {
        store.put_with(&own, value, &copied).await.unwrap();
        let client = store.context.client();
        let api = format!("$JS.API.DIRECT.GET.KV_{}", store.names.bucket());
        let request = serde_json::json!({ "last_by_subj": own }).to_string();
        client.publish_with_reply(api, subject.to_owned(), request.into()).await.unwrap();
        client.flush().await.unwrap();
        for _ in 0..100 {
            if store.read(subject).await.unwrap().is_some_and(|entry| entry.value == *value) {
                store.delete(&own).await.unwrap();
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    });
    assert!(forged, "the server stores the answer under `{subject}`");
}

#[test]
fn a_task_that_a_worker_forges_through_an_answer_is_not_executed_by_workers_with_a_submitter_key() {
    let Some(scene) = SecureScene::start() else { return };
    let mut submitter = scene.submitter();
    submitter.start(FleetLimits::default()).unwrap();
    let tasks = [task("a", &[]), task("b", &[]), task("c", &["b"])];
    submitter.submit(&tasks).unwrap();
    let hostile = scene.worker();
    let names = hostile.store.names.clone();
    let own =
        hostile.connection.block_on(hostile.store.read(&names.key(KeyKind::Task, "a"))).unwrap().unwrap();
    let forged = |id: &str| to_bytes(&Task { prompt: "rm -rf ~".to_owned(), ..task(id, &[]) }).unwrap();
    let mut foreign = hostile.signer.clone().unwrap();
    // A task of its own without a signature, a changed one, a copied one, and one with the key of the worker.
    forge(&hostile, &names.key(KeyKind::Task, "new"), &forged("new"), &HeaderMap::new());
    forge(&hostile, &names.key(KeyKind::Task, "b"), &forged("b"), &own.headers);
    forge(&hostile, &names.key(KeyKind::Task, "copy"), &own.value, &own.headers);
    let signed = foreign.sign(&names, SignedKind::Task, "signed", &forged("signed")).unwrap();
    forge(&hostile, &names.key(KeyKind::Task, "signed"), &forged("signed"), &signed);
    // A task that another fleet of the same submitter has.
    foreign = submitter.signer.clone().unwrap();
    let elsewhere = Names::new(&QueueAddress::parse("nats://a/g").unwrap());
    let signed = foreign.sign(&elsewhere, SignedKind::Task, "other", &forged("other")).unwrap();
    forge(&hostile, &names.key(KeyKind::Task, "other"), &forged("other"), &signed);
    for id in ["new", "copy", "signed", "other"] {
        hostile.connection.block_on(hostile.store.enqueue(id)).unwrap();
    }
    let mut worker = scene.worker().accepting(scene.accepted());
    let mut claimed = Vec::new();
    while let NextTask::Claimed(claim) = worker.claim(now_ms(), 0).unwrap() {
        claimed.push(claim.task.clone());
        worker.finish(&claim.lease, &result(&claim.task.id, Outcome::Passed), Spend::default()).unwrap();
    }
    assert_eq!(claimed, [tasks[0].clone()], "only what the submitter has signed");
    for id in ["new", "b", "copy", "signed", "other"] {
        let parked = worker.connection.block_on(worker.store.read(&names.key(KeyKind::Parked, id))).unwrap();
        let parked: ParkedValue = parse(id, &parked.unwrap().value).unwrap();
        assert!(parked.reason.contains("--submitter-key"), "{id}: {}", parked.reason);
    }
    // The submitter repairs what is its own, and the tasks run.
    submitter.submit(&tasks).unwrap();
    submitter.unpark().unwrap();
    for expected in ["b", "c"] {
        std::thread::sleep(Duration::from_millis(300));
        let NextTask::Claimed(claim) = worker.claim(now_ms(), 0).unwrap() else { panic!("{expected}") };
        assert_eq!(claim.task, *tasks.iter().find(|task| task.id == expected).unwrap());
        worker.finish(&claim.lease, &result(expected, Outcome::Passed), Spend::default()).unwrap();
    }
}

#[test]
fn a_worker_with_a_submitter_key_follows_only_signed_limits_and_cancellations() {
    let Some(scene) = SecureScene::start() else { return };
    let mut submitter = scene.submitter();
    let budget = Budget { tokens: Some(1000), cost_micros: None };
    submitter.start(FleetLimits { budget, ..FleetLimits::default() }).unwrap();
    let worker = scene.worker().accepting(scene.accepted());
    let control = worker.watch_control().unwrap();
    let first = control.current();
    assert_eq!((first.limits.budget, first.is_cancelled), (budget, false));
    let hostile = scene.worker();
    let subject = hostile.store.names.control();
    let own = hostile.connection.block_on(hostile.store.read(&subject)).unwrap().unwrap();
    // Without limits, and with a cancellation.
    let unlimited = FleetControl { revision: u64::MAX, ..FleetControl::default() };
    for forged in [unlimited, FleetControl { is_cancelled: true, ..unlimited }] {
        forge(&hostile, &subject, &to_bytes(&forged).unwrap(), &own.headers);
        std::thread::sleep(Duration::from_millis(2500));
        assert_eq!(control.current(), first);
        // A worker that starts now does nothing until the submitter has started the fleet again.
        let late = scene.worker().accepting(scene.accepted()).watch_control().unwrap();
        assert_eq!(late.halt_reason(), Some(ControlWatch::UNSIGNED));
        assert!(late.current().is_cancelled);
    }
    let wait_for = |what: &str, is_true: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_true() {
            assert!(start.elapsed() < Duration::from_secs(10), "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let larger = Budget { tokens: Some(2000), cost_micros: None };
    submitter.start(FleetLimits { budget: larger, ..FleetLimits::default() }).unwrap();
    wait_for("a worker follows its submitter", &|| control.current().limits.budget == larger);
    // The earlier value is signed, too.
    forge(&hostile, &subject, &own.value, &own.headers);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(control.current().limits.budget, larger);
    submitter.cancel().unwrap();
    wait_for("a worker notices a cancellation", &|| control.halt_reason() == Some(FleetControl::CANCELLED));
}

#[test]
fn a_worker_needs_only_few_permissions_and_cannot_publish_tasks() {
    let Some(scene) = SecureScene::start() else { return };
    let (home, address) = (&scene.home, &scene.address);
    let mut submitter = scene.submitter();
    submitter.submit(&[task("a", &[]), task("b", &["a"])]).unwrap();

    let stranger = QueueOptions { ca_file: Some(scene.authority.clone()), ..QueueOptions::default() };
    assert!(NatsQueue::open(address, &stranger).is_err(), "a client without a key");
    let mut worker = scene.worker();
    assert_eq!(worker.lease(), LEASE);
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
