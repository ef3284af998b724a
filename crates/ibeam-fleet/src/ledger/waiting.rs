//! The tasks that wait for the answer to a request.

use super::{Ledger, NEXT, OPEN, QueueError, Spend, integer, unsigned};

impl Ledger {
    /// Records the session of a task that will wait.
    pub(super) fn write_session(&self, task: &str, session: &str) -> Result<(), QueueError> {
        let written = self
            .connection
            .execute("INSERT OR REPLACE INTO waiting (task, session) VALUES (?1, ?2)", [task, session]);
        self.failing(written).map(drop)
    }

    /// Returns the sessions of the tasks that wait.
    pub fn waiting_sessions(&self) -> Result<Vec<String>, QueueError> {
        let read = || {
            let mut statement = self.connection.prepare(
                "SELECT waiting.session FROM waiting JOIN task ON task.id = waiting.task
                 WHERE task.state = 'waiting'",
            )?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        self.failing(read())
    }

    /// Returns the waiting tasks to the queue for whose session `is_ready` returns true, and their number.
    pub fn wake(&mut self, is_ready: impl Fn(&str) -> bool) -> Result<u64, QueueError> {
        let sessions = self.waiting_sessions()?;
        self.idle_until = None;
        let mut wake = || {
            let transaction = self.connection.transaction()?;
            let mut count = 0;
            {
                let mut update = transaction.prepare(
                    "UPDATE task SET state = 'pending', until_ms = 0 WHERE state = 'waiting'
                     AND id IN (SELECT task FROM waiting WHERE session = ?1)",
                )?;
                for session in sessions.iter().filter(|session| is_ready(session)) {
                    count += update.execute([session])?;
                }
            }
            transaction.commit()?;
            Ok(count as u64)
        };
        let woken = wake();
        self.failing(woken)
    }

    /// Whether no task is ready, leased, or waits for its next run.
    pub fn is_idle(&self, now_ms: u64) -> Result<bool, QueueError> {
        let now = integer(now_ms);
        let read = || {
            let is_open: bool = self.connection.query_row(OPEN, [now], |row| row.get(0))?;
            Ok(!is_open && !self.connection.prepare(NEXT)?.exists([now])?)
        };
        self.failing(read())
    }

    /// Returns the most that a task has consumed between two waits so far: with batches, its largest request.
    pub fn largest_request(&self) -> Result<Spend, QueueError> {
        let largest = self.connection.query_row("SELECT cost_micros, tokens FROM largest", [], |row| {
            Ok(Spend { cost_micros: unsigned(row.get(0)?), tokens: unsigned(row.get(1)?) })
        });
        self.failing(largest)
    }

    /// Returns the size of the longest request that was answered in a batch, in bytes.
    pub fn largest_answered(&self) -> Result<u64, QueueError> {
        let bytes =
            self.connection.query_row("SELECT bytes FROM answered", [], |row| row.get(0).map(unsigned));
        self.failing(bytes)
    }

    /// Records the size of a request that was answered in a batch.
    pub fn raise_largest_answered(&mut self, bytes: u64) -> Result<(), QueueError> {
        let raised = self.connection.execute("UPDATE answered SET bytes = MAX(bytes, ?1)", [integer(bytes)]);
        self.failing(raised).map(drop)
    }
}
