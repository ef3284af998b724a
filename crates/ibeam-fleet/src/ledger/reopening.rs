//! The tasks that failed, and their return to the queue.

use std::collections::{HashMap, HashSet};

use super::{Ledger, Outcome, QueueError};
use crate::queue::TaskQueue as _;
use crate::task_status::TaskStatus;

impl Ledger {
    /// Returns the tasks whose run failed, in the order of submission.
    pub fn failed_tasks(&mut self) -> Result<Vec<String>, QueueError> {
        let failed = self.results()?.into_iter().filter(|result| result.outcome == Outcome::Failed);
        Ok(failed.map(|result| result.id).collect())
    }

    /// Returns finished tasks to the queue, and those that were skipped because of them. What they consumed still counts.
    /// Returns the ids of all these tasks.
    pub fn reopen(&mut self, failed: &[String]) -> Result<Vec<String>, QueueError> {
        let statuses = self.statuses()?;
        let needs = self.needs();
        let needs = self.failing(needs)?;
        let mut reopened: HashSet<&str> = failed.iter().map(String::as_str).collect();
        let outcomes: HashMap<&str, Option<Outcome>> =
            statuses.iter().map(|TaskStatus { id, outcome, .. }| (id.as_str(), *outcome)).collect();
        let may_run = |need: &String, reopened: &HashSet<&str>| {
            reopened.contains(need.as_str())
                || match outcomes.get(need.as_str()).copied().flatten() {
                    None | Some(Outcome::Passed) => true,
                    Some(Outcome::CheckFailed | Outcome::Failed | Outcome::Skipped) => false,
                }
        };
        loop {
            let before = reopened.len();
            for TaskStatus { id, outcome, .. } in &statuses {
                let needed = needs.get(id).map(Vec::as_slice).unwrap_or_default();
                if *outcome == Some(Outcome::Skipped) && needed.iter().all(|need| may_run(need, &reopened)) {
                    reopened.insert(id);
                }
            }
            if reopened.len() == before {
                break;
            }
        }
        self.idle_until = None;
        let mut update = || {
            let transaction = self.connection.transaction()?;
            for id in &reopened {
                transaction.execute(
                    "UPDATE task SET state = 'pending', until_ms = 0, reason = NULL, result = NULL
                     WHERE id = ?1 AND state = 'finished'",
                    [id],
                )?;
            }
            transaction.commit()
        };
        let updated = update();
        self.failing(updated)?;
        Ok(reopened.into_iter().map(str::to_owned).collect())
    }

    /// Returns the needs of each task that has some.
    fn needs(&self) -> rusqlite::Result<HashMap<String, Vec<String>>> {
        let mut statement = self.connection.prepare("SELECT task, needed FROM need")?;
        let mut needs: HashMap<String, Vec<String>> = HashMap::new();
        for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (task, needed) = row?;
            needs.entry(task).or_default().push(needed);
        }
        Ok(needs)
    }
}

#[cfg(test)]
mod tests {
    use ibeam_governor::Spend;

    use super::*;
    use crate::queue::NextTask;
    use crate::queue_conformance::task;
    use crate::task_result::TaskResult;

    #[test]
    fn failed_tasks_return_with_those_that_nothing_else_holds() {
        let home = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
        let tasks = [
            task("failed", &[]),
            task("unchecked", &[]),
            task("next", &["failed"]),
            task("last", &["next"]),
            task("held", &["failed", "unchecked"]),
        ];
        ledger.submit(&tasks).unwrap();
        for outcome in [Outcome::Failed, Outcome::CheckFailed] {
            let NextTask::Claimed(claim) = ledger.claim(0, 1000).unwrap() else { panic!("no task is ready") };
            let result = TaskResult::without_run(&claim.task.id, outcome, String::new());
            ledger.finish(&claim.lease, &result, Spend { cost_micros: 5, tokens: 7 }).unwrap();
        }
        assert_eq!(ledger.unfinished().unwrap(), 0);
        let failed = ledger.failed_tasks().unwrap();
        assert_eq!(failed, ["failed"]);
        ledger.reopen(&failed).unwrap();
        let results = ledger.results().unwrap();
        let kept: Vec<&str> = results.iter().map(|result| result.id.as_str()).collect();
        assert_eq!(kept, ["unchecked", "held"]);
        assert_eq!(ledger.spend().unwrap(), Spend { cost_micros: 10, tokens: 14 });
    }
}
