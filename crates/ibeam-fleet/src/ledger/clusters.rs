//! The results of a ledger one after the other, with the tasks that share a prompt and a workspace, for statistics.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Ledger, QueueError, parse};
use crate::task::Task;
use crate::task_result::TaskResult;

impl Ledger {
    /// Passes each result and the cluster of its task to `each`, in the order of submission, until that fails. Tasks with the
    /// same prompt and workspace have the same cluster.
    ///
    /// # Errors
    /// `Ledger`; inside, the error of `each`.
    pub fn each_result<E>(
        &self,
        mut each: impl FnMut(TaskResult, u64) -> Result<(), E>,
    ) -> Result<Result<(), E>, QueueError> {
        let mut read = || {
            let query = "SELECT definition, result FROM task WHERE state = 'finished' ORDER BY position";
            let mut statement = self.connection.prepare(query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let task: Task = parse(row.get_ref(0)?.as_str()?)?;
                let mut hasher = DefaultHasher::new();
                (&task.prompt, format!("{:?}", task.workspace)).hash(&mut hasher);
                if let Err(error) = each(parse(row.get_ref(1)?.as_str()?)?, hasher.finish()) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        };
        self.failing(read())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::convert::Infallible;

    use ibeam_governor::Spend;

    use super::*;
    use crate::matrix::expand_matrix;
    use crate::queue::{Lease, TaskQueue as _};
    use crate::task_file::TaskFile;
    use crate::task_result::Outcome;

    #[test]
    fn repeats_and_models_of_a_prompt_in_a_workspace_are_a_cluster() {
        let home = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
        let matrix = r#"{"prompts":["a","b"],"models":["m","n"],"workspaces":["/","/tmp"],"repeat":2}"#;
        let tasks = TaskFile::parse(&expand_matrix(matrix).unwrap(), std::path::Path::new("/")).tasks;
        ledger.submit(&tasks).unwrap();
        for task in tasks.iter().rev().skip(1) {
            let result = TaskResult::without_run(&task.id, Outcome::Passed, String::new());
            let lease = Lease { task: task.id.clone(), number: 1 };
            ledger.finish(&lease, &result, Spend::default()).unwrap();
        }
        let mut found = Vec::new();
        let each = ledger.each_result(|result, cluster| {
            found.push((result.id, cluster));
            Ok::<_, Infallible>(())
        });
        each.unwrap().unwrap();
        let ids = |tasks: Vec<&str>| tasks.into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            found.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(),
            ids(tasks[..15].iter().map(|task| task.id.as_str()).collect()),
            "the last one has no result"
        );
        let clusters: BTreeMap<&str, u64> =
            found.iter().map(|(id, cluster)| (id.as_str(), *cluster)).collect();
        assert_eq!(clusters["p1.m.w1.r1"], clusters["p1.n.w1.r2"]);
        assert_eq!(clusters.values().collect::<BTreeSet<_>>().len(), 4);
        let mut read = 0;
        let stopped = ledger.each_result(|_, _| {
            read += 1;
            if read == 3 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((stopped.unwrap(), read), (Err("enough"), 3));
    }
}
