//! The conversation as the model sees it: a pure fold over events.
//!
//! The history always equals the replay of the log, since `Journal::record` is its only input. The next prompt closes
//! what a killed run left open, so every call has exactly one result before any request. That holds also for a journal
//! that has lost, repeated or moved events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ibeam_protocol::{
    Block, CallId, Elision, Event, EventKind, Message, ModelCallId, Notice, OmittedParts, PromptRecord,
    ShortenedResults, ToolCall, ToolOutcome, ToolResult, UserPart,
};

use crate::omitted_parts::{omit_added_tools, omit_media};
use crate::session_prompt::SessionPrompt;
use crate::thinking::omit_thinking;

/// The messages so far, and the results that the last answer lacks.
#[derive(Default)]
pub struct History {
    messages: Vec<Arc<Message>>,
    /// Calls of the last answer, in its order; empty once all have results.
    open: Vec<ToolCall>,
    results: BTreeMap<CallId, ToolResult>,
    /// The calls of the last answer that have started, with canonical arguments.
    started: Vec<ToolCall>,
    /// The request of the last answer.
    model_call_id: Option<ModelCallId>,
    /// Visible text of an answer that is not complete yet.
    partial: String,
    /// Evidence of calls that a killed run left open.
    evidence: BTreeMap<CallId, String>,
    /// The tokens that the provider counted, and the number of messages that it counted, from the oldest.
    counted_tokens: Option<(u64, usize)>,
    /// The fingerprints of the prefixes of answers, by the index of the message; only of answers with bound thinking.
    prefixes: BTreeMap<usize, u64>,
    /// The files of the rules that were added to the conversation and are still in it.
    added_rules: BTreeSet<String>,
    /// The tools that are not offered any more.
    omitted_tools: BTreeSet<String>,
    /// The fingerprints of the images and documents that are not sent any more.
    omitted_media: BTreeSet<u64>,
    /// The text before the conversation and the tools, once they are recorded.
    prompt: Option<SessionPrompt>,
    /// Whether the model has answered after the recorded prompt.
    has_answered_prompt: bool,
    /// Set if events are missing or moved.
    out_of_order: Option<OutOfOrder>,
}

/// Calls and results whose counterpart may still follow in a journal that is out of order.
#[derive(Default)]
struct OutOfOrder {
    /// Calls that were closed without their results.
    closed: BTreeSet<CallId>,
    /// Results that came before their calls.
    early: BTreeMap<CallId, ToolResult>,
}

/// The message to the model in place of the missing beginning of a conversation.
const LOST_BEGINNING: &str = "[The beginning of this conversation is lost.]";

