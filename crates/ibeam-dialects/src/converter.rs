//! The way of a stream from one dialect to another.

use std::collections::HashMap;

use serde_json::Value;

use crate::dialect::Dialect;
use crate::error::ConvertError;
use crate::form;
use crate::json::{Object, into_object, text};
use crate::losses::{How, Losses};
use crate::ours::set_result;
use crate::step::{Aside, Call, Card, Kind, Step, Text};
use crate::{claude, codex, cursor, gemini, opencode};

/// Calls that may be open at once; a further one is lost, and said to be.
const MOST_OPEN: usize = 1024;

/// Makes steps of events.
pub(crate) trait Decode {
    /// The steps of one event; `false` if it is none of the dialect.
    fn event(&mut self, event: Object, into: &mut Steps<'_>) -> bool;
    /// What was held back until the end of the source.
    fn finish(&mut self, into: &mut Steps<'_>);
}

/// Writes steps, whose cards are in its own form.
pub(crate) trait Encode {
    /// Appends whole lines.
    fn step(&mut self, step: Step, out: &mut Vec<u8>);
}

/// Where a decoder puts what it finds.
pub(crate) struct Steps<'a> {
    steps: Vec<Step>,
    losses: &'a mut Losses,
    line: u64,
}

impl Steps<'_> {
    pub(crate) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// An event or a key that no step holds.
    pub(crate) fn lose(&mut self, key: &str) {
        self.losses.add(self.line, key, None, How::Dropped);
    }

    /// Several that became one.
    pub(crate) fn join(&mut self, key: &str) {
        self.losses.add(self.line, key, None, How::Joined);
    }

    /// The keys of an event that nobody took.
    pub(crate) fn lose_rest(&mut self, event: &str, rest: &Object) {
        let kept = rest.iter().filter(|(_, value)| !crate::difference::says_nothing(value));
        for (key, _) in kept {
            self.losses.add(self.line, &format!("{event}.{key}"), None, How::Dropped);
        }
    }
}

/// Converts one stream, line by line.
///
/// Where source and target are the same dialect, bytes go through as they are.
pub struct Converter {
    from: Dialect,
    to: Dialect,
    decoder: Box<dyn Decode + Send>,
    encoder: Box<dyn Encode + Send>,
    losses: Losses,
    /// Lines so far.
    line: u64,
    /// The first line that had an event.
    first: Option<u64>,
    /// An event of the dialect was there.
    known: bool,
    begun: bool,
    ended: bool,
    /// Where the run works, as the source says and as the target does.
    cwd: (String, String),
    /// The calls that have begun and not ended.
    open: HashMap<String, Card>,
    /// A call whose id others share was there.
    shared: bool,
    /// The text that waits for the end of its segment.
    held: Option<Text>,
    /// The last step was a text.
    in_text: bool,
}

impl Converter {
    /// A converter before the first line.
    pub fn new(from: Dialect, to: Dialect) -> Self {
        Self {
            from,
            to,
            decoder: match from {
                Dialect::Cursor => Box::new(cursor::Decoder::default()),
                Dialect::Claude => Box::new(claude::Decoder::default()),
                Dialect::Codex => Box::new(codex::Decoder::default()),
                Dialect::Gemini => Box::new(gemini::Decoder::default()),
                Dialect::Opencode => Box::new(opencode::Decoder::default()),
            },
            encoder: match to {
                Dialect::Cursor => Box::new(cursor::Encoder::default()),
                Dialect::Claude => Box::new(claude::Encoder::default()),
                Dialect::Codex => Box::new(codex::Encoder::default()),
                Dialect::Gemini => Box::new(gemini::Encoder),
                Dialect::Opencode => Box::new(opencode::Encoder::default()),
            },
            losses: Losses::default(),
            line: 0,
            first: None,
            known: false,
            begun: false,
            ended: false,
            cwd: ("/".to_owned(), "/".to_owned()),
            open: HashMap::new(),
            shared: false,
            held: None,
            in_text: false,
        }
    }

    /// Takes one line of the source, with or without its end, and appends whole lines of the target to `out`.
    ///
    /// Blank lines mean nothing. An event that is not known is a loss.
    ///
    /// # Errors
    /// The line is no event at all. What is in `out` stands; nothing of the line is in it.
    pub fn line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<(), ConvertError> {
        self.line += 1;
        if self.from == self.to {
            out.extend_from_slice(line);
        }
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let event = self.parse(line).inspect_err(|_| {
            if self.from == self.to {
                out.truncate(out.len().saturating_sub(line.len()));
            }
        })?;
        self.first.get_or_insert(self.line);
        let name = name_of(&event);
        if self.ended && self.from != self.to {
            self.losses.add(self.line, &name, None, How::Dropped);
            return Ok(());
        }
        let mut dropped = Losses::default();
        // The same dialect has nothing to lose.
        let losses = if self.from == self.to { &mut dropped } else { &mut self.losses };
        let mut steps = Steps { steps: Vec::new(), losses, line: self.line };
        if self.decoder.event(event, &mut steps) {
            self.known = true;
        } else {
            steps.lose(&name);
        }
        let steps = steps.steps;
        if self.from != self.to {
            steps.into_iter().for_each(|step| self.take(step, out));
        }
        Ok(())
    }

