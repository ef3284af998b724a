//! Calls that a model writes as text: small models behind local servers miss the server's call syntax.
//!
//! Only a whole answer counts, bare or in a code fence or in the model's own `<tool_call>` tags, and only when it
//! names known tools; text that merely talks about a call stays text. Nothing is guessed or completed.

use serde_json::Value;

use crate::draft::CallDraft;

const FENCE: &str = "```";
const OPENING_TAG: &str = "<tool_call>";
const CLOSING_TAG: &str = "</tool_call>";

/// Text that is held back while it may still turn out to be a call.
#[derive(Debug)]
pub(crate) struct HeldText {
    tools: Vec<String>,
    held: String,
    released: bool,
}

impl HeldText {
    /// Holds nothing back when `tools` is empty.
    pub(crate) fn new(tools: Vec<String>) -> Self {
        let released = tools.is_empty();
        Self { tools, held: String::new(), released }
    }

    /// Whether no text is held back.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes more text and returns what is decided to be text.
    pub(crate) fn push(&mut self, text: String) -> String {
        if self.released {
            return text;
        }
        self.held.push_str(&text);
        if may_become_call(&self.held) { String::new() } else { self.release() }
    }

    /// Gives up waiting: what is held is text, and so is all that follows.
    pub(crate) fn release(&mut self) -> String {
        self.released = true;
        std::mem::take(&mut self.held)
    }

    /// The calls that the whole answer is, if it is; they leave nothing to release.
    pub(crate) fn take_calls(&mut self) -> Vec<CallDraft> {
        let calls = calls(&self.held, &self.tools).unwrap_or_default();
        if !calls.is_empty() {
            self.held.clear();
        }
        calls
    }
}

fn may_become_call(text: &str) -> bool {
    let text = text.trim_start();
    if let Some(fenced) = text.strip_prefix(FENCE) {
        return match fenced.split_once('\n') {
            None => "json".starts_with(fenced.trim()),
            Some((language, body)) => matches!(language.trim(), "" | "json") && may_open_call(body),
        };
    }
    if let Some(tagged) = text.strip_prefix(OPENING_TAG) {
        return may_open_call(tagged);
    }
    FENCE.starts_with(text) || OPENING_TAG.starts_with(text) || may_open_call(text)
}

/// Whether `text` may begin an object whose first key is one of a call's.
fn may_open_call(text: &str) -> bool {
    let text = text.trim_start();
    let Some(inside) = text.strip_prefix('{') else {
        return text.is_empty();
    };
    let inside = inside.trim_start();
    [r#""name""#, r#""arguments""#].into_iter().any(|key| key.starts_with(inside) || inside.starts_with(key))
}

/// The calls in `text`, when it holds nothing else.
fn calls(text: &str, tools: &[String]) -> Option<Vec<CallDraft>> {
    let mut text = text.trim();
    if let Some(fenced) = text.strip_prefix(FENCE) {
        text = fenced.strip_suffix(FENCE)?.trim_start().trim_start_matches("json");
    }
    let untagged = text.replace(OPENING_TAG, "").replace(CLOSING_TAG, "");
    serde_json::Deserializer::from_str(&untagged)
        .into_iter::<Value>()
        .map(|value| call(&value.ok()?, tools))
        .collect()
}

fn call(value: &Value, tools: &[String]) -> Option<CallDraft> {
    let object = value.as_object()?;
    let name = object.get("name")?.as_str()?;
    let arguments = object.get("arguments")?;
    let known = tools.iter().any(|tool| tool == name);
    if !known || !arguments.is_object() || object.len() != 2 {
        return None;
    }
    Some(CallDraft { name: name.to_owned(), arguments: arguments.to_string(), ..CallDraft::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the text character by character; returns what was released while it ran, and the calls at the end.
    fn run(text: &str) -> (String, Vec<(String, String)>) {
        let mut held = HeldText::new(vec!["read".into()]);
        let released = text.chars().map(|c| held.push(c.to_string())).collect();
        let calls = held.take_calls().into_iter().map(|call| (call.name, call.arguments)).collect();
        (released, calls)
    }

    #[track_caller]
    fn check_call(text: &str) {
        assert_eq!(run(text), (String::new(), vec![("read".into(), r#"{"path":"a"}"#.into())]), "{text}");
    }

    /// The text must be released in full before the answer's end.
    #[track_caller]
    fn check_text(text: &str) {
        assert_eq!(run(text), (text.to_owned(), Vec::new()));
    }

    /// The text may be held to the end, but is no call.
    #[track_caller]
    fn check_no_call(text: &str) {
        assert_eq!(run(text).1, Vec::new(), "{text}");
    }

    #[test]
    fn a_bare_fenced_or_tagged_call_is_a_call() {
        check_call(r#"{"name": "read", "arguments": {"path": "a"}}"#);
        check_call("```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```\n");
        check_call("```\n{\"arguments\": {\"path\": \"a\"}, \"name\": \"read\"}\n```");
        check_call("\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>");
    }

    #[test]
    fn several_calls_after_another_are_several_calls() {
        let one = r#"{"name": "read", "arguments": {}}"#;
        assert_eq!(run(&format!("{one}\n{one}")).1.len(), 2);
    }

    #[test]
    fn plain_text_is_released_as_it_comes() {
        check_text("Hello.");
        check_text("```python\nprint()\n```");
        check_text("```json\n[1]\n```");
        check_text("{\"title\": 1}");
        check_text("<b>");
    }

    #[test]
    fn what_only_looks_like_a_call_is_text() {
        check_no_call(r#"{"name": "unknown", "arguments": {}}"#);
        check_no_call(r#"{"name": "read", "arguments": "#);
        check_no_call(r#"{"name": "read", "arguments": {}} is how to call it"#);
        check_no_call(r#"{"name": "read", "arguments": {}, "age": 3}"#);
        check_no_call("");
    }
}
