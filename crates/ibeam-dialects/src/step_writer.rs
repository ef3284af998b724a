//! Writes the steps of one dialect as lines of another. Checks the order of steps and the calls in progress, and records
//! the parts that the target cannot represent.

use std::collections::HashMap;

use serde_json::Value;

use crate::contract::{remove_result, set_result, take_result};
use crate::dialect::{Dialect, Directories, Feature, cwd_in_contract, report_changes, report_losses};
use crate::dialects::DialectName;
use crate::json::Object;
use crate::losses::{LossKind, LossLog};
use crate::step::{CallStep, Payload, PayloadKind, Step, StepEncoder, TextStep};

/// The maximum size of a segment that is held back, in bytes. A longer segment is written in parts.
const MAX_SEGMENT_BYTES: usize = 16 << 20;

/// The maximum number of calls in progress. A further call is a loss.
const MAX_OPEN_CALLS: usize = 1024;

/// Writes steps whose payloads are in the form of the source.
pub(crate) struct StepWriter {
    source: &'static dyn Dialect,
    target: &'static dyn Dialect,
    encoder: Box<dyn StepEncoder + Send>,
    pub(crate) losses: LossLog,
    /// The name of the event that the run started with.
    start_event: String,
    has_started: bool,
    has_ended: bool,
    directories: Directories,
    /// The payloads of the calls in progress, by their ids.
    open_calls: HashMap<String, Payload>,
    /// Whether a call was written whose id other calls share.
    has_shared_id: bool,
    /// The text that waits for the end of its segment.
    pending_text: Option<TextStep>,
    /// Whether the last step was a text.
    is_in_text: bool,
    /// Whether a step that the target can represent followed the start of the run.
    has_content: bool,
    /// Whether the target has a line.
    has_written: bool,
}

impl StepWriter {
    pub(crate) fn new(from: DialectName, to: DialectName, losses: LossLog) -> Self {
        Self {
            source: from.dialect(),
            target: to.dialect(),
            encoder: to.dialect().encoder(),
            losses,
            start_event: String::new(),
            has_started: false,
            has_ended: false,
            directories: Directories { source: "/".to_owned(), target: "/".to_owned(), base: String::new() },
            open_calls: HashMap::new(),
            has_shared_id: false,
            pending_text: None,
            is_in_text: false,
            has_content: false,
            has_written: false,
        }
    }

