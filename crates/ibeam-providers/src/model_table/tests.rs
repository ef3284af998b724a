use super::*;
use crate::model_thinking::{ThinkingForm, ThinkingOff};
use crate::model_traits::CacheForm;
use crate::provider_table::known_provider;
use crate::reasoning::Effort;
use crate::request_rules::RequestRule;

#[track_caller]
fn check(provider: &str, id: &str, label: &str) {
    assert_eq!(model_label(provider, id), label, "{provider}/{id}");
}

#[test]
fn a_known_model_has_its_display_name_in_every_form_of_its_id() {
    check("anthropic", "claude-sonnet-5-5", "Claude Sonnet 5.5");
    check("anthropic", "claude-haiku-4-5-20251001", "Claude Haiku 4.5");
    check("anthropic", "claude-opus-4-6-20260205", "claude-opus-4-6-20260205");
    check("openrouter", "anthropic/claude-sonnet-5.5", "Claude Sonnet 5.5");
    check("a-gateway", "anthropic/claude-sonnet-5.5", "Claude Sonnet 5.5");
    check("a-gateway", "claude-sonnet-4-5@20250929", "Claude Sonnet 4.5");
    check("bedrock", "au.anthropic.claude-sonnet-5-5", "Claude Sonnet 5.5 (AU)");
    check("groq", "openai/gpt-oss-20b", "GPT OSS 20B");
    check("openai", "gpt-6.2-sol", "GPT-6.2 Sol");
}

#[test]
fn the_label_of_an_unknown_model_is_its_id() {
    for id in ["qwen2.5-coder:7b", "claude-sonnet-99", "us.amazon.future-pro-v1:0", ""] {
        check("a-gateway", id, id);
    }
}

#[test]
fn a_newer_model_is_assumed_to_be_like_the_newest_of_its_family() {
    for (provider, id, like) in [
        ("anthropic", "claude-sonnet-6", Some("claude-sonnet-5-5")),
        ("anthropic", "claude-sonnet-latest", Some("claude-sonnet-5-5")),
        ("anthropic", "claude-sonnet-4-7", Some("claude-sonnet-4-6")),
        ("openai", "gpt-6.3-sol", Some("gpt-6.2-sol")),
        ("xai", "grok-4.8", Some("grok-4.7")),
        ("xai", "grok-5", Some("grok-4.7")),
        ("a-gateway", "claude-sonnet-6", Some("claude-sonnet-5-5")),
        ("openai", "gpt-oss-9000b", None),
        ("a-gateway", "my-model", None),
        ("ollama", "qwen3.8-max:72b", None),
        ("embedded", "qwen2.5-coder-1.5b", None),
        ("lmstudio", "qwen/qwen9-coder-30b", None),
        ("dashscope", "qwen9-max", Some("qwen3.8-max")),
    ] {
        let found = find_model(provider, id);
        assert_eq!(found.map(|model| model.id), like, "{provider}/{id}");
        assert!(found.is_none_or(|model| model.is_assumed), "{provider}/{id}");
    }
    // Another line of the maker has the same form, but perhaps not the same price.
    let other_line = find_model("anthropic", "claude-saga-6").unwrap();
    assert_eq!(other_line.prices, None);
    assert_eq!(other_line.thinking.form, Some(ThinkingForm::Adaptive));
    assert!(find_model("anthropic", "claude-sonnet-6").unwrap().prices.is_some());
}

#[test]
fn a_retired_model_is_only_named() {
    assert_eq!(find_model("anthropic", "claude-opus-4-1"), None);
    let retired = retired_model("anthropic", "claude-opus-4-1-20250805").unwrap();
    assert!(retired.retired < TABLE_DATE, "{retired:?}");
    assert_eq!(retired_model("anthropic", "claude-sonnet-5-5"), None);
}

