//! The queue of a fleet over many machines, in NATS JetStream.
//!
//! A stream with the retention of a work queue has a message for each task that is ready (`names`). A worker holds a task
//! while it has not acknowledged its message; progress acknowledgements extend the lease. Everything else is in a bucket of
//! keys (`store`): definitions, what a task consumed, and results, whose keys are only ever created, so the first one
//! counts. `NatsQueue` has the rules, `claims` those of claims, and `held_tasks` what a worker holds; `WorkerQueue` and `submission` are the two sides of a fleet.

mod address;
mod claims;
mod connection;
mod control;
mod direct_get;
mod error;
mod events;
mod held_tasks;
mod limits;
mod names;
mod nats_queue;
mod record;
mod refusal_list;
mod refusals;
mod signing;
mod snapshots;
mod store;
mod streams;
mod submission;
/// The path of the types in the shared tests of queues.
#[cfg(test)]
mod queue {
    pub(crate) use ibeam_fleet::*;
}
#[cfg(test)]
#[path = "../../ibeam-fleet/src/queue_conformance.rs"]
mod queue_conformance;
#[cfg(test)]
mod tests;
#[cfg(test)]
use ibeam_fleet as task;
#[cfg(test)]
use ibeam_fleet as task_result;
mod worker_queue;
mod workers;

pub use address::{InvalidAddress, QueueAddress};
pub use connection::{QueueCredentials, QueueOptions};
pub use control::{ControlWatch, FleetControl};
pub use events::EventReader;
pub use nats_queue::NatsQueue;
pub use record::{SyncReport, retry_failed, sync, wait_for_results};
pub use refusal_list::{RefusalList, RefusedTask};
pub use refusals::Refusal;
pub use signing::{InvalidSubmitterKey, SubmitterKeys};
pub use worker_queue::{WorkerPolicy, WorkerQueue};
pub use workers::WorkerInfo;
