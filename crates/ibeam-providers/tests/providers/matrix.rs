//! Every current model of the table with every setting, through the real writers of requests. Each request is checked
//! against the row of the model and against the types of the official client libraries.

use std::collections::BTreeMap;
use std::sync::Arc;

use ibeam_core::{JsonSchema, ModelRequest};
use ibeam_protocol::{Block, Media, MediaType, Message, OriginalBlock, UserPart};
use ibeam_providers::wire_protocol::RequestSettings;
use ibeam_providers::{
    Effort, KnownModel, ModelTraits, Reasoning, ThinkingForm, ThinkingOff, WireProtocol, build_request_body,
    find_model, known_models, known_provider, traits_of,
};
use serde_json::{Value, json};

use crate::conversation::{call, request, results, thinking, user};
use crate::sdk_types::SdkTypes;

/// The data of the image in the conversations.
const IMAGE: &str = "iVBORw0KGgo";

/// A request that a user can cause.
struct Variant {
    name: String,
    reasoning: Reasoning,
    /// Whether someone reads the thoughts.
    shows_thinking: bool,
    messages: fn(&dyn WireProtocol) -> Vec<Message>,
    has_schema: bool,
}

fn variants() -> Vec<Variant> {
    let plain = |name: &str, reasoning| Variant {
        name: name.to_owned(),
        reasoning,
        shows_thinking: false,
        messages: |_| vec![user("hi")],
        has_schema: false,
    };
    let level = |effort| Reasoning { effort: Some(effort), budget: None };
    let mut variants: Vec<Variant> =
        Effort::ALL.iter().map(|effort| plain(effort.as_str(), level(*effort))).collect();
    let budget = Reasoning { effort: None, budget: Some(10_000) };
    let none = Reasoning::DEFAULT;
    variants.extend([
        plain("no flag", none),
        plain("budget", budget),
        Variant { shows_thinking: true, ..plain("shown", level(Effort::High)) },
        Variant { shows_thinking: true, ..plain("shown by default", none) },
        Variant { has_schema: true, ..plain("schema", none) },
        Variant { messages: with_image, ..plain("image", none) },
        Variant { messages: resumed, ..plain("resume", level(Effort::Low)) },
    ]);
    variants
}

fn image() -> Media {
    Media { name: "a.png".into(), media_type: MediaType::Png, data: IMAGE.into() }
}

fn with_image(_: &dyn WireProtocol) -> Vec<Message> {
    let mut shown = results(&["t1"], false);
    if let Message::ToolResults(results) = &mut shown {
        results[0].media = vec![image()];
    }
    let parts = vec!["Look.".into(), UserPart::Media(image())];
    vec![Message::User(parts), Message::Assistant(vec![call("t1", json!({}))]), shown]
}

/// Returns a conversation with reasoning in the form of the service, calls, a failed result and another prompt.
fn resumed(protocol: &dyn WireProtocol) -> Vec<Message> {
    let wire = match protocol.name() {
        "vertex-anthropic" | "bedrock-anthropic" => "anthropic",
        name => name,
    };
    let reasoning = match wire {
        "anthropic" => json!({ "type": "thinking", "thinking": "", "signature": "c2ln" }),
        "openai-responses" => {
            json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln" })
        }
        "bedrock" => {
            json!({ "reasoningContent": { "reasoningText": { "text": "Hmm.", "signature": "c2ln" } } })
        }
        _ => json!({}),
    };
    let mut blocks =
        vec![Block::Text("I look.".into()), call("t1", json!({ "path": "a" })), call("t2", json!({}))];
    match wire {
        "gemini" => {
            let raw = json!({ "thoughtSignature": "c2ln" });
            blocks.insert(1, Block::Opaque(OriginalBlock { wire: wire.into(), raw }));
        }
        _ if reasoning != json!({}) => blocks.insert(0, thinking(wire, reasoning)),
        _ => {}
    }
    let answer = Message::Assistant(blocks);
    vec![
        user("hi"),
        answer,
        results(&["t1", "t2"], true),
        Message::Assistant(vec![Block::Text("Done.".into())]),
        user("go on"),
    ]
}

