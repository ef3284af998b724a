//! A task: its files, its prompt and the expected state afterwards.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;

/// The content of the list of tasks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    task: Vec<EvalTask>,
}

/// A task of the list. The comment at the top of the list explains the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvalTask {
    pub(super) name: String,
    pub(super) language: String,
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) hard: bool,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    creates: Vec<String>,
    #[serde(default)]
    changes: Vec<String>,
    #[serde(default)]
    gone: Vec<String>,
    #[serde(default)]
    contains: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    lacks: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    answer: Vec<String>,
}

/// The findings after a run. A success has none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TaskVerdict {
    pub(super) problems: Vec<String>,
    /// Files that changed although the task does not change them.
    pub(super) damaged: Vec<String>,
}

impl EvalTask {
    pub(super) fn load(path: &Path) -> Result<Vec<Self>, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        toml::from_str::<TaskFile>(&text).map(|file| file.task).map_err(|error| error.to_string())
    }

    /// Writes the files of the task into `workspace`.
    pub(super) fn write_files(&self, workspace: &Path) -> io::Result<()> {
        for (name, text) in &self.files {
            let path = workspace.join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)?;
        }
        Ok(())
    }

    /// Compares `workspace` and the final answer with the expected state.
    pub(super) fn evaluate(&self, workspace: &Path, answer: &str) -> TaskVerdict {
        let read = |name: &String| fs::read_to_string(workspace.join(name)).unwrap_or_default();
        let mut verdict = TaskVerdict::default();
        for name in self.creates.iter().filter(|name| !workspace.join(name).is_file()) {
            verdict.problems.push(format!("{name} is missing"));
        }
        for name in self.gone.iter().filter(|name| workspace.join(name).exists()) {
            verdict.problems.push(format!("{name} is still there"));
        }
        for (name, wanted) in &self.contains {
            let text = read(name);
            let absent = wanted.iter().filter(|wanted| !contains_any(&text, wanted));
            verdict.problems.extend(absent.map(|wanted| format!("{name} lacks {wanted:?}: {text:?}")));
        }
        for (name, unwanted) in &self.lacks {
            let text = read(name);
            let present = unwanted.iter().filter(|unwanted| contains_any(&text, unwanted));
            verdict.problems.extend(present.map(|unwanted| format!("{name} holds {unwanted:?}: {text:?}")));
        }
        for wanted in self.answer.iter().filter(|wanted| !contains_any(answer, wanted)) {
            verdict.problems.push(format!("the answer lacks {wanted:?}: {answer:?}"));
        }
        let unasked = self.files.iter().filter(|(name, _)| !self.changes.contains(name));
        verdict.damaged =
            unasked.filter(|(name, text)| read(name) != **text).map(|(name, _)| name.clone()).collect();
        verdict
    }
}

/// Whether `text` contains one of the alternatives in `wanted`, ignoring case.
fn contains_any(text: &str, wanted: &str) -> bool {
    let text = text.to_lowercase();
    wanted.to_lowercase().split('|').any(|wanted| text.contains(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = r#"
        [[task]]
        name = "edit"
        language = "en"
        prompt = "Change a to b in x.txt"
        changes = ["x.txt"]
        contains = { "x.txt" = ["b|c"] }
        lacks = { "x.txt" = ["a"] }
        answer = ["Done"]
        [task.files]
        "x.txt" = "a"
        "y/z.txt" = "z"
    "#;

    #[track_caller]
    fn check(effects: &[(&str, &str)], answer: &str, problems: usize, damaged: &[&str]) {
        let task = toml::from_str::<TaskFile>(TASK).unwrap().task.remove(0);
        let workspace = tempfile::tempdir().unwrap();
        task.write_files(workspace.path()).unwrap();
        effects.iter().for_each(|(name, text)| fs::write(workspace.path().join(name), text).unwrap());
        let verdict = task.evaluate(workspace.path(), answer);
        assert_eq!(
            (verdict.problems.len(), verdict.damaged),
            (problems, damaged.iter().map(|name| name.to_string()).collect())
        );
    }

    #[test]
    fn a_task_is_judged_by_its_effects() {
        check(&[("x.txt", "B")], "done.", 0, &[]);
        check(&[("x.txt", "c")], "nothing", 1, &[]);
        check(&[], "done", 2, &[]);
    }

    #[test]
    fn an_unexpected_change_is_damage() {
        check(&[("x.txt", "b"), ("y/z.txt", "")], "done", 0, &["y/z.txt"]);
    }

    #[test]
    fn the_list_of_tasks_loads_and_has_six_languages() {
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(super::super::TASKS_FILE);
        let tasks = EvalTask::load(&list).unwrap();
        assert!(tasks.len() >= 20, "{} tasks", tasks.len());
        for language in ["en", "es", "id", "ja", "fr", "pt"] {
            assert!(tasks.iter().any(|task| task.language == language), "{language}");
        }
        let mut names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), tasks.len(), "a name is used twice");
    }
}
