//! The turns of a process whose prompts are messages on stdin: a run for each message, until stdin ends.

use std::convert::Infallible;

use ibeam_protocol::Failure;

use super::run_session::RunSession;
use crate::message_queue::{MessageQueue, QueuedMessage};
use crate::run_error::RunError;

pub trait TurnSource {
    /// Whether the process succeeds if its last turn does. Otherwise all turns have to succeed.
    const LAST_TURN_DECIDES: bool;

    fn queue(&self) -> &MessageQueue;

    /// Waits for the next message; `None` after the last.
    ///
    /// # Errors
    /// The reason why the next message cannot be read.
    fn next(&mut self) -> impl Future<Output = Result<Option<QueuedMessage>, Failure>>;

    /// Reports a message whose files the model does not accept, and returns whether the next message has its turn.
    /// Otherwise the process ends.
    fn skip_message(&mut self, _failure: &Failure) -> bool {
        false
    }

    /// Does the other work of the source while a turn runs.
    fn work_during_turn(&mut self) -> impl Future<Output = Infallible>;

    /// Prepares the session for the turn of a message after the first.
    ///
    /// # Errors
    /// The turn cannot run.
    fn prepare_turn(&mut self, session: &mut RunSession<'_>) -> Result<(), Failure>;
}

/// Runs a turn for `first` and for each further message. Reports failed turns on stderr, except the one that is returned.
///
/// # Errors
/// The failure that ended the process early, or else the last failure that decides about the process.
pub fn run_turns<S: TurnSource>(
    session: &mut RunSession<'_>,
    first: QueuedMessage,
    source: &mut S,
) -> Result<(), RunError> {
    let mut next = first;
    let mut failed: Option<RunError> = None;
    loop {
        match session.check_files(&next.prompt) {
            Ok(()) => {
                let outcome = session.run_prompt(next.prompt, Some(next.stop), source.work_during_turn());
                source.queue().finish_turn();
                if let Err(failure) = outcome {
                    let must_close = session.must_close(&failure);
                    report(session, failed.replace(failure));
                    if must_close {
                        return failed.map_or(Ok(()), Err);
                    }
                }
            }
            Err(failure) if source.skip_message(&failure) => source.queue().finish_turn(),
            Err(failure) => {
                report(session, failed);
                return Err(failure.into());
            }
        }
        next = match session.wait(source.next()) {
            Ok(Some(message)) => message,
            Ok(None) => return failed.map_or(Ok(()), Err),
            Err(failure) => {
                report(session, failed);
                return Err(failure.into());
            }
        };
        if S::LAST_TURN_DECIDES {
            report(session, failed.take());
        }
        if let Err(failure) = source.prepare_turn(session) {
            report(session, failed);
            return Err(failure.into());
        }
    }
}

fn report(session: &RunSession<'_>, failed: Option<RunError>) {
    failed.iter().for_each(|failed| session.report(failed));
}
