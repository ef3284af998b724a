//! Many runs from a file of tasks.
//!
//! A task file is validated whole (`task_file`), its tasks are submitted to a queue (`queue`, `ledger`), and the driver
//! executes each of them as a process of this program (`driver`, `task_run`). What a task leaves is in a directory of its
//! own (`task_dir`). Knows nothing of models, journals and the loop: a run is known by its stream alone (`run_stream`).

mod application;
#[cfg(test)]
mod application_test;
mod batch_queue;
mod budget;
mod check_files;
mod check_run;
mod child;
mod clock;
mod comparison;
mod data_error;
mod dollars;
mod driver;
#[cfg(test)]
mod driver_test;
mod error;
mod event_publisher;
mod file_filter;
mod fleet_directory;
mod governor;
mod governor_server;
mod ledger;
#[cfg(test)]
mod ledger_test;
mod matrix;
mod parking;
mod queue;
#[cfg(test)]
mod queue_conformance;
mod report;
mod report_html;
mod retry;
mod run_stream;
mod shared_limits;
mod snapshot;
mod snapshots;
mod statistics;
mod stop;
mod stream_tail;
mod task;
mod task_account;
mod task_dir;
mod task_file;
mod task_files;
mod task_log;
mod task_origin;
mod task_result;
mod task_run;
mod task_selection;
mod task_status;
mod task_totals;
mod verdict;
mod workspace;

pub use application::{Application, Applied, ApplyMode, PassedTask, passed_tasks};
pub use batch_queue::BatchQueue;
pub use budget::{Budget, RateLimits};
pub use child::RunProgram;
pub use comparison::{ChangedTask, ComparisonSums, FleetComparison, RateDifference};
pub use driver::{DriverOptions, FleetEnd, FleetObserver, HaltReason, run_fleet};
pub use error::FleetError;
pub use event_publisher::{random_id, worker_id};
pub use file_filter::FileFilter;
pub use fleet_directory::FleetDirectory;
pub use ibeam_git::Git;
pub use ibeam_governor::{RequestOutcome, RequestReport, Spend, task_directory};
pub use ledger::Ledger;
pub use matrix::expand_matrix;
pub use parking::Parking;
pub use queue::{
    Claim, EventSink, Finished, Lease, LedgerState, NextTask, QueueError, Release, Renewal, SnapshotStore,
    StreamEvent, TaskQueue,
};
pub use report::{FleetReport, ModelRow, PassRate, ReportSums};
pub use report_html::{EachTask, ReportedFleet, print_report_page};
pub use retry::retry_failed;
pub use shared_limits::{
    BlockCorrection, BudgetLease, DriverUsage, FleetLimits, Hold, LeaseDecision, RequestBlock, SharedLimits,
    SharedState,
};
pub use snapshot::MAX_SNAPSHOT_BYTES;
pub use snapshots::SharingNote;
pub use statistics::PassAtK;
pub use stop::StopFlag;
pub use task::{ResultSource, Task, TaskLimits, TaskMode, WorkspaceSource};
pub use task_file::{InvalidTask, TaskFile};
pub use task_log::TaskLog;
pub use task_result::{CheckResult, Outcome, TaskResult};
pub use task_status::{FleetTotals, TaskState, TaskStatus};
pub use verdict::{Cause, CheckReport, Verdict};
