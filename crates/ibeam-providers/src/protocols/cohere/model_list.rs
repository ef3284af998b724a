//! The list of models.

use serde_json::Value;

use crate::listed_model::ListedModel;
use crate::response_error::{ReportedError, ResponseError};

/// Parses `{"models": [{"name": "NAME", "endpoints": ["chat", …], …}]}`. Models that do not chat, and models that the
/// service no longer serves, are left out.
///
/// # Errors
/// `Reported` for an error object, `Protocol` for anything else that is not a list.
pub(super) fn parse(body: &str) -> Result<Vec<ListedModel>, ResponseError> {
    let invalid = || ResponseError::Protocol("the list of models is not the JSON it should be".into());
    let value: Value = serde_json::from_str(body).map_err(|_| invalid())?;
    match value.get("models").and_then(Value::as_array) {
        Some(list) => Ok(list.iter().filter_map(listed_model).collect()),
        None if value.get("message").is_some_and(Value::is_string) => {
            Err(ResponseError::Reported(ReportedError::from_object(&value)))
        }
        None => Err(invalid()),
    }
}

fn listed_model(model: &Value) -> Option<ListedModel> {
    let endpoints = model.get("endpoints").and_then(Value::as_array);
    let chats = endpoints.is_none_or(|endpoints| endpoints.iter().any(|endpoint| endpoint == "chat"));
    let is_served = model.get("is_deprecated").and_then(Value::as_bool) != Some(true);
    let id = model.get("name")?.as_str()?.to_owned();
    (chats && is_served).then(|| ListedModel::new(id, None, model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_chat_are_listed() {
        let body = r#"{"models":[
            {"name":"command-a-03-2025","is_deprecated":false,"endpoints":["chat"],"context_length":288000},
            {"name":"command","is_deprecated":true,"endpoints":["chat"]},
            {"name":"embed-v4.0","endpoints":["embed"]}],"next_page_token":""}"#;
        let models = parse(body).unwrap();
        let listed: Vec<_> =
            models.iter().map(|model| (model.id.as_str(), model.facts.context_window)).collect();
        assert_eq!(listed, [("command-a-03-2025", Some(288_000))]);
        assert!(matches!(parse(r#"{"message":"invalid api token"}"#), Err(ResponseError::Reported(_))));
        assert!(matches!(parse(r#"{"data":[]}"#), Err(ResponseError::Protocol(_))));
    }
}
