//! The account of a task, as far as its definition decides about it.

use std::collections::BTreeMap;

use crate::task::Task;

/// The model of a task, and its variables, which can have keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TaskAccount {
    model: Option<String>,
    env: BTreeMap<String, String>,
}

impl TaskAccount {
    pub(crate) fn new(task: &Task) -> Self {
        Self { model: task.model.clone(), env: task.env.clone() }
    }
}