    /// The end of the source: appends what was held back, and gives what the target could not say.
    ///
    /// # Errors
    /// There were events, and none of them was one of the dialect.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<Losses, ConvertError> {
        if let (Some(line), false) = (self.first, self.known) {
            return Err(ConvertError::OtherDialect { line, dialect: self.from });
        }
        if self.from == self.to {
            return Ok(self.losses);
        }
        if !self.ended {
            let mut steps = Steps { steps: Vec::new(), losses: &mut self.losses, line: self.line };
            self.decoder.finish(&mut steps);
            let steps = steps.steps;
            steps.into_iter().for_each(|step| self.take(step, out));
        }
        self.flush(None, out);
        self.open
            .drain()
            .map(|(_, card)| card)
            .collect::<Vec<_>>()
            .iter()
            .for_each(|card| self.compare(Kind::Call, card));
        Ok(self.losses)
    }

    fn parse(&self, line: &[u8]) -> Result<Object, ConvertError> {
        let number = self.line;
        let text = std::str::from_utf8(line).map_err(|_| ConvertError::NotUtf8 { line: number })?;
        // Windows, and editors that mark their files.
        let text = text.trim_ascii().trim_start_matches('\u{feff}');
        let value: Value = ibeam_wire::parse(text).map_err(|error| ConvertError::NotJson {
            line: number,
            column: error.column() as u64,
            said: without_place(&error),
        })?;
        match value {
            Value::Object(object) if object.get("type").is_some_and(Value::is_string) => Ok(object),
            _ => Err(ConvertError::NotAnEvent { line: number }),
        }
    }

    /// Says one step in the target.
    fn take(&mut self, step: Step, out: &mut Vec<u8>) {
        if self.ended {
            return self.losses.add(self.line, "after the end", None, How::Dropped);
        }
        match step {
            Step::Init { session, card } => {
                if self.begun {
                    return self.losses.add(self.line, "system/init", None, How::Dropped);
                }
                self.begin(&session, card, out);
            }
            step => {
                if !self.begun {
                    self.begin("", Value::Object(Object::new()), out);
                }
                self.take_body(step, out);
            }
        }
    }

    fn begin(&mut self, session: &str, card: Card, out: &mut Vec<u8>) {
        self.begun = true;
        self.compare(Kind::Init, &card);
        let said = form::session(self.to, session);
        if form::session(self.from, &said) != session {
            self.losses.add(self.line, form::session_key(self.from), None, How::Changed);
        }
        let ours = form::to_ours(self.from, Kind::Init, card, "/");
        form::cwd_of(&ours).clone_into(&mut self.cwd.0);
        let card = form::from_ours(self.to, Kind::Init, ours);
        form::cwd_of(&form::to_ours(self.to, Kind::Init, card.clone(), "/")).clone_into(&mut self.cwd.1);
        self.encoder.step(Step::Init { session: said, card }, out);
    }

    fn take_body(&mut self, step: Step, out: &mut Vec<u8>) {
        if let Step::Text(text) = step {
            return self.text(text, out);
        }
        self.in_text = false;
        let answer = match &step {
            Step::Started(call) => call.answer.clone(),
            Step::Init { .. }
            | Step::Prompt(_)
            | Step::Text(_)
            | Step::Thought(_)
            | Step::Ended(_)
            | Step::End(_) => None,
        };
        self.flush(answer, out);
        match step {
            Step::Prompt(blocks) => {
                if !self.says(Aside::Prompt, !blocks.iter().all(String::is_empty), How::Dropped) {
                    return;
                }
                self.says(Aside::Blocks, blocks.len() > 1, How::Joined);
                self.encoder.step(Step::Prompt(blocks), out);
            }
            Step::Thought(thought) => {
                if self.says(Aside::Thought, true, How::Dropped) {
                    self.encoder.step(Step::Thought(thought), out);
                }
            }
            Step::Started(call) => self.started(call, out),
            Step::Ended(call) => self.ended(call, out),
            Step::End(card) => {
                for card in std::mem::take(&mut self.open).into_values() {
                    self.compare(Kind::Call, &card);
                }
                self.compare(Kind::End, &card);
                let ours = form::to_ours(self.from, Kind::End, card, &self.cwd.0);
                self.encoder.step(Step::End(form::from_ours(self.to, Kind::End, ours)), out);
                self.ended = true;
            }
            Step::Init { .. } | Step::Text(_) => {}
        }
    }

    /// Whether the target has a place for what is there; a loss if it has none.
    fn says(&mut self, aside: Aside, there: bool, how: How) -> bool {
        let says = form::place(self.to, aside).is_some();
        if there && !says {
            let name = form::place(self.from, aside).unwrap_or("?");
            self.losses.add(self.line, name, None, how);
        }
        says
    }

    fn text(&mut self, mut text: Text, out: &mut Vec<u8>) {
        if self.in_text && (form::whole_texts(self.from) || form::whole_texts(self.to)) {
            let name = form::place(self.from, Aside::Pieces).unwrap_or("?");
            self.losses.add(self.line, name, None, How::Joined);
        }
        self.in_text = true;
        if !self.says(Aside::TextAt, text.at.is_some(), How::Dropped) {
            text.at = None;
        }
        if !self.says(Aside::TextAnswer, text.answer.is_some(), How::Dropped) {
            text.answer = None;
        }
        if !form::whole_texts(self.to) {
            return self.encoder.step(Step::Text(text), out);
        }
        match &mut self.held {
            Some(held) => {
                held.text.push_str(&text.text);
                held.at = text.at.or(held.at);
                if held.answer.is_none() {
                    held.answer = text.answer;
                }
            }
            None => self.held = Some(text),
        }
    }

    /// Says the segment that is over; `answer` is that of the call which ended it.
    fn flush(&mut self, answer: Option<String>, out: &mut Vec<u8>) {
        if let Some(mut text) = self.held.take() {
            text.answer = text.answer.or(answer);
            self.encoder.step(Step::Text(text), out);
        }
    }

    fn started(&mut self, call: Call, out: &mut Vec<u8>) {
        if self.open.len() >= MOST_OPEN || self.open.contains_key(&call.id) {
            let tool = form::tool_of(self.from, &call.card);
            let name = form::place(self.from, Aside::Call).unwrap_or("?");
            return self.losses.add(self.line, name, tool, How::Dropped);
        }
        self.says(Aside::StartAt, call.at.is_some(), How::Dropped);
        self.says(Aside::CallAnswer, call.answer.is_some(), How::Dropped);
        self.open.insert(call.id.clone(), call.card.clone());
        let mut ours = form::to_ours(self.from, Kind::Call, call.card, &self.cwd.0);
        without_result(&mut ours);
        let card = form::from_ours(self.to, Kind::Call, ours);
        if form::shares_id(self.to, &card) && std::mem::replace(&mut self.shared, true) {
            let keys = form::call_id_keys(self.from);
            keys.iter().for_each(|key| self.losses.add(self.line, key, None, How::Changed));
        }
        self.encoder.step(Step::Started(Call { card, ..call }), out);
    }

    fn ended(&mut self, call: Call, out: &mut Vec<u8>) {
        if !self.open.contains_key(&call.id) {
            self.started(call.clone(), out);
        }
        let Some(begun) = self.open.remove(&call.id) else { return };
        self.says(Aside::EndAt, call.at.is_some(), How::Dropped);
        self.compare(Kind::Call, &call.card);
        let (losses, line) = (&mut self.losses, self.line);
        let tool = form::tool_of(self.from, &call.card);
        form::changes_of(self.from, &begun, &call.card, &mut |key, how| losses.add(line, key, tool, how));
        // A call ends as it began; what it gave is all that is new.
        let ended = form::to_ours(self.from, Kind::Call, call.card, &self.cwd.0);
        let mut ours = form::to_ours(self.from, Kind::Call, begun, &self.cwd.0);
        without_result(&mut ours);
        if let Some(result) = result_of(ended) {
            set_result(&mut ours, result);
        }
        let card = form::from_ours(self.to, Kind::Call, ours);
        self.encoder.step(Step::Ended(Call { card, ..call }), out);
    }

    /// Notes what of a card the target cannot say.
    fn compare(&mut self, kind: Kind, card: &Card) {
        let (losses, line) = (&mut self.losses, self.line);
        let tool = form::tool_of(self.from, card).filter(|_| kind == Kind::Call);
        let cwd = (self.cwd.0.as_str(), self.cwd.1.as_str());
        form::losses_of((self.from, self.to), kind, card, cwd, &mut |key, how| {
            losses.add(line, key, tool, how)
        });
    }
}

