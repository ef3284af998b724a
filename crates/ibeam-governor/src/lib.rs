//! The protocol between the runs of a fleet and its driver, which both sides share: the variables of a run, its questions to
//! the governor, the log of requests, and the places of the files of a task.

mod messages;
mod process_identity;
mod request_log;
mod spend;
mod task_directory;

pub use messages::{
    Ask, DIRECTORY_VARIABLE, GOVERNOR_VARIABLE, HIDDEN_FILES_VARIABLE, KEY_FILE_VARIABLE, LIMITED_FILE,
    LimitLeft, Permission, QuotaLeft, RequestOutcome, RequestReport, TASK_VARIABLE, is_limited,
};
pub use process_identity::{is_alive, own_identity};
pub use request_log::{LineKind, LogLine, RequestLog, append_end};
pub use spend::Spend;
pub use task_directory::{ANSWERS, answers_file, task_directory};
