//! Removes secrets from the model's own text while it arrives.
//!
//! A secret may arrive in several deltas, so the end of a text that may be the beginning of a secret is held back until
//! the next delta decides. The first three bytes of a secret are released nevertheless: many deltas end in a letter with
//! which some form of a secret begins, and they should not be delayed. So other text is hardly ever held back.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use ibeam_protocol::{Answer, Block, RefusalDetails, ToolCall};
use serde_json::Value;

use super::MASK;
use super::percent::{self, Start};

/// The number of bytes of a secret that are released: most keys begin with such a prefix, which names their provider.
const RELEASED_PREFIX_BYTES: usize = 3;
/// The number of bytes at the end of a text from which on the beginning of a secret is masked.
const MIN_TRUNCATED_FORM_BYTES: usize = 12;

/// Finds the forms of secrets in the model's text and calls. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ModelTextRedactor(Option<Arc<Forms>>);

struct Forms {
    /// Sorted, so that forms with the same first byte are neighbours.
    sorted: Vec<String>,
    /// For each first byte, the range of its forms in `sorted`.
    beginning_with: Vec<Range<usize>>,
}

impl Forms {
    /// Returns the forms that begin with `byte`.
    fn beginning_with(&self, byte: u8) -> &[String] {
        let range = self.beginning_with.get(usize::from(byte)).cloned().unwrap_or_default();
        self.sorted.get(range).unwrap_or_default()
    }

    /// Whether a form may begin with `byte`, the first one of an escape included.
    fn has_form_with(&self, byte: u8) -> bool {
        byte == b'%' || self.beginning_with.get(usize::from(byte)).is_some_and(|range| !range.is_empty())
    }

    /// Returns the forms that `text` begins with.
    fn match_start(&self, text: &[u8]) -> FormMatch {
        let escaped = match Start::from_text(text) {
            Start::Incomplete => return FormMatch::CONTINUES,
            Start::Escape(byte) => self.beginning_with(byte),
            Start::Plain => &[],
        };
        let plain = text.first().map_or(&[][..], |byte| self.beginning_with(*byte));
        let forms = plain.iter().chain(escaped);
        forms.fold(FormMatch::default(), |found, form| found.or(percent::match_form(form.as_bytes(), text)))
    }

    /// Whether the text contains a form, or ends in the beginning of one.
    fn may_occur_in(&self, text: &[u8]) -> bool {
        text.iter().enumerate().any(|(at, byte)| {
            self.has_form_with(*byte) && {
                let found = self.match_start(text.get(at..).unwrap_or_default());
                found.complete.is_some() || found.may_continue
            }
        })
    }

    /// Whether the text contains a form, or ends in a long beginning of one.
    fn occur_in(&self, text: &[u8]) -> bool {
        text.iter().enumerate().any(|(at, byte)| {
            self.has_form_with(*byte) && {
                let rest = text.get(at..).unwrap_or_default();
                let found = self.match_start(rest);
                found.complete.is_some() || (found.may_continue && rest.len() >= MIN_TRUNCATED_FORM_BYTES)
            }
        })
    }
}

/// The forms at the beginning of a text.
#[derive(Clone, Copy, Default)]
pub(super) struct FormMatch {
    /// The length of the longest complete form.
    pub(super) complete: Option<usize>,
    /// Whether the text is the beginning of a form.
    pub(super) may_continue: bool,
}

impl FormMatch {
    /// The text is the beginning of a form.
    pub(super) const CONTINUES: Self = Self { complete: None, may_continue: true };

    /// Returns the forms of both.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            complete: self.complete.max(other.complete),
            may_continue: self.may_continue || other.may_continue,
        }
    }

    /// Returns the same forms of a text with `length` more bytes before it.
    pub(super) fn after(self, length: usize) -> Self {
        Self { complete: self.complete.map(|complete| complete + length), ..self }
    }
}

impl ModelTextRedactor {
    /// Returns a redactor of these forms, which must be sorted.
    pub(super) fn new(sorted: Vec<String>) -> Self {
        if sorted.is_empty() {
            return Self(None);
        }
        let first = |form: &String| form.bytes().next().unwrap_or_default();
        let mut beginning_with = vec![0..0; usize::from(u8::MAX) + 1];
        let mut start = 0;
        for group in sorted.chunk_by(|form, next| first(form) == first(next)) {
            let end = start + group.len();
            let byte = group.first().map(first).unwrap_or_default();
            if let Some(range) = beginning_with.get_mut(usize::from(byte)) {
                *range = start..end;
            }
            start = end;
        }
        Self(Some(Arc::new(Forms { sorted, beginning_with })))
    }

