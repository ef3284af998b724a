//! Tool calls that a model writes as text: small models behind local servers often miss the call syntax of the server.
//!
//! The complete answer must be calls of known tools, bare, in a code fence or in `<tool_call>` tags. Any other text stays text.
//! Incomplete calls are not completed.

use serde_json::Value;

use crate::answer_draft::CallDraft;

const FENCE: &str = "```";
const OPENING_TAG: &str = "<tool_call>";
const CLOSING_TAG: &str = "</tool_call>";

/// Buffers the text of an answer while it may still become a tool call.
#[derive(Debug)]
pub(crate) struct TextToolCallBuffer {
    tools: Vec<String>,
    text: String,
    is_flushed: bool,
}

impl TextToolCallBuffer {
    /// Creates a buffer for calls of `tools`. It buffers nothing if there are none.
    pub(crate) fn new(tools: Vec<String>) -> Self {
        let is_flushed = tools.is_empty();
        Self { tools, text: String::new(), is_flushed }
    }

    /// Whether no text is buffered.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds text and returns all text that is certainly not part of a call.
    pub(crate) fn push(&mut self, text: String) -> String {
        if self.is_flushed {
            return text;
        }
        self.text.push_str(&text);
        if may_become_call(&self.text) { String::new() } else { self.flush() }
    }

    /// Returns the buffered text and stops buffering.
    pub(crate) fn flush(&mut self) -> String {
        self.is_flushed = true;
        std::mem::take(&mut self.text)
    }

    /// Removes and returns the calls, if the complete answer consists of calls.
    pub(crate) fn take_calls(&mut self) -> Vec<CallDraft> {
        let calls = parse_calls(&self.text, &self.tools).unwrap_or_default();
        if !calls.is_empty() {
            self.text.clear();
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

/// Whether `text` may be the start of an object whose first key belongs to a call.
fn may_open_call(text: &str) -> bool {
    let text = text.trim_start();
    let Some(inside) = text.strip_prefix('{') else {
        return text.is_empty();
    };
    let inside = inside.trim_start();
    [r#""name""#, r#""arguments""#].into_iter().any(|key| key.starts_with(inside) || inside.starts_with(key))
}

/// Returns the calls in `text`; `None` if it contains anything else.
fn parse_calls(text: &str, tools: &[String]) -> Option<Vec<CallDraft>> {
    let mut text = text.trim();
    if let Some(fenced) = text.strip_prefix(FENCE) {
        text = fenced.strip_suffix(FENCE)?.trim_start().trim_start_matches("json");
    }
    let untagged = text.replace(OPENING_TAG, "").replace(CLOSING_TAG, "");
    serde_json::Deserializer::from_str(&untagged)
        .into_iter::<Value>()
        .map(|value| parse_call(&value.ok()?, tools))
        .collect()
}

fn parse_call(value: &Value, tools: &[String]) -> Option<CallDraft> {
    let object = value.as_object()?;
    let name = object.get("name")?.as_str()?;
    let arguments = object.get("arguments")?;
    let is_known = tools.iter().any(|tool| tool == name);
    if !is_known || !arguments.is_object() || object.len() != 2 {
        return None;
    }
    Some(CallDraft { name: name.to_owned(), arguments: arguments.to_string(), ..CallDraft::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the text character by character. Returns the text that was passed on, and the calls at the end.
    fn run(text: &str) -> (String, Vec<(String, String)>) {
        let mut buffer = TextToolCallBuffer::new(vec!["read".into()]);
        let passed_on = text.chars().map(|c| buffer.push(c.to_string())).collect();
        let calls = buffer.take_calls().into_iter().map(|call| (call.name, call.arguments)).collect();
        (passed_on, calls)
    }

    #[track_caller]
    fn check_call(text: &str) {
        assert_eq!(run(text), (String::new(), vec![("read".into(), r#"{"path":"a"}"#.into())]), "{text}");
    }

    /// The buffer must pass on all of the text before the end of the answer.
    #[track_caller]
    fn check_text(text: &str) {
        assert_eq!(run(text), (text.to_owned(), Vec::new()));
    }

    /// The text may stay in the buffer to the end, but is not a call.
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
    fn consecutive_calls_are_several_calls() {
        let one = r#"{"name": "read", "arguments": {}}"#;
        assert_eq!(run(&format!("{one}\n{one}")).1.len(), 2);
    }

    #[test]
    fn plain_text_is_passed_on_at_once() {
        check_text("Hello.");
        check_text("```python\nprint()\n```");
        check_text("```json\n[1]\n```");
        check_text("{\"title\": 1}");
        check_text("<b>");
    }

    #[test]
    fn text_that_resembles_a_call_is_text() {
        check_no_call(r#"{"name": "unknown", "arguments": {}}"#);
        check_no_call(r#"{"name": "read", "arguments": "#);
        check_no_call(r#"{"name": "read", "arguments": {}} is how to call it"#);
        check_no_call(r#"{"name": "read", "arguments": {}, "age": 3}"#);
        check_no_call("");
    }
}
