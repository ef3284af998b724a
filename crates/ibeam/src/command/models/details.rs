//! The known facts about a model: context size, prices, abilities. An unknown value is printed as `unknown`, in JSON as
//! null.

use ibeam_core::Prices;
use ibeam_output::Catalogue;
use ibeam_protocol::{ModelInfo, Reason, Sentence, sentence};
use ibeam_providers::{Abilities, KnownModel, known_model};
use serde_json::{Value, json};

use crate::app::AppContext;
use crate::run::model_info;

/// The facts about a model, from the configuration, else from the model table.
pub(super) struct ModelDetails {
    context_window: Option<u64>,
    max_output_tokens: Option<u64>,
    prices: Option<Prices>,
    /// The entry of the model table.
    known: Option<KnownModel>,
}

impl ModelDetails {
    /// Collects the facts.
    ///
    /// # Errors
    /// `BadConfig` for an invalid price.
    pub(super) fn new(app: &AppContext, model: &ModelInfo) -> Result<Self, Reason> {
        Ok(Self {
            context_window: model_info::context_window(app, model),
            max_output_tokens: model_info::max_output_tokens(app, model),
            prices: model_info::prices(app, model)?,
            known: known_model(&model.id),
        })
    }

    /// Returns the entry of a model in the JSON list.
    pub(super) fn to_json(&self, name: &str, model: &ModelInfo, is_current: bool) -> Value {
        let abilities = self.abilities();
        let prices = self.prices.map(|prices| {
            json!({
                "input": dollars(prices.input),
                "output": dollars(prices.output),
                "cache_read": dollars(prices.cache_read),
                "cache_write": dollars(prices.cache_write),
            })
        });
        let source = self.known.map(|known| json!({ "name": known.source, "date": known.date }));
        json!({
            "id": name,
            "provider": model.provider,
            "model": model.id,
            "display_name": model.display,
            "current": is_current,
            "context_window": self.context_window,
            "max_output_tokens": self.max_output_tokens,
            "dollars_per_million_tokens": prices,
            "abilities": {
                "tools": abilities.tools,
                "images": abilities.images,
                "reasoning": abilities.reasoning,
                "structured_output": abilities.structured_output,
            },
            "source": source,
        })
    }

    fn abilities(&self) -> Abilities {
        self.known.map(|known| known.abilities).unwrap_or_default()
    }
}

impl ModelDetails {
    /// Returns, for example, `context 200,000 tokens; $3 in, $15 out per million tokens; tools, images; no reasoning;
    /// structured output unknown`.
    pub(super) fn to_text(&self, catalogue: &Catalogue) -> String {
        let translate = |sentence: Sentence| catalogue.sentence(&sentence);
        let context = match self.context_window {
            Some(tokens) => sentence!("context {tokens} tokens", tokens = thousands(tokens)),
            None => sentence!("context unknown"),
        };
        let price = match self.prices {
            Some(Prices { input: 0, output: 0, cache_read: 0, cache_write: 0 }) => sentence!("free"),
            Some(prices) => sentence!(
                "${input} in, ${output} out per million tokens",
                input = dollars(prices.input),
                output = dollars(prices.output),
            ),
            None => sentence!("price unknown"),
        };
        let Abilities { tools, images, reasoning, structured_output } = self.abilities();
        let abilities = [
            (tools, sentence!("tools")),
            (images, sentence!("images")),
            (reasoning, sentence!("reasoning")),
            (structured_output, sentence!("structured output")),
        ];
        let mut parts = vec![translate(context), translate(price)];
        if abilities.iter().all(|(known, _)| known.is_none()) {
            parts.push(translate(sentence!("abilities unknown")));
            return parts.join("; ");
        }
        let with = |value: Option<bool>| {
            abilities
                .iter()
                .filter(move |(known, _)| *known == value)
                .map(|(_, name)| catalogue.sentence(name))
        };
        let has: Vec<String> = with(Some(true)).collect();
        let lacks: Vec<String> =
            with(Some(false)).map(|ability| translate(sentence!("no {ability}", ability))).collect();
        let unknown: Vec<String> = with(None).collect();
        parts
            .extend([has, lacks].into_iter().filter(|names| !names.is_empty()).map(|names| names.join(", ")));
        if !unknown.is_empty() {
            parts.push(translate(sentence!("{abilities} unknown", abilities = unknown.join(", "))));
        }
        parts.join("; ")
    }
}

/// Returns micro-dollars as dollars.
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Returns a number with a comma between groups of three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use ibeam_output::Locale;

    use super::*;

    #[track_caller]
    fn check(id: &str, expect: &str) {
        let known = known_model(id);
        let details = ModelDetails {
            context_window: known.map(|known| known.context_window.into()),
            max_output_tokens: None,
            prices: known.and_then(|known| known.prices()),
            known,
        };
        assert_eq!(details.to_text(&Catalogue::new(Locale::En)), expect);
    }

    #[test]
    fn unknown_facts_are_unknown_and_never_zero() {
        check("my-model", "context unknown; price unknown; abilities unknown");
        check(
            "claude-sonnet-4-5",
            "context 200,000 tokens; $3 in, $15 out per million tokens; tools, images, reasoning; \
             structured output unknown",
        );
        check(
            "grok-3",
            "context 131,072 tokens; $3 in, $15 out per million tokens; tools, structured output; \
             no images, no reasoning",
        );
        check(
            "gemini-2.5-pro",
            "context 1,048,576 tokens; price unknown; tools, images, reasoning, structured output",
        );
    }

    #[test]
    fn unknown_facts_are_null_in_json() {
        let details =
            ModelDetails { context_window: None, max_output_tokens: None, prices: None, known: None };
        let info = ModelInfo { provider: "p".into(), id: "m".into(), display: "M".into() };
        let json = details.to_json("p/m", &info, false);
        for pointer in ["/context_window", "/dollars_per_million_tokens", "/abilities/tools", "/source"] {
            assert_eq!(json.pointer(pointer), Some(&Value::Null), "{pointer}");
        }
    }

    #[test]
    fn large_numbers_have_groups_of_digits() {
        for (number, expect) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_048_576, "1,048,576")] {
            assert_eq!(thousands(number), expect);
        }
    }
}
