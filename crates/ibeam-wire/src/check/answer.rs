//! The answer of a stream: under contract 1 the deltas, under contract 2 segments, whose deltas may come before them.

use serde_json::{Map, Value};

use super::finding::{LineContext, printable_excerpt};
use super::rule::Rule;
use crate::Contract;
use crate::digest::TextDigest;
use crate::scan::Step;

/// The text of the answer so far, each piece once, and the segments that are expected.
#[derive(Default)]
pub(super) struct AnswerTracker {
    /// Every text of the answer.
    text: TextDigest,
    /// The text since the last call began.
    text_after_last_call: TextDigest,
    /// The deltas whose segment is still expected.
    deltas: Option<TextDigest>,
    /// Whether the first segment has deltas.
    has_deltas: Option<bool>,
    /// Whether a finding reported a segment of the other form.
    is_mixed_reported: bool,
    /// The event that has to follow, after a segment.
    expected_next: Option<ExpectedNext>,
    /// Whether a line could not be read. Missing text is then no finding.
    is_incomplete: bool,
}

/// The event that has to follow a segment.
enum ExpectedNext {
    /// A call of this answer.
    Call(String),
    /// The end of the run.
    End,
}

/// An event of the contract after `init` and `user`.
#[derive(Clone, Copy)]
pub(super) enum EventPlace {
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

    /// Returns every text of the answer, or `None` if a line could not be read.
    pub(super) fn text(&self) -> Option<TextDigest> {
        (!self.is_incomplete).then_some(self.text)
    }

    /// Returns the text after the last call, or `None` if a line could not be read.
    pub(super) fn text_after_last_call(&self) -> Option<TextDigest> {
        (!self.is_incomplete).then_some(self.text_after_last_call)
    }

    fn push(&mut self, text: &str) {
        self.text.push(text);
        self.text_after_last_call.push(text);
    }

    pub(super) fn event(
        &mut self,
        line: &mut LineContext<'_>,
        event: &Map<String, Value>,
        place: EventPlace,
    ) {
        if let EventPlace::CallStart = place {
            self.text_after_last_call = TextDigest::EMPTY;
        }
        match line.findings.report.contract {
            Contract::One => {
                if let EventPlace::Assistant = place {
                    texts(event).for_each(|text| self.push(text));
                }
            }
            Contract::Two => {
                self.check_expected_next(line, event, place);
                match place {
                    EventPlace::Assistant => self.assistant(line, event),
                    EventPlace::CallStart | EventPlace::RunEnd => self.check_pending_deltas(line),
                    EventPlace::CallEnd => {}
                }
            }
        }
    }

    /// Checks that the event is the one that the previous segment requires.
    fn check_expected_next(
        &mut self,
        line: &mut LineContext<'_>,
        event: &Map<String, Value>,
        place: EventPlace,
    ) {
        let Some(expected_next) = self.expected_next.take().filter(|_| !self.is_incomplete) else { return };
        let message = match (expected_next, place) {
            (ExpectedNext::End, EventPlace::RunEnd) => return,
            (ExpectedNext::Call(expected), EventPlace::CallStart) => {
                let answer = event.get("model_call_id").and_then(Value::as_str);
                if answer.is_none_or(|answer| answer == expected) {
                    return;
                }
                format!(
                    "the segment before is of the answer `{}`, and this call is not",
                    printable_excerpt(&expected)
                )
            }
            (ExpectedNext::Call(_), EventPlace::Assistant | EventPlace::CallEnd | EventPlace::RunEnd) => {
                "the segment before has a `model_call_id`, and no call begins after it".to_owned()
            }
            (ExpectedNext::End, EventPlace::Assistant | EventPlace::CallStart | EventPlace::CallEnd) => {
                "the segment before is the last one by its keys, and the run goes on".to_owned()
            }
        };
        line.add(&[], Rule::SegmentMisplaced, message);
    }

    fn assistant(&mut self, line: &mut LineContext<'_>, event: &Map<String, Value>) {
        let mut text = TextDigest::EMPTY;
        texts(event).for_each(|part| text.push(part));
        let answer = event.get("model_call_id");
        let timed = event.contains_key("timestamp_ms");
        if timed && answer.is_none() {
            self.check_form(line, true);
            texts(event).for_each(|part| self.push(part));
            let deltas = self.deltas.get_or_insert(TextDigest::EMPTY);
            return texts(event).for_each(|part| deltas.push(part));
        }
        if !timed && answer.is_some() {
            let message = "the event has a `model_call_id` and no `timestamp_ms`";
            line.add(&[Step::Key("model_call_id")], Rule::SegmentForm, message);
        }
        self.check_form(line, self.deltas.is_some());
        match self.deltas.take() {
            None => texts(event).for_each(|part| self.push(part)),
            Some(deltas) if self.is_incomplete || deltas == text => {}
            Some(deltas) => {
                let message = format!(
                    "the segment is not its deltas: it has {} characters, they have {}",
                    text.chars, deltas.chars
                );
                line.add(&[Step::Key("message")], Rule::SegmentDiffers, message);
            }
        }
        self.expected_next = Some(match answer.and_then(Value::as_str) {
            Some(answer) => ExpectedNext::Call(answer.to_owned()),
            None => ExpectedNext::End,
        });
    }

    /// Reports once that a segment has deltas and the first has none, or the reverse.
    fn check_form(&mut self, line: &mut LineContext<'_>, partial: bool) {
        let first = *self.has_deltas.get_or_insert(partial);
        if first != partial && !self.is_incomplete && !std::mem::replace(&mut self.is_mixed_reported, true) {
            let message = match partial {
                true => "the segments before have no deltas, and this is one",
                false => "the segments before have deltas, and this has none",
            };
            line.add(&[], Rule::MixedForms, message);
        }
    }

    /// Checks before a call or the end of the run that the segment of all deltas has come.
    fn check_pending_deltas(&mut self, line: &mut LineContext<'_>) {
        let deltas = self.deltas.take();
        if deltas.is_some_and(|deltas| !deltas.is_empty()) && !self.is_incomplete {
            line.add(&[], Rule::SegmentMissing, "the segment of the deltas before has not come");
        }
    }
}

/// Returns the texts of a message.
fn texts(event: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let content = event.get("message").and_then(|message| message.get("content")).and_then(Value::as_array);
    content.into_iter().flatten().filter_map(|block| block.get("text")?.as_str())
}
