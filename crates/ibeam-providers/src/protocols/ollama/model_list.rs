//! The list of the models that are on the server.

use serde_json::Value;

use crate::listed_model::ListedModel;
use crate::response_error::{ReportedError, ResponseError};

/// Parses `{"models": [{"name": "NAME:TAG", …}]}`.
///
/// # Errors
/// `Reported` for an error object, `Protocol` for anything else that is not a list.
pub(super) fn parse(body: &str) -> Result<Vec<ListedModel>, ResponseError> {
    let invalid = || ResponseError::Protocol("the list of models is not the JSON it should be".into());
    let value: Value = serde_json::from_str(body).map_err(|_| invalid())?;
    if let Some(error) = ReportedError::recognise(&value) {
        return Err(ResponseError::Reported(error));
    }
    // A server without models sends `null`.
    let list = match value.get("models").ok_or_else(invalid)? {
        Value::Null => &[],
        list => list.as_array().ok_or_else(invalid)?.as_slice(),
    };
    let id = |model: &Value| {
        let name = ["model", "name"].into_iter().find_map(|key| model.get(key)?.as_str());
        Some(ListedModel::new(name?.to_owned(), None, model))
    };
    Ok(list.iter().filter_map(id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_listed_with_their_tags() {
        let body = r#"{"models":[
            {"name":"qwen3:4b","model":"qwen3:4b","size":2600000000,"details":{"family":"qwen3"}},
            {"name":"llama3.2:latest"}]}"#;
        let models = parse(body).unwrap();
        let ids: Vec<_> = models.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids, ["qwen3:4b", "llama3.2:latest"]);
        assert_eq!(parse(r#"{"models":null}"#), Ok(Vec::new()));
        assert!(matches!(parse(r#"{"error":"unauthorized"}"#), Err(ResponseError::Reported(_))));
        assert!(matches!(parse(r#"{"data":[]}"#), Err(ResponseError::Protocol(_))));
    }
}
