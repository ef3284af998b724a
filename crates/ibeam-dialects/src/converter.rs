//! The way of a stream from one dialect to another.

mod calls;

use std::collections::HashMap;

use serde_json::Value;

use crate::dialect::DialectName;
use crate::error::ConvertError;
use crate::form;
use crate::json::Object;
use crate::losses::{LossKind, Losses};
use crate::step::{Aside, Card, Kind, Step, Text};
use crate::steps::{Decode, Encode, Steps};
use crate::{claude, codex, cursor, gemini, line, opencode};

/// The most bytes of a segment that are held; a longer one is said in pieces.
const MOST_HELD: usize = 16 << 20;

/// Converts one stream, line by line.
///
/// Where source and target are the same dialect, bytes go through as they are.
pub struct Converter {
    from: DialectName,
    to: DialectName,
    decoder: Box<dyn Decode + Send>,
    encoder: Box<dyn Encode + Send>,
    losses: Losses,
    /// Lines so far.
    line: u64,
    /// What the event of the last line is called.
    event: String,
    /// What the event is called that the run began with.
    head: String,
    /// The first line that had an event.
    first: Option<u64>,
    /// An event of the dialect was there.
    known: bool,
    begun: bool,
    ended: bool,
    /// Where the run works, as the source says and as the target does.
    cwd: (String, String),
    /// The same as the source says it; empty where it does not.
    base: String,
    /// The calls that have begun and not ended.
    open: HashMap<String, Card>,
    /// A call whose id others share was there.
    shared: bool,
    /// The text that waits for the end of its segment.
    held: Option<Text>,
    /// The last step was a text.
    in_text: bool,
    /// Something was said after the head.
    spoken: bool,
    /// Something was written.
    written: bool,
}

impl Converter {
    /// A converter before the first line.
    pub fn new(from: DialectName, to: DialectName) -> Self {
        Self {
            from,
            to,
            decoder: match from {
                DialectName::Cursor => Box::new(cursor::Decoder::default()),
                DialectName::Claude => Box::new(claude::Decoder::default()),
                DialectName::Codex => Box::new(codex::Decoder::default()),
                DialectName::Gemini => Box::new(gemini::Decoder::default()),
                DialectName::Opencode => Box::new(opencode::Decoder::default()),
            },
            encoder: match to {
                DialectName::Cursor => Box::new(cursor::Encoder::default()),
                DialectName::Claude => Box::new(claude::Encoder::default()),
                DialectName::Codex => Box::new(codex::Encoder::default()),
                DialectName::Gemini => Box::new(gemini::Encoder::default()),
                DialectName::Opencode => Box::new(opencode::Encoder::default()),
            },
            losses: Losses::default(),
            line: 0,
            event: String::new(),
            head: String::new(),
            first: None,
            known: false,
            begun: false,
            ended: false,
            cwd: ("/".to_owned(), "/".to_owned()),
            base: String::new(),
            open: HashMap::new(),
            shared: false,
            held: None,
            in_text: false,
            spoken: false,
            written: false,
        }
    }

    /// The same for a run that goes on, which began at `began_ms` (milliseconds since 1970).
    ///
    /// Ids that the target makes up are made of `run` too, so those of two runs of one session differ; times that it
    /// wants before one is known are that of the beginning.
    #[must_use]
    pub fn live(mut self, run: &str, began_ms: u64) -> Self {
        self.encoder.live(run, began_ms);
        self
    }

