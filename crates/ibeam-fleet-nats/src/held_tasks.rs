//! The tasks that a worker holds, and their records in its directory.
//!
//! A message of the work queue is acknowledged through its reply subject, on any connection. With a record of this subject,
//! the next process with the same directory extends the lease of one that was killed, and continues the task. The servers
//! do not compare deliveries when a lease is extended: only the recorded end of the lease, which is never later than
//! theirs, says that no other worker has the task. The record is removed before the message is acknowledged in another
//! way, so a task that was returned is never continued.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use async_nats::jetstream::context::Context;
use async_nats::jetstream::stream;
use async_nats::jetstream::{AckKind, Message};
use ibeam_fleet::{Lease, QueueError};
use serde::{Deserialize, Serialize};

use crate::error::service;
use crate::names::CONSUMER;
use crate::nats_queue::{TaskKeyState, now_ms};

/// The directory of the records, in that of the worker.
const DIRECTORY: &str = "held";
/// A lease is not extended by another process in its last part, one of this many: the clock of the machine may be set
/// back a little, and servers may redeliver a little early.
const MARGIN_PARTS: u64 = 10;

/// A delivered task.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) number: u64,
    pub(crate) message: Message,
    /// The end of the lease, a little before the server's.
    pub(crate) until_ms: u64,
    pub(crate) state: TaskKeyState,
}

/// The tasks that a worker holds.
#[derive(Default)]
pub(crate) struct HeldTasks {
    tasks: HashMap<String, Held>,
    /// The tasks that an earlier process with this directory held, and that are not continued yet.
    orphans: VecDeque<OrphanedTask>,
    records: Option<Records>,
    lease_ms: u64,
}

/// A task that an earlier process held.
pub(crate) struct OrphanedTask {
    pub(crate) message: Message,
    pub(crate) until_ms: u64,
    /// Whether this process has extended the lease.
    pub(crate) is_extended: bool,
}

/// The directory of the records.
struct Records {
    directory: PathBuf,
    origin: Origin,
}

/// The place where a record is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    stream: String,
    /// The time at which the stream was created: another queue may have the same name.
    created: String,
    /// The start of the machine, whose clock has the end of the lease. Records need not be on the disk when it ends.
    boot: String,
}

/// The record of a held task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    origin: Origin,
    subject: String,
    reply: String,
    until_ms: u64,
}

impl HeldTasks {
    /// Reads the records in the directory of a worker that no other process uses. Those that cannot be continued are
    /// removed.
    pub(crate) fn open(directory: &Path, work: &stream::Info, lease_ms: u64, context: &Context) -> Self {
        let origin = Origin {
            stream: work.config.name.clone(),
            created: work.created.unix_timestamp_nanos().to_string(),
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
        };
        let records = Records { directory: directory.join(DIRECTORY), origin };
        let orphans = records.read(now_ms(), lease_ms).into_iter();
        let orphans = orphans.filter_map(|record| OrphanedTask::new(record, context)).collect();
        Self { tasks: HashMap::new(), orphans, records: Some(records), lease_ms }
    }

    /// Removes and returns a task that an earlier process held, and whose lease has not ended.
    pub(crate) fn next_orphan(&mut self, now_ms: u64) -> Option<OrphanedTask> {
        while let Some(orphan) = self.orphans.pop_front() {
            if self.is_extensible(&orphan, now_ms) {
                return Some(orphan);
            }
            self.forget(&orphan.message);
        }
        None
    }

    /// Puts a task back, behind the others.
    pub(crate) fn postpone(&mut self, orphan: OrphanedTask) {
        self.orphans.push_back(orphan);
    }

    /// Whether the lease of an earlier process may be extended.
    pub(crate) fn is_extensible(&self, orphan: &OrphanedTask, now_ms: u64) -> bool {
        is_extensible(orphan.until_ms, now_ms, self.lease_ms)
    }

    /// Leaves a task whose lease has ended to the queue.
    pub(crate) fn forget(&self, message: &Message) {
        // Nobody continues it with this record any more.
        let _ = self.remove_record(message);
    }

    /// Adds a task that was delivered.
    pub(crate) fn insert(&mut self, task: String, held: Held) {
        self.write_record(&held);
        self.tasks.insert(task, held);
    }

    /// Returns a task; `None` if its lease is lost.
    pub(crate) fn get(&self, lease: &Lease, now_ms: u64) -> Option<&Held> {
        let is_held = |held: &&Held| held.number == lease.number && now_ms <= held.until_ms;
        self.tasks.get(&lease.task).filter(is_held)
    }

    /// Returns a task that was delivered with this lease, which may have ended.
    pub(crate) fn find(&self, lease: &Lease) -> Option<&Held> {
        self.tasks.get(&lease.task).filter(|held| held.number == lease.number)
    }

    /// Returns the number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Records the new end of the lease of a task.
    pub(crate) fn extend(&mut self, task: &str, until_ms: u64) {
        if let Some(held) = self.tasks.get_mut(task) {
            held.until_ms = until_ms;
        }
        if let Some(held) = self.tasks.get(task) {
            self.write_record(held);
        }
    }

    /// Removes and returns a task that was delivered with this lease, which may have ended. Its record stays until `acknowledge`.
    pub(crate) fn remove(&mut self, lease: &Lease) -> Option<Held> {
        self.find(lease)?;
        self.tasks.remove(&lease.task)
    }