fn body(model: &KnownModel, variant: &Variant) -> (&'static str, Value) {
    let provider = known_provider(model.provider).unwrap();
    let protocol = provider.responses.choose(provider.protocol, Some(model), true).first;
    let traits = match variant.shows_thinking {
        true => model.traits_with_shown_thinking(),
        false => ModelTraits::from(model),
    };
    let schema = || {
        let properties = json!({ "a": { "type": "string" } });
        let schema = json!({ "type": "object", "properties": properties, "required": ["a"], "additionalProperties": false });
        Arc::new(JsonSchema::new(schema).unwrap())
    };
    let request = ModelRequest {
        answer_schema: variant.has_schema.then(schema),
        ..request((variant.messages)(protocol))
    };
    // As the program decides: a model without reasoning, or an API without a form for it, gets no request for it.
    let may_reason = traits.reasons != Some(false)
        && traits.thinking.form != Some(ThinkingForm::None)
        && protocol.accepts_reasoning(traits);
    let reasoning = if may_reason { variant.reasoning } else { Reasoning::DEFAULT };
    let settings = RequestSettings {
        max_output_tokens: model.max_output_tokens.map(|most| most.min(64_000)),
        quirks: provider.quirks,
        cache_key: Some("session"),
        reasoning: traits.thinking.accepted(reasoning),
        traits,
        ..RequestSettings::for_unknown_model(model.id)
    };
    let body = build_request_body(protocol, &request, &settings).unwrap();
    (protocol.name(), serde_json::from_slice(&body).unwrap())
}

/// Returns the types for the requests to a model, and the request as the client library has it.
fn types_of(provider: &str, wire: &str, body: &Value) -> Option<(SdkTypes, Value)> {
    let mut body = body.clone();
    let library = match (wire, provider) {
        ("anthropic", _) => "anthropic",
        ("vertex-anthropic", _) => {
            let object = body.as_object_mut().unwrap();
            object.remove("anthropic_version");
            object.insert("model".to_owned(), json!("m"));
            "anthropic"
        }
        ("bedrock", _) => "botocore",
        ("gemini" | "vertex-gemini", _) => "google-genai",
        ("openai-responses", _) => "openai-responses",
        ("openai", "mistral") => "mistralai",
        ("openai", _) => "openai-chat",
        ("cohere", _) => "cohere",
        _ => return None,
    };
    let extensions: &[&str] = match (wire, provider) {
        ("openai", "openai" | "mistral" | "groq" | "cerebras") => &[],
        ("openai", "openrouter") => &["reasoning", "cache_control", "reasoning_content"],
        ("openai", "zai") => &["thinking", "tool_stream", "reasoning_content"],
        ("openai", "together") => &["reasoning", "reasoning_content"],
        ("openai", _) => &["thinking", "reasoning_content"],
        _ => &[],
    };
    Some((SdkTypes::new(library, extensions), body))
}

/// Returns the words for levels in a request.
fn levels_in(body: &Value) -> Vec<String> {
    let places = [
        "/reasoning_effort",
        "/reasoning/effort",
        "/output_config/effort",
        "/additionalModelRequestFields/output_config/effort",
        "/additionalModelRequestFields/reasoning_effort",
        "/additionalModelRequestFields/reasoning/effort",
        "/additionalModelRequestFields/reasoningConfig/maxReasoningEffort",
        "/generationConfig/thinkingConfig/thinkingLevel",
        "/generation_config/thinking_level",
    ];
    let words = places.iter().filter_map(|place| body.pointer(place)?.as_str());
    words.map(str::to_lowercase).collect()
}

/// Returns the first difference between a request and the row of its model.
fn difference_to_row(model: &KnownModel, variant: &Variant, body: &Value) -> Option<String> {
    let row = model.thinking;
    for word in levels_in(body) {
        let is_accepted = match Effort::from_name(&word) {
            Some(Effort::None) => row.off == Some(ThinkingOff::Level) || row.levels.is_none(),
            Some(level) => row.levels.is_none_or(|levels| levels.contains(level)),
            None => false,
        };
        if !is_accepted || row.form == Some(ThinkingForm::None) {
            return Some(format!("the level `{word}`"));
        }
    }
    let thinking = body.get("thinking").or_else(|| body.pointer("/additionalModelRequestFields/thinking"));
    // A service may have a switch for all of its models, and of some models nothing is known.
    let has_switch =
        matches!(row.form, None | Some(ThinkingForm::Switch | ThinkingForm::Zai | ThinkingForm::Levels));
    let is_accepted = match thinking.and_then(|thinking| thinking["type"].as_str()) {
        None => true,
        Some("adaptive") => row.form == Some(ThinkingForm::Adaptive),
        Some("enabled") => row.form == Some(ThinkingForm::Budget) || has_switch,
        Some("disabled") => row.off == Some(ThinkingOff::Disabled) || (has_switch && row.levels.is_none()),
        Some("between_tools") => row.off == Some(ThinkingOff::BetweenTools),
        Some(_) => false,
    };
    if !is_accepted {
        return Some(format!("`thinking` {thinking:?}"));
    }
    let budget = thinking.and_then(|thinking| thinking["budget_tokens"].as_u64());
    let limits =
        ["/max_tokens", "/max_completion_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens"];
    let limit = limits.iter().find_map(|place| body.pointer(place)?.as_u64());
    if limit.zip(model.max_output_tokens).is_some_and(|(limit, most)| limit > most.into())
        || budget.zip(limit).is_some_and(|(budget, limit)| budget >= limit)
    {
        return Some(format!("the limit {limit:?} with {budget:?}"));
    }
    let shows_image = body.to_string().contains(IMAGE);
    let has_image = variant.name == "image";
    if shows_image != (has_image && model.abilities.images != Some(false)) {
        return Some(format!("image: {shows_image}"));
    }
    None
}

