//! The text the model reads: the fixed part with its examples, then the conversation.
//!
//! Append-only: the prompt of the next step begins with the prompt of this one, so that only what is new is
//! computed. Contents of files cannot pose as our own lines, since control tokens never come out of text.

use crate::action::Action;
use crate::conversation::{Conversation, Step};
use crate::listing::strip_line_numbers;
use crate::task::Task;
use crate::workspace::WorkspaceFiles;
use crate::{LocalError, Vocabulary};

const FIXED: &str = include_str!("prompt/fixed.txt");
/// Letters of a tool's output or a file that the model sees.
const RESULT_LIMIT: usize = 4000;
/// Files named in the list; more would only blur the choice.
const FILES_LIMIT: usize = 40;
/// Files named in the list when the task names some itself.
const FILES_BESIDE: usize = 8;

/// The tokens of the part that is the same for every task.
pub(crate) fn fixed(vocabulary: &Vocabulary) -> Result<Vec<u32>, LocalError> {
    let mut tokens = Vec::new();
    for section in FIXED.split("=== ").filter(|section| !section.is_empty()) {
        let (role, text) = section.split_once('\n').unwrap_or((section, ""));
        message(&mut tokens, vocabulary, role, text.trim_end_matches('\n'))?;
    }
    Ok(tokens)
}

/// The tokens of the conversation, up to where the model's next action begins.
pub(crate) fn conversation(
    vocabulary: &Vocabulary,
    conversation: &Conversation,
    task: &Task,
    workspace: &dyn WorkspaceFiles,
    undone: &[String],
) -> Result<Vec<u32>, LocalError> {
    let mut tokens = Vec::new();
    for exchange in &conversation.earlier {
        message(&mut tokens, vocabulary, "user", &format!("TASK: {}", elide(&exchange.prompt)))?;
        message(
            &mut tokens,
            vocabulary,
            "assistant",
            &format!("ACTION: answer\n{}", elide(&exchange.answer)),
        )?;
    }
    message(&mut tokens, vocabulary, "user", &opening(conversation, task, workspace))?;
    for (index, step) in conversation.steps.iter().enumerate() {
        message(&mut tokens, vocabulary, "assistant", &step.action.lines())?;
        let mut text = outcome(step, conversation, task);
        if index + 1 == conversation.steps.len() {
            // Unasked the model claims success whatever happened.
            undone.iter().for_each(|file| text.push_str(&format!("\nNOTE: {file} was NOT written. Say so.")));
        }
        message(&mut tokens, vocabulary, "user", &text)?;
    }
    open(&mut tokens, vocabulary, "assistant")?;
    Ok(tokens)
}

/// What the model has read of files for this task: the source of a summary.
pub(crate) fn sources(conversation: &Conversation) -> String {
    let texts = conversation.steps.iter().filter_map(|step| match step.action {
        Action::Read { .. } => Some(strip_line_numbers(&step.result)),
        Action::Write { .. } | Action::Shell { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn opening(conversation: &Conversation, task: &Task, workspace: &dyn WorkspaceFiles) -> String {
    let mut text = format!("TASK: {}", conversation.task.trim());
    for input in &conversation.input {
        text.push_str(&format!("\nINPUT:\n<<<\n{}\n>>>", elide(input.trim_end())));
    }
    let made = conversation.written();
    let mut files = task.existing.clone();
    files.extend(
        workspace.files().into_iter().filter(|file| !made.contains(file) && !task.existing.contains(file)),
    );
    // A task that names its files needs no list of the others.
    let limit = if task.existing.is_empty() { FILES_LIMIT } else { task.existing.len().max(FILES_BESIDE) };
    let named = files.len().min(limit);
    let rest = files.len() - named;
    files.truncate(named);
    let list = if files.is_empty() { "(none)".to_owned() } else { files.join(", ") };
    text.push_str(&format!("\nFILES: {list}"));
    if rest > 0 {
        text.push_str(&format!(" and {rest} more"));
    }
    for name in &task.missing {
        text.push_str(&format!("\nNOTE: {name} does not exist yet."));
    }
    text
}

fn outcome(step: &Step, conversation: &Conversation, task: &Task) -> String {
    let result = strip_line_numbers(&step.result);
    let shown = elide(result.trim_end());
    let told = match (&step.action, step.failed) {
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
    let mut text = format!("RESULT: {told}\nThe task was: {}", conversation.task.trim());
    let read = matches!(step.action, Action::Read { .. }) && !step.failed;
    let order =
        if read && task.summary { task.language.summary_order() } else { task.language.answer_order() };
    if !order.is_empty() {
        text.push_str(&format!("\n{order}"));
    }
    text
}

/// Whether the model sees all of a result of this text.
pub(crate) fn shows_whole(text: &str) -> bool {
    strip_line_numbers(text).trim_end().chars().count() <= RESULT_LIMIT
}

fn elide(text: &str) -> String {
    let count = text.chars().count();
    if count <= RESULT_LIMIT {
        return text.to_owned();
    }
    let head: String = text.chars().take(RESULT_LIMIT / 2).collect();
    let tail: String = text.chars().skip(count - RESULT_LIMIT / 2).collect();
    format!("{head}\n... ({} characters left out) ...\n{tail}", count - RESULT_LIMIT)
}

fn message(tokens: &mut Vec<u32>, vocabulary: &Vocabulary, role: &str, text: &str) -> Result<(), LocalError> {
    open(tokens, vocabulary, role)?;
    tokens.extend(vocabulary.encode(text)?);
    tokens.push(vocabulary.message_end);
    tokens.extend(vocabulary.encode("\n")?);
    Ok(())
}

fn open(tokens: &mut Vec<u32>, vocabulary: &Vocabulary, role: &str) -> Result<(), LocalError> {
    tokens.push(vocabulary.message_start);
    tokens.extend(vocabulary.encode(&format!("{role}\n"))?);
    Ok(())
}
