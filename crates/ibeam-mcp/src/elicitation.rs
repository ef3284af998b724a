//! Answers to questions of servers (elicitation) without a person.

use ibeam_json_rpc::RpcError;
use serde_json::{Map, Value, json};

/// The request with which a server asks a question.
pub(crate) const ELICITATION: &str = "elicitation/create";

/// The answer to every question of a server for which no person can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elicitation {
    #[default]
    Decline,
    /// Accepts with the default values of the form, if every required field has one; else declines.
    Defaults,
}

impl Elicitation {
    /// Returns the result of `elicitation/create`.
    pub(crate) fn answer(self, params: &Value) -> Value {
        let accepted = match self {
            Self::Decline => None,
            Self::Defaults => default_content(params),
        };
        match accepted {
            Some(content) => json!({ "action": "accept", "content": content }),
            None => json!({ "action": "decline" }),
        }
    }

    /// Returns the answer to any request of a server.
    ///
    /// # Errors
    /// The error for a method that the client does not have: sampling and roots.
    pub(crate) fn answer_request(self, method: &str, params: &Value) -> Result<Value, RpcError> {
        match method {
            "ping" => Ok(json!({})),
            ELICITATION => Ok(self.answer(params)),
            method => Err(RpcError::method_not_found("client", method)),
        }
    }
}

/// Returns the default values of a form; `None` if a required field has none, or if the server asks the user to visit
/// a URL.
fn default_content(params: &Value) -> Option<Value> {
    if params.get("mode").and_then(Value::as_str).is_some_and(|mode| mode != "form") {
        return None;
    }
    let schema = params.get("requestedSchema")?;
    let mut content = Map::new();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = field.get("default") {
            content.insert(name.clone(), value.clone());
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let is_complete = required.filter_map(Value::as_str).all(|name| content.contains_key(name));
    is_complete.then_some(Value::Object(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(policy: Elicitation, params: Value, expect: Value) {
        assert_eq!(policy.answer(&params), expect);
    }

    #[test]
    fn a_form_is_accepted_only_with_complete_default_values() {
        let declined = json!({ "action": "decline" });
        let form = json!({ "requestedSchema": {
            "properties": { "name": { "type": "string", "default": "x" }, "age": { "type": "integer" } },
        } });
        let accepted = json!({ "action": "accept", "content": { "name": "x" } });
        check(Elicitation::Defaults, form.clone(), accepted);
        check(Elicitation::Decline, form.clone(), declined.clone());
        let mut incomplete = form;
        incomplete["requestedSchema"]["required"] = json!(["age"]);
        check(Elicitation::Defaults, incomplete, declined.clone());
        check(Elicitation::Defaults, json!({ "mode": "url", "url": "https://example.com" }), declined);
    }
}
