//! Room for a conversation that has become too long: its oldest part gives way to a summary of the model's own.
//!
//! Where a summary cannot help, results of tools are shortened instead, the older ones first. Each is recorded as one
//! event, and is done a bounded number of times: what does not become shorter ends the run with the sizes.

use std::fmt::Write;
use std::sync::Arc;

use ibeam_protocol::{Block, Compacted, EventKind, Failure, Message, Reason, ShortenedResults, StopReason};

use super::model_request::{Deltas, RequestOutcome, is_context_too_long};
use super::{Run, TurnError, visible_text};
use crate::history::{self, elide_middle};
use crate::journal::Journal;
use crate::ports::{ModelRequest, ProviderError};
use crate::token_estimator::{TokenEstimator, overhead_bytes, size_bytes};

const SUMMARY_SYSTEM_PROMPT: &str =
    "You shorten the log of a coding agent so that the agent can go on with the summary alone.";
const SUMMARY_INSTRUCTION: &str = "\
Write the summary of the log above for the agent that will continue. Keep: what the user wants, with every \
constraint; what was found out (files, functions, commands, errors: exact names); what was changed and where; what \
is still to be done. Leave out what no longer matters. Facts only, at most 600 words, no greeting.";
/// The most tokens of a summary.
const MAX_SUMMARY_TOKENS: u32 = 2048;
/// Of one text in the log the model sees at most so much.
const MAX_TRANSCRIPT_ITEM_BYTES: usize = 4 << 10;
/// Of the log, where the model's window is not known.
const MAX_TRANSCRIPT_BYTES: usize = 256 << 10;
/// Of the user's words that are kept verbatim.
const MAX_QUOTED_PROMPT_BYTES: usize = 16 << 10;
/// A result of a tool that was shortened keeps at least so much.
const MIN_RESULT_BYTES: usize = 4 << 10;
/// The share of its length that a conversation may keep, at most, when results are shortened.
const MAX_WORTHWHILE_RATIO: f64 = 0.95;
/// What a request leaves free for the answer where nobody says how long answers may be.
const DEFAULT_ANSWER_TOKENS: u64 = 4096;

/// Whether a summary made the conversation shorter.
enum SummaryResult {
    Recorded,
    /// It could not, whatever its words are; the failure that the run ends with where nothing else helps.
    Unhelpful(Failure),
}

impl Run {
    /// Shortens the conversation where the next request would not fit; true when it did.
    pub(super) async fn compact_if_needed(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        gauge: &TokenEstimator,
    ) -> Result<bool, TurnError> {
        let Some(room) = self.token_budget() else { return Ok(false) };
        let estimate = gauge.estimate(self.overhead_bytes(request), journal.history());
        // Without an older part the provider may judge: the estimate can be wrong.
        if estimate <= room || first_retained(journal.history().messages(), 0) == 0 {
            return Ok(false);
        }
        self.compact(journal, request, gauge, None).await.map(|()| true)
    }

    /// Makes the conversation shorter: by a summary of its oldest part, or by shortening results of tools where that
    /// part is small or a summary does not help.
    ///
    /// `refusal` is what the provider said of the whole. Fails with `ContextTooLong` and the sizes.
    pub(super) async fn compact(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        gauge: &TokenEstimator,
        refusal: Option<Failure>,
    ) -> Result<(), TurnError> {
        let messages = journal.history().messages();
        let older = messages.get(..self.replaceable_count(messages, gauge)).unwrap_or_default();
        let older_is_small = 2 * size_bytes(older) < size_bytes(messages);
        if older_is_small && self.shorten_results(journal, request, gauge).await? {
            return Ok(());
        }
        let failure = match self.summarise(journal, request, gauge, refusal).await? {
            SummaryResult::Recorded => return Ok(()),
            SummaryResult::Unhelpful(failure) => failure,
        };
        if self.shorten_results(journal, request, gauge).await? { Ok(()) } else { Err(failure.into()) }
    }

