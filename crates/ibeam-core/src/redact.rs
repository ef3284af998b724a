//! Removes secrets from text that is stored or shown.
//!
//! Pure. Finds a secret unchanged, reversed, escaped for JSON, in hexadecimal digits, and in base64 of both alphabets,
//! alone or inside longer text, and each of these with any characters percent-encoded. Does not find a secret that was split, encrypted or encoded otherwise.

mod model_text;
mod percent;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use ibeam_protocol::{Answer, FromJson, parse_json};
use memchr::memmem::Finder;
use serde::Serialize;

pub(crate) use model_text::{DeltaRedactor, ModelTextRedactor};

/// The replacement of a secret.
const MASK: &str = "***";
/// Shorter forms occur too often in text without secrets.
const MIN_FORM_BYTES: usize = 8;
/// Shorter secrets are not searched for in the model's own text.
const MIN_MODEL_SECRET_BYTES: usize = 16;

/// Finds the forms of some secrets in any text. The search is fast if a text contains none.
///
/// Clones share their secrets: a secret that is added later, such as a key that a command printed, is removed by all.
#[derive(Clone, Default)]
pub struct Redactor {
    search: Arc<RwLock<Arc<Search>>>,
}

/// The search for a fixed set of secrets.
#[derive(Default)]
struct Search {
    secrets: Vec<String>,
    finders: Vec<Finder<'static>>,
    /// The forms that look as if they had percent escapes themselves, so that decoding a text changes them too.
    escape_like: Vec<String>,
    model_text: ModelTextRedactor,
}

impl Redactor {
    /// Returns a redactor of these secrets. Forms of less than 8 bytes are not searched for.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let search = Arc::new(Search::new(secrets.into_iter().collect()));
        Self { search: Arc::new(RwLock::new(search)) }
    }

    /// Whether the answer of a model contains a secret.
    pub fn finds_secret_in(&self, answer: &Answer) -> bool {
        let mut redacted = answer.clone();
        self.model_text().redact_answer(&mut redacted);
        redacted != *answer
    }

    /// Adds a secret to this redactor and its clones.
    pub fn add(&self, secret: &str) {
        let mut search = self.search.write().unwrap_or_else(PoisonError::into_inner);
        if !search.secrets.iter().any(|known| known == secret) {
            let secrets = search.secrets.iter().cloned().chain([secret.to_owned()]).collect();
            *search = Arc::new(Search::new(secrets));
        }
    }

    fn current_search(&self) -> Arc<Search> {
        Arc::clone(&self.search.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the redactor of the model's own text and calls.
    pub(crate) fn model_text(&self) -> ModelTextRedactor {
        self.current_search().model_text.clone()
    }

    /// Removes the secrets from every text in `value`, which stays unchanged if it has none.
    ///
    /// Searches the JSON of `value`; the forms cover secrets with escaped characters.
    pub fn redact_value<T: Serialize + FromJson>(&self, value: &mut T) {
        let search = self.current_search();
        if search.finders.is_empty() {
            return;
        }
        // A value that cannot be serialized cannot be recorded either, and fails there.
        let Ok(json) = serde_json::to_string(value) else { return };
        if let Cow::Owned(clean) = search.redact(&json)
            && let Ok(clean) = parse_json(clean.as_bytes())
        {
            *value = clean;
        }
    }

    /// Returns the text with `***` in place of each secret, or the text itself if it has none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.current_search().redact(text)
    }
}

impl Search {
    fn new(mut secrets: Vec<String>) -> Self {
        let given = secrets.clone();
        let tokens: Vec<String> =
            secrets.iter().filter_map(|secret| header_token(secret)).map(str::to_owned).collect();
        secrets.extend(tokens);
        secrets.sort_unstable();
        secrets.dedup();
        let (unmistakable, others): (Vec<String>, Vec<String>) =
            secrets.into_iter().partition(|secret| is_unmistakable(secret));
        let searchable =
            |secrets: &[String]| searchable_forms(secrets.iter().flat_map(|secret| forms(secret)));
        let (unmistakable, others) = (searchable(&unmistakable), searchable(&others));
        let all = unmistakable.iter().chain(&others);
        let finders = all.clone().map(|form| Finder::new(form.as_bytes()).into_owned()).collect();
        let escape_like = all.filter(|form| percent::decode(form.as_bytes()).is_some()).cloned().collect();
        Self { secrets: given, finders, escape_like, model_text: ModelTextRedactor::new(unmistakable) }
    }

    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let decoded = if self.finders.is_empty() { None } else { percent::decode(text.as_bytes()) };
        let mut found: Vec<(usize, usize)> = Vec::new();
        for finder in &self.finders {
            let length = finder.needle().len();
            found.extend(finder.find_iter(text.as_bytes()).map(|start| (start, start + length)));
            if let Some((bytes, places)) = &decoded {
                let in_text = |start: usize| Some((*places.get(start)?, *places.get(start + length)?));
                found.extend(finder.find_iter(bytes).filter_map(in_text));
            }
        }
        if decoded.is_some() {
            for form in &self.escape_like {
                let length_at = |start: usize| {
                    percent::match_form(form.as_bytes(), text.as_bytes().get(start..)?).complete
                };
                let starts = 0..text.len();
                found.extend(starts.filter_map(|start| Some((start, start + length_at(start)?))));
            }
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable();
        let mut clean = String::with_capacity(text.len());
        let mut done = 0;
        for (start, end) in found {
            // Forms overlap: the core of a base64 form is inside the padded form.
            if start >= done {
                clean.push_str(text.get(done..start).unwrap_or_default());
                clean.push_str(MASK);
            }
            done = done.max(end);
        }
        clean.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(clean)
    }
}

