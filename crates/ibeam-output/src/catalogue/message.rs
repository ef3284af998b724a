//! A message id with what fills its gaps.

use std::borrow::Cow;

use fluent_bundle::{FluentArgs, FluentValue};

use crate::printable::one_line;

/// A message to be said in some language.
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

    /// Foreign text, made printable on one line.
    pub(crate) fn text(mut self, name: impl Into<Cow<'static, str>>, text: &str) -> Self {
        self.args.set(name, FluentValue::from(one_line(text.trim())));
        self
    }

    /// Text as it stands, which its giver has made fit to be shown.
    pub(crate) fn exact(mut self, name: impl Into<Cow<'static, str>>, text: &str) -> Self {
        self.args.set(name, FluentValue::from(text.to_owned()));
        self
    }

    /// A number that may choose between singular and plural.
    pub(crate) fn count(mut self, name: impl Into<Cow<'static, str>>, count: impl Into<u64>) -> Self {
        self.args.set(name, FluentValue::from(count.into()));
        self
    }

    /// Milliseconds, said in seconds to one decimal under the name `seconds`.
    pub(crate) fn seconds(mut self, ms: u64) -> Self {
        let tenths = ms.saturating_add(50) / 100;
        let shown = match (tenths / 10, tenths % 10) {
            (whole, 0) => whole.to_string(),
            (whole, tenth) => format!("{whole}.{tenth}"),
        };
        self.args.set("seconds", FluentValue::from(shown));
        self
    }
}
