//! Messages: an id of the locale files and its arguments.
//!
//! The messages of failures, notices and [lines](super::lines) are derived from their serialized form. The tag of a variant is
//! the end of its message id: `unknown_session` is `reason-unknown-session`. Its fields are the arguments, under their
//! serialized names. A new variant needs no code here, unless its message depends on more than its fields.

use std::borrow::Cow;

use fluent_bundle::types::FluentNumber;
use fluent_bundle::{FluentArgs, FluentValue};
use ibeam_protocol::json::tag_and_fields;
use ibeam_protocol::{LimitKind, Notice, Reason, RequestPart};
use serde::Serialize;
use serde_json::Value;

use super::Catalogue;
use super::lines::CatalogueLine;
use crate::text::printable_line;

/// The names of numbers that say where something is, or which one it is. Their digits are not grouped.
const POSITIONS: [&str; 8] = ["attempt", "column", "exit_code", "line", "run", "runs", "turn", "turns"];

/// A message before it is rendered in a language.
pub(crate) struct Message {
    pub(crate) id: Cow<'static, str>,
    pub(crate) args: FluentArgs<'static>,
}

impl Message {
    pub(crate) fn new(id: impl Into<Cow<'static, str>>) -> Self {
        Self { id: id.into(), args: FluentArgs::new() }
    }

    /// Returns the same arguments for another message.
    pub(crate) fn with_id(self, id: &'static str) -> Self {
        Self { id: id.into(), ..self }
    }

    /// Adds a text, made printable on one line.
    pub(crate) fn text(mut self, name: impl Into<Cow<'static, str>>, text: &str) -> Self {
        self.args.set(name, FluentValue::from(printable_line(text.trim())));
        self
    }

    /// Adds a text unchanged; the caller has made it printable.
    pub(crate) fn unescaped_text(mut self, name: impl Into<Cow<'static, str>>, text: &str) -> Self {
        self.args.set(name, FluentValue::from(text.to_owned()));
        self
    }

    /// Adds a number, which may select singular or plural.
    pub(crate) fn count(mut self, name: impl Into<Cow<'static, str>>, count: impl Into<u64>) -> Self {
        let name = name.into();
        let mut value = FluentValue::from(count.into());
        if let FluentValue::Number(number) = &mut value {
            number.options.use_grouping = !POSITIONS.contains(&name.as_ref());
        }
        self.args.set(name, value);
        self
    }

    /// Adds a number with decimals, in the form of English.
    fn decimal(mut self, name: impl Into<Cow<'static, str>>, shown: &str) -> Self {
        let number = shown.parse::<FluentNumber>();
        self.args.set(name, number.map_or_else(|_| shown.to_owned().into(), FluentValue::Number));
        self
    }

    /// Adds milliseconds as seconds, under the name `seconds`: to one decimal, and less than a second exactly. Not rounded
    /// up, because what took longer than a limit may have taken less than the next decimal.
    pub(crate) fn seconds(self, ms: u64) -> Self {
        let tenths = ms / 100;
        let shown = match (tenths / 10, tenths % 10) {
            _ if ms < 1000 => format!("0.{ms:03}").trim_end_matches('0').trim_end_matches('.').to_owned(),
            (whole, 0) => whole.to_string(),
            (whole, tenth) => format!("{whole}.{tenth}"),
        };
        self.decimal("seconds", &shown)
    }
}

/// Returns the message of a line.
pub(crate) fn line_message<L: CatalogueLine>(line: &L) -> Message {
    variant_message(L::PREFIX, line)
}

