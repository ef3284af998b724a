//! Runs the hooks of a run at each of its events. A stop of the run ends them.

use ibeam_protocol::{Answer, EventKind, Failure, Reason, RunOutcome, UserPrompt};

use super::tool_calls::PlannedCall;
use super::{Run, TurnError};
use crate::journal::{Journal, JournalClosed};
use crate::ports::{
    AnswerEnd, CompactionStart, FinishedCall, HookBlock, HookDecision, HookEvent, HookOutput,
};

impl Run {
    /// Runs the hooks of an event and records their requests to models and their notices.
    async fn run_hooks(&self, journal: &mut Journal, event: HookEvent<'_>) -> Result<HookOutput, TurnError> {
        let Some(hooks) = self.hooks.run(event) else { return Ok(HookOutput::default()) };
        let mut output = tokio::select! {
            biased;
            reason = self.stop.wait() => return Err(reason.into()),
            output = hooks => output,
        };
        record_side_effects(journal, &mut output).await?;
        Ok(output)
    }

    /// Records the messages that the user added since the last model request.
    ///
    /// A message stays with the front end while the last message is an answer that the service has to complete, and
    /// after a stop was requested.
    ///
    /// # Errors
    /// As [`Self::submit_message`].
    pub(super) async fn submit_steering(&self, journal: &mut Journal) -> Result<(), TurnError> {
        if journal.history().ends_with_answer() {
            return Ok(());
        }
        while self.stop.reason().is_none()
            && let Some(message) = self.steering.next_message()
        {
            self.submit_message(journal, message, false).await?;
        }
        Ok(())
    }

