//! A matrix of tasks: each prompt with each model in each workspace, as the lines of a task file.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A matrix, as its file defines it. The other keys are those of every task.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with `prompts` and `workspaces`")]
struct Matrix {
    prompts: Vec<Prompt>,
    #[serde(default)]
    models: Vec<String>,
    workspaces: Vec<Value>,
    /// The number of tasks for each combination.
    repeat: Option<u32>,
    #[serde(flatten)]
    shared: Map<String, Value>,
}

/// A prompt, with keys of its tasks if it is an object.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "each of `prompts` should be a text, or an object with `prompt`")]
enum Prompt {
    Text(String),
    Object(Map<String, Value>),
}

/// Returns a task file with the tasks of a matrix.
///
/// The id of a task joins that of its prompt (`p1` for the first one unless it has another), its model, the number of its
/// workspace (`w1`) if there are several, and the number of its repetition (`r1`) if the matrix repeats its tasks.
///
/// # Errors
/// The reason for which the text is not a matrix.
pub fn expand_matrix(text: &str) -> Result<String, String> {
    let matrix: Matrix = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Matrix { prompts, models, workspaces, repeat, shared } = matrix;
    for (name, is_empty) in [
        ("prompts", prompts.is_empty()),
        ("workspaces", workspaces.is_empty()),
        ("repeat", repeat == Some(0)),
    ] {
        if is_empty {
            return Err(format!("`{name}` is empty"));
        }
    }
    if let Some(key) = ["id", "prompt", "needs"].into_iter().find(|key| shared.contains_key(*key)) {
        return Err(format!("`{key}` cannot be that of every task"));
    }
    let models: Vec<Option<String>> =
        if models.is_empty() { vec![None] } else { models.into_iter().map(Some).collect() };
    let mut lines = String::new();
    for (prompt_number, prompt) in (1..).zip(prompts) {
        let mut of_prompt = shared.clone();
        match prompt {
            Prompt::Text(prompt) => drop(of_prompt.insert("prompt".to_owned(), prompt.into())),
            Prompt::Object(keys) => of_prompt.extend(keys),
        }
        let id = match of_prompt.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(_) | None => format!("p{prompt_number}"),
        };
        for model in &models {
            for (workspace_number, workspace) in (1..).zip(&workspaces) {
                for repetition in 1..=repeat.unwrap_or(1) {
                    let mut id = id.clone();
                    if let Some(model) = model {
                        id.push('.');
                        id.push_str(&word(model));
                    }
                    if workspaces.len() > 1 {
                        id.push_str(&format!(".w{workspace_number}"));
                    }
                    if repeat.is_some() {
                        id.push_str(&format!(".r{repetition}"));
                    }
                    let mut task = of_prompt.clone();
                    task.insert("id".to_owned(), id.into());
                    if let Some(model) = model {
                        task.insert("model".to_owned(), model.clone().into());
                    }
                    task.entry("workspace".to_owned()).or_insert_with(|| workspace.clone());
                    lines.push_str(&Value::Object(task).to_string());
                    lines.push('\n');
                }
            }
        }
    }
    Ok(lines)
}

/// Returns the name of a model as a part of an id.
fn word(model: &str) -> String {
    model.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_file::TaskFile;

    fn ids(matrix: &str) -> Vec<String> {
        let file = TaskFile::parse(&expand_matrix(matrix).unwrap(), std::path::Path::new("/"));
        assert_eq!(file.invalid, []);
        file.tasks.into_iter().map(|task| task.id).collect()
    }

    #[test]
    fn each_prompt_meets_each_model_in_each_workspace() {
        let matrix = r#"{"prompts":["a",{"id":"docs","prompt":"b","check":"true"}],"models":["x/1","y"],
            "workspaces":["/","/tmp"],"limits":{"max_turns":3}}"#;
        assert_eq!(
            ids(matrix),
            [
                "p1.x-1.w1",
                "p1.x-1.w2",
                "p1.y.w1",
                "p1.y.w2",
                "docs.x-1.w1",
                "docs.x-1.w2",
                "docs.y.w1",
                "docs.y.w2"
            ]
        );
        let tasks = TaskFile::parse(&expand_matrix(matrix).unwrap(), std::path::Path::new("/")).tasks;
        let task = &tasks[5];
        assert_eq!((task.model.as_deref(), task.check.as_deref()), (Some("x/1"), Some("true")));
        assert_eq!((task.prompt.as_str(), task.limits.max_turns), ("b", Some(3)));
    }

    #[test]
    fn models_are_optional_and_tasks_can_be_repeated() {
        assert_eq!(ids(r#"{"prompts":["a"],"workspaces":["/"]}"#), ["p1"]);
        assert_eq!(ids(r#"{"prompts":["a"],"workspaces":["/"],"repeat":2}"#), ["p1.r1", "p1.r2"]);
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        for (matrix, part) in [
            ("[]", "an object with"),
            (r#"{"workspaces":["/"]}"#, "missing field `prompts`"),
            (r#"{"prompts":[],"workspaces":["/"]}"#, "`prompts` is empty"),
            (r#"{"prompts":["a"],"workspaces":[]}"#, "`workspaces` is empty"),
            (r#"{"prompts":["a"],"workspaces":["/"],"repeat":0}"#, "`repeat` is empty"),
            (r#"{"prompts":["a"],"workspaces":["/"],"needs":["x"]}"#, "`needs` cannot"),
            (r#"{"prompts":[7],"workspaces":["/"]}"#, "should be a text"),
        ] {
            let error = expand_matrix(matrix).unwrap_err();
            assert!(error.contains(part), "{matrix}: {error}");
        }
    }
}
