//! Requests for reasoning in the form of each API.

use ibeam_providers::protocols::{
    ANTHROPIC, BEDROCK, BEDROCK_ANTHROPIC, COHERE, GEMINI, GEMINI_INTERACTIONS, OLLAMA, OPENAI_CHAT,
    OPENAI_RESPONSES, VERTEX_ANTHROPIC, VERTEX_GEMINI,
};
use ibeam_providers::provider_table::known_provider;
use ibeam_providers::wire_protocol::RequestSettings;
use ibeam_providers::{
    Effort, ModelTraits, PROTOCOLS, Quirks, Reasoning, WireProtocol, build_request_body, traits_of,
};
use serde_json::{Value, json};

use crate::conversation::{request, user};

fn body(protocol: &dyn WireProtocol, provider: &str, model: &str, reasoning: Reasoning) -> Value {
    let quirks = known_provider(provider).map_or(Quirks::DEFAULT, |provider| provider.quirks);
    let max_output_tokens = Some(32_000);
    let traits = traits_of(provider, model);
    let reasoning = traits.thinking.accepted(reasoning);
    let settings = RequestSettings::for_unknown_model(model);
    let settings = RequestSettings { max_output_tokens, quirks, reasoning, traits, ..settings };
    let body = build_request_body(protocol, &request(vec![user("hi")]), &settings).unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// Expects that a request for `reasoning` differs from one without it in these keys only.
#[track_caller]
fn check(protocol: &dyn WireProtocol, provider: &str, model: &str, reasoning: Reasoning, expect: Value) {
    let mut body_with = body(protocol, provider, model, reasoning);
    let plain = body(protocol, provider, model, Reasoning::DEFAULT);
    let mut found = json!({});
    for (key, value) in body_with.as_object_mut().unwrap() {
        if plain.get(key) != Some(value) {
            found[key] = value.take();
        }
    }
    assert_eq!(found, expect, "{protocol:?} {provider} {model} {reasoning:?}");
}

fn level(effort: Effort) -> Reasoning {
    Reasoning { effort: Some(effort), budget: None }
}

fn tokens(budget: u32) -> Reasoning {
    Reasoning { effort: None, budget: Some(budget) }
}

#[test]
fn claude_gets_the_same_settings_at_every_service() {
    let budget = json!({ "thinking": { "type": "enabled", "budget_tokens": 24_576 } });
    let adaptive = json!({ "thinking": { "type": "adaptive" }, "output_config": { "effort": "high" } });
    // The clouds get the beta version in the body, the others in a header.
    let beta = json!(["interleaved-thinking-2025-05-14"]);
    for (protocol, older, newer) in [
        (ANTHROPIC, "claude-sonnet-4-5", "claude-opus-4-6"),
        (VERTEX_ANTHROPIC, "claude-sonnet-4-5@20250929", "claude-opus-4-6"),
        (BEDROCK_ANTHROPIC, "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-opus-4-6-v1"),
    ] {
        let mut expect = budget.clone();
        if protocol.name() == "bedrock-anthropic" {
            expect["anthropic_beta"] = beta.clone();
        }
        check(protocol, "anthropic", older, level(Effort::High), expect);
        check(protocol, "anthropic", newer, level(Effort::High), adaptive.clone());
    }
    let fields = |fields: Value| json!({ "additionalModelRequestFields": fields });
    let older = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
    let mut with_beta = budget;
    with_beta["anthropic_beta"] = beta;
    check(BEDROCK, "bedrock", older, level(Effort::High), fields(with_beta));
    check(BEDROCK, "bedrock", "anthropic.claude-opus-4-6-v1", level(Effort::High), fields(adaptive));
}

#[test]
fn converse_has_the_fields_of_each_family() {
    let nova = "us.amazon.nova-2-lite-v1:0";
    let config = |config: Value| json!({ "additionalModelRequestFields": { "reasoningConfig": config } });
    let low = json!({ "type": "enabled", "maxReasoningEffort": "low" });
    check(BEDROCK, "bedrock", nova, level(Effort::Low), config(low));
    check(BEDROCK, "bedrock", nova, level(Effort::None), config(json!({ "type": "disabled" })));
    let high = body(BEDROCK, "bedrock", nova, level(Effort::Max));
    assert_eq!(high.get("inferenceConfig"), None, "Nova rejects a limit with high effort: {high}");
    let openai = json!({ "additionalModelRequestFields": { "reasoning_effort": "medium" } });
    check(BEDROCK, "bedrock", "openai.gpt-oss-120b-1:0", level(Effort::Medium), openai);
    let llama = "us.meta.llama4-maverick-17b-instruct-v1:0";
    check(BEDROCK, "bedrock", llama, level(Effort::High), json!({}));
    let accepts = |model| BEDROCK.accepts_reasoning(traits_of("bedrock", model));
    let is_accepted = ANTHROPIC.accepts_reasoning(ModelTraits::UNKNOWN);
    assert!(accepts(nova) && !accepts(llama) && is_accepted);
}

#[test]
fn apis_of_openai_get_a_level() {
    let effort = |word: &str| json!({ "reasoning_effort": word });
    check(OPENAI_CHAT, "openai", "gpt-5", level(Effort::XHigh), effort("high"));
    check(OPENAI_CHAT, "groq", "openai/gpt-oss-120b", level(Effort::Max), effort("high"));
    check(OPENAI_CHAT, "mistral", "devstral-medium-latest", Reasoning::DEFAULT, json!({}));
    check(OPENAI_CHAT, "mistral", "mistral-large-4", level(Effort::XHigh), effort("high"));
    check(OPENAI_CHAT, "groq", "openai/gpt-oss-120b", tokens(10_240), effort("medium"));
    let reasoning = |word: &str| json!({ "reasoning": { "effort": word } });
    check(OPENAI_RESPONSES, "openai", "gpt-6.2-sol", level(Effort::None), reasoning("low"));
    check(OPENAI_RESPONSES, "openai", "gpt-6.2-sol", level(Effort::Max), reasoning("max"));
    check(OPENAI_RESPONSES, "openai", "gpt-6.1-terra", level(Effort::None), reasoning("none"));
    check(OPENAI_RESPONSES, "openai", "gpt-5.4", level(Effort::Max), reasoning("xhigh"));
    check(OPENAI_RESPONSES, "xai", "grok-4.7", level(Effort::Max), reasoning("xhigh"));
    check(OPENAI_CHAT, "openrouter", "anthropic/claude-opus-5.5", level(Effort::Max), reasoning("max"));
    check(OPENAI_CHAT, "openrouter", "z-ai/glm-4.6", level(Effort::Max), reasoning("xhigh"));
    let limit = json!({ "reasoning": { "max_tokens": 2000 } });
    check(OPENAI_CHAT, "openrouter", "z-ai/glm-4.6", tokens(2000), limit);
    let enabled = json!({ "thinking": { "type": "enabled" }, "reasoning_effort": "low" });
    check(OPENAI_CHAT, "deepseek", "deepseek-flash", level(Effort::Low), enabled);
    let disabled = json!({ "thinking": { "type": "disabled" } });
    check(OPENAI_CHAT, "deepseek", "deepseek-flash", level(Effort::None), disabled);
}

#[test]
fn every_service_gets_a_level_that_its_model_accepts_or_none() {
    use Effort::{High, Low, Max, Medium, Minimal, None, XHigh};
    let effort = |word: &str| json!({ "reasoning_effort": word });
    let reasoning = |word: &str| json!({ "reasoning": { "effort": word } });
    let bedrock = |fields: Value| json!({ "additionalModelRequestFields": fields });
    let zai = |word: &str| json!({ "thinking": { "type": "enabled", "clear_thinking": false }, "reasoning_effort": word });
    let off = json!({ "thinking": { "type": "disabled" } });
    let nothing = json!({});
    let mut cases: Vec<(&dyn WireProtocol, &str, &str, Effort, Value)> = vec![
        (OPENAI_RESPONSES, "openai", "gpt-5.5-pro", None, reasoning("medium")),
        (OPENAI_RESPONSES, "openai", "gpt-6-sol", Minimal, reasoning("low")),
        (OPENAI_RESPONSES, "openai", "gpt-5.2", Max, reasoning("xhigh")),
        (OPENAI_RESPONSES, "openai", "o3", Max, reasoning("high")),
        (OPENAI_RESPONSES, "openai", "o3", None, reasoning("low")),
        (OPENAI_CHAT, "mistral", "mistral-medium-latest", Low, effort("high")),
        (OPENAI_CHAT, "mistral", "mistral-small-latest", None, effort("none")),
        (OPENAI_CHAT, "mistral", "magistral-medium-latest", Medium, effort("high")),
        (OPENAI_CHAT, "mistral", "mistral-large-4", None, effort("low")),
        (OPENAI_CHAT, "deepseek", "deepseek-v4-pro", None, off.clone()),
        (OPENAI_CHAT, "groq", "openai/gpt-oss-20b", None, effort("low")),
        (OPENAI_CHAT, "groq", "qwen/qwen3.8-27b", None, effort("none")),
        (OPENAI_CHAT, "groq", "qwen/qwen3.8-27b", Max, effort("high")),
        (OPENAI_CHAT, "cerebras", "qwen-3.8-27b", XHigh, effort("high")),
        (OPENAI_CHAT, "openrouter", "openai/gpt-6.2-sol", Max, reasoning("max")),
        (OPENAI_CHAT, "moonshot", "kimi-k3", Medium, effort("low")),
        (OPENAI_CHAT, "moonshot", "kimi-k3.1-pro", None, effort("low")),
        (OPENAI_CHAT, "moonshot", "kimi-k2.6", High, json!({ "thinking": { "type": "enabled" } })),
        (OPENAI_CHAT, "moonshot", "kimi-k2.6", None, off.clone()),
        (OPENAI_CHAT, "zai", "glm-5.3", Max, zai("max")),
        (OPENAI_CHAT, "zai", "glm-5.3", None, zai("low")),
        (OPENAI_CHAT, "zai", "glm-5.2", None, off),
        (BEDROCK, "bedrock", "openai.gpt-6.2-sol", Max, bedrock(reasoning("xhigh"))),
    ];
    for model in ["grok-4.20-non-reasoning", "grok-4.20-reasoning"] {
        cases.push((OPENAI_CHAT, "xai", model, High, nothing.clone()));
    }
    for model in ["devstral-medium-latest", "codestral-latest", "ministral-8b-latest"] {
        cases.push((OPENAI_CHAT, "mistral", model, High, nothing.clone()));
    }
    for (protocol, provider, model, asked, expect) in cases {
        check(protocol, provider, model, level(asked), expect);
    }
    let sonnet = body(BEDROCK, "bedrock", "global.anthropic.claude-sonnet-5-5", level(Max));
    let found = sonnet.pointer("/additionalModelRequestFields/output_config/effort");
    assert_eq!(found, Some(&json!("xhigh")), "the ceiling of the service");
    let tools = body(OPENAI_CHAT, "zai", "glm-5.3", Reasoning::DEFAULT);
    assert_eq!(tools["tool_stream"], true);
}

#[test]
fn gemini_gets_a_level_or_a_number_of_tokens() {
    let config = |thinking: Value| json!({ "generationConfig": { "maxOutputTokens": 32_000, "thinkingConfig": thinking } });
    for protocol in [GEMINI, VERTEX_GEMINI] {
        let low = json!({ "includeThoughts": true, "thinkingLevel": "LOW" });
        check(protocol, "gemini", "gemini-4-argon", level(Effort::Low), config(low));
        let budget = json!({ "includeThoughts": true, "thinkingBudget": 4096 });
        check(protocol, "gemini", "gemini-2.5-pro", level(Effort::Low), config(budget));
    }
    let expect = json!({
        "max_output_tokens": 32_000, "thinking_summaries": "auto", "thinking_level": "high",
    });
    let model = "gemini-4-argon";
    check(GEMINI_INTERACTIONS, "gemini", model, level(Effort::XHigh), json!({ "generation_config": expect }));
}

#[test]
fn ollama_and_cohere_get_a_switch() {
    let think = |value: Value| json!({ "think": value });
    check(OLLAMA, "ollama", "qwen3:8b", level(Effort::Low), think(json!(true)));
    check(OLLAMA, "ollama", "qwen3:8b", level(Effort::None), think(json!(false)));
    check(OLLAMA, "ollama", "gpt-oss:20b", level(Effort::Max), think(json!("high")));
    let thinking = |value: Value| json!({ "thinking": value });
    let model = "command-a-reasoning-08-2025";
    check(COHERE, "cohere", model, level(Effort::None), thinking(json!({ "type": "disabled" })));
    check(COHERE, "cohere", model, level(Effort::High), thinking(json!({ "type": "enabled" })));
    let limited = thinking(json!({ "type": "enabled", "token_budget": 500 }));
    check(COHERE, "cohere", model, Reasoning { budget: Some(500), ..level(Effort::Low) }, limited);
}

#[test]
fn nothing_is_sent_unless_the_user_asks() {
    for protocol in PROTOCOLS {
        let text = body(*protocol, "unknown", "m", Reasoning::DEFAULT).to_string();
        for word in ["reasoning_effort", "effort", "thinking_level", "budget", "\"think\""] {
            assert!(!text.contains(word), "{protocol:?}: {text}");
        }
    }
}