    /// Shortens results of tools, those before the newest first; false when that makes nothing much shorter.
    pub(super) async fn shorten_results(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        gauge: &TokenEstimator,
    ) -> Result<bool, TurnError> {
        let before_tokens = gauge.estimate(self.overhead_bytes(request), journal.history());
        let messages = journal.history().messages();
        let is_results = |message: &Arc<Message>| matches!(message.as_ref(), Message::ToolResults(_));
        let Some(newest) = messages.iter().rposition(is_results) else { return Ok(false) };
        let fixed = self.overhead_bytes(request);
        let before = fixed + size_bytes(messages);
        let wanted = match self.token_budget() {
            Some(room) if room < before_tokens => {
                (before as f64 * room as f64 / before_tokens.max(1) as f64) as usize
            }
            // The provider refuses what should fit, or nobody knows what fits.
            Some(_) | None => before / 2,
        };
        let older = ShortenedResults { messages: newest, bytes: MIN_RESULT_BYTES };
        let mut base = messages.to_vec();
        history::shorten_results(&mut base, older);
        let mut after = fixed + size_bytes(&base);
        let mut shortened_results = vec![older];
        let mut bytes = base.get(newest).map_or(0, longest_result_bytes) / 2;
        while after > wanted && bytes >= MIN_RESULT_BYTES {
            let all = ShortenedResults { messages: base.len(), bytes };
            let mut shorter = base.clone();
            history::shorten_results(&mut shorter, all);
            after = fixed + size_bytes(&shorter);
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
            shortened_results,
        };
        journal.record(EventKind::Compacted(Box::new(compacted))).await?;
        Ok(true)
    }

    /// How many messages, from the oldest, a summary would replace.
    fn replaceable_count(&self, messages: &[Arc<Message>], gauge: &TokenEstimator) -> usize {
        // Whoever refuses it may know better than our figures how long it is.
        let quarter = size_bytes(messages) / 4;
        let tail_bytes = self.token_budget().map_or(quarter, |room| gauge.bytes(room / 4).min(quarter));
        first_retained(messages, tail_bytes)
    }

    /// Replaces the oldest part of the conversation by a summary.
    ///
    /// Fails with `ContextTooLong` and the sizes where the model gave none: the conversation stays as it was.
    async fn summarise(
        &self,
        journal: &mut Journal,
        request: &ModelRequest,
        gauge: &TokenEstimator,
        refusal: Option<Failure>,
    ) -> Result<SummaryResult, TurnError> {
        let fixed = self.overhead_bytes(request);
        let before_tokens = gauge.estimate(fixed, journal.history());
        let messages = journal.history().messages().to_vec();
        let replaced = self.replaceable_count(&messages, gauge);
        let (older, kept) = messages.split_at(replaced);
        let too_long = |why: &str| {
            let window = self.context_window.map_or(String::new(), |window| format!(" of {window}"));
            let mut failure = refusal.clone().unwrap_or_else(|| self.too_long("").into());
            let detail = match &failure.reason {
                Reason::ContextTooLong { detail, .. } if !detail.is_empty() => format!("{detail}; "),
                _ => String::new(),
            };
            failure.reason = self.too_long(&format!("{detail}about {before_tokens} tokens{window}; {why}"));
            failure
        };
        if older.is_empty() {
            return Ok(SummaryResult::Unhelpful(too_long("there is no older part to shorten")));
        }
        let log_bytes = self.token_budget().map_or(MAX_TRANSCRIPT_BYTES, |room| gauge.bytes(room / 2));
        let summary_request = Arc::new(ModelRequest {
            system: SUMMARY_SYSTEM_PROMPT.into(),
            tools: Arc::new([]),
            messages: vec![Arc::new(Message::User(vec![
                transcript(older, log_bytes),
                SUMMARY_INSTRUCTION.to_owned(),
            ]))],
            max_output_tokens: Some(MAX_SUMMARY_TOKENS),
        });
        let answered = match self.send_with_retries(journal, &summary_request, Deltas::Discard).await {
            Ok(RequestOutcome::Complete(answered)) => answered,
            Ok(RequestOutcome::Interrupted(ProviderError { failure, .. }))
            | Err(TurnError::Failed(failure)) => {
                let too_long =
                    too_long(&format!("the request for a summary failed: {}", failure.reason.detail()));
                return match is_context_too_long(&failure) {
                    true => Ok(SummaryResult::Unhelpful(too_long)),
                    false => Err(too_long.into()),
                };
            }
            Err(TurnError::Closed) => return Err(TurnError::Closed),
        };
        let words = visible_text(&answered.answer);
        if words.trim().is_empty() || answered.answer.stop == StopReason::Refusal {
            return Err(too_long("the model gave no summary").into());
        }
        let summary = summary_message(older, &words);
        let (before_bytes, after_bytes) =
            (fixed + size_bytes(&messages), fixed + summary.len() + size_bytes(kept));
        // In proportion: what the provider counted before says best what it will count after.
        let after_tokens = (before_tokens as f64 * after_bytes as f64 / before_bytes.max(1) as f64) as u64;
        if after_bytes >= before_bytes || self.token_budget().is_some_and(|room| after_tokens > room) {
            let still = format!("still {after_tokens} with a summary of the older part");
            return Ok(SummaryResult::Unhelpful(too_long(&still)));
        }
        let compacted = Compacted {
            replaced,
            summary,
            before_tokens,
            after_tokens,
            usage: answered.answer.usage,
            api_ms: answered.api_ms,
            cost_micros: answered.cost_micros,
            shortened_results: Vec::new(),
        };
        journal.record(EventKind::Compacted(Box::new(compacted))).await?;
        Ok(SummaryResult::Recorded)
    }

