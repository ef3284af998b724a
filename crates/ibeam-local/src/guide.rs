//! One step of the guided protocol: what is offered becomes lines that the model fills in.

use crate::action::Action;
use crate::conversation::Conversation;
use crate::copy_guard::CopyGuard;
use crate::decode::{Decoder, Halt};
use crate::engine::LanguageModel;
use crate::offer::{Offer, is_inside};
use crate::prompt;
use crate::task::Task;
use crate::workspace::WorkspaceFiles;

const LINE_TOKENS: usize = 120;
const ANSWER_TOKENS: usize = 500;
const CONTENT_TOKENS: usize = 1500;

/// What a step came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Something to do.
    Act(Action),
    /// The answer, told as it came.
    Answer(String),
    /// What it wanted to write to this file, or run, is longer than it may be.
    TooLong(Option<String>),
    /// The very command that was run before; nothing new would come of it.
    Repeated,
}

/// Decodes the next step after the prompt that `model` has read.
pub(crate) fn step(
    model: &mut dyn LanguageModel,
    offer: &Offer,
    so_far: &Conversation,
    task: &Task,
    workspace: &dyn WorkspaceFiles,
    proceed: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
) -> Result<(Next, usize), Halt> {
    let source = if task.summary { model.vocabulary().encode(&prompt::sources(so_far))? } else { Vec::new() };
    let mut decoder = Decoder::new(model, proceed);
    let kinds = Kind::offered(offer);
    decoder.feed("ACTION:")?;
    let names: Vec<String> = kinds.iter().map(|kind| kind.opening().to_owned()).collect();
    let chosen = decoder.choose(&names, false)?;
    let next = match kinds.get(chosen).copied().unwrap_or(Kind::Answer) {
        Kind::Read => {
            let options: Vec<String> = offer.read.iter().map(|path| format!(" {path}")).collect();
            let chosen = decoder.choose(&options, true)?;
            offer
                .read
                .get(chosen)
                .map_or(Next::Repeated, |path| Next::Act(Action::Read { path: path.clone() }))
        }
        Kind::Write => write(&mut decoder, offer, workspace, &mut CopyGuard::new(&source))?,
        Kind::Shell => {
            let line = decoder.line(LINE_TOKENS)?;
            let action = Action::Shell { command: line.text.trim().to_owned() };
            if !line.complete {
                Next::TooLong(None)
            } else if so_far.steps.iter().any(|step| step.action == action) {
                Next::Repeated
            } else {
                Next::Act(action)
            }
        }
        Kind::Answer => {
            // An answer that reaches its limit has said enough.
            Next::Answer(decoder.message(ANSWER_TOKENS, tell)?.text)
        }
    };
    Ok((next, decoder.generated()))
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
    Shell,
    Answer,
}

impl Kind {
    fn offered(offer: &Offer) -> Vec<Self> {
        let all = [
            (!offer.read.is_empty(), Self::Read),
            (!offer.write.is_empty() || offer.write_new, Self::Write),
            (offer.shell, Self::Shell),
            (offer.answer, Self::Answer),
        ];
        all.into_iter().filter(|(offered, _)| *offered).map(|(_, kind)| kind).collect()
    }

    fn opening(self) -> &'static str {
        match self {
            Self::Read => " read_file\nPATH:",
            Self::Write => " write_file\nPATH:",
            Self::Shell => " shell\nCOMMAND:",
            Self::Answer => " answer\n",
        }
    }
}

fn write(
    decoder: &mut Decoder<'_>,
    offer: &Offer,
    workspace: &dyn WorkspaceFiles,
    guard: &mut CopyGuard,
) -> Result<Next, Halt> {
    let path = if offer.write.is_empty() {
        let line = decoder.line(LINE_TOKENS)?;
        decoder.feed("\nCONTENT:\n```\n")?;
        new_name(&line.text, workspace)
    } else {
        let options: Vec<String> =
            offer.write.iter().map(|path| format!(" {path}\nCONTENT:\n```\n")).collect();
        let chosen = decoder.choose(&options, false)?;
        offer.write.get(chosen).cloned().unwrap_or_default()
    };
    let content = decoder.fenced(CONTENT_TOKENS, guard)?;
    let text = content.text;
    Ok(if content.complete { Next::Act(Action::Write { path, text }) } else { Next::TooLong(Some(path)) })
}

/// A name that no file has, as near to `wished` as that allows.
fn new_name(wished: &str, workspace: &dyn WorkspaceFiles) -> String {
    let wished: String = wished
        .trim()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || "._-/ ".contains(*letter))
        .collect();
    let wished =
        if is_inside(&wished) && !wished.ends_with(['/', '.']) { wished } else { "new-file.txt".to_owned() };
    let (stem, extension) = match wished.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !stem.ends_with('/') => {
            (stem.to_owned(), format!(".{extension}"))
        }
        _ => (wished.clone(), String::new()),
    };
    let numbered = (2u32..).map(|number| format!("{stem}-{number}{extension}"));
    std::iter::once(wished.clone()).chain(numbered).find(|name| !workspace.exists(name)).unwrap_or(wished)
}

#[cfg(test)]
mod tests;
