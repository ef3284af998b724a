//! A run's messages as the embedded model needs them: what was said before, the task, the steps so far.
//!
//! The same messages give the same conversation; nothing is remembered outside of them.

use std::collections::HashMap;

use ibeam_core::provider::ModelRequest;
use ibeam_protocol::{Block, Message, ToolResult};

use crate::action::Action;
use crate::prompt;

/// What an answer is made from.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Earlier prompts and the answers to them, oldest first.
    pub(crate) earlier: Vec<Exchange>,
    /// The prompt to act on.
    pub(crate) task: String,
    /// What was piped in or added to the prompt.
    pub(crate) input: Vec<String>,
    /// What was done for it, oldest first.
    pub(crate) steps: Vec<Step>,
    /// How many calls the whole conversation holds.
    pub(crate) calls: usize,
}

/// A prompt and its answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) prompt: String,
    pub(crate) answer: String,
}

/// An action and what came of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) action: Action,
    pub(crate) result: String,
    pub(crate) failed: bool,
}

impl Conversation {
    /// Reads the messages of `request`.
    pub(crate) fn read(request: &ModelRequest) -> Self {
        let mut this = Self::default();
        let mut answer = String::new();
        let mut actions = HashMap::new();
        for message in &request.messages {
            match &**message {
                Message::User(blocks) => {
                    let prompt = std::mem::take(&mut this.task);
                    let answer = std::mem::take(&mut answer);
                    // A prompt whose run ended without an answer teaches the model nothing.
                    if !answer.is_empty() {
                        this.earlier.push(Exchange { prompt, answer });
                    }
                    this.steps.clear();
                    let mut blocks = blocks.iter().cloned();
                    this.task = blocks.next().unwrap_or_default();
                    this.input = blocks.collect();
                }
                Message::Assistant(blocks) => {
                    for block in blocks {
                        match block {
                            Block::Text(text) => answer = text.clone(),
                            Block::ToolCall(call) => {
                                this.calls += 1;
                                actions.insert(call.id.clone(), Action::from_call(call));
                            }
                            Block::Thinking { .. } => {}
                        }
                    }
                }
                Message::ToolResults(results) => {
                    for ToolResult { call_id, text, is_error, .. } in results {
                        if let Some(Some(action)) = actions.remove(call_id) {
                            this.steps.push(Step { action, result: text.to_string(), failed: *is_error });
                        }
                    }
                }
            }
        }
        this
    }

    /// The files that exist only because of a step for this task.
    pub(crate) fn written(&self) -> Vec<String> {
        let written = self.steps.iter().filter(|step| !step.failed).filter_map(|step| match &step.action {
            Action::Write { path, .. } => Some(path.clone()),
            Action::Read { .. } | Action::Shell { .. } => None,
        });
        written.collect()
    }

    /// Whether all of `path` was seen.
    pub(crate) fn has_read_whole(&self, path: &str) -> bool {
        self.steps
            .iter()
            .rev()
            .any(|step| matches!(&step.action, Action::Read { path: read } if read == path && !step.failed && prompt::shows_whole(&step.result)))
    }

    /// Whether reading `path` was tried at all.
    pub(crate) fn tried_to_read(&self, path: &str) -> bool {
        self.steps.iter().any(|step| matches!(&step.action, Action::Read { path: read } if read == path))
    }

    /// Whether `path` was written.
    pub(crate) fn has_written(&self, path: &str) -> bool {
        self.written().iter().any(|written| written == path)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ibeam_protocol::CallId;

    use super::*;

    fn user(text: &str) -> Message {
        Message::User(vec![text.to_owned(), "piped".to_owned()])
    }

    fn says(text: &str) -> Message {
        Message::Assistant(vec![Block::Text(text.to_owned())])
    }

    fn reads(id: &str, path: &str) -> Message {
        let action = Action::Read { path: path.to_owned() };
        Message::Assistant(vec![Block::ToolCall(action.into_call(CallId::from(id)))])
    }

    fn result(id: &str, text: &str, is_error: bool) -> Message {
        Message::ToolResults(vec![ToolResult {
            call_id: id.into(),
            name: "read".into(),
            text: text.into(),
            is_error,
        }])
    }

    fn read(messages: Vec<Message>) -> Conversation {
        let messages = messages.into_iter().map(Arc::new).collect();
        let request =
            ModelRequest { system: "".into(), tools: Arc::from([]), messages, max_output_tokens: None };
        Conversation::read(&request)
    }

    #[test]
    fn the_last_prompt_is_the_task_and_its_calls_are_the_steps() {
        let conversation = read(vec![
            user("first"),
            reads("1", "a"),
            result("1", "A", false),
            says("done"),
            user("second"),
            reads("2", "b"),
            result("2", "gone", true),
            reads("3", "c"),
        ]);
        assert_eq!((conversation.task.as_str(), conversation.calls), ("second", 3));
        assert_eq!(conversation.input, ["piped"]);
        assert_eq!(conversation.earlier, [Exchange { prompt: "first".into(), answer: "done".into() }]);
        let step = Step { action: Action::Read { path: "b".into() }, result: "gone".into(), failed: true };
        assert_eq!(conversation.steps, [step], "a call without a result is no step");
        assert!(conversation.tried_to_read("b") && !conversation.has_read_whole("b"));
    }

    #[test]
    fn a_prompt_that_got_no_answer_is_left_out() {
        let conversation = read(vec![user("lost"), reads("1", "a"), result("1", "A", false), user("again")]);
        assert_eq!(conversation.task, "again");
        assert!(conversation.earlier.is_empty() && conversation.steps.is_empty());
    }

    #[test]
    fn what_was_seen_in_part_was_not_read_whole() {
        let long = "x".repeat(5000);
        let conversation = read(vec![user("t"), reads("1", "a"), result("1", &long, false)]);
        assert!(conversation.tried_to_read("a") && !conversation.has_read_whole("a"));
    }
}