    /// Bytes of a request that are the same whatever the conversation is.
    fn overhead_bytes(&self, request: &ModelRequest) -> usize {
        overhead_bytes(request) + self.preface.as_ref().map_or(0, |preface| preface.len())
    }

    /// Tokens that a request may have, where the model's window is known.
    fn token_budget(&self) -> Option<u64> {
        let window = self.context_window?;
        let answer = self.max_output_tokens.map_or(DEFAULT_ANSWER_TOKENS, u64::from).min(window / 4);
        Some(window - answer)
    }

    fn too_long(&self, detail: &str) -> Reason {
        Reason::ContextTooLong { provider: self.head.model.provider.clone(), detail: detail.to_owned() }
    }
}

/// The index of the first message to keep: the newest ones within `bytes`, at least the last exchange.
///
/// Results stay with the answer that asked for them. 0 when there is nothing older.
fn first_retained(messages: &[Arc<Message>], bytes: usize) -> usize {
    let mut first = messages.len();
    let mut held = 0;
    for (index, message) in messages.iter().enumerate().rev() {
        held += size_bytes(std::slice::from_ref(message));
        if held > bytes && first < messages.len() {
            break;
        }
        match message.as_ref() {
            Message::User(_) | Message::Assistant(_) => first = index,
            Message::ToolResults(_) => {}
        }
    }
    if first == messages.len() { 0 } else { first }
}

/// The bytes of the longest result in a message.
fn longest_result_bytes(message: &Arc<Message>) -> usize {
    match message.as_ref() {
        Message::ToolResults(results) => results.iter().map(|result| result.text.len()).max().unwrap_or(0),
        Message::User(_) | Message::Assistant(_) => 0,
    }
}

/// The text that stands in for `older`: the user's last words verbatim, and the model's summary of the rest.
fn summary_message(older: &[Arc<Message>], words: &str) -> String {
    let prompt = older.iter().rev().find_map(|message| match message.as_ref() {
        Message::User(texts) => Some(texts.join("\n\n")),
        Message::Assistant(_) | Message::ToolResults(_) => None,
    });
    let mut text = format!("The conversation so far was shortened. Summary:\n\n{}", words.trim());
    if let Some(prompt) = prompt {
        let prompt = elide_middle(&prompt, MAX_QUOTED_PROMPT_BYTES);
        // The format of a string cannot fail.
        let _ = write!(text, "\n\nThe user's last message in it, verbatim:\n\n{prompt}");
    }
    text
}

/// The older part as a text, each piece and the whole cut in the middle where they are too long.
fn transcript(older: &[Arc<Message>], bytes: usize) -> String {
    let mut text = String::new();
    let mut put = |who: &str, what: &str| {
        let _ = write!(text, "[{who}]\n{}\n\n", elide_middle(what, MAX_TRANSCRIPT_ITEM_BYTES));
    };
    for message in older {
        match message.as_ref() {
            Message::User(texts) => texts.iter().for_each(|text| put("user", text)),
            Message::Assistant(blocks) => {
                for block in blocks {
                    match block {
                        Block::Text(text) => put("agent", text),
                        Block::ToolCall(call) => {
                            put("agent calls a tool", &format!("{} {}", call.name, call.arguments));
                        }
                        Block::Thinking { .. } => {}
                    }
                }
            }
            Message::ToolResults(results) => {
                for result in results {
                    put(if result.is_error { "tool failed" } else { "tool result" }, &result.text);
                }
            }
        }
    }
    elide_middle(&text, bytes)
}
