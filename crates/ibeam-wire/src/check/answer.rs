//! Tracks the answer of a stream: deltas under contract 1; segments, with or without deltas before them, under contract 2.

use serde_json::{Map, Value};

use super::finding::{LineContext, printable_excerpt};
use super::rule::Rule;
use crate::Contract;
use crate::digest::TextDigest;
use crate::scan::PathStep;

/// The text of the answer so far, each piece once, and the segments that are expected.
#[derive(Default)]
pub(super) struct AnswerTracker {
    /// The complete text of the answer.
    text: TextDigest,
    /// The text since the last call began.
    text_after_last_call: TextDigest,
    /// The deltas whose segment is still expected.
    deltas: Option<TextDigest>,
    /// Whether the first segment has deltas; `None` before the first segment.
    has_deltas: Option<bool>,
    /// Whether a finding already reports a mix of segments with and without deltas.
    is_mixed_reported: bool,
    /// The event that must follow the last segment.
    expected_next: Option<ExpectedNext>,
    /// Whether a line could not be read. Then missing text is not reported.
    is_incomplete: bool,
}

/// The event that must follow a segment.
enum ExpectedNext {
    /// A call of the model response with this id.
    Call(String),
    /// The end of the run.
    End,
}

/// The kind of an event after `init` and `user`, as far as the answer depends on it.
#[derive(Clone, Copy)]
pub(super) enum AnswerEventKind {
    Assistant,
    CallStart,
    CallEnd,
    RunEnd,
}

impl AnswerTracker {
    /// Records that a line could not be read. It may have contained any part of the answer.
    pub(super) fn mark_incomplete(&mut self) {
        self.is_incomplete = true;
    }

    /// Returns the complete text of the answer, or `None` if a line could not be read.
    pub(super) fn text(&self) -> Option<TextDigest> {
        (!self.is_incomplete).then_some(self.text)
    }

    /// Returns the text after the last call, or `None` if a line could not be read.
    pub(super) fn text_after_last_call(&self) -> Option<TextDigest> {
        (!self.is_incomplete).then_some(self.text_after_last_call)
    }

    /// Adds a new piece of the answer.
    fn push(&mut self, text: &str) {
        self.text.push(text);
        self.text_after_last_call.push(text);
    }

    /// Adds the text of an event, and checks the event against the segments before it.
    pub(super) fn record_event(
        &mut self,
        line: &mut LineContext<'_>,
        event: &Map<String, Value>,
        place: AnswerEventKind,
    ) {
        if let AnswerEventKind::CallStart = place {
            self.text_after_last_call = TextDigest::EMPTY;
        }
        match line.findings.report.contract {
            Contract::One => {
                if let AnswerEventKind::Assistant = place {
                    texts(event).for_each(|text| self.push(text));
                }
            }
            Contract::Two => {
                self.check_expected_next(line, event, place);
                match place {
                    AnswerEventKind::Assistant => self.record_assistant(line, event),
                    AnswerEventKind::CallStart | AnswerEventKind::RunEnd => self.check_pending_deltas(line),
                    AnswerEventKind::CallEnd => {}
                }
            }
        }
    }

    /// Checks that the event is the one that the previous segment requires.
    fn check_expected_next(
        &mut self,
        line: &mut LineContext<'_>,
        event: &Map<String, Value>,
        place: AnswerEventKind,
    ) {
        let Some(expected_next) = self.expected_next.take().filter(|_| !self.is_incomplete) else { return };
        let message = match (expected_next, place) {
            (ExpectedNext::End, AnswerEventKind::RunEnd) => return,
            (ExpectedNext::Call(expected), AnswerEventKind::CallStart) => {
                let found = event.get("model_call_id").and_then(Value::as_str);
                if found.is_none_or(|found| found == expected) {
                    return;
                }
                format!(
                    "the previous segment belongs to the response `{}`, and this call does not",
                    printable_excerpt(&expected)
                )
            }
            (
                ExpectedNext::Call(_),
                AnswerEventKind::Assistant | AnswerEventKind::CallEnd | AnswerEventKind::RunEnd,
            ) => "the previous segment has a `model_call_id`, but no call follows it".to_owned(),
            (
                ExpectedNext::End,
                AnswerEventKind::Assistant | AnswerEventKind::CallStart | AnswerEventKind::CallEnd,
            ) => "the previous segment has no `model_call_id`, but the run continues after it".to_owned(),
        };
        line.add(&[], Rule::SegmentMisplaced, message);
    }

    /// Adds the text of an `assistant` event of contract 2, which is a delta or a segment.
    fn record_assistant(&mut self, line: &mut LineContext<'_>, event: &Map<String, Value>) {
        let mut text = TextDigest::EMPTY;
        texts(event).for_each(|part| text.push(part));
        let model_call_id = event.get("model_call_id");
        let has_time = event.contains_key("timestamp_ms");
        if has_time && model_call_id.is_none() {
            self.check_form(line, true);
            texts(event).for_each(|part| self.push(part));
            let deltas = self.deltas.get_or_insert(TextDigest::EMPTY);
            return texts(event).for_each(|part| deltas.push(part));
        }
        if !has_time && model_call_id.is_some() {
            let message = "the event has a `model_call_id` and no `timestamp_ms`";
            line.add(&[PathStep::Key("model_call_id")], Rule::SegmentForm, message);
        }
        self.check_form(line, self.deltas.is_some());
        match self.deltas.take() {
            None => texts(event).for_each(|part| self.push(part)),
            Some(deltas) if self.is_incomplete || deltas == text => {}
            Some(deltas) => {
                let message = format!(
                    "the segment differs from its deltas: it has {} characters, they have {}",
                    text.chars, deltas.chars
                );
                line.add(&[PathStep::Key("message")], Rule::SegmentDiffers, message);
            }
        }
        self.expected_next = Some(match model_call_id.and_then(Value::as_str) {
            Some(model_call_id) => ExpectedNext::Call(model_call_id.to_owned()),
            None => ExpectedNext::End,
        });
    }

    /// Reports once that a segment has deltas and the first segment has none, or the reverse.
    fn check_form(&mut self, line: &mut LineContext<'_>, has_deltas: bool) {
        let first = *self.has_deltas.get_or_insert(has_deltas);
        if first != has_deltas && !self.is_incomplete && !std::mem::replace(&mut self.is_mixed_reported, true)
        {
            let message = match has_deltas {
                true => "the event is a delta, but the previous segments have none",
                false => "the segment has no deltas, but the previous segments have some",
            };
            line.add(&[], Rule::MixedForms, message);
        }
    }

    /// Checks before a call or the end of the run that a segment followed the deltas.
    fn check_pending_deltas(&mut self, line: &mut LineContext<'_>) {
        let deltas = self.deltas.take();
        if deltas.is_some_and(|deltas| !deltas.is_empty()) && !self.is_incomplete {
            line.add(&[], Rule::SegmentMissing, "the segment of the previous deltas is missing");
        }
    }
}

/// Returns the texts of a message.
fn texts(event: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let content = event.get("message").and_then(|message| message.get("content")).and_then(Value::as_array);
    content.into_iter().flatten().filter_map(|block| block.get("text")?.as_str())
}
