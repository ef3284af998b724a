//! Hooks at their moments: told by the loop, bounded by the stop of the run.

use ibeam_protocol::{EventKind, Failure, Reason, RunOutcome};

use super::tool_calls::PlannedCall;
use super::{Run, TurnError};
use crate::journal::{Journal, JournalClosed};
use crate::ports::{FinishedCall, HookBlock, HookDecision, HookEvent, HookOutput};

impl Run {
    /// Tells of a moment and records what people should know of the answer; a stop ends the hooks.
    async fn run_hooks(&self, journal: &mut Journal, moment: HookEvent<'_>) -> Result<HookOutput, TurnError> {
        let Some(hearing) = self.hooks.run(moment) else { return Ok(HookOutput::default()) };
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
    pub(super) async fn submit_prompt(
        &self,
        journal: &mut Journal,
        mut prompt: Vec<String>,
    ) -> Result<(), TurnError> {
        let (kind, failure) = match self.run_prompt_hooks(journal, &prompt).await {
            Ok((_, HookDecision::Block(HookBlock { hook, message, for_people, ask: _ }))) => {
                let reason = Reason::PromptRefused { hook, detail: for_people.unwrap_or(message) };
                (EventKind::PromptWithheld { content: prompt }, Some(Failure::from(reason)))
            }
            Ok((context, HookDecision::Continue | HookDecision::UpdateInput { .. })) => {
                prompt.extend(context);
                (EventKind::UserMessage { content: prompt }, None)
            }
            // What no hook has judged is not for the model of a later run either.
            Err(TurnError::Failed(failure)) => (EventKind::PromptWithheld { content: prompt }, Some(failure)),
            Err(TurnError::Closed) => return Err(TurnError::Closed),
        };
        journal.record(kind).await?;
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    async fn run_prompt_hooks(
        &self,
        journal: &mut Journal,
        prompt: &[String],
    ) -> Result<(Vec<String>, HookDecision), TurnError> {
        let mut context = self.run_hooks(journal, HookEvent::RunStart).await?.context;
        let heard = self.run_hooks(journal, HookEvent::PromptSubmit(prompt)).await?;
        context.extend(heard.context);
        Ok((context, heard.decision))
    }

    /// Puts a call to the hooks. Arguments of theirs become canonical, are put to them once more, and to the rules
    /// then.
    pub(super) async fn run_pre_tool_hooks(
        &self,
        journal: &mut Journal,
        planned: &mut PlannedCall,
    ) -> Result<(), TurnError> {
        for rewritten in [false, true] {
            let PlannedCall::Ready { call, tool, access, run, block: objection } = planned else {
                return Ok(());
            };
            match self
                .run_hooks(journal, HookEvent::BeforeToolCall { call, access, is_rewritten: rewritten })
                .await?
                .decision
            {
                HookDecision::Continue => return Ok(()),
                HookDecision::Block(found) => {
                    *objection = Some(found);
                    return Ok(());
                }
                HookDecision::UpdateInput { hook, arguments } => match tool.prepare(&arguments) {
                    Ok(prepared) => {
                        call.arguments = prepared.arguments;
                        *access = prepared.access;
                        *run = prepared.run;
                    }
                    Err(error) => {
                        let message = format!("a hook changed the arguments to some that cannot be: {error}");
                        let (for_people, ask) = (None, false);
                        *objection = Some(HookBlock { hook, message, for_people, ask });
                        return Ok(());
                    }
                },
            }
        }
        Ok(())
    }

    /// Tells of calls that ended, in the order of their ends.
    pub(super) async fn run_post_tool_hooks(
        &self,
        journal: &mut Journal,
        ended: Vec<FinishedCall>,
    ) -> Result<(), TurnError> {
        for ended in ended {
            self.run_hooks(journal, HookEvent::AfterToolCall(&ended)).await?;
        }
        Ok(())
    }

    /// Tells of the end, whatever it is; after a stop only as long as that allows.
    pub(super) async fn run_stop_hooks(
        &self,
        journal: &mut Journal,
        outcome: &RunOutcome,
    ) -> Result<(), JournalClosed> {
        let Some(hearing) = self.hooks.run(HookEvent::RunEnd(outcome)) else { return Ok(()) };
        let patience = async {
            self.stop.wait().await;
            self.clock.sleep(self.hooks.grace()).await;
        };
        let heard = tokio::select! {
            biased;
            heard = hearing => heard,
            () = patience => HookOutput::default(),
        };
        for notice in heard.notices {
            journal.record(EventKind::Notice(notice)).await?;
        }
        Ok(())
    }
}
