//! The lines that a program writes to stdin with `--input-format stream-json`: their types and their reader.
//!
//! Reading is strict, because a message that is not understood must not be executed: only unknown keys outside of
//! `ibeam` are ignored.

use std::fmt;
use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::check;
use crate::describe::{Describe, DescribeObject, Object, Shape, contract_object};
use crate::lines::{Line, Lines};
use crate::scan;

/// The maximum length of a line of stdin, in bytes: 64 MiB. No model accepts that much.
pub const MAX_INPUT_LINE_BYTES: u64 = 64 << 20;

contract_object! {
    /// A message of the user. A `user` line of the output without attached files has the same form and can be written to
    /// stdin again.
    pub struct UserInput type "user" {
        /// The message.
        required message("message"): InputMessage,
        /// Ignored: the process has one session.
        optional session_id("session_id"): Option<String>,
        /// The options of the message.
        optional ibeam("ibeam", is_addition: true): Option<InputOptions>,
    }
}

contract_object! {
    /// The role and the content of a message.
    pub struct InputMessage {
        /// The author of the message.
        required role("role", shape: Shape::Enum(&["user"])): String,
        /// The blocks of the message; at least one has a text that is not blank. A string is a block of text.
        required content("content", shape: Shape::TextOrNonEmptyList(&InputBlock::SHAPE)): Vec<InputBlock>,
    }
}

contract_object! {
    /// A text, an image or a document.
    pub struct InputBlock {
        /// The type of the block.
        required kind("type", shape: Shape::Enum(&["text", "image", "document"])): String,
        /// The text; present if the type is `text`.
        optional text("text"): Option<String>,
        /// The content; present if the type is `image` or `document`.
        optional source("source", is_addition: true): Option<MediaSource>,
    }
}

contract_object! {
    /// The content of an image or a document.
    pub struct MediaSource {
        /// The form of the content.
        required kind("type", shape: Shape::Enum(&["base64"])): String,
        /// The type of the file.
        required media_type("media_type", shape: Shape::Enum(&["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"])): String,
        /// The file as Base64 with padding.
        required data("data"): String,
    }
}

contract_object! {
    /// The options of a message.
    pub struct InputOptions {
        /// The turn of a message that arrives while a turn runs: `queue` (the default) starts a turn of its own after
        /// the running one, `steer` adds the message to the next model request of the running turn.
        optional delivery("delivery"): Option<Delivery>,
    }
}

contract_object! {
    /// Ends the turn that is running, or else the turn of the next waiting message as soon as it starts. The last line
    /// of that turn is an `error` with the code `signal`. Without such a turn it has no effect.
    pub struct InterruptInput type "interrupt" {
        /// Ignored: the process has one session.
        optional session_id("session_id"): Option<String>,
    }
}

/// The turn of a message that arrives while another turn runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// A turn of its own, after the turns of the messages before it.
    #[default]
    Queue,
    /// The running turn, from its next model request on. If it makes no further request, as [`Self::Queue`].
    Steer,
}

impl Describe for Delivery {
    const SHAPE: Shape = Shape::Enum(&["queue", "steer"]);
}

/// A line of stdin.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A message of the user.
    Message(UserInput),
    /// A request to end the running turn.
    Interrupt,
}

impl UserInput {
    /// Returns the delivery that the message asks for.
    pub fn delivery(&self) -> Delivery {
        self.ibeam.as_ref().and_then(|options| options.delivery).unwrap_or_default()
    }
}

/// Iterates over the lines of stdin. Blank lines are skipped. After an error it ends.
#[derive(Debug)]
pub struct InputReader<R> {
    lines: Lines<R>,
    is_finished: bool,
}

/// An error of a line, which ends the input.
#[derive(Debug)]
pub struct InputError {
    /// The line number, from 1.
    pub line: u64,
    /// The kind of the error.
    pub kind: InputErrorKind,
}

/// The kind of an error of a line.
#[derive(Debug)]
#[non_exhaustive]
pub enum InputErrorKind {
    /// The input failed.
    Io(io::Error),
    /// The line is too long, not UTF-8, not JSON or not a message: one English sentence with the column.
    Invalid(String),
}

impl<R: BufRead> InputReader<R> {
    /// Returns a reader that starts at the first line.
    pub fn new(stream: R) -> Self {
        Self { lines: Lines::with_limit(stream, MAX_INPUT_LINE_BYTES), is_finished: false }
    }

    /// Returns the number of the last line that was read, from 1.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }
}

