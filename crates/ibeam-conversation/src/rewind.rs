//! `/rewind`: the conversation, the files, or both go back to before an earlier prompt.

use ibeam_agent::checkpoint::{SessionChanges, UndoTarget};
use ibeam_agent::run::session_opener::SessionTarget;
use ibeam_agent::run_error::RunError;
use ibeam_protocol::{Event, EventKind};
use ibeam_session::SessionError;
use ibeam_tui::{DialogGuard, DialogReply, Style, TuiLine};

use super::person_commands::{CommandContext, CommandEnd, Reopening, RequestedUndo};

/// A prompt to which a conversation can go back.
struct PastPrompt {
    /// The number of its run, from 1 on.
    run: u32,
    text: String,
}

/// The prompts of a session, and the changes of its turns.
#[derive(Default)]
struct PastPrompts {
    prompts: Vec<PastPrompt>,
    changes: SessionChanges,
}

impl PastPrompts {
    fn fold(&mut self, event: Event) {
        let run = self.changes.turns;
        // What a person adds to a turn belongs to its prompt.
        let is_first = self.prompts.last().is_none_or(|last| last.run != run);
        if let EventKind::UserMessage { content, .. } | EventKind::PromptWithheld { content } = &event.kind
            && let Some(text) = content.first().filter(|_| is_first)
        {
            self.prompts.push(PastPrompt { run, text: text.clone() });
        }
        self.changes.fold(event);
    }
}

impl CommandContext<'_, '_> {
    /// Lets the person choose a prompt, and what goes back to before it.
    ///
    /// # Errors
    /// The reason of a signal.
    pub(super) fn rewind(&self) -> Result<CommandEnd, RunError> {
        let (app, id) = (self.app(), self.session.id());
        let mut past = PastPrompts::default();
        let read = ibeam_session::read::<SessionError>(&app.dirs.sessions(), id, &mut |event| {
            past.fold(event);
            Ok(())
        });
        // What could be read before an error can be chosen.
        drop(read);
        let PastPrompts { mut prompts, changes } = past;
        prompts.reverse();
        let catalogue = &app.base.catalogue;
        if prompts.is_empty() {
            self.screen.print(Style::DIM, &catalogue.line(&TuiLine::NoTranscript));
            return Ok(CommandEnd::Done);
        }
        let titles = prompts.iter().map(|prompt| first_line(&prompt.text).to_owned()).collect();
        let question = catalogue.line(&TuiLine::RewindQuestion);
        let DialogReply::Choice(at) =
            self.screen.choose(self.process, question, titles, DialogGuard::None)?
        else {
            return Ok(CommandEnd::Done);
        };
        let Some(PastPrompt { run, text }) = prompts.into_iter().nth(at) else { return Ok(CommandEnd::Done) };
        let target = UndoTarget::Turn(run);
        let (goes_back, restores) = match changes.resolve(target) {
            None => (true, false),
            Some(_) => {
                let choices = [TuiLine::RewindBoth, TuiLine::RewindConversation, TuiLine::RewindFiles];
                let choices = choices.iter().map(|line| catalogue.line(line)).collect();
                let question = catalogue.line(&TuiLine::RewindWhat);
                match self.screen.choose(self.process, question, choices, DialogGuard::None)? {
                    DialogReply::Choice(0) => (true, true),
                    DialogReply::Choice(1) => (true, false),
                    DialogReply::Choice(_) => (false, true),
                    DialogReply::Text(_) | DialogReply::Back | DialogReply::Leave => {
                        return Ok(CommandEnd::Done);
                    }
                }
            }
        };
        let undo = restores.then_some(RequestedUndo { target, force: false });
        if !goes_back {
            return Ok(undo.map_or(CommandEnd::Done, |undo| self.reopen_after_undo(undo)));
        }
        // Before the first prompt there is nothing to copy.
        let target = match run {
            1 => SessionTarget::New,
            _ => SessionTarget::Before { session: id.to_string(), run },
        };
        Ok(CommandEnd::Reopen(Reopening {
            target,
            undo,
            shows_past: run > 1,
            input: Some(text),
            ..Reopening::of_new_session()
        }))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
