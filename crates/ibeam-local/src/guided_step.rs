//! One step of the guided protocol: the allowed actions become lines that the model fills in.

use crate::WorkspaceFiles;
use crate::allowed_actions::{AllowedActions, is_within_workspace};
use crate::conversation::Action;
use crate::conversation::Conversation;
use crate::engine::LanguageModel;
use crate::guided_decoder::{DecodeError, GuidedDecoder};
use crate::json_document;
use crate::prompt;
use crate::repetition::CopyGuard;
use crate::task::Task;

/// The maximum length of a command, or of the name of a new file.
const MAX_LINE_TOKENS: usize = 120;
/// The maximum length of an answer.
const MAX_ANSWER_TOKENS: usize = 500;
/// The maximum length of the content of a file.
const MAX_CONTENT_TOKENS: usize = 1500;

/// The result of decoding one step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StepResult {
    /// The model calls a tool.
    Action(Action),
    /// The model ends the task. The answer was already passed on.
    Answer(String),
    /// The content for this file, or the command if `None`, exceeds the token limit.
    TooLong(Option<String>),
    /// The model repeats an earlier command, which would have no new result.
    RepeatedCommand,
}

/// Decodes the next step after the prompt in `model`. Returns the step and the number of its tokens.
pub(crate) fn decode_step(
    model: &mut dyn LanguageModel,
    allowed: &AllowedActions,
    conversation: &Conversation,
    task: &Task,
    workspace: &dyn WorkspaceFiles,
    should_continue: &dyn Fn() -> bool,
    on_text: &mut dyn FnMut(&str),
) -> Result<(StepResult, usize), DecodeError> {
    let source = if task.summary {
        model.vocabulary().encode(&prompt::contents_of_read_files(conversation))?
    } else {
        Vec::new()
    };
    let mut decoder = GuidedDecoder::new(model, should_continue);
    let kinds = ActionKind::all_allowed(allowed);
    decoder.append_text("ACTION:")?;
    let names: Vec<String> = kinds.iter().map(|kind| kind.first_text().to_owned()).collect();
    let chosen = decoder.choose(&names, false)?;
    let next = match kinds.get(chosen).copied().unwrap_or(ActionKind::Answer) {
        ActionKind::Read => {
            let options: Vec<String> = allowed.read.iter().map(|path| format!(" {path}")).collect();
            let chosen = decoder.choose(&options, true)?;
            allowed.read.get(chosen).map_or(StepResult::RepeatedCommand, |path| {
                StepResult::Action(Action::Read { path: path.clone() })
            })
        }
        ActionKind::Write => decode_write(&mut decoder, allowed, workspace, &mut CopyGuard::new(&source))?,
        ActionKind::Shell => {
            let line = decoder.decode_line(MAX_LINE_TOKENS)?;
            let action = Action::Shell { command: line.text.trim().to_owned() };
            if !line.complete {
                StepResult::TooLong(None)
            } else if conversation.steps.iter().any(|step| step.action == action) {
                StepResult::RepeatedCommand
            } else {
                StepResult::Action(action)
            }
        }
        ActionKind::Answer => StepResult::Answer(match &conversation.answer_schema {
            Some(schema) => {
                let text = json_document::decode_document(&mut decoder, schema)?.to_string();
                on_text(&text);
                text
            }
            // An answer that reaches the limit is long enough.
            None => decoder.decode_message(MAX_ANSWER_TOKENS, on_text)?.text,
        }),
    };
    Ok((next, decoder.output_tokens()))
}

/// The first choice of the model in a step.
#[derive(Clone, Copy)]
enum ActionKind {
    Read,
    Write,
    Shell,
    Answer,
}

impl ActionKind {
    fn all_allowed(allowed: &AllowedActions) -> Vec<Self> {
        let all = [
            (!allowed.read.is_empty(), Self::Read),
            (!allowed.write.is_empty() || allowed.write_new, Self::Write),
            (allowed.shell, Self::Shell),
            (allowed.answer, Self::Answer),
        ];
        all.into_iter().filter(|(is_allowed, _)| *is_allowed).map(|(_, kind)| kind).collect()
    }

    /// Returns the text that follows `ACTION:`, up to the first gap that the model fills.
    fn first_text(self) -> &'static str {
        match self {
            Self::Read => " read_file\nPATH:",
            Self::Write => " write_file\nPATH:",
            Self::Shell => " shell\nCOMMAND:",
            Self::Answer => " answer\n",
        }
    }
}

fn decode_write(
    decoder: &mut GuidedDecoder<'_>,
    allowed: &AllowedActions,
    workspace: &dyn WorkspaceFiles,
    guard: &mut CopyGuard,
) -> Result<StepResult, DecodeError> {
    let path = if allowed.write.is_empty() {
        let line = decoder.decode_line(MAX_LINE_TOKENS)?;
        decoder.append_text("\nCONTENT:\n```\n")?;
        unused_name(&line.text, workspace)
    } else {
        let options: Vec<String> =
            allowed.write.iter().map(|path| format!(" {path}\nCONTENT:\n```\n")).collect();
        let chosen = decoder.choose(&options, false)?;
        allowed.write.get(chosen).cloned().unwrap_or_default()
    };
    let content = decoder.decode_fenced(MAX_CONTENT_TOKENS, guard)?;
    let text = content.text;
    Ok(if content.complete {
        StepResult::Action(Action::Write { path, text })
    } else {
        StepResult::TooLong(Some(path))
    })
}

/// Returns a name that no file has, similar to `requested`.
fn unused_name(requested: &str, workspace: &dyn WorkspaceFiles) -> String {
    let requested: String = requested
        .trim()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || "._-/ ".contains(*letter))
        .collect();
    let requested = if is_within_workspace(&requested) && !requested.ends_with(['/', '.']) {
        requested
    } else {
        "new-file.txt".to_owned()
    };
    let (stem, extension) = match requested.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !stem.ends_with('/') => {
            (stem.to_owned(), format!(".{extension}"))
        }
        _ => (requested.clone(), String::new()),
    };
    let numbered = (2u32..).map(|number| format!("{stem}-{number}{extension}"));
    std::iter::once(requested.clone())
        .chain(numbered)
        .find(|name| !workspace.exists(name))
        .unwrap_or(requested)
}

#[cfg(test)]
mod tests;