    /// Runs the hooks of a message of the user, adds their context to it, and records it. The first message of a run is
    /// its prompt, for which the hooks of the start run too.
    ///
    /// # Errors
    /// `PromptRefused`: the message has not become part of the conversation.
    pub(super) async fn submit_message(
        &self,
        journal: &mut Journal,
        prompt: UserPrompt,
        is_first: bool,
    ) -> Result<(), TurnError> {
        let UserPrompt { texts: mut prompt, attachments } = prompt;
        let (kind, failure) = match self.run_prompt_hooks(journal, &prompt, is_first).await {
            Ok((_, HookDecision::Block(HookBlock { hook, message, for_people, ask: _ }))) => {
                let reason = Reason::PromptRefused { hook, detail: for_people.unwrap_or(message) };
                (EventKind::PromptWithheld { content: prompt }, Some(Failure::from(reason)))
            }
            Ok((context, HookDecision::Continue | HookDecision::UpdateInput { .. })) => {
                prompt.extend(context);
                (EventKind::UserMessage { content: prompt, attachments }, None)
            }
            // A prompt that the hooks have not checked must not reach the model in a later run either.
            Err(TurnError::Failed(failure)) => (EventKind::PromptWithheld { content: prompt }, Some(failure)),
            Err(TurnError::JournalClosed) => return Err(TurnError::JournalClosed),
        };
        journal.record(kind).await?;
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    async fn run_prompt_hooks(
        &self,
        journal: &mut Journal,
        prompt: &[String],
        is_first: bool,
    ) -> Result<(Vec<String>, HookDecision), TurnError> {
        let mut context = match is_first {
            true => self.run_hooks(journal, HookEvent::RunStart).await?.context,
            false => Vec::new(),
        };
        let output = self.run_hooks(journal, HookEvent::PromptSubmit(prompt)).await?;
        context.extend(output.context);
        Ok((context, output.decision))
    }

    /// Runs the hooks of a call. If a hook updates the arguments, the call is prepared again and the hooks run once more.
    pub(super) async fn run_pre_tool_hooks(
        &self,
        journal: &mut Journal,
        planned: &mut PlannedCall,
    ) -> Result<(), TurnError> {
        for is_rewritten in [false, true] {
            let PlannedCall::Ready { call, tool, access, run, block } = planned else {
                return Ok(());
            };
            match self
                .run_hooks(journal, HookEvent::BeforeToolCall { call, access, is_rewritten })
                .await?
                .decision
            {
                HookDecision::Continue => return Ok(()),
                HookDecision::Block(found) => {
                    *block = Some(found);
                    return Ok(());
                }
                HookDecision::UpdateInput { hook, arguments } => match tool.prepare(&arguments) {
                    Ok(prepared) => {
                        call.arguments = prepared.arguments;
                        *access = prepared.access;
                        *run = prepared.run;
                    }
                    Err(error) => {
                        let message = format!("hook `{hook}` returned invalid arguments: {error}");
                        let (for_people, ask) = (None, false);
                        *block = Some(HookBlock { hook, message, for_people, ask });
                        return Ok(());
                    }
                },
            }
        }
        Ok(())
    }

    /// Runs the hooks of an answer of the model.
    pub(super) async fn run_answer_hooks(
        &self,
        journal: &mut Journal,
        answer: &Answer,
    ) -> Result<(), TurnError> {
        self.run_hooks(journal, HookEvent::AnswerReceived(answer)).await.map(drop)
    }

    /// Runs the hooks of a conversation that is about to be shortened.
    pub(super) async fn run_compaction_hooks(
        &self,
        journal: &mut Journal,
        start: CompactionStart,
    ) -> Result<(), TurnError> {
        self.run_hooks(journal, HookEvent::Compaction(start)).await.map(drop)
    }

    /// Runs the hooks of calls that ended, in the order in which they ended. Records their context for the model.
    pub(super) async fn run_post_tool_hooks(
        &self,
        journal: &mut Journal,
        ended: Vec<FinishedCall>,
    ) -> Result<(), TurnError> {
        let mut context = Vec::new();
        for ended in ended {
            context.extend(self.run_hooks(journal, HookEvent::AfterToolCall(&ended)).await?.context);
        }
        if !context.is_empty() {
            journal.record(EventKind::HookMessage { text: context.join("\n\n") }).await?;
        }
        Ok(())
    }

    /// Runs the hooks of a complete answer. Returns whether they continue the run; then their message is recorded.
    ///
    /// The text of an answer with a schema is the only text of its run, so hooks do not continue it.
    pub(super) async fn run_answer_end_hooks(
        &self,
        journal: &mut Journal,
        text: &str,
        state: &mut AnswerEndHooks,
    ) -> Result<bool, TurnError> {
        state.have_run = true;
        let end = AnswerEnd { text, ..answer_end(journal, &RunOutcome::Completed, state) };
        let output = self.run_hooks(journal, HookEvent::AnswerEnd(end)).await?;
        let Some(text) = output.follow_up.filter(|_| self.answer_schema.is_none()) else {
            return Ok(false);
        };
        state.follow_ups += 1;
        state.have_run = false;
        journal.record(EventKind::HookMessage { text }).await?;
        Ok(true)
    }

    /// Runs the hooks of the end of the run. After a stop they have [`crate::ports::Hooks::grace`].
    pub(super) async fn run_end_hooks(
        &self,
        journal: &mut Journal,
        outcome: &RunOutcome,
        state: &AnswerEndHooks,
    ) -> Result<(), JournalClosed> {
        let end = HookEvent::AnswerEnd(answer_end(journal, outcome, state));
        let answer_hooks = if state.have_run { None } else { self.hooks.run(end) };
        let end_hooks = self.hooks.run(HookEvent::RunEnd(outcome));
        if answer_hooks.is_none() && end_hooks.is_none() {
            return Ok(());
        }
        let grace_after_stop = async {
            self.stop.wait().await;
            self.clock.sleep(self.hooks.grace()).await;
        };
        let hooks = async {
            let mut outputs = Vec::new();
            for hooks in [answer_hooks, end_hooks].into_iter().flatten() {
                outputs.push(hooks.await);
            }
            outputs
        };
        let outputs = tokio::select! {
            biased;
            outputs = hooks => outputs,
            () = grace_after_stop => Vec::new(),
        };
        for mut output in outputs {
            record_side_effects(journal, &mut output).await?;
        }
        Ok(())
    }
}

/// Records the requests of hooks to models and their notices, and removes them from the output.
async fn record_side_effects(journal: &mut Journal, output: &mut HookOutput) -> Result<(), JournalClosed> {
    for request in std::mem::take(&mut output.requests) {
        journal.record(EventKind::HookRequestFinished(Box::new(request))).await?;
    }
    for notice in std::mem::take(&mut output.notices) {
        journal.record(EventKind::Notice(notice)).await?;
    }
    Ok(())
}

/// The effects of the hooks of the end of the answer in a run.
#[derive(Default)]
pub(super) struct AnswerEndHooks {
    /// The number of messages with which they continued the run.
    follow_ups: u32,
    /// Whether they have run since the last of these messages.
    have_run: bool,
}

/// Returns the end of a run without the text of its answer.
fn answer_end<'a>(journal: &Journal, outcome: &'a RunOutcome, state: &AnswerEndHooks) -> AnswerEnd<'a> {
    AnswerEnd {
        outcome,
        text: "",
        follow_ups: state.follow_ups,
        tool_calls: journal.tally().totals.tool_calls,
        duration_ms: journal.elapsed_ms(),
    }
}
