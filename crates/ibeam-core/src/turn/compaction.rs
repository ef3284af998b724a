//! Shortens a conversation that is too long for the model: a summary by the model replaces its oldest part.
//!
//! If a summary does not help, tool results are shortened instead, the older ones first. Each step is recorded as one
//! event. The number of steps is limited: if the conversation does not become short enough, the run fails with an
//! error that names the size.

use std::fmt::Write;
use std::sync::Arc;

use ibeam_protocol::{
    Block, ClassCosts, Compacted, EventKind, Failure, Message, Reason, ShortenedResults, StopReason, UserPart,
};

use super::model_request::{Deltas, RequestOutcome, is_context_too_long};
use super::{Run, TurnError, is_parked, visible_text};
use crate::history::{self, elide_middle};
use crate::journal::Journal;
use crate::ports::{CompactionStart, ModelRequest, ProviderError};
use crate::token_estimator::{TokenEstimator, overhead_bytes, result_bytes, size_bytes};

const SUMMARY_SYSTEM_PROMPT: &str =
    "You shorten the log of a coding agent so that the agent can go on with the summary alone.";
const SUMMARY_INSTRUCTION: &str = "\
Write the summary of the log above for the agent that will continue. Keep: what the user wants, with every \
constraint; what was found out (files, functions, commands, errors: exact names); what was changed and where; what \
is still to be done. Leave out what no longer matters. Facts only, at most 600 words, no greeting.";
/// The largest number of tokens of a summary.
const MAX_SUMMARY_TOKENS: u32 = 2048;
/// The largest size of one text in the transcript.
const MAX_TRANSCRIPT_ITEM_BYTES: usize = 4 << 10;
/// The largest size of the transcript where the context window of the model is unknown.
const MAX_TRANSCRIPT_BYTES: usize = 256 << 10;
/// The largest size of the user's last message that the summary quotes verbatim.
const MAX_QUOTED_PROMPT_BYTES: usize = 16 << 10;
/// The smallest size to which a tool result is shortened.
const MIN_RESULT_BYTES: usize = 4 << 10;
/// Shortening results is worthwhile if the conversation retains at most this share of its size.
const MAX_WORTHWHILE_RATIO: f64 = 0.95;
/// The tokens reserved for the answer where the limit of answers is unknown.
const DEFAULT_ANSWER_TOKENS: u64 = 4096;

/// The result of an attempt to summarise.
enum SummaryResult {
    Recorded,
    /// The conversation would not become short enough. Holds the failure that ends the run if nothing else helps.
    Unhelpful(Failure),
}

impl Run {
    /// Shortens the conversation if the next request would not fit. Returns whether it did.
    pub(super) async fn compact_if_needed(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        estimator: &TokenEstimator,
    ) -> Result<bool, TurnError> {
        let Some(room) = self.token_budget(journal) else { return Ok(false) };
        let estimate = estimator.estimate(Self::overhead_bytes(journal, request), journal.history());
        // There is nothing to replace, and the estimate can be wrong: let the provider decide.
        if estimate <= room || first_retained_index(journal.history().messages(), 0) == 0 {
            return Ok(false);
        }
        self.compact(journal, request, estimator, None).await.map(|()| true)
    }

    /// Shortens the conversation because the user asked for it. Returns whether it did: a conversation without an older
    /// part, or one that a summary does not shorten, stays as it is.
    pub(super) async fn compact_as_requested(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        estimator: &TokenEstimator,
    ) -> Result<bool, TurnError> {
        if first_retained_index(journal.history().messages(), 0) == 0 {
            return Ok(false);
        }
        match self.compact(journal, request, estimator, None).await {
            Ok(()) => Ok(true),
            Err(TurnError::Failed(failure)) if is_context_too_long(&failure) => {
                self.compact_if_needed(journal, request, estimator).await
            }
            Err(error) => Err(error),
        }
    }

