//! The answer of a stream: under contract 1 the deltas, under contract 2 segments, whose deltas may come before them.

use serde_json::{Map, Value};

use super::finding::{LineContext, printable_excerpt};
use super::rule::Rule;
use crate::Contract;
use crate::digest::TextDigest;
use crate::scan::Step;

/// What was said so far, each text once.
#[derive(Default)]
pub(super) struct Segments {
    said: TextDigest,
    /// The text since the last call began.
    last: TextDigest,
    /// Deltas whose segment has not come.
    deltas: Option<TextDigest>,
    /// The first segment has deltas, or has none.
    partial: Option<bool>,
    /// One was told that is not like the first.
    mixed: bool,
    /// The segment that was the last event of the contract, and what has to follow it.
    before: Option<Next>,
    /// A line could not be read, so what is missing proves nothing.
    lost: bool,
}

/// What has to follow a segment.
enum Next {
    /// A call of this answer.
    Call(String),
    /// The end of the run.
    End,
}

/// An event of the contract after `init` and `user`.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Assistant,
    CallBegins,
    CallEnds,
    End,
}

impl Segments {
    /// A line could not be read; it may have held any of the answer.
    pub(super) fn lost(&mut self) {
        self.lost = true;
    }

    /// Every text of the answer; `None` where that is not known.
    pub(super) fn said(&self) -> Option<TextDigest> {
        (!self.lost).then_some(self.said)
    }

    /// Returns the text after the last call; `None` where that is not known.
    pub(super) fn last(&self) -> Option<TextDigest> {
        (!self.lost).then_some(self.last)
    }

    fn push(&mut self, text: &str) {
        self.said.push(text);
        self.last.push(text);
    }

    pub(super) fn event(&mut self, line: &mut LineContext<'_>, event: &Map<String, Value>, place: Place) {
        if let Place::CallBegins = place {
            self.last = TextDigest::EMPTY;
        }
        match line.findings.report.contract {
            Contract::One => {
                if let Place::Assistant = place {
                    texts(event).for_each(|text| self.push(text));
                }
            }
            Contract::Two => {
                self.follow(line, event, place);
                match place {
                    Place::Assistant => self.assistant(line, event),
                    Place::CallBegins | Place::End => self.finish(line),
                    Place::CallEnds => {}
                }
            }
        }
    }

    /// Holds what the segment before wants to be followed by.
    fn follow(&mut self, line: &mut LineContext<'_>, event: &Map<String, Value>, place: Place) {
        let Some(before) = self.before.take().filter(|_| !self.lost) else { return };
        let message = match (before, place) {
            (Next::End, Place::End) => return,
            (Next::Call(wanted), Place::CallBegins) => {
                let answer = event.get("model_call_id").and_then(Value::as_str);
                if answer.is_none_or(|answer| answer == wanted) {
                    return;
                }
                format!(
                    "the segment before is of the answer `{}`, and this call is not",
                    printable_excerpt(&wanted)
                )
            }
            (Next::Call(_), Place::Assistant | Place::CallEnds | Place::End) => {
                "the segment before has a `model_call_id`, and no call begins after it".to_owned()
            }
            (Next::End, Place::Assistant | Place::CallBegins | Place::CallEnds) => {
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
            self.mix(line, true);
            texts(event).for_each(|part| self.push(part));
            let deltas = self.deltas.get_or_insert(TextDigest::EMPTY);
            return texts(event).for_each(|part| deltas.push(part));
        }
        if !timed && answer.is_some() {
            let message = "the event has a `model_call_id` and no `timestamp_ms`";
            line.add(&[Step::Key("model_call_id")], Rule::SegmentForm, message);
        }
        self.mix(line, self.deltas.is_some());
        match self.deltas.take() {
            None => texts(event).for_each(|part| self.push(part)),
            Some(deltas) if self.lost || deltas == text => {}
            Some(deltas) => {
                let message = format!(
                    "the segment is not its deltas: it has {} characters, they have {}",
                    text.chars, deltas.chars
                );
                line.add(&[Step::Key("message")], Rule::SegmentDiffers, message);
            }
        }
        self.before = Some(match answer.and_then(Value::as_str) {
            Some(answer) => Next::Call(answer.to_owned()),
            None => Next::End,
        });
    }

    /// Tells once of a segment that is not like the first.
    fn mix(&mut self, line: &mut LineContext<'_>, partial: bool) {
        let first = *self.partial.get_or_insert(partial);
        if first != partial && !self.lost && !std::mem::replace(&mut self.mixed, true) {
            let message = match partial {
                true => "the segments before have no deltas, and this is one",
                false => "the segments before have deltas, and this has none",
            };
            line.add(&[], Rule::MixedForms, message);
        }
    }

    /// A call begins, or the run is over: the segment at hand had to come before.
    fn finish(&mut self, line: &mut LineContext<'_>) {
        let deltas = self.deltas.take();
        if deltas.is_some_and(|deltas| !deltas.is_empty()) && !self.lost {
            line.add(&[], Rule::SegmentMissing, "the segment of the deltas before has not come");
        }
    }
}

/// The texts of a message.
fn texts(event: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let content = event.get("message").and_then(|message| message.get("content")).and_then(Value::as_array);
    content.into_iter().flatten().filter_map(|block| block.get("text")?.as_str())
}
