//! The attributes of spans, and the one list of their names.

use ibeam_protocol::Usage;
use serde_json::{Value, json};

/// The names of the semantic conventions, and those of ibeam for what the conventions do not have.
pub(super) mod name {
    pub(in super::super) const SERVICE_NAME: &str = "service.name";
    pub(in super::super) const SERVICE_VERSION: &str = "service.version";
    pub(in super::super) const ERROR_TYPE: &str = "error.type";
    pub(in super::super) const OPERATION: &str = "gen_ai.operation.name";
    pub(in super::super) const PROVIDER: &str = "gen_ai.provider.name";
    pub(in super::super) const CONVERSATION: &str = "gen_ai.conversation.id";
    pub(in super::super) const AGENT_NAME: &str = "gen_ai.agent.name";
    pub(in super::super) const AGENT_VERSION: &str = "gen_ai.agent.version";
    pub(in super::super) const REQUEST_MODEL: &str = "gen_ai.request.model";
    pub(in super::super) const RESPONSE_ID: &str = "gen_ai.response.id";
    pub(in super::super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
    pub(in super::super) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
    pub(in super::super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
    pub(in super::super) const TOOL_NAME: &str = "gen_ai.tool.name";
    pub(in super::super) const TOOL_TYPE: &str = "gen_ai.tool.type";
    pub(in super::super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
    pub(in super::super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
    pub(in super::super) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
    pub(in super::super) const PARENT_SESSION: &str = "ibeam.parent_session.id";
    pub(in super::super) const PURPOSE: &str = "ibeam.request.purpose";
    pub(in super::super) const TURNS: &str = "ibeam.requests";
    pub(in super::super) const TOOL_CALLS: &str = "ibeam.tool_calls";
    pub(in super::super) const FILES_CHANGED: &str = "ibeam.files_changed";
    pub(in super::super) const LEFT_OUT: &str = "ibeam.spans_left_out";
    pub(super) const COST: &str = "ibeam.cost_usd";
    pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    pub(super) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
    pub(super) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
}

/// The attributes of a span or a resource.
#[derive(Default)]
pub(super) struct Attributes(Vec<Value>);

impl Attributes {
    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.0.push(json!({ "key": key, "value": { "stringValue": value } }));
    }

    pub(super) fn texts(&mut self, key: &str, values: &[&str]) {
        let values: Vec<_> = values.iter().map(|value| json!({ "stringValue": value })).collect();
        self.0.push(json!({ "key": key, "value": { "arrayValue": { "values": values } } }));
    }

    pub(super) fn number(&mut self, key: &str, value: u64) {
        self.0.push(json!({ "key": key, "value": { "intValue": value.to_string() } }));
    }

    /// Adds a cost in millionths of a dollar.
    pub(super) fn cost(&mut self, micros: Option<u64>) {
        if let Some(micros) = micros {
            let dollars = super::super::dollars(micros);
            self.0.push(json!({ "key": name::COST, "value": { "doubleValue": dollars } }));
        }
    }

    /// Adds the tokens. The input tokens of the conventions include cached ones.
    pub(super) fn usage(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        self.number(name::INPUT_TOKENS, usage.prompt());
        self.number(name::OUTPUT_TOKENS, usage.output);
        if usage.cache_read > 0 {
            self.number(name::CACHE_READ_TOKENS, usage.cache_read);
        }
        if usage.cache_write > 0 {
            self.number(name::CACHE_WRITE_TOKENS, usage.cache_write);
        }
    }

    pub(super) fn into_json(self) -> Value {
        Value::Array(self.0)
    }
}
