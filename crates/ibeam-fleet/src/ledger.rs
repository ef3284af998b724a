//! The queue on one machine: an SQLite database in the directory of the fleet.
//!
//! One process at a time writes to it (`FleetDirectory` has the lock), so the leases of an earlier process are void when
//! it is opened. A kill at any instant leaves the last committed state; a loss of power may lose the last commits, which
//! is harmless, because the directory of a task has its result too.

mod clusters;
mod reading;
mod record;
mod reopening;
mod waiting;

use std::path::{Path, PathBuf};

use ibeam_governor::Spend;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};

use crate::queue::{Claim, Finished, Lease, LedgerState, NextTask, QueueError, Release, Renewal, TaskQueue};
use crate::task::Task;
use crate::task_result::{Outcome, TaskResult};

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS task (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,
    state TEXT NOT NULL,
    lease INTEGER NOT NULL DEFAULT 0,
    until_ms INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    cost_micros INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    result TEXT
);
CREATE INDEX IF NOT EXISTS task_state ON task (state, position);
CREATE TABLE IF NOT EXISTS need (
    task TEXT NOT NULL,
    needed TEXT NOT NULL,
    PRIMARY KEY (needed, task)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS need_task ON need (task, needed);
CREATE TABLE IF NOT EXISTS waiting (
    task TEXT PRIMARY KEY,
    session TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS waiting_session ON waiting (session);
CREATE TABLE IF NOT EXISTS largest (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    cost_micros INTEGER NOT NULL,
    tokens INTEGER NOT NULL
);
INSERT OR IGNORE INTO largest VALUES (0, 0, 0);
CREATE TABLE IF NOT EXISTS answered (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    bytes INTEGER NOT NULL
);
INSERT OR IGNORE INTO answered VALUES (0, 0);
CREATE TRIGGER IF NOT EXISTS task_spend AFTER UPDATE OF cost_micros, tokens ON task BEGIN
    UPDATE largest SET
        cost_micros = MAX(cost_micros, NEW.cost_micros - OLD.cost_micros),
        tokens = MAX(tokens, NEW.tokens - OLD.tokens);
END;
";

/// The tasks that this process works on, if they are not all.
const SELECTION: &str = "CREATE TEMP TABLE selected (id TEXT PRIMARY KEY) WITHOUT ROWID";

/// A task is ready if it waits, or its lease has ended, and if no task that it needs lacks a result. A need that did not
/// pass has given the task a result, so it is no longer ready.
const NEXT: &str = "
SELECT position, definition, cost_micros, tokens FROM task
WHERE state IN ('pending', 'leased') AND until_ms <= ?1
AND (NOT EXISTS (SELECT 1 FROM selected) OR task.id IN selected)
AND NOT EXISTS (
    SELECT 1 FROM need JOIN task AS needed ON needed.id = need.needed
    WHERE need.task = task.id AND needed.state <> 'finished'
)
ORDER BY position LIMIT 1";

/// Whether a task is leased, or waits for its next run.
const OPEN: &str = "
SELECT EXISTS (SELECT 1 FROM task WHERE (state = 'leased' OR state = 'pending' AND until_ms > ?1)
AND (NOT EXISTS (SELECT 1 FROM selected) OR task.id IN selected))";

/// The next time at which a pause or a lease ends.
const NEXT_TIME: &str =
    "SELECT MIN(until_ms) FROM task WHERE state IN ('pending', 'leased') AND until_ms > ?1";

#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    connection: Connection,
    /// The time before which no task gets ready by itself. With thousands of tasks that wait for others, each search for one
    /// that is ready takes long.
    idle_until: Option<u64>,
}

impl Ledger {
    /// Opens the ledger, or creates it, and returns the tasks of an earlier process to the queue.
    pub fn open(path: &Path) -> Result<Self, QueueError> {
        let open = || {
            let connection = Connection::open(path)?;
            connection.busy_timeout(std::time::Duration::from_secs(10))?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.execute_batch(SCHEMA)?;
            connection.execute_batch(SELECTION)?;
            connection
                .execute("UPDATE task SET state = 'pending', until_ms = 0 WHERE state = 'leased'", [])?;
            Ok(connection)
        };
        let connection = open().map_err(|error| failed(path, &error))?;
        Ok(Self { path: path.to_owned(), connection, idle_until: None })
    }

    /// Opens a ledger to read it, also while another process writes to it.
    pub fn open_read_only(path: &Path) -> Result<Self, QueueError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.execute_batch(SELECTION)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| failed(path, &error))?;
        Ok(Self { path: path.to_owned(), connection, idle_until: None })
    }

    fn failing<T>(&self, result: rusqlite::Result<T>) -> Result<T, QueueError> {
        result.map_err(|error| failed(&self.path, &error))
    }

    fn submit_all(&mut self, tasks: &[Task]) -> rusqlite::Result<Result<(), QueueError>> {
        let transaction = self.connection.transaction()?;
        {
            let mut find = transaction.prepare("SELECT definition FROM task WHERE id = ?1")?;
            let mut insert =
                transaction.prepare("INSERT INTO task (id, definition, state) VALUES (?1, ?2, 'pending')")?;
            let mut insert_need =
                transaction.prepare("INSERT OR IGNORE INTO need (task, needed) VALUES (?1, ?2)")?;
            for task in tasks {
                let definition = to_json(task)?;
                let found: Option<String> = find.query_row([&task.id], |row| row.get(0)).optional()?;
                match found {
                    Some(found) if found == definition => {}
                    Some(_) => return Ok(Err(QueueError::TaskChanged { id: task.id.clone() })),
                    None => {
                        insert.execute([&task.id, &definition])?;
                        for needed in &task.needs {
                            insert_need.execute([&task.id, needed])?;
                        }
                    }
                }
            }
        }
        transaction.commit()?;
        Ok(Ok(()))
    }

    fn claim_next(&mut self, now_ms: u64, lease_ms: u64) -> rusqlite::Result<NextTask> {
        let transaction = self.connection.transaction()?;
        let found = transaction.prepare(NEXT)?.query_row([integer(now_ms)], claim_of).optional()?;
        let Some((position, task, spend)) = found else {
            let is_open: bool = transaction.query_row(OPEN, [integer(now_ms)], |row| row.get(0))?;
            if !is_open {
                return Ok(NextTask::Drained);
            }
            let next: Option<i64> = transaction.query_row(NEXT_TIME, [integer(now_ms)], |row| row.get(0))?;
            self.idle_until = next.map(unsigned);
            return Ok(NextTask::NotReady);
        };
        let number: i64 = transaction.query_row(
            "UPDATE task SET state = 'leased', lease = lease + 1, until_ms = ?2 WHERE position = ?1 RETURNING lease",
            [position, integer(now_ms.saturating_add(lease_ms))],
            |row| row.get(0),
        )?;
        transaction.commit()?;
        let lease = Lease { task: task.id.clone(), number: unsigned(number) };
        // The directory of a task that is run again has been prepared for it.
        Ok(NextTask::Claimed(Box::new(Claim { lease, task, spend, attempt: 0 })))
    }

    fn record(&mut self, id: &str, result: &TaskResult, spend: Spend) -> rusqlite::Result<Finished> {
        let transaction = self.connection.transaction()?;
        let mut skipped = Vec::new();
        let changed = transaction.execute(
            "UPDATE task SET state = 'finished', result = ?2, cost_micros = ?3, tokens = ?4, reason = NULL
             WHERE id = ?1 AND state <> 'finished'",
            params![id, to_json(result)?, integer(spend.cost_micros), integer(spend.tokens)],
        )?;
        if changed == 0 {
            return Ok(Finished::AlreadyFinished);
        }
        if result.outcome != Outcome::Passed {
            let mut failed = vec![id.to_owned()];
            while let Some(needed) = failed.pop() {
                let mut waiting = transaction.prepare(
                    "SELECT need.task FROM need JOIN task ON task.id = need.task
                     WHERE need.needed = ?1 AND task.state <> 'finished' ORDER BY task.position",
                )?;
                let ids: Vec<String> =
                    waiting.query_map([&needed], |row| row.get(0))?.collect::<Result<_, _>>()?;
                for id in ids {
                    let result = TaskResult::skipped(&id, &needed);
                    transaction.execute(
                        "UPDATE task SET state = 'finished', result = ?2 WHERE id = ?1",
                        [&id, &to_json(&result)?],
                    )?;
                    skipped.push(result);
                    failed.push(id);
                }
            }
        }
        transaction.commit()?;
        Ok(Finished::Recorded { skipped })
    }
}

