//! Calls put together from their pieces.
//!
//! OpenAI gives each piece an `index`, and id and name with the first. Other services leave out the index or the
//! id, give every call the index 0, send whole calls at once, or repeat id and name with every piece.

use serde_json::Value;

use super::chunk::CallDelta;
use crate::bounds::Bounds;
use crate::draft::CallDraft;
use crate::wire::WireFault;

#[derive(Debug, Default)]
pub(crate) struct CallAssembly {
    calls: Vec<(Option<u64>, CallDraft)>,
}

impl CallAssembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes the calls, in the order in which they began.
    pub(crate) fn take(&mut self) -> Vec<CallDraft> {
        std::mem::take(&mut self.calls).into_iter().map(|(_, call)| call).collect()
    }

    /// Adds a piece. `repaired`: its text had to be repaired.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(crate) fn add(
        &mut self,
        delta: CallDelta,
        repaired: bool,
        bounds: &mut Bounds,
    ) -> Result<(), WireFault> {
        let function = delta.function.unwrap_or_default();
        let (arguments, arguments_repaired) = function.arguments_text();
        let id = delta.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        if self.is_replay(delta.index, &id, &name, &arguments) {
            return Ok(());
        }
        bounds.take(&arguments)?;
        let existing = self.position(delta.index, &id, &name, &arguments);
        let position = match existing {
            Some(position) => position,
            None => {
                bounds.take_part()?;
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

    /// Whether a piece is the last call, whole, once more. Without an id nothing else tells two calls apart, and
    /// one that is executed twice does more harm than one that the model has to repeat.
    fn is_replay(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> bool {
        let Some((known, call)) = self.calls.last() else { return false };
        id.is_empty()
            && call.id.is_empty()
            && *known == index
            && !name.is_empty()
            && call.name == name
            && call.arguments == arguments
            && serde_json::from_str::<Value>(arguments).is_ok()
    }

    /// The call that a piece continues; `None` when it begins one.
    fn position(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let position = match index {
            Some(_) => self.calls.iter().rposition(|(known, _)| *known == index)?,
            None if !id.is_empty() => return self.calls.iter().rposition(|(_, call)| call.id == id),
            None => self.calls.len().checked_sub(1)?,
        };
        let (_, call) = self.calls.get(position)?;
        let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        // Without ids to go by: a name again, with arguments again after a whole object, is the next call.
        let starts_anew = !name.is_empty()
            && id.is_empty()
            && arguments.trim_start().starts_with('{')
            && serde_json::from_str::<Value>(&call.arguments).is_ok();
        // Without an index either, a name begins a call, as pieces of one would have to be told apart by something.
        let nameless = index.is_none() && !name.is_empty() && !call.name.is_empty();
        (!other_id && !starts_anew && !nameless).then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as JSON, then the calls as `id name arguments`.
    #[track_caller]
    fn check(pieces: &[&str], expect: &[&str]) {
        let mut assembly = CallAssembly::default();
        for piece in pieces {
            assembly.add(serde_json::from_str(piece).unwrap(), false, &mut Bounds::default()).unwrap();
        }
        let calls = assembly.take();
        let got: Vec<_> =
            calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments)).collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn pieces_join_by_index_even_when_interleaved() {
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
    fn id_and_name_repeated_with_every_piece_are_one_call() {
        check(
            &[
                r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":"}}"#,
                r#"{"index":0,"id":"a","function":{"name":"read","arguments":"1}"}}"#,
            ],
            &[r#"a read {"p":1}"#],
        );
    }

    #[test]
    fn whole_calls_under_one_index_are_several_calls() {
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
    fn f044_a_whole_call_that_comes_twice_is_one() {
        for piece in [
            r#"{"index":0,"function":{"name":"read","arguments":"{\"p\":1}"}}"#,
            r#"{"function":{"name":"read","arguments":{"p":1}}}"#,
        ] {
            check(&[piece, piece], &[r#" read {"p":1}"#]);
        }
    }

    #[test]
    fn whole_calls_without_index_and_id_are_several_calls() {
        check(
            &[r#"{"function":{"name":"read","arguments":{"p":1}}}"#, r#"{"function":{"name":"ls"}}"#],
            &[r#" read {"p":1}"#, " ls "],
        );
    }

    #[test]
    fn pieces_without_index_join_by_id_or_follow_the_last() {
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
