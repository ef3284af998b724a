//! The launcher of the commands of a run, and the time for which it records what they change.

use std::sync::{Mutex, PoisonError};

use ibeam_process::Launcher;

/// A launcher whose record of changes covers the commands that run now.
pub(super) struct RecordedLauncher {
    launcher: Launcher,
    /// The number of commands whose changes are being recorded.
    recorded: Mutex<u32>,
}

impl RecordedLauncher {
    pub(super) fn new(launcher: Launcher) -> Self {
        Self { launcher, recorded: Mutex::default() }
    }

    pub(super) fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Announces a command whose changes are to be recorded. The record begins anew if no other one runs.
    pub(super) fn begin_record(&self) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if *recorded == 0
            && let Some(record) = self.launcher.change_record()
        {
            record.clear();
        }
        *recorded += 1;
    }

    /// Ends what [`Self::begin_record`] began, when the record is not needed any more.
    pub(super) fn end_record(&self) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        *recorded = recorded.saturating_sub(1);
    }
}
