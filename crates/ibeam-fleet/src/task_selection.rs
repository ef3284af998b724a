//! The tasks of a file that a command runs: some of them, and those that they need.

use std::collections::{HashMap, HashSet};

use crate::task_file::TaskFile;

impl TaskFile {
    /// Keeps the tasks with these ids, or all if there are none, of these the first `limit`, and all tasks that the kept ones
    /// need.
    ///
    /// # Errors
    /// An id that no valid task has.
    pub fn select(&mut self, only: &[String], limit: Option<usize>) -> Result<(), String> {
        let needs: HashMap<&str, &[String]> =
            self.tasks.iter().map(|task| (task.id.as_str(), task.needs.as_slice())).collect();
        if let Some(unknown) = only.iter().find(|id| !needs.contains_key(id.as_str())) {
            return Err(unknown.clone());
        }
        let named: HashSet<&str> = only.iter().map(String::as_str).collect();
        let ids = self.tasks.iter().map(|task| task.id.as_str());
        let mut open: Vec<&str> = ids
            .filter(|id| named.is_empty() || named.contains(id))
            .take(limit.unwrap_or(usize::MAX))
            .collect();
        let mut kept = HashSet::new();
        while let Some(id) = open.pop() {
            if kept.insert(id.to_owned()) {
                open.extend(needs.get(id).copied().unwrap_or_default().iter().map(String::as_str));
            }
        }
        self.is_selection = kept.len() < self.tasks.len();
        self.tasks.retain(|task| kept.contains(&task.id));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue_conformance::task;

    #[test]
    fn a_selection_has_what_its_tasks_need() {
        let file = || TaskFile {
            tasks: vec![task("a", &[]), task("b", &["a"]), task("c", &[]), task("d", &["b"])],
            ..TaskFile::default()
        };
        let kept = |only: &[&str], limit| {
            let mut file = file();
            let only: Vec<String> = only.iter().map(|id| (*id).to_owned()).collect();
            file.select(&only, limit).map(|()| file.tasks.into_iter().map(|task| task.id).collect::<Vec<_>>())
        };
        for (only, limit, expected) in [
            (&[][..], None, &["a", "b", "c", "d"][..]),
            (&["d"], None, &["a", "b", "d"]),
            (&["c", "b"], Some(1), &["a", "b"]),
            (&[], Some(2), &["a", "b"]),
        ] {
            assert_eq!(kept(only, limit).unwrap(), expected, "{only:?} {limit:?}");
        }
        assert_eq!(kept(&["a", "x"], None), Err("x".to_owned()));
    }
}
