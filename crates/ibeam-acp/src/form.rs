//! A question of an MCP server as a form of the editor, and its answer.
//!
//! The two protocols describe forms alike: an object whose properties are texts, numbers, booleans and choices. A form
//! with anything else is not shown.

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction, ElicitationFormMode,
    ElicitationPropertySchema, ElicitationSchema, ElicitationSessionScope,
};
use ibeam_protocol::escape_invisible;
use serde_json::{Map, Value, json};

/// The method of the request that shows a form.
pub const FORM_METHOD: &str = "elicitation/create";
/// Maximum size of a form in bytes; nobody fills in a longer one.
const MAX_FORM_BYTES: usize = 64 << 10;

/// Returns the request that shows the question `params` of an MCP server, whose name is part of the message; `None` for
/// a question that is not such a form.
pub fn form_request(session_id: &str, server: &str, params: &Value) -> Option<Value> {
    if params.get("mode").and_then(Value::as_str).is_some_and(|mode| mode != "form") {
        return None;
    }
    let message = params.get("message").and_then(Value::as_str)?;
    let mut requested = params.get("requestedSchema")?.clone();
    let properties = requested.get_mut("properties").and_then(Value::as_object_mut)?;
    properties.values_mut().for_each(name_choices);
    let order: Vec<String> = properties.keys().cloned().collect();
    let schema: ElicitationSchema = serde_json::from_value(requested).ok()?;
    let is_known = |property: &ElicitationPropertySchema| {
        matches!(
            property,
            ElicitationPropertySchema::String(_)
                | ElicitationPropertySchema::Number(_)
                | ElicitationPropertySchema::Integer(_)
                | ElicitationPropertySchema::Boolean(_)
                | ElicitationPropertySchema::Array(_)
        )
    };
    if !schema.properties.values().all(is_known) {
        return None;
    }
    let mode = ElicitationFormMode::new(ElicitationSessionScope::new(session_id.to_owned()), schema);
    let message = format!("{server} (MCP): {}", escape_invisible(message));
    let mut request = serde_json::to_value(CreateElicitationRequest::new(mode, message)).ok()?;
    // The type sorts the fields by name; people read them in the order of the server.
    if let Some(fields) = request.pointer_mut("/requestedSchema/properties").and_then(Value::as_object_mut) {
        let ordered = order.into_iter().filter_map(|name| {
            let field = fields.remove(&name)?;
            Some((name, field))
        });
        *fields = ordered.collect::<Map<_, _>>();
    }
    (request.to_string().len() <= MAX_FORM_BYTES).then_some(request)
}

/// Converts the choices of older servers, which put the names of `enum` into `enumNames`.
fn name_choices(property: &mut Value) {
    let Some(property) = property.as_object_mut() else { return };
    let (Some(Value::Array(values)), Some(Value::Array(names))) =
        (property.get("enum"), property.get("enumNames"))
    else {
        return;
    };
    let option = |(value, name): (&Value, &Value)| json!({ "const": value, "title": name });
    let options: Vec<Value> = values.iter().zip(names).map(option).collect();
    if options.len() == values.len() {
        property.shift_remove("enum");
        property.shift_remove("enumNames");
        property.insert("oneOf".to_owned(), Value::Array(options));
    }
}

/// Returns the result of `elicitation/create` for a server. An answer that is not known cancels the question.
pub fn form_answer(response: &str) -> Value {
    let response = serde_json::from_str::<CreateElicitationResponse>(response);
    match response.map(|response| response.action) {
        Ok(ElicitationAction::Accept(accepted)) => {
            json!({ "action": "accept", "content": accepted.content.unwrap_or_default() })
        }
        Ok(ElicitationAction::Decline) => json!({ "action": "decline" }),
        Ok(_) | Err(_) => json!({ "action": "cancel" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(properties: Value) -> Option<Value> {
        let schema = json!({ "type": "object", "properties": properties, "required": ["b"] });
        form_request("s", "tickets", &json!({ "message": "Which one?", "requestedSchema": schema }))
    }

    #[test]
    fn the_fields_of_a_form_stay_in_order() {
        let properties = json!({
            "b": { "type": "string", "enum": ["x", "y"], "enumNames": ["An X", "A Y"] },
            "a": { "type": "integer", "minimum": 1, "maximum": 5, "default": 2, "title": "Number" },
            "c": { "type": "array", "items": { "type": "string", "enum": ["p", "q"] } },
        });
        let request = form(properties.clone()).unwrap();
        assert_eq!(request["message"], "tickets (MCP): Which one?");
        assert_eq!((&request["mode"], &request["sessionId"]), (&json!("form"), &json!("s")));
        let schema = &request["requestedSchema"];
        let names: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!((names, &schema["required"]), (vec!["b", "a", "c"], &json!(["b"])));
        let choices = json!([{ "const": "x", "title": "An X" }, { "const": "y", "title": "A Y" }]);
        assert_eq!(schema["properties"]["b"]["oneOf"], choices);
        for name in ["a", "c"] {
            assert_eq!(schema["properties"][name], properties[name]);
        }
    }

    #[test]
    fn what_is_no_form_is_not_shown() {
        assert_eq!(form(json!({ "b": { "type": "object" } })), None);
        assert_eq!(form(json!({ "b": { "type": "string", "title": "x".repeat(MAX_FORM_BYTES) } })), None);
        for params in [
            json!({ "mode": "url", "message": "m", "url": "https://example.com", "elicitationId": "1" }),
            json!({ "message": "m" }),
            json!({ "requestedSchema": { "type": "object", "properties": {} } }),
            json!("text"),
        ] {
            assert_eq!(form_request("s", "tickets", &params), None, "{params}");
        }
    }

    #[test]
    fn an_answer_is_passed_on_and_an_unknown_one_cancels() {
        for (response, expect) in [
            (
                json!({ "action": "accept", "content": { "b": "x", "a": 3, "c": ["p"] } }),
                json!({ "action": "accept", "content": { "a": 3, "b": "x", "c": ["p"] } }),
            ),
            (json!({ "action": "accept" }), json!({ "action": "accept", "content": {} })),
            (json!({ "action": "decline" }), json!({ "action": "decline" })),
            (json!({ "action": "later" }), json!({ "action": "cancel" })),
            (json!(3), json!({ "action": "cancel" })),
        ] {
            assert_eq!(form_answer(&response.to_string()), expect);
        }
    }
}