impl TaskQueue for Ledger {
    fn submit(&mut self, tasks: &[Task]) -> Result<(), QueueError> {
        self.idle_until = None;
        let submitted = self.submit_all(tasks);
        self.failing(submitted)?
    }

    fn claim(&mut self, now_ms: u64, lease_ms: u64) -> Result<NextTask, QueueError> {
        if self.idle_until.is_some_and(|until| now_ms < until) {
            return Ok(NextTask::NotReady);
        }
        self.idle_until = None;
        let claimed = self.claim_next(now_ms, lease_ms);
        self.failing(claimed)
    }

    fn renew(&mut self, lease: &Lease, now_ms: u64, lease_ms: u64) -> Result<Renewal, QueueError> {
        let changed = self.connection.execute(
            "UPDATE task SET until_ms = ?3 WHERE id = ?1 AND lease = ?2 AND state = 'leased'",
            params![lease.task, integer(lease.number), integer(now_ms.saturating_add(lease_ms))],
        );
        Ok(if self.failing(changed)? == 1 { Renewal::Held } else { Renewal::Lost })
    }

    fn finish(&mut self, lease: &Lease, result: &TaskResult, spend: Spend) -> Result<Finished, QueueError> {
        self.idle_until = None;
        let recorded = self.record(&lease.task, result, spend);
        self.failing(recorded)
    }

