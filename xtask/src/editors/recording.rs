//! Compares what the program sent with the official schema of the protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::suite::SuiteError;

/// The number of findings after which the rest is not listed.
const MAX_FINDINGS: usize = 5;

/// The validators of the messages that an agent sends.
pub(super) struct MessageSchema {
    /// By the method and the end of the name of the definition: `Request`, `Response` or `Notification`.
    validators: BTreeMap<(String, &'static str), Validator>,
    error: Validator,
}

impl MessageSchema {
    /// Reads the schema. A definition states its method in `x-method`.
    ///
    /// # Errors
    /// `System` if the file cannot be read or is not a schema.
    pub(super) fn load(path: &Path) -> Result<Self, SuiteError> {
        let text = fs::read_to_string(path).map_err(SuiteError::system(path.display()))?;
        let schema: Value = serde_json::from_str(&text).unwrap_or_default();
        let definitions = schema.get("$defs").cloned().unwrap_or_default();
        let validator = |name: &str| {
            let schema = json!({ "$ref": format!("#/$defs/{name}"), "$defs": definitions });
            let invalid = |error| SuiteError::System(name.to_owned(), std::io::Error::other(error));
            jsonschema::draft202012::new(&schema).map_err(|error| invalid(error.to_string()))
        };
        let mut validators = BTreeMap::new();
        for (name, definition) in definitions.as_object().into_iter().flatten() {
            let Some(method) = definition.get("x-method").and_then(Value::as_str) else { continue };
            let kinds = ["Request", "Response", "Notification"];
            if let Some(kind) = kinds.into_iter().find(|kind| name.ends_with(kind)) {
                validators.insert((method.to_owned(), kind), validator(name)?);
            }
        }
        Ok(Self { validators, error: validator("Error")? })
    }

    /// Checks all records of a directory, and returns what does not follow the schema. No record is a finding.
    ///
    /// # Errors
    /// `System` if a record cannot be read.
    pub(super) fn check(&self, records: &Path) -> Result<Vec<String>, SuiteError> {
        let mut findings = Vec::new();
        let mut lines = 0;
        let entries = fs::read_dir(records).map_err(SuiteError::system(records.display()))?;
        for directory in entries.flatten().map(|entry| entry.path()) {
            let [input, output] = ["in.jsonl", "out.jsonl"].map(|name| directory.join(name));
            // A client may start the program for another purpose, without a message.
            let received = fs::read_to_string(&input).unwrap_or_default();
            let sent = fs::read_to_string(&output).unwrap_or_default();
            if received.lines().any(|line| line.contains("\"jsonrpc\"")) {
                lines += sent.lines().count();
                findings.extend(self.check_exchange(&received, &sent));
            }
        }
        if lines == 0 {
            findings.push("the client received nothing".to_owned());
        }
        findings.truncate(MAX_FINDINGS);
        Ok(findings)
    }

    /// Returns what does not follow the schema in the lines that were sent, of which some answer those received.
    fn check_exchange(&self, received: &str, sent: &str) -> Vec<String> {
        let received: Vec<Value> =
            received.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let method_of = |message: &Value| Some(message.get("method")?.as_str()?.to_owned());
        let requests: BTreeMap<String, String> = received
            .iter()
            .filter_map(|request| Some((request.get("id")?.to_string(), method_of(request)?)))
            .collect();
        let session_of =
            |message: &Value, part: &str| Some(message.get(part)?.get("sessionId")?.as_str()?.to_owned());
        // A session that the client begins is known from the response on.
        let mut sessions: BTreeSet<String> =
            received.iter().filter_map(|message| session_of(message, "params")).collect();
        let responses = sent.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        for begun in responses.filter_map(|message| session_of(&message, "result")) {
            sessions.remove(&begun);
        }
        let mut findings = Vec::new();
        for line in sent.lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else {
                findings.push(format!("not JSON: {line}"));
                continue;
            };
            if let Err(problem) = self.check_message(&message, &requests) {
                findings.push(format!("{problem} in {line}"));
            }
            sessions.extend(session_of(&message, "result"));
            let session = session_of(&message, "params");
            if session.is_some_and(|session| !sessions.contains(&session)) {
                findings.push(format!("precedes the response that begins its session: {line}"));
            }
        }
        findings
    }

    fn check_message(&self, message: &Value, requests: &BTreeMap<String, String>) -> Result<(), String> {
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err("`jsonrpc` is not \"2.0\"".to_owned());
        }
        let id = message.get("id");
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            let kind = if id.is_some() { "Request" } else { "Notification" };
            return self.check_value(method, kind, message.get("params"));
        }
        if let Some(error) = message.get("error") {
            return self.error.validate(error).map_err(|error| error.to_string());
        }
        let method = id.and_then(|id| requests.get(&id.to_string())).ok_or("answers no request")?;
        self.check_value(method, "Response", message.get("result"))
    }

    fn check_value(&self, method: &str, kind: &'static str, value: Option<&Value>) -> Result<(), String> {
        let validator = self.validators.get(&(method.to_owned(), kind));
        let validator = validator.ok_or_else(|| format!("the schema has no {kind} `{method}`"))?;
        validator.validate(value.unwrap_or(&Value::Null)).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> MessageSchema {
        let object =
            |method: &str, field: &str| json!({ "type": "object", "required": [field], "x-method": method });
        let definitions = json!({
            "NewSessionResponse": object("session/new", "sessionId"),
            "SessionNotification": object("session/update", "update"),
            "Error": { "type": "object", "required": ["code"] },
        });
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), json!({ "$defs": definitions }).to_string()).unwrap();
        MessageSchema::load(file.path()).unwrap()
    }

    #[track_caller]
    fn check(sent: &[Value], expect: &str) {
        let received = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/new" }).to_string();
        let sent: Vec<String> = sent.iter().map(Value::to_string).collect();
        let findings = schema().check_exchange(&received, &sent.join("\n")).join("; ");
        assert!(
            if expect.is_empty() { findings.is_empty() } else { findings.contains(expect) },
            "{findings}"
        );
    }

    #[test]
    fn messages_are_compared_with_the_definition_of_their_method() {
        let response = json!({ "jsonrpc": "2.0", "id": 1, "result": { "sessionId": "s" } });
        let update =
            |params: Value| json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
        let complete = update(json!({ "sessionId": "s", "update": {} }));
        check(&[response.clone(), complete.clone()], "");
        check(&[response.clone(), update(json!({ "sessionId": "s" }))], "\"update\" is a required property");
        check(&[complete, response], "precedes the response");
        check(&[json!({ "jsonrpc": "2.0", "id": 1, "result": {} })], "\"sessionId\" is a required property");
        check(&[json!({ "jsonrpc": "2.0", "id": 2, "result": {} })], "answers no request");
        check(&[json!({ "jsonrpc": "2.0", "id": 2, "method": "fly" })], "has no Request `fly`");
        check(&[json!({ "jsonrpc": "2.0", "id": 1, "error": {} })], "\"code\" is a required property");
    }
}