    /// Shortens the conversation with a summary of its oldest part, or by shortening tool results where that part is
    /// small or a summary does not help.
    ///
    /// `refusal` is the failure of the request that was too long. Fails with `ContextTooLong` and the sizes.
    pub(super) async fn compact(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        estimator: &TokenEstimator,
        refusal: Option<Failure>,
    ) -> Result<(), TurnError> {
        let messages = journal.history().messages();
        let start = CompactionStart {
            tokens: estimator.estimate(Self::overhead_bytes(journal, request), journal.history()),
            window: self.active_model(journal).context_window,
            messages: messages.len(),
            replaced: self.replaceable_count(journal, messages, estimator),
            is_first: journal.tally().totals.compactions == 0,
        };
        self.run_compaction_hooks(journal, start).await?;
        let messages = journal.history().messages();
        let older = messages.get(..self.replaceable_count(journal, messages, estimator)).unwrap_or_default();
        let older_is_small = 2 * size_bytes(older) < size_bytes(messages);
        if older_is_small && self.shorten_results(journal, request, estimator).await? {
            return Ok(());
        }
        let failure = match self.summarise(journal, request, estimator, refusal).await? {
            SummaryResult::Recorded => return Ok(()),
            SummaryResult::Unhelpful(failure) => failure,
        };
        if self.shorten_results(journal, request, estimator).await? { Ok(()) } else { Err(failure.into()) }
    }

    /// Shortens tool results: first all but the newest, then all. Returns false if the conversation would not
    /// become much shorter.
    pub(super) async fn shorten_results(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        estimator: &TokenEstimator,
    ) -> Result<bool, TurnError> {
        let before_tokens = estimator.estimate(Self::overhead_bytes(journal, request), journal.history());
        let messages = journal.history().messages();
        let is_results = |message: &Arc<Message>| matches!(message.as_ref(), Message::ToolResults(_));
        let Some(newest) = messages.iter().rposition(is_results) else { return Ok(false) };
        let overhead = Self::overhead_bytes(journal, request);
        let before = overhead + size_bytes(messages);
        let target_bytes = match self.token_budget(journal) {
            Some(room) if room < before_tokens => {
                (before as f64 * room as f64 / before_tokens.max(1) as f64) as usize
            }
            // The provider refuses what should fit, or the context window is unknown.
            Some(_) | None => before / 2,
        };
        let older = ShortenedResults { messages: newest, bytes: MIN_RESULT_BYTES };
        let mut base = messages.to_vec();
        history::shorten_results(&mut base, older);
        let mut after = overhead + size_bytes(&base);
        let mut shortened_results = vec![older];
        let mut bytes = base.get(newest).map_or(0, longest_result_bytes) / 2;
        while after > target_bytes && bytes >= MIN_RESULT_BYTES {
            let all = ShortenedResults { messages: base.len(), bytes };
            let mut shorter = base.clone();
            history::shorten_results(&mut shorter, all);
            after = overhead + size_bytes(&shorter);
            shortened_results.truncate(1);
            shortened_results.push(all);
            bytes /= 2;
        }
        if after as f64 > before as f64 * MAX_WORTHWHILE_RATIO {
            return Ok(false);
        }
        let compacted = Compacted {
            replaced: 0,
            summary: String::new(),
            before_tokens,
            after_tokens: (before_tokens as f64 * after as f64 / before.max(1) as f64) as u64,
            usage: None,
            api_ms: 0,
            cost_micros: None,
            costs: None,
            shortened_results,
        };
        journal.record(EventKind::Compacted(Box::new(compacted))).await?;
        Ok(true)
    }

    /// Returns how many messages, from the oldest, a summary would replace.
    fn replaceable_count(
        &self,
        journal: &Journal,
        messages: &[Arc<Message>],
        estimator: &TokenEstimator,
    ) -> usize {
        // A provider that refuses the request may count differently from the estimate.
        let quarter = size_bytes(messages) / 4;
        let tail_bytes =
            self.token_budget(journal).map_or(quarter, |room| estimator.bytes(room / 4).min(quarter));
        first_retained_index(messages, tail_bytes)
    }

