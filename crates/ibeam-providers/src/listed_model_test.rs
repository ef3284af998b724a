use serde_json::json;

use super::*;

fn facts(element: &Value) -> Value {
    serde_json::to_value(ListedFacts::from_element(element)).unwrap()
}

/// Checks the facts in an element of a list, and that they are read from a cache as they were written.
#[track_caller]
fn check(element: &Value, expect: &Value) {
    let read = facts(element);
    assert_eq!(&read, expect);
    let cached: ListedFacts = serde_json::from_value(read).unwrap();
    assert_eq!(cached, ListedFacts::from_element(element));
}

/// An element of Anthropic's list.
fn claude() -> Value {
    let (yes, no) = (json!({ "supported": true }), json!({ "supported": false }));
    json!({
        "type": "model", "id": "claude-sonnet-4-5", "display_name": "Claude Sonnet 4.5",
        "created_at": "2025-09-29T00:00:00Z", "deprecated_at": "2026-05-01T00:00:00Z",
        "lifecycle": "deprecated", "retires_at": "2026-11-30T17:00:00Z", "line": "sonnet",
        "max_input_tokens": 1_000_000, "max_tokens": 64_000,
        "capabilities": {
            "batch": yes, "image_input": yes, "pdf_input": yes, "structured_outputs": no,
            "effort": { "supported": true, "low": yes, "medium": yes, "high": yes, "xhigh": no, "max": null },
            "thinking": {
                "supported": true,
                "types": { "adaptive": no, "between_tools": no, "disabled": yes, "enabled": yes, "new": yes },
            },
        },
    })
}

#[test]
fn anthropic_lists_the_life_and_the_abilities_of_a_model() {
    check(
        &claude(),
        &json!({
            "line": "sonnet", "created": "2025-09-29", "lifecycle": "deprecated", "retires": "2026-11-30",
            "context_window": 1_000_000, "max_output_tokens": 64_000,
            "thinking_forms": ["disabled", "enabled"], "effort_levels": ["low", "medium", "high"],
            "images": true, "documents": true, "structured_output": false, "reasoning": true,
        }),
    );
    let unknown = json!({
        "id": "claude-new", "created_at": "1970-01-01T00:00:00Z", "lifecycle": "preview", "retires_at": null,
        "line": null, "capabilities": { "effort": { "supported": true } },
    });
    check(&unknown, &json!({}));
    let without_effort =
        json!({ "capabilities": { "effort": { "supported": false, "low": { "supported": false } } } });
    check(&without_effort, &json!({ "effort_levels": [] }));
}

#[test]
fn other_services_list_sizes_dates_and_successors() {
    for (element, expect) in [
        // OpenAI
        (
            json!({ "id": "gpt-5", "created": 1_754_425_777, "owned_by": "system", "shutdown_date": "2026-12-11" }),
            json!({ "created": "2025-08-05", "retires": "2026-12-11" }),
        ),
        (json!({ "id": "gpt-6", "created": 0, "shutdown_date": null }), json!({})),
        // Mistral
        (
            json!({
                "id": "devstral-small-2507", "created": 1_754_000_000, "max_context_length": 131_072,
                "aliases": ["devstral-small-latest"], "deprecation": "2026-11-30T12:00:00Z",
                "deprecation_replacement_model": "devstral-small-2512",
                "capabilities": { "completion_chat": true, "function_calling": true, "reasoning": false, "vision": false },
            }),
            json!({
                "created": "2025-07-31", "retires": "2026-11-30", "successor": "devstral-small-2512",
                "aliases": ["devstral-small-latest"], "context_window": 131_072,
                "images": false, "tools": true, "reasoning": false,
            }),
        ),
        // Gemini
        (
            json!({ "name": "models/gemini-x", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536, "thinking": true }),
            json!({ "context_window": 1_048_576, "max_output_tokens": 65_536, "reasoning": true }),
        ),
        // Cohere
        (
            json!({ "name": "command-x", "context_length": 288_000.0, "is_deprecated": false, "features": null }),
            json!({ "lifecycle": "active", "context_window": 288_000 }),
        ),
        // Groq
        (
            json!({
                "id": "openai/gpt-oss-120b", "created": 1_754_408_224, "active": true, "context_window": 131_072,
                "public_apps": null, "max_completion_tokens": 65_536,
            }),
            json!({
                "created": "2025-08-05", "lifecycle": "active", "context_window": 131_072, "max_output_tokens": 65_536,
            }),
        ),
        (json!({ "id": "old", "active": false }), json!({ "lifecycle": "retired" })),
        // Bedrock: a foundation model, an inference profile
        (
            json!({
                "modelId": "anthropic.claude-x", "inputModalities": ["TEXT", "IMAGE"],
                "modelLifecycle": {
                    "status": "LEGACY", "startOfLifeTime": "2025-09-29T00:00:00Z", "endOfLifeTime": "2027-04-08T00:00:00+00:00",
                },
            }),
            json!({ "created": "2025-09-29", "lifecycle": "deprecated", "retires": "2027-04-08", "images": true }),
        ),
        (
            json!({ "inferenceProfileId": "us.a", "status": "ACTIVE", "createdAt": "2025-01-01T00:00:00Z" }),
            json!({ "lifecycle": "active" }),
        ),
    ] {
        check(&element, &expect);
    }
}

