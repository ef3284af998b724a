//! Assembly of tool calls from their deltas.
//!
//! OpenAI sends an `index` with every delta, and id and name with the first. Other services omit the index or the id, use the
//! index 0 for every call, send complete calls, or repeat id and name with every delta.

use serde_json::Value;

use super::chunk::CallDelta;
use crate::answer_draft::CallDraft;
use crate::answer_limits::AnswerLimits;
use crate::response_error::ResponseError;

/// The calls of an answer that is arriving.
#[derive(Debug, Default)]
pub(super) struct CallAssembly {
    /// Each call with its index.
    calls: Vec<(Option<u64>, CallDraft)>,
}

impl CallAssembly {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Removes and returns the calls, in the order in which they started.
    pub(super) fn take(&mut self) -> Vec<CallDraft> {
        std::mem::take(&mut self.calls).into_iter().map(|(_, call)| call).collect()
    }

    /// Adds a delta. `repaired` is whether the JSON around the delta had to be repaired.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(super) fn add(
        &mut self,
        delta: CallDelta<'_>,
        repaired: bool,
        limits: &mut AnswerLimits,
    ) -> Result<(), ResponseError> {
        let function = delta.function.unwrap_or_default();
        let (arguments, arguments_repaired) = function.arguments_text();
        let id = delta.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        if self.is_duplicate(delta.index, &id, &name, &arguments) {
            return Ok(());
        }
        limits.count(&arguments)?;
        let existing = self.position(delta.index, &id, &name, &arguments);
        let position = match existing {
            Some(position) => position,
            None => {
                limits.count_part()?;
                self.calls.push((delta.index, CallDraft::default()));
                self.calls.len() - 1
            }
        };
        let Some((_, call)) = self.calls.get_mut(position) else {
            return Ok(());
        };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.arguments.push_str(&arguments);
        call.repaired |= repaired || arguments_repaired;
        Ok(())
    }

    /// Whether a delta is a complete copy of the last call. Without ids two calls cannot be distinguished otherwise, and
    /// executing a call twice does more harm than losing one that the model can repeat.
    fn is_duplicate(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> bool {
        let Some((known, call)) = self.calls.last() else { return false };
        id.is_empty()
            && call.id.is_empty()
            && *known == index
            && !name.is_empty()
            && call.name == name
            && call.arguments == arguments
            && serde_json::from_str::<Value>(arguments).is_ok()
    }

    /// Returns the position of the call that a delta continues; `None` if it starts a call.
    fn position(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let position = match index {
            Some(_) => self.calls.iter().rposition(|(known, _)| *known == index)?,
            None if !id.is_empty() => return self.calls.iter().rposition(|(_, call)| call.id == id),
            None => self.calls.len().checked_sub(1)?,
        };
        let (_, call) = self.calls.get(position)?;
        let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        // Without an id: a name and the start of an object after complete arguments are the next call.
        let starts_next = !name.is_empty()
            && id.is_empty()
            && arguments.trim_start().starts_with('{')
            && serde_json::from_str::<Value>(&call.arguments).is_ok();
        // Without id and index: a second name starts a call.
        let repeats_name = index.is_none() && !name.is_empty() && !call.name.is_empty();
        (!other_id && !starts_next && !repeats_name).then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds deltas in JSON and expects the calls as `id name arguments`.
    #[track_caller]
    fn check(deltas: &[&str], expect: &[&str]) {
        let mut assembly = CallAssembly::default();
        for delta in deltas {
            assembly.add(serde_json::from_str(delta).unwrap(), false, &mut AnswerLimits::default()).unwrap();
        }
        let calls = assembly.take();
        let got: Vec<_> =
            calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments)).collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn deltas_join_by_index_even_if_interleaved() {
        check(
            &[
                r#"{"index":0,"id":"a","function":{"name":"read","arguments":""}}"#,
                r#"{"index":1,"id":"b","function":{"name":"ls","arguments":"{\"p\""}}"#,
                r#"{"index":0,"function":{"arguments":"{}"}}"#,
                r#"{"index":1,"function":{"arguments":":1}"}}"#,
            ],
            &["a read {}", r#"b ls {"p":1}"#],
        );
    }

    #[test]
    fn id_and_name_repeated_with_every_delta_are_one_call() {
        check(
            &[
                r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":"}}"#,
                r#"{"index":0,"id":"a","function":{"name":"read","arguments":"1}"}}"#,
            ],
            &[r#"a read {"p":1}"#],
        );
    }

    #[test]
    fn complete_calls_with_one_index_are_several_calls() {
        check(
            &[
                r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}"#,
                r#"{"index":0,"id":"b","function":{"name":"read","arguments":"{}"}}"#,
            ],
            &["a read {}", "b read {}"],
        );
        check(
            &[
                r#"{"index":0,"function":{"name":"read","arguments":"{}"}}"#,
                r#"{"index":0,"function":{"name":"read","arguments":"{\"p\":1}"}}"#,
            ],
            &[" read {}", r#" read {"p":1}"#],
        );
    }

    #[test]
    fn f044_a_complete_call_that_arrives_twice_is_one() {
        for delta in [
            r#"{"index":0,"function":{"name":"read","arguments":"{\"p\":1}"}}"#,
            r#"{"function":{"name":"read","arguments":{"p":1}}}"#,
        ] {
            check(&[delta, delta], &[r#" read {"p":1}"#]);
        }
    }

    #[test]
    fn complete_calls_without_index_and_id_are_several_calls() {
        check(
            &[r#"{"function":{"name":"read","arguments":{"p":1}}}"#, r#"{"function":{"name":"ls"}}"#],
            &[r#" read {"p":1}"#, " ls "],
        );
    }

    #[test]
    fn deltas_without_index_join_by_id_or_continue_the_last_call() {
        check(
            &[
                r#"{"id":"a","function":{"name":"read","arguments":"{"}}"#,
                r#"{"id":"a","function":{"arguments":"}"}}"#,
                r#"{"function":{"arguments":" "}}"#,
            ],
            &["a read {} "],
        );
    }
}
