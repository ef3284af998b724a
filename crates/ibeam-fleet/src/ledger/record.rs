//! The ledger as the record of a queue on other machines: the states that workers report.

use std::collections::BTreeSet;

use rusqlite::params;

use super::{Ledger, QueueError};
use crate::queue::LedgerState;

impl Ledger {
    /// Sets the tasks that run; those without a result that are not among them wait.
    pub fn set_running(&mut self, tasks: &BTreeSet<String>) -> Result<(), QueueError> {
        self.idle_until = None;
        let mut update = || {
            let transaction = self.connection.transaction()?;
            transaction.execute("UPDATE task SET state = 'pending' WHERE state = 'leased'", [])?;
            for id in tasks {
                transaction
                    .execute("UPDATE task SET state = 'leased' WHERE id = ?1 AND state = 'pending'", [id])?;
            }
            transaction.commit()
        };
        let updated = update();
        self.failing(updated)
    }

    /// Sets a task without a result that waits until the fleet is started again.
    pub fn set_aside(&mut self, task: &str, reason: &str, is_undecided: bool) -> Result<(), QueueError> {
        self.idle_until = None;
        let state = if is_undecided { LedgerState::Undecided } else { LedgerState::Parked };
        let updated = self.connection.execute(
            "UPDATE task SET state = ?2, reason = ?3 WHERE id = ?1 AND state <> 'finished'",
            params![task, state.as_str(), reason],
        );
        self.failing(updated).map(drop)
    }
}