impl History {
    /// Returns the conversation that a log records.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut history = Self::default();
        for event in events {
            history.fold(&event.kind);
        }
        history
    }

    /// Returns the messages, oldest first; cheap to clone.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns the calls that a killed run had started and not finished, with canonical arguments.
    pub fn interrupted_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let is_open = |call: &&ToolCall| self.open.iter().any(|open| open.id == call.id);
        self.started.iter().filter(is_open).filter(|call| !self.results.contains_key(&call.id))
    }

    /// Returns the calls of the last answer that have no result, with the id of its request; `None` if all have one, or if
    /// records of the session are missing.
    pub(crate) fn open_calls(&self) -> Option<(&ModelCallId, Vec<&ToolCall>)> {
        let is_open = |call: &&ToolCall| !self.results.contains_key(&call.id);
        let open: Vec<&ToolCall> = self.open.iter().filter(is_open).collect();
        let id = self.model_call_id.as_ref().filter(|_| !open.is_empty() && self.out_of_order.is_none())?;
        Some((id, open))
    }

    /// Returns the tokens that the provider counted and the number of messages that it counted, if there is a count.
    pub fn counted_tokens(&self) -> Option<(u64, usize)> {
        self.counted_tokens
    }

    /// Returns the fingerprint of everything that was before the answer at this index when the model gave it, if the
    /// thinking of the answer is bound to that.
    pub(crate) fn prefix(&self, index: usize) -> Option<u64> {
        self.prefixes.get(&index).copied()
    }

    /// Returns the names of the tools that are not offered any more.
    pub(crate) fn omitted_tools(&self) -> &BTreeSet<String> {
        &self.omitted_tools
    }

    /// Returns the files of the rules that were added to the conversation. A compaction removes all of them.
    pub fn added_rules(&self) -> &BTreeSet<String> {
        &self.added_rules
    }

    /// Returns the text before the conversation and the tools, as they are sent; `None` before the first request, and in
    /// sessions of earlier versions.
    pub fn prompt(&self) -> Option<&SessionPrompt> {
        self.prompt.as_ref()
    }

    /// Whether another prompt may replace the recorded one: no answer is bound to it.
    pub(crate) fn may_renew_prompt(&self) -> bool {
        !self.has_answered_prompt
    }

    /// Prepares for missing or moved events from here on.
    pub(crate) fn expect_gaps(&mut self) {
        self.out_of_order.get_or_insert_default();
    }

    /// Adds one event.
    pub fn fold(&mut self, kind: &EventKind) {
        match kind {
            EventKind::UserMessage { content, attachments } => {
                self.close_answer();
                if let Some(out_of_order) = &mut self.out_of_order {
                    out_of_order.early.clear();
                }
                let mut parts: Vec<UserPart> = content.iter().cloned().map(UserPart::Text).collect();
                parts.extend(attachments.iter().flat_map(UserPart::from_attachment));
                self.push(Message::User(parts));
            }
            EventKind::PromptRecorded(record) => self.fold_prompt(record),
            EventKind::RulesAdded { files, text } => {
                self.close_answer();
                self.added_rules.extend(files.iter().cloned());
                self.push(Message::User(vec![text.as_str().into()]));
            }
            EventKind::HookMessage { text } => {
                self.close_answer();
                self.push(Message::User(vec![text.as_str().into()]));
            }
            // A process that was killed within an answer left its beginning. The answer is requested again as a whole.
            EventKind::RunStarted(head) if head.continues => self.partial.clear(),
            EventKind::TextDelta { text } => self.partial.push_str(text),
            EventKind::ModelRequestFinished { model_call_id, answer, prefix, .. } => {
                self.partial.clear();
                self.model_call_id = Some(model_call_id.clone());
                self.has_answered_prompt = true;
                // All results of the answer before are known, unless the journal lost some.
                self.push_results();
                self.open = answer.calls().cloned().collect();
                if !answer.blocks.is_empty() {
                    self.push(Message::Assistant(answer.blocks.clone()));
                    self.prefixes.extend(prefix.map(|prefix| (self.messages.len() - 1, prefix)));
                }
                if let Some(usage) = answer.usage {
                    self.counted_tokens = Some((usage.total(), self.messages.len()));
                }
                self.apply_early_results();
            }
            EventKind::ToolCallStarted { call, .. } => self.started.push(call.clone()),
            EventKind::ToolCallFinished { call, outcome, .. } => self.record_result(call, outcome),
            EventKind::CallInterrupted { call_id, evidence } => {
                self.evidence.insert(call_id.clone(), evidence.clone());
            }
            EventKind::Compacted(compacted) => {
                self.push_results();
                if compacted.replaced > 0 {
                    // The retained answers come after another message now.
                    self.prefixes.clear();
                    // The rules are added again when the model uses such a file again.
                    self.added_rules.clear();
                    let retained = self.messages.split_off(compacted.replaced.min(self.messages.len()));
                    self.messages = vec![Arc::new(Message::User(vec![compacted.summary.clone().into()]))];
                    // If messages are missing, the cut may be between calls and their results.
                    let is_result = |message: &Arc<Message>| matches!(**message, Message::ToolResults(_));
                    let retained = retained.into_iter().skip_while(is_result);
                    // The next prompt has the current instructions and tools.
                    self.messages.extend(retained.filter(|message| !is_prompt_change(message)));
                    self.has_answered_prompt = false;
                    self.prompt.iter_mut().for_each(SessionPrompt::forget_changes);
                }
                for shortened in &compacted.shortened_results {
                    shorten_results(&mut self.messages, *shortened);
                }
                self.counted_tokens = None;
            }
            // The count of tokens stays: it is too high until the next answer, and an estimate would be less exact.
            EventKind::ThinkingOmitted { messages } => {
                omit_thinking(self.messages.iter_mut().take(*messages));
            }
            EventKind::PartsOmitted(OmittedParts { tools, media }) => {
                self.omitted_tools.extend(tools.iter().cloned());
                self.prompt.iter_mut().for_each(|prompt| prompt.omit_tools(tools));
                self.omitted_media.extend(media);
                self.messages.iter_mut().for_each(|message| {
                    omit_added_tools(message, tools);
                    omit_media(message, &self.omitted_media);
                });
            }
            // The service completes an answer that ends in a block of its own only if nothing follows the block.
            EventKind::Notice(Notice::AnswerPaused) if self.ends_in_opaque_block() => {}
            EventKind::Notice(notice) => {
                // The next model cannot complete the block of another API.
                let is_lost = matches!(notice, Notice::ModelFallback { .. }) && self.ends_in_opaque_block();
                let text = if is_lost { Notice::AnswerPaused.for_model() } else { notice.for_model() };
                if let Some(text) = text {
                    self.close_answer();
                    self.push(Message::User(vec![text.into()]));
                }
            }
            EventKind::RunStarted(_)
            | EventKind::PromptWithheld { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::Retrying { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::RunFinished(_) => {}
        }
    }

    fn fold_prompt(&mut self, record: &PromptRecord) {
        match record {
            PromptRecord::Complete { parts, tools, effort } => {
                self.prompt = Some(SessionPrompt::new(parts.clone(), tools.clone(), effort.clone()));
                self.has_answered_prompt = false;
            }
            PromptRecord::Change { parts, removed, tools, effort } => {
                let Some(prompt) = self.prompt.as_mut() else { return };
                let change = prompt.apply(parts, removed, tools, effort.as_ref());
                self.close_answer();
                let update = (!change.update.is_empty()).then_some(Message::Update(change.update));
                let content = change.content.map(|text| Message::User(vec![text.into()]));
                let instructions = change.instructions.map(|text| Message::Instructions(vec![text.into()]));
                [update, content, instructions].into_iter().flatten().for_each(|message| self.push(message));
            }
        }
    }

    /// Whether the last message is the model's.
    pub(crate) fn ends_with_answer(&self) -> bool {
        match self.messages.last().map(Arc::as_ref) {
            Some(Message::Assistant(_)) => true,
            Some(
                Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::ToolResults(_),
            )
            | None => false,
        }
    }

    /// Whether the model is to answer next: nothing is missing after the last prompt or after the last calls.
    pub(crate) fn awaits_answer(&self) -> bool {
        let is_closed = self.open.is_empty() && self.partial.is_empty();
        is_closed && !self.messages.is_empty() && (!self.ends_with_answer() || self.ends_in_opaque_block())
    }

    fn ends_in_opaque_block(&self) -> bool {
        match self.messages.last().map(Arc::as_ref) {
            Some(Message::Assistant(blocks)) => matches!(blocks.last(), Some(Block::Opaque(_))),
            Some(
                Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::ToolResults(_),
            )
            | None => false,
        }
    }

    fn push(&mut self, message: Message) {
        if self.messages.is_empty() && !matches!(message, Message::User(_)) {
            self.messages.push(Arc::new(Message::User(vec![LOST_BEGINNING.into()])));
        }
        let mut message = Arc::new(message);
        if !self.omitted_media.is_empty() {
            omit_media(&mut message, &self.omitted_media);
        }
        self.messages.push(message);
    }

    fn record_result(&mut self, call: &ToolCall, outcome: &ToolOutcome) {
        let result = ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            text: outcome.for_model(),
            is_error: outcome.is_error(),
            media: outcome.media().to_vec(),
        };
        if let Some(out_of_order) = &mut self.out_of_order
            && !self.open.iter().any(|open| open.id == call.id)
        {
            if !out_of_order.closed.remove(&call.id) {
                out_of_order.early.insert(call.id.clone(), result);
            } else if let Some(found) = find_result(&mut self.messages, &call.id) {
                *found = result;
            }
            return;
        }
        self.results.insert(call.id.clone(), result);
        // Compares the counts first, because a search for every result after each call would take quadratic time.
        if self.results.len() >= self.open.len()
            && self.open.iter().all(|open| self.results.contains_key(&open.id))
        {
            self.push_results();
        }
    }

    /// Assigns results that came early to the calls of the last answer.
    fn apply_early_results(&mut self) {
        let Some(out_of_order) = &mut self.out_of_order else { return };
        for call in &self.open {
            self.results.extend(out_of_order.early.remove_entry(&call.id));
        }
        if self.open.iter().all(|open| self.results.contains_key(&open.id)) {
            self.push_results();
        }
    }

    /// Adds the results of the last answer's calls as one message. A call without a result gets an error.
    fn push_results(&mut self) {
        let mut results = std::mem::take(&mut self.results);
        let started = std::mem::take(&mut self.started);
        let evidence = std::mem::take(&mut self.evidence);
        let ordered: Vec<ToolResult> = std::mem::take(&mut self.open)
            .into_iter()
            .map(|call| {
                results.remove(&call.id).unwrap_or_else(|| {
                    if let Some(out_of_order) = &mut self.out_of_order {
                        out_of_order.closed.insert(call.id.clone());
                    }
                    unfinished_result(&call, &started, &evidence, self.out_of_order.is_some())
                })
            })
            .collect();
        if !ordered.is_empty() {
            self.push(Message::ToolResults(ordered));
        }
    }

    /// Closes what a killed or cancelled run left open.
    fn close_answer(&mut self) {
        self.push_results();
        if !self.partial.is_empty() {
            let text = std::mem::take(&mut self.partial);
            self.push(Message::Assistant(vec![Block::Text(text)]));
        }
    }
}