    /// Redacts a text that is complete.
    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(forms) = &self.0 else { return Cow::Borrowed(text) };
        if !forms.occur_in(text.as_bytes()) {
            return Cow::Borrowed(text);
        }
        let mut redaction = DeltaRedactor::default();
        let mut clean = redaction.push(self, text.to_owned());
        clean.push_str(&redaction.finish(self));
        Cow::Owned(clean)
    }

    /// Whether the arguments of a call contain a secret.
    pub(crate) fn finds_secret_in(&self, value: &Value) -> bool {
        let Some(forms) = &self.0 else { return false };
        let is_in = |text: &str| forms.occur_in(text.as_bytes());
        match value {
            Value::String(text) => is_in(text),
            Value::Array(values) => values.iter().any(|value| self.finds_secret_in(value)),
            Value::Object(fields) => {
                fields.iter().any(|(name, value)| is_in(name) || self.finds_secret_in(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Redacts the arguments of a call.
    pub(crate) fn redact_call(&self, call: &mut ToolCall) {
        if self.finds_secret_in(&call.arguments) {
            self.redact_json(&mut call.arguments);
        }
    }

    /// Redacts an answer. A block of the provider that contains a secret is removed, because
    /// it could only be sent back unchanged.
    pub(crate) fn redact_answer(&self, answer: &mut Answer) {
        if self.0.is_none() {
            return;
        }
        if let Some(RefusalDetails { category, explanation }) = &mut answer.refusal {
            category.iter_mut().chain(explanation).for_each(|text| self.redact_text(text));
        }
        for block in &mut answer.blocks {
            match block {
                Block::Text(text) => self.redact_text(text),
                Block::Thinking { text, original } => {
                    self.redact_text(text);
                    if original.as_ref().is_some_and(|original| self.finds_secret_in(&original.raw)) {
                        *original = None;
                    }
                }
                Block::ToolCall(call) => self.redact_call(call),
                Block::Opaque(_) => {}
            }
        }
        answer
            .blocks
            .retain(|block| !matches!(block, Block::Opaque(opaque) if self.finds_secret_in(&opaque.raw)));
    }

    /// Redacts a text in place.
    pub(crate) fn redact_text(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.redact(text) {
            *text = clean;
        }
    }

    fn redact_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact_text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact_json(value)),
            Value::Object(fields) => {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, mut value)| {
                        self.redact_json(&mut value);
                        (self.redact(&name).into_owned(), value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Redacts a text that arrives in deltas. The released deltas together are the redacted text.
#[derive(Default)]
pub(crate) struct DeltaRedactor {
    /// The end of the text so far that may be the beginning of a secret.
    held: String,
    /// The number of bytes of `held` that were released already, or replaced.
    done: usize,
}

impl DeltaRedactor {
    /// Whether no text is held back.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.len() <= self.done
    }

    /// Adds the next delta. Returns the text that is released, possibly none.
    pub(crate) fn push(&mut self, redactor: &ModelTextRedactor, piece: String) -> String {
        let Some(forms) = &redactor.0 else { return piece };
        if self.held.is_empty() && !forms.may_occur_in(piece.as_bytes()) {
            return piece;
        }
        self.held.push_str(&piece);
        self.advance(forms, false)
    }

    /// Returns the text that was held back; the next delta begins another text.
    ///
    /// A long beginning of a secret is masked as well, since the text may have been cut off inside the secret.
    pub(crate) fn finish(&mut self, redactor: &ModelTextRedactor) -> String {
        match &redactor.0 {
            Some(forms) if !self.held.is_empty() => self.advance(forms, true),
            Some(_) | None => String::new(),
        }
    }

    /// Returns the text that can be released. Holds back the rest, unless the text is at its end.
    fn advance(&mut self, forms: &Forms, is_end: bool) -> String {
        let text = std::mem::take(&mut self.held);
        let mut released = String::with_capacity(text.len());
        let mut done = std::mem::take(&mut self.done);
        for (at, byte) in text.bytes().enumerate() {
            if !forms.has_form_with(byte) {
                continue;
            }
            let rest = text.as_bytes().get(at..).unwrap_or_default();
            let FormMatch { complete, may_continue } = forms.match_start(rest);
            let cut =
                (is_end && may_continue && rest.len() >= MIN_TRUNCATED_FORM_BYTES).then_some(rest.len());
            let prefix_end = text.floor_char_boundary(at + RELEASED_PREFIX_BYTES);
            if let Some(length) = complete.max(cut) {
                if prefix_end >= done {
                    released.push_str(text.get(done..prefix_end).unwrap_or_default());
                    released.push_str(MASK);
                }
                done = done.max(at + length);
            }
            if may_continue && !is_end {
                released.push_str(text.get(done..prefix_end).unwrap_or_default());
                self.done = done.max(prefix_end) - at;
                self.held = text.get(at..).unwrap_or_default().to_owned();
                return released;
            }
        }
        released.push_str(text.get(done..).unwrap_or_default());
        released
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::Redactor;

    const KEY: &str = "key-0123456789abcdef";

    fn redactor(secrets: &[&str]) -> ModelTextRedactor {
        Redactor::new(secrets.iter().map(|secret| (*secret).to_owned())).model_text()
    }

    /// Returns the output for each of the pieces, and the output at the end of the text.
    fn released(redactor: &ModelTextRedactor, pieces: &[&str]) -> Vec<String> {
        let mut redaction = DeltaRedactor::default();
        let mut released: Vec<String> =
            pieces.iter().map(|piece| redaction.push(redactor, (*piece).to_owned())).collect();
        released.push(redaction.finish(redactor));
        released
    }

    #[track_caller]
    fn check(pieces: &[&str], expect: &[&str]) {
        assert_eq!(released(&redactor(&[KEY]), pieces), expect);
    }

    #[test]
    fn a_secret_in_pieces_is_one_mask() {
        check(&["My own: ", "key-0123", "456789", "abcdef", "!"], &["My own: ", "key", "", "***", "!", ""]);
        check(&["<key-0123456789abcdef>"], &["<key***>", ""]);
    }

    #[test]
    fn only_a_possible_prefix_of_a_secret_is_delayed() {
        check(&["plain text", " goes on"], &["plain text", " goes on", ""]);
        check(&["the key", "board"], &["the key", "board", ""]);
        check(&["key-", "less", " key-"], &["key", "-less", " key", "-"]);
        check(&["", "ends with k"], &["", "ends with k", ""]);
    }

    #[test]
    fn a_long_prefix_of_a_secret_is_masked() {
        check(&["x key-01234567"], &["x key", "***"]);
        check(&["x key-01"], &["x key", "-01"]);
    }

    fn escape_some(at: usize, byte: u8) -> String {
        if at % 3 == 1 { format!("%{byte:02X}") } else { char::from(byte).to_string() }
    }

    #[test]
    fn encoded_forms_in_pieces_are_masked() {
        use base64::Engine;
        let base64 = base64::engine::general_purpose::STANDARD.encode(format!("u:{KEY}:t"));
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let reversed: String = KEY.chars().rev().collect();
        let dashes = KEY.replace('-', "%2D");
        let all: String = KEY.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let mixed: String = KEY.bytes().enumerate().map(|(at, byte)| escape_some(at, byte)).collect();
        for form in [base64.as_str(), &hex, &hex.to_uppercase(), &reversed, &dashes, &all, &mixed] {
            let redactor = redactor(&[KEY]);
            for at in 1..form.len() {
                let (one, other) = form.split_at(at);
                let text = released(&redactor, &["at ", one, other, " end"]).concat();
                assert!(text.contains(MASK) && text.ends_with(" end") && text.len() < 24, "{at}: {text}");
            }
        }
    }

    #[test]
    fn the_details_of_a_refusal_are_redacted() {
        let refusal = json!({ "category": "cyber", "explanation": format!("It has {KEY}.") });
        let mut answer: Answer =
            serde_json::from_value(json!({ "blocks": [], "stop": "refusal", "refusal": refusal })).unwrap();
        redactor(&[KEY]).redact_answer(&mut answer);
        assert_eq!(answer.refusal.unwrap().explanation.as_deref(), Some("It has key***."));
    }

    #[test]
    fn common_words_used_as_keys_are_not_redacted_in_text_of_the_model() {
        for key in ["placeholder", "https://example.com/application", "my long application name"] {
            assert!(redactor(&[key]).redact(&format!("x {key} y")) == format!("x {key} y"), "{key}");
        }
    }

    #[test]
    fn arguments_are_redacted_at_any_depth() {
        let redactor = redactor(&[KEY]);
        let mut call = ToolCall {
            id: "c".into(),
            name: "shell".to_owned(),
            arguments: json!({ "command": format!("curl -H {KEY}"), "n": 1, "list": [{ KEY: KEY }] }),
        };
        assert!(redactor.finds_secret_in(&call.arguments));
        redactor.redact_call(&mut call);
        assert_eq!(
            call.arguments,
            json!({ "command": "curl -H key***", "n": 1, "list": [{ "key***": "key***" }] })
        );
        assert!(!redactor.finds_secret_in(&call.arguments));
    }

    proptest! {
        /// However a text is cut into pieces, what is given is the text redacted at once, and has no secret.
        #[test]
        fn the_result_does_not_depend_on_the_pieces(
            parts in prop::collection::vec(
                prop_oneof![
                    Just(KEY.to_owned()),
                    Just("key-01234567".to_owned()),
                    Just("0123456789abcdefkey-0123".to_owned()),
                    Just("6b65792d".to_owned()),
                    "[a-fk0-9é ]{0,6}",
                ],
                0..8,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let redactor = redactor(&[KEY, "0123456789abcdefkey-0123", "abcdefkey-012345"]);
            let text = parts.concat();
            let mut bounds: Vec<usize> =
                cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
            bounds.extend([0, text.len()]);
            bounds.sort_unstable();
            let pieces: Vec<&str> = bounds.windows(2).map(|pair| text.get(pair[0]..pair[1]).unwrap()).collect();
            let streamed = released(&redactor, &pieces).concat();
            let complete = redactor.redact(&text).into_owned();
            prop_assert_eq!(&streamed, &complete);
            prop_assert!(!streamed.contains(KEY), "{}", streamed);
        }
    }
}
