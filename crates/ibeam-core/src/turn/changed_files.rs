//! Checkpoints of a turn: the files before its first change, and at its end if it may have changed any.
//!
//! A turn in which no call may change files saves nothing. A checkpoint that fails does not end the run.

use std::time::Duration;

use ibeam_protocol::{CheckpointMoment, EventKind, Reason};

use super::Run;
use crate::journal::{Journal, JournalClosed};
use crate::ports::SavedFiles;

/// The time that saving files at the end of a turn may take after a stop was requested.
const STOP_GRACE: Duration = Duration::from_secs(1);

impl Run {
    /// Saves the files of the workspace before the first change of the turn. Later calls do nothing.
    ///
    /// Returns the reason of a stop, which ends the work.
    pub(super) async fn save_unchanged_files(
        &self,
        journal: &mut Journal,
    ) -> Result<Result<(), Reason>, JournalClosed> {
        if journal.tally().checkpoint_tried {
            return Ok(Ok(()));
        }
        let saving = self.checkpoints.save(CheckpointMoment::TurnStart, self.clock.unix_ms());
        let Some(saving) = saving else { return Ok(Ok(())) };
        let saved = tokio::select! {
            biased;
            reason = self.stop.wait() => return Ok(Err(reason)),
            saved = saving => saved,
        };
        record(journal, saved).await.map(Ok)
    }

    /// Saves the files of the workspace at the end of a turn that may have changed them.
    pub(super) async fn save_changed_files(&self, journal: &mut Journal) -> Result<(), JournalClosed> {
        if !journal.tally().has_checkpoint {
            return Ok(());
        }
        let saving = self.checkpoints.save(CheckpointMoment::TurnEnd, self.clock.unix_ms());
        let Some(saving) = saving else { return Ok(()) };
        let grace_after_stop = async {
            self.stop.wait().await;
            self.clock.sleep(STOP_GRACE).await;
        };
        let saved = tokio::select! {
            biased;
            saved = saving => saved,
            () = grace_after_stop => return Ok(()),
        };
        record(journal, saved).await
    }
}

/// Records a checkpoint and its notices.
async fn record(journal: &mut Journal, saved: SavedFiles) -> Result<(), JournalClosed> {
    let SavedFiles { checkpoint, notices } = saved;
    if let Some(checkpoint) = checkpoint {
        journal.record(EventKind::CheckpointTaken(checkpoint)).await?;
    }
    for notice in notices {
        journal.record(EventKind::Notice(notice)).await?;
    }
    Ok(())
}