    /// Replaces the oldest part of the conversation with a summary.
    ///
    /// Fails with `ContextTooLong` and the sizes if the model gives no summary; the conversation is then unchanged.
    async fn summarise(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        estimator: &TokenEstimator,
        refusal: Option<Failure>,
    ) -> Result<SummaryResult, TurnError> {
        let overhead = Self::overhead_bytes(journal, request);
        let before_tokens = estimator.estimate(overhead, journal.history());
        let messages = journal.history().messages().to_vec();
        let replaced = self.replaceable_count(journal, &messages, estimator);
        let (older, retained) = messages.split_at(replaced);
        let model = self.active_model(journal);
        let window = model.context_window.map_or(String::new(), |window| format!(" of {window}"));
        let provider = model.info.provider.clone();
        let too_long = |why: &str| {
            let mut failure = refusal.clone().unwrap_or_else(|| Self::context_too_long(&provider, "").into());
            let detail = match &failure.reason {
                Reason::ContextTooLong { detail, .. } if !detail.is_empty() => format!("{detail}; "),
                _ => String::new(),
            };
            failure.reason = Self::context_too_long(
                &provider,
                &format!("{detail}about {before_tokens} tokens{window}; {why}"),
            );
            failure
        };
        if older.is_empty() {
            return Ok(SummaryResult::Unhelpful(too_long("there is no older part to shorten")));
        }
        let log_bytes =
            self.token_budget(journal).map_or(MAX_TRANSCRIPT_BYTES, |room| estimator.bytes(room / 2));
        let summary_request = Arc::new(ModelRequest {
            answer_schema: None,
            effort: None,
            system: SUMMARY_SYSTEM_PROMPT.into(),
            tools: Arc::new([]),
            messages: vec![Arc::new(Message::User(vec![
                transcript(older, log_bytes).into(),
                SUMMARY_INSTRUCTION.into(),
            ]))],
            max_output_tokens: Some(MAX_SUMMARY_TOKENS),
        });
        let outcome = loop {
            match self.send_with_retries(journal, &summary_request, Deltas::Discard, false).await {
                Ok(Some(outcome)) => break Ok(outcome),
                // The next model writes the summary.
                Ok(None) => {}
                Err(error) => break Err(error),
            }
        };
        let response = match outcome {
            Ok(RequestOutcome::Complete(response)) => response,
            Err(TurnError::Failed(failure)) if is_parked(&failure) => return Err(failure.into()),
            Ok(RequestOutcome::Interrupted(ProviderError { failure, .. }))
            | Err(TurnError::Failed(failure)) => {
                let too_long =
                    too_long(&format!("the request for a summary failed: {}", failure.reason.detail()));
                return match is_context_too_long(&failure) {
                    true => Ok(SummaryResult::Unhelpful(too_long)),
                    false => Err(too_long.into()),
                };
            }
            Err(TurnError::JournalClosed) => return Err(TurnError::JournalClosed),
        };
        let summary_text = visible_text(&response.answer);
        if summary_text.trim().is_empty() || response.answer.stop == StopReason::Refusal {
            let failure = too_long("the model gave no summary");
            self.record_failed_request(journal, &failure.reason, response.answer.usage.as_ref()).await?;
            return Err(failure.into());
        }
        let summary = summary_message(older, &summary_text);
        let (before_bytes, after_bytes) =
            (overhead + size_bytes(&messages), overhead + summary.len() + size_bytes(retained));
        // In proportion, since the provider's earlier count is the best prediction of its next one.
        let after_tokens = (before_tokens as f64 * after_bytes as f64 / before_bytes.max(1) as f64) as u64;
        if after_bytes >= before_bytes || self.token_budget(journal).is_some_and(|room| after_tokens > room) {
            let failure = too_long(&format!("still {after_tokens} with a summary of the older part"));
            self.record_failed_request(journal, &failure.reason, response.answer.usage.as_ref()).await?;
            return Ok(SummaryResult::Unhelpful(failure));
        }
        let compacted = Compacted {
            replaced,
            summary,
            before_tokens,
            after_tokens,
            usage: response.answer.usage,
            api_ms: response.api_ms,
            cost_micros: response.costs.map(ClassCosts::micros),
            costs: response.costs,
            shortened_results: Vec::new(),
        };
        journal.record(EventKind::Compacted(Box::new(compacted))).await?;
        Ok(SummaryResult::Recorded)
    }

