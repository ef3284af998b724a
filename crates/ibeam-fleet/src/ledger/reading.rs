//! The states of the tasks of a ledger, for reports.

use std::convert::Infallible;

use ibeam_governor::Spend;
use rusqlite::{OptionalExtension as _, Row};

use super::{Ledger, QueueError, parse, unsigned};
use crate::queue::LedgerState;
use crate::task::Task;
use crate::task_result::TaskResult;
use crate::task_status::{TaskState, TaskStatus};

/// The columns of a status.
const COLUMNS: &str = "id, state, reason, result, cost_micros, tokens";

impl Ledger {
    /// Returns the number of the tasks that this process works on.
    pub fn count(&self) -> Result<u64, QueueError> {
        let query = "SELECT COUNT(*) FROM task
            WHERE (NOT EXISTS (SELECT 1 FROM selected) OR task.id IN selected)";
        let count = self.connection.query_row(query, [], |row| row.get(0).map(unsigned));
        self.failing(count)
    }

    /// Works on these tasks alone from now on: the others keep their states and results, and do not count.
    pub fn select(&mut self, tasks: &[Task]) -> Result<(), QueueError> {
        self.idle_until = None;
        let mut insert = || {
            let transaction = self.connection.transaction()?;
            for task in tasks {
                transaction.execute("INSERT INTO selected VALUES (?1)", [&task.id])?;
            }
            transaction.commit()
        };
        let inserted = insert();
        self.failing(inserted)
    }

    /// Returns the number of tasks in a state.
    pub fn count_in(&self, state: LedgerState) -> Result<u64, QueueError> {
        let count = self.connection.query_row(
            "SELECT COUNT(*) FROM task WHERE state = ?1",
            [state.as_str()],
            |row| row.get(0).map(unsigned),
        );
        self.failing(count)
    }

    /// Returns every task and its state, in the order of submission.
    pub fn statuses(&self) -> Result<Vec<TaskStatus>, QueueError> {
        let mut statuses = Vec::new();
        let read = self.each_task(|status, _| {
            statuses.push(status);
            Ok::<_, Infallible>(())
        });
        read.map(|Ok(())| statuses)
    }

    /// Passes every task with its state and its result to `each`, in the order of submission, until that fails.
    ///
    /// # Errors
    /// `Ledger`; inside, the error of `each`.
    pub fn each_task<E>(
        &self,
        mut each: impl FnMut(TaskStatus, Option<TaskResult>) -> Result<(), E>,
    ) -> Result<Result<(), E>, QueueError> {
        let mut read = || {
            let query = format!("SELECT {COLUMNS} FROM task ORDER BY position");
            let mut statement = self.connection.prepare(&query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (status, result) = status(row)?;
                if let Err(error) = each(status, result) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        };
        self.failing(read())
    }

    /// Reads the same state from now on, whatever other processes write.
    pub fn keep_state(&self) -> Result<(), QueueError> {
        self.failing(self.connection.execute_batch("BEGIN"))
    }

    /// Returns a task, its status and its result.
    pub fn find(&self, id: &str) -> Result<Option<(Task, TaskStatus, Option<TaskResult>)>, QueueError> {
        let query = format!("SELECT {COLUMNS}, definition FROM task WHERE id = ?1");
        let found = self.connection.query_row(&query, [id], |row| {
            let (status, result) = status(row)?;
            Ok((parse(&row.get::<_, String>(6)?)?, status, result))
        });
        self.failing(found.optional())
    }

    /// Returns every task, in the order of submission.
    pub fn tasks(&self) -> Result<Vec<Task>, QueueError> {
        let read = || {
            let mut statement = self.connection.prepare("SELECT definition FROM task ORDER BY position")?;
            let rows = statement.query_map([], |row| parse(&row.get::<_, String>(0)?))?;
            rows.collect()
        };
        self.failing(read())
    }
}

fn status(row: &Row<'_>) -> rusqlite::Result<(TaskStatus, Option<TaskResult>)> {
    if let Some(result) = row.get::<_, Option<String>>(3)? {
        let result: TaskResult = parse(&result)?;
        return Ok((TaskStatus::for_result(&result), Some(result)));
    }
    let word: String = row.get(1)?;
    let state = LedgerState::ALL.into_iter().find(|state| state.as_str() == word);
    let state = TaskState::for_ledger(state.unwrap_or(LedgerState::Pending));
    let spend = Spend { cost_micros: unsigned(row.get(4)?), tokens: unsigned(row.get(5)?) };
    let status = TaskStatus::without_result(&row.get::<_, String>(0)?, state, row.get(2)?, spend);
    Ok((status, None))
}