/// Returns the message of a failure that ended a run.
pub(crate) fn reason_message(reason: &Reason) -> Message {
    let message = variant_message("reason", reason);
    if let Reason::UnknownModel { provider: None, .. } = reason {
        message.with_id("reason-model-without-provider")
    } else if let Reason::ModelNotInstalled { without_key: true, .. } = reason {
        message.with_id("reason-no-key-and-no-model")
    } else if let Reason::KeyRefused { source: Some(_), .. } = reason {
        message.with_id("reason-key-refused-of-source")
    } else if let Reason::BadRequest { part, .. } = reason {
        message.with_id(match part {
            RequestPart::Unknown => "reason-bad-request",
            RequestPart::Reasoning => "reason-bad-request-reasoning",
            RequestPart::Tools => "reason-bad-request-tools",
            RequestPart::Media => "reason-bad-request-media",
            RequestPart::OutputLimit => "reason-bad-request-output-limit",
        })
    } else if let Reason::Signalled(signal) = reason {
        message.text("signal", signal.name())
    } else {
        message
    }
}

/// Returns the message of a notice. `catalogue` has the sentence of a failure inside it.
pub(crate) fn notice_message(notice: &Notice, catalogue: &Catalogue) -> Message {
    let message = variant_message("notice", notice);
    if let Notice::AnswerInterrupted { reason }
    | Notice::ModelFallback { reason, .. }
    | Notice::FallbackUnusable { reason, .. } = notice
    {
        message.text("message", &catalogue.reason(reason).message)
    } else if let Notice::LimitNear { kind, .. } = notice {
        message.with_id(match kind {
            LimitKind::Turns => "notice-turns-near",
            LimitKind::Tokens => "notice-tokens-near",
            LimitKind::Cost => "notice-cost-near",
            LimitKind::ToolCalls => "notice-calls-near",
            LimitKind::Time => "notice-time-near",
        })
    } else if let Notice::UnknownConfigKey { near: Some(_), .. } = notice {
        message.with_id("notice-unknown-config-key-near")
    } else {
        message
    }
}

/// Returns the message whose id is `prefix` and the tag of `variant`, a value of an externally tagged enum.
pub(crate) fn variant_message(prefix: &str, variant: &impl Serialize) -> Message {
    let (tag, fields) = tag_and_fields(variant);
    let message = Message::new(format!("{prefix}-{}", tag.replace('_', "-")));
    let place = fields.get("path").map(|path| place(path, [fields.get("line"), fields.get("column")]));
    let message = place.into_iter().fold(message, |message, place| message.text("place", &place));
    fields.into_iter().fold(message, |message, (name, value)| with_field(message, name, &value))
}

/// Adds the argument of a field. The suffix of the name of a number is its unit, which selects its format.
fn with_field(message: Message, name: String, value: &Value) -> Message {
    match value {
        Value::String(text) => message.text(name, text),
        Value::Bool(is_true) => message.text(name, if *is_true { "yes" } else { "no" }),
        Value::Number(number) => {
            let number = number.as_u64().unwrap_or_default();
            if name.ends_with("_ms") {
                message.seconds(number)
            } else if name.ends_with("_bytes") {
                message.text("megabytes", &(number >> 20).to_string())
            } else if let Some(name) = name.strip_suffix("_micros") {
                message.decimal(name.to_owned(), &dollars(number))
            } else {
                message.count(name, number)
            }
        }
        // An absent value, or one that the catalogue shows separately.
        Value::Null | Value::Array(_) | Value::Object(_) => message,
    }
}

/// Returns the known parts of `path:line:column`, a form that editors open.
fn place(path: &Value, line_and_column: [Option<&Value>; 2]) -> String {
    let path = path.as_str().unwrap_or_default().to_owned();
    let numbers = line_and_column.into_iter().map_while(|number| number.and_then(Value::as_u64));
    numbers.fold(path, |place, number| format!("{place}:{number}"))
}

/// Returns millionths of a dollar as `0.50`, with more decimal places only where they are needed.
fn dollars(micros: u64) -> String {
    let (dollars, part) = (micros / 1_000_000, micros % 1_000_000);
    let places = format!("{part:06}");
    let shown = places.trim_end_matches('0');
    format!("{dollars}.{shown:0<2}")
}