fn is_prompt_change(message: &Message) -> bool {
    match message {
        Message::Instructions(_) | Message::Update(_) => true,
        Message::User(_) | Message::Assistant(_) | Message::ToolResults(_) => false,
    }
}

/// Removes the middle of results that are too long.
pub(crate) fn shorten_results(messages: &mut [Arc<Message>], shortened: ShortenedResults) {
    let ShortenedResults { messages: count, bytes } = shortened;
    for message in messages.iter_mut().take(count) {
        match message.as_ref() {
            Message::ToolResults(results) if results.iter().any(|result| needs_shortening(result, bytes)) => {
                let mut results = results.clone();
                for result in results.iter_mut().filter(|result| needs_shortening(result, bytes)) {
                    let mut text = elide_middle(&result.text, bytes);
                    for media in std::mem::take(&mut result.media) {
                        text.push('\n');
                        text.push_str(&media.placeholder());
                    }
                    result.text = text.into();
                }
                *message = Arc::new(Message::ToolResults(results));
            }
            Message::ToolResults(_)
            | Message::User(_)
            | Message::Instructions(_)
            | Message::Update(_)
            | Message::Assistant(_) => {}
        }
    }
}

/// Whether a result has images or documents, or more than `bytes` of text.
fn needs_shortening(result: &ToolResult, bytes: usize) -> bool {
    result.text.len() > bytes || !result.media.is_empty()
}