#[test]
fn openrouter_lists_dollars_for_a_token() {
    let model = |pricing: Value| {
        json!({
            "id": "maker/model", "created": 1_788_206_780, "context_length": 1_000_000, "expiration_date": "2026-12-31",
            "top_provider": { "context_length": 1_000_000, "max_completion_tokens": 128_000 },
            "architecture": { "input_modalities": ["text", "image", "file"], "output_modalities": ["text"] },
            "supported_parameters": ["max_tokens", "reasoning", "structured_outputs", "tools"],
            "reasoning": { "mandatory": true, "supported_efforts": ["max", "high", "low", null] },
            "pricing": pricing,
        })
    };
    check(
        &model(json!({
            "prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000001",
            "input_cache_write": "0.0000025", "request": "0", "overrides": [],
        })),
        &json!({
            "created": "2026-08-31", "retires": "2026-12-31", "context_window": 1_000_000, "max_output_tokens": 128_000,
            "effort_levels": ["low", "high", "max"], "images": true, "documents": true, "tools": true,
            "structured_output": true, "reasoning": true,
            "prices": { "input": 2.0, "output": 10.0, "cache_read": 0.1, "cache_write": 2.5 },
        }),
    );
    let step = json!([{ "min_prompt_tokens": 272_000, "prompt": "0.000004" }]);
    for (pricing, expect) in [
        (json!({ "prompt": "0", "completion": "0" }), json!({ "input": 0.0, "output": 0.0 })),
        (json!({ "prompt": "-1", "completion": "-1" }), Value::Null),
        (json!({ "prompt": "0.000002", "completion": "0.00001", "overrides": step }), Value::Null),
        (json!({ "prompt": "0.000002", "completion": "0.00001", "request": "0.01" }), Value::Null),
        (json!({ "prompt": "NaN", "completion": "free" }), Value::Null),
    ] {
        assert_eq!(facts(&model(pricing.clone()))["prices"], expect, "{pricing}");
    }
}

#[test]
fn xai_lists_cents_for_a_hundred_million_tokens() {
    let mut model = json!({
        "id": "grok-x", "created": 1_788_000_000, "input_modalities": ["text", "image"], "output_modalities": ["text"],
        "prompt_text_token_price": 12_500, "cached_prompt_text_token_price": 2_000, "completion_text_token_price": 25_000,
        "prompt_text_token_price_long_context": 0, "aliases": ["grok-x-latest"], "context_length": 500_000,
        "capabilities": { "reasoning_effort": ["low", "medium", "high"] },
    });
    let mut expect = json!({
        "created": "2026-08-29", "aliases": ["grok-x-latest"], "context_window": 500_000,
        "effort_levels": ["low", "medium", "high"], "images": true, "reasoning": true,
        "prices": { "input": 1.25, "output": 2.5, "cache_read": 0.2 },
    });
    check(&model, &expect);
    let prices = ListedFacts::from_element(&model).prices.unwrap().prices();
    assert_eq!(
        (prices.base.input, prices.base.cache_read, prices.base.cache_write),
        (1_250_000, 200_000, 1_250_000)
    );
    model["prompt_text_token_price_long_context"] = 25_000.into();
    expect.as_object_mut().unwrap().remove("prices");
    check(&model, &expect);
}

#[test]
fn a_date_has_any_usual_form() {
    for (value, expect) in [
        (json!(1_764_460_800), Some("2025-11-30")),
        (json!("2026-11-30"), Some("2026-11-30")),
        (json!("2026-11-30T00:00:00"), Some("2026-11-30")),
        (json!("2026-11-30T17:00:00.123Z"), Some("2026-11-30")),
        // The day where the service is.
        (json!("2026-11-30T23:00:00-05:00"), Some("2026-11-30")),
        (json!(0), None),
        (json!("soon"), None),
        (json!(""), None),
        (json!(1e300), None),
        (json!(null), None),
        (json!(["2026-11-30"]), None),
    ] {
        assert_eq!(read_date(&value).as_deref(), expect, "{value}");
    }
}

#[test]
fn a_fact_of_another_type_is_left_out_and_changes_no_other() {
    let whole = facts(&claude());
    for (pointer, fact) in [
        ("/line", "line"),
        ("/created_at", "created"),
        ("/lifecycle", "lifecycle"),
        ("/retires_at", "retires"),
        ("/max_input_tokens", "context_window"),
        ("/max_tokens", "max_output_tokens"),
        ("/capabilities/thinking/types", "thinking_forms"),
        ("/capabilities/effort", "effort_levels"),
        ("/capabilities/image_input", "images"),
        ("/capabilities/pdf_input", "documents"),
        ("/capabilities/structured_outputs", "structured_output"),
        ("/capabilities/thinking/supported", "reasoning"),
    ] {
        for other in
            [json!(null), json!([[]]), json!([{ "supported": true }]), json!({ "x": [1] }), json!(-1.5)]
        {
            let mut element = claude();
            *element.pointer_mut(pointer).unwrap() = other.clone();
            let mut expect = whole.clone();
            expect.as_object_mut().unwrap().remove(fact);
            // Levels of effort mean that the model reasons.
            if fact == "reasoning" {
                expect["reasoning"] = true.into();
            }
            assert_eq!(facts(&element), expect, "{pointer}: {other}");
        }
    }
}

#[test]
fn an_element_without_an_id_is_skipped() {
    let list = json!({ "data": [{ "name": "no id" }, { "id": 7 }, "text", null, claude(), { "id": "b", "name": "B" }] });
    let models = parse_model_list(&list.to_string()).unwrap();
    let names: Vec<_> = models.iter().map(|model| (model.id.as_str(), model.label.as_deref())).collect();
    assert_eq!(names, [("claude-sonnet-4-5", Some("Claude Sonnet 4.5")), ("b", Some("B"))]);
    assert_eq!(models[0].facts.retires.as_deref(), Some("2026-11-30"));
    assert!(matches!(parse_model_list(r#"{"error":{"message":"no"}}"#), Err(ResponseError::Reported(_))));
    assert!(matches!(parse_model_list(r#"{"data":{}}"#), Err(ResponseError::Protocol(_))));
}