    /// Returns the bytes of a request that do not depend on the conversation.
    fn overhead_bytes(journal: &Journal, request: &ModelRequest) -> usize {
        let preface = journal.history().prompt().and_then(|prompt| prompt.preface.as_ref());
        overhead_bytes(request) + preface.map_or(0, |preface| preface.len())
    }

    /// Returns the tokens that a request may have, if the context window of the model is known.
    fn token_budget(&self, journal: &Journal) -> Option<u64> {
        let model = self.active_model(journal);
        let window = model.context_window?;
        let answer = model.max_output_tokens.map_or(DEFAULT_ANSWER_TOKENS, u64::from).min(window / 4);
        Some(window - answer)
    }

    /// Returns the failure of a conversation that is too long for a model of `provider`.
    fn context_too_long(provider: &str, detail: &str) -> Reason {
        Reason::ContextTooLong { provider: provider.to_owned(), detail: detail.to_owned() }
    }
}

/// Returns the index of the first message to retain: the newest messages within `bytes`, at least the last exchange.
///
/// Results stay with the answer that requested them. Returns 0 if there is nothing older.
fn first_retained_index(messages: &[Arc<Message>], bytes: usize) -> usize {
    let mut first = messages.len();
    let mut retained_bytes = 0;
    for (index, message) in messages.iter().enumerate().rev() {
        retained_bytes += size_bytes(std::slice::from_ref(message));
        if retained_bytes > bytes && first < messages.len() {
            break;
        }
        match message.as_ref() {
            Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::Assistant(_) => {
                first = index;
            }
            Message::ToolResults(_) => {}
        }
    }
    if first == messages.len() { 0 } else { first }
}

/// Returns the bytes of the longest result in a message.
fn longest_result_bytes(message: &Arc<Message>) -> usize {
    match message.as_ref() {
        Message::ToolResults(results) => results.iter().map(result_bytes).max().unwrap_or(0),
        Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::Assistant(_) => 0,
    }
}

/// Returns the text that replaces `older`: the summary of the model, and the user's last message verbatim.
fn summary_message(older: &[Arc<Message>], summary_text: &str) -> String {
    let prompt = older.iter().rev().find_map(|message| match message.as_ref() {
        Message::User(parts) => Some(joined_text(parts)),
        Message::Instructions(_) | Message::Update(_) | Message::Assistant(_) | Message::ToolResults(_) => {
            None
        }
    });
    let mut text = format!("The conversation so far was shortened. Summary:\n\n{}", summary_text.trim());
    if let Some(prompt) = prompt {
        let prompt = elide_middle(&prompt, MAX_QUOTED_PROMPT_BYTES);
        // The format of a string cannot fail.
        let _ = write!(text, "\n\nThe user's last message in it, verbatim:\n\n{prompt}");
    }
    text
}

/// Returns the parts as one text, with a line in place of each image and document.
fn joined_text(parts: &[UserPart]) -> String {
    let texts: Vec<_> = parts.iter().map(UserPart::as_text).collect();
    texts.join("\n\n")
}

/// Returns the messages as one text. Each part and the whole are shortened in the middle where they are too long.
fn transcript(older: &[Arc<Message>], bytes: usize) -> String {
    let mut text = String::new();
    let mut put = |role: &str, what: &str| {
        let _ = write!(text, "[{role}]\n{}\n\n", elide_middle(what, MAX_TRANSCRIPT_ITEM_BYTES));
    };
    for message in older {
        match message.as_ref() {
            // The next prompt has the current instructions and tools.
            Message::Instructions(_) | Message::Update(_) => {}
            Message::User(parts) => parts.iter().for_each(|part| put("user", &part.as_text())),
            Message::Assistant(blocks) => {
                for block in blocks {
                    match block {
                        Block::Text(text) => put("agent", text),
                        Block::ToolCall(call) => {
                            put("agent calls a tool", &format!("{} {}", call.name, call.arguments));
                        }
                        Block::Thinking { .. } | Block::Opaque(_) => {}
                    }
                }
            }
            Message::ToolResults(results) => {
                for result in results {
                    put(if result.is_error { "tool failed" } else { "tool result" }, &result.text);
                    result.media.iter().for_each(|media| put("tool result", &media.placeholder()));
                }
            }
        }
    }
    elide_middle(&text, bytes)
}