impl fmt::Debug for Redactor {
    /// Writes the number of forms, and none of the forms.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} forms)", self.current_search().finders.len())
    }
}

/// Whether `secret` cannot occur in text by chance. Keys of local servers are often words such as `placeholder`, and the
/// value of a header may be an address; such words are left in the model's own text.
fn is_unmistakable(secret: &str) -> bool {
    secret.len() >= MIN_MODEL_SECRET_BYTES && !secret.contains(char::is_whitespace) && !secret.contains("://")
}

/// Returns the secret part of the value of a header such as `Bearer TOKEN`.
fn header_token(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    let is_scheme =
        ["bearer", "basic", "token", "key"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    is_scheme.then_some(token.trim())
}

/// Returns the forms that are long enough to be searched for, sorted, without duplicates.
fn searchable_forms(forms: impl Iterator<Item = String>) -> Vec<String> {
    let mut forms: Vec<String> = forms.filter(|form| form.len() >= MIN_FORM_BYTES).collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Returns the forms in which a secret can be written. In each, any character may be percent-encoded.
fn forms(secret: &str) -> Vec<String> {
    let json = serde_json::Value::from(secret).to_string();
    let mut forms = vec![secret.to_owned(), json.get(1..json.len() - 1).unwrap_or_default().to_owned()];
    for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
        forms.push(engine.encode(secret));
    }
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        forms.extend((0..3).map(|before| base64_core(&engine, secret, before)));
    }
    forms.push(hexadecimal(secret, b"0123456789abcdef"));
    forms.push(hexadecimal(secret, b"0123456789ABCDEF"));
    forms.push(secret.chars().rev().collect());
    forms
}

/// Returns the bytes of `secret` in hexadecimal.
fn hexadecimal(secret: &str, digits: &[u8; 16]) -> String {
    let halves = secret.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| digits.get(usize::from(half))).map(|digit| char::from(*digit)).collect()
}

