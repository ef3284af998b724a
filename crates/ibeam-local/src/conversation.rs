//! A conversation in the form that the embedded model needs: earlier exchanges, the task, and the steps so far.
//!
//! Depends only on the messages of the request.

use std::collections::HashMap;
use std::sync::Arc;

use ibeam_core::{JsonSchema, ModelRequest};
use ibeam_protocol::{Block, CallId, Message, ToolCall, ToolResult};
use serde_json::{Value, json};

use crate::prompt;

/// The input for one answer.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Earlier prompts with their answers, oldest first.
    pub(crate) earlier: Vec<Exchange>,
    /// The current prompt.
    pub(crate) task: String,
    /// Input that was piped in or added to the prompt.
    pub(crate) input: Vec<String>,
    /// The steps for the task, oldest first.
    pub(crate) steps: Vec<TaskStep>,
    /// The number of tool calls in the complete conversation.
    pub(crate) call_count: usize,
    /// The schema of the final answer.
    pub(crate) answer_schema: Option<Arc<JsonSchema>>,
}

/// An earlier prompt and its answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) prompt: String,
    pub(crate) answer: String,
}

/// An action and its result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TaskStep {
    pub(crate) action: Action,
    pub(crate) result: String,
    pub(crate) failed: bool,
}

/// One of the three kinds of tool calls of the embedded model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Read {
        path: String,
    },
    Write {
        path: String,
        text: String,
    },
    /// Runs one line of shell.
    Shell {
        command: String,
    },
}

impl Action {
    /// Converts the action to a tool call.
    pub(crate) fn into_call(self, id: CallId) -> ToolCall {
        let (name, arguments) = match self {
            Self::Read { path } => ("read", json!({ "path": path })),
            Self::Write { path, text } => ("write", json!({ "path": path, "fileText": text })),
            Self::Shell { command } => ("shell", json!({ "command": command })),
        };
        ToolCall { id, name: name.to_owned(), arguments }
    }

    /// Returns the action for `call`; `None` for other calls, because another model may have started the conversation.
    pub(crate) fn from_call(call: &ToolCall) -> Option<Self> {
        let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        match call.name.as_str() {
            "read" => Some(Self::Read { path: text("path")? }),
            "write" => Some(Self::Write { path: text("path")?, text: text("fileText")? }),
            "shell" => Some(Self::Shell { command: text("command")? }),
            _ => None,
        }
    }

    /// Returns the action as the model writes it.
    pub(crate) fn to_prompt_text(&self) -> String {
        match self {
            Self::Read { path } => format!("ACTION: read_file\nPATH: {path}"),
            Self::Write { path, text } => {
                let text = text.trim_end_matches('\n');
                format!("ACTION: write_file\nPATH: {path}\nCONTENT:\n```\n{text}\n```")
            }
            Self::Shell { command } => format!("ACTION: shell\nCOMMAND: {command}"),
        }
    }
}

impl Conversation {
    /// Converts the messages of `request`.
    pub(crate) fn from_request(request: &ModelRequest) -> Self {
        let mut this = Self { answer_schema: request.answer_schema.clone(), ..Self::default() };
        let mut answer = String::new();
        let mut actions = HashMap::new();
        for message in &request.messages {
            match &**message {
                Message::User(blocks) => {
                    let prompt = std::mem::take(&mut this.task);
                    let answer = std::mem::take(&mut answer);
                    // A prompt without an answer does not help the model.
                    if !answer.is_empty() {
                        this.earlier.push(Exchange { prompt, answer });
                    }
                    this.steps.clear();
                    let mut blocks = blocks.iter().map(|part| part.as_text().into_owned());
                    this.task = blocks.next().unwrap_or_default();
                    this.input = blocks.collect();
                }
                // The embedded model has instructions and tools of its own.
                Message::Instructions(_) | Message::Update(_) => {}
                Message::Assistant(blocks) => {
                    for block in blocks {
                        match block {
                            Block::Text(text) => answer = text.clone(),
                            Block::ToolCall(call) => {
                                this.call_count += 1;
                                actions.insert(call.id.clone(), Action::from_call(call));
                            }
                            Block::Thinking { .. } | Block::Opaque(_) => {}
                        }
                    }
                }
                Message::ToolResults(results) => {
                    for ToolResult { call_id, text, is_error, .. } in results {
                        if let Some(Some(action)) = actions.remove(call_id) {
                            this.steps.push(TaskStep { action, result: text.to_string(), failed: *is_error });
                        }
                    }
                }
            }
        }
        this
    }