impl std::fmt::Debug for Converter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from, to, line, .. } = self;
        f.debug_struct("Converter")
            .field("from", from)
            .field("to", to)
            .field("line", line)
            .finish_non_exhaustive()
    }
}

/// What the parser says, without a line of its own.
fn without_place(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.rsplit_once(" at line ").map_or(said.clone(), |(said, _)| said.to_owned())
}

/// `type`, or `type/subtype`, or the kinds of what stands inside.
fn name_of(event: &Object) -> String {
    let kind = text(event, "type").unwrap_or_default();
    let inner = text(event, "subtype")
        .or_else(|| event.get("event")?.get("type")?.as_str())
        .or_else(|| event.get("item")?.get("type")?.as_str());
    inner.map_or_else(|| kind.to_owned(), |inner| format!("{kind}/{inner}"))
}

/// What a call of contract 1 gave.
fn result_of(mut card: Card) -> Option<Value> {
    let call = card.get_mut("tool_call")?.as_object_mut()?;
    call.values_mut().next()?.as_object_mut()?.shift_remove("result")
}

/// A call of contract 1 as it begins.
fn without_result(card: &mut Card) {
    if let Some(call) = card.get_mut("tool_call").and_then(Value::as_object_mut) {
        for (_, body) in call.iter_mut() {
            let mut object = into_object(body.take());
            object.shift_remove("result");
            *body = Value::Object(object);
        }
    }
}
