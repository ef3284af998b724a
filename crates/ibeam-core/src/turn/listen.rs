//! Hooks at their moments: told by the loop, bounded by the stop of the run.

use ibeam_protocol::{EventKind, Failure, Reason, RunOutcome};

use super::act::Planned;
use super::{Ended, Run};
use crate::hook::{EndedCall, Heard, Moment, Objection, Word};
use crate::journal::{Closed, Journal};

impl Run {
    /// Tells of a moment and records what people should know of the answer; a stop ends the hooks.
    async fn hear(&self, journal: &mut Journal, moment: Moment<'_>) -> Result<Heard, Ended> {
        let Some(hearing) = self.hooks.tell(moment) else { return Ok(Heard::default()) };
        let mut heard = tokio::select! {
            biased;
            reason = self.stop.wait() => return Err(reason.into()),
            heard = hearing => heard,
        };
        for notice in std::mem::take(&mut heard.notices) {
            journal.record(EventKind::Notice(notice)).await?;
        }
        Ok(heard)
    }

    /// Puts the prompt to the hooks, adds what those of the beginning have for the model, and records it.
    ///
    /// # Errors
    /// `PromptRefused`: it has not become part of the conversation.
    pub(super) async fn open(&self, journal: &mut Journal, mut prompt: Vec<String>) -> Result<(), Ended> {
        let (kind, failure) = match self.put_prompt_to_hooks(journal, &prompt).await {
            Ok((_, Word::Object(Objection { hook, message, for_people, unless_approved: _ }))) => {
                let reason = Reason::PromptRefused { hook, said: for_people.unwrap_or(message) };
                (EventKind::PromptWithheld { content: prompt }, Some(Failure::from(reason)))
            }
            Ok((context, Word::Nothing | Word::Rewrite { .. })) => {
                prompt.extend(context);
                (EventKind::UserMessage { content: prompt }, None)
            }
            // What no hook has judged is not for the model of a later run either.
            Err(Ended::Failed(failure)) => (EventKind::PromptWithheld { content: prompt }, Some(failure)),
            Err(Ended::Closed) => return Err(Ended::Closed),
        };
        journal.record(kind).await?;
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    async fn put_prompt_to_hooks(
        &self,
        journal: &mut Journal,
        prompt: &[String],
    ) -> Result<(Vec<String>, Word), Ended> {
        let mut context = self.hear(journal, Moment::RunBegins).await?.context;
        let heard = self.hear(journal, Moment::Prompt(prompt)).await?;
        context.extend(heard.context);
        Ok((context, heard.word))
    }

    /// Puts a call to the hooks. Arguments of theirs become canonical, are put to them once more, and to the rules
    /// then.
    pub(super) async fn put_to_hooks(
        &self,
        journal: &mut Journal,
        planned: &mut Planned,
    ) -> Result<(), Ended> {
        for rewritten in [false, true] {
            let Planned::Ready { call, tool, access, objection } = planned else { return Ok(()) };
            match self.hear(journal, Moment::Call { call, access, rewritten }).await?.word {
                Word::Nothing => return Ok(()),
                Word::Object(found) => {
                    *objection = Some(found);
                    return Ok(());
                }
                Word::Rewrite { hook, arguments } => match tool.canonical(&arguments) {
                    Ok(arguments) => {
                        *access = tool.access(&arguments);
                        call.arguments = arguments;
                    }
                    Err(said) => {
                        let message = format!("a hook changed the arguments to some that cannot be: {said}");
                        let (for_people, unless_approved) = (None, false);
                        *objection = Some(Objection { hook, message, for_people, unless_approved });
                        return Ok(());
                    }
                },
            }
        }
        Ok(())
    }

    /// Tells of calls that ended, in the order of their ends.
    pub(super) async fn tell_ends(&self, journal: &mut Journal, ended: Vec<EndedCall>) -> Result<(), Ended> {
        for ended in ended {
            self.hear(journal, Moment::CallEnded(&ended)).await?;
        }
        Ok(())
    }

    /// Tells of the end, whatever it is; after a stop only as long as that allows.
    pub(super) async fn close(&self, journal: &mut Journal, outcome: &RunOutcome) -> Result<(), Closed> {
        let Some(hearing) = self.hooks.tell(Moment::RunEnds(outcome)) else { return Ok(()) };
        let patience = async {
            self.stop.wait().await;
            self.clock.sleep(self.hooks.grace()).await;
        };
        let heard = tokio::select! {
            biased;
            heard = hearing => heard,
            () = patience => Heard::default(),
        };
        for notice in heard.notices {
            journal.record(EventKind::Notice(notice)).await?;
        }
        Ok(())
    }
}