    pub(crate) fn encoder(&mut self) -> &mut dyn StepEncoder {
        &mut *self.encoder
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Appends the lines of a step. A step after the end is a loss.
    pub(crate) fn write(&mut self, step: Step, out: &mut Vec<Value>) {
        if self.has_ended {
            return self.losses.record_dropped_event();
        }
        let lines = out.len();
        match step {
            Step::Init { .. } if self.has_started => self.losses.record_dropped_event(),
            Step::Init { session, payload } => self.start(&session, payload, out),
            step => {
                if !self.has_started {
                    self.start("", Value::Object(Object::new()), out);
                }
                self.write_body(step, out);
            }
        }
        self.has_written |= out.len() > lines;
    }

    /// Appends the lines that were held back until the end of the source.
    pub(crate) fn finish(mut self, out: &mut Vec<Value>) -> LossLog {
        let lines = out.len();
        self.flush_text(None, out);
        self.encoder.finish(out);
        self.report_open_calls();
        if self.has_started && !self.has_written && out.len() == lines {
            // The target has no line at all, so the start of the run is lost too.
            self.losses.add(&self.start_event, None, LossKind::Dropped);
        }
        self.losses
    }

    /// Starts a further turn of the session. `init` is the start of the run; `is_repeated`: whether the source repeats it
    /// for the turn.
    pub(crate) fn start_turn(&mut self, init: Payload, is_repeated: bool, out: &mut Vec<Value>) {
        (self.has_ended, self.has_content, self.is_in_text) = (false, false, false);
        if is_repeated {
            self.report_losses(PayloadKind::Init, &init);
        }
        let init = self.convert_init(init);
        self.encoder.start_turn(init, out);
    }

    fn start(&mut self, session: &str, payload: Payload, out: &mut Vec<Value>) {
        self.has_started = true;
        self.start_event.clone_from(&self.losses.event);
        self.report_losses(PayloadKind::Init, &payload);
        let written = self.target.session_id(session);
        if self.source.session_id(&written) != session {
            self.losses.add(self.source.session_id_key(), None, LossKind::Changed);
        }
        let payload = self.convert_init(payload);
        self.encoder.encode_step(Step::Init { session: written, payload }, out);
    }

    /// Converts the start of a run, and reads the directories from it.
    fn convert_init(&mut self, payload: Payload) -> Payload {
        let contract = self.source.to_contract(PayloadKind::Init, payload, "/");
        let cwd = cwd_in_contract(&contract);
        cwd.unwrap_or("/").clone_into(&mut self.directories.source);
        cwd.unwrap_or_default().clone_into(&mut self.directories.base);
        let payload = self.target.from_contract(PayloadKind::Init, contract, &self.directories.base);
        let returned = self.target.to_contract(PayloadKind::Init, payload.clone(), "/");
        cwd_in_contract(&returned).unwrap_or("/").clone_into(&mut self.directories.target);
        payload
    }

    fn write_body(&mut self, step: Step, out: &mut Vec<Value>) {
        let is_dropped_thought =
            matches!(step, Step::Thought(_)) && self.target.feature_key(Feature::Thought).is_none();
        let has_content = self.has_content;
        self.has_content |= !is_dropped_thought;
        let answer_id = match &step {
            Step::Text(_) => None,
            Step::CallStarted(call) => call.answer_id.clone(),
            Step::Init { .. } | Step::Prompt(_) | Step::Thought(_) | Step::CallEnded(_) | Step::End(_) => {
                None
            }
        };
        if !matches!(step, Step::Text(_)) {
            self.is_in_text = false;
            self.flush_text(answer_id, out);
        }
        match step {
            Step::Text(text) => self.write_text(text, out),
            Step::Prompt(blocks) => self.write_prompt(blocks, has_content, out),
            Step::Thought(thought) => {
                if self.check_feature(Feature::Thought, true, LossKind::Dropped) {
                    self.encoder.encode_step(Step::Thought(thought), out);
                }
            }
            Step::CallStarted(call) => self.start_call(call, out),
            Step::CallEnded(call) => self.end_call(call, out),
            Step::End(payload) => {
                self.report_open_calls();
                self.report_losses(PayloadKind::End, &payload);
                let payload = self.convert(PayloadKind::End, payload);
                self.encoder.encode_step(Step::End(payload), out);
                self.has_ended = true;
            }
            Step::Init { .. } => {}
        }
    }

    fn write_prompt(&mut self, blocks: Vec<String>, has_content: bool, out: &mut Vec<Value>) {
        let has_text = !blocks.iter().all(String::is_empty);
        if has_content && self.target.has_prompt_first() {
            if has_text {
                self.record_loss(Feature::Prompt, LossKind::Dropped);
            }
            return;
        }
        if self.check_feature(Feature::Prompt, has_text, LossKind::Dropped) {
            self.check_feature(Feature::PromptBlocks, blocks.len() > 1, LossKind::Joined);
            self.encoder.encode_step(Step::Prompt(blocks), out);
        }
    }

    fn write_text(&mut self, mut text: TextStep, out: &mut Vec<Value>) {
        let joins = self.source.has_complete_texts() || self.target.has_complete_texts();
        if std::mem::replace(&mut self.is_in_text, true) && joins {
            self.record_loss(Feature::TextPieces, LossKind::Joined);
        }
        if !self.check_feature(Feature::TextTime, text.at_ms.is_some(), LossKind::Dropped) {
            text.at_ms = None;
        }
        if !self.check_feature(Feature::TextAnswerId, text.answer_id.is_some(), LossKind::Dropped) {
            text.answer_id = None;
        }
        if !self.target.has_complete_texts() {
            return self.encoder.encode_step(Step::Text(text), out);
        }
        let pending = self.pending_text.get_or_insert_default();
        pending.text.push_str(&text.text);
        pending.at_ms = text.at_ms.or(pending.at_ms);
        pending.answer_id = pending.answer_id.take().or(text.answer_id);
        if pending.text.len() >= MAX_SEGMENT_BYTES {
            self.flush_text(None, out);
        }
    }

    /// Writes the segment that has ended; `answer_id` is the answer of the call that ended it.
    fn flush_text(&mut self, answer_id: Option<String>, out: &mut Vec<Value>) {
        if let Some(mut text) = self.pending_text.take() {
            text.answer_id = text.answer_id.or(answer_id);
            self.encoder.encode_step(Step::Text(text), out);
        }
    }

    fn start_call(&mut self, call: CallStep, out: &mut Vec<Value>) {
        if self.open_calls.len() >= MAX_OPEN_CALLS || self.open_calls.contains_key(&call.id) {
            return self.record_lost_call(&call.payload);
        }
        self.check_feature(Feature::CallStartTime, call.at_ms.is_some(), LossKind::Dropped);
        self.check_feature(Feature::CallAnswerId, call.answer_id.is_some(), LossKind::Dropped);
        self.open_calls.insert(call.id.clone(), call.payload.clone());
        let payload = self.convert_started_call(call.payload);
        if self.target.shares_call_id(&payload) && std::mem::replace(&mut self.has_shared_id, true) {
            for key in self.source.call_id_keys() {
                self.losses.add(key, None, LossKind::Changed);
            }
        }
        self.encoder.encode_step(Step::CallStarted(CallStep { payload, ..call }), out);
    }

    fn end_call(&mut self, call: CallStep, out: &mut Vec<Value>) {
        if !self.open_calls.contains_key(&call.id) {
            self.start_call(call.clone(), out);
        }
        let Some(started) = self.open_calls.remove(&call.id) else { return };
        self.check_feature(Feature::CallEndTime, call.at_ms.is_some(), LossKind::Dropped);
        self.report_losses(PayloadKind::Call, &call.payload);
        if self.losses.is_enabled() {
            let tool = self.source.tool_name(&call.payload);
            let losses = &mut self.losses;
            report_changes(self.source, &started, &call.payload, &mut |key, kind| {
                losses.add(key, tool, kind)
            });
        }
        // Only the result is taken from the end; the rest of the call is as it started.
        let ended = self.source.to_contract(PayloadKind::Call, call.payload, &self.directories.source);
        let mut contract = self.source.to_contract(PayloadKind::Call, started, &self.directories.source);
        remove_result(&mut contract);
        if let Some(result) = take_result(ended) {
            set_result(&mut contract, result);
        }
        let payload = self.target.from_contract(PayloadKind::Call, contract, &self.directories.base);
        self.encoder.encode_step(Step::CallEnded(CallStep { payload, ..call }), out);
    }

    /// Reports the losses of calls without an end. Called at the end of the run.
    fn report_open_calls(&mut self) {
        for payload in std::mem::take(&mut self.open_calls).into_values() {
            let converted = self.convert_started_call(payload.clone());
            match self.target.reports_only_call_end(&converted) {
                true => self.record_lost_call(&payload),
                false => self.report_losses(PayloadKind::Call, &payload),
            }
        }
    }

    fn convert(&self, kind: PayloadKind, payload: Payload) -> Payload {
        let contract = self.source.to_contract(kind, payload, &self.directories.source);
        self.target.from_contract(kind, contract, &self.directories.base)
    }

    fn convert_started_call(&self, payload: Payload) -> Payload {
        let mut contract = self.source.to_contract(PayloadKind::Call, payload, &self.directories.source);
        remove_result(&mut contract);
        self.target.from_contract(PayloadKind::Call, contract, &self.directories.base)
    }

    /// Whether the target can represent a feature. If it cannot and the feature `is_present`, the loss is recorded.
    fn check_feature(&mut self, feature: Feature, is_present: bool, kind: LossKind) -> bool {
        let is_supported = self.target.feature_key(feature).is_some();
        if is_present && !is_supported {
            self.record_loss(feature, kind);
        }
        is_supported
    }

    fn record_loss(&mut self, feature: Feature, kind: LossKind) {
        self.losses.add(self.source.feature_key(feature).unwrap_or("?"), None, kind);
    }

    fn record_lost_call(&mut self, call: &Payload) {
        let key = self.source.feature_key(Feature::Call).unwrap_or("?");
        self.losses.add(key, self.source.tool_name(call), LossKind::Dropped);
    }

    /// Records the losses of a payload.
    fn report_losses(&mut self, kind: PayloadKind, payload: &Payload) {
        if !self.losses.is_enabled() {
            return;
        }
        let tool = self.source.tool_name(payload).filter(|_| kind == PayloadKind::Call);
        let losses = &mut self.losses;
        report_losses((self.source, self.target), kind, payload, &self.directories, &mut |key, kind| {
            losses.add(key, tool, kind)
        });
    }
}