/// Returns the characters of a base64 text that depend on `secret` alone, after `before` bytes (modulo 3) of other text.
fn base64_core(engine: &impl Engine, secret: &str, before: usize) -> String {
    let shifted: Vec<u8> = std::iter::repeat_n(0, before).chain(secret.bytes()).collect();
    let encoded = engine.encode(&shifted);
    let first = (before * 8).div_ceil(6);
    let end = shifted.len() * 8 / 6;
    encoded.get(first..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "sk-ab/c+d=e\"f~g(h)";

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(Redactor::new([KEY.to_owned()]).redact(text), expect);
    }

    #[test]
    fn a_literal_secret_is_redacted() {
        check(&format!("key {KEY} refused, {KEY}{KEY}"), "key *** refused, ******");
        check(r#"{"key":"sk-ab/c+d=e\"f~g(h)"}"#, r#"{"key":"***"}"#);
        check("?key=sk-ab%2Fc%2Bd%3De%22f~g%28h%29&x", "?key=***&x");
        check("?key=sk-ab%2fc%2bd%3de%22f~g%28h%29&x", "?key=***&x");
        check("?key=sk-ab%2Fc%2Bd%3De%22f~g(h)&x", "?key=***&x");
    }

    #[test]
    fn a_secret_in_base64_is_redacted() {
        check(&format!("Basic {}.", STANDARD.encode(KEY)), "Basic ***.");
        check(&format!("Basic {}.", URL_SAFE_NO_PAD.encode(KEY)), "Basic ***.");
        let redacted = Redactor::new([KEY.to_owned()]);
        for user in ["", "a", "ab", "abc"] {
            let encoded = STANDARD.encode(format!("{user}:{KEY}:tail"));
            let clean = redacted.redact(&encoded);
            assert!(clean.contains(MASK) && clean.len() < encoded.len() - KEY.len(), "{clean}");
        }
    }

    #[test]
    fn a_secret_in_hexadecimal_or_reversed_is_redacted() {
        let hex = |upper: bool| {
            let digits: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
            if upper { digits.to_uppercase() } else { digits }
        };
        check(&format!("x{}y{}z", hex(false), hex(true)), "x***y***z");
        check(&format!("<{}>", KEY.chars().rev().collect::<String>()), "<***>");
    }

    #[test]
    fn the_token_of_a_header_is_a_separate_secret() {
        let redactor = Redactor::new(["Bearer 0123456789abcdef".to_owned()]);
        assert_eq!(redactor.redact("x 0123456789abcdef"), "x ***");
        assert_eq!(redactor.redact("Authorization: Bearer 0123456789abcdef"), "Authorization: ***");
    }

    #[test]
    fn a_secret_that_is_added_is_removed_by_every_clone() {
        let redactor = Redactor::new([KEY.to_owned()]);
        let clone = redactor.clone();
        let text = format!("{KEY} 0123456789abcdef");
        assert_eq!(clone.redact(&text), "*** 0123456789abcdef");
        redactor.add("0123456789abcdef");
        assert_eq!(clone.redact(&text), "*** ***");
        // The model's own text keeps the first three bytes.
        assert_eq!(clone.model_text().redact(&text), "sk-*** 012***");
    }

    /// Some of the characters of the secret are escaped, and its own `%` is not.
    #[test]
    fn a_secret_that_looks_escaped_is_redacted() {
        let redactor = Redactor::new(["%A00%41-key!".to_owned()]);
        for text in ["%A00%41-key!", "%A00%41%2dkey!", "%25A00%41-key%21", "%25A00%2541-key!"] {
            assert_eq!(redactor.redact(&format!("<{text}>")), "<***>", "{text}");
        }
    }

    #[test]
    fn overlapping_forms_leave_one_mask() {
        let redactor = Redactor::new(["abcdefghij".to_owned(), "efghijklmn".to_owned()]);
        assert_eq!(redactor.redact("<abcdefghijklmn>"), "<***>");
    }

    #[test]
    fn a_short_secret_is_ignored() {
        let redactor = Redactor::new([String::new(), "a".to_owned(), "1234567".to_owned()]);
        assert_eq!(redactor.redact("a 1234567"), "a 1234567");
    }

    #[test]
    fn the_debug_form_contains_no_secret() {
        let shown = format!("{:?}", Redactor::new([KEY.to_owned()]));
        assert!(shown.ends_with("forms)") && !shown.contains("sk-"), "{shown}");
    }

    /// Returns a text whose bytes are escaped as `escaped` says, in turn: not (0), or with digits of either case. A byte
    /// outside of ASCII is always escaped.
    fn percent_encode(text: &str, escaped: &[u8]) -> String {
        let bytes = text.bytes().zip(escaped.iter().cycle());
        bytes
            .map(|(byte, escaped)| match escaped {
                0 if byte.is_ascii() => char::from(byte).to_string(),
                1 => format!("%{byte:02x}"),
                _ => format!("%{byte:02X}"),
            })
            .collect()
    }

    fn secret() -> impl Strategy<Value = String> {
        "[!-)+-~äß→🔑]{8,60}"
    }

    proptest! {
        /// No form of a secret is left, whatever the text around it.
        #[test]
        fn no_form_survives(
            secret in secret(),
            before in prop::collection::vec(any::<u8>(), 0..9),
            after in prop::collection::vec(any::<u8>(), 0..9),
            around in ".{0,20}",
            form in 0..9,
            escaped in prop::collection::vec(0..3_u8, 1..9),
        ) {
            let bytes = [&before[..], secret.as_bytes(), &after[..]].concat();
            let written = match form {
                0 => secret.clone(),
                1 => percent_encode(&secret, &escaped),
                2 => STANDARD.encode(&bytes),
                3 => STANDARD_NO_PAD.encode(&bytes),
                4 => URL_SAFE.encode(&bytes),
                5 => secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
                6 => secret.bytes().map(|byte| format!("{byte:02X}")).collect(),
                7 => secret.chars().rev().collect(),
                _ => URL_SAFE_NO_PAD.encode(&bytes),
            };
            let redactor = Redactor::new([secret.clone()]);
            let clean = redactor.redact(&format!("{around}{written}{around}")).into_owned();
            prop_assert!(clean.contains(MASK));
            for form in forms(&secret).iter().filter(|form| form.len() >= MIN_FORM_BYTES) {
                prop_assert!(!clean.contains(form.as_str()), "{form} in {clean}");
            }
        }

        /// Text without a secret is the same text, not a copy.
        #[test]
        fn innocent_text_is_untouched(text in "[a-z \\n]{0,200}") {
            let redactor = Redactor::new([KEY.to_owned()]);
            prop_assert!(matches!(redactor.redact(&text), Cow::Borrowed(same) if same == text));
        }
    }
}
