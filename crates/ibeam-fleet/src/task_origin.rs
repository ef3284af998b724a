//! Tasks that start from the results of others: for each, the workspace with which the first of them started.

use std::collections::{BTreeMap, HashMap};

use ibeam_protocol::Sentence;

use crate::task::{ResultSource, Task, WorkspaceSource};

/// Sets the start of each task whose workspace is the result of another one. No task needs itself or a missing one. What is
/// wrong with such a task is added to `invalid`; the task stays.
pub(crate) fn resolve_results(
    tasks: &mut [(u64, Task)],
    invalid: &mut BTreeMap<u64, Sentence>,
    check: impl Fn(&Task) -> Result<(), Sentence>,
) {
    let mut known: HashMap<String, WorkspaceSource> = HashMap::new();
    loop {
        let mut is_changed = false;
        for (line, task) in
            tasks.iter_mut().filter(|(_, task)| !known.contains_key(&task.id)).collect::<Vec<_>>()
        {
            if let WorkspaceSource::Result(source) = &mut task.workspace {
                let Some(before) = known.get(&source.from) else { continue };
                *source = source.after(before);
                if let Err(detail) = check(task) {
                    invalid.insert(*line, detail);
                }
            }
            known.insert(task.id.clone(), task.workspace.clone());
            is_changed = true;
        }
        if !is_changed {
            return;
        }
    }
}

impl ResultSource {
    /// Returns the source behind that of the task from which it starts.
    fn after(&self, before: &WorkspaceSource) -> Self {
        let (start, earlier) = match before {
            WorkspaceSource::Path(_) | WorkspaceSource::Git(_) => (before.clone(), Vec::new()),
            WorkspaceSource::Result(source) => {
                let earlier = source.earlier.iter().chain([&source.from]).cloned().collect();
                (source.start().clone(), earlier)
            }
        };
        Self { from: self.from.clone(), earlier, start: Some(Box::new(start)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_file::TaskFile;

    #[test]
    fn a_task_starts_with_the_results_of_a_whole_chain() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("ws")).unwrap();
        let line =
            |id: &str, workspace: &str| format!(r#"{{"id":"{id}","prompt":"p","workspace":{workspace}}}"#);
        let from = |id: &str, from: &str| line(id, &format!(r#"{{"from":"{from}"}}"#));
        let text = [from("c", "b"), from("b", "a"), line("a", r#""ws""#)].join("\n");
        let file = TaskFile::parse(&text, home.path());
        assert!(file.invalid.is_empty(), "{:?}", file.invalid);
        let [c, b, a] = file.tasks.as_slice() else { panic!("three tasks") };
        assert_eq!((c.needs.as_slice(), b.needs.as_slice()), (&["b".to_owned()][..], &["a".to_owned()][..]));
        for task in [c, b, a] {
            assert_eq!(*task.workspace.start(), WorkspaceSource::Path(home.path().join("ws")));
        }
        let WorkspaceSource::Result(source) = &c.workspace else { panic!("a result") };
        assert_eq!(source.tasks().collect::<Vec<_>>(), ["a", "b"]);
        // The ledger has the definition as it was resolved.
        let stored: Task = serde_json::from_str(&serde_json::to_string(c).unwrap()).unwrap();
        assert_eq!(stored, *c);

        for (text, reason) in [
            (from("a", "gone"), "not a valid task"),
            ([from("a", "b"), from("b", "a")].join("\n"), "cycle"),
            (line("a", r#"{"from":"b","earlier":["c"]}"#), "`from` alone"),
            (line("a", r#"{"from":"b","ref":"x"}"#), "`workspace` should be"),
        ] {
            let file = TaskFile::parse(&text, home.path());
            assert!(file.tasks.is_empty() && file.invalid[0].detail.contains(reason), "{:?}", file.invalid);
        }
    }

    #[test]
    fn what_a_check_sees_alone_is_not_in_the_workspace_of_the_first_task() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("ws/tests")).unwrap();
        let text = "{\"id\":\"a\",\"prompt\":\"p\",\"workspace\":\"ws\"}\n\
                    {\"id\":\"b\",\"prompt\":\"p\",\"workspace\":{\"from\":\"a\"},\"check\":\"true\",\"check_dir\":\"ws/tests\"}";
        let file = TaskFile::parse(text, home.path());
        assert_eq!((file.tasks.len(), file.invalid.len()), (1, 1), "{file:?}");
        assert!(file.invalid[0].detail.contains("for the check alone"), "{file:?}");
    }
}