    /// Sets the present time (milliseconds since 1970) of a run that goes on, for lines of the target that want a time
    /// and come from an event without one.
    pub fn set_time(&mut self, now_ms: u64) {
        self.encoder.set_time(now_ms);
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
        let event = line::parse(line, self.line).inspect_err(|_| {
            if self.from == self.to {
                out.truncate(out.len().saturating_sub(line.len()));
            }
        })?;
        self.first.get_or_insert(self.line);
        self.event = line::name_of(&event);
        if self.ended && self.from != self.to {
            self.losses.add(self.line, &self.event, None, LossKind::Dropped);
            return Ok(());
        }
        let mut dropped = Losses::default();
        // The same dialect has nothing to lose.
        let losses = if self.from == self.to { &mut dropped } else { &mut self.losses };
        let mut steps = Steps::of(self.line, losses);
        if self.decoder.event(event, &mut steps) {
            self.known = true;
        } else {
            steps.lose(&self.event);
        }
        let steps = steps.into_steps();
        if self.from != self.to {
            let before = out.len();
            steps.into_iter().for_each(|step| self.take(step, out));
            self.written |= out.len() > before;
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
        let before = out.len();
        if !self.ended {
            let mut steps = Steps::of(self.line, &mut self.losses);
            self.decoder.finish(&mut steps);
            let steps = steps.into_steps();
            steps.into_iter().for_each(|step| self.take(step, out));
        }
        self.flush(None, out);
        self.encoder.finish(out);
        self.leave_open();
        if self.begun && !self.written && out.len() == before {
            // Without a line there is nothing of the head either.
            self.losses.add(self.line, &self.head, None, LossKind::Dropped);
        }
        Ok(self.losses)
    }

    /// Says one step in the target.
    fn take(&mut self, step: Step, out: &mut Vec<u8>) {
        if self.ended {
            return self.losses.add(self.line, &self.event, None, LossKind::Dropped);
        }
        match step {
            Step::Init { session, card } => {
                if self.begun {
                    return self.losses.add(self.line, &self.event, None, LossKind::Dropped);
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
        self.head.clone_from(&self.event);
        self.compare(Kind::Init, &card);
        let said = form::session(self.to, session);
        if form::session(self.from, &said) != session {
            self.losses.add(self.line, form::session_key(self.from), None, LossKind::Changed);
        }
        let ours = form::to_ours(self.from, Kind::Init, card, "/");
        form::cwd_of(&ours).clone_into(&mut self.cwd.0);
        form::known_cwd_of(&ours).unwrap_or_default().clone_into(&mut self.base);
        let card = form::from_ours(self.to, Kind::Init, ours, &self.base);
        form::cwd_of(&form::to_ours(self.to, Kind::Init, card.clone(), "/")).clone_into(&mut self.cwd.1);
        self.encoder.step(Step::Init { session: said, card }, out);
    }

    fn take_body(&mut self, step: Step, out: &mut Vec<u8>) {
        // A thought that the target does not say is nothing said.
        let silent = matches!(step, Step::Thought(_)) && form::place(self.to, Aside::Thought).is_none();
        let spoken = self.spoken;
        self.spoken |= !silent;
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
                let there = !blocks.iter().all(String::is_empty);
                if spoken && form::prompt_is_first(self.to) {
                    return if there {
                        self.lose(Aside::Prompt, LossKind::Dropped)
                    };
                }
                if !self.says(Aside::Prompt, there, LossKind::Dropped) {
                    return;
                }
                self.says(Aside::Blocks, blocks.len() > 1, LossKind::Joined);
                self.encoder.step(Step::Prompt(blocks), out);
            }
            Step::Thought(thought) => {
                if self.says(Aside::Thought, true, LossKind::Dropped) {
                    self.encoder.step(Step::Thought(thought), out);
                }
            }
            Step::Started(call) => self.started(call, out),
            Step::Ended(call) => self.ended(call, out),
            Step::End(card) => {
                self.leave_open();
                self.compare(Kind::End, &card);
                let ours = form::to_ours(self.from, Kind::End, card, &self.cwd.0);
                self.encoder.step(Step::End(form::from_ours(self.to, Kind::End, ours, &self.base)), out);
                self.ended = true;
            }
            Step::Init { .. } | Step::Text(_) => {}
        }
    }

    /// Whether the target has a place for what is there; a loss if it has none.
    fn says(&mut self, aside: Aside, there: bool, how: LossKind) -> bool {
        let says = form::place(self.to, aside).is_some();
        if there && !says {
            self.lose(aside, how);
        }
        says
    }

    fn lose(&mut self, aside: Aside, how: LossKind) {
        self.losses.add(self.line, form::place(self.from, aside).unwrap_or("?"), None, how);
    }

    fn text(&mut self, mut text: Text, out: &mut Vec<u8>) {
        if self.in_text && (form::whole_texts(self.from) || form::whole_texts(self.to)) {
            self.lose(Aside::Pieces, LossKind::Joined);
        }
        self.in_text = true;
        if !self.says(Aside::TextAt, text.at.is_some(), LossKind::Dropped) {
            text.at = None;
        }
        if !self.says(Aside::TextAnswer, text.answer.is_some(), LossKind::Dropped) {
            text.answer = None;
        }
        if !form::whole_texts(self.to) {
            return self.encoder.step(Step::Text(text), out);
        }
        let held = self.held.get_or_insert_default();
        held.text.push_str(&text.text);
        held.at = text.at.or(held.at);
        held.answer = held.answer.take().or(text.answer);
        if held.text.len() >= MOST_HELD {
            self.flush(None, out);
        }
    }

    /// Says the segment that is over; `answer` is that of the call which ended it.
    fn flush(&mut self, answer: Option<String>, out: &mut Vec<u8>) {
        if let Some(mut text) = self.held.take() {
            text.answer = text.answer.or(answer);
            self.encoder.step(Step::Text(text), out);
        }
    }

    /// Notes what of a card the target cannot say.
    fn compare(&mut self, kind: Kind, card: &Card) {
        let (losses, line) = (&mut self.losses, self.line);
        let tool = form::tool_of(self.from, card).filter(|_| kind == Kind::Call);
        let cwd = (self.cwd.0.as_str(), self.cwd.1.as_str(), self.base.as_str());
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