#[test]
fn prices_are_those_of_the_provider() {
    let output = |provider, id| Some(find_model(provider, id)?.prices?.base.output);
    for (provider, id, expect) in [
        ("anthropic", "claude-sonnet-5-5", Some(10_000_000)),
        ("a-gateway", "claude-sonnet-5-5", Some(10_000_000)),
        ("openai", "gpt-6.2-sol", Some(10_000_000)),
        ("groq", "openai/gpt-oss-20b", Some(300_000)),
        ("vllm", "openai/gpt-oss-20b", None),
        ("a-gateway", "deepseek-flash", None),
        ("deepseek", "deepseek-flash", Some(1_200_000)),
        ("openai", "a-custom-model", None),
    ] {
        assert_eq!(output(provider, id), expect, "{provider} {id}");
    }
    let haiku = find_model("anthropic", "claude-haiku-5-5").unwrap();
    assert_eq!(haiku.price_step(), Some(100_000));
    let [step, none] = haiku.prices.unwrap().steps;
    assert_eq!((step.unwrap().prices.output, none), (2_500_000, None));
}

#[test]
fn thinking_is_that_of_the_services() {
    let thinking = |id: &str| known_model(id).unwrap().thinking;
    for (id, form, off, is_bound) in [
        ("claude-sonnet-5-5", ThinkingForm::Adaptive, Some(ThinkingOff::BetweenTools), true),
        ("claude-opus-5-5", ThinkingForm::Adaptive, None, true),
        ("claude-haiku-5-5", ThinkingForm::Adaptive, Some(ThinkingOff::Disabled), true),
        ("claude-fable-5-2", ThinkingForm::Adaptive, None, true),
        ("claude-opus-5", ThinkingForm::Adaptive, Some(ThinkingOff::Disabled), false),
        ("claude-haiku-4-5", ThinkingForm::Budget, None, false),
        ("gpt-6.2-sol", ThinkingForm::Levels, None, false),
        ("gpt-6.1-terra", ThinkingForm::Levels, Some(ThinkingOff::Level), false),
        ("gpt-4.1", ThinkingForm::None, None, false),
        ("devstral-medium-latest", ThinkingForm::None, None, false),
        ("deepseek-flash", ThinkingForm::Switch, Some(ThinkingOff::Disabled), false),
    ] {
        let found = thinking(id);
        assert_eq!((found.form, found.off, found.is_bound), (Some(form), off, is_bound), "{id}");
    }
    for id in ["global.anthropic.claude-sonnet-5-5", "anthropic/claude-opus-5.5"] {
        let found = find_model("bedrock", id).unwrap();
        assert!(found.thinking.is_bound, "{id}");
    }
}

#[test]
fn a_service_has_rules_of_its_own_for_the_models_of_others() {
    use RequestRule::{ResultStatus, SeparateText};
    let (all, system) = (Some(CacheForm::Points), Some(CacheForm::SystemPoints));
    for (id, cache, rule) in [
        ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", all, Some(ResultStatus)),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", all, Some(ResultStatus)),
        ("global.anthropic.claude-sonnet-6", all, Some(ResultStatus)),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", None, Some(ResultStatus)),
        ("us.amazon.nova-2-lite-v1:0", None, Some(ResultStatus)),
        ("us.amazon.nova-3-lite-v1:0", None, Some(ResultStatus)),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0", system, Some(ResultStatus)),
        ("openai.gpt-oss-120b-1:0", None, None),
        ("us.meta.llama4-maverick-17b-instruct-v1:0", None, Some(SeparateText)),
        ("us.meta.llama9-20b-instruct-v1:0", None, Some(SeparateText)),
        ("mistral.mistral-medium-9", None, Some(SeparateText)),
    ] {
        let found = find_model("bedrock", id).unwrap_or_else(|| panic!("{id}"));
        let rules = [ResultStatus, SeparateText].into_iter().find(|rule| found.rules.has(*rule));
        assert_eq!((found.cache, rules), (cache, rule), "{id}");
    }
    assert_eq!(find_model("bedrock", "arn:aws:bedrock:us-east-1:1:application-inference-profile/x"), None);
    let levels = find_model("bedrock", "global.anthropic.claude-sonnet-6").unwrap().thinking.levels.unwrap();
    assert!(!levels.contains(Effort::Max), "the ceiling of the service");
    let next = find_model("openrouter", "anthropic/claude-sonnet-6").unwrap();
    assert_eq!(next.cache, Some(CacheForm::CacheControl));
    let levels = |id| find_model("ollama", id).and_then(|model| model.thinking.levels);
    assert!(levels("gpt-oss:20b").is_some() && levels("qwen3:8b").is_none());
}