    fn release(&mut self, lease: &Lease, release: Release, spend: Spend) -> Result<(), QueueError> {
        self.idle_until = None;
        let (state, until_ms, reason) = match release {
            Release::Retry { at_ms } => (LedgerState::Pending, at_ms, None),
            Release::Park { reason } | Release::Exhausted { reason } => {
                (LedgerState::Parked, 0, Some(reason.to_string()))
            }
            Release::Undecided { reason } => (LedgerState::Undecided, 0, Some(reason.to_string())),
            Release::Wait { session } => {
                self.write_session(&lease.task, &session)?;
                (LedgerState::Waiting, 0, None)
            }
        };
        let changed = self.connection.execute(
            "UPDATE task SET state = ?3, until_ms = ?4, reason = ?5, cost_micros = ?6, tokens = ?7
             WHERE id = ?1 AND lease = ?2 AND state = 'leased'",
            params![
                lease.task,
                integer(lease.number),
                state.as_str(),
                integer(until_ms),
                reason,
                integer(spend.cost_micros),
                integer(spend.tokens)
            ],
        );
        self.failing(changed).map(drop)
    }

    fn unpark(&mut self) -> Result<(), QueueError> {
        self.idle_until = None;
        let changed = self.connection.execute(
            "UPDATE task SET state = 'pending', until_ms = 0, reason = NULL
             WHERE state IN ('parked', 'undecided')
             AND (NOT EXISTS (SELECT 1 FROM selected) OR task.id IN selected)",
            [],
        );
        self.failing(changed).map(drop)
    }

    fn spend(&mut self) -> Result<Spend, QueueError> {
        let sums = self.connection.query_row(
            "SELECT COALESCE(SUM(cost_micros), 0), COALESCE(SUM(tokens), 0) FROM task",
            [],
            |row| Ok(Spend { cost_micros: unsigned(row.get(0)?), tokens: unsigned(row.get(1)?) }),
        );
        self.failing(sums)
    }

    fn results(&mut self) -> Result<Vec<TaskResult>, QueueError> {
        let read = || {
            let mut statement = self.connection.prepare(
                "SELECT result FROM task WHERE state = 'finished'
                     AND (NOT EXISTS (SELECT 1 FROM selected) OR task.id IN selected) ORDER BY position",
            )?;
            let rows = statement.query_map([], |row| parse(&row.get::<_, String>(0)?))?;
            rows.collect()
        };
        self.failing(read())
    }

    fn unfinished(&mut self) -> Result<u64, QueueError> {
        let count = self.connection.query_row(
            "SELECT COUNT(*) FROM task WHERE state <> 'finished'
             AND (NOT EXISTS (SELECT 1 FROM selected) OR task.id IN selected)",
            [],
            |row| row.get(0).map(unsigned),
        );
        self.failing(count)
    }
}

fn claim_of(row: &Row<'_>) -> rusqlite::Result<(i64, Task, Spend)> {
    let task = parse(&row.get::<_, String>(1)?)?;
    Ok((row.get(0)?, task, Spend { cost_micros: unsigned(row.get(2)?), tokens: unsigned(row.get(3)?) }))
}

fn failed(path: &Path, error: &rusqlite::Error) -> QueueError {
    QueueError::Ledger { path: path.display().to_string(), detail: error.to_string() }
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    let invalid = |error: serde_json::Error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    };
    serde_json::from_str(text).map_err(invalid)
}

fn to_json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Returns a number as the database stores it. No time and no count reaches 2^63.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
