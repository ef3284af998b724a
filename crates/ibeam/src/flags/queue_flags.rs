//! The flags of `fleet` that concern a queue on other machines.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::Args;

/// The queue and how to connect to it.
#[derive(Args, Clone, Debug)]
pub(crate) struct QueueFlags {
    /// The queue, e.g. `tls://nats.example.com:4222/evals`: servers, and the name of the fleet
    #[arg(long, value_name = "URL")]
    pub(crate) queue: String,
    #[command(flatten)]
    pub(crate) credentials: CredentialFlags,
}

/// The queue that a command reads, if it has one.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadQueueFlags {
    /// Read the state of a queue, e.g. `tls://nats.example.com/evals`, instead of a directory
    #[arg(long, value_name = "URL")]
    pub(crate) queue: Option<String>,
    #[command(flatten)]
    pub(crate) credentials: CredentialFlags,
}

impl ReadQueueFlags {
    /// Returns the flags of a command that needs a queue, if there is one.
    pub(crate) fn given(&self) -> Option<QueueFlags> {
        let Self { queue, credentials } = self.clone();
        queue.map(|queue| QueueFlags { queue, credentials })
    }
}

/// The fleet of a task.
#[derive(Args, Clone, Debug)]
pub(crate) struct FleetFlags {
    /// The directory of the fleet [default: the only one here whose name ends with `.fleet`]
    #[arg(long, value_name = "DIR", conflicts_with = "queue")]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) queue: ReadQueueFlags,
}

/// The queue of `fleet run`, if it has one.
#[derive(Args, Clone, Debug)]
pub(crate) struct SubmissionFlags {
    /// Send the tasks to this queue and wait for the results of workers, e.g. `tls://nats.example.com/evals`
    #[arg(long, value_name = "URL")]
    pub(crate) queue: Option<String>,
    #[command(flatten)]
    pub(crate) credentials: CredentialFlags,
    /// The seconds after which another worker gets the task of one that does not answer; for a new queue
    #[arg(long, value_name = "SECONDS", default_value = "60", requires = "queue")]
    pub(crate) queue_lease: NonZeroU64,
}

/// The credentials of the client, and the authorities that it trusts.
#[derive(Args, Clone, Debug)]
pub(crate) struct CredentialFlags {
    /// A NATS credentials file for the queue
    #[arg(long, value_name = "FILE", requires = "queue", conflicts_with = "queue_nkey")]
    pub(crate) queue_creds: Option<PathBuf>,
    /// A file with the seed of an nkey for the queue
    #[arg(long, value_name = "FILE", requires = "queue")]
    pub(crate) queue_nkey: Option<PathBuf>,
    /// A file with certificates of authorities for the queue
    #[arg(long, value_name = "FILE", requires = "queue")]
    pub(crate) queue_ca: Option<PathBuf>,
}

/// The rights that a worker grants to tasks.
#[derive(Args, Clone, Debug)]
pub(crate) struct GrantFlags {
    /// Allow local workspaces and attached files below this directory; repeatable
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_workspaces: Vec<PathBuf>,
    /// Run the checks of tasks: commands of their submitter, in the sandbox
    #[arg(long)]
    pub(crate) allow_checks: bool,
}

/// The flags of `fleet worker`.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkerFlags {
    #[command(flatten)]
    pub(crate) queue: QueueFlags,
    /// The directory for workspaces and streams; each worker needs its own
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// The number of tasks that run at the same time
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) slots: NonZeroU32,
    /// End when the queue has no more tasks
    #[arg(long)]
    pub(crate) until_drained: bool,
    #[command(flatten)]
    pub(crate) grants: GrantFlags,
    /// Execute only tasks that the submitter with this public nkey has signed; repeatable
    #[arg(long, value_name = "KEY")]
    pub(crate) submitter_key: Vec<String>,
    /// Send no snapshots and no events to the queue: files and transcripts stay on this machine
    #[arg(long)]
    pub(crate) keep_content: bool,
    /// The number of runs of a task that may be killed, or fail in a way that may pass
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) max_runs: NonZeroU32,
    /// Delete the workspace of a task when it is finished; its patch stays
    #[arg(long)]
    pub(crate) discard_workspaces: bool,
}