#[test]
fn an_unknown_model_has_the_prices_of_the_newest_one_of_its_family() {
    let newest = newest_of_family("anthropic", "claude-sonnet", "2026-01-01").and_then(|model| model.prices);
    assert!(newest.is_some());
    assert_eq!(family_prices("claude-sonnet-preview-99-9"), newest);
    assert!(find_model("anthropic", "claude-sonnet-preview-99-9").unwrap().prices.is_none());
    assert!(family_prices("house-model-7").is_none());
}

#[test]
fn the_maker_of_a_name_is_the_provider_that_develops_it() {
    for (id, expect) in [
        ("claude-sonnet-9", Some("anthropic")),
        ("gpt-9", Some("openai")),
        ("o3", Some("openai")),
        ("gemini-9-flash", Some("gemini")),
        ("grok-9", Some("xai")),
        ("MiniMax-M9", Some("minimax")),
        ("openai/gpt-9", Some("openai")),
        ("gpt-oss:20b", None),
        ("llama3", None),
    ] {
        assert_eq!(maker_of(id), expect, "{id}");
    }
}

#[test]
fn every_row_parses_and_belongs_to_a_provider() {
    let mut count = 0;
    for line in include_str!("../../data/models.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str();
        let (provider, id) = (text("provider").unwrap(), text("id").unwrap());
        assert!(known_provider(provider).is_some(), "{provider}");
        if text("source").is_none() {
            assert_eq!(retired_model(provider, id).unwrap().successor, text("successor"), "{line}");
            continue;
        }
        let model = find_model(provider, id).unwrap_or_else(|| panic!("{line}"));
        assert_eq!((model.provider, model.id, model.is_assumed), (provider, id, false), "{line}");
        assert_eq!(model.context_window.map(u64::from), row["context_window"].as_u64(), "{line}");
        assert_eq!(model.max_output_tokens.map(u64::from), row["max_output_tokens"].as_u64(), "{line}");
        assert_eq!(model.prices.is_some(), row["prices"].is_object(), "{line}");
        assert_eq!(model.label, text("label"), "{line}");
        assert_eq!((model.retires, model.successor), (text("retires"), text("successor")), "{line}");
        assert_eq!(model.thinking.form.is_some(), row["thinking"]["form"].is_string(), "{line}");
        assert_eq!(model.thinking.is_bound, row["thinking"]["bound"] == true, "{line}");
        let words = |pointer: &str| -> Vec<&str> {
            let list = row.pointer(pointer).and_then(|list| list.as_array());
            list.into_iter().flatten().filter_map(|word| word.as_str()).collect()
        };
        let rules: Vec<&str> = model.rules.iter().map(RequestRule::as_str).collect();
        assert_eq!(rules, words("/rules"), "{line}");
        let levels = model.thinking.levels.unwrap_or_default().iter().map(Effort::as_str);
        assert_eq!(levels.collect::<Vec<_>>(), words("/thinking/levels"), "{line}");
        assert_eq!(model.schema.is_some(), row["schema"].is_string(), "{line}");
        assert_eq!(model.cache.is_some(), row["cache"].is_string(), "{line}");
        let steps = row["tiers"].as_array().map_or(0, Vec::len);
        assert!(steps <= 2, "more than two price steps: {line}");
        count += 1;
    }
    assert_eq!(count, known_models().count());
}