/// Shortens `text` to about `bytes`: a fifth from its beginning and the rest from its end.
pub(crate) fn elide_middle(text: &str, bytes: usize) -> String {
    Elision::mostly_tail(bytes).apply(text).into_owned()
}

/// Finds the result of a call in the conversation.
fn find_result<'a>(messages: &'a mut [Arc<Message>], id: &CallId) -> Option<&'a mut ToolResult> {
    messages.iter_mut().rev().find_map(|message| {
        let has =
            matches!(&**message, Message::ToolResults(results) if results.iter().any(|it| it.call_id == *id));
        let Message::ToolResults(results) = Arc::make_mut(has.then_some(message)?) else { return None };
        results.iter_mut().find(|result| result.call_id == *id)
    })
}

fn unfinished_result(
    call: &ToolCall,
    started: &[ToolCall],
    evidence: &BTreeMap<CallId, String>,
    has_gaps: bool,
) -> ToolResult {
    let text = if started.iter().any(|started| started.id == call.id) {
        let unknown = "interrupted: the run ended before this call did; its effect is unknown";
        match evidence.get(&call.id) {
            Some(found) => format!("{unknown}. Now: {found}"),
            None => unknown.to_owned(),
        }
    } else if has_gaps {
        "unknown: records of this session are missing, so this call may have been executed or not".to_owned()
    } else {
        "not executed: the run ended before this call began".to_owned()
    };
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        text: text.into(),
        is_error: true,
        media: Vec::new(),
    }
}