    /// Removes and returns a task; `None` if its lease is lost.
    pub(crate) fn take(&mut self, lease: &Lease, now_ms: u64) -> Option<Held> {
        let held = self.remove(lease)?;
        if now_ms <= held.until_ms {
            return Some(held);
        }
        self.forget(&held.message);
        None
    }

    /// Acknowledges a message that is not held any longer, and waits until the server knows.
    ///
    /// # Errors
    /// `Service`, also if the record cannot be removed: then the lease ends by itself.
    pub(crate) async fn acknowledge(&self, message: &Message, kind: AckKind) -> Result<(), QueueError> {
        self.remove_record(message).map_err(|error| service(DIRECTORY, &error))?;
        acknowledge(message, kind).await
    }

    fn write_record(&self, held: &Held) {
        let (Some(records), Some(reply)) = (&self.records, &held.message.reply) else { return };
        let record = Record {
            origin: records.origin.clone(),
            subject: held.message.subject.to_string(),
            reply: reply.to_string(),
            until_ms: held.until_ms,
        };
        // Without it, or with an earlier one, the task is left to the queue when this process is killed.
        let _ = records.write(sequence(&held.message), &record);
    }

    fn remove_record(&self, message: &Message) -> io::Result<()> {
        match &self.records {
            Some(records) => records.remove(sequence(message)),
            None => Ok(()),
        }
    }
}

impl OrphanedTask {
    fn new(record: Record, context: &Context) -> Option<Self> {
        let Record { origin, subject, reply, until_ms } = record;
        let message = async_nats::Message {
            subject: subject.into(),
            reply: Some(reply.into()),
            payload: bytes::Bytes::new(),
            headers: None,
            status: None,
            description: None,
            length: 0,
        };
        let message = Message { message, context: context.clone() };
        let is_of_queue =
            message.info().is_ok_and(|info| info.stream == origin.stream && info.consumer == CONSUMER);
        is_of_queue.then_some(Self { message, until_ms, is_extended: false })
    }
}

impl Records {
    /// Returns the records with which tasks can be continued, and removes the others.
    fn read(&self, now_ms: u64, lease_ms: u64) -> Vec<Record> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let record = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok());
            match record {
                Some(record)
                    if record.origin == self.origin && is_extensible(record.until_ms, now_ms, lease_ms) =>
                {
                    found.push(record);
                }
                // It is not valid later either.
                Some(_) | None => drop(fs::remove_file(&path)),
            }
        }
        found
    }

    /// Replaces the record of a message. A kill leaves the complete old or the complete new one.
    fn write(&self, sequence: u64, record: &Record) -> io::Result<()> {
        let path = self.path(sequence);
        let new = path.with_extension("new");
        fs::create_dir_all(&self.directory)?;
        fs::write(&new, serde_json::to_vec(record)?)?;
        fs::rename(&new, &path)
    }

    fn remove(&self, sequence: u64) -> io::Result<()> {
        match fs::remove_file(self.path(sequence)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the path of a record. The id of a task is not in it: the message may be from anybody.
    fn path(&self, sequence: u64) -> PathBuf {
        self.directory.join(format!("{sequence}.json"))
    }
}

/// Whether another process may extend a lease. One that would last longer than a lease does has an end of another clock.
fn is_extensible(until_ms: u64, now_ms: u64, lease_ms: u64) -> bool {
    let remaining = until_ms.saturating_sub(now_ms);
    remaining > lease_ms / MARGIN_PARTS && remaining <= lease_ms
}

/// Returns the number of a message in its stream.
fn sequence(message: &Message) -> u64 {
    message.info().map(|info| info.stream_sequence).unwrap_or_default()
}

/// Acknowledges a message, and waits until the server knows.
pub(crate) async fn acknowledge(message: &Message, kind: AckKind) -> Result<(), QueueError> {
    message.double_ack_with(kind).await.map_err(|error| service("acknowledgement", &*error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(stream: &str, created: &str, boot: &str) -> Origin {
        Origin { stream: stream.to_owned(), created: created.to_owned(), boot: boot.to_owned() }
    }

    #[test]
    fn a_record_counts_for_its_queue_its_boot_and_its_lease_and_others_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let records = Records { directory: home.path().join("held"), origin: origin("s", "1", "b") };
        assert_eq!(records.read(0, 1000), [], "there is no directory yet");
        let valid = Record {
            origin: records.origin.clone(),
            subject: "ibeam.f.work.a".to_owned(),
            reply: "$JS.ACK.s.workers.1.7.1.1.0".to_owned(),
            until_ms: 10_900,
        };
        records.write(1, &Record { until_ms: 1, ..valid.clone() }).unwrap();
        records.write(1, &valid).unwrap();
        for (sequence, origin) in
            [(2, origin("t", "1", "b")), (3, origin("s", "2", "b")), (4, origin("s", "1", "c"))]
        {
            records.write(sequence, &Record { origin, ..valid.clone() }).unwrap();
        }
        // Ended, about to end, and longer than a lease.
        for (sequence, until_ms) in [(5, 9_000), (6, 10_100), (7, 11_001)] {
            records.write(sequence, &Record { until_ms, ..valid.clone() }).unwrap();
        }
        fs::write(records.directory.join("8.json"), "{").unwrap();
        fs::write(records.directory.join("9.new"), "").unwrap();
        assert_eq!(records.read(10_000, 1000), [valid]);
        assert_eq!(fs::read_dir(&records.directory).unwrap().count(), 1);
        records.remove(1).unwrap();
        records.remove(1).unwrap();
        assert_eq!(records.read(10_000, 1000), []);
    }
}
