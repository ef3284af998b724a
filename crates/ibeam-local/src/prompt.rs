//! The prompt of the embedded model: a fixed part with examples, then the conversation.
//!
//! Append-only: the prompt of the next step starts with the prompt of this one, so that only the new part is computed.
//! File contents cannot imitate messages, because the tokenizer never returns control tokens for text.

use crate::WorkspaceFiles;
use crate::conversation::Action;
use crate::conversation::{Conversation, TaskStep};
use crate::line_numbers::strip_line_numbers;
use crate::task::Task;
use crate::{LocalError, Vocabulary};

const FIXED_PROMPT: &str = include_str!("prompt/fixed.txt");
/// The maximum length of a tool result or a file, in characters.
const RESULT_LIMIT_CHARS: usize = 4000;
/// The maximum number of files in the file list. With a longer list the model chooses worse.
const FILES_LIMIT: usize = 40;
/// The maximum number of files in the file list if the task itself names files.
const OTHER_FILES_LIMIT: usize = 8;

/// Returns the tokens of the fixed part.
pub(crate) fn fixed_prompt(vocabulary: &Vocabulary) -> Result<Vec<u32>, LocalError> {
    let mut tokens = Vec::new();
    for section in FIXED_PROMPT.split("=== ").filter(|section| !section.is_empty()) {
        let (role, text) = section.split_once('\n').unwrap_or((section, ""));
        push_message(&mut tokens, vocabulary, role, text.trim_end_matches('\n'))?;
    }
    Ok(tokens)
}

/// Returns the tokens of the conversation, up to the start of the next action.
pub(crate) fn conversation_prompt(
    vocabulary: &Vocabulary,
    conversation: &Conversation,
    task: &Task,
    workspace: &dyn WorkspaceFiles,
    unwritten: &[String],
) -> Result<Vec<u32>, LocalError> {
    let mut tokens = Vec::new();
    for exchange in &conversation.earlier {
        push_message(&mut tokens, vocabulary, "user", &format!("TASK: {}", elide(&exchange.prompt)))?;
        push_message(
            &mut tokens,
            vocabulary,
            "assistant",
            &format!("ACTION: answer\n{}", elide(&exchange.answer)),
        )?;
    }
    push_message(&mut tokens, vocabulary, "user", &task_text(conversation, task, workspace))?;
    for (index, step) in conversation.steps.iter().enumerate() {
        push_message(&mut tokens, vocabulary, "assistant", &step.action.to_prompt_text())?;
        let mut text = step_text(step, conversation, task);
        if index + 1 == conversation.steps.len() {
            // Without this note the model claims success.
            unwritten
                .iter()
                .for_each(|file| text.push_str(&format!("\nNOTE: {file} was NOT written. Say so.")));
        }
        push_message(&mut tokens, vocabulary, "user", &text)?;
    }
    push_message_start(&mut tokens, vocabulary, "assistant")?;
    Ok(tokens)
}

/// Returns the contents of all files that the model has read for this task: the source of a summary.
pub(crate) fn contents_of_read_files(conversation: &Conversation) -> String {
    let texts = conversation.steps.iter().filter_map(|step| match step.action {
        Action::Read { .. } => Some(strip_line_numbers(&step.result)),
        Action::Write { .. } | Action::Shell { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn task_text(conversation: &Conversation, task: &Task, workspace: &dyn WorkspaceFiles) -> String {
    let mut text = format!("TASK: {}", conversation.task.trim());
    for input in &conversation.input {
        text.push_str(&format!("\nINPUT:\n<<<\n{}\n>>>", elide(input.trim_end())));
    }
    let written = conversation.written_files();
    let mut files = task.existing.clone();
    files.extend(
        workspace.files().into_iter().filter(|file| !written.contains(file) && !task.existing.contains(file)),
    );
    // A task that names its files does not need all other files.
    let limit =
        if task.existing.is_empty() { FILES_LIMIT } else { task.existing.len().max(OTHER_FILES_LIMIT) };
    let listed = files.len().min(limit);
    let rest = files.len() - listed;
    files.truncate(listed);
    let list = if files.is_empty() { "(none)".to_owned() } else { files.join(", ") };
    text.push_str(&format!("\nFILES: {list}"));
    if rest > 0 {
        text.push_str(&format!(" and {rest} more"));
    }
    for name in &task.missing {
        text.push_str(&format!("\nNOTE: {name} does not exist yet."));
    }
    if let Some(schema) = &conversation.answer_schema {
        text.push_str(&format!(
            "\nNOTE: the answer is JSON of this schema: {}",
            elide(&schema.document().to_string())
        ));
    }
    text
}

fn step_text(step: &TaskStep, conversation: &Conversation, task: &Task) -> String {
    let result = strip_line_numbers(&step.result);
    let shown = elide(result.trim_end());
    let result = match (&step.action, step.failed) {
        (Action::Read { path }, false) => format!("{path} contains\n<<<\n{shown}\n>>>"),
        (Action::Write { path, .. }, false) => format!("{path} is written."),
        (Action::Shell { .. }, false) if shown.is_empty() => {
            "the command ran and printed nothing.".to_owned()
        }
        (Action::Shell { .. }, false) => format!("the command printed\n<<<\n{shown}\n>>>"),
        (Action::Read { path }, true) => format!("{path} could not be read: {shown}"),
        (Action::Write { path, .. }, true) => format!("{path} was NOT written: {shown}"),
        (Action::Shell { .. }, true) => format!("the command failed.\n<<<\n{shown}\n>>>"),
    };
    let mut text = format!("RESULT: {result}\nThe task was: {}", conversation.task.trim());
    let read = matches!(step.action, Action::Read { .. }) && !step.failed;
    let instruction = if read && task.summary {
        task.language.summary_instruction()
    } else {
        task.language.answer_instruction()
    };
    if !instruction.is_empty() {
        text.push_str(&format!("\n{instruction}"));
    }
    text
}

/// Whether the prompt contains all of a result with this text.
pub(crate) fn fits_completely(text: &str) -> bool {
    strip_line_numbers(text).trim_end().chars().count() <= RESULT_LIMIT_CHARS
}

fn elide(text: &str) -> String {
    let count = text.chars().count();
    if count <= RESULT_LIMIT_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(RESULT_LIMIT_CHARS / 2).collect();
    let tail: String = text.chars().skip(count - RESULT_LIMIT_CHARS / 2).collect();
    format!("{head}\n... ({} characters left out) ...\n{tail}", count - RESULT_LIMIT_CHARS)
}

fn push_message(
    tokens: &mut Vec<u32>,
    vocabulary: &Vocabulary,
    role: &str,
    text: &str,
) -> Result<(), LocalError> {
    push_message_start(tokens, vocabulary, role)?;
    tokens.extend(vocabulary.encode(text)?);
    tokens.push(vocabulary.message_end);
    tokens.extend(vocabulary.encode("\n")?);
    Ok(())
}

fn push_message_start(tokens: &mut Vec<u32>, vocabulary: &Vocabulary, role: &str) -> Result<(), LocalError> {
    tokens.push(vocabulary.message_start);
    tokens.extend(vocabulary.encode(&format!("{role}\n"))?);
    Ok(())
}
