//! Events that the threads of a driver report to its observer.

use std::io;
use std::time::Duration;

use ibeam_protocol::Sentence;

use super::{FleetEnd, FleetObserver};
use crate::snapshots::SharingNote;
use crate::task_result::{Outcome, TaskResult};

pub(super) enum Event {
    Started(String),
    Finished(Box<TaskResult>),
    Retried(String, Duration),
    Parked(String, Sentence),
    Undecided(String, Sentence),
    Refused(String, Sentence),
    Waiting(String),
    Sharing(String, SharingNote),
}

impl Event {
    /// Reports the event, and counts a result.
    pub(super) fn report(self, end: &mut FleetEnd, observer: &mut dyn FleetObserver) -> io::Result<()> {
        match self {
            Self::Started(task) => observer.started(&task),
            Self::Retried(task, pause) => observer.retried(&task, pause),
            Self::Parked(task, reason) => observer.parked(&task, &reason),
            Self::Undecided(task, reason) => observer.undecided(&task, &reason),
            Self::Refused(task, reason) => observer.refused(&task, &reason),
            Self::Waiting(task) => observer.waiting(&task),
            Self::Sharing(task, note) => observer.sharing(&task, &note),
            Self::Finished(result) => {
                end.count(&result);
                return observer.finished(&result);
            }
        }
        Ok(())
    }
}

impl FleetEnd {
    pub(super) fn count(&mut self, result: &TaskResult) {
        match result.outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::CheckFailed | Outcome::Failed | Outcome::Skipped => self.failed += 1,
        }
    }
}
