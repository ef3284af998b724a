//! Assembly of streamed arguments. Each piece names its place in the arguments by a JSON path (RFC 9535) without wildcards.

use serde_json::{Map, Value};

use super::chunk::PartialArgument;
use crate::answer_limits::AnswerLimits;
use crate::response_error::ResponseError;

/// The maximum depth of a path. Deeper arguments could not be parsed as JSON either.
const MAX_DEPTH: usize = 100;

/// The arguments of a call that are arriving.
#[derive(Debug)]
pub(super) struct PartialArguments {
    root: Value,
    is_valid: bool,
}

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl PartialArguments {
    pub(super) fn new() -> Self {
        Self { root: Value::Object(Map::new()), is_valid: true }
    }

    /// Whether every piece had a valid place.
    pub(super) fn is_valid(&self) -> bool {
        self.is_valid
    }

    /// Returns the arguments as JSON text.
    pub(super) fn to_json(&self) -> String {
        self.root.to_string()
    }

    /// Adds a piece. A piece without a valid place makes the arguments invalid.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(super) fn add(
        &mut self,
        piece: PartialArgument<'_>,
        limits: &mut AnswerLimits,
    ) -> Result<(), ResponseError> {
        let path = piece.json_path.unwrap_or_default();
        limits.count(path.as_str())?;
        limits.count_optional(piece.string_value.as_ref().map(|text| text.as_str()))?;
        let Some(place) = parse_path(path.as_str()).and_then(|steps| find_place(&mut self.root, &steps))
        else {
            self.is_valid = false;
            return Ok(());
        };
        match (place, piece.string_value) {
            (Value::String(text), Some(more)) => text.push_str(more.as_str()),
            (place, Some(text)) => *place = Value::String(text.into_string()),
            (place, None) => {
                let number = piece.number_value.map(Value::Number);
                *place = number.or(piece.bool_value.map(Value::Bool)).unwrap_or_default();
            }
        }
        Ok(())
    }
}

/// Returns the steps of `$.a['b'][0]`; `None` for any other form.
fn parse_path(path: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_DEPTH {
            return None;
        }
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, tail) = name.split_at(end);
            steps.push(Step::Key(name));
            rest = tail;
            continue;
        }
        let inner = rest.strip_prefix('[')?;
        let quote = inner.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let (step, tail) = match quote {
            Some(quote) => {
                let (name, tail) = inner.get(1..)?.split_once(quote)?;
                (Step::Key(name), tail.strip_prefix(']')?)
            }
            None => {
                let (index, tail) = inner.split_once(']')?;
                (Step::Index(index.parse().ok()?), tail)
            }
        };
        steps.push(step);
        rest = tail;
    }
    (!steps.is_empty()).then_some(steps)
}

/// Returns the place at the end of the path, which is created if it is missing; `None` if a value on the way is neither an
/// object nor a list, or if an index would leave a gap.
fn find_place<'a>(root: &'a mut Value, steps: &[Step<'_>]) -> Option<&'a mut Value> {
    let mut place = root;
    for step in steps {
        if place.is_null() {
            *place = match step {
                Step::Key(_) => Value::Object(Map::new()),
                Step::Index(_) => Value::Array(Vec::new()),
            };
        }
        place = match (step, place) {
            (Step::Key(name), Value::Object(fields)) => {
                if !fields.contains_key(*name) {
                    fields.insert((*name).to_owned(), Value::Null);
                }
                fields.get_mut(*name)?
            }
            (Step::Index(index), Value::Array(values)) => {
                if *index == values.len() {
                    values.push(Value::Null);
                }
                values.get_mut(*index)?
            }
            _ => return None,
        };
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expect: Option<&str>) {
        let (mut arguments, mut limits) = (PartialArguments::new(), AnswerLimits::default());
        for piece in pieces {
            arguments.add(serde_json::from_str(piece).unwrap(), &mut limits).unwrap();
        }
        assert_eq!(arguments.is_valid().then(|| arguments.to_json()).as_deref(), expect);
    }

    #[test]
    fn pieces_of_a_string_are_joined() {
        check(
            &[
                r#"{"jsonPath":"$.path","stringValue":"a","willContinue":true}"#,
                r#"{"jsonPath":"$.path","stringValue":".txt","willContinue":true}"#,
                r#"{"jsonPath":"$.path","stringValue":""}"#,
            ],
            Some(r#"{"path":"a.txt"}"#),
        );
    }

    #[test]
    fn objects_and_lists_are_created_on_the_way() {
        check(
            &[
                r#"{"jsonPath":"$.edits[0].old","stringValue":"x"}"#,
                r#"{"jsonPath":"$.edits[0]['new.text']","stringValue":"y"}"#,
                r#"{"jsonPath":"$.edits[1].count","numberValue":2}"#,
                r#"{"jsonPath":"$[\"all\"]","boolValue":true}"#,
                r#"{"jsonPath":"$.none","nullValue":"NULL_VALUE"}"#,
                r#"{"jsonPath":"$.grid[0][0]","numberValue":0.5}"#,
            ],
            Some(
                r#"{"edits":[{"old":"x","new.text":"y"},{"count":2}],"all":true,"none":null,"grid":[[0.5]]}"#,
            ),
        );
    }

    #[test]
    fn a_piece_without_a_valid_place_makes_the_arguments_invalid() {
        for path in ["", "$", "path", "$path", "$.list[2]", "$.list[x]", "$.list[0", "$.a['b"] {
            check(&[&format!(r#"{{"jsonPath":"{path}","stringValue":"x"}}"#)], None);
        }
        check(&[r#"{"jsonPath":"$.a","numberValue":1}"#, r#"{"jsonPath":"$.a.b","numberValue":1}"#], None);
        check(&[&format!(r#"{{"jsonPath":"${}","boolValue":true}}"#, ".a".repeat(MAX_DEPTH + 1))], None);
    }
}