#[test]
fn every_request_to_a_current_model_is_one_that_its_service_accepts() {
    let variants = variants();
    let (mut count, mut typed) = (0, 0);
    // One example for each kind of fault.
    let mut faults: BTreeMap<String, String> = BTreeMap::new();
    for model in known_models() {
        for variant in &variants {
            let (wire, body) = body(&model, variant);
            let mut fault = difference_to_row(&model, variant, &body);
            if let Some((types, typed_body)) = types_of(model.provider, wire, &body) {
                typed += 1;
                fault = fault.or_else(|| types.fault(&typed_body));
            }
            count += 1;
            if let Some(fault) = fault {
                let kind = format!("{} {wire} {fault}", model.provider);
                faults.entry(kind).or_insert_with(|| format!("{} ({}): {body}", model.id, variant.name));
            }
        }
    }
    let text: Vec<String> = faults.iter().map(|(kind, example)| format!("{kind}\n    {example}")).collect();
    assert!(faults.is_empty(), "{} kinds of faults:\n{}", faults.len(), text.join("\n"));
    assert!(count > 10_000 && typed > 10_000, "{count} requests, {typed} with types");
}

#[test]
fn the_schema_of_an_answer_is_in_the_request_if_the_row_has_its_form() {
    let schema = Variant {
        name: "schema".to_owned(),
        reasoning: Reasoning::DEFAULT,
        shows_thinking: false,
        messages: |_| vec![user("hi")],
        has_schema: true,
    };
    for (provider, id, place) in [
        ("anthropic", "claude-sonnet-5-5", "/output_config/format/schema/properties/a"),
        ("anthropic", "claude-haiku-4-5", "/output_config/format/schema/properties/a"),
        ("vertex-anthropic", "claude-opus-5-5", "/output_config/format/schema/properties/a"),
        ("bedrock", "anthropic.claude-sonnet-5-5", "/outputConfig/textFormat/structure/jsonSchema/schema"),
        ("openai", "gpt-6.2-sol", "/text/format/schema/properties/a"),
        ("gemini", "gemini-4-argon", "/generationConfig/responseJsonSchema/properties/a"),
    ] {
        let model = find_model(provider, id).unwrap();
        let (_, body) = body(&model, &schema);
        assert!(body.pointer(place).is_some(), "{provider} {id}: {body}");
    }
    for (provider, id) in [("minimax", "MiniMax-M3.1-Flash"), ("bedrock", "anthropic.claude-opus-4-6-v1")] {
        let (_, body) = body(&find_model(provider, id).unwrap(), &schema);
        assert!(!body.to_string().contains("json_schema"), "{provider} {id}: {body}");
    }
}

#[test]
fn a_newer_gpt_model_gets_the_system_prompt_as_a_message_at_every_address() {
    for (id, expect) in
        [("gpt-6.2-sol", "developer"), ("gpt-6.2-astra", "developer"), ("gpt-6.1-sol", "user")]
    {
        // Another address has no cache breakpoints.
        let settings =
            RequestSettings { traits: traits_of("", id), ..RequestSettings::for_unknown_model(id) };
        let protocol = ibeam_providers::protocols::OPENAI_RESPONSES;
        let body = build_request_body(protocol, &request(vec![user("hi")]), &settings).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["input"][0]["role"], expect, "{id}");
        assert_eq!(body.get("instructions").is_some(), expect == "user", "{id}");
    }
}
