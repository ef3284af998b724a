//! The tasks that share a prompt and a workspace, for statistics.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Ledger, QueueError, parse};
use crate::task::Task;

impl Ledger {
    /// Returns the cluster of each task that shares its prompt and workspace with others, by its id.
    ///
    /// # Errors
    /// `Ledger`.
    pub fn clusters(&self) -> Result<HashMap<String, u64>, QueueError> {
        let mut sizes: HashMap<u64, u32> = HashMap::new();
        let mut shared = HashMap::new();
        let mut read = || {
            self.each_cluster(|_, cluster| *sizes.entry(cluster).or_default() += 1)?;
            self.each_cluster(|id, cluster| {
                if sizes.get(&cluster).is_some_and(|size| *size > 1) {
                    shared.insert(id, cluster);
                }
            })
        };
        let read = read();
        self.failing(read)?;
        Ok(shared)
    }

    fn each_cluster(&self, mut each: impl FnMut(String, u64)) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare("SELECT definition FROM task")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let task: Task = parse(row.get_ref(0)?.as_str()?)?;
            let mut hasher = DefaultHasher::new();
            (&task.prompt, format!("{:?}", task.workspace)).hash(&mut hasher);
            each(task.id, hasher.finish());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::expand_matrix;
    use crate::queue::TaskQueue as _;
    use crate::task_file::TaskFile;

    #[test]
    fn repeats_and_models_of_a_prompt_in_a_workspace_are_a_cluster() {
        let home = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
        let matrix = r#"{"prompts":["a","b"],"models":["m","n"],"workspaces":["/","/tmp"],"repeat":2}"#;
        let tasks = TaskFile::parse(&expand_matrix(matrix).unwrap(), std::path::Path::new("/")).tasks;
        ledger.submit(&tasks).unwrap();
        let clusters = ledger.clusters().unwrap();
        assert_eq!(clusters.len(), 16);
        assert_eq!(clusters["p1.m.w1.r1"], clusters["p1.n.w1.r2"]);
        let different: std::collections::BTreeSet<u64> = clusters.values().copied().collect();
        assert_eq!(different.len(), 4);
    }

    #[test]
    fn tasks_that_are_alone_are_in_no_cluster() {
        let home = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&home.path().join("ledger.sqlite")).unwrap();
        let matrix = r#"{"prompts":["a","b"],"workspaces":["/"]}"#;
        let tasks = TaskFile::parse(&expand_matrix(matrix).unwrap(), std::path::Path::new("/")).tasks;
        ledger.submit(&tasks).unwrap();
        assert_eq!(ledger.clusters().unwrap(), HashMap::new());
    }
}
