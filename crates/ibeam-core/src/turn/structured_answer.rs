//! The final answer as one JSON document that matches a schema.
//!
//! With a schema, the text of the run is the valid document and nothing else: the text of an answer is held back until
//! the answer is complete, and recorded only if it is the final one. Text before calls is not recorded as text of the
//! run; the model still has it in the conversation.

use ibeam_protocol::{Answer, Notice, Reason, Sentence, StopReason, json_error, sentence};
use serde_json::Value;

use super::visible_text;
use crate::json_schema::{JsonSchema, Violation};

/// The number of times that the model is asked to correct its answer.
const MAX_REPAIRS: u32 = 2;

/// The state of the final answer of a run.
pub(super) struct StructuredAnswer<'a> {
    schema: Option<&'a JsonSchema>,
    /// The text of answers that were cut or paused, which the next answer continues.
    text: String,
    /// The violations of the last complete answer, on one line; `None` if it is valid.
    violations: Option<Sentence>,
    repairs: u32,
}

/// The consequence of a final answer.
pub(super) enum AnswerVerdict {
    /// The answer is valid, or there is no schema.
    Valid,
    /// The model is to correct the answer.
    Repair(Notice),
    /// The model may not correct the answer again.
    Failed(Reason),
}

impl<'a> StructuredAnswer<'a> {
    /// Returns the state after `repairs` corrections and answers with this text, which the next answer continues.
    pub(super) fn continuing(schema: Option<&'a JsonSchema>, text: String, repairs: u32) -> Self {
        Self { schema, text, violations: None, repairs }
    }

    /// Receives a complete answer. Returns the text to record, if the answer is the last one of the run.
    pub(super) fn receive(&mut self, answer: &Answer) -> Option<String> {
        let schema = self.schema?;
        let mut text = std::mem::take(&mut self.text);
        if answer.calls().next().is_some() || answer.stop == StopReason::Refusal {
            return None;
        }
        let last = visible_text(answer);
        text.push_str(&last);
        if matches!(answer.stop, StopReason::MaxTokens | StopReason::Paused) {
            self.text = text;
            return None;
        }
        // A model may begin again instead of continuing a cut answer.
        let document =
            check_document(schema, &text).or_else(|error| check_document(schema, &last).map_err(|_| error));
        match document {
            Ok(document) => {
                self.violations = None;
                Some(document.to_owned())
            }
            Err(violations) => {
                self.violations = Some(violations);
                (self.repairs == MAX_REPAIRS && !text.is_empty()).then_some(text)
            }
        }
    }

    /// Returns the consequence of the last answer.
    pub(super) fn take_verdict(&mut self) -> AnswerVerdict {
        match self.violations.take() {
            None => AnswerVerdict::Valid,
            Some(detail) if self.repairs < MAX_REPAIRS => {
                self.repairs += 1;
                AnswerVerdict::Repair(Notice::AnswerMismatch { attempt: self.repairs, detail })
            }
            Some(detail) => AnswerVerdict::Failed(Reason::AnswerMismatch { repairs: self.repairs, detail }),
        }
    }
}

/// Returns the document of a text, which matches the schema.
///
/// # Errors
/// The violations, on one line.
fn check_document<'t>(schema: &JsonSchema, text: &'t str) -> Result<&'t str, Sentence> {
    let document = without_fence(text.trim());
    if document.is_empty() {
        return Err(sentence!("the answer is empty"));
    }
    let value: Value = serde_json::from_str(document).map_err(|error| {
        sentence!("the answer is not exactly one JSON document: {reason}", reason = json_error(&error))
    })?;
    let violations = schema.violations(&value);
    if violations.is_empty() {
        return Ok(document);
    }
    Err(Sentence::list(violations.iter().map(Violation::sentence).collect(), "; "))
}

/// Returns the content of a text that is one code fence; otherwise the text.
fn without_fence(text: &str) -> &str {
    let content = || {
        let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
        let is_known = matches!(language.trim(), "" | "json" | "JSON");
        rest.strip_suffix("```").filter(|_| is_known)
    };
    content().map_or(text, str::trim)
}
