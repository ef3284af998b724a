//! The names of the streams, subjects and keys of a fleet.

use crate::address::QueueAddress;

/// The consumer of the work queue that all workers share.
pub(crate) const CONSUMER: &str = "workers";
/// The name in keys that belong to the fleet as a whole.
const FLEET: &str = "fleet";

#[derive(Clone, Debug)]
pub(crate) struct Names {
    fleet: String,
}

/// The kind of a key of the bucket. The name of the task follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// The definition of a task.
    Task,
    /// The consumption of a task, and how often it was released.
    State,
    /// The reason for which a task is parked.
    Parked,
    Result,
    /// A worker and the tasks that it holds. The id of the worker takes the place of the task.
    Worker,
}

impl KeyKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::State => "state",
            Self::Parked => "parked",
            Self::Result => "result",
            Self::Worker => "worker",
        }
    }
}

impl Names {
    pub(crate) fn new(address: &QueueAddress) -> Self {
        Self { fleet: address.fleet.clone() }
    }

    /// Returns the name of the fleet.
    pub(crate) fn fleet(&self) -> &str {
        &self.fleet
    }

    /// Returns the name of the bucket of keys.
    pub(crate) fn bucket(&self) -> String {
        format!("ibeam-{}", self.fleet)
    }

    /// Returns the name of the stream of ready tasks.
    pub(crate) fn work_stream(&self) -> String {
        format!("ibeam-{}-work", self.fleet)
    }

    /// Returns the name of the bucket of snapshots in the object store.
    pub(crate) fn snapshots(&self) -> String {
        format!("ibeam-{}-snapshots", self.fleet)
    }

    /// Returns the name of the stream of events.
    pub(crate) fn events_stream(&self) -> String {
        format!("ibeam-{}-events", self.fleet)
    }

    /// Returns the subject of the events of a task.
    pub(crate) fn events(&self, task: &str) -> String {
        format!("ibeam.{}.events.{}", self.fleet, token(task))
    }

    /// Returns the subject of the events of all tasks.
    pub(crate) fn all_events(&self) -> String {
        format!("ibeam.{}.events.*", self.fleet)
    }

    /// Returns the subject of a ready task.
    pub(crate) fn work(&self, task: &str) -> String {
        format!("ibeam.{}.work.{}", self.fleet, token(task))
    }

    /// Returns the subject of all ready tasks.
    pub(crate) fn all_work(&self) -> String {
        format!("ibeam.{}.work.*", self.fleet)
    }

    /// Returns the subject of a key.
    pub(crate) fn key(&self, kind: KeyKind, task: &str) -> String {
        format!("$KV.{}.{}.{}", self.bucket(), kind.as_str(), token(task))
    }

    /// Returns the subject of all keys of a kind.
    pub(crate) fn keys(&self, kind: KeyKind) -> String {
        format!("$KV.{}.{}.*", self.bucket(), kind.as_str())
    }

    /// Returns the subject of the key with the state of the whole fleet.
    pub(crate) fn control(&self) -> String {
        format!("$KV.{}.control.{FLEET}", self.bucket())
    }

    /// Returns the subject of the key with the requests of the fleet.
    pub(crate) fn limits(&self) -> String {
        format!("$KV.{}.limits.{FLEET}", self.bucket())
    }

    /// Returns the subject of the key with the pauses and the exhausted quota of an account.
    pub(crate) fn account(&self, name: &str) -> String {
        format!("$KV.{}.account.{name}", self.bucket())
    }

    /// Returns the subject of these keys of all accounts.
    pub(crate) fn accounts(&self) -> String {
        format!("$KV.{}.account.*", self.bucket())
    }

    /// Returns the subject of the key that says that `task` needs `needed`.
    pub(crate) fn need(&self, needed: &str, task: &str) -> String {
        format!("$KV.{}.need.{}.{}", self.bucket(), token(needed), token(task))
    }

    /// Returns the subject of the keys of all tasks that need `needed`.
    pub(crate) fn needs(&self, needed: &str) -> String {
        format!("$KV.{}.need.{}.*", self.bucket(), token(needed))
    }
}

/// Returns the id of a task as a token of a subject. An id has dots, but no `=`.
fn token(id: &str) -> String {
    id.replace('.', "=")
}

/// Returns the id of the task that a subject ends with.
pub(crate) fn task_of(subject: &str) -> String {
    subject.rsplit('.').next().unwrap_or_default().replace('=', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_task_is_read_from_its_subjects() {
        let names = Names::new(&QueueAddress::parse("nats://a/f").unwrap());
        for id in ["a", "a.b", "a..b-c_d.", "1"] {
            assert_eq!(task_of(&names.work(id)), id);
            assert_eq!(task_of(&names.key(KeyKind::Result, id)), id);
            assert_eq!(task_of(&names.need("x.y", id)), id);
            assert_eq!(names.work(id).split('.').count(), 4, "{id}");
        }
    }
}