impl<R: BufRead> Iterator for InputReader<R> {
    type Item = Result<Input, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_finished {
            let number = self.lines.number() + 1;
            let kind = match self.lines.next() {
                Ok(None) => {
                    self.is_finished = true;
                    return None;
                }
                Ok(Some(Line { bytes, is_cut: false, .. })) if bytes.trim_ascii().is_empty() => continue,
                Ok(Some(line)) => match parse_line(line) {
                    Ok(input) => return Some(Ok(input)),
                    Err(message) => InputErrorKind::Invalid(message),
                },
                Err(error) => InputErrorKind::Io(error),
            };
            self.is_finished = true;
            return Some(Err(InputError { line: number, kind }));
        }
        None
    }
}

fn parse_line(line: Line<'_>) -> Result<Input, String> {
    if line.is_cut {
        return Err(format!("it is longer than {} MiB", MAX_INPUT_LINE_BYTES >> 20));
    }
    let text = std::str::from_utf8(line.bytes).map_err(|error| {
        let valid = line.bytes.get(..error.valid_up_to()).unwrap_or_default();
        at_column(String::from_utf8_lossy(valid).chars().count() + 1, "not UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = scan::parse(text).map_err(|error| {
        at_column(
            scan::column_of(text, &error),
            &format!("not JSON: {}", scan::message_without_position(&error)),
        )
    })?;
    let object = match &value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err("it should be an object".to_owned());
        }
    };
    let kind = object.get("type").ok_or("`type` is missing; use `user` or `interrupt`")?;
    match kind.as_str() {
        Some("user") => parse_message(text, object).map(Input::Message),
        Some("interrupt") => check_object(text, InterruptInput::object(), object).map(|()| Input::Interrupt),
        Some(_) | None => {
            Err(format!("`type` should be `user` or `interrupt`, and is {}", check::excerpt_of(kind)))
        }
    }
}

/// Returns a message that is not empty and has no NUL.
fn parse_message(text: &str, object: &Map<String, Value>) -> Result<UserInput, String> {
    check_object(text, UserInput::object(), object)?;
    let options = object.get("ibeam").and_then(Value::as_object);
    if options.is_some_and(|options| options.contains_key("attachments")) {
        // The line was printed by ibeam for a message with files.
        return Err(
            "`ibeam.attachments` has only the names of files; add each file as a block of `message.content`"
                .to_owned(),
        );
    }
    let is_known = |name: &str| InputOptions::OBJECT.keys.iter().any(|key| key.name == name);
    if let Some(unknown) = options.and_then(|options| options.keys().find(|name| !is_known(name))) {
        // An option that this version does not know may change what the message does.
        return Err(format!(
            "`ibeam` has the unknown key {}",
            check::excerpt_of(&Value::from(unknown.as_str()))
        ));
    }
    let with_blocks = with_block_content(object);
    let text = with_blocks.as_deref().unwrap_or(text);
    let input: UserInput = scan::parse(text).map_err(|error| scan::message_without_position(&error))?;
    for (index, block) in input.message.content.iter().enumerate() {
        let key = if block.kind == "text" { "text" } else { "source" };
        if (block.text.is_some(), block.source.is_some()) != (key == "text", key == "source") {
            return Err(format!("`message.content[{index}]` should have the key `{key}` next to `type`"));
        }
    }
    let mut texts = input.message.content.iter().filter_map(|block| block.text.as_deref());
    if texts.clone().all(|text| text.trim().is_empty()) {
        return Err("the message has no text".to_owned());
    }
    match texts.any(|text| text.contains('\0')) {
        true => Err("the message has a NUL character".to_owned()),
        false => Ok(input),
    }
}

/// Returns the message with a block of text in place of a string; `None` for a message that has blocks.
fn with_block_content(object: &Map<String, Value>) -> Option<String> {
    let content = object.get("message")?.get("content")?.as_str()?;
    let mut object = object.clone();
    *object.get_mut("message")?.get_mut("content")? = json!([{ "type": "text", "text": content }]);
    serde_json::to_string(&object).ok()
}

fn check_object(text: &str, description: &'static Object, object: &Map<String, Value>) -> Result<(), String> {
    match check::first_error(text, description, object) {
        Some((column, message)) => Err(at_column(column, &message)),
        None => Ok(()),
    }
}

fn at_column(column: usize, message: &str) -> String {
    format!("column {column}: {message}")
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            InputErrorKind::Io(error) => write!(f, "line {}: cannot be read: {error}", self.line),
            InputErrorKind::Invalid(message) => write!(f, "line {}: {message}", self.line),
        }
    }
}

impl std::error::Error for InputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            InputErrorKind::Io(error) => Some(error),
            InputErrorKind::Invalid(_) => None,
        }
    }
}
