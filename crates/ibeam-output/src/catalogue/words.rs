//! A message id with what fills its gaps.

use fluent_bundle::{FluentArgs, FluentValue};

use crate::printable::one_line;

/// A message to be said in some language.
pub(crate) struct Words {
    pub(crate) id: &'static str,
    pub(crate) args: FluentArgs<'static>,
}

impl Words {
    pub(crate) fn new(id: &'static str) -> Self {
        Self { id, args: FluentArgs::new() }
    }

    /// Foreign text, made printable on one line.
    pub(crate) fn text(mut self, name: &'static str, text: &str) -> Self {
        self.args.set(name, FluentValue::from(one_line(text.trim())));
        self
    }

    /// A number that may choose between singular and plural.
    pub(crate) fn count(mut self, name: &'static str, count: impl Into<u64>) -> Self {
        self.args.set(name, FluentValue::from(count.into()));
        self
    }

    /// Milliseconds, said in seconds under the name `seconds`.
    pub(crate) fn seconds(mut self, ms: u64) -> Self {
        let (whole, rest) = (ms / 1000, ms % 1000);
        let text = if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:03}") };
        // Text, not a number: no sentence chooses a plural by it, and no locale groups its digits.
        let shown = if rest == 0 { text } else { text.trim_end_matches('0').to_owned() };
        self.args.set("seconds", FluentValue::from(shown));
        self
    }
}