    /// Returns the files that steps for this task have written.
    pub(crate) fn written_files(&self) -> Vec<String> {
        let paths = self.steps.iter().filter(|step| !step.failed).filter_map(|step| match &step.action {
            Action::Write { path, .. } => Some(path.clone()),
            Action::Read { .. } | Action::Shell { .. } => None,
        });
        paths.collect()
    }

    /// Whether the model has seen all of `path`.
    pub(crate) fn has_read_completely(&self, path: &str) -> bool {
        self.steps
            .iter()
            .rev()
            .any(|step| matches!(&step.action, Action::Read { path: read } if read == path && !step.failed && prompt::fits_completely(&step.result)))
    }

    /// Whether the model has tried to read `path`.
    pub(crate) fn has_tried_to_read(&self, path: &str) -> bool {
        self.steps.iter().any(|step| matches!(&step.action, Action::Read { path: read } if read == path))
    }

    /// Whether a step for this task has written `path`.
    pub(crate) fn has_written(&self, path: &str) -> bool {
        self.written_files().iter().any(|file| file == path)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn user(text: &str) -> Message {
        Message::User(vec![text.into(), "piped".into()])
    }

    fn answer(text: &str) -> Message {
        Message::Assistant(vec![Block::Text(text.to_owned())])
    }

    fn reads(id: &str, path: &str) -> Message {
        let action = Action::Read { path: path.to_owned() };
        Message::Assistant(vec![Block::ToolCall(action.into_call(CallId::from(id)))])
    }

    fn result(id: &str, text: &str, is_error: bool) -> Message {
        Message::ToolResults(vec![ToolResult {
            media: Vec::new(),
            call_id: id.into(),
            name: "read".into(),
            text: text.into(),
            is_error,
        }])
    }

    fn read(messages: Vec<Message>) -> Conversation {
        let messages = messages.into_iter().map(Arc::new).collect();
        let request = ModelRequest {
            system: "".into(),
            tools: Arc::from([]),
            messages,
            max_output_tokens: None,
            answer_schema: None,
            effort: None,
        };
        Conversation::from_request(&request)
    }

    #[test]
    fn the_last_prompt_is_the_task_and_its_calls_are_the_steps() {
        let conversation = read(vec![
            user("first"),
            reads("1", "a"),
            result("1", "A", false),
            answer("done"),
            user("second"),
            reads("2", "b"),
            result("2", "gone", true),
            reads("3", "c"),
        ]);
        assert_eq!((conversation.task.as_str(), conversation.call_count), ("second", 3));
        assert_eq!(conversation.input, ["piped"]);
        assert_eq!(conversation.earlier, [Exchange { prompt: "first".into(), answer: "done".into() }]);
        let step =
            TaskStep { action: Action::Read { path: "b".into() }, result: "gone".into(), failed: true };
        assert_eq!(conversation.steps, [step], "a call without a result is not a step");
        assert!(conversation.has_tried_to_read("b") && !conversation.has_read_completely("b"));
    }

    #[test]
    fn a_prompt_without_an_answer_is_omitted() {
        let conversation = read(vec![user("lost"), reads("1", "a"), result("1", "A", false), user("again")]);
        assert_eq!(conversation.task, "again");
        assert!(conversation.earlier.is_empty() && conversation.steps.is_empty());
    }

    #[test]
    fn a_file_that_was_cut_was_not_read_completely() {
        let long = "x".repeat(5000);
        let conversation = read(vec![user("t"), reads("1", "a"), result("1", &long, false)]);
        assert!(conversation.has_tried_to_read("a") && !conversation.has_read_completely("a"));
    }
}
