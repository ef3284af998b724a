//! The lists of models of both services.

use serde_json::Value;

use super::Gemini;
use crate::listed_model::ListedModel;
use crate::response_error::{ReportedError, ResponseError};

/// Returns the URL of the list.
pub(in crate::protocols) fn url(service: Gemini, base_url: &str) -> String {
    let base = base_url.trim_end_matches('/');
    match service {
        Gemini::AiStudio => format!("{base}/models?pageSize=1000"),
        // The list belongs to no project, and only this version has it.
        Gemini::Vertex => {
            let base = base.split_once("/projects/").map_or(base, |(base, _)| base);
            let host = base.rsplit_once("/v1").map_or(base, |(host, _)| host);
            format!("{host}/v1beta1/publishers/google/models?pageSize=1000")
        }
    }
}

/// Parses `{"models": [{"name": "models/ID", …}]}` or `{"publisherModels": [{"name": "publishers/google/models/ID"}]}`.
/// Models that do not generate content are left out.
///
/// # Errors
/// `Reported` for an error object, `Protocol` for anything else that is not a list.
pub(in crate::protocols) fn parse(body: &str) -> Result<Vec<ListedModel>, ResponseError> {
    let invalid = || ResponseError::Protocol("the list of models is not the JSON it should be".into());
    let value: Value = serde_json::from_str(body).map_err(|_| invalid())?;
    if let Some(error) = ReportedError::recognise(&value) {
        return Err(ResponseError::Reported(error));
    }
    let list = value.get("models").or_else(|| value.get("publisherModels"));
    Ok(list.and_then(Value::as_array).ok_or_else(invalid)?.iter().filter_map(listed_model).collect())
}

fn listed_model(model: &Value) -> Option<ListedModel> {
    let methods = model.get("supportedGenerationMethods").and_then(Value::as_array);
    let generates = methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"));
    let name = model.get("name")?.as_str()?;
    let id = name.rsplit_once("models/").map_or(name, |(_, id)| id).to_owned();
    let label = model.get("displayName").and_then(Value::as_str).map(str::to_owned);
    generates.then(|| ListedModel::new(id, label, model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_at_the_service_and_not_in_a_project() {
        for (service, base, expect) in [
            (Gemini::AiStudio, "https://a.example/v1beta/", "https://a.example/v1beta/models?pageSize=1000"),
            (
                Gemini::Vertex,
                "https://a.example/v1/projects/p/locations/l",
                "https://a.example/v1beta1/publishers/google/models?pageSize=1000",
            ),
            (
                Gemini::Vertex,
                "https://a.example/v1",
                "https://a.example/v1beta1/publishers/google/models?pageSize=1000",
            ),
        ] {
            assert_eq!(url(service, base), expect);
        }
    }

    #[test]
    fn models_that_generate_content_are_listed_without_their_collection() {
        let studio = r#"{"models":[
            {"name":"models/gemini-2.5-pro","displayName":"Gemini 2.5 Pro","supportedGenerationMethods":["generateContent","countTokens"]},
            {"name":"models/text-embedding-004","supportedGenerationMethods":["embedContent"]}]}"#;
        let label = Some("Gemini 2.5 Pro".to_owned());
        let expect = ListedModel { id: "gemini-2.5-pro".into(), label, ..ListedModel::default() };
        assert_eq!(parse(studio), Ok(vec![expect]));
        let vertex = r#"{"publisherModels":[{"name":"publishers/google/models/gemini-2.5-pro"}]}"#;
        assert_eq!(
            parse(vertex),
            Ok(vec![ListedModel { id: "gemini-2.5-pro".into(), ..ListedModel::default() }])
        );
        assert!(matches!(parse(r#"{"error":{"code":401,"message":"no"}}"#), Err(ResponseError::Reported(_))));
        assert!(matches!(parse("{}"), Err(ResponseError::Protocol(_))));
    }
}
